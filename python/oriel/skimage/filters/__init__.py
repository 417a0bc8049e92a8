"""Medians and local thresholds with the names, arguments and results of `skimage.filters`.

>>> import numpy as np
>>> from oriel.skimage import filters
>>> image = np.tile(np.array([10.0, 200.0]), (4, 2))
>>> (image > filters.threshold_niblack(image, 3, k=0)).astype(int)[1]
array([0, 1, 0, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core, ndimage
from oriel.filters import filter_parts, windows_along
from oriel.skimage.filters import rank

__all__ = ["median", "rank", "threshold_local", "threshold_niblack", "threshold_sauvola"]


def median(image: ArrayLike, footprint: ArrayLike | None = None, out: NDArray[Any] | None = None, mode: Any = "nearest",
           cval: float = 0.0, behavior: str = "ndimage") -> NDArray[Any]:
    """The median around each pixel, as `skimage.filters.median`.

    Parameters
    ----------
    image : array_like
        Of any dtype and number of axes.
    footprint : array_like of bool, optional
        By default 3 pixels along each axis.
    mode, cval
        The values beyond the edges, as `oriel.ndimage.median_filter`.
    behavior : {"ndimage", "rank"}
        "rank": of the pixels that exist, as `rank.median`.
    """
    x = np.asarray(image)
    if behavior == "rank":
        return rank.median(x, np.ones((3, 3), bool) if footprint is None else footprint, out)
    if behavior != "ndimage":
        raise ValueError(f"median: behavior must be 'ndimage' or 'rank', but is {behavior!r}")
    shape = np.ones((3,) * x.ndim, bool) if footprint is None else footprint
    return ndimage.median_filter(x, footprint=shape, output=out, mode=mode, cval=cval)


def _mean_and_deviation(name: str, image: ArrayLike, window_size: int | Sequence[int]) -> tuple[Any, Any]:
    x = np.asarray(image)
    sizes = (window_size,) * x.ndim if np.isscalar(window_size) else tuple(window_size)  # type: ignore[arg-type]
    for size in sizes:
        if size % 2 == 0:
            raise ValueError(f"{name}: window_size must be odd, but is {window_size}")
    if x.dtype not in (np.float32, np.float64):
        x = x.astype(np.float64)
    windows = windows_along(name, x, tuple(range(x.ndim)), sizes, "mirror", 0)
    results = []
    for op in ("avg", "std"):
        y = np.empty_like(x)
        if windows:
            pool = _core.Pool(op, [w.before + 1 + w.after for w in windows], [1] * len(windows), 0, 1, None,
                              [w.axis for w in windows])
            for x_part, y_part in filter_parts(x, y, windows, x.dtype.type(0)):
                _core.statistic(pool, {}, x_part, None, None, y_part)
        else:
            y[...] = x if op == "avg" else 0
        results.append(y)
    return results[0], results[1]


def threshold_niblack(image: ArrayLike, window_size: int | Sequence[int] = 15, k: float = 0.2) -> NDArray[Any]:
    """Niblack's local threshold, mean - k * deviation, as `skimage.filters.threshold_niblack`.

    Notes
    -----
    Means and deviations are right to the last digit (S18); scikit-image's lose digits where the mean is large.
    """
    mean, deviation = _mean_and_deviation("threshold_niblack", image, window_size)
    return mean - k * deviation


def threshold_sauvola(image: ArrayLike, window_size: int | Sequence[int] = 15, k: float = 0.2,
                      r: float | None = None) -> NDArray[Any]:
    """Sauvola's local threshold, mean * (1 + k * (deviation / r - 1)), as `skimage.filters.threshold_sauvola`."""
    x = np.asarray(image)
    if r is None:
        low, high = (-1.0, 1.0) if x.dtype.kind == "f" else (0.0, 1.0) if x.dtype == bool else (
            float(np.iinfo(x.dtype).min), float(np.iinfo(x.dtype).max))
        r = 0.5 * (high - low)
    mean, deviation = _mean_and_deviation("threshold_sauvola", x, window_size)
    return mean * (1 + k * ((deviation / r) - 1))


def threshold_local(image: ArrayLike, block_size: int | Sequence[int] = 3, method: str = "mean", offset: float = 0.0,
                    mode: Any = "reflect", param: Any = None, cval: float = 0.0) -> NDArray[Any]:
    """The mean or median around each pixel, less `offset`, as `skimage.filters.threshold_local`.

    Parameters
    ----------
    method : {"mean", "median"}
        scikit-image also has "gaussian", its default, and "generic"; these are no pools.
    """
    x = np.asarray(image)
    if method not in ("mean", "median"):
        raise ValueError(f"threshold_local: method must be 'mean' or 'median', but is {method!r}")
    if np.any(np.asarray(block_size) % 2 == 0):
        raise ValueError(f"threshold_local: block_size must be odd, but is {block_size}")
    x = x if x.dtype == np.float32 else x.astype(np.float64)
    filtered = ndimage.uniform_filter if method == "mean" else ndimage.median_filter
    return filtered(x, block_size, mode=mode, cval=cval) - offset
