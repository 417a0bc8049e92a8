"""Pools and filters of Dask arrays: each chunk of a result reads just the inputs that it needs; nothing is rechunked.
`pyramid` makes resolution pyramids by the workers of a cluster.

>>> import dask.array as da
>>> import numpy as np
>>> import oriel.dask
>>> x = da.from_array(np.arange(12.0).reshape(3, 4), chunks=(2, 2))
>>> oriel.dask.pool(x, "max", 2, ceil_mode=True).compute()
array([[ 5.,  7.],
       [ 9., 11.]])
"""

try:
    import dask.array  # noqa: F401
except ImportError as _error:
    raise ImportError("oriel.dask: needs dask; install it with `pip install dask[array]`", name=_error.name) from _error

from oriel.dask.chunks import inputs_of
from oriel.dask.ndfilters import (
    maximum_filter,
    median_filter,
    minimum_filter,
    percentile_filter,
    rank_filter,
    threshold_local,
    uniform_filter,
)
from oriel.dask.pools import coarsen, pool
from oriel.dask.pyramids import LazyPyramid, pyramid

__all__ = [
    "LazyPyramid",
    "coarsen",
    "inputs_of",
    "maximum_filter",
    "median_filter",
    "minimum_filter",
    "percentile_filter",
    "pool",
    "pyramid",
    "rank_filter",
    "threshold_local",
    "uniform_filter",
]
