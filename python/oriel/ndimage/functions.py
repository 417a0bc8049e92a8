"""Filters by functions of NumPy: `generic_filter` and `vectorized_filter`, computed here if the function is a pool."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel.block import ENGINE_DTYPES
from oriel.edges import (
    Modes,
    WholeNumbers,
    checked_input,
    edge_value,
    filtered_axes,
    output_array,
    window_shape,
    windows_along,
    write_statistic,
)
from oriel.others import function_of

__all__ = ["generic_filter", "vectorized_filter"]


@dataclass(frozen=True)
class _Reducer:
    """A pool that computes a function of NumPy; `omit`: NaN are left out."""

    op: Any
    options: dict[str, Any] = field(default_factory=dict)
    omit: bool = False


_MEDIAN = {"method": "midpoint"}
_REDUCERS: dict[Any, _Reducer] = {
    np.median: _Reducer("median", _MEDIAN),
    np.nanmedian: _Reducer("median", _MEDIAN, True),
    np.mean: _Reducer("avg"),
    np.average: _Reducer("avg"),
    np.nanmean: _Reducer("avg", {"min_count": 1}, True),
    np.sum: _Reducer("sum"),
    np.nansum: _Reducer("sum", omit=True),
    np.prod: _Reducer("prod"),
    np.nanprod: _Reducer("prod", omit=True),
    np.std: _Reducer("std"),
    np.nanstd: _Reducer("std", omit=True),
    np.var: _Reducer("var"),
    np.nanvar: _Reducer("var", omit=True),
    np.max: _Reducer("max"),
    np.amax: _Reducer("max"),
    np.nanmax: _Reducer("max", {"min_count": 1}, True),
    np.min: _Reducer("min"),
    np.amin: _Reducer("min"),
    np.nanmin: _Reducer("min", {"min_count": 1}, True),
    np.ptp: _Reducer("range"),
    np.any: _Reducer("any"),
    np.all: _Reducer("all"),
}
_QUANTILES = {  # function -> (greatest q, whether NaN are left out)
    np.quantile: (1, False),
    np.nanquantile: (1, True),
    np.percentile: (100, False),
    np.nanpercentile: (100, True),
}
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _reducer(function: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None) -> _Reducer | None:
    """The pool that computes ``function(elements, *arguments, **keywords)``, or None."""
    given = dict(keywords or {})
    while isinstance(function, functools.partial) and not function.args:
        given = {**function.keywords, **given}
        function = function.func
    try:
        known, quantile = _REDUCERS.get(function), _QUANTILES.get(function)
    except TypeError:  # a callable that cannot be hashed
        return None
    if quantile is not None:
        return _quantile(*quantile, arguments, given)
    if known is None or arguments:
        return None
    if known.op in ("std", "var"):
        ddof = given.pop("ddof", 0)
        if not isinstance(ddof, (int, np.integer)) or ddof < 0:
            return None
        known = _Reducer(known.op, {"ddof": int(ddof)}, known.omit)
    return None if given else known


def _quantile(greatest: int, omit: bool, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> _Reducer | None:
    if len(arguments) == 1 and "q" not in keywords:
        keywords["q"] = arguments[0]
    elif arguments:
        return None
    q, method = keywords.pop("q", None), keywords.pop("method", "linear")
    if keywords or method not in _METHODS or not isinstance(q, (int, float, np.number)) or not 0 <= q <= greatest:
        return None
    return _Reducer("quantile", {"q": float(q) / greatest, "method": method}, omit)


def _keeps(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number is one of that dtype."""
    try:
        return bool(np.asarray(value).astype(dtype) == value)
    except (TypeError, ValueError, OverflowError):
        return False


def _by_scipy(name: str) -> Any:
    return function_of("scipy.ndimage", name, "function must be one that is a pool, such as numpy.median")


def _too_few(reducer: _Reducer, count: int) -> bool:
    """NumPy divides by zero or less, and warns."""
    return reducer.options.get("ddof", 0) >= count


def generic_filter(input: ArrayLike, function: Callable[..., Any], size: WholeNumbers | None = None,
                   footprint: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                   origin: WholeNumbers = 0, extra_arguments: tuple[Any, ...] = (),
                   extra_keywords: dict[str, Any] | None = None, *, axes: Any = None) -> NDArray[Any]:
    """A function of the elements around each element, as `scipy.ndimage.generic_filter`.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes
        As for `median_filter`.
    function : callable
        NumPy's median, mean, average, sum, prod, std, var, max, min, ptp, any, all, quantile and percentile, those of
        them that leave NaN out (nanmedian …), also as a `functools.partial`, are computed by Oriel; any other by SciPy,
        which must then be installed.
    extra_arguments, extra_keywords
        Further arguments of the function: ``ddof``, ``q``, ``method``.

    Notes
    -----
    As in SciPy results are those of float64, and then get the input's dtype, so the mean of integers is truncated:
    `output` may name another. Standard deviations and variances are exact (S18), quantiles within rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.generic_filter(np.array([1.0, np.nan, 3.0, 5.0]), np.nanmean, 3)
    array([1.        , 2.        , 4.        , 4.33333333])
    """
    name = "generic_filter"
    reducer = _reducer(function, extra_arguments, extra_keywords)
    x = np.asarray(input)
    if reducer is not None:
        x = checked_input(name, x)
        result = output_array(name, output, x)
        filtered = filtered_axes(name, axes, x.ndim)
        sizes, taps = window_shape(name, size, footprint, filtered, 3)
        windows = windows_along(name, x, filtered, sizes, mode, origin)
        count = math.prod(w.before + 1 + w.after for w in windows) if taps is None else int(taps.sum())
        if not _too_few(reducer, count):
            beyond = any(window.mode == "constant" for window in windows)
            if (beyond and not _keeps(cval, x.dtype)) or reducer.op == "prod":
                x = x.astype(np.float64, copy=False)
            elif x.dtype == bool:
                x = x.view(np.uint8)
            dtype = {"max": None, "min": None, "any": "bool", "all": "bool"}.get(reducer.op, "float64")
            edge = edge_value(name, cval, x.dtype, windows)
            write_statistic(reducer.op, reducer.options, x, result, windows, edge, taps, reducer.omit, dtype)
            return result
    return _by_scipy(name)(x, function, size, footprint, output, mode, cval, origin, extra_arguments,
                           extra_keywords or {}, axes=axes)


