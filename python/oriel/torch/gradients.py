"""First and second derivatives of the operators, made of operators, so that they can be differentiated, compiled and mapped again.

What the gradients are is S9 of docs/semantics.md. For max and min the places are found again from the input, which is kept anyway: cheaper than
to store 64-bit indices on the way forward. Sums and averages keep a shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from oriel.torch import engine

__all__ = [
    "keep_input", "pick", "pool_backward_gradient", "pool_backward_setup", "pool_gradient", "pool_setup", "pool_with_indices_gradient",
    "pool_with_indices_setup", "unpool_gradient", "unpool_places", "unpool_setup",
]

_operators = torch.ops.oriel  # looked up at call time: they are registered with the functions below
_WINDOWS = 14  # arguments of WINDOWS_SCHEMA
_OMIT_NAN = 13  # and the places of some among them
_NORM = 12


def keep_input(ctx: Any, x: Tensor, op: str, omit_nan: bool) -> None:
    """Keep what the gradient of a pool of `x` needs: the tensor, or its shape and memory format alone."""
    if op in ("avg", "sum") and not omit_nan:
        ctx.save_for_backward()
        ctx.channels_last = not x.is_contiguous() and engine.is_channels_last(x)
    else:
        ctx.save_for_backward(x)
        ctx.channels_last = False
    ctx.input_shape = x.shape


def pool_setup(ctx: Any, inputs: tuple, output: Any) -> None:
    x, *ctx.arguments = inputs
    keep_input(ctx, x, ctx.arguments[0], ctx.arguments[_OMIT_NAN])


def pool_gradient(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
    x = ctx.saved_tensors[0] if ctx.saved_tensors else None
    dx = _operators.pool_backward.default(dy, x, ctx.input_shape, ctx.channels_last, *ctx.arguments)
    return dx, *(None,) * _WINDOWS


def pool_with_indices_setup(ctx: Any, inputs: tuple, output: Any) -> None:
    pool_setup(ctx, inputs, output)
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def pool_with_indices_gradient(ctx: Any, dy: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
    return (None,) * (1 + _WINDOWS) if dy is None else pool_gradient(ctx, dy)


def pick(x: Tensor, indices: Tensor, axes: Sequence[int]) -> Tensor:
    """y[o] = x[indices[o]], indices being flat in the plane of the axes; 0 where an index is -1."""
    last = tuple(range(-len(axes), 0))
    planes = x.movedim(tuple(axes), last).flatten(-len(axes))
    places = indices.movedim(tuple(axes), last)
    flat = places.flatten(-len(axes))
    picked = torch.where(flat < 0, 0, planes.gather(-1, flat.clamp(min=0)))
    return picked.reshape(places.shape).movedim(last, tuple(axes))


def pool_backward_setup(ctx: Any, inputs: tuple, output: Any) -> None:
    dy, x, _, _, *ctx.arguments = inputs
    ctx.save_for_backward(x, dy if ctx.arguments[0] == "lp" else None)


def pool_backward_gradient(ctx: Any, ddx: Tensor) -> tuple[Tensor | None, ...]:
    x, dy = ctx.saved_tensors
    op, axes, *_ = arguments = ctx.arguments
    from_x = None
    if op in ("max", "min"):
        from_dy = pick(ddx, _operators.pool_with_indices.default(x, *arguments)[1], axes)
    elif op == "lp":
        from_dy, from_x = _lp_backward_gradient(ddx, dy, x, arguments)
    else:  # linear: the gradient of the gradient is the pool; with omit, what was NaN in x is left out again
        seen = torch.where(x.isnan(), x, ddx) if arguments[_OMIT_NAN] else ddx
        from_dy = _operators.pool.default(seen, *arguments)
    return from_dy, from_x, None, None, *(None,) * _WINDOWS


def _lp_backward_gradient(ddx: Tensor, dy: Tensor, x: Tensor, arguments: Sequence[Any]) -> tuple[Tensor, Tensor | None]:
    """The gradients with respect to dy and x of dx = s(x) * A'(dy * y^(1-p)), s(x) = sign(x) |x|^(p-1).

    A sums windows, A' is its adjoint. Where x or y is 0 the singular factors, |x|^(p-2) and y^(1-p), count as 0, so that all is finite.
    """
    p = arguments[_NORM]
    if p == float("inf"):
        extrema = ("max", *arguments[1:])
        places = _operators.pool_with_indices.default(x.abs(), *extrema)[1]
        return pick(ddx * x.sign(), places, arguments[1]), None
    if arguments[_OMIT_NAN]:
        x = torch.where(x.isnan(), 0, x)
    sums = ("sum", *arguments[1:])
    y = _operators.pool.default(x, *arguments)
    safe_y = torch.where(y == 0, 1, y)
    weight = torch.where(y == 0, 0, safe_y.pow(1 - p))  # y^(1-p)
    slope = x.sign() * x.abs().pow(p - 1)  # s(x)
    gathered = _operators.pool.default(ddx * slope, *sums)
    from_dy = weight * gathered
    if p == 1:
        return from_dy, None
    safe_x = torch.where(x == 0, 1, x.abs())
    curvature = torch.where(x == 0, 1.0 if p == 2 else 0.0, (p - 1) * safe_x.pow(p - 2))  # ds/dx
    spread = _operators.pool_backward.default(dy * weight, None, x.shape, False, *sums)
    dy_of_y = (1 - p) * dy * gathered * weight / safe_y
    return from_dy, ddx * curvature * spread + _operators.pool_backward.default(dy_of_y, x, x.shape, False, *arguments)


def unpool_setup(ctx: Any, inputs: tuple, output: Any) -> None:
    _, indices, ctx.output_size, ctx.axes = inputs
    ctx.save_for_backward(indices)


def unpool_places(dx: Tensor, indices: Tensor, axes: Sequence[int]) -> Tensor:
    """The gradient of `unpool`: what lies at each index, 0 for an element that a later one of the same index has replaced."""
    number = torch.arange(indices.numel(), device=indices.device).reshape(indices.shape)
    stayed = pick(_operators.unpool.default(number, indices, dx.shape, axes), indices, axes) == number
    return torch.where(stayed, pick(dx, indices, axes), 0)


def unpool_gradient(ctx: Any, dx: Tensor) -> tuple[Tensor | None, ...]:
    return unpool_places(dx, ctx.saved_tensors[0], ctx.axes), None, None, None
