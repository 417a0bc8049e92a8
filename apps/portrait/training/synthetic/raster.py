"""Coverage of polygons on a pixel grid: exact along x, SUBROWS scan lines per pixel along y."""

from typing import NamedTuple

import numpy as np

SUBROWS = 8


class Patch(NamedTuple):
    """What a shape covers: its rows and columns of the canvas, and the covered part of each pixel there, 0 to 1."""

    rows: slice
    columns: slice
    coverage: np.ndarray  # [rows][columns] float32


def coverage(outlines, height, width, values=None, subrows=SUBROWS):
    """The part of each pixel that closed polygons cover, summed over the polygons.

    outlines: [points][2] or [polygons][points][2], x and y in pixels, (0, 0) the outer corner of the first pixel.
    values: [polygons], what each polygon adds where it covers a pixel; 1 if None.
    Returns (rows, columns, sum): the slices of the canvas that the polygons touch, and float64 sums there, not clipped;
    None where they touch nothing. Polygons may run either way round and leave the canvas.
    """
    points = np.asarray(outlines, np.float64)
    if points.ndim == 2:
        points = points[None]
    if points.ndim != 3 or points.shape[2] != 2:
        raise ValueError(f"coverage: outlines must be [polygons][points][2], but they are {list(points.shape)}")
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    left, top = (int(max(0, np.floor(v))) for v in low)
    right, bottom = int(min(width, np.ceil(high[0]))), int(min(height, np.ceil(high[1])))
    if left >= right or top >= bottom:
        return None
    rows, columns = bottom - top, right - left
    lengths, where, weight = _crossings(points - (left, top), rows, subrows, values)
    where = np.clip(where, 0.0, columns)
    pixel = where.astype(np.int64)
    part = where - pixel
    index = lengths // subrows * (columns + 2) + pixel
    cells = rows * (columns + 2)
    steps = (np.bincount(index, weight * (1 - part), cells) + np.bincount(index + 1, weight * part, cells + 1)[:cells])
    sums = np.cumsum(steps.reshape(rows, columns + 2), axis=1)[:, :columns] / subrows
    return slice(top, bottom), slice(left, right), sums


def _crossings(points, rows, subrows, values):
    """Where the polygons' edges cross scan lines: the scan line, x, and the step of the sum to the right of it."""
    following = np.roll(points, -1, axis=1)
    area = np.sum(points[..., 0] * following[..., 1] - points[..., 1] * following[..., 0], axis=1)
    turn = np.where(area >= 0, 1.0, -1.0) * (1.0 if values is None else np.asarray(values, np.float64))
    x0, y0 = points[..., 0].ravel(), points[..., 1].ravel() * subrows - 0.5
    x1, y1 = following[..., 0].ravel(), following[..., 1].ravel() * subrows - 0.5
    turn = np.repeat(turn, points.shape[1]) * np.where(y1 > y0, -1.0, 1.0)
    first = np.clip(np.ceil(np.minimum(y0, y1)), 0, rows * subrows).astype(np.int64)
    last = np.clip(np.ceil(np.maximum(y0, y1)), 0, rows * subrows).astype(np.int64)
    count = last - first
    edge = np.repeat(np.arange(count.size), count)
    line = np.arange(edge.size) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    slope = (x1 - x0)[edge] / (y1 - y0)[edge]
    return line, x0[edge] + (line - y0[edge]) * slope, turn[edge]


def patch(outlines, height, width, subrows=SUBROWS):
    """The union of polygons as a Patch, or None where they touch nothing. Shared edges of touching polygons count once."""
    found = coverage(outlines, height, width, subrows=subrows)
    if found is None:
        return None
    return Patch(found[0], found[1], np.clip(found[2], 0.0, 1.0).astype(np.float32))
