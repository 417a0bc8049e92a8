"""Swapping the pooling layers of an existing model."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from oriel.torch import modules

__all__ = ["PoolingReport", "replace_pooling"]

_TWINS = {getattr(nn, name): getattr(modules, name) for name in modules.__all__ if hasattr(nn, name)}
_WITHOUT_TWIN = {
    nn.FractionalMaxPool2d: "windows at random places are not pooling with a fixed step",
    nn.FractionalMaxPool3d: "windows at random places are not pooling with a fixed step",
}
_OURS = tuple(getattr(modules, name) for name in modules.__all__)


@dataclass
class PoolingReport:
    """What `replace_pooling` did; printed, it is a list."""

    #: The model; another object than was given where that is itself a pooling layer, or `inplace` is False.
    model: nn.Module
    #: Path, old layer, new layer of each that was swapped.
    swapped: list[tuple[str, str, str]] = field(default_factory=list)
    #: Path, layer, reason of each pooling layer that was not.
    left: list[tuple[str, str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{len(self.swapped)} pooling layers swapped, {len(self.left)} left"]
        lines += [f"  {path}: {old} -> {new}" for path, old, new in self.swapped]
        lines += [f"  {path}: {layer} left: {why}" for path, layer, why in self.left]
        return "\n".join(lines)


def _reason_to_leave(module: nn.Module) -> str | None:
    """Why a layer of the kind that pools is not swapped; None for one that is no pooling layer or is swapped."""
    kind = type(module)
    if kind in _WITHOUT_TWIN:
        return _WITHOUT_TWIN[kind]
    if kind in (nn.LPPool1d, nn.LPPool2d, nn.LPPool3d):
        if module.ceil_mode:
            return "in ceil mode torch scales partial windows up, Oriel does not"
        if module.norm_type % 2 != 0:
            return "for this norm_type torch sums x^p, Oriel |x|^p"
        return None
    if kind in _TWINS or isinstance(module, _OURS):
        return None
    for base in (*_TWINS, *_WITHOUT_TWIN):
        if isinstance(module, base):
            return f"a subclass of torch.nn.{base.__name__}, which may compute something else"
    if getattr(module, "original_name", "") in {twin.__name__ for twin in _TWINS}:
        return "compiled by torch.jit"
    return None


def _twin(module: nn.Module) -> nn.Module:
    """Oriel's layer in place of `module`: the same attributes, training flag and hooks, whose handles keep working."""
    new = _TWINS[type(module)].__new__(_TWINS[type(module)])
    new.__dict__ = dict(module.__dict__)
    return new


def replace_pooling(model: nn.Module, *, inplace: bool = True) -> PoolingReport:
    """Swap the pooling layers of `torch.nn` in a model for those of Oriel, at any depth.

    A layer that the model uses in several places stays one layer; attributes, the training flag and hooks are kept.
    Left alone, and listed, are subclasses of pooling layers, fractional pooling, and Lp layers for which PyTorch
    computes something else. Layers already swapped are skipped. Pooling by a function within a `forward`
    (`torch.nn.functional.max_pool2d`, `x.mean(…)`) cannot be found.

    Parameters
    ----------
    model : torch.nn.Module
        The model. Parameters, buffers and the keys of its state_dict do not change.
    inplace : bool
        Whether to change `model` itself, or a deep copy.

    Returns
    -------
    PoolingReport
        `report.model` is the model; printed, the report lists what was swapped and what was left.

    Raises
    ------
    TypeError
        If `model` is no module.

    Examples
    --------
    >>> from torch import nn
    >>> import oriel.torch
    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.FractionalMaxPool2d(2, output_ratio=0.5))
    >>> print(oriel.torch.replace_pooling(model))
    1 pooling layers swapped, 1 left
      1: torch.nn.MaxPool2d -> oriel.torch.MaxPool2d
      2: FractionalMaxPool2d left: windows at random places are not pooling with a fixed step
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"replace_pooling: model must be a torch.nn.Module, but is {type(model).__name__}")
    if not inplace:
        model = copy.deepcopy(model)
    report = PoolingReport(model)
    twins: dict[nn.Module, nn.Module] = {}

    def replacement(path: str, module: nn.Module) -> Any:
        why = _reason_to_leave(module)
        if why is not None:
            report.left.append((path, type(module).__name__, why))
        elif type(module) in _TWINS:
            if module not in twins:
                twins[module] = _twin(module)
            name = type(module).__name__
            report.swapped.append((path, f"torch.nn.{name}", f"oriel.torch.{name}"))
            return twins[module]
        return module

    report.model = replacement("", model)
    for path, parent in list(model.named_modules()):
        for name, child in list(parent._modules.items()):  # named_children would skip a layer's second place
            if child is None:
                continue
            new = replacement(f"{path}.{name}" if path else name, child)
            if new is not child:
                parent.register_module(name, new)
    return report
