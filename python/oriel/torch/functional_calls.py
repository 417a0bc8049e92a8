"""The pools that a model computes with functions in its `forward`, as far as `torch.fx` can trace it."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import fx, nn

from oriel.torch import fractional, modules, run, statistic_calls, statistic_modules
from oriel.torch.arguments import function_name

__all__ = ["find_functional_pools"]

_POOL = re.compile(r"_?((adaptive_)?(max|avg)_pool|lp_pool|fractional_max_pool|max_unpool)[123]d(_with_indices)?")
_OVER_AXES = {"mean", "amax", "amin"}  # pools everything where it takes two axes and more
_RUNNERS = (run.pool, run.pool_with_indices, run.unpool)  # what functions of oriel.torch are in a graph
# They, and what is derived from them, are reported as layers.
_LAYERS = tuple({getattr(of, name) for names in (modules, fractional, statistic_modules) for name in names.__all__
                 for of in (names, nn) if isinstance(getattr(of, name, None), type)})
_CONTAINERS = (nn.ModuleList, nn.ModuleDict)  # have no forward


class _Tracer(fx.Tracer):
    proxy_buffer_attributes = True  # what a forward does to a buffer is recorded, not done

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, (*_LAYERS, torch.jit.ScriptModule)) or super().is_leaf_module(m, module_qualified_name)


def _shell(model: nn.Module) -> nn.Module:
    """A copy that shares parameters and buffers, and has no hooks: tracing it is not noticed by the model."""
    tensors = [*model.parameters(), *model.buffers()]
    shell = copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
    for module in shell.modules():
        for hooks in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"):
            getattr(module, hooks).clear()
    return shell


def _pooled_axes(node: fx.Node) -> int:
    axes = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else None)
    return len(axes) if isinstance(axes, (tuple, list)) else 0


def _pool_of_torch(node: fx.Node) -> str | None:
    """What a node calls, if that pools and is PyTorch's."""
    if node.op == "call_method":
        return f"Tensor.{node.target}" if node.target in _OVER_AXES and _pooled_axes(node) > 1 else None
    if node.op != "call_function" or node.target in _RUNNERS:
        return None
    name = getattr(node.target, "__name__", "")
    if found := _POOL.fullmatch(name):
        return found[0].removeprefix("_").removesuffix("_with_indices")
    return f"torch.{name}" if name in _OVER_AXES and _pooled_axes(node) > 1 else None


def _pool_of_oriel(node: fx.Node) -> str | None:
    """What a node calls, if that pools and is Oriel's."""
    if node.op != "call_function":
        return None
    arguments: tuple[Any, ...] = node.args
    if node.target is statistic_calls.pool_windows:
        return f"oriel.torch.{function_name(arguments[1], arguments[8])}"
    if node.target is fractional.fractional_windows:
        return f"oriel.torch.fractional_max_pool{arguments[-1]}d"
    if node.target not in _RUNNERS:
        return None
    return "oriel.torch." + ("max_unpool" if node.target is run.unpool else function_name(arguments[1], arguments[-1]))


def _owner(path: str, node: fx.Node) -> str:
    """The path of the module whose forward has the call."""
    inner = list((node.meta.get("nn_module_stack") or {}).values())
    below = inner[-1][0] if inner and isinstance(inner[-1], tuple) else ""
    return ".".join(part for part in (path, below) if part)


def _look(path: str, module: nn.Module, name_of: Callable[[fx.Node], str | None], found: list[tuple[str, str]],
          blind: list[tuple[str, str]]) -> None:
    if _Tracer().is_leaf_module(module, path):
        return
    try:
        nodes = _Tracer().trace(module).nodes
    except Exception as error:  # whatever the model's own code does with what is not a tensor
        if type(module) not in _CONTAINERS:
            blind.append((path, (str(error).strip().splitlines() or [type(error).__name__])[0]))
        for name, child in module.named_children():
            _look(f"{path}.{name}" if path else name, child, name_of, found, blind)
        return
    found += [(_owner(path, node), name) for node in nodes if (name := name_of(node)) is not None]


def find_functional_pools(model: nn.Module, ours: bool = False) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(path, function) of each call of a pooling function of PyTorch, or of Oriel if `ours`, and (path, reason) of each
    module whose `forward` could not be traced; its children are searched one by one. The model is not changed, and its
    hooks are not called.
    """
    found: list[tuple[str, str]] = []
    blind: list[tuple[str, str]] = []
    try:
        shell = _shell(model)
    except Exception as error:
        return found, [("", f"the model cannot be copied: {error}")]
    with torch.random.fork_rng(devices=[]):
        _look("", shell, _pool_of_oriel if ours else _pool_of_torch, found, blind)
    return found, blind
