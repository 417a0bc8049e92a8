"""A divided pool and its derivatives, of any order, as functions of PyTorch. All ranks run each of them together.

A pool's gradient is linear in what it is given, and its own derivative is the pool again: of sums and averages, the same
pool; of maxima and minima, what lies at the places that were chosen, which the owners of the inputs send.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from oriel.ranks.boxes import Fetch, extents
from oriel.ranks.divided import Bound
from oriel.torch_threads import as_many_threads_as_torch

__all__ = ["DividedPoolFunction", "anchor", "join_gradient", "refuse_second"]

_KEPT_AS = {"backward_indices": "indices", "backward_inputs": "x"}  # what a gradient needs, by its pass


def anchor(wanted: bool, wants: bool) -> Tensor | None:
    """What to differentiate by on a rank that wants no gradient itself where others do."""
    return torch.zeros(0, requires_grad=True) if wanted and not wants else None


class DividedPoolFunction(Function):
    """x -> y, and its indices in the plane if `indexed`."""
    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor | None, bound: Bound, indexed: bool, recorded: bool) -> Any:
        y = torch.empty(bound.output_shape, dtype=x.dtype)
        ctx.bound = bound
        gradient = bound.local.gradient
        places = None
        if indexed or (recorded and gradient == "backward_indices"):
            places = torch.empty(bound.output_shape, dtype=torch.int64)
        with as_many_threads_as_torch():
            bound.run("forward", x=x.detach(), y=y, indices=places)
        if recorded:
            ctx.save_for_backward({"backward": None, "backward_indices": places, "backward_inputs": x}[gradient])
        if not indexed:
            return y
        assert places is not None
        indices = places.clone() if recorded else places
        bound.local.globalise(indices, "plane")
        ctx.mark_non_differentiable(indices)
        return y, indices

    @staticmethod
    def backward(ctx: Any, dy: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        dx = _gradient(ctx.bound, dy, ctx.saved_tensors[0])
        return dx if ctx.needs_input_grad[0] else None, None, None, None, None


def join_gradient(bound: Bound, step: str, given: Tensor, kept: Tensor | None) -> tuple[bool, Tensor | None]:
    """Comes to this step with all ranks: whether any wants its derivative, and the anchor."""
    error: Exception | None = None
    if given.layout != torch.strided or not given.is_cpu:
        error = TypeError(f"{bound.function}: the gradient must be a dense tensor on the CPU, but is of layout "
                          f"{given.layout} on {given.device}")
    recording = torch.is_grad_enabled()
    wants = recording and (given.requires_grad or (kept is not None and kept.requires_grad))
    wanted = bound.join(step, error, wants, not recording)
    return wanted, anchor(wanted, wants)


def _gradient(bound: Bound, dy: Tensor, kept: Tensor | None) -> Tensor:
    wanted, fixed = join_gradient(bound, "backward", dy, kept)
    return _Gradient.apply(dy, kept, fixed, bound) if wanted else _run_gradient(bound, dy, kept)


def _run_gradient(bound: Bound, dy: Tensor, kept: Tensor | None) -> Tensor:
    dx = torch.empty(bound.input_shape, dtype=dy.dtype)
    word = bound.local.gradient
    arrays = {_KEPT_AS[word]: kept.detach()} if kept is not None else {}
    with as_many_threads_as_torch():
        bound.run(word, dy=dy.detach(), dx=dx, **arrays)
    return dx


class _Gradient(Function):
    """dy -> dx."""
    @staticmethod
    def forward(ctx: Any, dy: Tensor, kept: Tensor | None, anchor: Tensor | None, bound: Bound) -> Tensor:
        ctx.bound = bound
        ctx.save_for_backward(kept)
        return _run_gradient(bound, dy, kept)

    @staticmethod
    def backward(ctx: Any, ddx: Tensor) -> tuple[Tensor | None, ...]:
        ddy = _tangent(ctx.bound, ddx, ctx.saved_tensors[0])
        return ddy if ctx.needs_input_grad[0] else None, None, None, None


def _tangent(bound: Bound, t: Tensor, kept: Tensor | None) -> Tensor:
    """The derivative of y in the direction t of x, which is also that of <dx, t> by dy."""
    if bound.op == "lp":
        raise RuntimeError(f"{bound.function}: gradients of gradients exist for max, min, avg and sum, but not for lp")
    wanted, fixed = join_gradient(bound, "second derivative", t, None)
    if bound.local.gradient == "backward_indices":
        assert kept is not None
        return _Picked.apply(t, kept, fixed, bound)
    if kept is not None:
        t = torch.where(kept.isnan(), kept.detach(), t)  # what is left out stays left out
    return DividedPoolFunction.apply(t, fixed, bound, False, wanted)


class _Picked(Function):
    """What lies at the places of the outputs: y[o] = t[place of o], 0 where a window had no tap."""
    @staticmethod
    def forward(ctx: Any, t: Tensor, places: Tensor, anchor: Tensor | None, bound: Bound) -> Tensor:
        ctx.bound = bound
        ctx.save_for_backward(places)
        local = bound.local
        plan = local.exchange("forward", local.rank)
        if bound.fetch is None:
            bound.fetch = Fetch(bound.link, plan["owned"], plan["needed"], plan["send"], plan["receive"],
                                t.element_size())
        seen = bound.fetch.run(t)
        indices = places.clone()
        local.globalise(indices, "plane")
        return _pick(seen, indices, plan["needed"], [bounds[-1] for bounds in local.input_cuts][-bound.pooled:])

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        dt = _gradient(ctx.bound, dy, ctx.saved_tensors[0])
        return dt if ctx.needs_input_grad[0] else None, None, None, None


def _pick(seen: Tensor, indices: Tensor, box: tuple[tuple[int, int], ...], plane: list[int]) -> Tensor:
    """The elements at indices into the plane of the last axes, of which `seen` holds a box."""
    if indices.numel() == 0:
        return seen.new_zeros(indices.shape)
    pooled = len(plane)
    at, rest, pitch = torch.zeros_like(indices), indices, 1
    for extent, (begin, _), width in zip(reversed(plane), reversed(box[-pooled:]), reversed(extents(box)[-pooled:])):
        at = at + (rest % extent - begin) * pitch
        rest, pitch = rest // extent, pitch * width
    absent = indices < 0
    cells = seen.reshape(*seen.shape[:-pooled], math.prod(seen.shape[-pooled:]))
    if cells.shape[-1] == 0:  # no window has a tap
        return seen.new_zeros(indices.shape)
    picked = cells.gather(-1, torch.where(absent, 0, at).flatten(-pooled)).reshape(indices.shape)
    return torch.where(absent, 0, picked)


class _Refusal(Function):
    @staticmethod
    def forward(ctx: Any, dx: Tensor, dy: Tensor, text: str) -> Tensor:
        ctx.text = text
        return dx.view_as(dx)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> tuple[None, ...]:
        raise RuntimeError(ctx.text)


def refuse_second(dx: Tensor, dy: Tensor, text: str) -> Tensor:
    """`dx`, whose derivative by `dy` raises RuntimeError with this text."""
    return _Refusal.apply(dx, dy, text)
