"""Derivatives of the operators, made of operators, so that they can be differentiated, compiled and mapped again.

`*_setup` keeps what a derivative needs, `*_gradient` takes the gradient of a result to its inputs (backward),
`*_tangent` takes the tangent of the inputs to the result (forward mode). The gradients are those of rule S9
(`python -m oriel.docs S9`). For max and min codes of one byte are kept where that is faster (`pool_with_codes`); else the
positions are recomputed from the input: cheaper than to store 64-bit indices on the way forward. Sums and averages keep a
shape alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from oriel.torch import engine
from oriel.torch.arguments import PADDED

_operators = torch.ops.oriel  # looked up at call time: they are registered with the functions below
_WINDOWS = 14  # arguments of WINDOWS_SCHEMA
_NORM = 12  # and the places of some among them
_OMIT_NAN = 13
_NO_NORM = 2.0
_NO_TAP = 255  # the code of a window without a tap


def _keep(ctx: Any, *tensors: Tensor | None) -> None:
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def _first_kept(ctx: Any) -> Tensor | None:
    kept = ctx.saved_tensors
    return kept[0] if kept else None


def _primals(ctx: Any) -> list[Any]:
    """What was kept, without the tangents of the level that is being computed."""
    return [tensor if tensor is None else forward_ad.unpack_dual(tensor).primal for tensor in ctx.saved_tensors]


def keep_input(ctx: Any, x: Tensor, op: str, omit_nan: bool, *more: Tensor) -> None:
    """Keep what the gradient of a pool of `x` needs: the tensor and `more`, or only its shape and memory format."""
    if op in ("avg", "sum") and not omit_nan:
        ctx.input_shape = x.shape
        ctx.channels_last = not x.is_contiguous() and engine.is_channels_last(x)
    else:
        ctx.save_for_backward(x, *more)


def pick(x: Tensor, indices: Tensor, axes: Sequence[int]) -> Tensor:
    """y[o] = x[indices[o]], indices being flat in the plane of the axes; 0 where an index is -1."""
    last = tuple(range(-len(axes), 0))
    planes, places = x.movedim(tuple(axes), last), indices.movedim(tuple(axes), last)
    lead = x.dim() - len(axes)
    # reshape, not flatten: jacobians with vectorize=True map in a way that has no rule for that
    planes = planes.reshape(*planes.shape[:lead], math.prod(planes.shape[lead:]))
    flat = places.reshape(*places.shape[:lead], math.prod(places.shape[lead:]))
    picked = torch.where(flat < 0, 0, planes.gather(-1, flat.clamp(min=0)))
    return picked.reshape(places.shape).movedim(last, tuple(axes))


# -- oriel::pool and oriel::pool_with_indices


def pool_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, *ctx.arguments = inputs
    keep_input(ctx, x, ctx.arguments[0], ctx.arguments[_OMIT_NAN])
    ctx.save_for_forward(*ctx.to_save or ())


def pool_gradient(ctx: Any, dy: Tensor) -> tuple[Tensor, *tuple[None, ...]]:
    x = _first_kept(ctx)
    input_like = (None, ctx.input_shape, ctx.channels_last) if x is None else (x, x.shape, False)
    return _operators.pool_backward.default(dy, *input_like, *ctx.arguments), *(None,) * _WINDOWS


def pool_tangent(ctx: Any, t: Tensor, *_: None) -> Tensor:
    return _pooled_tangent(t, (_primals(ctx) or [None])[0], ctx.arguments)


def pool_with_indices_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pool_setup(ctx, inputs, output)
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def pool_with_indices_gradient(ctx: Any, dy: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
    return (None,) * (1 + _WINDOWS) if dy is None else pool_gradient(ctx, dy)


def pool_with_indices_tangent(ctx: Any, t: Tensor | None, *_: None) -> tuple[Tensor | None, None]:
    return None if t is None else pool_tangent(ctx, t), None


def _pooled_tangent(t: Tensor, x: Any, arguments: Sequence[Any]) -> Tensor:
    """The derivative of the pool at `x`, of which linear ones need none, in the direction `t`."""
    op, axes, *_ = arguments
    if op in ("max", "min"):
        return pick(t, _operators.pool_with_indices.default(x, *arguments)[1], axes)
    if op == "lp":
        return _LpTerms(x, arguments).tangent(t)
    seen = torch.where(x.isnan(), x, t) if arguments[_OMIT_NAN] else t  # what is left out stays left out
    return _operators.pool.default(seen, *arguments)


# -- oriel::pool_backward


def pool_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    dy, x, _, ctx.channels_last, *ctx.arguments = inputs
    ctx.input_shape = output.shape
    _keep(ctx, x, dy if ctx.arguments[0] == "lp" else None)


def pool_backward_gradient(ctx: Any, ddx: Tensor) -> tuple[Tensor | None, ...]:
    x, dy = ctx.saved_tensors
    from_x = _LpTerms(x, ctx.arguments).curved(ddx, dy) if ctx.arguments[0] == "lp" else None
    return _pooled_tangent(ddx, x, ctx.arguments), from_x, None, None, *(None,) * _WINDOWS


def pool_backward_tangent(ctx: Any, dy_t: Tensor, x_t: Any, *_: None) -> Tensor:
    x, dy = _primals(ctx)
    result = _operators.pool_backward.default(dy_t, x, ctx.input_shape, ctx.channels_last, *ctx.arguments)
    if ctx.arguments[0] == "lp":
        bent = _LpTerms(x, ctx.arguments).curved(x_t, dy)  # the derivative of dx by x is a symmetric matrix
        return result if bent is None else result + bent
    return result


class _LpTerms:
    """Derivatives of y = (sum |x|^p)^(1/p), and of its gradient dx = s(x) * A'(dy * y^(1-p)) with s(x) = sign(x)
    |x|^(p-1).

    A sums windows, A' is its adjoint. Where x or y is 0 the singular factors, |x|^(p-2) and y^(1-p), count as 0, so
    that all results are finite. For p = infinity the first largest |x| of a window counts alone, as for a maximum.
    """
    def __init__(self, x: Tensor, arguments: Sequence[Any]) -> None:
        self.p = arguments[_NORM]
        self.arguments = arguments
        self.plain = (*arguments[1:_NORM], _NO_NORM, arguments[_OMIT_NAN])
        if arguments[_OMIT_NAN]:
            x = torch.where(x.isnan(), 0, x)
        self.x = x
        if self.p == float("inf"):
            return
        y = _operators.pool.default(x, *arguments)
        self.safe_y = torch.where(y == 0, 1, y)
        self.weight = torch.where(y == 0, 0, self.safe_y.pow(1 - self.p))  # y^(1-p)
        self.slope = x.sign() * x.abs().pow(self.p - 1)  # s(x)

    def tangent(self, t: Tensor) -> Tensor:
        """The derivative of y in the direction t; also the gradient with respect to dy of <dx, t>."""
        if self.p == float("inf"):
            places = _operators.pool_with_indices.default(self.x.abs(), "max", *self.plain)[1]
            return pick(t * self.x.sign(), places, self.arguments[1])
        return self.weight * _operators.pool.default(t * self.slope, "sum", *self.plain)

    def curved(self, t: Tensor, dy: Tensor) -> Tensor | None:
        """The gradient with respect to x of <dx, t>; None where it is zero everywhere."""
        p, x = self.p, self.x
        if p in (1, float("inf")):
            return None
        bend = torch.where(x == 0, 1.0 if p == 2 else 0.0,
                           (p - 1) * torch.where(x == 0, 1, x.abs()).pow(p - 2))  # ds/dx
        spread = _operators.pool_backward.default(dy * self.weight, None, x.shape, False, "sum", *self.plain)
        from_y = (1 - p) * dy * self.tangent(t) / self.safe_y
        return t * bend * spread + _operators.pool_backward.default(from_y, x, x.shape, False, *self.arguments)


# -- oriel::pool_with_codes and oriel::pool_codes_backward


def pool_with_codes_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, *ctx.arguments = inputs
    ctx.input_shape = x.shape
    ctx.channels_last = not x.is_contiguous() and engine.is_channels_last(x)
    ctx.save_for_backward(output[1])
    ctx.save_for_forward(x)
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def pool_with_codes_gradient(ctx: Any, dy: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
    if dy is None:
        return (None,) * (1 + _WINDOWS)
    dx = _operators.pool_codes_backward.default(dy, _first_kept(ctx), ctx.input_shape, ctx.channels_last, *ctx.arguments)
    return dx, *(None,) * _WINDOWS


def pool_with_codes_tangent(ctx: Any, t: Tensor | None, *_: None) -> tuple[Tensor | None, None]:
    return None if t is None else _pooled_tangent(t, _primals(ctx)[0], ctx.arguments), None


def _places(codes: Tensor, input_size: Sequence[int], arguments: Sequence[Any]) -> Tensor:
    """The indices in the plane of the pooled axes (S10) of windows' taps with those codes; -1 for a window without."""
    _, axes, kernel, stride, pad_lo, _, dilation, _, windows, *_ = arguments
    if windows != PADDED:
        raise ValueError(f"pool_codes_backward: second derivatives need windows {PADDED!r}, but they are {windows!r}")
    rest, place, pitch = codes.to(torch.int64), torch.zeros_like(codes, dtype=torch.int64), 1
    for axis, k, s, before, d in reversed(list(zip(axes, kernel, stride, pad_lo, dilation))):
        first = torch.arange(codes.shape[axis], device=codes.device) * s - before
        at = first.reshape(-1, *(1,) * (-1 - axis)) + (rest % k) * d
        place, rest, pitch = place + at * pitch, rest // k, pitch * input_size[axis]
    return torch.where(codes == _NO_TAP, -1, place)


