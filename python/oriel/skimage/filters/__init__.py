"""Medians and local thresholds with the names, arguments and results of `skimage.filters`.

>>> import numpy as np
>>> from oriel.skimage import filters
>>> image = np.tile(np.array([10.0, 200.0]), (4, 2))
>>> (image > filters.threshold_niblack(image, 3, k=0)).astype(int)[1]
array([0, 1, 0, 1])
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import ndimage
from oriel.edges import Modes, checked_input, per_axis, whole_number, windows_along, write_statistic
from oriel.others import attribute_of, function_of
from oriel.skimage.filters import rank

__all__ = ["median", "rank", "threshold_local", "threshold_niblack", "threshold_sauvola"]


def median(image: ArrayLike, footprint: ArrayLike | None = None, out: NDArray[Any] | None = None,
           mode: Modes = "nearest", cval: float = 0.0, behavior: str = "ndimage") -> NDArray[Any]:
    """The median around each pixel, as `skimage.filters.median`.

    Parameters
    ----------
    image : array_like
        Of any number of axes.
    footprint : array_like of bool, optional
        By default 3 pixels along each axis.
    out : array, optional
        Where to write the result.
    mode, cval
        The values beyond the edges, as for `oriel.ndimage.median_filter`.
    behavior : {"ndimage", "rank"}
        "rank": of the pixels that exist, as `rank.median`.
    """
    x = np.asarray(image)
    shape = np.ones((3,) * x.ndim, bool) if footprint is None else footprint
    if behavior == "rank":
        if mode != "nearest" or cval != 0:
            warnings.warn("median: mode and cval are ignored because behavior is 'rank'", UserWarning, stacklevel=2)
        return rank.median(x, shape, out)
    if behavior != "ndimage":
        raise ValueError(f"median: behavior must be 'ndimage' or 'rank', but is {behavior!r}")
    return ndimage.median_filter(x, footprint=shape, output=out, mode=mode, cval=cval)


def _floating(x: NDArray[Any]) -> np.dtype[Any]:
    """The dtype in which scikit-image computes for that input: never less than float32."""
    return np.dtype(np.float32) if x.dtype.kind not in "iub" and x.dtype.itemsize <= 4 else np.dtype(np.float64)


def _odd(name: str, word: str, value: Any, rank_of_image: int) -> list[int]:
    sizes = [whole_number(name, word, size) for size in per_axis(name, word, value, rank_of_image)]
    if any(size % 2 == 0 for size in sizes):
        raise ValueError(f"{name}: {word} must be odd, but is {value}")
    return sizes


def _mean_and_deviation(name: str, image: ArrayLike, window_size: int | Sequence[int]) -> tuple[Any, Any]:
    x = checked_input(name, np.asarray(image))
    dtype = _floating(x)
    if x.dtype == bool:
        x = x.view(np.uint8)
    elif x.dtype.kind not in "iu":
        x = x.astype(dtype, copy=False)
    sizes = _odd(name, "window_size", window_size, x.ndim)
    windows = windows_along(name, x, tuple(range(x.ndim)), sizes, "mirror", 0)
    mean, deviation = np.empty(x.shape, dtype), np.empty(x.shape, dtype)
    for op, y in (("avg", mean), ("std", deviation)):
        write_statistic(op, {}, x, y, windows, x.dtype.type(0), dtype=dtype.name)
    return mean, deviation


def threshold_niblack(image: ArrayLike, window_size: int | Sequence[int] = 15, k: float = 0.2) -> NDArray[Any]:
    """Niblack's local threshold, mean - k * deviation, as `skimage.filters.threshold_niblack`.

    Parameters
    ----------
    image : array_like
        Of any number of axes.
    window_size : int or sequence of int
        Odd extents of the window; beyond the edges the image is mirrored.
    k : float
        Weight of the standard deviation.

    Notes
    -----
    Means and deviations are right to the last digit (S18). Those of scikit-image are differences of sums over the whole
    image, and lose digits where the mean is large: of float32 values around 1e5 with deviation 1 nothing is left.
    """
    mean, deviation = _mean_and_deviation("threshold_niblack", image, window_size)
    return mean - k * deviation


def threshold_sauvola(image: ArrayLike, window_size: int | Sequence[int] = 15, k: float = 0.2,
                      r: float | None = None) -> NDArray[Any]:
    """Sauvola's local threshold, mean * (1 + k * (deviation / r - 1)), as `skimage.filters.threshold_sauvola`.

    Parameters
    ----------
    image, window_size, k
        As for `threshold_niblack`.
    r : float, optional
        The range of deviations: by default half of that of the dtype, which is -1 to 1 for floats.
    """
    x = np.asarray(image)
    if r is None:
        integer = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        r = 0.5 * (integer.max - integer.min) if integer is not None else 0.5 if x.dtype == bool else 1.0
    mean, deviation = _mean_and_deviation("threshold_sauvola", x, window_size)
    return mean * (1 + k * ((deviation / r) - 1))


def threshold_local(image: ArrayLike, block_size: int | Sequence[int] = 3, method: str = "gaussian",
                    offset: float = 0, mode: Modes = "reflect", param: Any = None, cval: float = 0) -> NDArray[Any]:
    """A value of the pixels around each one, less `offset`, as `skimage.filters.threshold_local`.

    Parameters
    ----------
    image : array_like
        Of any number of axes.
    block_size : int or sequence of int
        Odd extents of the window.
    method : {"gaussian", "mean", "median", "generic"}
        "mean" and "median" are computed here, and "generic" where `oriel.ndimage.generic_filter` knows the function;
        "gaussian", the default as there, is scikit-image's, which must be installed.
    offset : float
        Subtracted from the result.
    mode, cval
        The values beyond the edges, as for `oriel.ndimage.median_filter`.
    param : float or callable, optional
        The sigma of "gaussian", the function of "generic".
    """
    name = "threshold_local"
    if method == "gaussian":
        by_others = function_of("skimage.filters", name, "method must be 'mean', 'median' or 'generic'")
        return by_others(np.asarray(image), block_size, method, offset, mode, param, cval)
    x = checked_input(name, np.asarray(image))
    sizes = _odd(name, "block_size", block_size, x.ndim)
    x = x.astype(_floating(x), copy=False)
    if method == "mean":
        return ndimage.uniform_filter(x, sizes, mode=mode, cval=cval) - offset
    if method == "median":
        return ndimage.median_filter(x, sizes, mode=mode, cval=cval) - offset
    if method == "generic":
        return ndimage.generic_filter(x, param, sizes, mode=mode, cval=cval) - offset
    raise ValueError(f"{name}: method must be 'gaussian', 'mean', 'median' or 'generic', but is {method!r}")


def __getattr__(name: str) -> Any:
    return attribute_of("skimage.filters", "oriel.skimage.filters", name)
