"""Pooling of tensors that are divided among the processes of a `torch.distributed` group, which must carry CPU tensors
(gloo). The layers are those of `oriel.mpi`; `P_x` is a pair of a group and a grid.

    group = torch.distributed.group.WORLD
    layer = oriel.torch.distributed.DistributedMaxPool2d((group, (1, 1, 2, 2)), kernel_size=3, stride=2, padding=1)
"""

from oriel.ranks.arrays import DistributedPool
from oriel.ranks.chain import Sequential
from oriel.ranks.grid import Grid
from oriel.ranks.layers import *  # noqa: F403
from oriel.ranks import layers as _layers
from oriel.ranks.tensors import Halo, gather, halo_shape, repartition, scatter

__all__ = ["DistributedPool", "Grid", "Halo", "Sequential", "gather", "halo_shape", "repartition", "scatter"]
__all__ += _layers.__all__
