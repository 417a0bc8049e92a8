"""The operators of the namespace `oriel`: schemas, kernels for the CPU and CUDA, kernels for fake tensors, gradients,
batching rules, and variants that write into tensors (`oriel::pool.out` …), which ExecuTorch needs.

    oriel::pool(Tensor x, WINDOWS) -> Tensor
    oriel::pool_with_indices(Tensor x, WINDOWS) -> (Tensor, Tensor)
    oriel::pool_backward(Tensor dy, Tensor? x, SymInt[] input_size, bool channels_last, WINDOWS) -> Tensor
    oriel::pool_with_codes(Tensor x, WINDOWS) -> (Tensor, Tensor)
    oriel::pool_codes_backward(Tensor dy, Tensor codes, SymInt[] input_size, bool channels_last, WINDOWS) -> Tensor
    oriel::unpool(Tensor y, Tensor indices, SymInt[] output_size, int[] axes) -> Tensor

WINDOWS is `WINDOWS_SCHEMA`. Axes count from the end, so a batching rule moves the mapped axis to the front and calls
the operator again. No operator has a rule for autocast: each works in the dtype that its tensors have.

Where stored codes of taps (uint8, S10) make a maximum and its gradient faster together, `pool` of a tensor that requires
a gradient is `pool_with_codes`, also in the graphs of `torch.compile`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch._ops import OpOverload
from torch.autograd import Function, forward_ad

from oriel import _core
from oriel.torch import engine, gradients
from oriel.torch.arguments import PADDED, WINDOWS_SCHEMA, core_pool, output_shape

__all__ = ["pool", "pool_backward", "pool_codes_backward", "pool_with_codes", "pool_with_indices", "unpool"]

_library = torch.library.Library("oriel", "DEF")
_stubless: Any = torch._C
_transform_level = _stubless._functorch.maybe_current_level  # of torch.func, None if there is none
_TAGS = (torch.Tag.pt2_compliant_tag,)
_FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# -- Kernels


def _pool_kernel(x: Tensor, *arguments: Any) -> Tensor:
    return engine.forward(core_pool(*arguments), x)


def _pool_with_indices_kernel(x: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    return engine.forward_indices(core_pool(*arguments), x)


def _pool_backward_kernel(dy: Tensor, x: Tensor | None, input_size: Sequence[int], channels_last: bool, *arguments:
                          Any) -> Tensor:
    out = engine.result_unlike(dy, input_size, channels_last) if x is None else None
    return engine.backward(core_pool(*arguments), dy, x, input_size, out)


def _pool_with_codes_kernel(x: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    return engine.forward_all_codes(core_pool(*arguments), x)


def _pool_codes_backward_kernel(dy: Tensor, codes: Tensor, input_size: Sequence[int], channels_last: bool, *arguments:
                                Any) -> Tensor:
    out = engine.result_unlike(dy, input_size, channels_last)
    return engine.backward_all_codes(core_pool(*arguments), dy, codes, input_size, out)


def _unpool_kernel(y: Tensor, indices: Tensor, output_size: Sequence[int], axes: Sequence[int]) -> Tensor:
    return engine.unpool(y, indices, output_size, axes)


def _written(results: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
    for result, out in zip(results, outs, strict=True):
        if out.shape != result.shape:
            out.resize_(result.shape)  # as variants of PyTorch's operators do
        out.copy_(result)


def _out_kernel(kernel: Any) -> Any:
    """The kernel of an operator's variant that writes into the tensors which its keywords name."""

    def kernel_out(*arguments: Any, **outs: Tensor) -> Any:
        results = kernel(*arguments)
        tensors = tuple(outs.values())
        _written(results if isinstance(results, tuple) else (results,), tensors)
        return tensors if isinstance(results, tuple) else tensors[0]

    return kernel_out


# -- Fake kernels: shape, dtype and strides of what the kernels return


def _empty(like: Tensor, shape: Sequence[Any], channels_last: bool, dtype: torch.dtype | None = None) -> Tensor:
    return torch.empty(shape, dtype=dtype or like.dtype, device=like.device,
                       memory_format=engine.memory_format(channels_last, len(shape)))


def _pool_fake(x: Tensor, *arguments: Any) -> Tensor:
    return _empty(x, output_shape(x.shape, *arguments), engine.is_channels_last(x))


