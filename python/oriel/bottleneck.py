"""Moving windows with the names, arguments and results of bottleneck; what is not listed here is bottleneck's own.

>>> import numpy as np
>>> from oriel import bottleneck
>>> bottleneck.move_mean(np.array([1.0, 2.0, np.nan, 4.0]), 2, min_count=1)
array([1. , 1.5, 2. , 4. ])
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.others import attribute_of

__all__ = [
    "move_argmax",
    "move_argmin",
    "move_max",
    "move_mean",
    "move_median",
    "move_min",
    "move_rank",
    "move_std",
    "move_sum",
    "move_var",
]


@dataclass(frozen=True)
class _Moving:
    """The checked arguments of a call: floats, and a window of `width` along `axis` with at least `least` numbers."""

    x: NDArray[Any]
    dtype: np.dtype[Any]  # of the result: that of floats, in their byte order
    width: int
    least: int
    axis: int

    def pool(self, op: Any, backwards: bool = False) -> _core.Pool:
        before = (0, self.width - 1) if backwards else (self.width - 1, 0)
        return _core.Pool(op, self.width, 1, [before], 1, None, self.axis, False, False if op == "avg" else True, None,
                          None, True)

    def too_few(self) -> NDArray[np.bool_]:
        """Where a window has fewer numbers than are asked for."""
        count = _core.statistic(self.pool("count"), {}, self.x)
        return count < self.least


def _moving(name: str, a: ArrayLike, window: int, min_count: int | None, axis: int) -> _Moving:
    x = np.asarray(a)
    if x.ndim == 0:
        raise ValueError(f"{name}: a must have an axis, but is a single number")
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    if x.dtype.name not in ("float16", "float32", "float64") or not x.dtype.isnative:
        x = x.astype(np.float64 if dtype.itemsize > 8 else dtype.newbyteorder("="))
    if axis is None:
        raise ValueError(f"{name}: axis must be an int, but is None")
    along, width = operator.index(axis), operator.index(window)
    if not -x.ndim <= along < x.ndim:
        raise ValueError(f"{name}: axis must be in {-x.ndim} to {x.ndim - 1}, but is {along}")
    n = x.shape[along]
    if not 1 <= width <= n:
        raise ValueError(f"{name}: window must be in 1 to {n}, the length of the axis, but is {width}")
    least = width if min_count is None else operator.index(min_count)
    if not 1 <= least <= width:
        raise ValueError(f"{name}: min_count must be in 1 to {width}, the window, but is {least}")
    return _Moving(x, dtype, width, least, along % x.ndim)


def _moved(name: str, op: Any, a: ArrayLike, window: int, min_count: int | None, axis: int,
           options: dict[str, Any] | None = None) -> NDArray[Any]:
    m = _moving(name, a, window, min_count, axis)
    if m.x.size == 0:
        return np.empty(m.x.shape, m.dtype)
    return _core.statistic(m.pool(op), {**(options or {}), "min_count": m.least}, m.x).astype(m.dtype, copy=False)


def move_sum(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The sum of each element and the `window` - 1 before it, NaN left out.

    Parameters
    ----------
    a : array_like
        Integers are converted to float64.
    window : int
        Number of elements, at most the length of the axis.
    min_count : int, optional
        With fewer numbers in a window the result is NaN; by default `window`.
    axis : int
        The axis along which the window moves.

    Returns
    -------
    numpy.ndarray
        Of the shape of `a`.

    Notes
    -----
    Each window is summed by itself (S8), so no error of earlier elements is carried on, and an infinity affects only
    the windows that hold it.
    """
    return _moved("move_sum", "sum", a, window, min_count, axis)


