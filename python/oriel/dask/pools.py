"""Pools of Dask arrays: `pool` and `coarsen`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize

from oriel import _core
from oriel.array_types import NanPolicy
from oriel.dask.chunks import Bounds, chunk_bounds, chunked, inputs_of, output_cuts
from oriel.pool import check_nan_policy
from oriel.valid_taps import KEYWORDS, dtype_name, footprint_array

__all__ = ["coarsen", "map_windows", "pool"]

_OPTIONS = (KEYWORDS - {"mask", "weights"}) | {
    "q", "rank", "method", "ties", "ignore", "ddof", "sharpness", "sum",
}
# name in NumPy: op, options, whether NaN are left out
_REDUCTIONS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "max": ("max", {}, False), "amax": ("max", {}, False), "nanmax": ("max", {"min_count": 1}, True),
    "min": ("min", {}, False), "amin": ("min", {}, False), "nanmin": ("min", {"min_count": 1}, True),
    "mean": ("avg", {}, False), "average": ("avg", {}, False), "nanmean": ("avg", {"min_count": 1}, True),
    "sum": ("sum", {}, False), "nansum": ("sum", {}, True),
    "prod": ("prod", {}, False), "nanprod": ("prod", {}, True),
    "median": ("median", {"method": "midpoint"}, False), "nanmedian": ("median", {"method": "midpoint"}, True),
    "std": ("std", {}, False), "nanstd": ("std", {}, True), "var": ("var", {}, False), "nanvar": ("var", {}, True),
    "any": ("any", {}, False), "all": ("all", {}, False), "ptp": ("range", {}, False),
}
_KEYWORDS = {"std": ("ddof",), "var": ("ddof",), "sum": ("dtype",), "prod": ("dtype",), "avg": ("dtype",)}


@dataclass(frozen=True)
class _Rules:
    """What is the same for every chunk of a pool."""

    op: Any
    kernel: list[int]
    stride: list[int]
    pads: list[Bounds]
    dilation: list[int]
    axes: list[int]
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    norm_type: float | None
    omit: bool
    options: dict[str, Any]

    def pool(self, pads: Sequence[Bounds], ceil_mode: bool) -> _core.Pool:
        return _core.Pool(self.op, self.kernel, self.stride, pads, self.dilation, None, self.axes, ceil_mode,
                          self.count_include_pad, self.divisor_override, self.norm_type, self.omit)

    def cuts(self, chunks: Sequence[Sequence[int]], shape: Sequence[int]) -> list[list[Bounds]]:
        """The outputs of each chunk of the result, axis by axis."""
        cuts = [chunk_bounds(along) for along in chunks]
        for i, axis in enumerate(self.axes):
            cuts[axis] = output_cuts(chunks[axis], shape[axis], self.kernel[i], self.stride[i], self.pads[i][0],
                                     self.dilation[i])
        return cuts

    def inputs(self, shape: Sequence[int], bounds: Sequence[Bounds]) -> tuple[Sequence[Bounds], Any]:
        """The inputs that outputs read; their paddings, and how many of the outputs of these inputs they are."""
        box, pads = list(bounds), []
        for i, axis in enumerate(self.axes):
            low, high, before, after = inputs_of(*bounds[axis], shape[axis], self.kernel[i], self.stride[i],
                                                 self.pads[i][0], self.dilation[i])
            box[axis] = (low, high)
            pads.append((before, after))
        return box, (pads, [end - begin for begin, end in bounds])


def _pool_part(rules: _Rules, argument: Any, x: Any, mask: Any, weights: Any) -> Any:
    pads, extents = argument
    native = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    result = _core.statistic(rules.pool(pads, False), rules.options, native, mask, weights)
    return result[tuple(slice(n) for n in extents)]


def _mapped_part(function: Callable[..., Any], argument: Any, x: Any) -> Any:
    pads, extents = argument
    return function(x, pads)[tuple(slice(n) for n in extents)]


def map_windows(function: Callable[..., Any], a: Any, kernel: Sequence[int], padding: Sequence[Bounds],
                axes: Sequence[int], dtype: Any) -> Any:
    """`function(part, paddings)` of the parts of `a` that windows of step 1 read, a result of `a`'s shape."""
    ones = [1] * len(kernel)
    rules = _Rules("max", list(kernel), ones, list(padding), ones, list(axes), False, True, None, None, False, {})
    name = f"oriel-windows-{tokenize(a, function, rules, str(dtype))}"
    return chunked(name, partial(_mapped_part, function), rules.cuts(a.chunks, a.shape), [a],
                   partial(rules.inputs, a.shape), dtype)


