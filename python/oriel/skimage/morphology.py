"""Grey morphology with the names, arguments and results of `skimage.morphology`, for flat footprints.

What is not listed here is scikit-image's own.

>>> import numpy as np
>>> from oriel.skimage import morphology
>>> morphology.dilation(np.array([[0, 0, 0], [0, 5, 0], [0, 0, 0]]))
array([[0, 5, 0],
       [5, 5, 5],
       [0, 5, 0]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel.array_types import Op
from oriel.filters import extremum_filter
from oriel.others import attribute_of
from oriel.skimage.shapes import ball, diamond, disk, ellipse, octagon, octahedron

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

_MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "max", "min", "ignore")


@dataclass(frozen=True)
class _Step:
    """A footprint, and the origin of its window along each axis."""

    taps: NDArray[np.bool_]
    origin: tuple[int, ...]

    def mirrored(self) -> _Step:
        origin = tuple(-shift - (k % 2 == 0) for shift, k in zip(self.origin, self.taps.shape))
        return _Step(self.taps[(slice(None, None, -1),) * self.taps.ndim], origin)


def _cross(rank: int) -> NDArray[np.bool_]:
    """The element and its neighbours along the axes."""
    distance = sum(abs(d) for d in np.meshgrid(*[np.arange(-1, 2)] * rank, indexing="ij", sparse=True))
    return np.asarray(distance <= 1).reshape((3,) * rank)


def _is_sequence(footprint: Any) -> bool:
    """Whether it is (array, number of times), several times."""
    return not hasattr(footprint, "__array_interface__") and isinstance(footprint, Sequence) and all(
        isinstance(part, Sequence) and len(part) == 2 and hasattr(part[0], "__array_interface__")
        and isinstance(part[1], (int, np.integer)) for part in footprint)


def _steps(name: str, footprint: Any, rank: int) -> list[_Step]:
    """The footprints to apply one after another. Even extents begin at the pixel itself, as scikit-image has them."""
    parts = [(footprint, 1)] if not _is_sequence(footprint) else footprint
    steps = []
    for part, times in parts:
        taps = _cross(rank) if part is None else np.asarray(part, bool)
        if taps.ndim != rank:
            raise ValueError(f"{name}: footprint must have {rank} axes, as the image, but has {taps.ndim}")
        steps += [_Step(taps, tuple(-1 if k % 2 == 0 else 0 for k in taps.shape))] * int(times)
    if not steps:
        raise ValueError(f"{name}: footprint must have a part, but has none")
    return steps


def _applied(name: str, op: Op, x: NDArray[Any], steps: list[_Step], out: NDArray[Any] | None, mode: str,
             cval: float) -> NDArray[Any]:
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {', '.join(_MODES)}, but is {mode!r}")
    if mode == "ignore":
        mode = "min" if op == "max" else "max"
    if mode in ("max", "min"):
        if x.dtype == bool:
            low, high = 0.0, 1.0
        else:
            integer = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
            low, high = (integer.min, integer.max) if integer is not None else (-np.inf, np.inf)
        mode, cval = "constant", high if mode == "max" else low
    result = x
    for step in steps:
        result = extremum_filter(name, op, result, None, step.taps, None, mode, cval, step.origin, None)
    if out is None:
        return result
    out[...] = result
    return out


def erosion(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
            cval: float = 0.0) -> NDArray[Any]:
    """The smallest pixel under the footprint, as `skimage.morphology.erosion`.

    Parameters
    ----------
    image : array_like
        Of any number of axes.
    footprint : array_like of bool, or sequence of (array of bool, number of times), optional
        By default the pixel and its neighbours along the axes.
    out : array, optional
        Where to write the result.
    mode : str
        "reflect", "constant", "nearest", "mirror", "wrap", or "max", "min", "ignore": the values beyond the edges.
    cval : float
        The value of mode "constant".

    Examples
    --------
    >>> import numpy as np
    >>> from oriel.skimage import morphology
    >>> morphology.erosion(np.array([[9, 9, 9, 0], [9, 9, 9, 9]]), np.ones((1, 2)))
    array([[9, 9, 0, 0],
           [9, 9, 9, 9]])
    """
    x = np.asarray(image)
    return _applied("erosion", "min", x, _steps("erosion", footprint, x.ndim), out, mode, cval)


def dilation(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
             cval: float = 0.0) -> NDArray[Any]:
    """The largest pixel under the footprint, as `skimage.morphology.dilation`. See `erosion`."""
    x = np.asarray(image)
    return _applied("dilation", "max", x, _steps("dilation", footprint, x.ndim), out, mode, cval)


def opening(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
            cval: float = 0.0) -> NDArray[Any]:
    """An erosion, then a dilation by the mirrored footprint, as `skimage.morphology.opening`. See `erosion`."""
    x = np.asarray(image)
    steps = _steps("opening", footprint, x.ndim)
    eroded = _applied("opening", "min", x, steps, None, mode, cval)
    return _applied("opening", "max", eroded, [step.mirrored() for step in steps], out, mode, cval)


def closing(image: ArrayLike, footprint: Any = None, out: NDArray[Any] | None = None, *, mode: str = "reflect",
            cval: float = 0.0) -> NDArray[Any]:
    """A dilation, then an erosion by the mirrored footprint, as `skimage.morphology.closing`. See `erosion`."""
    x = np.asarray(image)
    steps = _steps("closing", footprint, x.ndim)
    dilated = _applied("closing", "max", x, steps, None, mode, cval)
    return _applied("closing", "min", dilated, [step.mirrored() for step in steps], out, mode, cval)


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


def __getattr__(name: str) -> Any:
    return attribute_of("skimage.morphology", "oriel.skimage.morphology", name)
