"""Shapes of windows as arrays of bool, equal to those of scikit-image: `disk`, `ball`, `diamond` and others."""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

__all__ = ["ball", "diamond", "disk", "ellipse", "line", "octagon", "octahedron"]

_MOST = 4096
_MOST_OF_A_CUBE = 256


def _whole(function: str, argument: str, value: SupportsIndex, least: int, most: int = _MOST) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {argument} must be an int, but is {value!r}") from None
    if not least <= number <= most:
        raise ValueError(f"{function}: {argument} must be in {least} to {most}, but is {number}")
    return number


def _rounded(value: float) -> int:
    """The nearest whole number, of two the larger. (Adding 0.5 would round 0.49999999999999994 up.)"""
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)


def _distances(*halves: int) -> list[NDArray[np.int64]]:
    """The distances from the middle along each axis of a box of those half extents."""
    return list(np.meshgrid(*(np.arange(-half, half + 1) for half in halves), indexing="ij", sparse=True))


def disk(radius: SupportsIndex) -> NDArray[np.bool_]:
    """The pixels at most `radius` from the middle, in a square of ``2 * radius + 1``.

    Examples
    --------
    >>> import oriel
    >>> oriel.disk(1).astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])
    """
    r = _whole("disk", "radius", radius, 0)
    y, x = _distances(r, r)
    return y * y + x * x <= r * r


def ball(radius: SupportsIndex) -> NDArray[np.bool_]:
    """The voxels at most `radius` from the middle, in a cube of ``2 * radius + 1``.

    Examples
    --------
    >>> import oriel
    >>> oriel.ball(2).shape, int(oriel.ball(2).sum())
    ((5, 5, 5), 33)
    """
    r = _whole("ball", "radius", radius, 0, _MOST_OF_A_CUBE)
    z, y, x = _distances(r, r, r)
    return z * z + y * y + x * x <= r * r


def diamond(radius: SupportsIndex) -> NDArray[np.bool_]:
    """The pixels at most `radius` steps along the axes from the middle.

    Examples
    --------
    >>> import oriel
    >>> oriel.diamond(2).astype(int)
    array([[0, 0, 1, 0, 0],
           [0, 1, 1, 1, 0],
           [1, 1, 1, 1, 1],
           [0, 1, 1, 1, 0],
           [0, 0, 1, 0, 0]])
    """
    r = _whole("diamond", "radius", radius, 0)
    y, x = _distances(r, r)
    return abs(y) + abs(x) <= r


def octahedron(radius: SupportsIndex) -> NDArray[np.bool_]:
    """The voxels at most `radius` steps along the axes from the middle.

    Examples
    --------
    >>> import oriel
    >>> oriel.octahedron(1).astype(int)[1]
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])
    """
    r = _whole("octahedron", "radius", radius, 0, _MOST_OF_A_CUBE)
    z, y, x = _distances(r, r, r)
    return abs(z) + abs(y) + abs(x) <= r


def octagon(m: SupportsIndex, n: SupportsIndex) -> NDArray[np.bool_]:
    """An octagon: `m` pixels on its horizontal and vertical sides, `n` on the slanted ones.

    Examples
    --------
    >>> import oriel
    >>> oriel.octagon(2, 1).astype(int)
    array([[0, 1, 1, 0],
           [1, 1, 1, 1],
           [1, 1, 1, 1],
           [0, 1, 1, 0]])
    """
    straight, slanted = _whole("octagon", "m", m, 1), _whole("octagon", "n", n, 0)
    side = straight + 2 * slanted
    edge = np.minimum(np.arange(side), np.arange(side)[::-1])
    return edge[:, None] + edge[None, :] >= slanted


def ellipse(width: SupportsIndex, height: SupportsIndex) -> NDArray[np.bool_]:
    """An ellipse of ``2 * width + 1`` columns and ``2 * height + 1`` rows.

    Examples
    --------
    >>> import oriel
    >>> oriel.ellipse(4, 2).astype(int)
    array([[0, 1, 1, 1, 1, 1, 1, 1, 0],
           [1, 1, 1, 1, 1, 1, 1, 1, 1],
           [1, 1, 1, 1, 1, 1, 1, 1, 1],
           [1, 1, 1, 1, 1, 1, 1, 1, 1],
           [0, 1, 1, 1, 1, 1, 1, 1, 0]])
    """
    w, h = _whole("ellipse", "width", width, 0), _whole("ellipse", "height", height, 0)
    y, x = _distances(h, w)
    return (y / (h + 1)) ** 2 + (x / (w + 1)) ** 2 < 1


def line(length: SupportsIndex, degrees: float) -> NDArray[np.bool_]:
    """A line of `length` pixels through the middle, counter-clockwise from the horizontal.

    Examples
    --------
    >>> import oriel
    >>> oriel.line(3, 45).astype(int)
    array([[0, 0, 1],
           [0, 1, 0],
           [1, 0, 0]])
    """
    count = _whole("line", "length", length, 1)
    if not math.isfinite(degrees):
        raise ValueError(f"line: degrees must be finite, but is {degrees}")
    reach = (count - 1) / 2
    angle = degrees * math.pi / 180
    x, y = math.cos(angle) * reach, -math.sin(angle) * reach
    half = (_rounded(abs(y)), _rounded(abs(x)))
    taps = np.zeros((2 * half[0] + 1, 2 * half[1] + 1), bool)
    steps = 2 * max(half)
    for step in range(steps + 1):
        share = (2 * step - steps) / steps if steps else 0.0
        places = [h + int(math.copysign(_rounded(abs(share) * h), share * (-1 if way < 0 else 1)))
                  for h, way in zip(half, (y, x))]
        taps[places[0], places[1]] = True
    return taps
