"""Pools of any axes of a tensor, with gradients: `max_pool`, `avg_pool`, `adaptive_max_pool`, `global_avg_pool`,
`max_unpool` …
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from oriel.array_types import NanPolicy, Op
from oriel.pool import check_nan_policy
from oriel.torch.run import check_tensor, pool, pool_with_indices, unpool
from oriel.torch.signatures import Ints, OutputSize, Padding, adaptive_extremum, extremum

__all__ = [
    "adaptive_avg_pool",
    "adaptive_lp_pool",
    "adaptive_max_pool",
    "adaptive_min_pool",
    "adaptive_sum_pool",
    "avg_pool",
    "global_avg_pool",
    "global_lp_pool",
    "global_max_pool",
    "global_min_pool",
    "global_sum_pool",
    "lp_pool",
    "max_pool",
    "max_unpool",
    "min_pool",
    "sum_pool",
]


def omits_nan(nan_policy: NanPolicy) -> bool:
    """Whether NaN taps are left out."""
    return nan_policy != "propagate" and check_nan_policy(nan_policy)


def complete_sizes(function: str, x: Tensor, output_size: Any) -> Any:
    """`output_size` with each None replaced by the extent of its axis, the last axes being meant."""
    if isinstance(output_size, (tuple, list)):
        if None not in output_size:
            return output_size
        check_tensor(function, "input", x)
        extents = x.shape[-len(output_size):]
        return tuple(n if size is None else size for n, size in zip(extents, output_size))
    if output_size is None:
        raise TypeError(f"{function}: output_size must be an int or a sequence of ints, but is None")
    return output_size


@extremum
def max_pool(x: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: bool = False, axes: Ints | None = None,
             nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window; windows are `stride` apart, by default `kernel_size`.

    Parameters
    ----------
    x : Tensor of shape (…)
        Of any rank and strides, in CPU memory; floating, integer or bool.
    kernel_size : int or sequence of int
        Taps of a window along each pooled axis.
    stride : int or sequence of int, optional
        Step of the window; `kernel_size` if not given.
    padding : int, sequence of int, sequence of (before, after), "valid", "same" or "same_lower"
        Elements of padding before and after the input, any number. They have no value: a window with padding has fewer
        taps.
    dilation : int or sequence of int
        Distance between taps.
    ceil_mode : bool
        Whether to keep a partial last window (S1).
    return_indices : bool
        Also return the index of each result, flat in the pooled axes (S10).
    axes : int or sequence of int, optional
        The pooled axes, negative ones counted from the end. By default as many last axes as the lists have values; with
        single ints all axes but the first two of a tensor of 3 to 5 axes (batch and channels), and all axes of any
        other.
    nan_policy : {"propagate", "omit"}
        Whether a NaN makes the result NaN or is left out (S3).

    Returns
    -------
    Tensor, or (Tensor, Tensor of int64)
        Of x's dtype, also under autocast; channels last in memory if `x` is. The gradient is added to the element that
        was chosen, in a fixed order (S9), so it is the same in every run and for every number of threads.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    See Also
    --------
    max_pool1d, max_pool2d, max_pool3d : With PyTorch's arguments.

    Notes
    -----
    The rules are S1-S6, S9 and S10 (`python -m oriel.docs semantics`).

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> x = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 9.0, 7.0, 8.0]], requires_grad=True)
    >>> y = oriel.torch.max_pool(x, (2, 3), stride=1)
    >>> y
    tensor([[9., 9.]], grad_fn=<_PoolFunctionBackward>)
    >>> y.sum().backward()
    >>> x.grad
    tensor([[0., 0., 0., 0.],
            [0., 2., 0., 0.]])
    """
    run = pool_with_indices if return_indices else pool
    return run(x, "max", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
               omits_nan(nan_policy), 0)


