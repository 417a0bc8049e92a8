"""Pools of divided tensors as modules of PyTorch, with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard, TypeVar

import torch
from torch import Tensor
from torch.nn import Module

from oriel import _core
from oriel.array_types import NanPolicy, Op, PaddingWord
from oriel.ranks.derivatives import DividedPoolFunction, anchor
from oriel.ranks.divided import Bound, DividedPool, OutputPartition, Ranges
from oriel.ranks.grid import GridLike

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
    "DistributedSumPool1d",
    "DistributedSumPool2d",
    "DistributedSumPool3d",
]

Ints = int | Sequence[int]
Padding = int | Sequence[int] | Sequence[tuple[int, int]] | PaddingWord


def bind_tensor(divided: DividedPool, input: Any, place: str = "") -> tuple[Bound, Tensor | None, bool]:
    """The pool for parts like `input`; what to differentiate by if only other ranks' inputs require grad; whether any
    does. `place` names the step at which ranks synchronise, by default the pool's own."""
    shape, dtype, error = (), None, None
    try:
        if not isinstance(input, Tensor):
            raise TypeError(f"{divided.function}: input must be a torch.Tensor, but is {type(input).__name__}")
        shape, dtype = tuple(input.shape), _core.dtype_of(input.detach())
    except (TypeError, ValueError) as caught:
        error = caught
    recording = torch.is_grad_enabled() and error is None and input.is_floating_point()
    wants = recording and input.requires_grad
    bound, wanted = divided.bind(shape, dtype, error, wants, not recording, place)
    return bound, anchor(wanted, wants), wanted


def is_layer(module: Any) -> TypeGuard[_Layer]:
    """Whether it is one of the layers of this file."""
    return isinstance(module, _Layer)


class _Layer(Module):
    """Base of all layers: the agreement of ranks, the call."""

    _op: Op
    _ndim: int = 0
    return_indices: bool = False
    divided: DividedPool

    def _divide(self, P_x: GridLike, kernel_size: Ints, stride: Ints | None, padding: Padding, dilation: Ints,
                ceil_mode: bool, count_include_pad: bool, divisor: int | None, norm: float | None,
                nan_policy: NanPolicy, output_partition: OutputPartition) -> None:
        super().__init__()
        self._shown = {"kernel_size": kernel_size, "stride": kernel_size if stride is None else stride,
                       "padding": padding, "dilation": dilation}
        arguments = (self._op, kernel_size, stride, padding, dilation, None, None, ceil_mode, count_include_pad,
                     divisor, norm)
        self.divided = DividedPool(type(self).__name__, P_x, arguments, nan_policy, self._ndim, output_partition)

    @property
    def ranges(self) -> Ranges | None:
        """After a call: the inputs that this rank owns and the outputs that it computes, as (begin, end) along each
        axis of the whole tensors."""
        return self.divided.ranges

    def extra_repr(self) -> str:
        """The windows and the grid."""
        return ", ".join([f"{self.divided.grid.shape}"] + [f"{name}={value!r}" for name, value in self._shown.items()])

    def forward(self, input: Tensor) -> Any:
        """This rank's part of the pool of the divided tensor whose part is `input`. All ranks call it together.

        Raises
        ------
        TypeError, ValueError
            The same error on every rank: for parts that do not fit together, or that are invalid on one rank.
        """
        bound, fixed, recorded = bind_tensor(self.divided, input)
        return DividedPoolFunction.apply(input, fixed, bound, self.return_indices, recorded)


class _Extremum(_Layer):
    def __init__(self, P_x: GridLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, return_indices: bool = False, ceil_mode: bool = False, *,
                 nan_policy: NanPolicy = "propagate", output_partition: OutputPartition = None) -> None:
        self._divide(P_x, kernel_size, stride, padding, dilation, ceil_mode, True, None, None, nan_policy,
                     output_partition)
        self.return_indices: bool = bool(return_indices)


class _Average(_Layer):
    _op = "avg"

    def __init__(self, P_x: GridLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None, *, nan_policy: NanPolicy = "propagate",
                 output_partition: OutputPartition = None) -> None:
        self._divide(P_x, kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override, None,
                     nan_policy, output_partition)


class _Sum(_Layer):
    _op = "sum"

    def __init__(self, P_x: GridLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, ceil_mode: bool = False, *, nan_policy: NanPolicy = "propagate",
                 output_partition: OutputPartition = None) -> None:
        self._divide(P_x, kernel_size, stride, padding, dilation, ceil_mode, True, None, None, nan_policy,
                     output_partition)


