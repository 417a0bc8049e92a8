"""`block_reduce` and `downscale_local_mean` with the arguments and results of scikit-image."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.array_types import Op

__all__ = ["block_reduce", "downscale_local_mean"]

# What the engine computes. NumPy has two functions for some, which are not the same object.
_OPS = {
    np.sum: "sum",
    np.add.reduce: "sum",
    "sum": "sum",
    np.mean: "mean",
    np.average: "mean",
    "mean": "mean",
    np.max: "max",
    np.amax: "max",
    np.maximum.reduce: "max",
    "max": "max",
    np.min: "min",
    np.amin: "min",
    np.minimum.reduce: "min",
    "min": "min",
}
_METHODS = {"median": np.median, "std": np.std, "var": np.var, "prod": np.prod, "any": np.any, "all": np.all}
FunctionName = Literal["sum", "mean", "max", "min", "median", "std", "var", "prod", "any", "all"]
Edge = Literal["pad", "partial", "trim", "error"]
# NumPy's functions as the engine's op, its options, and whether NaN are left out.
_STATISTICS: dict[Any, tuple[Any, dict[str, Any], bool]] = {
    np.median: ("median", {"method": "midpoint"}, False),
    np.nanmedian: ("median", {"method": "midpoint"}, True),
    np.std: ("std", {}, False),
    np.nanstd: ("std", {}, True),
    np.var: ("var", {}, False),
    np.nanvar: ("var", {}, True),
    np.prod: ("prod", {}, False),
    np.any: ("any", {}, False),
    np.all: ("all", {}, False),
    np.ptp: ("range", {}, False),
    np.nanmean: ("avg", {"min_count": 1}, True),
    np.nansum: ("sum", {}, True),
    np.nanmax: ("max", {"min_count": 1}, True),
    np.nanmin: ("min", {"min_count": 1}, True),
    np.mean: ("avg", {}, False),
    np.sum: ("sum", {}, False),
    np.max: ("max", {}, False),
    np.min: ("min", {}, False),
}
# What the engine takes.
ENGINE_DTYPES = frozenset(
    "float64 float32 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()
)
_FUNCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}


def block_reduce(
    image: ArrayLike,
    block_size: SupportsIndex | Sequence[SupportsIndex] = 2,
    func: Callable[..., ArrayLike] | FunctionName = np.sum,
    cval: ArrayLike = 0,
    func_kwargs: dict[str, Any] | None = None,
    *,
    edge: Edge = "pad",
) -> NDArray[Any]:
    """`func` of each block of an image, as `skimage.measure.block_reduce`.

    Parameters
    ----------
    image : array_like of shape (…)
        Read without copying, whatever its strides; converted if it has the other byte order.
    block_size : int or sequence of int, one per axis
        Extents of a block.
    func : callable or str
        NumPy's max, min, mean, average, sum, median, std, var, prod, any, all and ptp, those of them that leave NaN out
        (nanmean, nanmedian, nansum, nanmax, nanmin, nanstd, nanvar), and the names "max", "min", "mean", "sum",
        "median", "std", "var", "prod", "any" and "all" are computed by Oriel. Any other function with an argument
        `axis` is applied by NumPy to a view of the blocks, and so are, if there are partial blocks to complete with
        `cval`, all but max, min, mean, average and sum.
    cval : float
        The value that completes blocks at the upper edges if the blocks do not divide the image, converted to the
        image's dtype as `numpy.pad` does: -1 becomes 255 in an image of uint8.
    func_kwargs : dict, optional
        Further arguments of `func`; if there are any, NumPy computes the result.
    edge : {"pad", "partial", "trim", "error"}
        What happens to elements at the upper edges that make no whole block: they are completed with `cval`, as in
        scikit-image; reduced as they are; left out; or an error.

    Returns
    -------
    numpy.ndarray
        One element per block, of the dtype that `func` returns: of integers, sums and products are int64 or uint64,
        means, medians, variances and deviations float64; any and all are bool; everything else has the image's dtype.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Notes
    -----
    Sums, means, maxima and minima pad nothing: partial blocks are reduced as they are (S2) and `cval` is combined with
    them; for other functions an image with partial blocks is copied and padded. To leave absent
    elements out of the result of a partial block, use ``edge="partial"``. Sums and means of integers are exact,
    except that 64-bit sums wrap as NumPy's do; nothing is converted before it is added. Medians are the mean of the two
    elements in the middle; variances are exact for integers. There are no warnings about blocks without a number, of
    which nanmean and its kind give NaN, and nansum 0. Floating sums are added in the order of S8, NumPy's in a
    different order: they agree within rounding.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    >>> oriel.block_reduce(image, 2)
    array([[10, 18],
           [17, 21]], dtype=uint64)
    >>> oriel.block_reduce(image, (3, 2), np.mean)
    array([[4.5, 6.5]])
    >>> oriel.block_reduce(image, 2, "min", cval=255)
    array([[ 0,  2],
           [ 8, 10]], dtype=uint8)
    >>> oriel.block_reduce(image, 2, np.median, edge="partial")
    array([[ 2.5,  4.5],
           [ 8.5, 10.5]])
    """
    image = np.asarray(image)
    if np.size(cval) != 1:
        raise ValueError(f"block_reduce: cval must be one number, but is {cval!r}")
    block = _block_of(block_size, image.ndim)
    missing = tuple(-n % k for n, k in zip(image.shape, block))
    if edge not in ("pad", "partial", "trim", "error"):
        raise ValueError(f"block_reduce: edge must be 'pad', 'partial', 'trim' or 'error', but is {edge!r}")
    if edge == "error" and any(missing):
        raise ValueError(
            f"block_reduce: the image must be divisible by the blocks {block}, but has shape {image.shape}"
        )
    if edge == "trim" and any(missing):
        image = image[tuple(slice(n - n % k) for n, k in zip(image.shape, block))]
        missing = (0,) * image.ndim
    word: Any = func
    try:
        op = _OPS.get(word)
        statistic = _STATISTICS.get(_METHODS.get(word, word) if op is None else _FUNCTIONS[op])
    except TypeError:  # a callable that cannot be hashed
        op = statistic = None
    usual = image.size > 0 and 0 < image.ndim <= 16 and image.dtype.name in ENGINE_DTYPES and not func_kwargs
    if statistic is not None and statistic[0] == "range" and image.dtype == bool:
        statistic = None  # numpy.ptp refuses it
    if any(missing) and edge == "partial" and (statistic is None or not usual):
        raise ValueError(
            f"block_reduce: edge must be 'pad', 'trim' or 'error' for functions that NumPy computes, but is {edge!r}"
        )
    if statistic is not None and usual and op is None and any(missing) and edge == "pad":
        image = np.pad(image, [(0, m) for m in missing], constant_values=cval)
        missing = (0,) * image.ndim
    if statistic is not None and usual and (edge == "partial" if any(missing) else op is None):
        return _statistics(statistic, image, block, missing)
    if (
        op is None
        or func_kwargs
        or image.size == 0
        or not 0 < image.ndim <= 16
        or image.dtype.name not in ENGINE_DTYPES
    ):
        return _reduced_by_numpy(image, block, missing, func, cval, func_kwargs or {})
    if not image.dtype.isnative:
        image = image.astype(image.dtype.newbyteorder("="))
    fill = _fill(cval, image.dtype) if any(missing) else image.dtype.type(0)
    if math.prod(block) >= 2**62:
        raise ValueError(f"block_reduce: a block must have less than 2**62 elements, but block_size is {block_size!r}")
    if op in ("max", "min"):
        return _extrema(op, image, block, missing, fill)
    return _sums(image, block, missing, fill) if op == "sum" else _means(image, block, missing, fill)


def _statistics(
    statistic: tuple[Any, dict[str, Any], bool], image: NDArray[Any], block: tuple[int, ...], missing: tuple[int, ...]
) -> NDArray[Any]:
    """A statistic of blocks, of which the last may be partial, in the dtype that NumPy gives it."""
    op, options, omit = statistic
    given = dict(options)
    result = native = image.dtype.newbyteorder("=")
    if native.kind in "iub":
        if op in ("median", "avg"):
            given["dtype"] = "float64"
        elif op in ("sum", "prod"):
            image = image.view(np.uint8) if native.kind == "b" else image
            given["dtype"] = "int64" if native.kind == "i" else "uint64"
        elif op == "range" and native.kind == "i":  # numpy.ptp wraps; of unsigned integers every difference fits
            given["dtype"] = f"uint{8 * native.itemsize}"
    axes = [a for a, k in enumerate(block) if k > 1] or [0]
    sizes = [block[a] for a in axes]
    padding = [(0, missing[a]) for a in axes]
    pool = _core.Pool(op, sizes, sizes, padding, 1, None, axes, False, op != "avg", None, None, omit)
    y = _core.statistic(pool, given, image.astype(image.dtype.newbyteorder("="), copy=False))
    if result.kind == "b" and op in ("sum", "prod"):
        return y.view(np.int64)
    return y.view(result) if "dtype" in given and op == "range" else y


def downscale_local_mean(
    image: ArrayLike, factors: SupportsIndex | Sequence[SupportsIndex], cval: ArrayLike = 0, clip: bool = True
) -> NDArray[Any]:
    """The mean of each block, as `skimage.transform.downscale_local_mean`.

    Parameters
    ----------
    image, factors, cval
        The `image`, `block_size` and `cval` of `block_reduce`.
    clip : bool
        Ignored, as in scikit-image, where other transforms use it.

    Returns
    -------
    numpy.ndarray
        Of dtype float64 for an image of integers, else of the image's dtype.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.downscale_local_mean(np.arange(15).reshape(3, 5), (2, 3))
    array([[3.5, 4. ],
           [5.5, 4.5]])
    """
    return block_reduce(image, factors, np.mean, cval)


def _block_of(block_size: Any, rank: int) -> tuple[int, ...]:
    try:
        block = (
            (operator.index(block_size),) * rank if np.ndim(block_size) == 0 else tuple(map(operator.index, block_size))
        )
    except TypeError:
        raise TypeError(
            f"block_reduce: block_size must be an int or a sequence of ints, but is {block_size!r}"
        ) from None
    if len(block) != rank:
        raise ValueError(
            f"block_reduce: block_size must be an int or have {rank} values, one per axis of the image, "
            f"but has {len(block)}"
        )
    for axis, k in enumerate(block):
        if k < 1:
            raise ValueError(f"block_reduce: block_size must be >= 1, but axis {axis} has {k}")
    return block


def _reduced_by_numpy(
    image: NDArray[Any],
    block: tuple[int, ...],
    missing: tuple[int, ...],
    func: Any,
    cval: Any,
    func_kwargs: dict[str, Any],
) -> Any:
    if isinstance(func, str):
        known = {name: function for function, name in _OPS.items() if not isinstance(function, str)} | _METHODS
        if func not in known:
            raise ValueError(
                f"block_reduce: func must be a callable or one of {', '.join(sorted(known))}, but is {func!r}"
            )
        func = known[func]
    if not callable(func):
        raise TypeError(f"block_reduce: func must be a callable, but is {func!r}")
    if any(missing):
        image = np.pad(image, [(0, m) for m in missing], constant_values=cval)
    # [m, n] -> [m/k, k, n/l, l] -> blocks first, then the axes within a block: no copy, as only axes are split.
    split = image.reshape([v for n, k in zip(image.shape, block) for v in (n // k, k)])
    blocks = split.transpose(*range(0, 2 * image.ndim, 2), *range(1, 2 * image.ndim, 2))
    return func(blocks, axis=tuple(range(image.ndim, 2 * image.ndim)), **func_kwargs)


def _fill(cval: Any, dtype: np.dtype[Any]) -> Any:
    """`cval` as np.pad writes it into an image of this dtype: like an element of an array, converted whatever it is."""
    cell = np.empty(1, dtype)
    try:
        cell[:] = np.asarray(cval).ravel()
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"block_reduce: cval must be a value of the image's dtype {dtype}, but is {cval!r}") from error
    return cell[0]


def _pool(op: Op, block: tuple[int, ...], missing: tuple[int, ...]) -> _core.Pool:
    """A pool of whole and partial blocks. Only axes that shrink are named: fewer axes are faster."""
    axes = [a for a, k in enumerate(block) if k > 1] or [0]
    sizes = [block[a] for a in axes]
    return _core.Pool(op, sizes, sizes, [(0, missing[a]) for a in axes], 1, None, axes)


def _partial_blocks(
    y: NDArray[Any], block: tuple[int, ...], missing: tuple[int, ...]
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """(a view of blocks that lack elements, how many each lacks), which together are all of those, each once."""
    counts = []
    for axis, (k, m) in enumerate(zip(block, missing)):
        count = np.full(y.shape[axis], k)
        count[-1] -= m
        counts.append(count.reshape([-1 if a == axis else 1 for a in range(y.ndim)]))
    places = [slice(None)] * y.ndim
    for axis, m in enumerate(missing):
        if m:
            last = [*places[:axis], slice(-1, None), *places[axis + 1 :]]
            present: Any = math.prod(
                count[tuple(s if n > 1 else slice(None) for s, n in zip(last, count.shape))] for count in counts
            )
            yield y[tuple(last)], math.prod(block) - present
            places[axis] = slice(None, -1)  # the later axes leave out what this one gave


def _extrema(op: Op, image: NDArray[Any], block: tuple[int, ...], missing: tuple[int, ...], fill: Any) -> NDArray[Any]:
    y = _core.forward(_pool(op, block, missing), image, None)
    combine = np.maximum if op == "max" else np.minimum
    for part, _ in _partial_blocks(y, block, missing):
        combine(part, fill, out=part)
    return y


def _sums(image: NDArray[Any], block: tuple[int, ...], missing: tuple[int, ...], fill: Any) -> NDArray[Any]:
    if image.dtype.kind not in "iub":
        y = _core.forward(_pool("sum", block, missing), image, None)
    else:
        y = _integer_sums(image, block, missing)
    if fill:
        for part, absent in _partial_blocks(y, block, missing):
            # Integers multiply in the result's dtype, where they wrap as NumPy's sums do; floats in float64, as f16
            # holds no large counts.
            part += (
                absent.astype(y.dtype) * y.dtype.type(fill) if y.dtype.kind in "iu" else absent * np.float64(fill)
            ).astype(y.dtype)
    return y


def _means(image: NDArray[Any], block: tuple[int, ...], missing: tuple[int, ...], fill: Any) -> NDArray[Any]:
    total = math.prod(block)
    if image.dtype.kind not in "iub":
        y = _core.forward(_pool("avg", block, missing), image, None)  # padding counts in the divisor: a mean with zeros
    elif image.dtype.itemsize < 8 and fill:
        return _sums(image, block, missing, fill) / total  # an exact sum, divided once
    else:
        y = _core.statistic(_pool("avg", block, missing), {"dtype": "float64"}, image)
    if fill:
        for part, absent in _partial_blocks(y, block, missing):
            part += (absent * (np.float64(fill) / total)).astype(y.dtype)
    return y


def _integer_sums(image: NDArray[Any], block: tuple[int, ...], missing: tuple[int, ...]) -> NDArray[Any]:
    """Exact sums in NumPy's dtype for them, int64 or uint64."""
    result = np.dtype(np.uint64 if image.dtype.kind == "u" else np.int64)
    if image.dtype.kind == "b":
        image = image.view(np.uint8)
    pool = _pool("sum", block, missing)
    if image.dtype == result:
        return _core.forward(pool, image, None)
    return _core.statistic(pool, {"dtype": result.name}, image)
