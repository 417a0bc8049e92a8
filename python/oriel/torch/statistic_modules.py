"""Layers of the pools in statistics.py: no parameters, no buffers, nothing in a state_dict.

A layer holds its arguments as attributes, which may be changed. Masks and weights are arguments of the call.

TorchScript reads the annotations of `forward`, so there is no `from __future__ import annotations` in this file. In
what it compiles, masks and weights must have as many axes as the input.
"""

from typing import TYPE_CHECKING, Any, Optional

import torch
from torch import Tensor, nn

from oriel.array_types import NanPolicy
from oriel.torch.pools import omits_nan
from oriel.torch.signatures import Ints, Padding
from oriel.torch.statistic_calls import Method, ValidTaps, pool_windows, quantile_list, statistic_arguments

__all__ = [
    "LSEPool1d",
    "LSEPool2d",
    "LSEPool3d",
    "MedianPool1d",
    "MedianPool2d",
    "MedianPool3d",
    "QuantilePool1d",
    "QuantilePool2d",
    "QuantilePool3d",
    "SoftPool1d",
    "SoftPool2d",
    "SoftPool3d",
    "StdPool1d",
    "StdPool2d",
    "StdPool3d",
    "VarPool1d",
    "VarPool2d",
    "VarPool3d",
]


class _StatisticPool(nn.Module):
    """Base of all layers: the arguments that they have in common."""

    if TYPE_CHECKING:
        kernel_size: Ints
        stride: Ints
        padding: Padding
        dilation: Ints
        footprint: Any

    _ndim: int = 0
    _op: str = ""
    _own: tuple[str, ...] = ()  # the names of further arguments

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, *, footprint: Any = None, nan_policy: NanPolicy = "propagate",
                 min_count: int = 0, min_fraction: float = 0.0, fill: float | None = None) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.ceil_mode: bool = ceil_mode
        self.footprint = footprint
        self.nan_policy: NanPolicy = nan_policy
        self.min_count: int = min_count
        self.min_fraction: float = min_fraction
        self.fill: float | None = fill

    def _options(self) -> dict[str, Any]:
        """Keywords of `pool_windows` that the op has."""
        return {}

    def _valid(self) -> ValidTaps:
        return {"footprint": self.footprint, "nan_policy": self.nan_policy, "min_count": self.min_count,
                "min_fraction": self.min_fraction, "fill": self.fill}

    def _is_alone(self) -> bool:
        """Whether a single quantile has an axis of its own."""
        return False

    def __prepare_scriptable__(self) -> nn.Module:
        """Called by `torch.jit.script`: keeps the operator's arguments where compiled code finds them."""
        own = {"q": (0.5,), "method": "lower", "ddof": 0, "sharpness": 1.0, "is_sum": False, **self._options()}
        pool = (self._op, self.kernel_size, self.stride, self.padding, self.dilation, None, None, self.ceil_mode, True,
                None, None, omits_nan(self.nan_policy), self._ndim)
        self._operator: Any = statistic_arguments(self._ndim + 2, pool, self._valid(), **own)
        self._alone: bool = self._is_alone()
        return self

    def _run(self, input: Tensor, mask: Tensor | None, weights: Tensor | None) -> Tensor:
        y = pool_windows(input, self._op, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                         None, self._ndim, {"mask": mask, "weights": weights, **self._valid()}, **self._options())
        return y.unsqueeze(0) if self._is_alone() else y

    def forward(self, input: Tensor, mask: Optional[Tensor] = None, weights: Optional[Tensor] = None) -> Tensor:
        """The pool of `input`, over the elements where `mask` is not 0 and with `weights`, if they are given. Several
        quantiles, or one in a sequence, are the first axis of the result."""
        if torch.jit.is_scripting():  # pyright: ignore[reportPrivateImportUsage]
            y = torch.ops.oriel.statistic(input, mask, weights, *self._operator)
            if self._alone:
                y = y.unsqueeze(0)
            return y
        else:
            return self._run(input, mask, weights)

    def extra_repr(self) -> str:
        """The arguments, those with a default only if they differ from it."""
        words = [f"{name}={getattr(self, name)!r}" for name in (*self._own, "kernel_size", "stride")]
        usual = {"padding": 0, "dilation": 1, "ceil_mode": False, "nan_policy": "propagate", "min_count": 0,
                 "min_fraction": 0.0, "fill": None}
        words += [f"{name}={getattr(self, name)!r}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join(words + (["footprint=..."] if self.footprint is not None else []))

    def _get_name(self) -> str:
        name = type(self).__name__
        return f"oriel.torch.{name}" if type(self).__module__ == __name__ else name


class _MedianPool(_StatisticPool):
    _op: str = "median"
    _own: tuple[str, ...] = ("method",)

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, *, method: Method = "lower", **valid: Any) -> None:
        super().__init__(kernel_size, stride, padding, dilation, ceil_mode, **valid)
        self.method: Method = method

    def _options(self) -> dict[str, Any]:
        return {"method": self.method}


