"""Shapes of windows as arrays of bool, equal to those of scikit-image: `disk`, `ball`, `diamond` and others."""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

__all__ = ["ball", "diamond", "disk", "ellipse", "line", "octagon", "octahedron"]

_MOST = 4096


def _whole(function: str, argument: str, value: SupportsIndex, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {argument} must be an int, but is {value!r}") from None
    if not least <= number <= _MOST:
        raise ValueError(f"{function}: {argument} must be in {least} to {_MOST}, but is {number}")
    return number


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
    """The voxels at most `radius` from the middle, in a cube of ``2 * radius + 1``."""
    r = _whole("ball", "radius", radius, 0)
    z, y, x = _distances(r, r, r)
    return z * z + y * y + x * x <= r * r


def diamond(radius: SupportsIndex) -> NDArray[np.bool_]:
    """The pixels at most `radius` steps along the axes from the middle."""
    r = _whole("diamond", "radius", radius, 0)
    y, x = _distances(r, r)
    return abs(y) + abs(x) <= r


def octahedron(radius: SupportsIndex) -> NDArray[np.bool_]:
    """The voxels at most `radius` steps along the axes from the middle."""
    r = _whole("octahedron", "radius", radius, 0)
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
    """An ellipse of ``2 * width + 1`` columns and ``2 * height + 1`` rows."""
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
    x, y = math.cos(math.radians(degrees)) * reach, -math.sin(math.radians(degrees)) * reach
    half = (math.floor(abs(y) + 0.5), math.floor(abs(x) + 0.5))
    taps = np.zeros((2 * half[0] + 1, 2 * half[1] + 1), bool)
    steps = 2 * max(half)
    for step in range(steps + 1):
        share = (2 * step - steps) / steps if steps else 0.0
        places = [h + int(math.copysign(math.floor(abs(share) * h + 0.5), share * (-1 if way < 0 else 1)))
                  for h, way in zip(half, (y, x))]
        taps[places[0], places[1]] = True
    return taps