def _pool_with_indices_fake(x: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    shape, channels_last = output_shape(x.shape, *arguments), engine.is_channels_last(x)
    return _empty(x, shape, channels_last), _empty(x, shape, channels_last, torch.int64)


def _pool_backward_fake(dy: Tensor, x: Tensor | None, input_size: Sequence[Any], channels_last: bool, *arguments:
                        Any) -> Tensor:
    if x is not None:
        return _empty(x, x.shape, engine.is_channels_last(x))
    return _empty(dy, input_size, channels_last)


def _pool_with_codes_fake(x: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    shape, channels_last = output_shape(x.shape, *arguments), engine.is_channels_last(x)
    return _empty(x, shape, channels_last), _empty(x, shape, channels_last, torch.uint8)


def _pool_codes_backward_fake(dy: Tensor, codes: Tensor, input_size: Sequence[Any], channels_last: bool, *arguments:
                              Any) -> Tensor:
    return _empty(dy, input_size, channels_last)


def _unpool_fake(y: Tensor, indices: Tensor, output_size: Sequence[Any], axes: Sequence[int]) -> Tensor:
    return _empty(y, output_size, engine.is_channels_last(y))


# -- Batching rules


def _to_front(tensor: Tensor | None, mapped: int | None, batch: int) -> Tensor | None:
    """The tensor with the mapped axis first; one that is not mapped is repeated."""
    if tensor is None:
        return None
    return tensor.movedim(mapped, 0) if mapped is not None else tensor.unsqueeze(0).expand(batch, *tensor.shape)


def _pool_batched(info: Any, mapped: tuple[Any, ...], x: Tensor, *arguments: Any) -> tuple[Tensor, int]:
    return pool(x.movedim(mapped[0], 0), *arguments), 0


def _pool_with_indices_batched(info: Any, mapped: tuple[Any, ...], x: Tensor, *arguments:
                               Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    return pool_with_indices(x.movedim(mapped[0], 0), *arguments), (0, 0)


def _pool_backward_batched(info: Any, mapped: tuple[Any, ...], dy: Tensor, x: Tensor | None, input_size: Sequence[int],
                           channels_last: bool, *arguments: Any) -> tuple[Tensor, int]:
    batch = info.batch_size
    dx = pool_backward(_to_front(dy, mapped[0], batch), _to_front(x, mapped[1], batch), [batch, *input_size], False,
                       *arguments)
    return dx, 0


def _pool_with_codes_batched(info: Any, mapped: tuple[Any, ...], x: Tensor, *arguments:
                             Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    return pool_with_codes(x.movedim(mapped[0], 0), *arguments), (0, 0)


def _pool_codes_backward_batched(info: Any, mapped: tuple[Any, ...], dy: Tensor, codes: Tensor, input_size:
                                 Sequence[int], channels_last: bool, *arguments: Any) -> tuple[Tensor, int]:
    batch = info.batch_size
    dx = pool_codes_backward(_to_front(dy, mapped[0], batch), _to_front(codes, mapped[1], batch), [batch, *input_size],
                             False, *arguments)
    return dx, 0


def _unpool_batched(info: Any, mapped: tuple[Any, ...], y: Tensor, indices: Tensor, output_size: Sequence[int],
                    axes: Sequence[int]) -> tuple[Tensor, int]:
    batch = info.batch_size
    return unpool(_to_front(y, mapped[0], batch), _to_front(indices, mapped[1], batch), [batch, *output_size], axes), 0


# -- Derivatives


def _codes_pay(x: Tensor, op: str, axes: Sequence[int], *arguments: Any) -> bool:
    """Whether a maximum of `x` and its gradient are faster together by codes, as far as that is known: not where sizes
    are symbolic or a transform is active."""
    if op not in ("max", "min") or _transform_level() is not None:
        return False
    if x.device.type != "cpu" or x.dtype not in _FLOATING or arguments[6] != PADDED or list(axes) != sorted(axes):
        return False
    numbers = (*x.shape, *(value for values in arguments[:5] for value in values))
    if not all(isinstance(n, int) for n in numbers):
        return False
    if not x.is_contiguous():
        if not engine.is_channels_last(x) or min(axes) < 2 - x.dim():
            return False
        x, axes = x.movedim(1, -1), [axis - 1 for axis in axes]  # as it lies in memory
        if not x.is_contiguous():
            return False
    return _core.codes_pay(core_pool(op, axes, *arguments).words, x.shape, str(x.dtype).removeprefix("torch."))


def _autograd_kernel(operator: Any, setup: Any, gradient: Any, tangent: Any) -> Any:
    """The kernel for the key Autograd: an `autograd.Function` around what lies below it.

    `torch.library.register_autograd` would make one without forward mode (a tangent is lost without a word) and without
    `torch.func.grad`.
    """
    def below(keyset: Any, arguments: tuple[Any, ...]) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return operator.redispatch(keyset & torch._C._after_autograd_keyset, *arguments)

    class Derivative(Function):
        @staticmethod
        def forward(ctx: Any, keyset: Any, *arguments: Any) -> Any:
            if _transform_level() is None:
                result = below(keyset, arguments)
            else:  # below lies the next transform, which differentiates, too
                with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                    result = below(keyset, arguments)
            setup(ctx, arguments, result)
            return result

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return None, *gradient(ctx, *gradients)

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            with forward_ad._set_fwd_grad_enabled(True):  # for the next transform below
                return tangent(ctx, *tangents)

    Derivative.__name__ = f"oriel_{operator._opname}"
    # Not Function.apply: that one refuses where a transform is active, which is the rule in a kernel below
    # torch.func.grad.
    above: Any = super(Function, Derivative)
    apply = above.apply

    def kernel(keyset: Any, *arguments: Any) -> Any:
        wanted = torch.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in arguments[:2])
        if not wanted and forward_ad._current_level < 0:
            return below(keyset, arguments)
        if operator is pool and forward_ad._current_level < 0 and _codes_pay(*arguments):
            return pool_with_codes(*arguments)[0]
        with enable_single_level_autograd_function():
            return apply(keyset, *arguments)

    return kernel


def on_cuda(kernel: Any) -> Any:
    """The kernel for tensors on a CUDA device: that device is the current one while the call is put on its stream."""

    def kernel_on_cuda(x: Tensor, *arguments: Any) -> Any:
        if not _core.has_cuda():
            raise ValueError(f"oriel.torch: tensors must be on the CPU, but one is on {x.device}: this build of oriel "
                             "runs on the CPU only (`python -m oriel.docs cuda` says how to build the rest)")
        with torch.cuda.device(x.device):
            return kernel(x, *arguments)

    return kernel_on_cuda


def _define(name: str, parameters: str, results: tuple[str, ...], kernel: Any, fake: Any, batched: Any, setup: Any,
            gradient: Any, tangent: Any) -> OpOverload:
    """Register an operator with tensors of those names as results, and its variant that writes into such tensors; the
    overload that makes new ones, which is what to call."""
    made = "Tensor" if len(results) == 1 else f"({', '.join(['Tensor'] * len(results))})"
    _library.define(f"{name}({parameters}) -> {made}", tags=_TAGS)
    _define_out(name, parameters, results, kernel, fake)
    operator = getattr(torch.ops.oriel, name).default
    _library.impl(name, kernel, "CPU")
    _library.impl(name, on_cuda(kernel), "CUDA")
    _library.impl(name, _autograd_kernel(operator, setup, gradient, tangent), "Autograd", with_keyset=True)
    torch.library.register_fake(f"oriel::{name}", fake, lib=_library)
    torch.library.register_vmap(f"oriel::{name}", batched, lib=_library)
    return operator


def _define_out(name: str, parameters: str, results: tuple[str, ...], kernel: Any, fake: Any) -> None:
    written = [f"Tensor({letter}!)" for letter in "ab"[:len(results)]]
    outs = ", ".join(f"{kind} {result}" for kind, result in zip(written, results))
    made = written[0] if len(results) == 1 else f"({', '.join(written)})"
    _library.define(f"{name}.out({parameters}, *, {outs}) -> {made}", tags=_TAGS)
    _library.impl(f"{name}.out", _out_kernel(kernel), "CPU")
    _library.impl(f"{name}.out", _out_kernel(on_cuda(kernel)), "CUDA")
    _library.impl(f"{name}.out", _out_kernel(fake), "Meta")


pool: OpOverload = _define("pool", f"Tensor x, {WINDOWS_SCHEMA}", ("out",), _pool_kernel, _pool_fake, _pool_batched,
               gradients.pool_setup, gradients.pool_gradient, gradients.pool_tangent)
pool_with_indices: OpOverload = _define("pool_with_indices", f"Tensor x, {WINDOWS_SCHEMA}", ("out", "indices"),
                            _pool_with_indices_kernel, _pool_with_indices_fake, _pool_with_indices_batched,
                            gradients.pool_with_indices_setup, gradients.pool_with_indices_gradient,
                            gradients.pool_with_indices_tangent)
pool_backward: OpOverload = _define("pool_backward",
                        f"Tensor dy, Tensor? x, SymInt[] input_size, bool channels_last, {WINDOWS_SCHEMA}", ("out",),
                        _pool_backward_kernel, _pool_backward_fake, _pool_backward_batched,
                        gradients.pool_backward_setup, gradients.pool_backward_gradient,
                        gradients.pool_backward_tangent)
pool_with_codes: OpOverload = _define("pool_with_codes", f"Tensor x, {WINDOWS_SCHEMA}", ("out", "codes"),
                          _pool_with_codes_kernel, _pool_with_codes_fake, _pool_with_codes_batched,
                          gradients.pool_with_codes_setup, gradients.pool_with_codes_gradient,
                          gradients.pool_with_codes_tangent)
pool_codes_backward: OpOverload = _define("pool_codes_backward",
                              f"Tensor dy, Tensor codes, SymInt[] input_size, bool channels_last, {WINDOWS_SCHEMA}",
                              ("out",), _pool_codes_backward_kernel, _pool_codes_backward_fake,
                              _pool_codes_backward_batched, gradients.pool_codes_backward_setup,
                              gradients.pool_codes_backward_gradient, gradients.pool_codes_backward_tangent)
unpool: OpOverload = _define("unpool", "Tensor y, Tensor indices, SymInt[] output_size, int[] axes", ("out",),
                             _unpool_kernel, _unpool_fake, _unpool_batched, gradients.unpool_setup,
                             gradients.unpool_gradient, gradients.unpool_tangent)