class _QuantilePool(_StatisticPool):
    _op: str = "quantile"
    _own: tuple[str, ...] = ("q", "method")

    def __init__(self, q: Any, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, *, method: Method = "lower", **valid: Any) -> None:
        super().__init__(kernel_size, stride, padding, dilation, ceil_mode, **valid)
        self.q: Any = q
        self.method: Method = method

    def _options(self) -> dict[str, Any]:
        return {"q": quantile_list(type(self).__name__, self.q)[0], "method": self.method}

    def _is_alone(self) -> bool:
        return quantile_list(type(self).__name__, self.q)[1]


class _SpreadPool(_StatisticPool):
    _own: tuple[str, ...] = ("ddof",)

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, *, ddof: int = 0, **valid: Any) -> None:
        super().__init__(kernel_size, stride, padding, dilation, ceil_mode, **valid)
        self.ddof: int = ddof

    def _options(self) -> dict[str, Any]:
        return {"ddof": self.ddof}


class _LSEPool(_StatisticPool):
    _op: str = "lse"
    _own: tuple[str, ...] = ("sharpness", "sum")

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, *, sharpness: float = 1.0, sum: bool = False, **valid: Any) -> None:
        super().__init__(kernel_size, stride, padding, dilation, ceil_mode, **valid)
        self.sharpness: float = sharpness
        self.sum: bool = sum

    def _options(self) -> dict[str, Any]:
        return {"sharpness": self.sharpness, "is_sum": self.sum}


class MedianPool1d(_MedianPool):
    """The median of each window over the last axis; see `median_pool1d`."""

    _ndim = 1


class MedianPool2d(_MedianPool):
    """The median of each window over the last two axes; see `median_pool2d`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> layer = oriel.torch.MedianPool2d(3, stride=1, padding=1)
    >>> layer
    oriel.torch.MedianPool2d(method='lower', kernel_size=3, stride=1, padding=1)
    >>> layer(torch.zeros(8, 16, 15, 15)).shape
    torch.Size([8, 16, 15, 15])
    """

    _ndim = 2


class MedianPool3d(_MedianPool):
    """The median of each window over the last three axes; see `median_pool3d`."""

    _ndim = 3


class QuantilePool1d(_QuantilePool):
    """The quantile `q`, or several, of each window over the last axis; see `quantile_pool1d`."""

    _ndim = 1


class QuantilePool2d(_QuantilePool):
    """The quantile `q`, or several, of each window over the last two axes; see `quantile_pool2d`."""

    _ndim = 2


class QuantilePool3d(_QuantilePool):
    """The quantile `q`, or several, of each window over the last three axes; see `quantile_pool3d`."""

    _ndim = 3


class VarPool1d(_SpreadPool):
    """The variance of each window over the last axis; see `var_pool1d`."""

    _op, _ndim = "var", 1


class VarPool2d(_SpreadPool):
    """The variance of each window over the last two axes; see `var_pool2d`."""

    _op, _ndim = "var", 2


class VarPool3d(_SpreadPool):
    """The variance of each window over the last three axes; see `var_pool3d`."""

    _op, _ndim = "var", 3


class StdPool1d(_SpreadPool):
    """The standard deviation of each window over the last axis; see `std_pool1d`."""

    _op, _ndim = "std", 1


class StdPool2d(_SpreadPool):
    """The standard deviation of each window over the last two axes; see `std_pool2d`."""

    _op, _ndim = "std", 2


class StdPool3d(_SpreadPool):
    """The standard deviation of each window over the last three axes; see `std_pool3d`."""

    _op, _ndim = "std", 3


class LSEPool1d(_LSEPool):
    """log(mean(exp(r x))) / r of each window over the last axis; see `lse_pool1d`."""

    _ndim = 1


class LSEPool2d(_LSEPool):
    """log(mean(exp(r x))) / r of each window over the last two axes; see `lse_pool2d`."""

    _ndim = 2


class LSEPool3d(_LSEPool):
    """log(mean(exp(r x))) / r of each window over the last three axes; see `lse_pool3d`."""

    _ndim = 3


class SoftPool1d(_StatisticPool):
    """The mean weighted by exponentials of each window over the last axis; see `soft_pool1d`."""

    _op, _ndim = "soft", 1


class SoftPool2d(_StatisticPool):
    """The mean weighted by exponentials of each window over the last two axes; see `soft_pool2d`."""

    _op, _ndim = "soft", 2


class SoftPool3d(_StatisticPool):
    """The mean weighted by exponentials of each window over the last three axes; see `soft_pool3d`."""

    _op, _ndim = "soft", 3
