"""Pools of divided NumPy arrays: `DistributedPool`."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from oriel import _core
from oriel.array_types import Ints, NanPolicy, Op, Padding, ScalarT
from oriel.ranks.divided import Bound, DividedPool, OutputPartition, Ranges
from oriel.ranks.grid import GridLike, meet

__all__ = ["DistributedPool"]

class DistributedPool:
    """A pool of NumPy arrays that are divided over a grid of ranks, and its gradient. All ranks call it together.

    Parameters
    ----------
    P_x : mpi4py.MPI.Cartcomm, (communicator, shape) or Grid
        Ranks along each axis of the array; leading 1s may be left out.
    op : str
        'max', 'min', 'avg', 'sum' or 'lp'.
    kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override, axes, nan_policy
        As for `oriel.max_pool` and `oriel.avg_pool`.
    norm_type : float
        The p of 'lp'.
    output_partition : None, 'centred', 'balanced' or sequence of sequences of int
        Which rank computes which outputs; see `DistributedMaxPool2d`.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank: for invalid arguments of one rank, or arguments that differ between ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> from oriel.mpi import DistributedPool
    >>> pool = DistributedPool((MPI.COMM_SELF, (1,)), "max", 3, stride=2, padding=1)
    >>> x = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    >>> pool.forward(x)
    array([3., 4., 5.])
    >>> pool.backward(np.ones(3), x)
    array([1., 0., 1., 0., 1.])
    """
    def __init__(self, P_x: GridLike, op: Op, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None, norm_type: float | None = None, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", output_partition: OutputPartition = None) -> None:
        self._divided = DividedPool(
            "DistributedPool", P_x,
            (op, kernel_size, stride, padding, dilation, None, axes, ceil_mode, count_include_pad, divisor_override,
             norm_type), nan_policy, 0, output_partition)

    def _bind(self, x: Any) -> Bound:
        shape, dtype, error = (), None, None
        try:
            if not isinstance(x, np.ndarray):
                raise TypeError(f"DistributedPool: x must be a numpy.ndarray, but is {type(x).__name__}")
            shape, dtype = x.shape, _core.dtype_of(x)
        except (TypeError, ValueError) as caught:
            error = caught
        return self._divided.bind(shape, dtype, error)[0]

    @overload
    def forward(self, x: NDArray[ScalarT], *, return_indices: Literal[False] = False) -> NDArray[ScalarT]: ...

    @overload
    def forward(
        self, x: NDArray[ScalarT], *, return_indices: Literal[True]
    ) -> tuple[NDArray[ScalarT], NDArray[np.int64]]: ...

    def forward(self, x: NDArray[Any], *, return_indices: bool = False) -> Any:
        """This rank's outputs, given its inputs x; for max and min optionally with int64 indices in the undivided
        plane.

        Raises
        ------
        TypeError, ValueError
            The same error on every rank: for parts that do not fit together, or that are invalid on one rank.
        """
        bound = self._bind(x)
        wants = meet(self._divided.grid.link, "forward of DistributedPool", [return_indices, not return_indices])
        if wants == [1, 1]:
            raise ValueError("DistributedPool: return_indices must be the same on all ranks, but differs")
        y = np.empty(bound.output_shape, x.dtype)
        if not return_indices:
            bound.run("forward", x=x, y=y)
            return y
        if not bound.local.has("backward_indices"):
            raise ValueError("DistributedPool: return_indices must be False but for max and min")
        places = np.empty(bound.output_shape, np.int64)
        bound.run("forward", x=x, y=y, indices=places)
        bound.local.globalise(places, "plane")
        return y, places

    def backward(self, dy: NDArray[ScalarT], x: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """The gradient at this rank's inputs `x`, from that of its outputs `dy`.

        Raises
        ------
        TypeError, ValueError
            The same error on every rank: also for a `dy` without the shape and dtype of the rank's outputs.
        """
        bound = self._bind(x)
        error: Exception | None = None
        if not isinstance(dy, np.ndarray) or dy.dtype != x.dtype:
            error = TypeError(f"DistributedPool: dy must be a numpy.ndarray of dtype {x.dtype}, as x is, but is "
                              f"{getattr(dy, 'dtype', type(dy).__name__)}")
        elif dy.shape != bound.output_shape:
            error = ValueError(f"DistributedPool: dy must have the shape of the rank's outputs, {bound.output_shape}, "
                               f"but has {dy.shape}")
        elif not bound.local.has("backward") and not bound.local.has("backward_inputs"):
            error = TypeError(f"DistributedPool: x must have a floating dtype for this gradient, but has {x.dtype}")
        self._divided.check(error)
        dx = np.empty(x.shape, x.dtype)
        if bound.local.has("backward"):
            bound.run("backward", dy=dy, dx=dx)
        else:
            bound.run("backward_inputs", x=x, dy=dy, dx=dx)
        return dx

    @property
    def ranges(self) -> Ranges | None:
        """After a call: the inputs that this rank owns and the outputs that it computes, as (begin, end) along each
        axis of the whole arrays."""
        return self._divided.ranges

    @property
    def traffic(self) -> dict[str, tuple[int, int, int, int]]:
        """For each pass that was run on parts like the last ones: messages sent, received, bytes sent, received."""
        return self._divided.traffic
