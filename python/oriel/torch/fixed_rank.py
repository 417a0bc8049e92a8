"""Pools of one, two or three last axes with the names and arguments of `torch.nn.functional`, and some further
keywords.

The input has channels and the pooled axes, or a batch before them: (C, L) or (N, C, L), (C, H, W) or (N, C, H, W),
(C, D, H, W) or (N, C, D, H, W). Parameters, gradients and errors are those of `max_pool` and the others of
`oriel.torch`; `min_pool*` takes the arguments of `max_pool*`. Invalid arguments raise ValueError or TypeError; PyTorch
mostly raises RuntimeError for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from oriel.array_types import NanPolicy
from oriel.torch.pools import complete_sizes, omits_nan, unpooled_shape
from oriel.torch.run import pool, pool_with_indices, unpool
from oriel.torch.signatures import Ints, OutputSize, Padding, adaptive_max, fixed_extremum

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "min_pool1d",
    "min_pool2d",
    "min_pool3d",
    "sum_pool1d",
    "sum_pool2d",
    "sum_pool3d",
]


@fixed_extremum
def max_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False, *,
               nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window over the last axis; with `return_indices` also its index. See `max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.max_pool1d(torch.arange(4.0).reshape(1, 4), 2)
    tensor([[1., 3.]])
    """
    run = pool_with_indices if return_indices else pool
    return run(input, "max", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 1)


@fixed_extremum
def min_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False, *,
               nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The smallest element of each window over the last axis; with `return_indices` also its index. See `min_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.min_pool1d(torch.arange(4.0).reshape(1, 4), 2)
    tensor([[0., 2.]])
    """
    run = pool_with_indices if return_indices else pool
    return run(input, "min", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 1)


def avg_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, *, divisor_override: int | None = None,
               dilation: Ints = 1, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each window over the last axis. See `avg_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.avg_pool1d(torch.arange(4.0).reshape(1, 4), 2)
    tensor([[0.5000, 2.5000]])
    """
    return pool(input, "avg", kernel_size, stride, padding, dilation, None, None, ceil_mode, count_include_pad,
                divisor_override, None, nan_policy != "propagate" and omits_nan(nan_policy), 1)


def sum_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, *, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The sum of each window over the last axis. See `sum_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.sum_pool1d(torch.arange(4.0).reshape(1, 4), 2)
    tensor([[1., 5.]])
    """
    return pool(input, "sum", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
                nan_policy != "propagate" and omits_nan(nan_policy), 1)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False,
              *, padding: Padding = 0, dilation: Ints = 1, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The p-norm of each window over the last axis. See `lp_pool`, also for what differs from PyTorch.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.lp_pool1d(torch.tensor([[3.0, -4.0]]), 2, 2)
    tensor([[5.]])
    """
    return pool(input, "lp", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, norm_type,
                nan_policy != "propagate" and omits_nan(nan_policy), 1)


@adaptive_max
def adaptive_max_pool1d(input: Tensor, output_size: OutputSize, return_indices: bool = False, *,
                        nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each of `output_size` windows over the last axis. See `adaptive_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_max_pool1d(torch.arange(4.0).reshape(1, 4), 1)
    tensor([[3.]])
    """
    sizes = complete_sizes("adaptive_max_pool1d", input, output_size)
    run = pool_with_indices if return_indices else pool
    return run(input, "max", None, None, 0, 1, sizes, None, False, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 1)


