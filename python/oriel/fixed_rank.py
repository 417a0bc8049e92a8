"""Pools of one, two or three last axes with the names and arguments of `torch.nn.functional`, for arrays of any kind.

The input has channels and the pooled axes, or a batch before them: (C, L) or (N, C, L), (C, H, W) or (N, C, H, W), (C,
D, H, W) or (N, C, D, H, W). Parameters, results and errors are those of `max_pool` and the others; `min_pool*` and
`sum_pool*` take the arguments of `max_pool*`. If PyTorch computes something else (Lp pooling in ceil mode, averages of
integers), the rules say so (`python -m oriel.docs semantics`).
"""

from __future__ import annotations

from oriel import _core
from oriel.adaptive import complete_sizes
from oriel.array_types import AnyArray, ArrayT, Ints, Operand, OutputSize, Padding
from oriel.fixed_rank_types import (
    fixed_adaptive_average,
    fixed_adaptive_max,
    fixed_average,
    fixed_extremum,
    fixed_norm,
    fixed_sum,
    fixed_wide_average,
)
from oriel.pools import unpooled_shape

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "min_pool1d", "min_pool2d", "min_pool3d", "sum_pool1d", "sum_pool2d", "sum_pool3d",
]

_Pool = _core.Pool
_forward = _core.forward


def _unpool(function: str, ndim: int, x: ArrayT, indices: AnyArray, kernel_size: Ints, stride: Ints | None,
            padding: Ints, output_size: Ints | None) -> ArrayT:
    pool = _Pool("max", kernel_size, stride, padding, 1, None, None, False, True, None, None, False, ndim)
    shape = unpooled_shape(function, tuple(x.shape), pool, output_size)
    return _core.unpool(x, indices, "plane", pool.resolved_axes(tuple(x.shape)), shape)


@fixed_extremum
def max_pool1d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each window over the last axis; with `return_indices` also its index. See `max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.max_pool1d(np.arange(4.0).reshape(1, 4), 2)
    array([[1., 3.]])
    """
    pool = _Pool("max", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 1)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_extremum
def min_pool1d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The smallest element of each window over the last axis; with `return_indices` also its index. See `min_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.min_pool1d(np.arange(4.0).reshape(1, 4), 2)
    array([[0., 2.]])
    """
    pool = _Pool("min", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 1)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_average
def avg_pool1d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> AnyArray:
    """The mean of each window over the last axis. See `avg_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.avg_pool1d(np.arange(4.0).reshape(1, 4), 2)
    array([[0.5, 2.5]])
    """
    pool = _Pool("avg", kernel_size, stride, padding, 1, None, None, ceil_mode, count_include_pad, None, None, False, 1)
    return _forward(pool, input)


@fixed_sum
def sum_pool1d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False) -> AnyArray:
    """The sum of each window over the last axis. See `sum_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.sum_pool1d(np.arange(4.0).reshape(1, 4), 2)
    array([[1., 5.]])
    """
    pool = _Pool("sum", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 1)
    return _forward(pool, input)


@fixed_norm
def lp_pool1d(input: Operand, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
              ceil_mode: bool = False) -> AnyArray:
    """The p-norm of each window over the last axis. See `lp_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.lp_pool1d(np.array([[3.0, -4.0]]), 2, 2)
    array([[5.]])
    """
    pool = _Pool("lp", kernel_size, stride, 0, 1, None, None, ceil_mode, True, None, norm_type, False, 1)
    return _forward(pool, input)


@fixed_adaptive_max
def adaptive_max_pool1d(input: Operand, output_size: OutputSize,
                        return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each of `output_size` windows over the last axis. See `adaptive_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_max_pool1d(np.arange(4.0).reshape(1, 4), 1)
    array([[3.]])
    """
    sizes = complete_sizes(input, output_size)
    pool = _Pool("max", None, None, 0, 1, sizes, None, False, True, None, None, False, 1)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_adaptive_average
def adaptive_avg_pool1d(input: Operand, output_size: OutputSize) -> AnyArray:
    """The mean of each of `output_size` windows over the last axis. See `adaptive_avg_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_avg_pool1d(np.arange(4.0).reshape(1, 4), 1)
    array([[1.5]])
    """
    sizes = complete_sizes(input, output_size)
    return _forward(_Pool("avg", None, None, 0, 1, sizes, None, False, True, None, None, False, 1), input)


def max_unpool1d(input: ArrayT, indices: AnyArray, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Ints | None = None) -> ArrayT:
    """Zeros with each element put at its index, over the last axis. See `max_unpool`."""
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@fixed_extremum
def max_pool2d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each window over the last two axes; with `return_indices` also its index. See `max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 5.,  7.],
            [13., 15.]]])
    """
    pool = _Pool("max", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 2)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_extremum
def min_pool2d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The smallest element of each window over the last two axes; with `return_indices` also its index. See `min_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.min_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 0.,  2.],
            [ 8., 10.]]])
    """
    pool = _Pool("min", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 2)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_wide_average
