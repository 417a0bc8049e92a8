"""PyTorch's own samples of its pools, and calls that must fail: OpInfo for functions, ModuleInfo for modules."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db, wrapper_set_seed
from torch.testing._internal.common_modules import module_db

import oriel
import oriel.torch

SEED = 1
POOLS = [info for info in op_db if "pool" in info.name]
MODULES = [info for info in module_db if "Pool" in info.name]
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
NARROW = (torch.float16, torch.bfloat16)

Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """One call: `theirs` is PyTorch's function, `ours` what stands in its place."""

    operator: str
    theirs: Function
    ours: Function
    x: torch.Tensor
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def on(self, x: torch.Tensor) -> Case:
        return replace(self, x=x)

    @property
    def kind(self) -> str:
        """What comparison the results bear: max, avg, lp, unpool."""
        word = self.operator.lower()
        return "unpool" if "unpool" in word else "max" if "max" in word else "lp" if word.startswith("lp") else "avg"

    @property
    def differentiable(self) -> bool:
        """Not where the operator is a gradient already: its derivative with respect to x is 0."""
        return self.x.dtype in FLOATS and not self.operator.endswith("backward")

    @property
    def ndim(self) -> int:
        """Number of pooled axes."""
        return int(next(character for character in self.operator if character.isdigit()))

    def __str__(self) -> str:
        def word(value: Any) -> str:
            return f"Tensor{tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)

        arguments = [*map(word, self.args), *(f"{name}={word(value)}" for name, value in self.kwargs.items())]
        return f"{str(self.x.dtype)[6:]}{list(self.x.shape)} strides {list(self.x.stride())} ({', '.join(arguments)})"


def operator_name(info: Any) -> str:
    """`max_unpool2d`, or `max_unpool2d (grad)` for a variant."""
    name = info.name.removeprefix("nn.functional.")
    return f"{name} ({info.variant_test_name})" if info.variant_test_name else name


def find_infos(pattern: str) -> list[Any]:
    """The operators whose names contain the pattern."""
    return [info for info in POOLS if pattern in operator_name(info)]


def dtypes_of(info: Any) -> list[torch.dtype]:
    return sorted(info.supported_dtypes("cpu"), key=str)


def group_of(dtype: torch.dtype) -> str:
    if dtype in NARROW:
        return "float16, bfloat16"
    return "float64, float32" if dtype in FLOATS else "integers"


def max_pool2d_backward(
    x: torch.Tensor,
    *,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> torch.Tensor:
    """What the samples of max_pool2d_with_indices_backward call: the gradient for ones, at the pool's indices."""
    pool = {
        "kernel_size": kernel_size,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "ceil_mode": ceil_mode,
    }
    y, indices = oriel.torch.max_pool2d(x, return_indices=True, **pool)
    return oriel.max_pool_backward(torch.ones_like(y), x.detach(), indices=indices, axes=(-2, -1), **pool)


def oriel_function(name: str) -> Function:
    """Oriel's function in the place of the operator of that name."""
    name = name.partition(" ")[0]
    if name.startswith("fractional"):  # PyTorch's samples call its function so, with windows from one seed
        return partial(wrapper_set_seed, getattr(oriel.torch, name))
    return max_pool2d_backward if name == "max_pool2d_with_indices_backward" else getattr(oriel.torch, name)


def oriel_module(name: str) -> Function:
    """Oriel's class in the place of the module of that name."""
    return getattr(oriel.torch, name)


def sow(seed: int) -> None:
    """Make what PyTorch generates reproducible."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def operator_cases(
    info: Any, dtype: torch.dtype, offered: Callable[[str], Function] = oriel_function, seed: int = SEED
) -> Iterator[Case]:
    """Every sample of an operator for a dtype."""
    sow(seed)
    name = operator_name(info)
    for sample in list(info.sample_inputs("cpu", dtype, requires_grad=False)):
        yield Case(name, info.op, offered(name), sample.input, tuple(sample.args), dict(sample.kwargs))


def operator_errors(
    info: Any, offered: Callable[[str], Function] = oriel_function, seed: int = SEED
) -> Iterator[tuple[Case, str]]:
    """Every call that must fail, and PyTorch's words (a regular expression) for why."""
    if info.error_inputs_func is None:
        return
    sow(seed)
    name = operator_name(info)
    for error in list(info.error_inputs("cpu")):
        sample = error.sample_input
        yield Case(
            name, info.op, offered(name), sample.input, tuple(sample.args), dict(sample.kwargs)
        ), error.error_regex


@dataclass(frozen=True)
class ModuleCase:
    """One construction of a module, in training or not, and the call of it."""

    theirs: torch.nn.Module
    ours: torch.nn.Module
    case: Case


def module_name(info: Any) -> str:
    return info.name.removeprefix("nn.")


def _built(info: Any, offered: Callable[[str], Function], item: Any, training: bool) -> ModuleCase:
    name, how, call = module_name(info), item.constructor_input, item.forward_input
    x, *args = call.args
    theirs = info.module_cls(*how.args, **how.kwargs).train(training).to(x.dtype)  # samples of windows, too
    ours = offered(name)(*how.args, **how.kwargs).train(training).to(x.dtype)
    return ModuleCase(theirs, ours, Case(name, theirs, ours, x, tuple(args), dict(call.kwargs)))


def module_cases(
    info: Any, dtype: torch.dtype, offered: Callable[[str], Function] = oriel_module, seed: int = SEED
) -> Iterator[ModuleCase]:
    """Every sample of a module for a dtype."""
    for training in (True, False):
        sow(seed)
        for item in info.module_inputs_func(info, "cpu", dtype, False, training):
            yield _built(info, offered, item, training)


def module_errors(
    info: Any, offered: Callable[[str], Function] = oriel_module, seed: int = SEED
) -> Iterator[tuple[Case, str]]:
    """Every call of a module that must fail, and PyTorch's words for why; keyword arguments are the constructor's."""
    if info.module_error_inputs_func is None:
        return
    sow(seed)
    name = module_name(info)
    for error in info.module_error_inputs_func(info, "cpu", torch.float32, False, True):
        how, call = error.module_error_input.constructor_input, error.module_error_input.forward_input
        constructor = dict(inspect.signature(info.module_cls).bind(*how.args, **how.kwargs).arguments)
        x, *args = call.args
        yield Case(
            name, _construct_and_call(info.module_cls), _construct_and_call(offered(name)), x, tuple(args), constructor
        ), error.error_regex


def _construct_and_call(module: Function) -> Function:
    return lambda x, *args, **constructor: module(**constructor)(x, *args)
