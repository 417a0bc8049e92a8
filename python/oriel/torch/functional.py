"""Replacements for the pooling functions of `torch.nn.functional`: its names and arguments, and the functions of `oriel` for any axes."""

from oriel.torch import fixed_rank, fixed_statistics, pools, statistics
from oriel.torch.fixed_rank import *  # noqa: F403
from oriel.torch.fixed_statistics import *  # noqa: F403
from oriel.torch.fractional import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from oriel.torch.pools import *  # noqa: F403
from oriel.torch.statistics import *  # noqa: F403

__all__ = ["fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
           "fractional_max_pool3d_with_indices"]
__all__ += fixed_rank.__all__
__all__ += fixed_statistics.__all__
__all__ += pools.__all__
__all__ += statistics.__all__
