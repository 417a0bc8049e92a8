"""Calls of the engine on plain tensors: no gradients, no transforms. On the CPU with as many threads as PyTorch uses,
on a CUDA device on its current stream."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format

from oriel import _core
from oriel.torch_threads import ALL_THREADS, as_many_threads_as_torch

__all__ = [
    "backward", "backward_all_codes", "backward_codes", "forward", "forward_all_codes", "forward_codes",
    "forward_indices",
    "is_channels_last", "memory_format", "result_unlike", "unpool"
]

_torch_threads = torch.get_num_threads
_forward = _core.forward
_backward = _core.backward


def memory_format(channels_last: bool, rank: int) -> torch.memory_format:
    """The memory format of a new tensor of that rank."""
    if not channels_last:
        return torch.contiguous_format
    return torch.channels_last if rank == 4 else torch.channels_last_3d


def is_channels_last(x: Tensor) -> bool:
    """Whether results of `x` are channels last in memory: PyTorch's rule for the strides of tensors of rank 4 and 5."""
    return suggest_memory_format(x) != torch.contiguous_format


def forward(pool: _core.Pool, x: Tensor) -> Tensor:
    """The pool of `x`, in x's memory format."""
    if _torch_threads() == ALL_THREADS:
        return _forward(pool, x)
    with as_many_threads_as_torch():
        return _forward(pool, x)


def forward_indices(pool: _core.Pool, x: Tensor) -> tuple[Tensor, Tensor]:
    """The pool of `x`, and each result's index in the plane of the pooled axes."""
    if _torch_threads() == ALL_THREADS:
        return _core.forward_indices(pool, x, "plane")
    with as_many_threads_as_torch():
        return _core.forward_indices(pool, x, "plane")


def forward_codes(pool: _core.Pool, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """The pool of `x`, and uint8 codes of the taps that windows chose if a gradient is faster with them than from `x`,
    else None."""
    if _torch_threads() == ALL_THREADS:
        return _core.forward_codes(pool, x)
    with as_many_threads_as_torch():
        return _core.forward_codes(pool, x)


def result_unlike(dy: Tensor, shape: Sequence[int], channels_last: bool) -> Tensor | None:
    """A tensor for the gradient of the input if its memory layout must differ from that of `dy`, else None."""
    if channels_last == is_channels_last(dy):
        return None
    return torch.empty(shape, dtype=dy.dtype, device=dy.device, memory_format=memory_format(channels_last, len(shape)))


def backward(pool: _core.Pool, dy: Tensor, x: Tensor | None, shape: Sequence[int] | None,
             out: Tensor | None = None) -> Tensor:
    """The gradient of the input: `x`, or its shape if that is enough. With the memory layout of x or dy, or `out`."""
    if _torch_threads() == ALL_THREADS:
        return _backward(pool, dy, x, shape, out)
    with as_many_threads_as_torch():
        return _backward(pool, dy, x, shape, out)


def backward_codes(pool: _core.Pool, dy: Tensor, codes: Tensor, x: Tensor) -> Tensor:
    """The gradient of `x` with the codes that `forward_codes` returned, with the memory layout of `x`."""
    out = None if x.is_contiguous() and dy.is_contiguous() else torch.empty_like(x)
    if _torch_threads() == ALL_THREADS:
        return _core.backward_indices(pool, dy, codes, "window", x.shape, out)
    with as_many_threads_as_torch():
        return _core.backward_indices(pool, dy, codes, "window", x.shape, out)


def forward_all_codes(pool: _core.Pool, x: Tensor) -> tuple[Tensor, Tensor]:
    """The pool of `x` and uint8 codes of the taps that windows chose, whether or not a gradient is faster with them."""
    with as_many_threads_as_torch():
        return _core.forward_indices(pool, x, "window", None, "uint8")


def backward_all_codes(pool: _core.Pool, dy: Tensor, codes: Tensor, shape: Sequence[int],
                       out: Tensor | None = None) -> Tensor:
    """The gradient of an input of that shape with such codes, with the memory layout of dy, or `out`."""
    with as_many_threads_as_torch():
        return _core.backward_indices(pool, dy, codes, "window", shape, out)


def unpool(y: Tensor, indices: Tensor, shape: Sequence[int], axes: Sequence[int]) -> Tensor:
    """Zeros of that shape with each element of `y` put at its index in the plane of the axes."""
    if _torch_threads() == ALL_THREADS:
        return _core.unpool(y, indices, "plane", axes, shape)
    with as_many_threads_as_torch():
        return _core.unpool(y, indices, "plane", axes, shape)
