"""Filters that sort: `median_filter`, `rank_filter` and `percentile_filter`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from oriel.filters import extremum_filter

__all__ = ["median_filter", "percentile_filter", "rank_filter"]


def _ranked(name: str, place: Callable[[int], int], input: ArrayLike, size: Any, footprint: Any, output: Any, mode: Any,
            cval: Any, origin: Any, axes: Any) -> NDArray[Any]:
    """The element at a place among the sorted elements around each element; `place` of the number of these."""
    x = checked_input(name, np.asarray(input))
    filtered = filtered_axes(name, axes, x.ndim)
    sizes, taps = window_shape(name, size, footprint, filtered)
    windows = windows_along(name, x, filtered, sizes, mode, origin)
    count = math.prod(w.before + 1 + w.after for w in windows) if taps is None else int(taps.sum())
    rank = place(count)
    if rank in (0, count - 1):
        shape = (sizes, None) if taps is None else (None, taps)
        return extremum_filter(name, "min" if rank == 0 else "max", x, *shape, output, mode, cval, origin, filtered)
    result = output_array(name, output, x)
    write_statistic("quantile", {"rank": rank}, x, result, windows, edge_value(name, cval, x.dtype, windows), taps)
    return result


def median_filter(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                  output: Any = None, mode: Modes = "reflect", cval: float = 0.0, origin: WholeNumbers = 0, *,
                  axes: Any = None) -> NDArray[Any]:
    """The median around each element, as `scipy.ndimage.median_filter`; of an even number the upper one, as there.

    Parameters, result and errors are those of `oriel.maximum_filter`.

    Notes
    -----
    A NaN in a window makes its result NaN (S3), where SciPy's result is undefined. 64-bit integers are exact. Any
    footprint may have a mode for each axis. To leave NaN out, or for other medians of an even number, there is
    `oriel.median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.median_filter(np.array([9.0, 1.0, np.nan, 4.0, 7.0, 5.0]), 3)
    array([ 9., nan, nan, nan,  5.,  5.])
    """
    return _ranked("median_filter", lambda n: n // 2, input, size, footprint, output, mode, cval, origin, axes)


def rank_filter(input: ArrayLike, rank: int, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                output: Any = None, mode: Modes = "reflect", cval: float = 0.0, origin: WholeNumbers = 0, *,
                axes: Any = None) -> NDArray[Any]:
    """The element of a rank around each element, as `scipy.ndimage.rank_filter`.

    Parameters
    ----------
    rank : int
        0 for the smallest; -1 for the largest.
    input, size, footprint, output, mode, cval, origin, axes
        As for `median_filter`.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.rank_filter(np.array([9, 1, 8, 4, 7, 5]), -2, 3)
    array([9, 8, 4, 7, 5, 5])
    """
    try:
        number = operator.index(rank)
    except TypeError:
        raise TypeError(f"rank_filter: rank must be an int, but is {rank!r}") from None

    def place(n: int) -> int:
        if not -n <= number < n:
            raise ValueError(f"rank_filter: rank must be in {-n} to {n - 1}, but is {number}")
        return number % n

    return _ranked("rank_filter", place, input, size, footprint, output, mode, cval, origin, axes)


def percentile_filter(input: ArrayLike, percentile: float, size: WholeNumbers | None = None,
                      footprint: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect",
                      cval: float = 0.0, origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The percentile around each element, as `scipy.ndimage.percentile_filter`: an element, rounded down among them.

    Parameters
    ----------
    percentile : float
        0 to 100; negative ones count from 100.
    input, size, footprint, output, mode, cval, origin, axes
        As for `median_filter`.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.percentile_filter(np.array([9, 1, 8, 4, 7, 5]), 75, 4)
    array([9, 9, 9, 8, 8, 7])
    """
    share = float(percentile)
    share = share + 100.0 if share < 0 else share
    if not 0 <= share <= 100:
        raise ValueError(f"percentile_filter: percentile must be in -100 to 100, but is {percentile}")

    def place(n: int) -> int:
        return n - 1 if share == 100 else int(float(n) * share / 100.0)

    return _ranked("percentile_filter", place, input, size, footprint, output, mode, cval, origin, axes)
