"""The keywords that pools over valid elements share, and their calls of the operator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from oriel.array_types import NanPolicy
from oriel.torch.arguments import function_name, operator_arguments, with_axes
from oriel.torch.pools import omits_nan
from oriel.torch.run import check_tensor, is_plain
from oriel.torch.statistic_operators import run_statistic, statistic

__all__ = ["Method", "ValidTaps", "footprint_taps", "pool_windows", "quantile_list", "statistic_arguments"]

Method: TypeAlias = Literal["lower", "higher", "nearest", "midpoint", "mean", "linear", "inverted_cdf", "scipy"]


class ValidTaps(TypedDict, total=False):
    """Keywords of every function and layer here, which say which elements of a window count (S13, S14, S20).

    mask : Tensor of bool or uint8
        Not 0 where the input is valid: of the input's shape, or with extents of 1 or fewer leading axes where it is the
        same for all. It has no gradient, as weights.
    weights : Tensor of float32 or float64, shaped as a mask
        For variances, standard deviations, and medians and quantiles by method "inverted_cdf".
    footprint : sequence or array of bool with an axis for each pooled one
        The taps of a window.
    nan_policy : {"propagate", "omit"}
        Whether a NaN makes the result NaN or is left out.
    min_count : int
        With fewer valid elements the result is `fill`, and their gradient 0.
    min_fraction : float
        The same as a share of the elements that exist, 0 to 1.
    fill : float
        By default NaN, or 0 in integers.
    """

    mask: Tensor | None
    weights: Tensor | None
    footprint: Any
    nan_policy: NanPolicy
    min_count: int
    min_fraction: float
    fill: float | None


_KEYWORDS = frozenset(ValidTaps.__annotations__)


def footprint_taps(function: str, footprint: Any) -> tuple[list[int], list[int]]:
    """The extents and the taps of a footprint: an array, a tensor or nested sequences."""
    rows: Any = footprint.tolist() if isinstance(footprint, (np.ndarray, Tensor)) else footprint
    extents: list[int] = []
    first = rows
    while isinstance(first, (list, tuple)):
        extents.append(len(first))
        first = first[0] if first else None
    taps = rows
    for _ in extents[1:]:
        taps = [item for row in taps for item in row]
    if not extents or len(taps) != math.prod(extents):
        raise ValueError(f"{function}: footprint must be an array of bool, but is {footprint!r}")
    return extents, [int(bool(tap)) for tap in taps]


def _beside(x: Tensor, operand: Tensor | None) -> Tensor | None:
    """A mask or weights with as many axes as `x`."""
    if operand is None or operand.dim() >= x.dim():
        return operand
    return operand.reshape((1,) * (x.dim() - operand.dim()) + tuple(operand.shape))


def statistic_arguments(rank: int, pool: tuple[Any, ...], valid: ValidTaps, q: Sequence[float], method: str, ddof: int,
                        sharpness: float, is_sum: bool) -> tuple[Any, ...]:
    """The arguments of `oriel::statistic` after the tensors, for a pool on a tensor of that rank."""
    function = function_name(pool[0], pool[-1])
    taps, footprint, kernel_size = [1], valid.get("footprint"), pool[1]
    if footprint is not None:
        extents, taps = footprint_taps(function, footprint)
        if kernel_size is None:
            kernel_size = extents
    if kernel_size is None:
        raise TypeError(f"{function}: kernel_size must be an int or a sequence of ints, but is None, which needs a "
                        "footprint")
    windows = operator_arguments(rank, pool[0], kernel_size, *pool[2:])
    if len(taps) > 1 and len(taps) != math.prod(windows[2]):
        raise ValueError(f"{function}: footprint must have the {math.prod(windows[2])} taps of the kernel, but has "
                         f"{len(taps)}")
    fill = valid.get("fill")
    return (*windows, [float(share) for share in q], method, ddof, float(sharpness), bool(is_sum),
            valid.get("min_count", 0), float(valid.get("min_fraction", 0.0)), None if fill is None else float(fill),
            taps)


def pool_windows(x: Tensor, op: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                 axes: Any, ndim: int, valid: ValidTaps, q: Sequence[float] = (0.5,), method: str = "lower",
                 ddof: int = 0, sharpness: float = 1.0, is_sum: bool = False) -> Tensor:
    """What all functions and layers of statistics do; several quantiles are the first axis of the result."""
    function = function_name(op, ndim)
    if has_torch_function((x,)):
        return handle_torch_function(pool_windows, (x,), x, op, kernel_size, stride, padding, dilation, ceil_mode, axes,
                                     ndim, valid, q, method, ddof, sharpness, is_sum)
    check_tensor(function, "input", x)
    for name in valid:
        if name not in _KEYWORDS:
            raise TypeError(f"{function}: there is no argument {name}; keywords of valid elements are "
                            f"{', '.join(sorted(_KEYWORDS))}")
    mask, weights = _beside(x, valid.get("mask")), _beside(x, valid.get("weights"))
    if weights is not None and weights.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{function}: weights have no gradient, but require one; detach them")
    pool: Any = (op, kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
                 omits_nan(valid.get("nan_policy", "propagate")), ndim)
    if kernel_size is None and valid.get("footprint") is not None:
        pool = (op, footprint_taps(function, valid.get("footprint"))[0], *pool[2:])
    arguments = statistic_arguments(x.dim(), with_axes(x, pool), valid, q, method, ddof, sharpness, is_sum)
    if is_plain(x) and not (x.requires_grad and torch.is_grad_enabled()):
        return run_statistic(x, mask, weights, *arguments)
    return statistic(x, mask, weights, *arguments)


def quantile_list(function: str, q: Any) -> tuple[Sequence[float], bool]:
    """The quantiles, and whether one of them has an axis of its own as it was in a sequence."""
    shares: Any = q.tolist() if isinstance(q, (np.ndarray, np.number, Tensor)) else q
    if isinstance(shares, (list, tuple)):
        if not shares:
            raise ValueError(f"{function}: q must have at least one value, but is empty")
        return shares, len(shares) == 1
    return (shares,), False
