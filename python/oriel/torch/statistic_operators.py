"""The operators of the namespace `oriel` for statistics of windows over their valid elements (S13 to S19): kernels for
the CPU, kernels for fake tensors, gradients, batching rules.

    oriel::statistic(Tensor x, Tensor? mask, Tensor? weights, WINDOWS, STATISTIC) -> Tensor
    oriel::statistic_backward(Tensor dy, Tensor x, Tensor? mask, Tensor? weights, WINDOWS, STATISTIC) -> Tensor

WINDOWS and STATISTIC are `WINDOWS_SCHEMA` and `STATISTIC_SCHEMA`. The gradient is the engine's; forward mode and the
derivatives of gradients are those of `oriel.torch.window_taps`. Masks and weights have no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.autograd import forward_ad

from oriel import _core
from oriel.torch import engine
from oriel.torch.arguments import WINDOWS_SCHEMA, core_pool
from oriel.torch.operators import _define
from oriel.torch.tap_gradients import tap_gradient
from oriel.torch.window_taps import WindowTaps, statistic_shape
from oriel.torch_threads import ALL_THREADS, as_many_threads_as_torch

__all__ = ["STATISTIC_SCHEMA", "pool_and_options", "run_statistic", "statistic", "statistic_backward"]

# `footprint` has 1 or 0 for each tap of a window, in their order, or one value for all: torch.jit.trace takes no lists
# of bool.
STATISTIC_SCHEMA = ("float[] q, str method, int ddof, float sharpness, bool is_sum, int min_count, float min_fraction, "
                    "float? fill, int[] footprint")
_WINDOWS, _STATISTIC = 14, 9  # arguments of the schemas
_ARGUMENTS = _WINDOWS + _STATISTIC
_SCHEMA = f"Tensor? mask, Tensor? weights, {WINDOWS_SCHEMA}, {STATISTIC_SCHEMA}"


def pool_and_options(arguments: Sequence[Any]) -> tuple[_core.Pool, dict[str, Any]]:
    """The pool and the options of the engine, which has those alone that its op has."""
    op, kernel = arguments[0], arguments[2]
    q, method, ddof, sharpness, is_sum, min_count, min_fraction, fill, footprint = arguments[_WINDOWS:]
    options: dict[str, Any] = {"min_count": min_count, "min_fraction": min_fraction, "fill": fill}
    if op in ("median", "quantile"):
        options["method"] = method
    if op == "quantile":
        options["q"] = list(q)
    if op in ("var", "std"):
        options["ddof"] = ddof
    if op == "lse":
        options |= {"sharpness": sharpness, "sum": is_sum}
    if len(footprint) > 1:
        options["footprint"] = np.array(footprint, bool).reshape(kernel)
    return core_pool(*arguments[:_WINDOWS]), options


# -- Kernels


def run_statistic(x: Tensor, mask: Tensor | None, weights: Tensor | None, *arguments: Any) -> Tensor:
    """The pool of plain tensors, in x's memory format, by as many threads as PyTorch uses."""
    pool, options = pool_and_options(arguments)
    if torch.get_num_threads() == ALL_THREADS:
        return _core.statistic(pool, options, x, mask, weights)
    with as_many_threads_as_torch():
        return _core.statistic(pool, options, x, mask, weights)


def _backward_kernel(dy: Tensor, x: Tensor, mask: Tensor | None, weights: Tensor | None, *arguments: Any) -> Tensor:
    pool, options = pool_and_options(arguments)
    out = torch.empty(x.shape, dtype=x.dtype,
                      memory_format=engine.memory_format(engine.is_channels_last(x), x.dim()))
    with as_many_threads_as_torch():
        if mask is None and weights is None and x.is_cpu and (dx := tap_gradient(dy, x, *arguments)) is not None:
            return out.copy_(dx)
        return _core.statistic_backward(pool, options, dy, x, mask, weights, out)


# -- Fake kernels


def _result_dtype(x: Tensor, op: str) -> torch.dtype:
    return x.dtype if x.dtype.is_floating_point or op in ("median", "quantile") else torch.float64