def _per_axis(word: str, value: Any, count: int) -> list[int]:
    if np.iterable(value):
        values = [operator.index(v) for v in value]
        if len(values) != count:
            raise ValueError(f"oriel.dask.pool: {word} must have 1 value or one per pooled axis ({count}), but has "
                             f"{len(values)}")
        return values
    return [operator.index(value)] * count


def _pads(padding: Any, count: int) -> list[Bounds]:
    given = padding if np.iterable(padding) else [padding] * count
    pads = [tuple(map(operator.index, p)) if np.iterable(p) else (operator.index(p),) * 2 for p in given]
    if len(pads) != count or any(len(p) != 2 for p in pads):
        raise ValueError(f"oriel.dask.pool: padding must be an int, or an int or two for each pooled axis ({count}), "
                         f"but is {padding!r}")
    return [(p[0], p[1]) for p in pads]


def _operand(word: str, value: Any, x: Any, pooled: Sequence[int]) -> Any:
    """A mask or weights as a Dask array of as many axes as `x`."""
    if value is None:
        return None
    operand = da.asarray(value)
    fits = operand.ndim == x.ndim and all(
        n == m or (n == 1 and axis not in pooled) for axis, (n, m) in enumerate(zip(operand.shape, x.shape))
    )
    if not fits:
        raise ValueError(f"oriel.dask.pool: {word} must have the shape of a, {x.shape}, but has {operand.shape}")
    return operand


def pool(a: Any, op: str, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, *,
         ceil_mode: bool = False, axes: Any = None, nan_policy: NanPolicy = "propagate", count_include_pad: bool = True,
         divisor_override: int | None = None, norm_type: float | None = None, mask: Any = None, weights: Any = None,
         **options: Any) -> Any:
    """The pool of a Dask array, as a Dask array.

    Parameters
    ----------
    a : dask.array.Array
        Chunked in any way.
    op : str
        "max", "avg", "median", "mode" … : any op of `oriel.Pool`.
    kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, count_include_pad, divisor_override, norm_type
        As for `oriel.avg_pool`; padding is a number or a (before, after) for each axis.
    mask, weights : dask.array.Array, optional
        Of a's extents along the pooled axes, and a's or 1 along the others, chunked in any way (S13).
    **options
        Of the op and of `oriel.valid_taps.ValidTaps`: footprint, nodata, min_count, fill, dtype, method, q (one) …

    Returns
    -------
    dask.array.Array
        Its chunks are those of `a` that windows have their middles in.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Notes
    -----
    A chunk of the result is made of the inputs that it needs, cut out of the chunks that have them, so the memory of a
    worker does not depend on the array, and the result has the bits of `oriel` on the whole array.

    Examples
    --------
    >>> import dask.array as da
    >>> from oriel.dask import pool
    >>> pool(da.arange(6, chunks=4), "median", 3, 1, 1).compute()
    array([0, 1, 2, 3, 4, 4])
    """
    x = da.asarray(a)
    if x.ndim == 0 or any(np.isnan(n) for n in x.shape):
        raise ValueError(f"oriel.dask.pool: a must have axes of known lengths, but has shape {x.shape}")
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise TypeError(f"oriel.dask.pool: there is no argument {unknown[0]}")
    if options.get("dtype") is not None:
        options["dtype"] = dtype_name(options["dtype"], "oriel.dask.pool")
    if options.get("footprint") is not None:
        options["footprint"] = footprint_array("oriel.dask.pool", options["footprint"])
        kernel_size = options["footprint"].shape if kernel_size is None else kernel_size
    given = range(x.ndim) if axes is None else axes if np.iterable(axes) else (axes,)
    pooled = [operator.index(axis) % x.ndim for axis in given]
    kernel = _per_axis("kernel_size", kernel_size, len(pooled))
    pads = _pads(padding, len(pooled))
    if op == "avg" and not any(map(any, pads)):
        count_include_pad = False  # there is none
    rules = _Rules(op, kernel, kernel if stride is None else _per_axis("stride", stride, len(pooled)), pads,
                   _per_axis("dilation", dilation, len(pooled)), pooled, ceil_mode, count_include_pad, divisor_override,
                   norm_type, check_nan_policy(nan_policy), options)
    if op == "avg" and ceil_mode and count_include_pad and divisor_override is None:
        raise ValueError("oriel.dask.pool: count_include_pad must be False for padded averages in ceil mode, but is "
                         "True")
    shape, dtype = _core.statistic_result(rules.pool(pads, ceil_mode), options, x.shape, x.dtype.name)
    if len(shape) != x.ndim:
        raise ValueError(f"oriel.dask.pool: q must be 1 value, but has {shape[0]}")
    operands = [_operand("mask", mask, x, pooled), _operand("weights", weights, x, pooled)]
    if 0 in shape:
        return da.empty(shape, dtype=dtype)
    name = f"oriel-{op}-{tokenize(x, rules, *operands)}"
    return chunked(name, partial(_pool_part, rules), rules.cuts(x.chunks, shape), [x, *operands],
                   partial(rules.inputs, x.shape), dtype)


