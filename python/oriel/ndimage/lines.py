"""Filters along one axis: `maximum_filter1d`, `minimum_filter1d` and `uniform_filter1d`."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from oriel.edges import EdgeMode
from oriel.filters import extremum_filter, mean_filter

__all__ = ["maximum_filter1d", "minimum_filter1d", "uniform_filter1d"]


def maximum_filter1d(input: ArrayLike, size: int, axis: int = -1, output: Any = None, mode: EdgeMode = "reflect",
                     cval: float = 0.0, origin: int = 0) -> NDArray[Any]:
    """The largest element around each element along an axis, as `scipy.ndimage.maximum_filter1d`.

    See `oriel.maximum_filter` for the arguments.

    Examples
    --------
    >>> from oriel import ndimage
    >>> ndimage.maximum_filter1d([[2, 8, 0], [4, 1, 9]], 2)
    array([[2, 8, 8],
           [4, 4, 9]])
    """
    return extremum_filter("maximum_filter1d", "max", input, size, None, output, mode, cval, origin, axis)


def minimum_filter1d(input: ArrayLike, size: int, axis: int = -1, output: Any = None, mode: EdgeMode = "reflect",
                     cval: float = 0.0, origin: int = 0) -> NDArray[Any]:
    """The smallest element around each element along an axis, as `scipy.ndimage.minimum_filter1d`.

    See `oriel.maximum_filter` for the arguments.
    """
    return extremum_filter("minimum_filter1d", "min", input, size, None, output, mode, cval, origin, axis)


def uniform_filter1d(input: ArrayLike, size: int, axis: int = -1, output: Any = None, mode: EdgeMode = "reflect",
                     cval: complex = 0.0, origin: int = 0) -> NDArray[Any]:
    """The mean around each element along an axis, as `scipy.ndimage.uniform_filter1d`.

    See `oriel.uniform_filter` for the arguments and for what differs.
    """
    return mean_filter("uniform_filter1d", input, size, output, mode, cval, origin, axis)
