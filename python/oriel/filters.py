"""`maximum_filter`, `minimum_filter` and `uniform_filter` with the arguments and edge modes of `scipy.ndimage`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oriel import _core
from oriel.array_types import Op
from oriel.edges import (
    EdgeMode,
    WholeNumbers,
    Window,
    along,
    checked_input,
    edge_value,
    filter_parts,
    filtered_axes,
    output_array,
    window_shape,
    windows_along,
    write_statistic,
)

__all__ = ["extremum_filter", "maximum_filter", "mean_filter", "minimum_filter", "uniform_filter"]


def maximum_filter(
    input: ArrayLike,
    size: WholeNumbers | None = None,
    footprint: ArrayLike | None = None,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: EdgeMode | Sequence[EdgeMode] = "reflect",
    cval: float = 0.0,
    origin: WholeNumbers = 0,
    *,
    axes: SupportsIndex | Sequence[SupportsIndex] | None = None,
) -> NDArray[Any]:
    """The largest element around each element, as `scipy.ndimage.maximum_filter`.

    Parameters
    ----------
    input : array_like of shape (…)
        Read without copying, whatever its strides; converted if it has the other byte order.
    size : int or sequence of int
        Extents of the window, at least 1, whose middle is element ``size // 2``.
    footprint : array_like of bool, optional
        The window's shape, instead of `size` (S20).
    output : array or dtype, optional
        Where to write the result, or its dtype.
    mode : str or sequence of str
        The values beyond the edges: "reflect" (or "grid-mirror"; d c b a | a b c d | d c b a), "mirror" (d c b | a b c
        d | c b a), "nearest" (a a a a | a b c d | d d d d), "wrap" (or "grid-wrap"; a b c d | a b c d | a b c d),
        "constant" (or "grid-constant"): `cval`.
    cval : float
        The value beyond the edges; it is converted to the input's dtype, integers being truncated and kept within the
        dtype's range.
    origin : int or sequence of int
        Number of elements by which the window is moved to the left.
    axes : int or sequence of int, optional
        The filtered axes, all by default. Sequences have one value for each of them.

    Returns
    -------
    numpy.ndarray
        Of the input's shape; `output`, if that is an array.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Notes
    -----
    Large inputs are not padded: only outputs whose windows reach beyond the array, and only in modes whose values
    beyond the edges can change the result, are computed from a copy of their surroundings. Unlike SciPy, which computes
    in float64, 64-bit integers are exact, and a NaN within a window makes the result NaN (S3). Errors are ValueError if
    SciPy raises RuntimeError (a list of the wrong length, an unknown mode, a missing size, an `output` of another
    shape); a size below 1, which SciPy treats as 1, or one that is not a whole number, which SciPy rounds down, is an
    error. SciPy's other filters (ranks, medians, grey morphology) are in `oriel.ndimage`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> x = np.array([2, 8, 0, 4, 1, 9, 9, 0])
    >>> oriel.maximum_filter(x, 3)
    array([8, 8, 8, 4, 9, 9, 9, 9])
    >>> oriel.maximum_filter(x, 3, mode="constant", cval=5, origin=1)
    array([5, 8, 8, 8, 4, 9, 9, 9])
    """
    return extremum_filter("maximum_filter", "max", input, size, footprint, output, mode, cval, origin, axes)


def minimum_filter(
    input: ArrayLike,
    size: WholeNumbers | None = None,
    footprint: ArrayLike | None = None,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: EdgeMode | Sequence[EdgeMode] = "reflect",
    cval: float = 0.0,
    origin: WholeNumbers = 0,
    *,
    axes: SupportsIndex | Sequence[SupportsIndex] | None = None,
) -> NDArray[Any]:
    """The smallest element around each element, as `scipy.ndimage.minimum_filter`. See `maximum_filter` for the rest.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.minimum_filter(np.array([2, 8, 0, 4, 1, 9, 9, 0]), 3, mode="wrap")
    array([0, 0, 0, 0, 1, 1, 0, 0])
    """
    return extremum_filter("minimum_filter", "min", input, size, footprint, output, mode, cval, origin, axes)


def uniform_filter(
    input: ArrayLike,
    size: WholeNumbers = 3,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: EdgeMode | Sequence[EdgeMode] = "reflect",
    cval: complex = 0.0,
    origin: WholeNumbers = 0,
    *,
    axes: SupportsIndex | Sequence[SupportsIndex] | None = None,
) -> NDArray[Any]:
    """The mean around each element, as `scipy.ndimage.uniform_filter`. See `maximum_filter` for the rest.

    Notes
    -----
    A floating result is the mean rounded once, of a sum in the order of S8; SciPy keeps a running sum in float64 and
    rounds after every axis. So they agree within rounding, but a NaN or an infinity affects only the windows that
    contain it, not all that follow. If input and result are integers, the exact mean is rounded half to even (S7),
    while SciPy truncates after every axis: it may be up to one less per axis. An integer input with a floating `output`
    is converted first; so is float32 with a float64 `output`. Complex input is filtered by parts.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.uniform_filter(np.array([2.0, 8.0, 0.0, 4.0, 1.0]), 3)
    array([4.        , 3.33333333, 4.        , 1.66666667, 2.        ])
    >>> oriel.uniform_filter(np.array([2, 8, 0, 4, 1]), 3)
    array([4, 3, 4, 2, 2])
    """
    return mean_filter("uniform_filter", input, size, output, mode, cval, origin, axes)


def mean_filter(
    name: str, input: Any, size: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> NDArray[Any]:
    """`uniform_filter` for a function of that name."""
    x = np.asarray(input)
    if x.dtype.kind == "c":
        return _complex_means(name, x, size, output, mode, cval, origin, axes)
    x = checked_input(name, x)
    result = output_array(name, output, x)
    windows = windows_along(name, x, filtered_axes(name, axes, x.ndim), size, mode, origin)
    if result.dtype.kind == "f" and result.dtype != x.dtype:
        x = x.astype(np.result_type(x, result), copy=False)
    _write("avg", x, result, windows, edge_value(name, cval, x.dtype, windows))
    return result


def extremum_filter(
    name: str, op: Op, input: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> NDArray[Any]:
    """`maximum_filter` or `minimum_filter`, by `op`, for a function of that name, which the user calls."""
    x = checked_input(name, np.asarray(input))
    filtered = filtered_axes(name, axes, x.ndim)
    sizes, taps = window_shape(name, size, footprint, filtered)
    result = output_array(name, output, x)
    windows = windows_along(name, x, filtered, sizes, mode, origin)
    edge = edge_value(name, cval, x.dtype, windows)
    if taps is None:
        _write(op, x, result, windows, edge)
    else:
        write_statistic(op, {}, x, result, windows, edge, taps)
    return result


def _complex_means(
    name: str, x: Any, size: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> NDArray[Any]:
    result = output_array(name, np.promote_types(x.dtype, np.complex64) if output is None else output, x)
    if result.dtype.kind != "c":
        raise TypeError(f"{name}: output must be complex as the input is, but has dtype {result.dtype}")
    target: Any = np.empty(result.shape, result.dtype) if np.may_share_memory(x, result) else result
    mean_filter(name, x.real, size, target.real, mode, np.real(cval), origin, axes)
    mean_filter(name, x.imag, size, target.imag, mode, np.imag(cval), origin, axes)
    if target is not result:
        result[...] = target
    return result


def _write(op: Op, x: NDArray[Any], result: NDArray[Any], windows: list[Window], edge: Any) -> None:
    if x.size == 0 or not windows:
        result[...] = x
        return
    direct = result.dtype == x.dtype and not np.may_share_memory(x, result)
    y = result if direct else np.empty(x.shape, x.dtype)
    absent, filled = [], []
    for window in windows:
        (absent if window.needs_no_values(op, not edge) else filled).append(window)
    for x_part, y_part in filter_parts(x, y, filled, edge):
        _pool_part(op, x_part, y_part, absent, filled)
    if op != "avg":
        combine = np.maximum if op == "max" else np.minimum
        for border in _borders(y, absent):
            combine(border, edge, out=border)
    if not direct:
        result[...] = y


def _pool_part(op: Op, x: NDArray[Any], y: NDArray[Any], absent: list[Window], filled: list[Window]) -> None:
    windows = sorted(absent + filled, key=lambda window: window.axis)  # S8: the order of a sum is that of the axes
    padding = [(w.before, w.after) if w in absent else (0, 0) for w in windows]
    pool = _core.Pool(
        op, [w.before + 1 + w.after for w in windows], [1] * len(windows), padding, 1, None, [w.axis for w in windows]
    )
    _core.forward(pool, x, y)


def _borders(y: NDArray[Any], absent: list[Window]) -> Iterator[NDArray[Any]]:
    """Views of the outputs whose windows reach beyond an edge of constant value; some outputs may be in several."""
    for window in absent:
        if window.mode == "constant":
            n = y.shape[window.axis]
            yield y[along(window.axis, slice(0, min(window.before, n)))]
            yield y[along(window.axis, slice(max(n - window.after, 0), n))]