def _reduction(reduction: Any, keywords: dict[str, Any]) -> tuple[str, dict[str, Any], bool]:
    word = getattr(reduction, "__name__", "")
    ours = word in _REDUCTIONS and (
        getattr(np, word, None) is reduction or str(getattr(reduction, "__module__", "")).startswith("dask.")
    )
    if ours and set(keywords) <= set(_KEYWORDS.get(_REDUCTIONS[word][0], ())):
        op, options, omit = _REDUCTIONS[word]
        return op, {**options, **{k: v for k, v in keywords.items() if v is not None}}, omit
    raise ValueError("oriel.dask.coarsen: reduction must be NumPy's or Dask's max, min, mean, sum, median, std, var, "
                     "prod, any, all, ptp or one of these that leaves NaN out, with no further argument but ddof of std "
                     f"and var, and dtype of mean, sum and prod, but is {word or repr(reduction)}"
                     + (f" with {', '.join(keywords)}" if keywords else ""))


def coarsen(reduction: Callable[..., Any], x: Any, axes: Mapping[int, int], trim_excess: bool = False,
            **kwargs: Any) -> Any:
    """Blocks of a Dask array reduced, as `dask.array.coarsen`, whatever the chunks are.

    Parameters
    ----------
    reduction : callable
        NumPy's or Dask's max, min, mean, sum, median, std, var, prod, any, all, ptp, or those that leave NaN out.
    x : dask.array.Array
    axes : dict of int to int
        The extent of a block along each axis.
    trim_excess : bool
        Whether to leave out what is more than whole blocks; otherwise it is an error.
    **kwargs
        ddof of std and var, dtype of mean, sum and prod.

    Raises
    ------
    ValueError
        For another reduction or argument, and for an axis that blocks do not divide.

    Notes
    -----
    The chunks of the result are those of `x`: a block belongs to the chunk that has its middle. Dask's own function
    rechunks `x` first if blocks do not divide its chunks.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from oriel.dask import coarsen
    >>> coarsen(np.sum, da.arange(6, chunks=4), {0: 2}).compute()
    array([1, 5, 9])
    """
    op, options, omit = _reduction(reduction, kwargs)
    a = da.asarray(x)
    named = sorted((operator.index(axis) % a.ndim, operator.index(k)) for axis, k in axes.items())
    for axis, k in named:
        if k < 1:
            raise ValueError(f"oriel.dask.coarsen: blocks must be >= 1, but axis {axis} has {k}")
        if a.shape[axis] % k != 0 and not trim_excess:
            raise ValueError(f"oriel.dask.coarsen: axis {axis} must be divisible by {k}, but has {a.shape[axis]}; "
                             "trim_excess leaves the rest out")
    if a.dtype.kind in "uib":
        wide = "uint64" if a.dtype.kind == "u" else "int64"
        for ops, dtype in ((("sum", "prod"), wide), (("avg", "median"), "float64")):
            if op in ops:
                options.setdefault("dtype", dtype)
    if any(a.shape[axis] < k for axis, k in named):
        shape = list(a.shape)
        for axis, k in named:
            shape[axis] //= k
        return da.empty(shape, dtype=options.get("dtype", a.dtype))
    return pool(a, op, [k for _, k in named], axes=[axis for axis, _ in named],
                nan_policy="omit" if omit else "propagate", **options)
