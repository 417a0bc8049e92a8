"""Filters with the names, arguments and results of `scipy.ndimage`: medians, ranks, percentiles, grey morphology.

>>> import numpy as np
>>> from oriel import ndimage
>>> ndimage.median_filter(np.array([2, 80, 2, 2, 3, 3, 90, 3]), 3)
array([ 2,  2,  2,  2,  3,  3,  3,  3])
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.filters import (
    EdgeMode,
    WholeNumbers,
    checked_input,
    edge_value,
    filter_parts,
    filtered_axes,
    maximum_filter as _box_maximum,
    minimum_filter as _box_minimum,
    output_array,
    uniform_filter,
    windows_along,
)

__all__ = [
    "black_tophat",
    "generic_filter",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "maximum_filter",
    "median_filter",
    "minimum_filter",
    "morphological_gradient",
    "morphological_laplace",
    "percentile_filter",
    "rank_filter",
    "uniform_filter",
    "white_tophat",
]

Modes = EdgeMode | Sequence[EdgeMode]


def _shape_of(name: str, size: Any, footprint: Any, count: int) -> tuple[Any, NDArray[np.bool_] | None]:
    """The sizes along the filtered axes, and the footprint if it is no box."""
    if footprint is None:
        if size is None:
            raise ValueError(f"{name}: size or footprint must be given, but both are None")
        return size, None
    if size is not None:
        warnings.warn(f"{name}: size is ignored because footprint is given", UserWarning, stacklevel=4)
    taps = np.asarray(footprint, dtype=bool)
    if not taps.any():
        raise ValueError(f"{name}: footprint must have a true element, but has none")
    if taps.ndim != count:
        raise ValueError(f"{name}: footprint must have one axis for each of the {count} filtered axes, but has {taps.ndim}")
    return taps.shape, None if taps.all() else taps


def _filtered(name: str, op: Any, options: Callable[[int], dict[str, Any]], input: ArrayLike, size: Any, footprint: Any,
              output: Any, mode: Any, cval: Any, origin: Any, axes: Any, result_dtype: str | None = None,
              nan_policy: bool = False) -> NDArray[Any]:
    """The statistic `op` around each element; `options` are the engine's, given the number of taps."""
    x = checked_input(name, np.asarray(input))
    filtered = filtered_axes(name, axes, x.ndim)
    sizes, taps = _shape_of(name, size, footprint, len(filtered))
    result = output_array(name, output, x)
    windows = windows_along(name, x, filtered, sizes, mode, origin)
    edge = edge_value(name, cval, x.dtype, windows)
    given = options(int(taps.sum()) if taps is not None else int(np.prod([w.before + 1 + w.after for w in windows], dtype=int)))
    if taps is not None:
        given["footprint"] = taps.reshape([k for k in taps.shape if k > 1])
    if x.size == 0:
        return result
    if not windows:  # windows of one element
        windows_axes, kernel = [0] if x.ndim else [], [1]
    else:
        windows_axes, kernel = [w.axis for w in windows], [w.before + 1 + w.after for w in windows]
    if x.ndim == 0:
        result[...] = x
        return result
    engine_dtype = result_dtype or x.dtype.name
    direct = result.dtype.name == engine_dtype and result.dtype.isnative and not np.may_share_memory(x, result)
    y = result if direct else np.empty(x.shape, engine_dtype)
    pool = _core.Pool(op, kernel, [1] * len(kernel), 0, 1, None, windows_axes, False, True, None, None, nan_policy)
    if result_dtype is not None:
        given["dtype"] = result_dtype
    for x_part, y_part in filter_parts(x, y, windows, edge):
        _core.statistic(pool, given, x_part, None, None, y_part)
    if not direct:
        with np.errstate(invalid="ignore"):
            result[...] = y.astype(result.dtype)
    return result


