"""Filters of the pixels that exist and that a mask has, with the names, arguments and results of `skimage.filters.rank`.

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

__all__ = ["gradient", "majority", "maximum", "mean", "median", "minimum", "modal", "percentile", "pop", "sum"]


def _ranked(name: str, op: Any, image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None, mask: Any,
            shifts: tuple[int, ...], options: dict[str, Any]) -> NDArray[Any]:
    x = np.asarray(image)
    taps = np.asarray(footprint, bool)
    if taps.ndim != x.ndim:
        raise ValueError(f"{name}: footprint must have {x.ndim} axes, as the image, but has {taps.ndim}")
    if x.dtype.kind not in "uib":
        raise TypeError(f"{name}: image must have an integer dtype, but has {x.dtype}")
    before = [k // 2 + shift for k, shift in zip(taps.shape, shifts)]
    for k, b in zip(taps.shape, before):
        if not 0 <= b < k:
            raise ValueError(f"{name}: shifts must keep the centre in the footprint, but they are {shifts}")
    pool = _core.Pool(op, taps.shape, 1, [(b, k - 1 - b) for k, b in zip(taps.shape, before)], 1, None, None, False,
                      op != "avg")
    result = _core.statistic(pool, {"footprint": taps, "fill": 0, **options}, x, None if mask is None else
                             np.asarray(mask) != 0)
    if out is None:
        return result.astype(x.dtype, copy=False)
    out[...] = result
    return out


def _shifts(image: ArrayLike, shift_x: int, shift_y: int, shift_z: int) -> tuple[int, ...]:
    return (int(shift_y), int(shift_x)) if np.ndim(image) == 2 else (int(shift_z), int(shift_y), int(shift_x))


def median(image: ArrayLike, footprint: ArrayLike | None = None, out: NDArray[Any] | None = None, mask: Any = None,
           shift_x: int = 0, shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The median, of an even number the upper one.

    Parameters
    ----------
    image : array_like of integers
        Of any number of axes; scikit-image takes uint8 and uint16 in two or three.
    footprint : array_like of bool
        Which pixels around each one count.
    out : array, optional
        Where to write the result.
    mask : array_like of the image's shape, optional
        Pixels where it is 0 are left out.
    shift_x, shift_y, shift_z : int
        Offsets of the footprint's centre.
    """
    taps = np.ones((3,) * np.ndim(image), bool) if footprint is None else footprint
    return _ranked("median", "median", image, taps, out, mask, _shifts(image, shift_x, shift_y, shift_z),
                   {"method": "scipy"})


def percentile(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None,
               shift_x: int = 0, shift_y: int = 0, p0: float = 0, shift_z: int = 0) -> NDArray[Any]:
    """The pixel that a share `p0` (0 to 1) of the others does not exceed. See `median`."""
    return _ranked("percentile", "quantile", image, footprint, out, mask, _shifts(image, shift_x, shift_y, shift_z),
                   {"q": float(p0), "method": "scipy"})


def maximum(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
            shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The largest pixel. See `median`."""
    return _ranked("maximum", "max", image, footprint, out, mask, _shifts(image, shift_x, shift_y, shift_z),
                   {"min_count": 1})


def minimum(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
            shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The smallest pixel. See `median`."""
    return _ranked("minimum", "min", image, footprint, out, mask, _shifts(image, shift_x, shift_y, shift_z),
                   {"min_count": 1})


def mean(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
         shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The mean, rounded down as there. See `median`."""
    means = _ranked("mean", "avg", image, footprint, np.empty(np.shape(image)), mask,
                    _shifts(image, shift_x, shift_y, shift_z), {"dtype": "float64"})
    result = np.floor(means).astype(np.asarray(image).dtype)
    if out is None:
        return result
    out[...] = result
    return out


def sum(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
        shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The sum, modulo the dtype's range as there. See `median`."""
    sums = _ranked("sum", "sum", image, footprint, np.empty(np.shape(image), np.uint64), mask,
                   _shifts(image, shift_x, shift_y, shift_z), {"dtype": "uint64"})
    result = sums.astype(np.asarray(image).dtype)
    if out is None:
        return result
    out[...] = result
    return out


def majority(image: ArrayLike, footprint: ArrayLike, *, out: NDArray[Any] | None = None, mask: Any = None,
             shift_x: int = 0, shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The most frequent pixel value, of several the lowest. See `median`."""
    return _ranked("majority", "mode", image, footprint, out, mask, _shifts(image, shift_x, shift_y, shift_z), {})


def modal(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
          shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The most frequent pixel value, of several the lowest. See `median`."""
    return _ranked("modal", "mode", image, footprint, out, mask, _shifts(image, shift_x, shift_y, shift_z), {})


def gradient(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None,
             shift_x: int = 0, shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The largest less the smallest pixel. See `median`."""
    return _ranked("gradient", "range", image, footprint, out, mask, _shifts(image, shift_x, shift_y, shift_z), {})


def pop(image: ArrayLike, footprint: ArrayLike, out: NDArray[Any] | None = None, mask: Any = None, shift_x: int = 0,
        shift_y: int = 0, shift_z: int = 0) -> NDArray[Any]:
    """The number of pixels. See `median`."""
    return _ranked("pop", "count", image, footprint, out, mask, _shifts(image, shift_x, shift_y, shift_z), {})