def _fake(x: Tensor, mask: Tensor | None, weights: Tensor | None, *arguments: Any) -> Tensor:
    op, q = arguments[0], arguments[_WINDOWS]
    shape, channels_last = statistic_shape(x.shape, *arguments[:_WINDOWS]), engine.is_channels_last(x)
    dtype = _result_dtype(x, op)
    if op == "quantile" and len(q) > 1:
        return torch.empty([len(q), *shape], dtype=dtype, device=x.device)
    return torch.empty(shape, dtype=dtype, device=x.device,
                       memory_format=engine.memory_format(channels_last, len(shape)))


def _backward_fake(dy: Tensor, x: Tensor, mask: Tensor | None, weights: Tensor | None, *arguments: Any) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device,
                       memory_format=engine.memory_format(engine.is_channels_last(x), x.dim()))


# -- Batching rules: the mapped axis becomes the first, which is not pooled, as axes count from the end


def _to_front(tensor: Tensor | None, mapped: int | None, batch: int | None) -> Tensor | None:
    """The tensor with the mapped axis first; one that is not mapped is repeated, or has an axis of 1 for no batch."""
    if tensor is None:
        return None
    if mapped is not None:
        return tensor.movedim(mapped, 0)
    return tensor.unsqueeze(0) if batch is None else tensor.unsqueeze(0).expand(batch, *tensor.shape)


def _has_quantiles(arguments: Sequence[Any]) -> bool:
    return arguments[0] == "quantile" and len(arguments[_WINDOWS]) > 1


def _batched(info: Any, mapped: tuple[Any, ...], x: Tensor, mask: Tensor | None, weights: Tensor | None, *arguments:
             Any) -> tuple[Tensor, int]:
    front = _to_front(x, mapped[0], info.batch_size)
    y = statistic(front, _to_front(mask, mapped[1], None), _to_front(weights, mapped[2], None), *arguments)
    return y, 1 if _has_quantiles(arguments) else 0


def _backward_batched(info: Any, mapped: tuple[Any, ...], dy: Tensor, x: Tensor, mask: Tensor | None,
                      weights: Tensor | None, *arguments: Any) -> tuple[Tensor, int]:
    batch = info.batch_size
    dys: Any = _to_front(dy, mapped[0], batch)
    if _has_quantiles(arguments):
        dys = dys.movedim(0, 1)
    return statistic_backward(dys, _to_front(x, mapped[1], batch), _to_front(mask, mapped[2], None),
                              _to_front(weights, mapped[3], None), *arguments), 0


# -- Derivatives


def _keep(ctx: Any, *tensors: Tensor | None) -> None:
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def _primals(ctx: Any) -> list[Any]:
    """What was kept, without the tangents of the level that is being computed."""
    return [tensor if tensor is None else forward_ad.unpack_dual(tensor).primal for tensor in ctx.saved_tensors]


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, mask, weights, *ctx.arguments = inputs
    _keep(ctx, x, mask, weights)


def _gradient(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
    x, mask, weights = ctx.saved_tensors
    return statistic_backward(dy, x, mask, weights, *ctx.arguments), *(None,) * (2 + _ARGUMENTS)


def _tangent(ctx: Any, t: Tensor, *_: None) -> Tensor:
    return WindowTaps(*_primals(ctx), *ctx.arguments).tangent(t)


def _backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    dy, x, mask, weights, *ctx.arguments = inputs
    _keep(ctx, dy, x, mask, weights)


def _backward_gradient(ctx: Any, ddx: Tensor) -> tuple[Tensor | None, ...]:
    dy, *operands = ctx.saved_tensors
    taps = WindowTaps(*operands, *ctx.arguments)
    return taps.tangent(ddx), taps.curved(dy, ddx), *(None,) * (2 + _ARGUMENTS)


def _backward_tangent(ctx: Any, dy_t: Tensor, x_t: Tensor, *_: None) -> Tensor:
    dy, *operands = _primals(ctx)
    taps = WindowTaps(*operands, *ctx.arguments)
    return taps.gradient(dy_t) + taps.curved(dy, x_t)


statistic: OpOverload = _define("statistic", f"Tensor x, {_SCHEMA}", ("out",), run_statistic, _fake, _batched, _setup,
                                _gradient, _tangent)
statistic_backward: OpOverload = _define("statistic_backward", f"Tensor dy, Tensor x, {_SCHEMA}", ("out",),
                                         _backward_kernel, _backward_fake, _backward_batched, _backward_setup,
                                         _backward_gradient, _backward_tangent)