def pool_codes_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, codes, ctx.input_size, ctx.channels_last, *ctx.arguments = inputs
    _keep(ctx, codes)


def pool_codes_backward_gradient(ctx: Any, ddx: Tensor) -> tuple[Tensor | None, ...]:
    places = _places(ctx.saved_tensors[0], ctx.input_size, ctx.arguments)
    return pick(ddx, places, ctx.arguments[1]), None, None, None, *(None,) * _WINDOWS


def pool_codes_backward_tangent(ctx: Any, dy_t: Tensor, *_: None) -> Tensor:
    return _operators.pool_codes_backward.default(dy_t, *_primals(ctx), ctx.input_size, ctx.channels_last,
                                                  *ctx.arguments)


# -- oriel::unpool


def unpool_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, indices, ctx.output_size, ctx.axes = inputs
    _keep(ctx, indices)


def unpool_places(dx: Tensor, indices: Tensor, axes: Sequence[int]) -> Tensor:
    """The gradient of `unpool`: what lies at each index, but 0 where a later element of the same index replaced it."""
    number = torch.arange(indices.numel(), device=indices.device).reshape(indices.shape)
    stayed = pick(_operators.unpool.default(number, indices, dx.shape, axes), indices, axes) == number
    return torch.where(stayed, pick(dx, indices, axes), 0)


def unpool_gradient(ctx: Any, dx: Tensor) -> tuple[Tensor | None, ...]:
    return unpool_places(dx, ctx.saved_tensors[0], ctx.axes), None, None, None


def unpool_tangent(ctx: Any, t: Tensor, *_: None) -> Tensor:
    return _operators.unpool.default(t, *_primals(ctx), ctx.output_size, ctx.axes)