@extremum
def min_pool(x: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: bool = False, axes: Ints | None = None,
             nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The smallest element of each window; see `max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.min_pool(torch.tensor([4, 3, 1, 2]), 2, return_indices=True)
    (tensor([3, 1]), tensor([1, 2]))
    """
    run = pool_with_indices if return_indices else pool
    return run(x, "min", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
               omits_nan(nan_policy), 0)


def avg_pool(x: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each window; see `max_pool`.

    Parameters
    ----------
    count_include_pad : bool
        Whether padding counts in the divisor (S5).
    divisor_override : int, optional
        A divisor >= 1 that replaces the count.

    Notes
    -----
    Averages of integers are rounded half to even (S7); PyTorch truncates those of int64 and does not support others.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.avg_pool(torch.arange(6.0), 2, padding="same", stride=1, count_include_pad=False)
    tensor([0.5000, 1.5000, 2.5000, 3.5000, 4.5000, 5.0000])
    """
    return pool(x, "avg", kernel_size, stride, padding, dilation, None, axes, ceil_mode, count_include_pad,
                divisor_override, None, omits_nan(nan_policy), 0)


def sum_pool(x: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate") -> Tensor:
    """The sum of each window; see `max_pool`. Its order is fixed (S8).

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.sum_pool(torch.arange(6.0), 3)
    tensor([ 3., 12.])
    """
    return pool(x, "sum", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
                omits_nan(nan_policy), 0)


def lp_pool(x: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
            dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
            nan_policy: NanPolicy = "propagate") -> Tensor:
    """The p-norm of each window, ``(|x1|^p + |x2|^p + …)^(1/p)``; see `max_pool`.

    Parameters
    ----------
    norm_type : float
        The p, at least 1 or infinity.

    Notes
    -----
    PyTorch's `lp_pool*` sum ``x^p``, not ``|x|^p``: for odd p and negative elements the results differ. In ceil mode
    they scale a partial last window up to a whole one; here only its elements count. See the end of `python -m
    oriel.docs semantics`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.lp_pool(torch.tensor([3.0, -4.0, 5.0, 12.0]), 2, 2)
    tensor([ 5., 13.])
    """
    return pool(x, "lp", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, norm_type,
                omits_nan(nan_policy), 0)


def _adaptive(op: Op, x: Tensor, output_size: Any, axes: Any, nan_policy: NanPolicy, norm: float | None,
              return_indices: bool) -> Any:
    sizes = complete_sizes(f"adaptive_{op}_pool", x, output_size)
    run = pool_with_indices if return_indices else pool
    return run(x, op, None, None, 0, 1, sizes, axes, False, True, None, norm, omits_nan(nan_policy), 0)


@adaptive_extremum
def adaptive_max_pool(x: Tensor, output_size: OutputSize, *, return_indices: bool = False, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each of `output_size` windows that split the input evenly.

    Parameters
    ----------
    x : Tensor of shape (…)
        As for `max_pool`.
    output_size : int or sequence of int
        Number of windows along each pooled axis: window o of m over n elements contains those from floor(o n / m) to
        ceil((o + 1) n / m). None within a sequence keeps the extent of its axis, counted from the last.
    return_indices, axes, nan_policy
        As for `max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_max_pool(torch.tensor([1.0, 5.0, 2.0, 4.0, 3.0]), 2)
    tensor([5., 4.])
    """
    return _adaptive("max", x, output_size, axes, nan_policy, None, return_indices)


@adaptive_extremum
def adaptive_min_pool(x: Tensor, output_size: OutputSize, *, return_indices: bool = False, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate") -> Tensor | tuple[Tensor, Tensor]:
    """The smallest element of each of `output_size` windows; see `adaptive_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_min_pool(torch.tensor([1.0, 5.0, 2.0, 4.0, 3.0]), 2)
    tensor([1., 2.])
    """
    return _adaptive("min", x, output_size, axes, nan_policy, None, return_indices)


def adaptive_avg_pool(x: Tensor, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean of each of `output_size` windows; see `adaptive_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_avg_pool(torch.tensor([1.0, 5.0, 3.0, 4.0, 2.0]), 2)
    tensor([3., 3.])
    """
    return _adaptive("avg", x, output_size, axes, nan_policy, None, False)


def adaptive_sum_pool(x: Tensor, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate") -> Tensor:
    """The sum of each of `output_size` windows; see `adaptive_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_sum_pool(torch.tensor([1.0, 5.0, 2.0, 4.0, 3.0]), 2)
    tensor([8., 9.])
    """
    return _adaptive("sum", x, output_size, axes, nan_policy, None, False)


def adaptive_lp_pool(x: Tensor, norm_type: float, output_size: OutputSize, *, axes: Ints | None = None,
                     nan_policy: NanPolicy = "propagate") -> Tensor:
    """The p-norm of each of `output_size` windows; see `adaptive_max_pool` and `lp_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.adaptive_lp_pool(torch.tensor([3.0, -4.0, 5.0, 12.0]), 2, 2)
    tensor([ 5., 13.])
    """
    return _adaptive("lp", x, output_size, axes, nan_policy, norm_type, False)


def _global(op: Op, x: Tensor, axes: Any, keepdims: bool, nan_policy: NanPolicy, norm: float | None = None) -> Tensor:
    y = pool(x, op, None, None, 0, 1, None, axes, False, True, None, norm, omits_nan(nan_policy), 0)
    if keepdims:
        return y
    rank = x.dim()
    if axes is None:
        axes = range(2 if 3 <= rank <= 5 else 0, rank)
    pooled = {axis % rank for axis in (axes if isinstance(axes, Iterable) else (axes,))}
    return y[tuple(0 if axis in pooled else slice(None) for axis in range(rank))]


def global_max_pool(x: Tensor, *, axes: Ints | None = None, keepdims: bool = True,
                    nan_policy: NanPolicy = "propagate") -> Tensor:
    """The largest element over the pooled axes, with one window over everything.

    Parameters
    ----------
    x : Tensor of shape (…)
        As for `max_pool`.
    axes : int or sequence of int, optional
        The pooled axes; by default all but the first two of a tensor of 3 to 5 axes, and all axes of any other.
    keepdims : bool
        Whether to keep the pooled axes, with one element each.
    nan_policy
        As for `max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.global_max_pool(torch.arange(8).reshape(1, 2, 2, 2), keepdims=False)
    tensor([[3, 7]])
    """
    return _global("max", x, axes, keepdims, nan_policy)


def global_min_pool(x: Tensor, *, axes: Ints | None = None, keepdims: bool = True,
                    nan_policy: NanPolicy = "propagate") -> Tensor:
    """The smallest element over the pooled axes; see `global_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.global_min_pool(torch.arange(8).reshape(1, 2, 2, 2), keepdims=False)
    tensor([[0, 4]])
    """
    return _global("min", x, axes, keepdims, nan_policy)


def global_avg_pool(x: Tensor, *, axes: Ints | None = None, keepdims: bool = True,
                    nan_policy: NanPolicy = "propagate") -> Tensor:
    """The mean over the pooled axes; see `global_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.global_avg_pool(torch.arange(8.0).reshape(1, 2, 2, 2), keepdims=False)
    tensor([[1.5000, 5.5000]])
    """
    return _global("avg", x, axes, keepdims, nan_policy)


def global_sum_pool(x: Tensor, *, axes: Ints | None = None, keepdims: bool = True,
                    nan_policy: NanPolicy = "propagate") -> Tensor:
    """The sum over the pooled axes; see `global_max_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.global_sum_pool(torch.arange(8).reshape(1, 2, 2, 2), keepdims=False)
    tensor([[ 6, 22]])
    """
    return _global("sum", x, axes, keepdims, nan_policy)


def global_lp_pool(x: Tensor, norm_type: float, *, axes: Ints | None = None, keepdims: bool = True,
                   nan_policy: NanPolicy = "propagate") -> Tensor:
    """The p-norm over the pooled axes; see `global_max_pool` and `lp_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.global_lp_pool(torch.tensor([3.0, -4.0]), 2)
    tensor([5.])
    """
    return _global("lp", x, axes, keepdims, nan_policy, norm_type)


def _values(function: str, argument: str, value: Any, count: int) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(values) == 1:
        values *= count
    if len(values) != count or not all(isinstance(item, (int, torch.SymInt)) for item in values):
        raise ValueError(f"{function}: {argument} must be an int or {count} ints, but is {value!r}")
    return values


def unpooled_shape(function: str, x: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any,
                   axes: Sequence[int], exactly: bool = False) -> list[Any]:
    """The shape of the unpooled result: `output_size`, or the smallest that the windows need along the axes (negative
    ones).

    With `exactly`, as in PyTorch: `x` must have the axes and one or two more, and an output size be less than one
    stride away.
    """
    check_tensor(function, "input", x)
    count = len(axes)
    if exactly and x.dim() not in (count + 1, count + 2):
        raise ValueError(
            f"{function}: the input must have {count + 1} axes (channels and {count} pooled axes) or "
            f"{count + 2} (with a "
            f"batch), but has {x.dim()}")
    kernel = _values(function, "kernel_size", kernel_size, count)
    step = _values(function, "stride", kernel if stride is None else stride, count)
    before = _values(function, "padding", padding, count)
    least = [(x.shape[axis] - 1) * s + k - 2 * p for axis, k, s, p in zip(axes, kernel, step, before)]
    sizes = least
    if output_size is not None:
        sizes = list(output_size) if isinstance(output_size, Iterable) else [output_size] * count
        if len(sizes) == x.dim():
            sizes = [sizes[axis] for axis in axes]
        if len(sizes) != count:
            raise ValueError(f"{function}: output_size must have {count} or {x.dim()} values, but is {output_size!r}")
    shape = list(x.shape)
    for axis, size, natural, s in zip(axes, sizes, least, step):
        if exactly and output_size is not None and not natural - s < size < natural + s:
            raise ValueError(
                f"{function}: output_size must be in [{natural - s + 1}, {natural + s - 1}] on axis {axis}, "
                f"but is {size}"
            )
        shape[axis] = size
    return shape


def max_unpool(x: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
               output_size: Ints | None = None, *, axes: Ints | None = None) -> Tensor:
    """Zeros with each element of `x` put at its index: the partial inverse of `max_pool`.

    Parameters
    ----------
    x : Tensor
        The result of `max_pool`.
    indices : Tensor of int64, of x's shape
        The indices that it returned; -1 is skipped.
    kernel_size, stride, padding : int or sequence of int
        As for the pool; they determine the shape of the result if `output_size` is not given.
    output_size : int or sequence of int, optional
        Extents of the result along the pooled axes, or along all axes.
    axes : int or sequence of int, optional
        The pooled axes, as for `max_pool`.

    Returns
    -------
    Tensor
        If two elements have the same index, the later one is kept, and only it gets the gradient (PyTorch documents its
        result as nondeterministic and gives the gradient to both).

    Raises
    ------
    ValueError, TypeError
        For an index outside its plane, too.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> y, indices = oriel.torch.max_pool(torch.tensor([1.0, 4.0, 3.0, 2.0]), 2, return_indices=True)
    >>> oriel.torch.max_unpool(y, indices, 2)
    tensor([0., 4., 3., 0.])
    """
    check_tensor("max_unpool", "input", x)
    rank = x.dim()
    if axes is not None:
        named = list(axes) if isinstance(axes, Iterable) else [axes]
        for axis in named:
            if not -rank <= axis < rank:
                raise ValueError(
                    f"max_unpool: axes must be in [{-rank}, {rank - 1}] for an input of rank {rank}, but one is {axis}")
        pooled = [axis if axis < 0 else axis - rank for axis in named]
    else:
        count = max(len(v) if isinstance(v, (tuple, list)) else 1 for v in (kernel_size, stride, padding))
        pooled = list(range(-count if count > 1 else (2 if 3 <= rank <= 5 else 0) - rank, 0))
    return unpool(x, indices, unpooled_shape("max_unpool", x, kernel_size, stride, padding, output_size, pooled),
                  pooled)
