"""How a call runs: directly on a plain CPU tensor, through the registered operator otherwise.

The dispatcher and `torch.library` cost some 10 us per call. A plain call (an ordinary tensor in CPU memory, nothing
that compiles, traces, maps or watches) needs none of it: without gradients the engine is called, with gradients an
`autograd.Function` whose derivative is the operator's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad
from torch.nn import Parameter
from torch.overrides import handle_torch_function, has_torch_function

from oriel import _core
from oriel.torch import aten, engine, gradients, operators
from oriel.torch.arguments import function_name, operator_arguments, with_axes

__all__ = ["pool", "pool_with_indices", "unpool"]

_Pool = _core.Pool
_is_compiling = torch.compiler.is_dynamo_compiling  # other ways to compile trace under a mode, which is asked for
_torch: Any = torch._C  # which has more than its stub
_transform_level = _torch._functorch.maybe_current_level
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_is_traced = torch._C._is_tracing
_is_grad_enabled = torch.is_grad_enabled
_is_profiled = _torch._autograd._profiler_enabled
_dispatch_keys = torch._C._dispatch_keys
_CPU = torch._C.DispatchKey.CPU

# Answers for plain calls what is_plain asks, and runs them: 1 us less, with a gradient more.
_eager = _core.EagerPool((Tensor, Parameter),
                         (_transform_level, _dispatch_modes, _function_modes, _is_traced, _is_profiled),
                         forward_ad.__dict__, "_current_level", torch.get_num_threads, _is_grad_enabled)


def is_plain(x: Any) -> bool:
    """Whether a call on `x` may bypass the dispatcher: nothing that acts through it is active."""
    return (not _is_compiling() and (type(x) is Tensor or type(x) is Parameter) and x.is_cpu and
            _transform_level() is None and not _dispatch_modes() and not _function_modes() and not _is_traced() and
            forward_ad._current_level < 0)


def _gradient(ctx: Any, dy: Tensor) -> Tensor:
    # is_grads_batched=True maps in a way of its own, which shows in the tensor's keys alone
    if is_plain(dy) and not _is_grad_enabled() and _dispatch_keys(dy).has(_CPU):
        if kept := ctx.saved_tensors:
            if len(kept) == 2:
                return engine.backward_codes(ctx.core, dy, kept[1], kept[0])
            return engine.backward(ctx.core, dy, kept[0], None)
        out = None
        if ctx.channels_last or not dy.is_contiguous():
            out = engine.result_unlike(dy, ctx.input_shape, ctx.channels_last)
        return engine.backward(ctx.core, dy, None, ctx.input_shape, out)
    ctx.arguments = operator_arguments(dy.dim(), *ctx.pool)
    return gradients.pool_gradient(ctx, dy)[0]


class _PoolFunction(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, made: tuple[Tensor, Tensor | None, _core.Pool], pool: tuple[Any, ...]) -> Tensor:
        """`made`: what was computed, values, codes or None, and by what: a tuple, in which no tensor is an input."""
        y, codes, ctx.core = made
        ctx.pool = pool
        if codes is None:
            gradients.keep_input(ctx, x, pool[0], pool[11])
        else:
            ctx.save_for_backward(x, codes)  # x is kept beside codes for gradients of gradients
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        return _gradient(ctx, dy), None, None


class _PoolWithIndicesFunction(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, core: _core.Pool, pool: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        gradients.keep_input(ctx, x, pool[0], pool[11])
        ctx.core = core
        ctx.pool = pool
        y, indices = engine.forward_indices(core, x)
        ctx.mark_non_differentiable(indices)
        ctx.set_materialize_grads(False)
        return y, indices

    @staticmethod
    def backward(ctx: Any, dy: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
        return None if dy is None else _gradient(ctx, dy), None, None


class _UnpoolFunction(Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, indices: Tensor, shape: Sequence[int], axes: Sequence[int]) -> Tensor:
        ctx.save_for_backward(indices)
        ctx.axes = axes
        return engine.unpool(y, indices, shape, axes)

    @staticmethod
    def backward(ctx: Any, dx: Tensor) -> tuple[Tensor | None, ...]:
        return gradients.unpool_places(dx, ctx.saved_tensors[0], ctx.axes), None, None, None


def _apply_of(function: type[Function]) -> Any:
    above: Any = super(Function, function)
    return above.apply


# Function.apply would look for transforms, which is_plain has excluded: 2.5 us.
_apply_pool = _apply_of(_PoolFunction)
_apply_pool_with_indices = _apply_of(_PoolWithIndicesFunction)
_apply_unpool = _apply_of(_UnpoolFunction)


def check_tensor(function: str, argument: str, x: Any) -> None:
    """Throws TypeError unless `x` is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{function}: {argument} must be a torch.Tensor, but is {type(x).__name__}")


