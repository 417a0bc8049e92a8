"""Pooling of tensors that are divided among the ranks of MPI: layers of PyTorch and pools of NumPy arrays.

Needs mpi4py 4 and an MPI; the modules need PyTorch. `oriel.torch.distributed` has the same layers for process groups of
PyTorch, without MPI. Run with `mpirun -n 4 python program.py`; with one rank a layer equals the undivided one.

>>> import torch
>>> from mpi4py import MPI
>>> import oriel.mpi
>>> P_x = MPI.COMM_WORLD.Create_cart([1, 1, 1, MPI.COMM_WORLD.size])
>>> layer = oriel.mpi.DistributedMaxPool2d(P_x, kernel_size=3, stride=2, padding=1)
>>> layer(torch.arange(16.0).reshape(1, 1, 4, 4))
tensor([[[[ 5.,  7.],
          [13., 15.]]]])
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

try:
    from mpi4py import MPI as _MPI  # noqa: F401
except ImportError as _error:
    raise ImportError(
        "oriel.mpi needs mpi4py and an MPI library: pip install mpi4py, and install Open MPI or MPICH (Debian: "
        "openmpi-bin or mpich); oriel.torch.distributed needs neither. What Python says: " + str(_error)) from None

from oriel.ranks.arrays import DistributedPool
from oriel.ranks.grid import Grid
from oriel.ranks.tensors import Halo, gather, halo_shape, repartition, scatter

if _TYPE_CHECKING:  # __getattr__ has these
    from oriel.ranks.chain import Sequential
    from oriel.ranks.layers import (
        DistributedAvgPool1d,
        DistributedAvgPool2d,
        DistributedAvgPool3d,
        DistributedLPPool1d,
        DistributedLPPool2d,
        DistributedLPPool3d,
        DistributedMaxPool1d,
        DistributedMaxPool2d,
        DistributedMaxPool3d,
        DistributedMinPool1d,
        DistributedMinPool2d,
        DistributedMinPool3d,
        DistributedSumPool1d,
        DistributedSumPool2d,
        DistributedSumPool3d,
    )

_MODULES = {
    "Sequential": "chain",
    **{f"Distributed{op}Pool{n}d": "layers"
       for op in ("Avg", "LP", "Max", "Min", "Sum") for n in (1, 2, 3)},
}

__all__ = [
    "DistributedAvgPool1d",
    "DistributedAvgPool2d",
    "DistributedAvgPool3d",
    "DistributedLPPool1d",
    "DistributedLPPool2d",
    "DistributedLPPool3d",
    "DistributedMaxPool1d",
    "DistributedMaxPool2d",
    "DistributedMaxPool3d",
    "DistributedMinPool1d",
    "DistributedMinPool2d",
    "DistributedMinPool3d",
    "DistributedPool",
    "DistributedSumPool1d",
    "DistributedSumPool2d",
    "DistributedSumPool3d",
    "Grid",
    "Halo",
    "Sequential",
    "gather",
    "halo_shape",
    "repartition",
    "scatter",
]


def __getattr__(name: str) -> _Any:
    if name in _MODULES:  # only these need PyTorch
        return getattr(_importlib.import_module(f"oriel.ranks.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'oriel.mpi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
