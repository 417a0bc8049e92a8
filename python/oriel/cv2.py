"""`medianBlur` with the arguments of OpenCV, for any dtype; the other names are OpenCV's own."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel.edges import Window, checked_input, output_array, write_statistic
from oriel.others import attribute_of

__all__ = ["medianBlur"]


def medianBlur(src: ArrayLike, ksize: int, dst: NDArray[Any] | None = None) -> NDArray[Any]:  # noqa: N802
    """The median of a square around each pixel, as `cv2.medianBlur`; the edge's value goes on beyond it.

    Parameters
    ----------
    src : array_like of shape (h, w) or (h, w, channels)
        Of any dtype; OpenCV takes sizes above 5 of uint8 alone.
    ksize : int
        Odd, at least 1.
    dst : array, optional
        Where to write the result.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import cv2
    >>> cv2.medianBlur(np.array([[1, 9, 1], [1, 1, 1], [9, 1, 1]], np.uint8), 3)
    array([[1, 1, 1],
           [1, 1, 1],
           [1, 1, 1]], dtype=uint8)
    """
    try:
        k = operator.index(ksize)
    except TypeError:
        raise TypeError(f"medianBlur: ksize must be an int, but is {ksize!r}") from None
    if k < 1 or k % 2 == 0:
        raise ValueError(f"medianBlur: ksize must be odd and >= 1, but is {k}")
    image = np.asarray(src)
    if image.ndim not in (2, 3):
        raise ValueError(f"medianBlur: src must have 2 or 3 axes, but has shape {image.shape}")
    x = checked_input("medianBlur", image)
    result = output_array("medianBlur", dst, x)
    windows = [Window(axis, k // 2, k // 2, "nearest") for axis in (0, 1)] if k > 1 else []
    write_statistic("quantile", {"rank": k * k // 2}, x, result, windows, 0)
    return result


def __getattr__(name: str) -> Any:
    return attribute_of("cv2", "oriel.cv2", name)
