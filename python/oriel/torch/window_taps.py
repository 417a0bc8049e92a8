"""Derivatives of statistics of windows in PyTorch's own functions, on a copy of each window's elements.

Forward mode and the derivatives of gradients are computed here, and can be differentiated again. They need
prod(kernel_size) times the memory of a result, which the engine's values and gradients do not. Gradients go to the same
elements as the engine's (S16, S18, S19).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from oriel.torch.arguments import PADDED, output_shape

__all__ = ["WindowTaps", "statistic_shape"]

_WINDOWS = 14  # arguments of WINDOWS_SCHEMA
# Of a window: the derivative by each tap, and that derivative's derivative in the direction of the argument.
_Slope = Callable[[], Tensor]
_Bend = Callable[[Tensor], Tensor]


def statistic_shape(shape: Sequence[Any], *windows: Any) -> list[Any]:
    """The shape of the result of one quantile or of any other statistic; numbers may be symbolic."""
    op = "median" if windows[0] == "quantile" else windows[0]  # quantiles do not change the windows
    return output_shape(shape, op, *windows[1:])


def _padding_before(n: Any, kernel: Any, stride: Any, before: Any, dilation: Any, words: str) -> Any:
    if words == PADDED:
        return before
    total = torch.sym_max(((n + stride - 1) // stride - 1) * stride + dilation * (kernel - 1) + 1 - n, 0)
    return total // 2 if words == "same" else total - total // 2


def _places(shape: Sequence[Any], device: torch.device, *windows: Any) -> tuple[Tensor, Tensor, list[Any]]:
    """(place of each tap in the plane of the pooled axes, whether it exists, the results' extents on these axes).

    Places and existence have a row for each window and a column for each tap; a tap that does not exist has some place.
    """
    axes, kernel, stride, pad_lo, _, dilation, _, words = windows[1:9]
    out = statistic_shape(shape, *windows)
    rank = len(axes)
    places = torch.zeros([1] * (2 * rank), dtype=torch.int64, device=device)
    exists = torch.ones([1] * (2 * rank), dtype=torch.bool, device=device)
    for i, axis in enumerate(axes):
        n = shape[axis]
        before = _padding_before(n, kernel[i], stride[i], pad_lo[i], dilation[i], words)
        starts = torch.arange(out[axis], device=device) * stride[i] - before
        at = starts[:, None] + torch.arange(kernel[i], device=device) * dilation[i]
        spread = [1] * (2 * rank)
        spread[i], spread[rank + i] = out[axis], kernel[i]
        exists = exists & ((at >= 0) & (at < n)).reshape(spread)
        places = places * n + at.clamp(0, n - 1).reshape(spread)
    extents = [out[axis] for axis in axes]
    shaped = [math.prod(extents), math.prod(kernel)]
    return places.reshape(shaped), exists.reshape(shaped), extents


class WindowTaps:
    """The taps of all windows of `x` (on the last axis, windows on the one before), and the derivatives by them."""

    q: tuple[float, ...]
    method: str
    ddof: int
    sharpness: float
    op: str
    axes: Sequence[int]
    dtype: torch.dtype
    places: Tensor  # of each tap in the plane of the pooled axes
    extents: list[Any]  # of results along the pooled axes
    valid: Tensor
    weights: Tensor | None
    values: Tensor
    counted: Tensor
    lead: Sequence[Any]  # extents of the other axes
    plane: Sequence[Any]

    def __init__(self, x: Tensor, mask: Tensor | None, weights: Tensor | None, *arguments: Any) -> None:
        windows = arguments[:_WINDOWS]
        self.q, self.method, self.ddof, self.sharpness, _, count, fraction, _, footprint = arguments[_WINDOWS:]
        self.op, self.axes, omit = windows[0], windows[1], windows[-1]
        self.dtype = x.dtype
        self.places, valid, self.extents = _places(x.shape, x.device, *windows)
        values = self.taps_of(x)
        if len(footprint) > 1:
            valid = valid & torch.tensor(footprint, dtype=torch.bool, device=x.device)
        present = valid.sum(-1)
        if mask is not None:
            valid = valid & (self.taps_of(mask.expand(x.shape)) != 0)
        shares = None if weights is None else self.taps_of(weights.expand(x.shape))
        if shares is not None:
            valid = valid & (shares != 0)
        if omit:
            valid = valid & ~values.detach().isnan()
        self.valid = valid.expand(values.shape)
        self.weights = None if shares is None else torch.where(self.valid, shares, 0)
        self.values = torch.where(self.valid, values, 0)
        need = torch.full_like(present, max(count, self.ddof + 1))
        enough = self.valid.sum(-1) >= torch.maximum(torch.ceil(present.double() * fraction).long(), need)
        self.counted = enough.unsqueeze(-1)  # windows of too few taps have no derivative

    def taps_of(self, x: Tensor) -> Tensor:
        """The elements of a tensor of the input's shape at the taps, as float64."""
        planes = x.movedim(tuple(self.axes), tuple(range(-len(self.axes), 0)))
        self.lead, self.plane = planes.shape[:planes.dim() - len(self.axes)], planes.shape[-len(self.axes):]
        planes = planes.reshape(*self.lead, math.prod(self.plane))
        taps = planes.index_select(-1, self.places.reshape(-1))
        return taps.reshape(*self.lead, *self.places.shape).to(torch.float64)

    def _added(self, taps: Tensor) -> Tensor:
        """A tensor of the input's shape: the sum of the taps that read each element."""
        flat = taps.reshape(*self.lead, self.places.numel())
        zeros = torch.zeros_like(flat[..., :1]).expand(*self.lead, math.prod(self.plane))
        planes = zeros.index_add(-1, self.places.reshape(-1), flat)
        return self._unflattened(planes, self.plane)

    def _unflattened(self, planes: Tensor, extents: Sequence[Any]) -> Tensor:
        shaped = planes.reshape(*self.lead, *extents)
        return shaped.movedim(tuple(range(-len(self.axes), 0)), tuple(self.axes)).to(self.dtype)

    def _results(self, dy: Tensor) -> list[Tensor]:
        """The elements of a tensor of the result's shape for each quantile, a window having an axis of one tap."""
        parts = dy.unbind(0) if self._quantiles() > 1 else (dy,)
        last = tuple(range(-len(self.axes), 0))
        return [part.movedim(tuple(self.axes), last).reshape(*self.lead, math.prod(self.extents), 1).to(torch.float64)
                for part in parts]

    def _quantiles(self) -> int:
        return len(self.q) if self.op == "quantile" else 1

    def tangent(self, t: Tensor) -> Tensor:
        """The derivative of the result in the direction `t` of the input."""
        taps = self.taps_of(t)
        parts = [(torch.where(self.counted, slope(), 0) * taps).sum(-1) for slope, _ in self._derivatives()]
        results = [self._unflattened(part, self.extents) for part in parts]
        return torch.stack(results) if len(results) > 1 else results[0]

    def gradient(self, dy: Tensor) -> Tensor:
        """The gradient of the input."""
        parts = [torch.where(self.counted, slope(), 0) * d
                 for d, (slope, _) in zip(self._results(dy), self._derivatives(), strict=True)]
        return self._added(torch.stack(parts).sum(0) if len(parts) > 1 else parts[0])

    def curved(self, dy: Tensor, u: Tensor) -> Tensor:
        """The derivative of the gradient in the direction `u` of the input, a symmetric product."""
        taps = torch.where(self.valid, self.taps_of(u), 0)
        parts = [torch.where(self.counted, bend(taps), 0) * d
                 for d, (_, bend) in zip(self._results(dy), self._derivatives(), strict=True)]
        return self._added(torch.stack(parts).sum(0) if len(parts) > 1 else parts[0])

    def _derivatives(self) -> list[tuple[_Slope, _Bend]]:
        if self.op in ("median", "quantile"):
            shares = self.q if self.op == "quantile" else (0.5,)
            return [(lambda share=share: self._chosen(share), torch.zeros_like) for share in shares]
        if self.op == "var":
            return [(self._var_slope, self._var_bend)]
        if self.op == "std":
            return [(self._std_slope, self._std_bend)]
        if self.op == "lse":
            return [(self._softmax, self._softmax_bend)]
        return [(self._soft_slope, self._soft_bend)]

    # -- Order statistics: the taps whose values they are

    def _chosen(self, q: float) -> Tensor:
        order = self._order()
        if self.weights is not None:
            sums = self.weights.gather(-1, order).cumsum(-1)
            rank = (sums >= q * sums[..., -1:]).to(torch.int8).argmax(-1)
            return self._first_of_rank(order, rank)
        low, high, share = self._ranks(q)
        chosen = self._first_of_rank(order, low)
        if share is None:
            return chosen
        return torch.lerp(chosen, self._first_of_rank(order, high), share.unsqueeze(-1))

    def _ranks(self, q: float) -> tuple[Tensor, Tensor, Tensor | None]:
        """The ranks of the two sorted taps between which a quantile is, and the share of the second (S16)."""
        n = self.valid.sum(-1).clamp(min=1)
        h = (n - 1).double() * q
        low, high = torch.floor(h).long(), torch.ceil(h).long()
        if self.method in ("midpoint", "mean"):
            return low, high, torch.full_like(h, 0.5)
        if self.method == "linear":
            return low, torch.minimum(low + 1, n - 1), h - torch.floor(h)
        ranks = {"lower": low, "higher": high, "nearest": torch.round(h).long(),
                 "inverted_cdf": (torch.ceil(n.double() * q).long() - 1).clamp(min=0),
                 "scipy": torch.minimum(torch.floor(n.double() * q).long(), n - 1)}
        return ranks[self.method], ranks[self.method], None

    def _order(self) -> Tensor:
        """The taps sorted by value, -0 before +0, those that are not valid last."""
        values = self.values.detach()
        order = torch.argsort((~torch.signbit(values)).to(torch.int8), dim=-1, stable=True)
        for key in (values, (~self.valid).to(torch.int8)):
            order = order.gather(-1, torch.argsort(key.gather(-1, order), dim=-1, stable=True))
        return order

    def _first_of_rank(self, order: Tensor, rank: Tensor) -> Tensor:
        """1 at the first tap that has the value of that rank, to the sign of a zero, and 0 at the others."""
        values = self.values.detach()
        tap = order.gather(-1, rank.unsqueeze(-1))
        found = values.gather(-1, tap)
        same = self.valid & (values == found) & (torch.signbit(values) == torch.signbit(found))
        first = torch.where(same.any(-1, keepdim=True), same.to(torch.int8).argmax(-1, keepdim=True), tap)
        return (torch.arange(values.shape[-1], device=values.device) == first).to(torch.float64)

    # -- Moments

    def _centred(self) -> tuple[Tensor, Tensor, Tensor]:
        """(deviations from the mean, the weights of taps, their sum)."""
        shares = self.valid.to(torch.float64) if self.weights is None else self.weights
        total = shares.sum(-1, keepdim=True)
        mean = (shares * self.values).sum(-1, keepdim=True) / torch.where(total == 0, 1, total)
        return torch.where(self.valid, self.values - mean, 0), shares, total

    def _divisor(self, total: Tensor) -> Tensor:
        return torch.where(total == self.ddof, 1, total - self.ddof)

    def _var_slope(self) -> Tensor:
        deviations, shares, total = self._centred()
        return 2 * shares * deviations / self._divisor(total)

    def _var_bend(self, u: Tensor) -> Tensor:
        _, shares, total = self._centred()
        mean = (shares * u).sum(-1, keepdim=True) / torch.where(total == 0, 1, total)
        return 2 * shares * (u - mean) / self._divisor(total)

    def _twice_root(self) -> tuple[Tensor, Tensor]:
        """Twice the standard deviation, 1 where it is 0, and where it is not 0; weights leave a rest of equal taps."""
        deviations, shares, total = self._centred()
        variance = (shares * deviations * deviations).sum(-1, keepdim=True) / self._divisor(total)
        values = self.values.detach()
        most = torch.where(self.valid, values, -torch.inf).amax(-1, keepdim=True)
        positive = (variance != 0) & (most != torch.where(self.valid, values, torch.inf).amin(-1, keepdim=True))
        return 2 * torch.where(positive, variance, 1).sqrt(), positive

    def _std_slope(self) -> Tensor:
        root, positive = self._twice_root()
        return torch.where(positive, self._var_slope() / root, 0)

    def _std_bend(self, u: Tensor) -> Tensor:
        root, positive = self._twice_root()
        slope = self._var_slope()
        along = (slope * u).sum(-1, keepdim=True)
        return torch.where(positive, self._var_bend(u) / root - 2 * slope * along / root**3, 0)

    # -- Exponentials

    def _softmax(self, sharpness: float | None = None) -> Tensor:
        r = self.sharpness if sharpness is None else sharpness
        most = torch.where(self.valid, self.values, -torch.inf).amax(-1, keepdim=True).detach()
        most = torch.where(most.isinf(), 0, most)
        powers = torch.where(self.valid, torch.exp(r * (torch.where(self.valid, self.values, most) - most)), 0)
        total = powers.sum(-1, keepdim=True)
        return powers / torch.where(total == 0, 1, total)

    def _softmax_bend(self, u: Tensor, sharpness: float | None = None) -> Tensor:
        r = self.sharpness if sharpness is None else sharpness
        p = self._softmax(r)
        return r * p * (u - (p * u).sum(-1, keepdim=True))

    def _soft_slope(self) -> Tensor:
        p = self._softmax(1.0)
        return p * (1 + self.values - (p * self.values).sum(-1, keepdim=True))

    def _soft_bend(self, u: Tensor) -> Tensor:
        p = self._softmax(1.0)
        y = (p * self.values).sum(-1, keepdim=True)
        along = (p * (1 + self.values - y) * u).sum(-1, keepdim=True)
        return self._softmax_bend(u, 1.0) * (1 + self.values - y) + p * (u - along)
