"""Oriel: windowed reductions with stride (max, min, average, sum and Lp pooling), the same bits everywhere.

Arrays of NumPy, PyTorch, JAX and everything with DLPack or `__array__` are read without copying; the result is a new
array of the same kind. All axes are pooled unless `axes` names some.

>>> import numpy as np
>>> import oriel
>>> oriel.max_pool(np.array([[1, 2, 3, 4], [5, 6, 7, 8]]), 2)
array([[6, 8]])
>>> oriel.avg_pool(np.ones((4, 6, 6)), 2).shape, oriel.avg_pool(np.ones((4, 6, 6)), 2, axes=(1, 2)).shape
((2, 3, 3), (4, 3, 3))

`oriel.torch`, `oriel.jax`, `oriel.keras` and `oriel.onnx` are the layers of those frameworks, with gradients; they are
imported by name.
"""

try:
    from oriel import _core
except ImportError as _error:
    import pathlib

    from oriel.load_error import explain

    raise ImportError(explain(_error, pathlib.Path(__file__).parent), name=_error.name) from _error

from oriel.adaptive import (
    adaptive_avg_pool,
    adaptive_lp_pool,
    adaptive_max_pool,
    adaptive_min_pool,
    adaptive_sum_pool,
    global_avg_pool,
    global_lp_pool,
    global_max_pool,
    global_min_pool,
    global_sum_pool,
)
from oriel.block import block_reduce, downscale_local_mean
from oriel.execution import active_target, get_threads, set_target, set_threads, supported_targets, threads
from oriel.filters import maximum_filter, minimum_filter, uniform_filter
from oriel.fixed_rank import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    min_pool1d,
    min_pool2d,
    min_pool3d,
    sum_pool1d,
    sum_pool2d,
    sum_pool3d,
)
from oriel.footprints import ball, diamond, disk, ellipse, line, octagon, octahedron
from oriel.gradients import (
    avg_pool_backward,
    lp_pool_backward,
    max_pool_backward,
    min_pool_backward,
    sum_pool_backward,
)
from oriel.pool import Pool
from oriel.pools import avg_pool, lp_pool, max_pool, max_unpool, min_pool, sum_pool
from oriel.pyramids import Pyramid, pyramid
from oriel.statistic_gradients import (
    centre_pool_backward,
    first_pool_backward,
    geo_pool_backward,
    harm_pool_backward,
    lse_pool_backward,
    median_pool_backward,
    midrange_pool_backward,
    pool_backward,
    prod_pool_backward,
    quantile_pool_backward,
    range_pool_backward,
    rms_pool_backward,
    soft_pool_backward,
    std_pool_backward,
    var_pool_backward,
)
from oriel.statistics import (
    all_pool,
    any_pool,
    centre_pool,
    count_pool,
    first_pool,
    geo_pool,
    harm_pool,
    lse_pool,
    median_pool,
    midrange_pool,
    mode_pool,
    nunique_pool,
    prod_pool,
    quantile_pool,
    range_pool,
    rms_pool,
    soft_pool,
    std_pool,
    var_pool,
)
from oriel.windows import reduce_window

__version__ = _core.version

__all__ = [
    "Pool", "Pyramid", "active_target", "adaptive_avg_pool", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_lp_pool", "adaptive_max_pool", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "adaptive_min_pool", "adaptive_sum_pool", "all_pool", "any_pool", "avg_pool", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "avg_pool_backward", "ball", "block_reduce", "centre_pool", "centre_pool_backward", "count_pool",
    "diamond", "disk", "downscale_local_mean", "ellipse", "first_pool", "first_pool_backward", "geo_pool",
    "geo_pool_backward", "get_threads", "global_avg_pool", "global_lp_pool", "global_max_pool", "global_min_pool",
    "global_sum_pool", "harm_pool", "harm_pool_backward", "line", "lp_pool", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "lp_pool_backward", "lse_pool", "lse_pool_backward", "max_pool", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_pool_backward", "max_unpool", "max_unpool1d", "max_unpool2d", "max_unpool3d", "maximum_filter", "median_pool",
    "median_pool_backward", "midrange_pool", "midrange_pool_backward", "min_pool", "min_pool1d", "min_pool2d",
    "min_pool3d", "min_pool_backward", "minimum_filter", "mode_pool", "nunique_pool", "octagon", "octahedron",
    "pool_backward", "prod_pool", "prod_pool_backward", "pyramid", "quantile_pool", "quantile_pool_backward", "range_pool",
    "range_pool_backward", "reduce_window", "rms_pool", "rms_pool_backward", "set_target", "set_threads", "soft_pool",
    "soft_pool_backward", "std_pool", "std_pool_backward", "sum_pool", "sum_pool1d", "sum_pool2d", "sum_pool3d",
    "sum_pool_backward", "supported_targets", "threads", "uniform_filter", "var_pool", "var_pool_backward",
]
