"""Gradients of medians, quantiles, variances, standard deviations and means of exponentials, tap by tap in PyTorch's
functions on parts that fit a core's cache: the same bits as the engine's window by window, in less time.

The terms of an element are added in ascending order of the outputs, in float64, and rounded once (S9): in descending
order of the taps that read it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from oriel import _core
from oriel.torch.arguments import PADDED, core_pool

__all__ = ["tap_gradient"]

_WINDOWS = 14  # arguments of WINDOWS_SCHEMA, and the place of one
_INCLUDE_PAD = 10
_SELECTIONS = ("lower", "higher", "nearest", "inverted_cdf", "scipy")
_BITS = {torch.float32: torch.int32, torch.float64: torch.int64, torch.float16: torch.int16,
         torch.bfloat16: torch.int16}
_LEAST_EXPONENT = -745.1332191019412  # below it an exponential is 0
_PART = 1 << 15  # results for each thread at a time: their float64 fit a core's cache
_BYTE_CODES = 255


_Tap: TypeAlias = tuple[int, tuple[slice, ...], tuple[slice, ...]]  # its number, outputs that have it, inputs it reads


class _Windows:
    """The windows of a pool on a tensor of that shape: which outputs have a tap, and which inputs they read with it."""

    def __init__(self, shape: Sequence[int], out: Sequence[int], *windows: Any) -> None:
        axes, self.kernel, self._stride, self._before, _, self._dilation = windows[1:7]
        self.axes = [axis % len(shape) for axis in axes]
        self._inputs, self._outputs = [shape[a] for a in self.axes], [out[a] for a in self.axes]

    def _tap(self, i: int, t: int, rows: slice) -> tuple[slice, slice]:
        """Along pooled axis `i`: the outputs among `rows` that have tap `t`, and the inputs that they read with it."""
        stride, shift = self._stride[i], t * self._dilation[i] - self._before[i]
        begin = max(rows.start, -(shift // stride))
        end = min(rows.stop, (self._inputs[i] - 1 - shift) // stride + 1)
        if end <= begin:
            return slice(0, 0), slice(0, 0)
        first = begin * stride + shift
        return slice(begin, end), slice(first, first + (end - begin - 1) * stride + 1, stride)

    def descending(self, planes: slice, rows: slice) -> list[_Tap]:
        """The taps, the last one first, of the windows of some planes and of `rows` along the first pooled axis."""
        along = [rows, *(slice(0, out) for out in self._outputs[1:])]
        by_axis = [[self._tap(i, t, along[i]) for t in reversed(range(k))] for i, k in enumerate(self.kernel)]
        numbers = reversed(range(math.prod(self.kernel)))
        return [(number, (planes, *(o for o, _ in taps)), (planes, *(i for _, i in taps)))
                for number, taps in zip(numbers, itertools.product(*by_axis)) if all(o.stop > o.start for o, _ in taps)]

    def parts(self, planes: int) -> Iterator[tuple[slice, slice]]:
        """Planes and rows of outputs, in ascending order, that are few enough for a core's cache."""
        most = _PART * torch.get_num_threads()
        row = max(math.prod(self._outputs[1:]), 1)
        step = max(1, min(self._outputs[0], most // row))
        deep = max(1, most // (row * self._outputs[0])) if step == self._outputs[0] else 1
        for plane in range(0, planes, deep):
            for begin in range(0, self._outputs[0], step):
                yield slice(plane, min(plane + deep, planes)), slice(begin, min(begin + step, self._outputs[0]))

    def taps_of_parts(self, planes: int) -> Iterator[_Tap]:
        """The taps of all windows, so that those that read an element come in ascending order of the outputs."""
        for part in self.parts(planes):
            yield from self.descending(*part)

    def tap_counts(self, footprint: Sequence[int]) -> Tensor:
        """The number of taps that each window has, with an axis of 1 for the planes."""
        counts = torch.zeros([1, *self._outputs], dtype=torch.float64)
        for number, outputs, _ in self.descending(slice(0, 1), slice(0, self._outputs[0])):
            counts[outputs] += 1 if len(footprint) == 1 else footprint[number]
        return counts


def _of_all_planes(outputs: tuple[slice, ...]) -> tuple[slice, ...]:
    """The place of outputs in a tensor that is the same for all planes."""
    return slice(None), *outputs[1:]


def _planes(t: Tensor, axes: Sequence[int]) -> Tensor:
    """The tensor with the pooled axes last, all others being one before them."""
    moved = t.movedim(tuple(axes), tuple(range(-len(axes), 0)))
    return moved.reshape(-1, *moved.shape[moved.dim() - len(axes):])


def _like(planes: Tensor, x: Tensor, axes: Sequence[int]) -> Tensor:
    """The inverse of `_planes` for a tensor of x's shape."""
    last = tuple(range(-len(axes), 0))
    shape = x.movedim(tuple(axes), last).shape
    return planes.reshape(shape).movedim(last, tuple(axes))


def _codes(x: Tensor, y: Tensor, windows: _Windows, footprint: Sequence[int]) -> Tensor:
    """The first tap of each window that has the bits of its result."""
    dtype = torch.uint8 if math.prod(windows.kernel) <= _BYTE_CODES else torch.int32
    wanted, planes = _planes(y, windows.axes), _planes(x, windows.axes)
    codes = torch.zeros(wanted.shape, dtype=dtype)
    bits, own = planes.view(_BITS[x.dtype]), wanted.view(_BITS[x.dtype])
    for number, outputs, inputs in windows.taps_of_parts(len(planes)):
        if len(footprint) == 1 or footprint[number]:
            codes[outputs].masked_fill_(bits[inputs] == own[outputs], number)
    return _like(codes, y, windows.axes)


def _selected(dy: Tensor, x: Tensor, y: Tensor, windows: _Windows, arguments: Sequence[Any]) -> Tensor:
    codes = _codes(x, y, windows, arguments[-1])
    extremum = core_pool("max", *arguments[1:_WINDOWS])
    return _core.backward_indices(extremum, dy.to(torch.float64), codes, "window", x.shape)


def _between(dy: Tensor, x: Tensor, ends: Sequence[Tensor], windows: _Windows, arguments: Sequence[Any]) -> Tensor:
    """Of quantiles between two taps, whose values are `ends`."""
    q, method, footprint = arguments[_WINDOWS], arguments[_WINDOWS + 1], arguments[-1]
    low, high = (_planes(_codes(x, end, windows, footprint), windows.axes) for end in ends)
    place = (windows.tap_counts(footprint) - 1) * (q[0] if arguments[0] == "quantile" else 0.5)
    share = place - place.floor()
    if method != "linear":
        share = torch.where(share == 0, share, torch.full_like(share, 0.5))
    dys = _planes(dy.to(torch.float64), windows.axes)
    dx = torch.zeros(_planes(x, windows.axes).shape, dtype=torch.float64)
    for number, outputs, inputs in windows.taps_of_parts(len(dx)):
        if len(footprint) > 1 and not footprint[number]:
            continue
        above = share[_of_all_planes(outputs)]
        slope = torch.where(low[outputs] == number, 1 - above, 0)
        slope += torch.where(high[outputs] == number, above, 0)
        dx[inputs] += torch.where(slope == 0, 0, slope.mul_(dys[outputs]))
    return _like(dx, x, windows.axes)


def _spread(dy: Tensor, x: Tensor, windows: _Windows, arguments: Sequence[Any]) -> Tensor:
    """Of variances and standard deviations."""
    ddof, root = arguments[_WINDOWS + 2], arguments[0] == "std"
    wide = x.to(torch.float64)
    average: list[Any] = ["avg", *arguments[1:_WINDOWS]]
    average[_INCLUDE_PAD] = False
    means = _core.forward(core_pool(*average), wide)
    centres, dys, planes = (_planes(t, windows.axes) for t in (means, dy.to(torch.float64), wide))
    below = windows.tap_counts([1]) - ddof
    enough = below > 0
    doubled = None
    if root:
        deviations = _core.statistic(core_pool("std", *arguments[1:_WINDOWS]), {"ddof": ddof}, wide)
        extremes = [_core.forward(core_pool(op, *arguments[1:_WINDOWS]), x) for op in ("max", "min")]
        doubled = _planes(torch.where(extremes[0] == extremes[1], 0, deviations * 2), windows.axes)
    dx = torch.zeros(planes.shape, dtype=torch.float64)
    for _, outputs, inputs in windows.taps_of_parts(len(planes)):
        of_all = _of_all_planes(outputs)
        slope = (planes[inputs] - centres[outputs]).mul_(2).div_(below[of_all])
        if doubled is not None:
            slope = torch.where(doubled[outputs] == 0, 0, slope.div_(doubled[outputs]))
        dx[inputs] += torch.where((slope == 0) | ~enough[of_all], 0, slope.mul_(dys[outputs]))
    return _like(dx, x, windows.axes)


def _power_of_two(e: Tensor) -> Tensor:
    """2^e of whole numbers, e > -1023."""
    return (e + 1023).to(torch.int64).mul_(1 << 52).view(torch.float64)


def _exponential(x: Tensor) -> Tensor:
    """e^x for x <= 0, by the engine's steps (src/real_functions.h), so that it has its bits."""
    at = x.clamp(min=_LEAST_EXPONENT - 1)
    shift = float.fromhex("0x1.8p52")
    k = (at * float.fromhex("0x1.71547652b82fep+0")).add_(shift).sub_(shift)
    r = (at - k * float.fromhex("0x1.62e42feep-1")).sub_(k * float.fromhex("0x1.a39ef35793c76p-33"))
    p = torch.full_like(r, 1.0 / math.factorial(13))
    for n in range(12, 1, -1):
        p.mul_(r).add_(1.0 / math.factorial(n))
    power = (r * r).mul_(p).add_(r).add_(1.0)
    if k.numel() == 0 or float(k.min()) > -1022:
        return power.mul_(_power_of_two(k))
    half = (k * 0.5).trunc_()  # in two steps, as 2^k may be a subnormal
    return torch.where(x < _LEAST_EXPONENT, 0, power.mul_(_power_of_two(half)).mul_(_power_of_two(k - half)))


def _from_part(outputs: tuple[slice, ...], part: tuple[slice, slice]) -> tuple[slice, ...]:
    """Outputs counted from the first one of a part."""
    return slice(None), slice(outputs[1].start - part[1].start, outputs[1].stop - part[1].start), *outputs[2:]


def _exponentials(dy: Tensor, x: Tensor, windows: _Windows, arguments: Sequence[Any]) -> Tensor | None:
    """Of means and sums of exponentials, and of means weighted by them; None if a maximum is not finite."""
    soft, sharpness = arguments[0] == "soft", 1.0 if arguments[0] == "soft" else arguments[_WINDOWS + 3]
    wide = x.to(torch.float64)
    most = _core.forward(core_pool("max", *arguments[1:_WINDOWS]), wide)
    if not bool(most.isfinite().all()):
        return None
    means = _core.statistic(core_pool("soft", *arguments[1:_WINDOWS]), {}, wide) if soft else most
    tops, centres, dys, planes = (_planes(t, windows.axes) for t in (most, means, dy.to(torch.float64), wide))
    leading = tuple(range(len(windows.axes)))
    sum_of_taps = _core.Pool("sum", windows.kernel, windows.kernel, 0, 1, None, leading)
    dx = torch.zeros(planes.shape, dtype=torch.float64)
    room = None
    for part in windows.parts(len(planes)):
        taps, shape = windows.descending(*part), tops[part].shape
        if room is None or room.shape[1:] != shape or part[1] != slice(0, tops.shape[1]):
            room = torch.full((math.prod(windows.kernel), *shape), -0.0, dtype=torch.float64)  # absent taps (S8)
        for number, outputs, inputs in taps:
            powers = room[number][_from_part(outputs, part)]
            powers.copy_(_exponential((planes[inputs] - tops[outputs]).mul_(sharpness)))
        sums = _core.forward(sum_of_taps, room.reshape(*windows.kernel, *shape)).reshape(shape)
        for number, outputs, inputs in taps:
            own = _from_part(outputs, part)
            slope = room[number][own] / sums[own]
            if soft:
                slope = torch.where(slope == 0, slope, (planes[inputs] + 1).sub_(centres[outputs]).mul_(slope))
            dx[inputs] += torch.where(slope == 0, 0, slope.mul_(dys[outputs]))
    return _like(dx, x, windows.axes)


def _rounded(dx: Tensor, dtype: torch.dtype) -> Tensor:
    """float64 in that dtype, rounded once: PyTorch rounds to float32 on the way to types of 16 bits."""
    if dtype not in (torch.float16, torch.bfloat16):
        return dx.to(dtype)
    near = dx.to(torch.float32)
    bits = near.view(torch.int32) - (near.to(torch.float64).abs() > dx.abs()).to(torch.int32)  # towards zero
    inexact = (near.to(torch.float64) != dx) & near.isfinite()
    return torch.where(inexact, (bits | 1).view(torch.float32), near).to(dtype)  # odd: neither half nor exact


def tap_gradient(dy: Tensor, x: Tensor, *arguments: Any) -> Tensor | None:
    """The gradient for plain tensors in memory of the CPU without mask and weights, or None if it is not of a kind that
    is computed here."""
    op, words, omit = arguments[0], arguments[8], arguments[_WINDOWS - 1]
    q, method, _, _, _, min_count, min_fraction, fill, footprint = arguments[_WINDOWS:]
    if x.dtype not in _BITS or words != PADDED or min_count or min_fraction or fill is not None or x.numel() == 0:
        return None
    if list(arguments[1]) != sorted(arguments[1]):  # taps are numbered in another order
        return None
    if op in ("var", "std"):
        if omit or len(footprint) > 1:
            return None
        return _rounded(_spread(dy, x, _Windows(x.shape, dy.shape, *arguments[:_WINDOWS]), arguments), x.dtype)
    if op in ("lse", "soft"):
        if omit or len(footprint) > 1:
            return None
        dx = _exponentials(dy, x, _Windows(x.shape, dy.shape, *arguments[:_WINDOWS]), arguments)
        return None if dx is None else _rounded(dx, x.dtype)
    if op not in ("median", "quantile") or len(q) > 1:
        return None
    options: dict[str, Any] = {"q": list(q)} if op == "quantile" else {}
    if len(footprint) > 1:
        options["footprint"] = np.array(footprint, bool).reshape(arguments[2])
    is_selection = method in _SELECTIONS
    if omit and not is_selection and bool(x.isnan().any()):  # the share depends on how many are left
        return None
    same = core_pool(*arguments[:_WINDOWS])
    values = [_core.statistic(same, {**options, "method": word}, x)
              for word in ((method,) if is_selection else ("lower", "higher"))]
    if bool(values[0].isnan().any()):  # windows without elements, or whose result is any of several NaN
        return None
    windows = _Windows(x.shape, dy.shape, *arguments[:_WINDOWS])
    if is_selection:
        return _rounded(_selected(dy, x, values[0], windows, arguments), x.dtype)
    return _rounded(_between(dy, x, values, windows, arguments), x.dtype)