def move_mean(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The mean of each element and the `window` - 1 before it. See `move_sum`."""
    return _moved("move_mean", "avg", a, window, min_count, axis)


def _spread(name: str, op: Any, a: ArrayLike, window: int, min_count: int | None, axis: int, ddof: int) -> NDArray[Any]:
    freedom = operator.index(ddof)
    if freedom < 0:
        raise ValueError(f"{name}: ddof must be >= 0, but is {freedom}")
    if freedom >= operator.index(window):  # no window has enough elements
        m = _moving(name, a, window, min_count, axis)
        return np.full(m.x.shape, np.nan, m.dtype)
    return _moved(name, op, a, window, min_count, axis, {"ddof": freedom})


def move_std(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1, ddof: int = 0) -> NDArray[Any]:
    """The standard deviation of each element and the `window` - 1 before it. See `move_sum`.

    Parameters
    ----------
    ddof : int
        Subtracted from the divisor; where nothing is left the result is NaN.
    a, window, min_count, axis
        As for `move_sum`.
    """
    return _spread("move_std", "std", a, window, min_count, axis, ddof)


def move_var(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1, ddof: int = 0) -> NDArray[Any]:
    """The variance of each element and the `window` - 1 before it, exact (S18). See `move_std`."""
    return _spread("move_var", "var", a, window, min_count, axis, ddof)


def _extremum(name: str, op: Any, a: ArrayLike, window: int, min_count: int | None, axis: int) -> NDArray[Any]:
    m = _moving(name, a, window, min_count, axis)
    if m.x.size == 0:
        return np.empty(m.x.shape, m.dtype)
    y = _core.forward(m.pool(op), m.x, None)
    y[m.too_few()] = np.nan
    return y.astype(m.dtype, copy=False)


def move_min(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The smallest of each element and the `window` - 1 before it. See `move_sum`."""
    return _extremum("move_min", "min", a, window, min_count, axis)


def move_max(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The largest of each element and the `window` - 1 before it. See `move_sum`."""
    return _extremum("move_max", "max", a, window, min_count, axis)


def _place(name: str, op: Any, a: ArrayLike, window: int, min_count: int | None, axis: int) -> NDArray[Any]:
    """How far back the extremum is."""
    m = _moving(name, a, window, min_count, axis)
    if m.x.size == 0:
        return np.empty(m.x.shape, m.dtype)
    # Backwards the last extremum is the first one, which S4 chooses.
    backwards = (slice(None),) * m.axis + (slice(None, None, -1),)
    _, taps = _core.forward_indices(m.pool(op, True), np.ascontiguousarray(m.x[backwards]), "window")
    places = taps[backwards].astype(m.dtype)
    places[m.too_few()] = np.nan
    return places


def move_argmin(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """How many elements before each one the smallest is, of several the nearest. See `move_sum`."""
    return _place("move_argmin", "min", a, window, min_count, axis)


def move_argmax(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """How many elements before each one the largest is, of several the nearest. See `move_sum`."""
    return _place("move_argmax", "max", a, window, min_count, axis)


def move_median(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The median of each element and the `window` - 1 before it; of an even number the mean of two. See `move_sum`."""
    return _moved("move_median", "median", a, window, min_count, axis, {"method": "midpoint"})


def move_rank(a: ArrayLike, window: int, min_count: int | None = None, axis: int = -1) -> NDArray[Any]:
    """The rank of each element among itself and the `window` - 1 before it: -1 for the smallest, 1 for the largest.

    It is NaN for a NaN, 0 for an element without others; equal elements share the middle of their ranks. NumPy compares
    each element with those before it, one distance at a time. See `move_sum` for the arguments.
    """
    m = _moving("move_rank", a, window, min_count, axis)
    x = np.moveaxis(m.x, m.axis, -1)
    below, numbers = np.zeros(x.shape), np.zeros(x.shape)  # elements that are less, and half of those that are equal
    for back in range(1, m.width):
        this, other = x[..., back:], x[..., :-back]
        less, equal = other < this, other == this
        below[..., back:] += less + 0.5 * equal
        numbers[..., back:] += other == other
    with np.errstate(invalid="ignore"):
        rank = np.where(numbers > 0, 2 * below / np.maximum(numbers, 1) - 1, 0)
    rank[(x != x) | (numbers + 1 < m.least)] = np.nan
    return np.moveaxis(rank, -1, m.axis).astype(m.dtype)


def __getattr__(name: str) -> Any:
    return attribute_of("bottleneck", "oriel.bottleneck", name)
