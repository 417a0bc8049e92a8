"""Filters one after another, band by band of rows, so that what one hands to the next stays in the caches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oriel.execution import get_threads

__all__ = ["through_bands"]

# Bytes of a band for each thread, and of the smallest array that is divided: openings of 8192x8192 bytes took two thirds
# of the time of two passes, those of 1024x1024 as long.
_BAND = 1 << 19
_SMALL = 4 << 20

Filter = Callable[[NDArray[Any]], NDArray[Any]]


def through_bands(x: NDArray[Any], filters: Sequence[tuple[Filter, int]], out: NDArray[Any] | None) -> NDArray[Any]:
    """The result of all `filters`, each applied to that of the one before it.

    Parameters
    ----------
    x : numpy.ndarray of shape (rows, …)
    filters : sequence of (function, reach)
        Functions of an array whose results have its shape. A row of a result depends on at most `reach` rows before and
        behind it: what is beyond the first and the last row of the array must depend on so many rows of it only.
    out : numpy.ndarray, optional
        Of x's shape and dtype, where to write the result.
    """
    halo = sum(reach for _, reach in filters)
    row_bytes = x.nbytes // len(x) if x.ndim > 0 and len(x) > 0 else 0
    threads = get_threads() or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    rows = max(8 * halo, _BAND * threads // max(row_bytes, 1), 1)
    if x.nbytes < _SMALL or rows >= len(x) or not x.flags.c_contiguous or (
            out is not None and np.may_share_memory(x, out)):
        for function, _ in filters:
            x = function(x)
        if out is None:
            return x
        out[...] = x
        return out
    result = np.empty_like(x) if out is None else out
    for begin in range(0, len(x), rows):
        end = min(begin + rows, len(x))
        first, last = max(begin - halo, 0), min(end + halo, len(x))
        band, around = x[first:last], halo
        for function, reach in filters:
            around -= reach
            low, high = max(begin - around, 0), min(end + around, len(x))
            band = function(band)[low - first : high - first]
            first = low
        result[begin:end] = band
    return result
