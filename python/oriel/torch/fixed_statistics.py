"""The pools of `oriel.torch.statistics` over one, two or three last axes, with the arguments of `torch.nn.functional`.

The input has channels and the pooled axes, or a batch before them. What the functions compute, and their keywords
beyond these, are documented with `median_pool` and the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from torch import Tensor

from oriel.torch.signatures import Ints, Padding
from oriel.torch.statistic_calls import Method, ValidTaps, pool_windows, quantile_list

__all__ = [
    "lse_pool1d",
    "lse_pool2d",
    "lse_pool3d",
    "median_pool1d",
    "median_pool2d",
    "median_pool3d",
    "quantile_pool1d",
    "quantile_pool2d",
    "quantile_pool3d",
    "soft_pool1d",
    "soft_pool2d",
    "soft_pool3d",
    "std_pool1d",
    "std_pool2d",
    "std_pool3d",
    "var_pool1d",
    "var_pool2d",
    "var_pool3d",
]


def median_pool1d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                  dilation: Ints = 1, ceil_mode: bool = False, *, method: Method = "lower",
                  **valid: Unpack[ValidTaps]) -> Tensor:
    """The median of each window over the last axis. See `median_pool`."""
    return pool_windows(input, "median", kernel_size, stride, padding, dilation, ceil_mode, None, 1, valid,
                        method=method)


def median_pool2d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                  dilation: Ints = 1, ceil_mode: bool = False, *, method: Method = "lower",
                  **valid: Unpack[ValidTaps]) -> Tensor:
    """The median of each window over the last two axes. See `median_pool`."""
    return pool_windows(input, "median", kernel_size, stride, padding, dilation, ceil_mode, None, 2, valid,
                        method=method)


def median_pool3d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                  dilation: Ints = 1, ceil_mode: bool = False, *, method: Method = "lower",
                  **valid: Unpack[ValidTaps]) -> Tensor:
    """The median of each window over the last three axes. See `median_pool`."""
    return pool_windows(input, "median", kernel_size, stride, padding, dilation, ceil_mode, None, 3, valid,
                        method=method)


def quantile_pool1d(input: Tensor, q: float | Sequence[float], kernel_size: Ints | None, stride: Ints | None = None,
                    padding: Padding = 0, dilation: Ints = 1, ceil_mode: bool = False, *, method: Method = "lower",
                    **valid: Unpack[ValidTaps]) -> Tensor:
    """The quantile `q`, or several, of each window over the last axis. See `quantile_pool`."""
    shares, alone = quantile_list("quantile_pool1d", q)
    y = pool_windows(input, "quantile", kernel_size, stride, padding, dilation, ceil_mode, None, 1, valid, shares,
                     method)
    return y.unsqueeze(0) if alone else y


def quantile_pool2d(input: Tensor, q: float | Sequence[float], kernel_size: Ints | None, stride: Ints | None = None,
                    padding: Padding = 0, dilation: Ints = 1, ceil_mode: bool = False, *, method: Method = "lower",
                    **valid: Unpack[ValidTaps]) -> Tensor:
    """The quantile `q`, or several, of each window over the last two axes. See `quantile_pool`."""
    shares, alone = quantile_list("quantile_pool2d", q)
    y = pool_windows(input, "quantile", kernel_size, stride, padding, dilation, ceil_mode, None, 2, valid, shares,
                     method)
    return y.unsqueeze(0) if alone else y


def quantile_pool3d(input: Tensor, q: float | Sequence[float], kernel_size: Ints | None, stride: Ints | None = None,
                    padding: Padding = 0, dilation: Ints = 1, ceil_mode: bool = False, *, method: Method = "lower",
                    **valid: Unpack[ValidTaps]) -> Tensor:
    """The quantile `q`, or several, of each window over the last three axes. See `quantile_pool`."""
    shares, alone = quantile_list("quantile_pool3d", q)
    y = pool_windows(input, "quantile", kernel_size, stride, padding, dilation, ceil_mode, None, 3, valid, shares,
                     method)
    return y.unsqueeze(0) if alone else y


def var_pool1d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, ddof: int = 0, **valid: Unpack[ValidTaps]) -> Tensor:
    """The variance of each window over the last axis. See `var_pool`."""
    return pool_windows(input, "var", kernel_size, stride, padding, dilation, ceil_mode, None, 1, valid, ddof=ddof)


def var_pool2d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, ddof: int = 0, **valid: Unpack[ValidTaps]) -> Tensor:
    """The variance of each window over the last two axes. See `var_pool`."""
    return pool_windows(input, "var", kernel_size, stride, padding, dilation, ceil_mode, None, 2, valid, ddof=ddof)


def var_pool3d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, ddof: int = 0, **valid: Unpack[ValidTaps]) -> Tensor:
    """The variance of each window over the last three axes. See `var_pool`."""
    return pool_windows(input, "var", kernel_size, stride, padding, dilation, ceil_mode, None, 3, valid, ddof=ddof)


def std_pool1d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, ddof: int = 0, **valid: Unpack[ValidTaps]) -> Tensor:
    """The standard deviation of each window over the last axis. See `std_pool`."""
    return pool_windows(input, "std", kernel_size, stride, padding, dilation, ceil_mode, None, 1, valid, ddof=ddof)


def std_pool2d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, ddof: int = 0, **valid: Unpack[ValidTaps]) -> Tensor:
    """The standard deviation of each window over the last two axes. See `std_pool`."""
    return pool_windows(input, "std", kernel_size, stride, padding, dilation, ceil_mode, None, 2, valid, ddof=ddof)


def std_pool3d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, ddof: int = 0, **valid: Unpack[ValidTaps]) -> Tensor:
    """The standard deviation of each window over the last three axes. See `std_pool`."""
    return pool_windows(input, "std", kernel_size, stride, padding, dilation, ceil_mode, None, 3, valid, ddof=ddof)


def lse_pool1d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, sharpness: float = 1.0, sum: bool = False,
               **valid: Unpack[ValidTaps]) -> Tensor:
    """log(mean(exp(r x))) / r of each window over the last axis. See `lse_pool`."""
    return pool_windows(input, "lse", kernel_size, stride, padding, dilation, ceil_mode, None, 1, valid,
                        sharpness=sharpness, is_sum=sum)


def lse_pool2d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, sharpness: float = 1.0, sum: bool = False,
               **valid: Unpack[ValidTaps]) -> Tensor:
    """log(mean(exp(r x))) / r of each window over the last two axes. See `lse_pool`."""
    return pool_windows(input, "lse", kernel_size, stride, padding, dilation, ceil_mode, None, 2, valid,
                        sharpness=sharpness, is_sum=sum)


def lse_pool3d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, ceil_mode: bool = False, *, sharpness: float = 1.0, sum: bool = False,
               **valid: Unpack[ValidTaps]) -> Tensor:
    """log(mean(exp(r x))) / r of each window over the last three axes. See `lse_pool`."""
    return pool_windows(input, "lse", kernel_size, stride, padding, dilation, ceil_mode, None, 3, valid,
                        sharpness=sharpness, is_sum=sum)


def soft_pool1d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                dilation: Ints = 1, ceil_mode: bool = False, **valid: Unpack[ValidTaps]) -> Tensor:
    """The mean weighted by exponentials of each window over the last axis. See `soft_pool`."""
    return pool_windows(input, "soft", kernel_size, stride, padding, dilation, ceil_mode, None, 1, valid)


def soft_pool2d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                dilation: Ints = 1, ceil_mode: bool = False, **valid: Unpack[ValidTaps]) -> Tensor:
    """The mean weighted by exponentials of each window over the last two axes. See `soft_pool`."""
    return pool_windows(input, "soft", kernel_size, stride, padding, dilation, ceil_mode, None, 2, valid)


def soft_pool3d(input: Tensor, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                dilation: Ints = 1, ceil_mode: bool = False, **valid: Unpack[ValidTaps]) -> Tensor:
    """The mean weighted by exponentials of each window over the last three axes. See `soft_pool`."""
    return pool_windows(input, "soft", kernel_size, stride, padding, dilation, ceil_mode, None, 3, valid)