def adaptive_avg_pool1d(input: Tensor, output_size: OutputSize, *, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each of `output_size` windows over the last axis. See `adaptive_avg_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_avg_pool1d(torch.arange(4.0).reshape(1, 4), 1)
    tensor([[1.5000]])
    """
    sizes = complete_sizes("adaptive_avg_pool1d", input, output_size)
    return pool(input, "avg", None, None, 0, 1, sizes, None, False, True, None, None,
                nan_policy != "propagate" and omits_nan(nan_policy), 1)


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with each element put at its index, over the last axis. See `max_unpool`.

    `output_size` has the extents of the pooled axes, or of all axes; each must be less than one stride away from the
    size that the windows need.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.max_unpool1d(torch.tensor([[7.0]]), torch.tensor([[1]]), 2)
    tensor([[0., 7.]])
    """
    shape = unpooled_shape("max_unpool1d", input, kernel_size, stride, padding, output_size, range(-1, 0), exactly=True)
    return unpool(input, indices, shape, range(-1, 0))


@fixed_extremum
def max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False, *,
               nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window over the last two axes; with `return_indices` also its index. See `max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.max_pool2d(torch.arange(4.0).reshape(1, 2, 2), 2)
    tensor([[[3.]]])
    """
    run = pool_with_indices if return_indices else pool
    return run(input, "max", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 2)


@fixed_extremum
def min_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False, *,
               nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The smallest element of each window over the last two axes; with `return_indices` also its index. See `min_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.min_pool2d(torch.arange(4.0).reshape(1, 2, 2), 2)
    tensor([[[0.]]])
    """
    run = pool_with_indices if return_indices else pool
    return run(input, "min", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 2)


def avg_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *,
               dilation: Ints = 1, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each window over the last two axes. See `avg_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.avg_pool2d(torch.arange(4.0).reshape(1, 2, 2), 2)
    tensor([[[1.5000]]])
    """
    return pool(input, "avg", kernel_size, stride, padding, dilation, None, None, ceil_mode, count_include_pad,
                divisor_override, None, nan_policy != "propagate" and omits_nan(nan_policy), 2)


def sum_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, *, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The sum of each window over the last two axes. See `sum_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.sum_pool2d(torch.arange(4.0).reshape(1, 2, 2), 2)
    tensor([[[6.]]])
    """
    return pool(input, "sum", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
                nan_policy != "propagate" and omits_nan(nan_policy), 2)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False,
              *, padding: Padding = 0, dilation: Ints = 1, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The p-norm of each window over the last two axes. See `lp_pool`, also for what differs from PyTorch.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.lp_pool2d(torch.tensor([[[3.0, -4.0]]]), 2, (1, 2))
    tensor([[[5.]]])
    """
    return pool(input, "lp", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, norm_type,
                nan_policy != "propagate" and omits_nan(nan_policy), 2)


@adaptive_max
def adaptive_max_pool2d(input: Tensor, output_size: OutputSize, return_indices: bool = False, *,
                        nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each of `output_size` windows over the last two axes. See `adaptive_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_max_pool2d(torch.arange(4.0).reshape(1, 2, 2), 1)
    tensor([[[3.]]])
    """
    sizes = complete_sizes("adaptive_max_pool2d", input, output_size)
    run = pool_with_indices if return_indices else pool
    return run(input, "max", None, None, 0, 1, sizes, None, False, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 2)


def adaptive_avg_pool2d(input: Tensor, output_size: OutputSize, *, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each of `output_size` windows over the last two axes. See `adaptive_avg_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_avg_pool2d(torch.arange(4.0).reshape(1, 2, 2), 1)
    tensor([[[1.5000]]])
    """
    sizes = complete_sizes("adaptive_avg_pool2d", input, output_size)
    return pool(input, "avg", None, None, 0, 1, sizes, None, False, True, None, None,
                nan_policy != "propagate" and omits_nan(nan_policy), 2)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with each element put at its index, over the last two axes. See `max_unpool`.

    `output_size` has the extents of the pooled axes, or of all axes; each must be less than one stride away from the
    size that the windows need.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.max_unpool2d(torch.tensor([[[7.0]]]), torch.tensor([[[1]]]), (1, 2))
    tensor([[[0., 7.]]])
    """
    shape = unpooled_shape("max_unpool2d", input, kernel_size, stride, padding, output_size, range(-2, 0), exactly=True)
    return unpool(input, indices, shape, range(-2, 0))


@fixed_extremum
def max_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False, *,
               nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window over the last three axes; with `return_indices` also its index. See
    `max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    run = pool_with_indices if return_indices else pool
    return run(input, "max", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 3)


@fixed_extremum
def min_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False, *,
               nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The smallest element of each window over the last three axes; with `return_indices` also its index. See
    `min_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.min_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[0.]]]])
    """
    run = pool_with_indices if return_indices else pool
    return run(input, "min", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 3)


def avg_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *,
               dilation: Ints = 1, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each window over the last three axes. See `avg_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    return pool(input, "avg", kernel_size, stride, padding, dilation, None, None, ceil_mode, count_include_pad,
                divisor_override, None, nan_policy != "propagate" and omits_nan(nan_policy), 3)


def sum_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, *, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The sum of each window over the last three axes. See `sum_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.sum_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[28.]]]])
    """
    return pool(input, "sum", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None,
                nan_policy != "propagate" and omits_nan(nan_policy), 3)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False,
              *, padding: Padding = 0, dilation: Ints = 1, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The p-norm of each window over the last three axes. See `lp_pool`, also for what differs from PyTorch.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.lp_pool3d(torch.tensor([[[[3.0, -4.0]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    return pool(input, "lp", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, norm_type,
                nan_policy != "propagate" and omits_nan(nan_policy), 3)


@adaptive_max
def adaptive_max_pool3d(input: Tensor, output_size: OutputSize, return_indices: bool = False, *,
                        nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each of `output_size` windows over the last three axes. See `adaptive_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    sizes = complete_sizes("adaptive_max_pool3d", input, output_size)
    run = pool_with_indices if return_indices else pool
    return run(input, "max", None, None, 0, 1, sizes, None, False, True, None, None,
               nan_policy != "propagate" and omits_nan(nan_policy), 3)


def adaptive_avg_pool3d(input: Tensor, output_size: OutputSize, *, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each of `output_size` windows over the last three axes. See `adaptive_avg_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """
    sizes = complete_sizes("adaptive_avg_pool3d", input, output_size)
    return pool(input, "avg", None, None, 0, 1, sizes, None, False, True, None, None,
                nan_policy != "propagate" and omits_nan(nan_policy), 3)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with each element put at its index, over the last three axes. See `max_unpool`.

    `output_size` has the extents of the pooled axes, or of all axes; each must be less than one stride away from the
    size that the windows need.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.max_unpool3d(torch.tensor([[[[7.0]]]]), torch.tensor([[[[1]]]]), (1, 1, 2))
    tensor([[[[0., 7.]]]])
    """
    shape = unpooled_shape("max_unpool3d", input, kernel_size, stride, padding, output_size, range(-3, 0), exactly=True)
    return unpool(input, indices, shape, range(-3, 0))
