"""The footprints of `skimage.morphology` with its arguments; sequences of smaller ones are scikit-image's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from oriel import footprints
from oriel.others import function_of

__all__ = ["ball", "diamond", "disk", "ellipse", "octagon", "octahedron"]


def _shape(name: str, arguments: tuple[int, ...], dtype: DTypeLike, **others: Any) -> Any:
    if others.get("decomposition") is None and others.get("strict_radius", True):
        return getattr(footprints, name)(*arguments).astype(dtype)
    theirs = function_of("skimage.morphology", name, "strict_radius must be true, and decomposition None")
    return theirs(*arguments, dtype=dtype, **others)


def disk(radius: int, dtype: DTypeLike = np.uint8, *, strict_radius: bool = True,
         decomposition: str | None = None) -> NDArray[Any]:
    """`oriel.disk` as `skimage.morphology.disk`: ones of `dtype`."""
    return _shape("disk", (radius,), dtype, strict_radius=strict_radius, decomposition=decomposition)


def ball(radius: int, dtype: DTypeLike = np.uint8, *, strict_radius: bool = True,
         decomposition: str | None = None) -> NDArray[Any]:
    """`oriel.ball` as `skimage.morphology.ball`: ones of `dtype`."""
    return _shape("ball", (radius,), dtype, strict_radius=strict_radius, decomposition=decomposition)


def diamond(radius: int, dtype: DTypeLike = np.uint8, *, decomposition: str | None = None) -> NDArray[Any]:
    """`oriel.diamond` as `skimage.morphology.diamond`: ones of `dtype`."""
    return _shape("diamond", (radius,), dtype, decomposition=decomposition)


def octahedron(radius: int, dtype: DTypeLike = np.uint8, *, decomposition: str | None = None) -> NDArray[Any]:
    """`oriel.octahedron` as `skimage.morphology.octahedron`: ones of `dtype`."""
    return _shape("octahedron", (radius,), dtype, decomposition=decomposition)


def ellipse(width: int, height: int, dtype: DTypeLike = np.uint8, *, decomposition: str | None = None) -> NDArray[Any]:
    """`oriel.ellipse` as `skimage.morphology.ellipse`: ones of `dtype`."""
    return _shape("ellipse", (width, height), dtype, decomposition=decomposition)


def octagon(m: int, n: int, dtype: DTypeLike = np.uint8, *, decomposition: str | None = None) -> NDArray[Any]:
    """`oriel.octagon` as `skimage.morphology.octagon`: ones of `dtype`."""
    return _shape("octagon", (m, n), dtype, decomposition=decomposition)
