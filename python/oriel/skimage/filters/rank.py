"""Filters of the pixels that exist and that a mask has, with the names and arguments of `skimage.filters.rank`.

Images of other dtypes than uint8 and uint16, which scikit-image converts to uint8, are filtered as they are.

>>> import numpy as np
>>> from oriel.skimage.filters import rank
>>> labels = np.array([[1, 1, 2], [1, 3, 2], [2, 2, 2]], np.uint8)
>>> rank.majority(labels, np.ones((3, 3)))[1, 1]
np.uint8(2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.edges import checked_input
from oriel.others import attribute_of

__all__ = ["gradient", "majority", "maximum", "mean", "median", "minimum", "modal", "percentile", "pop", "sum"]


def _ranked(name: str, op: Any, image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None, mask: Any,
            shifts: tuple[int, int, int], options: dict[str, Any] | None = None) -> NDArray[Any]:
    """The statistic `op`, 0 where there is no pixel, in the dtype of `out` or the image."""
    x = checked_input(name, np.asarray(image))
    if x.dtype == bool:
        raise TypeError(f"{name}: image must be of numbers, but has dtype bool")
    taps = np.asarray(footprint) > 0
    if taps.ndim != x.ndim:
        raise ValueError(f"{name}: footprint must have {x.ndim} axes, as the image, but has {taps.ndim}")
    # scikit-image's order: x, y are the columns and rows of a plane, but in a volume x is the first axis.
    moved = (shifts[1], shifts[0]) if x.ndim == 2 else shifts[: x.ndim]
    before = [k // 2 + shift for k, shift in zip(taps.shape, (*moved, *[0] * x.ndim))]
    if any(not 0 <= b < k for b, k in zip(before, taps.shape)):
        raise ValueError(f"{name}: shift_x, shift_y, shift_z must keep the centre in the footprint, but are {shifts}")
    given = dict(options or {})
    valid = None if mask is None else np.asarray(mask) > 0
    if not taps.all():
        given["footprint"] = taps
    if valid is not None or not taps.all():  # else a window always has the centre
        given.update(fill=0, min_count=1)
    if x.size == 0 or not taps.any():  # no pixel counts
        result = np.zeros_like(x) if out is None else out
        result[...] = 0
        return result
    padding = [(b, k - 1 - b) for b, k in zip(before, taps.shape)]
    pool = _core.Pool(op, taps.shape, 1, padding, 1, None, None, False, op != "avg")
    result = _core.statistic(pool, given, x, valid)
    if out is None:
        return _rounded_down(result, x.dtype)
    out[...] = _rounded_down(result, out.dtype)
    return out


def _rounded_down(x: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    whole = dtype.kind in "iu" and x.dtype.kind not in "iu"
    return (np.floor(x) if whole else x).astype(dtype, copy=False)


def median(image: ArrayLike, footprint: ArrayLike | None = None, out: NDArray[Any] | None = None, mask: Any = None,
           shift_x: int = 0, shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The median, of an even number the upper one.

    Parameters
    ----------
    image : array_like of numbers
        Of any number of axes.
    footprint : array_like
        Greater than 0 for the pixels around each one that count.
    out : array, optional
        Where to write the result.
    mask : array_like of the image's shape, optional
        Only pixels where it is greater than 0 count.
    shift_x, shift_y, shift_z : int
        Offsets of the footprint's centre.

    Returns
    -------
    numpy.ndarray
        Of the image's shape and dtype, 0 where no pixel counts; `out`, if given.
    """
    taps = np.ones((3,) * np.ndim(image), bool) if footprint is None else footprint
    return _ranked("median", "median", image, taps, out, mask, (shift_x, shift_y, shift_z), {"method": "scipy"})


def percentile(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None,
               shift_x: int = 0, shift_y: int = 0, p0: float = 0) -> NDArray[Any]:
    """The smallest pixel that more than a share `p0`, 0 to 1, of the pixels do not exceed. See `median`."""
    if not 0 <= p0 <= 1:
        raise ValueError(f"percentile: p0 must be in 0 to 1, but is {p0}")
    return _ranked("percentile", "quantile", image, footprint, out, mask, (shift_x, shift_y, 0),
                   {"q": float(p0), "method": "scipy"})


def maximum(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
            shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The largest pixel. See `median`."""
    return _ranked("maximum", "max", image, footprint, out, mask, (shift_x, shift_y, shift_z))


def minimum(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
            shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The smallest pixel. See `median`."""
    return _ranked("minimum", "min", image, footprint, out, mask, (shift_x, shift_y, shift_z))


def mean(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
         shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The mean, rounded down unless `out` is floating. See `median`."""
    return _ranked("mean", "avg", image, footprint, out, mask, (shift_x, shift_y, shift_z), {"dtype": "float64"})


def sum(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
        shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The sum, modulo the range of the dtype as there. See `median`."""
    wide = {"u": "uint64", "i": "int64"}.get(np.asarray(image).dtype.kind, "float64")
    return _ranked("sum", "sum", image, footprint, out, mask, (shift_x, shift_y, shift_z), {"dtype": wide})


def majority(image: ArrayLike, footprint: ArrayLike, *, out: NDArray[Any] | None = None, mask: Any = None,
             shift_x: int = 0, shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The most frequent pixel value, of several the lowest. See `median`."""
    return _ranked("majority", "mode", image, footprint, out, mask, (shift_x, shift_y, shift_z))


def modal(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
          shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The most frequent pixel value, of several the lowest. See `median`."""
    return _ranked("modal", "mode", image, footprint, out, mask, (shift_x, shift_y, shift_z))


def gradient(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None,
             shift_x: int = 0, shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The largest less the smallest pixel. See `median`."""
    return _ranked("gradient", "range", image, footprint, out, mask, (shift_x, shift_y, shift_z))


def pop(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
        shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The number of pixels, modulo the range of the dtype as there. See `median`."""
    return _ranked("pop", "count", image, footprint, out, mask, (shift_x, shift_y, shift_z))


def __getattr__(name: str) -> Any:
    return attribute_of("skimage.filters.rank", "oriel.skimage.filters.rank", name)