class _Norm(_Layer):
    _op = "lp"

    def __init__(self, P_x: GridLike, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
                 padding: Padding = 0, dilation: Ints = 1, ceil_mode: bool = False, *,
                 nan_policy: NanPolicy = "propagate", output_partition: OutputPartition = None) -> None:
        self._divide(P_x, kernel_size, stride, padding, dilation, ceil_mode, True, None, norm_type, nan_policy,
                     output_partition)


_DOC = """{what} of each window over the last {axes}, of a tensor that is divided over the grid `P_x`.

    Results and gradients are bit-identical to those of `oriel.torch.{plain}` on the undivided tensor. All ranks must
    create the layer, call it and run backward together.

    Parameters
    ----------
    P_x : mpi4py.MPI.Cartcomm, (communicator, shape) or Grid
        Ranks along each axis of the tensor, batch and channels first, as for DistDL; leading 1s may be left out.
        Without MPI, a pair of a `torch.distributed` process group and a shape.
    {arguments}kernel_size, stride, padding, dilation, ceil_mode{more}
        As for `oriel.torch.{plain}`; without a stride it is the kernel size. (DistDL's is 1.)
    nan_policy : str
        'propagate' or 'omit' (S3).
    output_partition : None, 'centred', 'balanced' or sequence of sequences of int, keyword only
        Which rank computes which outputs. None and 'centred': the owner of the input at the window's centre;
        'balanced': parts whose sizes differ by at most one, as in DistDL; or the bounds of the parts along each axis,
        from 0 to the extent of the result.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank: for invalid arguments of one rank, or arguments that differ between ranks.

    Examples
    --------
    >>> import torch
    >>> from mpi4py import MPI
    >>> import oriel.mpi
    >>> P_x = MPI.COMM_SELF.Create_cart([1] * {rank})
    >>> layer = oriel.mpi.{name}(P_x, {first}3, stride=2, padding=1)
    >>> layer(torch.ones({shape})).shape
    torch.Size([{result}])
    """

_WHAT = {"max": "The largest element", "min": "The smallest element", "avg": "The mean", "sum": "The sum",
         "lp": "The p-norm"}
_MORE = {"max": ", return_indices", "min": ", return_indices", "avg": ", count_include_pad, divisor_override"}


_Kind = TypeVar("_Kind", bound=_Layer)


def _documented(layer: type[_Kind]) -> type[_Kind]:
    """The class, with its documentation."""
    op, ndim, name = layer._op, layer._ndim, layer.__name__
    layer.__doc__ = _DOC.format(
        what=_WHAT[op], axes=("axis", "two axes", "three axes")[ndim - 1], plain=name.removeprefix("Distributed"),
        more=_MORE.get(op, ""), name=name, rank=ndim + 2, shape=", ".join(["1", "2"] + ["5"] * ndim),
        result=", ".join(["1", "2"] + ["3"] * ndim), first="2.0, " if op == "lp" else "",
        arguments="norm_type : float\n        p >= 1, or infinity.\n    " if op == "lp" else "")
    return layer


@_documented
class DistributedMaxPool1d(_Extremum):
    _op, _ndim = "max", 1


@_documented
class DistributedMaxPool2d(_Extremum):
    _op, _ndim = "max", 2


@_documented
class DistributedMaxPool3d(_Extremum):
    _op, _ndim = "max", 3


@_documented
class DistributedMinPool1d(_Extremum):
    _op, _ndim = "min", 1


@_documented
class DistributedMinPool2d(_Extremum):
    _op, _ndim = "min", 2


@_documented
class DistributedMinPool3d(_Extremum):
    _op, _ndim = "min", 3


@_documented
class DistributedAvgPool1d(_Average):
    _op, _ndim = "avg", 1


@_documented
class DistributedAvgPool2d(_Average):
    _op, _ndim = "avg", 2


@_documented
class DistributedAvgPool3d(_Average):
    _op, _ndim = "avg", 3


@_documented
class DistributedSumPool1d(_Sum):
    _op, _ndim = "sum", 1


@_documented
class DistributedSumPool2d(_Sum):
    _op, _ndim = "sum", 2


@_documented
class DistributedSumPool3d(_Sum):
    _op, _ndim = "sum", 3


@_documented
class DistributedLPPool1d(_Norm):
    _op, _ndim = "lp", 1


@_documented
class DistributedLPPool2d(_Norm):
    _op, _ndim = "lp", 2


@_documented
class DistributedLPPool3d(_Norm):
    _op, _ndim = "lp", 3