def _result_dtype(function: Callable[..., Any], dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    try:
        return np.asarray(function(np.ones((1, 1), dtype), axis=(-1,))).dtype
    except (TypeError, ValueError):
        return None


def vectorized_filter(input: ArrayLike, function: Callable[..., Any], *, size: int | Sequence[int] | None = None,
                      footprint: ArrayLike | None = None, output: NDArray[Any] | None = None, mode: str = "reflect",
                      cval: float | None = None, origin: int | Sequence[int] | None = None,
                      axes: int | Sequence[int] | None = None, batch_memory: float = 2**30) -> NDArray[Any]:
    """A function of the windows around all elements, as `scipy.ndimage.vectorized_filter`.

    Parameters
    ----------
    input, footprint, output, axes
        As for `median_filter`.
    function : callable
        As for `generic_filter`; its further arguments by `functools.partial`.
    size : int or sequence of int, optional
        Extents of the window, if no footprint is given.
    mode : str
        As for `median_filter`, or "valid": results of whole windows only.
    cval : float, optional
        The value beyond the edges, for mode "constant" alone.
    origin : int or sequence of int, optional
        Number of elements by which the window is moved to the left.
    batch_memory : float
        For functions that SciPy applies; no window is copied here.

    Returns
    -------
    numpy.ndarray
        Of the dtype that the function returns.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.vectorized_filter(np.array([1, 2, 4, 8], np.uint8), np.median, size=2)
    array([1. , 1.5, 3. , 6. ])
    >>> ndimage.vectorized_filter(np.array([1, 2, 4, 8]), np.sum, size=2, mode="valid")
    array([ 3,  6, 12])
    """
    name = "vectorized_filter"
    x = np.asarray(input)
    usable = x.size > 0 and x.ndim > 0 and x.dtype.name in ENGINE_DTYPES
    usable = usable and isinstance(batch_memory, (int, float, np.number)) and batch_memory > 0
    reducer = _reducer(function) if usable else None
    dtype = None if reducer is None else _result_dtype(function, x.dtype)
    shape = {"cval": cval, "origin": origin, "axes": axes}
    if reducer is not None and dtype is not None and (cval is None or mode in ("constant", "grid-constant")):
        if size is not None and footprint is not None:
            raise ValueError(f"{name}: size and footprint exclude each other, but both are given")
        result = _by_pools(name, reducer, dtype, x, size, footprint, output, mode, **shape)
        if result is not None:
            return result
    return _by_scipy(name)(x, function, size=size, footprint=footprint, output=output, mode=mode, **shape,
                           batch_memory=batch_memory)


def _by_pools(name: str, reducer: _Reducer, dtype: np.dtype[Any], x: NDArray[Any], size: Any, footprint: Any,
              output: Any, mode: str, cval: Any, origin: Any, axes: Any) -> NDArray[Any] | None:
    """The result, or None for calls that are left to SciPy: windows of too few elements or larger than the input."""
    x = checked_input(name, x)
    filtered = filtered_axes(name, axes, x.ndim)
    if footprint is not None and np.ndim(footprint) == len(filtered):  # here its axes are in the order of `axes`
        footprint = np.transpose(footprint, np.argsort(filtered))
    sizes, taps = window_shape(name, size, footprint, filtered)
    valid = mode == "valid"
    windows = windows_along(name, x, filtered, sizes, "nearest" if valid else mode, 0 if origin is None else origin)
    count = math.prod(w.before + 1 + w.after for w in windows) if taps is None else int(taps.sum())
    if _too_few(reducer, count) or (valid and origin is not None and np.any(origin)):
        return None
    extents = list(x.shape)
    if valid:
        for window in windows:
            extents[window.axis] -= window.before + window.after
    if min(extents) < 1:
        return None
    values = x.view(np.uint8) if x.dtype == bool and reducer.op not in ("max", "min", "any", "all") else x
    edge = edge_value(name, 0.0 if cval is None else cval, values.dtype, windows)
    result = output_array(name, dtype if output is None else output, np.empty(extents, x.dtype))
    write_statistic(reducer.op, reducer.options, values, result, windows, edge, taps, reducer.omit,
                    None if dtype == values.dtype else dtype.name, valid)
    return result
