"""`dask.array.chunk.coarsen`, which reduces blocks of NumPy arrays, by `oriel.dask.coarsen`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

import oriel.dask

__all__ = ["coarsen"]


def coarsen(
    reduction: Callable[..., Any], x: Any, axes: dict[int, int], trim_excess: bool = False, **kwargs: Any
) -> Any:
    """In chunks of at most 5 elements, which blocks cross."""
    array = np.asarray(x)
    lazy = da.from_array(array, chunks=tuple(max(min(5, n), 1) for n in array.shape))
    return oriel.dask.coarsen(reduction, lazy, axes, trim_excess, **kwargs).compute()