def avg_pool2d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> AnyArray:
    """The mean of each window over the last two axes. See `avg_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]])
    """
    pool = _Pool("avg", kernel_size, stride, padding, 1, None, None, ceil_mode, count_include_pad, divisor_override,
                 None, False, 2)
    return _forward(pool, input)


@fixed_sum
def sum_pool2d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False) -> AnyArray:
    """The sum of each window over the last two axes. See `sum_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.sum_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[10., 18.],
            [42., 50.]]])
    """
    pool = _Pool("sum", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 2)
    return _forward(pool, input)


@fixed_norm
def lp_pool2d(input: Operand, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
              ceil_mode: bool = False) -> AnyArray:
    """The p-norm of each window over the last two axes. See `lp_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.lp_pool2d(np.array([[[3.0, -4.0]]]), 2, (1, 2))
    array([[[5.]]])
    """
    pool = _Pool("lp", kernel_size, stride, 0, 1, None, None, ceil_mode, True, None, norm_type, False, 2)
    return _forward(pool, input)


@fixed_adaptive_max
def adaptive_max_pool2d(input: Operand, output_size: OutputSize,
                        return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each of `output_size` windows over the last two axes. See `adaptive_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_max_pool2d(np.arange(16.0).reshape(1, 4, 4), 1)
    array([[[15.]]])
    """
    sizes = complete_sizes(input, output_size)
    pool = _Pool("max", None, None, 0, 1, sizes, None, False, True, None, None, False, 2)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_adaptive_average
def adaptive_avg_pool2d(input: Operand, output_size: OutputSize) -> AnyArray:
    """The mean of each of `output_size` windows over the last two axes. See `adaptive_avg_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 1)
    array([[[7.5]]])
    """
    sizes = complete_sizes(input, output_size)
    return _forward(_Pool("avg", None, None, 0, 1, sizes, None, False, True, None, None, False, 2), input)


def max_unpool2d(input: ArrayT, indices: AnyArray, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Ints | None = None) -> ArrayT:
    """Zeros with each element put at its index, over the last two axes. See `max_unpool`."""
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@fixed_extremum
def max_pool3d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each window over the last three axes; with `return_indices` also its index. See
    `max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[7.]]]])
    """
    pool = _Pool("max", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 3)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_extremum
def min_pool3d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The smallest element of each window over the last three axes; with `return_indices` also its index. See
    `min_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.min_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[0.]]]])
    """
    pool = _Pool("min", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 3)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_wide_average
def avg_pool3d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> AnyArray:
    """The mean of each window over the last three axes. See `avg_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[3.5]]]])
    """
    pool = _Pool("avg", kernel_size, stride, padding, 1, None, None, ceil_mode, count_include_pad, divisor_override,
                 None, False, 3)
    return _forward(pool, input)


@fixed_sum
def sum_pool3d(input: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
               ceil_mode: bool = False) -> AnyArray:
    """The sum of each window over the last three axes. See `sum_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.sum_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
    array([[[[28.]]]])
    """
    pool = _Pool("sum", kernel_size, stride, padding, dilation, None, None, ceil_mode, True, None, None, False, 3)
    return _forward(pool, input)


@fixed_norm
def lp_pool3d(input: Operand, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
              ceil_mode: bool = False) -> AnyArray:
    """The p-norm of each window over the last three axes. See `lp_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.lp_pool3d(np.array([[[[3.0, -4.0]]]]), 2, (1, 1, 2))
    array([[[[5.]]]])
    """
    pool = _Pool("lp", kernel_size, stride, 0, 1, None, None, ceil_mode, True, None, norm_type, False, 3)
    return _forward(pool, input)


@fixed_adaptive_max
def adaptive_max_pool3d(input: Operand, output_size: OutputSize,
                        return_indices: bool = False) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each of `output_size` windows over the last three axes. See `adaptive_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[7.]]]])
    """
    sizes = complete_sizes(input, output_size)
    pool = _Pool("max", None, None, 0, 1, sizes, None, False, True, None, None, False, 3)
    if return_indices:
        return _core.forward_indices(pool, input, "plane")
    return _forward(pool, input)


@fixed_adaptive_average
def adaptive_avg_pool3d(input: Operand, output_size: OutputSize) -> AnyArray:
    """The mean of each of `output_size` windows over the last three axes. See `adaptive_avg_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
    array([[[[3.5]]]])
    """
    sizes = complete_sizes(input, output_size)
    return _forward(_Pool("avg", None, None, 0, 1, sizes, None, False, True, None, None, False, 3), input)


def max_unpool3d(input: ArrayT, indices: AnyArray, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
                 output_size: Ints | None = None) -> ArrayT:
    """Zeros with each element put at its index, over the last three axes. See `max_unpool`."""
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
