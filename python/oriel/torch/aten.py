"""The operators in terms of PyTorch's own, for exporters to formats that have no operator of Oriel.

Values follow the rules, except for the order in which sums are added, which is PyTorch's. Pools without such a form
(averages that leave NaN out, adaptive sums, averages of integers) are `NotImplemented`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from oriel.torch import operators
from oriel.torch.arguments import ADAPTIVE, GLOBAL, PADDED, function_name, output_extent

__all__ = ["decompositions", "pool", "pool_with_indices", "translate", "unpool"]


def decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's table of decompositions for exported programs, with those of Oriel's operators into PyTorch's.

    A tool that reads the program then (`torch.onnx.export`, ExecuTorch, AOTInductor for C++) does not need Oriel, and
    runs its own pools. `torch.onnx.export` of a model, rather than of an exported program, applies this itself.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> program = torch.export.export(oriel.torch.MaxPool2d(2), (torch.zeros(1, 3, 8, 8),))
    >>> plain = program.run_decompositions(oriel.torch.decompositions())
    >>> "oriel" in str(program.graph), "oriel" in str(plain.graph)
    (True, False)
    """
    table = torch.export.default_decompositions()
    table.update({operators.pool: pool, operators.pool_with_indices: pool_with_indices, operators.unpool: unpool})
    return table


def translate(operator: Any, arguments: tuple[Any, ...]) -> Any:
    """A call as `decompositions` translates it, for `torch.onnx.export`.

    Raises
    ------
    ValueError
        If there is no such form. In a program of `torch.export`, for which the error comes later, a warning says so.
    """
    by_operator = {operators.pool: pool, operators.pool_with_indices: pool_with_indices, operators.unpool: unpool}
    result = by_operator[operator](*arguments)
    if result is not NotImplemented:
        return result
    x, op = arguments[:2]
    sentence = (
        f"{function_name(op, 0)}: this pool of {str(x.dtype).removeprefix('torch.')} values cannot be exported to "
        "ONNX: PyTorch's operators do not express it (`python -m oriel.docs python` lists what they do)")
    if torch._C._is_tracing():
        raise ValueError(sentence)
    warnings.warn(sentence, stacklevel=2)  # an error would make the exporter try another way, and be forgotten
    return operator(*arguments)


def _number(extent: Any) -> Any:
    """An extent to compute with: `torch.jit.trace` gives tensors, whose numbers it warns of."""
    return int(extent) if isinstance(extent, Tensor) else extent


