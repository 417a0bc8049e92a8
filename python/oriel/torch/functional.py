"""Functions with the names and arguments of `torch.nn.functional`, and those of `oriel` for any axes: import this in its place for pooling."""

from oriel.torch import fixed_rank, pools
from oriel.torch.fixed_rank import *  # noqa: F403
from oriel.torch.pools import *  # noqa: F403

__all__ = [*fixed_rank.__all__, *pools.__all__]