def _call(operator: Any, *arguments: Any) -> Any:
    """The operator's result; what `torch.onnx.export` watches is made of operators that it knows."""
    if torch.onnx.is_in_onnx_export():
        return aten.translate(operator, arguments)
    return operator(*arguments)


def pool(x: Tensor, *pool_arguments: Any) -> Tensor:
    """The pool of `x`; the other arguments are those of `oriel._core.Pool`."""
    if pool_arguments[6] is None and not pool_arguments[12]:
        pool_arguments = with_axes(x, pool_arguments)
    if not _is_compiling() and (y := _eager(x, *pool_arguments)) is not NotImplemented:
        return _apply_pool(x, y, pool_arguments) if type(y) is tuple else y
    if is_plain(x):
        core = _Pool(*pool_arguments)
        if x.requires_grad and _is_grad_enabled():  # of a call that the profiler watches
            return _apply_pool(x, (*engine.forward_codes(core, x.detach()), core), pool_arguments)
        if not _is_profiled():  # it records what goes through the dispatcher, by name
            return engine.forward(core, x)
    if has_torch_function((x,)):
        return handle_torch_function(pool, (x,), x, *pool_arguments)
    check_tensor(function_name(pool_arguments[0], pool_arguments[-1]), "input", x)
    return _call(operators.pool, x, *operator_arguments(x.dim(), *pool_arguments))


def pool_with_indices(x: Tensor, *pool_arguments: Any) -> tuple[Tensor, Tensor]:
    """The pool of `x`, and int64 indices in the plane of the pooled axes."""
    if pool_arguments[6] is None and not pool_arguments[12]:
        pool_arguments = with_axes(x, pool_arguments)
    if is_plain(x):
        core = _Pool(*pool_arguments)
        if x.requires_grad and _is_grad_enabled():
            return _apply_pool_with_indices(x, core, pool_arguments)
        if not _is_profiled():
            return engine.forward_indices(core, x)
    if has_torch_function((x,)):
        return handle_torch_function(pool_with_indices, (x,), x, *pool_arguments)
    check_tensor(function_name(pool_arguments[0], pool_arguments[-1]), "input", x)
    return _call(operators.pool_with_indices, x, *operator_arguments(x.dim(), *pool_arguments))


def unpool(y: Tensor, indices: Tensor, shape: Sequence[int], axes: Sequence[int]) -> Tensor:
    """Zeros of that shape with each element of `y` put at its index in the plane of the axes."""
    if is_plain(y) and is_plain(indices):
        if y.requires_grad and _is_grad_enabled():
            return _apply_unpool(y, indices, shape, axes)
        if not _is_profiled():
            return engine.unpool(y, indices, shape, axes)
    if has_torch_function((y, indices)):
        return handle_torch_function(unpool, (y, indices), y, indices, shape, axes)
    check_tensor("max_unpool", "input", y)
    check_tensor("max_unpool", "indices", indices)
    return _call(operators.unpool, y, indices, list(shape), list(axes))
