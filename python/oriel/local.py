"""Filters that are made of several pools: local z-scores, the guided filter, majorities and dilations of labels.

Their windows are cut at the edges: only elements that exist count (S2).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.edges import checked_input, filtered_axes, per_axis, whole_number

__all__ = ["dilate_labels", "guided_filter", "majority_filter", "z_score"]

Ties = Literal["lowest", "highest", "first"]


def _around(name: str, op: Any, x: NDArray[Any], size: Any, footprint: Any, axes: Any, options: dict[str, Any],
            mask: Any = None, omit: bool = False) -> NDArray[Any]:
    """The statistic `op` of the elements that exist around each element."""
    filtered = filtered_axes(name, axes, x.ndim)
    given = dict(options)
    if footprint is not None:
        taps = np.asarray(footprint, bool)
        if taps.ndim != len(filtered):
            raise ValueError(f"{name}: footprint must have one axis for each of the {len(filtered)} filtered axes, "
                             f"but has {taps.ndim}")
        size = taps.shape
        if not taps.all():
            given["footprint"] = np.ascontiguousarray(taps)
    sizes = [whole_number(name, "size", k) for k in per_axis(name, "size", size, len(filtered))]
    if any(k < 1 for k in sizes):
        raise ValueError(f"{name}: size must be >= 1, but is {size}")
    padding = [(k // 2, k - 1 - k // 2) for k in sizes]
    pool = _core.Pool(op, sizes, 1, padding, 1, None, filtered, False, op != "avg", None, None, omit)
    return _core.statistic(pool, given, x, mask)


def z_score(x: ArrayLike, size: Any = 15, *, footprint: ArrayLike | None = None, axes: Any = None, mask: Any = None,
            ddof: int = 0, nan_policy: Literal["propagate", "omit"] = "propagate") -> NDArray[Any]:
    """How many standard deviations each element is above the mean around it.

    Parameters
    ----------
    x : array_like
        float32 and float64 give results of that dtype, other dtypes float64.
    size : int or sequence of int
        Extents of the window, whose middle is element ``size // 2``.
    footprint : array_like of bool, optional
        The window's shape, instead of `size`.
    axes : int or sequence of int, optional
        The filtered axes, all by default.
    mask : array_like of bool, optional
        Not 0 where `x` counts.
    ddof : int
        Subtracted from the divisor of the variance.
    nan_policy : {"propagate", "omit"}
        Whether a NaN makes the results around it NaN or is left out.

    Returns
    -------
    numpy.ndarray
        0 where all elements around are equal, NaN where none counts.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import local
    >>> local.z_score(np.array([1.0, 1.0, 1.0, 7.0, 1.0, 1.0, 1.0]), 5).round(2)
    array([ 0.  , -0.58, -0.5 ,  2.  , -0.5 , -0.58,  0.  ])
    """
    name = "z_score"
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(f"{name}: nan_policy must be 'propagate' or 'omit', but is {nan_policy!r}")
    values = checked_input(name, np.asarray(x))
    values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    omit = nan_policy == "omit"
    valid = None if mask is None else np.asarray(mask, bool)
    mean = _around(name, "avg", values, size, footprint, axes, {"min_count": 1}, valid, omit)
    deviation = _around(name, "std", values, size, footprint, axes, {"ddof": ddof}, valid, omit)
    with np.errstate(invalid="ignore", divide="ignore"):
        score = (values - mean) / deviation
    score[(deviation == 0) & ~np.isnan(values)] = 0
    return score


def majority_filter(labels: ArrayLike, size: Any = 3, *, footprint: ArrayLike | None = None, axes: Any = None,
                    mask: Any = None, ties: Ties = "lowest", ignore: Any = None) -> NDArray[Any]:
    """The most frequent value around each element (S17): label images without speckles.

    Parameters
    ----------
    labels : array_like
        Of any dtype.
    size, footprint, axes, mask
        As for `z_score`.
    ties : {"lowest", "highest", "first"}
        Which of several equally frequent values.
    ignore : number, optional
        A value, such as the background 0, that wins only if there is no other.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import local
    >>> local.majority_filter(np.array([5, 5, 2, 5, 5, 7, 7, 7]), 3)
    array([5, 5, 5, 5, 5, 7, 7, 7])
    """
    x = checked_input("majority_filter", np.asarray(labels))
    valid = None if mask is None else np.asarray(mask, bool)
    return _around("majority_filter", "mode", x, size, footprint, axes, {"ties": ties, "ignore": ignore}, valid)


def dilate_labels(labels: ArrayLike, size: Any = 3, *, footprint: ArrayLike | None = None, axes: Any = None,
                  background: Any = 0, iterations: int = 1) -> NDArray[Any]:
    """Labels grown into the background: there, the most frequent label around each element, of several the lowest.

    Parameters
    ----------
    labels : array_like
        Of any dtype.
    size, footprint, axes
        As for `z_score`.
    background : number
        The value that is no label. No other element changes.
    iterations : int
        How often this is done.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import local
    >>> local.dilate_labels(np.array([0, 0, 4, 0, 0, 0, 9]))
    array([0, 4, 4, 4, 0, 9, 9])
    >>> local.dilate_labels(np.array([0, 0, 4, 0, 0, 0, 9]), iterations=2)
    array([4, 4, 4, 4, 4, 9, 9])
    """
    name = "dilate_labels"
    times = whole_number(name, "iterations", iterations)
    if times < 0:
        raise ValueError(f"{name}: iterations must be >= 0, but is {times}")
    x = checked_input(name, np.array(labels))
    for _ in range(times):
        grown = _around(name, "mode", x, size, footprint, axes, {"ignore": background})
        np.copyto(x, grown, where=x == background)
    return x


def guided_filter(x: ArrayLike, guide: ArrayLike, radius: int, epsilon: float) -> NDArray[Any]:
    """`x` smoothed so that it follows the edges of a guide (He, Sun and Tang, 2013).

    In each box of that radius `x` is fitted by a linear function of the guide's channels, `epsilon` holding its slopes
    down; the result is the mean of the functions of all boxes that hold an element, at the guide there.

    Parameters
    ----------
    x : array_like of shape (…)
        What is smoothed; float32 gives float32, other dtypes float64.
    guide : array_like of the shape of `x`, or with an axis of channels after it
        The image whose edges are kept; it may be `x` itself.
    radius : int
        Boxes have ``2 * radius + 1`` elements along each axis, and are cut at the edges.
    epsilon : float
        Greater than 0, in the square of the guide's unit: contrasts below its root do not count as edges.

    Returns
    -------
    numpy.ndarray
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import local
    >>> x = np.array([0.0, 0.1, 0.0, 1.0, 0.9, 1.0])
    >>> local.guided_filter(x, x, 1, 1e-2).round(2)
    array([0.03, 0.07, 0.02, 0.98, 0.93, 0.97])
    """
    name = "guided_filter"
    values, image = checked_input(name, np.asarray(x)), checked_input(name, np.asarray(guide))
    if image.shape[: values.ndim] != values.shape or image.ndim > values.ndim + 1:
        raise ValueError(f"{name}: guide must have the shape of x, {values.shape}, and may have an axis of channels "
                         f"after it, but has shape {image.shape}")
    reach = whole_number(name, "radius", radius)
    if reach < 0:
        raise ValueError(f"{name}: radius must be >= 0, but is {reach}")
    if not epsilon > 0:
        raise ValueError(f"{name}: epsilon must be > 0, but is {epsilon}")
    result_dtype = np.float32 if values.dtype == np.float32 else np.float64
    if values.size == 0:
        return np.empty(values.shape, result_dtype)
    p = values.astype(np.float64, copy=False)
    channels = image.astype(np.float64, copy=False).reshape(*values.shape, -1)

    def mean(planes: NDArray[Any]) -> NDArray[Any]:
        """Box means of planes, which are the last axis."""
        return _around(name, "avg", planes, 2 * reach + 1, None, tuple(range(values.ndim)), {})

    mean_i, mean_p = mean(channels), mean(p[..., None])
    # cov(guide, x) and cov(guide, guide) of every box, as means of products less products of means.
    with_x = mean(channels * p[..., None]) - mean_i * mean_p
    products = mean((channels[..., :, None] * channels[..., None, :]).reshape(*values.shape, -1))
    count = channels.shape[-1]
    among = products.reshape(*values.shape, count, count) - mean_i[..., :, None] * mean_i[..., None, :]
    among += epsilon * np.eye(count)
    slopes = with_x / among[..., 0] if count == 1 else np.linalg.solve(among, with_x[..., None])[..., 0]
    offset = mean_p - np.sum(slopes * mean_i, axis=-1, keepdims=True)
    result = np.sum(mean(slopes) * channels, axis=-1) + mean(offset)[..., 0]
    return result.astype(result_dtype, copy=False)
