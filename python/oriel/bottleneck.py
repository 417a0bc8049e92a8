"""Moving windows with the names, arguments and results of bottleneck: `move_mean`, `move_median` and others.

>>> import numpy as np
>>> from oriel import bottleneck
>>> bottleneck.move_mean(np.array([1.0, 2.0, np.nan, 4.0]), 2, min_count=1)
array([1. , 1.5, 2. , 4. ])
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core

__all__ = [
    "move_argmax",
    "move_argmin",
    "move_max",
    "move_mean",
    "move_median",
    "move_min",
    "move_std",
    "move_sum",
    "move_var",
]


def _moved(name: str, op: Any, a: ArrayLike, window: int, min_count: int | None, axis: int,
           options: dict[str, Any] | None = None) -> NDArray[Any]:
    x = np.asarray(a)
    if x.ndim == 0:
        raise ValueError(f"{name}: a must have an axis, but is a single number")
    if x.dtype not in (np.float32, np.float64):
        x = x.astype(np.float64)
    width = operator.index(window)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{name}: axis must be in {-x.ndim} to {x.ndim - 1}, but is {axis}")
    n = x.shape[axis]
    if not 1 <= width <= n:
        raise ValueError(f"{name}: window must be in 1 to {n}, the length of the axis, but is {width}")
    least = width if min_count is None else operator.index(min_count)
    if not 1 <= least <= width:
        raise ValueError(f"{name}: min_count must be in 1 to {width}, the window, but is {least}")
    if x.size == 0:
        return np.empty_like(x)
    average = op == "avg"
    pool = _core.Pool(op, width, 1, [(width - 1, 0)], 1, None, axis, False, not average, None, None, True)
    return _core.statistic(pool, {**(options or {}), "min_count": least}, x)


def move_sum(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The sum of each element and the `window` - 1 before it, without NaN; NaN if fewer than `min_count` are left."""
    return _moved("move_sum", "sum", a, window, min_count, axis)


def move_mean(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The mean of each element and the `window` - 1 before it. See `move_sum`."""
    return _moved("move_mean", "avg", a, window, min_count, axis)


def move_std(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1, ddof: int = 0) -> NDArray[Any]:
    """The standard deviation of each element and the `window` - 1 before it. See `move_sum`."""
    return _moved("move_std", "std", a, window, min_count, axis, {"ddof": ddof})


def move_var(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1, ddof: int = 0) -> NDArray[Any]:
    """The variance of each element and the `window` - 1 before it. See `move_sum`."""
    return _moved("move_var", "var", a, window, min_count, axis, {"ddof": ddof})


def move_min(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The smallest of each element and the `window` - 1 before it. See `move_sum`."""
    return _moved("move_min", "min", a, window, min_count, axis)


def move_max(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The largest of each element and the `window` - 1 before it. See `move_sum`."""
    return _moved("move_max", "max", a, window, min_count, axis)


def move_median(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The median of each element and the `window` - 1 before it; of an even number the mean of two. See `move_sum`."""
    return _moved("move_median", "median", a, window, min_count, axis, {"method": "midpoint"})


def _moved_place(name: str, op: Any, a: ArrayLike, window: int, min_count: int | None, axis: int) -> NDArray[Any]:
    """How far back the extremum is; of several the last, as bottleneck has it."""
    x = np.asarray(a)
    reversed_axis = (slice(None),) * (axis % max(x.ndim, 1)) + (slice(None, None, -1),)
    values = _moved(name, op, x, window, min_count, axis)
    x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    # Backwards the last extremum is the first one, which S4 chooses.
    pool = _core.Pool(op, window, 1, [(0, window - 1)], 1, None, axis, False, True, None, None, True)
    _, taps = _core.forward_indices(pool, np.ascontiguousarray(x[reversed_axis]), "window")
    places = taps[reversed_axis].astype(x.dtype)
    places[np.isnan(values)] = np.nan
    return places


def move_argmin(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """How many elements before each one the smallest is; of several the nearest. See `move_sum`."""
    return _moved_place("move_argmin", "min", a, window, min_count, axis)


def move_argmax(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """How many elements before each one the largest is; of several the nearest. See `move_sum`."""
    return _moved_place("move_argmax", "max", a, window, min_count, axis)
