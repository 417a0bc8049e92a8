"""Medians, quantiles, variances, standard deviations, means of exponentials and soft pools of windows, with gradients.

The functions without a number pool any axes, those with one the last axes of (C, …) or (N, C, …), as those of
`torch.nn.functional`. They work under `torch.compile`, `torch.func.vmap`, `torch.func.grad` and `torch.export`, keep
the channels-last memory formats, and take CPU tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from torch import Tensor

from oriel.torch.signatures import Ints, Padding
from oriel.torch.statistic_calls import Method, ValidTaps, pool_windows, quantile_list

__all__ = ["lse_pool", "median_pool", "quantile_pool", "soft_pool", "std_pool", "var_pool"]


def median_pool(x: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None, method: Method = "lower",
                **valid: Unpack[ValidTaps]) -> Tensor:
    """The median of the valid elements of each window (S16); the gradient goes to the element that it is.

    Parameters
    ----------
    x : Tensor of shape (…)
        As for `max_pool`.
    kernel_size, stride, padding, dilation, ceil_mode, axes
        As for `max_pool`; elements of padding are absent. `kernel_size` may be None if a footprint is given.
    method : str
        Which element the median of an even number is: "lower" (the default, as `torch.median`), "higher", "mean" or
        "midpoint" (`numpy.median`; half of the gradient goes to each of two elements), "inverted_cdf" (for weights).
    mask, weights, footprint, nan_policy, min_count, min_fraction, fill
        Which elements count (`oriel.torch.ValidTaps`).

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> x = torch.tensor([4.0, 3.0, 1.0, 2.0], requires_grad=True)
    >>> oriel.torch.median_pool(x, 4).backward()
    >>> x.grad
    tensor([0., 0., 0., 1.])
    >>> oriel.torch.median_pool(torch.tensor([4.0, 3.0, 1.0, 2.0]), 4, method="mean")
    tensor([2.5000])
    """
    return pool_windows(x, "median", kernel_size, stride, padding, dilation, ceil_mode, axes, 0, valid, method=method)


def quantile_pool(x: Tensor, q: float | Sequence[float], kernel_size: Ints | None, stride: Ints | None = None,
                  padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                  method: Method = "lower", **valid: Unpack[ValidTaps]) -> Tensor:
    """The quantile `q` of the valid elements of each window, or several (S16). See `median_pool` for the rest.

    Parameters
    ----------
    q : float or sequence of float
        0 to 1. Several share one sort; they are the first axis of the result.
    method : str
        "lower", "higher", "nearest", "midpoint", "linear" (the default of `torch.quantile`), "inverted_cdf", "scipy".

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.quantile_pool(torch.tensor([1.0, 2.0, 3.0, 4.0, 10.0]), [0.25, 0.9], 5, method="linear")
    tensor([[2.0000],
            [7.6000]])
    """
    shares, alone = quantile_list("quantile_pool", q)
    y = pool_windows(x, "quantile", kernel_size, stride, padding, dilation, ceil_mode, axes, 0, valid, shares, method)
    return y.unsqueeze(0) if alone else y


def var_pool(x: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
             dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None, ddof: int = 0,
             **valid: Unpack[ValidTaps]) -> Tensor:
    """The variance of the valid elements of each window, with divisor n - ddof (S18). See `median_pool` for the rest.

    It is computed from differences in float64, so it is right for a mean of any size.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.var_pool(torch.tensor([100001.0, 100002.0, 100004.0]), 3)
    tensor([1.5556])
    """
    return pool_windows(x, "var", kernel_size, stride, padding, dilation, ceil_mode, axes, 0, valid, ddof=ddof)


def std_pool(x: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
             dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None, ddof: int = 0,
             **valid: Unpack[ValidTaps]) -> Tensor:
    """The standard deviation of each window, the root of `var_pool`; its gradient is 0 where it is 0 (S18).

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.std_pool(torch.tensor([1.0, 3.0, 5.0, 5.0]), 2)
    tensor([1., 0.])
    """
    return pool_windows(x, "std", kernel_size, stride, padding, dilation, ceil_mode, axes, 0, valid, ddof=ddof)


def lse_pool(x: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
             dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None, sharpness: float = 1.0,
             sum: bool = False, **valid: Unpack[ValidTaps]) -> Tensor:
    """log(mean(exp(r x))) / r of each window, r being the sharpness (S19): between the mean and the maximum.

    With ``sum=True`` the sum of the exponentials takes the place of their mean. See `median_pool` for the rest.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.lse_pool(torch.tensor([0.0, 1.0]), 2)
    tensor([0.6201])
    """
    return pool_windows(x, "lse", kernel_size, stride, padding, dilation, ceil_mode, axes, 0, valid,
                        sharpness=sharpness, is_sum=sum)


def soft_pool(x: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
              dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
              **valid: Unpack[ValidTaps]) -> Tensor:
    """The mean of each window weighted by the exponentials of its elements, SoftPool (S19). See `median_pool`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.soft_pool(torch.tensor([0.0, 1.0]), 2)
    tensor([0.7311])
    """
    return pool_windows(x, "soft", kernel_size, stride, padding, dilation, ceil_mode, axes, 0, valid)
