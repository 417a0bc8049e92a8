"""Grey morphology with the names, arguments and results of `skimage.morphology`, for flat footprints.

>>> import numpy as np
>>> from oriel.skimage import morphology
>>> morphology.dilation(np.array([[0, 0, 0], [0, 5, 0], [0, 0, 0]]))
array([[0, 5, 0],
       [5, 5, 5],
       [0, 5, 0]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import ndimage
from oriel.footprints import ball, diamond, disk, ellipse, octagon, octahedron

__all__ = [
    "ball",
    "black_tophat",
    "closing",
    "diamond",
    "dilation",
    "disk",
    "ellipse",
    "erosion",
    "octagon",
    "octahedron",
    "opening",
    "white_tophat",
]


def _cross(rank: int) -> NDArray[np.bool_]:
    """The element and its neighbours along the axes."""
    return np.sum([abs(d) for d in np.meshgrid(*[np.arange(-1, 2)] * rank, indexing="ij")], axis=0) <= 1


def _footprints(name: str, footprint: Any, rank: int) -> list[NDArray[np.bool_]]:
    """The footprints to apply one after another, of odd extents."""
    if footprint is None:
        return [_cross(rank)]
    if isinstance(footprint, tuple) and all(isinstance(part, tuple) and len(part) == 2 for part in footprint):
        sequence = [np.asarray(part, bool) for part, times in footprint for _ in range(times)]
    else:
        sequence = [np.asarray(footprint, bool)]
    for part in sequence:
        if part.ndim != rank:
            raise ValueError(f"{name}: footprint must have {rank} axes, as the image, but has {part.ndim}")
    return sequence


def _padded(footprint: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Even extents get a row of false elements before, as scikit-image pads them."""
    return np.pad(footprint, [(1, 0) if k % 2 == 0 else (0, 0) for k in footprint.shape])


def _applied(filter_of_shape: Callable[..., NDArray[Any]], image: NDArray[Any], footprints: list[NDArray[np.bool_]],
             out: NDArray[Any] | None, mode: str, cval: float, greatest: bool) -> NDArray[Any]:
    if mode in ("max", "min", "ignore"):
        info: Any = np.finfo(image.dtype) if image.dtype.kind == "f" else None
        if image.dtype == bool:
            low, high = 0, 1
        elif info is None:
            low, high = np.iinfo(image.dtype).min, np.iinfo(image.dtype).max
        else:
            low, high = -np.inf, np.inf
        cval = {"max": high, "min": low, "ignore": low if greatest else high}[mode]
        mode = "constant"
    result = image
    for footprint in footprints:
        result = filter_of_shape(result, footprint=footprint, mode=mode, cval=cval)
    if out is None:
        return result if result is not image else image.copy()
    out[...] = result
    return out


def erosion(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
            cval: float = 0.0) -> NDArray[Any]:
    """The smallest pixel under the footprint, as `skimage.morphology.erosion`.

    Parameters
    ----------
    image : array_like
        Of any dtype and number of axes.
    footprint : array_like of bool, or tuple of (footprint, number of times), optional
        By default the pixel and its neighbours along the axes.
    out : array, optional
        Where to write the result.
    mode : str
        "reflect", "constant", "nearest", "mirror", "wrap", or "max", "min", "ignore": the values beyond the edges.
    cval : float
        The value of mode "constant".
    """
    x = np.asarray(image)
    parts = [_padded(part) for part in _footprints("erosion", footprint, x.ndim)]
    return _applied(ndimage.minimum_filter, x, parts, out, mode, cval, False)


def dilation(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
             cval: float = 0.0) -> NDArray[Any]:
    """The largest pixel under the footprint, as `skimage.morphology.dilation`. See `erosion`."""
    x = np.asarray(image)
    parts = [_padded(part) for part in _footprints("dilation", footprint, x.ndim)]
    return _applied(ndimage.maximum_filter, x, parts, out, mode, cval, True)


def _mirrored(name: str, footprint: Any, rank: int) -> Any:
    """The footprint of the second of two steps."""
    return tuple((part[(slice(None, None, -1),) * rank], 1)
                 for part in (_padded(part) for part in _footprints(name, footprint, rank)))


def opening(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
            cval: float = 0.0) -> NDArray[Any]:
    """An erosion, then a dilation by the mirrored footprint, as `skimage.morphology.opening`. See `erosion`."""
    x = np.asarray(image)
    return dilation(erosion(x, footprint, mode=mode, cval=cval), _mirrored("opening", footprint, x.ndim), out, mode=mode,
                    cval=cval)


def closing(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
            cval: float = 0.0) -> NDArray[Any]:
    """A dilation, then an erosion by the mirrored footprint, as `skimage.morphology.closing`. See `erosion`."""
    x = np.asarray(image)
    return erosion(dilation(x, footprint, mode=mode, cval=cval), _mirrored("closing", footprint, x.ndim), out, mode=mode,
                   cval=cval)


def _difference(a: NDArray[Any], b: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
    return (np.logical_xor if a.dtype == bool else np.subtract)(a, b, out=out)


def white_tophat(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
                 cval: float = 0.0) -> NDArray[Any]:
    """The image less its opening, as `skimage.morphology.white_tophat`. See `erosion`."""
    x = np.asarray(image)
    return _difference(x, opening(x, footprint, mode=mode, cval=cval), out)


def black_tophat(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
                 cval: float = 0.0) -> NDArray[Any]:
    """The closing less the image, as `skimage.morphology.black_tophat`. See `erosion`."""
    x = np.asarray(image)
    return _difference(closing(x, footprint, mode=mode, cval=cval), x, out)