def median_filter(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                  output: Any = None, mode: Modes = "reflect", cval: float = 0.0, origin: WholeNumbers = 0, *,
                  axes: Any = None) -> NDArray[Any]:
    """The median around each element, as `scipy.ndimage.median_filter`; of an even number the upper one, as there.

    Parameters, result and errors are those of `oriel.maximum_filter`, with any footprint.

    Notes
    -----
    A NaN in a window makes its result NaN (S3), where SciPy's result is undefined. 64-bit integers are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.median_filter(np.array([9.0, 1.0, np.nan, 4.0, 7.0, 5.0]), 3)
    array([ 9., nan, nan, nan,  5.,  5.])
    """
    return _filtered("median_filter", "quantile", lambda n: {"rank": n // 2}, input, size, footprint, output, mode, cval,
                     origin, axes)


def rank_filter(input: ArrayLike, rank: int, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                output: Any = None, mode: Modes = "reflect", cval: float = 0.0, origin: WholeNumbers = 0, *,
                axes: Any = None) -> NDArray[Any]:
    """The element of a rank around each element, as `scipy.ndimage.rank_filter`.

    Parameters
    ----------
    rank : int
        0 for the smallest; -1 for the largest.
    """
    number = operator.index(rank)

    def options(n: int) -> dict[str, Any]:
        if not -n <= number < n:
            raise ValueError(f"rank_filter: rank must be in {-n} to {n - 1}, but is {number}")
        return {"rank": number}

    return _filtered("rank_filter", "quantile", options, input, size, footprint, output, mode, cval, origin, axes)


def percentile_filter(input: ArrayLike, percentile: float, size: WholeNumbers | None = None,
                      footprint: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect",
                      cval: float = 0.0, origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The percentile around each element, as `scipy.ndimage.percentile_filter`.

    Parameters
    ----------
    percentile : float
        0 to 100; negative ones count from 100, as there.
    """
    share = float(percentile) + (100.0 if percentile < 0 else 0.0)
    if not 0 <= share <= 100:
        raise ValueError(f"percentile_filter: percentile must be in -100 to 100, but is {percentile}")

    def options(n: int) -> dict[str, Any]:
        return {"rank": n - 1 if share == 100 else int(float(n) * share / 100.0)}

    return _filtered("percentile_filter", "quantile", options, input, size, footprint, output, mode, cval, origin, axes)


def _extremum(name: str, op: str, input: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any,
              axes: Any) -> NDArray[Any]:
    if footprint is None or np.all(footprint):
        box = _box_maximum if op == "max" else _box_minimum
        return box(input, size, footprint, output, mode, cval, origin, axes=axes)
    return _filtered(name, op, lambda n: {}, input, size, footprint, output, mode, cval, origin, axes)


def maximum_filter(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                   output: Any = None, mode: Modes = "reflect", cval: float = 0.0, origin: WholeNumbers = 0, *,
                   axes: Any = None) -> NDArray[Any]:
    """The largest element around each element, as `oriel.maximum_filter`, with any footprint."""
    return _extremum("maximum_filter", "max", input, size, footprint, output, mode, cval, origin, axes)


def minimum_filter(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                   output: Any = None, mode: Modes = "reflect", cval: float = 0.0, origin: WholeNumbers = 0, *,
                   axes: Any = None) -> NDArray[Any]:
    """The smallest element around each element, as `oriel.minimum_filter`, with any footprint."""
    return _extremum("minimum_filter", "min", input, size, footprint, output, mode, cval, origin, axes)


def _flat(name: str, size: Any, footprint: Any, structure: Any) -> tuple[Any, Any, bool]:
    """(size, footprint, whether the structuring element is flat)."""
    if size is None and footprint is None and structure is None:
        raise ValueError(f"{name}: size, footprint or structure must be given, but all are None")
    if structure is None:
        return size, footprint, True
    heights = np.asarray(structure)
    if np.any(heights):
        return size, footprint, False
    return None, np.ones(heights.shape, bool) if footprint is None else footprint, True


def _scipy(name: str) -> Any:
    try:
        from scipy import ndimage
    except ImportError:
        raise ValueError(f"{name}: structure must be all zero, but has heights; SciPy, which takes these, is not "
                         "installed") from None
    return getattr(ndimage, name)


def grey_erosion(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The smallest element under the footprint, as `scipy.ndimage.grey_erosion`.

    Parameters
    ----------
    structure : array_like, optional
        Heights; if they are not all zero, SciPy computes the result, which must then be installed.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.grey_erosion(np.array([3, 3, 1, 4, 4, 4]), 3)
    array([3, 1, 1, 1, 4, 4])
    """
    size, footprint, flat = _flat("grey_erosion", size, footprint, structure)
    if not flat:
        return _scipy("grey_erosion")(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    if footprint is not None:
        size = None
    return _extremum("grey_erosion", "min", input, size, footprint, output, mode, cval, origin, axes)


def grey_dilation(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                  structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                  origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The largest element under the reflected footprint, as `scipy.ndimage.grey_dilation`. See `grey_erosion`."""
    size, footprint, flat = _flat("grey_dilation", size, footprint, structure)
    if not flat:
        return _scipy("grey_dilation")(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    count = len(filtered_axes("grey_dilation", axes, np.ndim(input)))
    if footprint is not None:
        taps = np.asarray(footprint, bool)
        footprint, size = taps[(slice(None, None, -1),) * taps.ndim], None
        sizes: Any = taps.shape
    else:
        sizes = size if np.iterable(size) else (size,) * count
    shifts: Any = origin if np.iterable(origin) else (origin,) * count
    reflected = [-int(shift) - (1 if int(k) % 2 == 0 else 0) for shift, k in zip(shifts, sizes)]
    return _extremum("grey_dilation", "max", input, size, footprint, output, mode, cval, reflected, axes)


def grey_opening(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """An erosion, then a dilation, as `scipy.ndimage.grey_opening`. See `grey_erosion`."""
    eroded = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_dilation(eroded, size, footprint, structure, output, mode, cval, origin, axes=axes)


def grey_closing(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """A dilation, then an erosion, as `scipy.ndimage.grey_closing`. See `grey_erosion`."""
    dilated = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_erosion(dilated, size, footprint, structure, output, mode, cval, origin, axes=axes)


def _difference(a: NDArray[Any], b: NDArray[Any], output: Any) -> NDArray[Any]:
    subtract = np.bitwise_xor if a.dtype == bool and b.dtype == bool else np.subtract
    if isinstance(output, np.ndarray):
        return subtract(a, b, out=output)
    result = subtract(a, b)
    return result if output is None else result.astype(output)


def morphological_gradient(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                           structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect",
                           cval: float = 0.0, origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """A dilation less an erosion, as `scipy.ndimage.morphological_gradient`. See `grey_erosion`."""
    dilated = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    eroded = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return _difference(dilated, eroded, output)


def morphological_laplace(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                          structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect",
                          cval: float = 0.0, origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """A dilation plus an erosion less twice the input, as `scipy.ndimage.morphological_laplace`."""
    dilated = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    eroded = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    result = dilated + eroded - np.asarray(input) - np.asarray(input)
    if isinstance(output, np.ndarray):
        output[...] = result
        return output
    return result if output is None else result.astype(output)


def white_tophat(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The input less its opening, as `scipy.ndimage.white_tophat`: what is bright and small. See `grey_erosion`."""
    opened = grey_opening(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return _difference(np.asarray(input), opened, output)


def black_tophat(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The closing less the input, as `scipy.ndimage.black_tophat`: what is dark and small. See `grey_erosion`."""
    closed = grey_closing(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return _difference(closed, np.asarray(input), output)


_REDUCERS: dict[Any, tuple[str, dict[str, Any], bool]] = {
    np.median: ("median", {"method": "midpoint"}, False),
    np.nanmedian: ("median", {"method": "midpoint"}, True),
    np.mean: ("avg", {}, False),
    np.average: ("avg", {}, False),
    np.nanmean: ("avg", {"min_count": 1}, True),
    np.sum: ("sum", {}, False),
    np.nansum: ("sum", {}, True),
    np.std: ("std", {}, False),
    np.nanstd: ("std", {}, True),
    np.var: ("var", {}, False),
    np.nanvar: ("var", {}, True),
    np.max: ("max", {}, False),
    np.amax: ("max", {}, False),
    np.nanmax: ("max", {"min_count": 1}, True),
    np.min: ("min", {}, False),
    np.amin: ("min", {}, False),
    np.nanmin: ("min", {"min_count": 1}, True),
    np.ptp: ("range", {}, False),
    np.prod: ("prod", {}, False),
}


def generic_filter(input: ArrayLike, function: Any, size: WholeNumbers | None = None,
                   footprint: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                   origin: WholeNumbers = 0, extra_arguments: tuple[Any, ...] = (),
                   extra_keywords: dict[str, Any] | None = None, *, axes: Any = None) -> NDArray[Any]:
    """A function of the elements around each element, as `scipy.ndimage.generic_filter`.

    Parameters
    ----------
    function : callable
        NumPy's median, mean, sum, std, var, max, min, ptp and prod, and those of the first seven that leave NaN out
        (nanmedian …), are computed by Oriel in float64; any other, or one with extra arguments, by SciPy, which must
        then be installed.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.generic_filter(np.array([1.0, np.nan, 3.0, 5.0]), np.nanmean, 3)
    array([1.        , 2.        , 4.        , 4.33333333])
    """
    try:
        known = None if extra_arguments or extra_keywords else _REDUCERS.get(function)
    except TypeError:  # a callable that cannot be hashed
        known = None
    if known is None:
        return _scipy("generic_filter")(input, function, size, footprint, output, mode, cval, origin, extra_arguments,
                                        extra_keywords or {}, axes=axes)
    op, options, omit = known
    x = np.asarray(input)
    if output is None:
        output = x.dtype
    return _filtered("generic_filter", op, lambda n: dict(options), np.asarray(x, np.float64), size, footprint, output,
                     mode, cval, origin, axes, "float64", omit)