class _Windows:
    """Windows of the last axes with the same taps as those of a call, as PyTorch's functions take them."""

    def __init__(self, extents: Sequence[Any], kernel_size: Sequence[int], stride: Sequence[int], pad_lo: Sequence[int],
                 pad_hi: Sequence[int], dilation: Sequence[int], windows: str, ceil_mode: bool) -> None:
        self.kernel, self.stride, self.dilation = list(kernel_size), list(stride), list(dilation)
        self.ceil_mode = ceil_mode and windows == PADDED
        self.before: list[Any] = list(pad_lo)
        self.after: list[Any] = list(pad_hi)
        self.extents = extents
        self.spans = [d * (k - 1) + 1 for k, d in zip(kernel_size, dilation)]
        if windows != PADDED:
            for i, (n, s, span) in enumerate(zip(map(_number, extents), stride, self.spans)):
                missing = torch.sym_max(((n + s - 1) // s - 1) * s + span - n, 0)
                self.before[i] = (missing + (windows == "same_lower")) // 2
                self.after[i] = missing - self.before[i]
        #: Whether PyTorch's functions take this padding themselves.
        self.is_plain = self.before == self.after and all(2 * p <= k for p, k in zip(self.before, kernel_size))

    @property
    def reach(self) -> list[Any]:
        """Padding after, up to the last tap of the last window, which ceil mode may put beyond the padding."""
        if not self.ceil_mode:
            return self.after
        windows = zip(map(_number, self.extents), self.kernel, self.stride, self.before, self.after, self.dilation)
        counts = [output_extent(n, k, s, before, after, d, False, True) for n, k, s, before, after, d in windows]
        return [(count - 1) * s + span - _number(n) - before
                for n, count, s, span, before in zip(self.extents, counts, self.stride, self.spans, self.before)]

    def padded(self, x: Tensor, value: float, after: Sequence[Any] | None = None) -> Tensor:
        """`x` with `value` around it."""
        pairs = list(zip(self.before, self.reach if after is None else after))
        return F.pad(x, [side for pair in reversed(pairs) for side in pair], value=value)

    def sums(self, x: Tensor) -> Tensor:
        """The sum of each window."""
        if self.is_plain and not self.ceil_mode and all(d == 1 for d in self.dilation):
            means = getattr(F, f"avg_pool{len(self.kernel)}d")
            return means(x, self.kernel, self.stride, self.before) * math.prod(self.kernel)
        return self._sums_within(self.padded(x, 0.0))

    def _sums_within(self, padded: Tensor) -> Tensor:
        """Sums of windows that lie within what they pool."""
        ndim = len(self.kernel)
        if all(d == 1 for d in self.dilation):
            return getattr(F, f"avg_pool{ndim}d")(padded, self.kernel, self.stride) * math.prod(self.kernel)
        ones = torch.ones(1, 1, *self.kernel, dtype=padded.dtype, device=padded.device)
        planes = padded.reshape(-1, 1, *padded.shape[-ndim:])
        y = getattr(F, f"conv{ndim}d")(planes, ones, stride=self.stride, dilation=self.dilation)
        return y.reshape(*padded.shape[:-ndim], *y.shape[-ndim:])

    def means(self, x: Tensor, count_include_pad: bool) -> Tensor:
        """The mean of each window; S5 says what counts."""
        if self.is_plain and all(d == 1 for d in self.dilation):
            return getattr(F, f"avg_pool{len(self.kernel)}d")(x, self.kernel, self.stride, self.before, self.ceil_mode,
                                                               count_include_pad)
        counted = torch.ones_like(x)
        if not count_include_pad:
            return self.sums(x) / self.sums(counted).clamp(min=1)  # without a tap the mean is 0
        counted = self.padded(counted, 1.0, self.after)  # padding counts, what lies beyond it does not
        beyond = [reach - after for reach, after in zip(self.reach, self.after)]
        counted = F.pad(counted, [side for size in reversed(beyond) for side in (0, size)])
        return self.sums(x) / self._sums_within(counted)

    def maxima(self, x: Tensor) -> Tensor:
        """The largest element of each window; the lowest value of the type if there is none."""
        function = getattr(F, f"max_pool{len(self.kernel)}d")
        if self.is_plain:
            return function(x, self.kernel, self.stride, self.before, self.dilation, self.ceil_mode)
        lowest = -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
        return function(self.padded(x, lowest), self.kernel, self.stride, 0, self.dilation)


def _axes_last(rank: int, axes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The order of axes that puts those last, and the order that puts them back."""
    pooled = [axis % rank for axis in axes]  # negative ones, as movedim has them, are wrong in TorchScript's exporter
    order = [axis for axis in range(rank) if axis not in pooled] + pooled
    return order, sorted(range(rank), key=order.__getitem__)


def _over_last_axes(x: Tensor, axes: Sequence[int], function: Callable[[Tensor], Any]) -> Any:
    """`function` on `x` with the axes last, behind one or two others, and its results with the axes where they were."""
    order, inverse = _axes_last(x.dim(), axes)
    is_ordered = order == inverse == list(range(x.dim()))
    moved = x if is_ordered else x.permute(order)
    lead = moved.shape[:-len(axes)]
    planes = moved if len(lead) in (1, 2) else moved.reshape(-1, *moved.shape[-len(axes):])

    def back(y: Tensor) -> Tensor:
        if len(lead) not in (1, 2):
            y = y.reshape(*lead, *y.shape[-len(axes):])
        return y if is_ordered else y.permute(inverse)

    y = function(planes)
    if y is NotImplemented:
        return y
    return tuple(back(part) for part in y) if isinstance(y, tuple) else back(y)


def _flipped(x: Tensor) -> Tensor:
    """Values in the opposite order, bit for bit back when flipped again."""
    return -x if x.is_floating_point() else x.bitwise_not()


def _extrema(op: str, x: Tensor, maxima: Callable[[Tensor], Any]) -> Any:
    if op == "max":
        return maxima(x)
    y = maxima(_flipped(x))
    return (_flipped(y[0]), y[1]) if isinstance(y, tuple) else _flipped(y)


def pool(x: Tensor, op: str, axes: Sequence[int], kernel_size: Sequence[int], stride: Sequence[int],
         pad_lo: Sequence[int], pad_hi: Sequence[int], dilation: Sequence[int], output_size: Sequence[int],
         windows: str, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None, norm_type: float,
         omit_nan: bool) -> Any:
    """`oriel::pool` in operators of PyTorch."""
    if x.dtype == torch.bool or (op in ("avg", "sum", "lp") and not x.is_floating_point()):
        return NotImplemented
    if omit_nan and x.is_floating_point():
        if op == "avg":
            return NotImplemented
        nothing = {"max": -math.inf, "min": math.inf}.get(op, 0.0)
        x = torch.where(x.isnan(), nothing, x)
    if op == "lp":
        x = x.abs() if norm_type in (1, math.inf) else x.abs().pow(norm_type)
        y = pool(x, "max" if norm_type == math.inf else "sum", axes, kernel_size, stride, pad_lo, pad_hi, dilation,
                 output_size, windows, ceil_mode, True, None, 2.0, False)
        if y is NotImplemented or norm_type == 1:
            return y
        return y.clamp(min=0) if norm_type == math.inf else y.pow(1 / norm_type)  # 0 where a window has no tap
    if windows == GLOBAL:
        return _global(x, op, tuple(axes), divisor_override)
    if len(axes) > 3:
        return NotImplemented
    if windows == ADAPTIVE:
        return _over_last_axes(x, axes, lambda planes: _adaptive(planes, op, output_size, divisor_override))

    def pooled(planes: Tensor) -> Tensor:
        extents = planes.shape[-len(axes):]
        view = _Windows(extents, kernel_size, stride, pad_lo, pad_hi, dilation, windows, ceil_mode)
        if op in ("max", "min"):
            return _extrema(op, planes, view.maxima)
        if op == "sum":
            return view.sums(planes)
        if divisor_override is not None:
            return view.sums(planes) / divisor_override
        return view.means(planes, count_include_pad)

    return _over_last_axes(x, axes, pooled)


def _global(x: Tensor, op: str, axes: tuple[int, ...], divisor: int | None) -> Tensor:
    if op == "avg" and divisor is not None:
        return x.sum(axes, keepdim=True) / divisor
    return getattr(torch, {"max": "amax", "min": "amin", "avg": "mean", "sum": "sum"}[op])(x, axes, keepdim=True)


def _adaptive(planes: Tensor, op: str, output_size: Sequence[int], divisor: int | None) -> Any:
    sizes = list(output_size)
    if op == "avg" and divisor is None:
        return getattr(F, f"adaptive_avg_pool{len(sizes)}d")(planes, sizes)
    if op in ("max", "min"):
        return _extrema(op, planes, lambda t: getattr(F, f"adaptive_max_pool{len(sizes)}d")(t, sizes))
    return NotImplemented


def pool_with_indices(x: Tensor, op: str, axes: Sequence[int], kernel_size: Sequence[int], stride: Sequence[int],
                      pad_lo: Sequence[int], pad_hi: Sequence[int], dilation: Sequence[int],
                      output_size: Sequence[int], windows: str, ceil_mode: bool, count_include_pad: bool,
                      divisor_override: int | None, norm_type: float, omit_nan: bool) -> Any:
    """`oriel::pool_with_indices` in operators of PyTorch."""
    if op not in ("max", "min") or omit_nan or x.dtype == torch.bool or windows == GLOBAL or len(axes) > 3:
        return NotImplemented

    def pooled(planes: Tensor) -> Any:
        if windows == ADAPTIVE:
            function = getattr(F, f"adaptive_max_pool{len(axes)}d")
            return _extrema(op, planes, lambda t: function(t, list(output_size), return_indices=True))
        view = _Windows(planes.shape[-len(axes):], kernel_size, stride, pad_lo, pad_hi, dilation, windows, ceil_mode)
        if not view.is_plain:
            return NotImplemented
        function = getattr(F, f"max_pool{len(axes)}d")
        return _extrema(
            op, planes, lambda t: function(t, view.kernel, view.stride, view.before, view.dilation, view.ceil_mode,
                                           return_indices=True))

    return _over_last_axes(x, axes, pooled)


def unpool(y: Tensor, indices: Tensor, output_size: Sequence[Any], axes: Sequence[int]) -> Tensor:
    """`oriel::unpool` in operators of PyTorch; which of two elements with one index is kept is not defined there."""
    order, inverse = _axes_last(y.dim(), axes)
    values, places = (t.permute(order).flatten(-len(axes)) for t in (y, indices))
    sizes = [output_size[axis] for axis in axes]
    plane = math.prod(sizes)
    places = torch.where(places < 0, plane, places)  # one more place, for what has none
    result = values.new_zeros(*values.shape[:-1], plane + 1).scatter(-1, places, values)[..., :plane]
    return result.reshape(*values.shape[:-1], *sizes).permute(inverse)
