"""Replacements for the pooling functions of `torch.nn.functional`: its names and arguments, and the functions of `oriel` for any axes."""

from oriel.torch import fixed_rank, pools
from oriel.torch.fixed_rank import *  # noqa: F403
from oriel.torch.pools import *  # noqa: F403

__all__ = []
__all__ += fixed_rank.__all__
__all__ += pools.__all__
