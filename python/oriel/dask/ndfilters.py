"""Filters of Dask arrays with the names and arguments of `dask_image.ndfilters`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import dask.array as da
import numpy as np
from dask.base import tokenize

from oriel import ndimage
from oriel.dask.chunks import Bounds, chunk_bounds, chunked
from oriel.edges import EdgeMode, WholeNumbers, checked_input, window_shape, windows_along

__all__ = [
    "maximum_filter",
    "median_filter",
    "minimum_filter",
    "percentile_filter",
    "rank_filter",
    "threshold_local",
    "uniform_filter",
]


@dataclass(frozen=True)
class _Reach:
    """How many elements before and after each one a filter reads, along each axis."""

    shape: tuple[int, ...]
    around: tuple[Bounds, ...]

    def inputs(self, bounds: Any) -> tuple[list[Bounds], tuple[slice, ...]]:
        """The inputs that outputs read, and where the outputs are among them.

        What lies up to `before` elements beyond the first edge mirrors at most as many elements and one more inside it,
        and so at the last edge: these are among the inputs, too.
        """
        box = []
        for (begin, end), (before, after), n in zip(bounds, self.around, self.shape):
            low, high = begin - before, end + after
            if low < 0:
                high = max(high, before + 1)
            if end + after > n:
                low = min(low, n - after - 1)
            box.append((max(low, 0), min(high, n)))
        return box, tuple(slice(begin - low, end - low) for (begin, end), (low, _) in zip(bounds, box))


def _filter_part(function: Callable[..., Any], places: tuple[slice, ...], x: Any) -> Any:
    return function(x)[places]


def _wrapped(x: Any, axis: int, before: int, after: int) -> Any:
    """x with the elements of the opposite edge before and after it, and as many of them as are needed."""
    n = x.shape[axis]
    places = [slice(None)] * x.ndim
    parts = [x]
    while before > 0:
        places[axis] = slice(max(n - before, 0), n)
        parts.insert(0, x[tuple(places)])
        before -= n
    while after > 0:
        places[axis] = slice(0, min(after, n))
        parts.append(x[tuple(places)])
        after -= n
    return da.concatenate(parts, axis)


def _filtered(name: str, image: Any, size: Any, footprint: Any, mode: Any, cval: Any, origin: Any, *rank: Any) -> Any:
    x = da.asarray(image)
    if any(np.isnan(n) for n in x.shape):
        raise ValueError(f"{name}: image must have axes of known lengths, but has shape {x.shape}")
    axes = tuple(range(x.ndim))
    one = checked_input(name, np.zeros((1,) * x.ndim, x.dtype))
    sizes, _ = window_shape(name, size, footprint, axes)
    around = [(0, 0)] * x.ndim
    for window in windows_along(name, one, axes, sizes, mode, origin):
        around[window.axis] = (window.before, window.after)
    keywords: dict[str, Any] = {"mode": mode, "cval": cval, "origin": origin}
    keywords |= {"size": size} if footprint is None else {"footprint": np.asarray(footprint, bool)}
    function = partial(_call, name, rank, keywords)
    dtype = function(one).dtype  # also the errors of other arguments
    if x.size == 0 or x.ndim == 0:
        return da.empty(x.shape, dtype=dtype) if x.size == 0 else x.map_blocks(function, dtype=dtype)
    wrap = mode in ("wrap", "grid-wrap")
    source, cuts = x, [chunk_bounds(chunks) for chunks in x.chunks]
    for axis, (before, after) in enumerate(around):
        if wrap:
            source = _wrapped(source, axis, before, after)
            cuts[axis] = [(begin + before, end + before) for begin, end in cuts[axis]]
    reach = _Reach(source.shape, tuple(around))
    token = tokenize(x, name, sorted(keywords.items(), key=lambda item: item[0]), rank)
    return chunked(f"oriel-{name}-{token}", partial(_filter_part, function), cuts, [source], reach.inputs, dtype)


def _call(name: str, rank: tuple[Any, ...], keywords: dict[str, Any], x: Any) -> Any:
    return getattr(ndimage, name)(x, *rank, **keywords)


def maximum_filter(image: Any, size: WholeNumbers | None = None, footprint: Any = None, mode: EdgeMode = "reflect",
                   cval: float = 0.0, origin: WholeNumbers = 0) -> Any:
    """The largest element around each one, as `dask_image.ndfilters.maximum_filter`.

    Parameters
    ----------
    image : dask.array.Array
        Chunked in any way; chunks may be smaller than the window.
    size, footprint, mode, cval, origin
        As for `oriel.ndimage.maximum_filter`; one mode for all axes.

    Returns
    -------
    dask.array.Array
        With the chunks of `image` and the bits of `oriel.ndimage` on the whole array.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Examples
    --------
    >>> import dask.array as da
    >>> from oriel.dask import maximum_filter
    >>> maximum_filter(da.arange(6, chunks=4), 3).compute()
    array([1, 2, 3, 4, 5, 5])
    """
    return _filtered("maximum_filter", image, size, footprint, mode, cval, origin)


def minimum_filter(image: Any, size: WholeNumbers | None = None, footprint: Any = None, mode: EdgeMode = "reflect",
                   cval: float = 0.0, origin: WholeNumbers = 0) -> Any:
    """The smallest element around each one. See `maximum_filter`."""
    return _filtered("minimum_filter", image, size, footprint, mode, cval, origin)


def median_filter(image: Any, size: WholeNumbers | None = None, footprint: Any = None, mode: EdgeMode = "reflect",
                  cval: float = 0.0, origin: WholeNumbers = 0) -> Any:
    """The median around each element; of an even number the upper one. See `maximum_filter`."""
    return _filtered("median_filter", image, size, footprint, mode, cval, origin)


def rank_filter(image: Any, rank: int, size: WholeNumbers | None = None, footprint: Any = None,
                mode: EdgeMode = "reflect", cval: float = 0.0, origin: WholeNumbers = 0) -> Any:
    """The element of a rank around each one, 0 for the smallest, -1 for the largest. See `maximum_filter`."""
    return _filtered("rank_filter", image, size, footprint, mode, cval, origin, rank)


def percentile_filter(image: Any, percentile: float, size: WholeNumbers | None = None, footprint: Any = None,
                      mode: EdgeMode = "reflect", cval: float = 0.0, origin: WholeNumbers = 0) -> Any:
    """The percentile around each element, as SciPy counts it. See `maximum_filter`."""
    return _filtered("percentile_filter", image, size, footprint, mode, cval, origin, percentile)


def uniform_filter(image: Any, size: WholeNumbers = 3, mode: EdgeMode = "reflect", cval: float = 0.0,
                   origin: WholeNumbers = 0) -> Any:
    """The mean around each element. See `maximum_filter`, and `oriel.uniform_filter` for rounding."""
    return _filtered("uniform_filter", image, size, None, mode, cval, origin)


def threshold_local(image: Any, block_size: WholeNumbers, method: Literal["mean", "median"] = "mean",
                    offset: float = 0, mode: EdgeMode = "reflect", cval: float = 0.0) -> Any:
    """A threshold for each element: the mean or median around it, less `offset`.

    Parameters
    ----------
    block_size : int or sequence of ints
        The extents of the window, odd.
    method : {"mean", "median"}
        `dask_image.ndfilters.threshold_local` has "gaussian" too, and as the default; Oriel has no Gaussian filter.
    image, offset, mode, cval
        As for `maximum_filter`.

    Returns
    -------
    dask.array.Array
        Of float64.

    Examples
    --------
    >>> import dask.array as da
    >>> from oriel.dask import threshold_local
    >>> threshold_local(da.arange(6, chunks=4), 3, offset=0.5).compute()
    array([-0.16666667,  0.5       ,  1.5       ,  2.5       ,  3.5       ,
            4.16666667])
    """
    if method not in ("mean", "median"):
        raise ValueError(f"threshold_local: method must be 'mean' or 'median', but is {method!r}")
    sizes = block_size if np.iterable(block_size) else (block_size,)
    if any(int(k) % 2 == 0 for k in sizes):
        raise ValueError(f"threshold_local: block_size must be odd, but is {block_size!r}")
    x = da.asarray(image).astype(np.float64)
    around = uniform_filter(x, block_size, mode, cval) if method == "mean" else median_filter(
        x, block_size, None, mode, cval)
    return around - offset
