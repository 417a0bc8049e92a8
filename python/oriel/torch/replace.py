"""Replacing the pooling layers of an existing model, and replacing them back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from oriel.torch import fractional, modules, statistic_modules
from oriel.torch.functional_calls import find_functional_pools
from oriel.torch.torch_twins import torch_attributes

__all__ = ["PoolingReport", "replace_pooling"]

_OURS = tuple(getattr(of, name) for of in (modules, fractional, statistic_modules) for name in of.__all__
              if isinstance(getattr(of, name), type))
_TWINS = {getattr(nn, kind.__name__): kind for kind in _OURS if hasattr(nn, kind.__name__)}
# Where the classes are of layers that hand on tensors in forms of their own; those below `_PLAIN` take ordinary ones.
_OTHER_TENSORS = {
    "torch.ao.nn.quantized": "quantized",
    "torch.ao.nn.intrinsic.quantized": "quantized",
    "torch.ao.quantization.stubs": "quantized",
    "torch.utils.mkldnn": "mkldnn",
}
_PLAIN = ("torch.ao.nn.quantized.dynamic", "torch.ao.nn.quantized.reference", "torch.ao.nn.intrinsic.quantized.dynamic")


@dataclass
class PoolingReport:
    """The result of `replace_pooling`; print it for a list of the layers."""

    #: The model; another object than was given if that is itself a pooling layer, or `inplace` is False.
    model: nn.Module
    #: Path, old layer, new layer of each that was swapped.
    swapped: list[tuple[str, str, str]] = field(default_factory=list)
    #: Path, layer, reason of each pooling layer that was not.
    left: list[tuple[str, str, str]] = field(default_factory=list)
    #: Path of a module, and a pooling function that its `forward` calls, which stays what it is.
    functions: list[tuple[str, str]] = field(default_factory=list)
    #: Path of a module, and why its `forward` could not be searched for such functions.
    untraced: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        count = len(self.swapped)
        lines = [f"{count} pooling layer{'' if count == 1 else 's'} swapped, {len(self.left)} left"]
        lines += [f"  {path}: {old} -> {new}" for path, old, new in self.swapped]
        lines += [f"  {path}: {layer} left: {why}" for path, layer, why in self.left]
        lines += [f"  {path or 'the model'}: calls {function}, which was not swapped" for path, function in
                  self.functions]
        lines += [f"  {path or 'the model'}: not searched for pooling functions: {why}" for path, why in self.untraced]
        return "\n".join(lines)


def _lp_reason(module: Any) -> str | None:
    """Why an Lp layer of one library is none of the other's."""
    if module.ceil_mode:
        return "in ceil mode torch scales partial windows up, Oriel does not"
    if module.norm_type % 2 != 0:
        return "for this norm_type torch sums x^p, Oriel |x|^p"
    return None


def _reason_to_leave(module: nn.Module) -> str | None:
    """Why a layer of the kind that pools is not swapped; None for one that is no pooling layer or is swapped."""
    kind = type(module)
    if kind in (nn.LPPool1d, nn.LPPool2d, nn.LPPool3d):
        return _lp_reason(module)
    if kind in _TWINS or isinstance(module, _OURS):
        return None
    for base in _TWINS:
        if isinstance(module, base):
            return f"a subclass of torch.nn.{base.__name__}, which may compute something else"
    if getattr(module, "original_name", "") in {twin.__name__ for twin in _TWINS}:
        return "compiled by torch.jit"
    return None


def _other_tensors(module: nn.Module, path: str = "") -> str | None:
    """Why no layer of a model is swapped: its layers hand on tensors that Oriel does not take."""
    where = type(module).__module__
    if where.startswith(_PLAIN):
        return None  # whatever it has within
    for package, word in _OTHER_TENSORS.items():
        if f"{where}.".startswith(f"{package}."):
            return f"the model has {word} layers ({path or type(module).__name__}), whose tensors Oriel does not take"
    reasons = (_other_tensors(child, f"{path}.{name}" if path else name) for name, child in module.named_children())
    return next(filter(None, reasons), None)


def _made_like(module: nn.Module, kind: type[nn.Module], attributes: dict[str, Any]) -> nn.Module:
    """The layer that replaces `module`, with its training flag and hooks, whose handles still work."""
    new = kind.__new__(kind)
    new.__dict__ = attributes
    return new


def _to_oriel(model: nn.Module) -> Callable[[nn.Module], nn.Module | str | None]:
    """What takes a layer's place; why there is nothing; None for one that is no matter of pooling."""
    why_none = _other_tensors(model)

    def swap(module: nn.Module) -> nn.Module | str | None:
        why = _reason_to_leave(module)
        if why is not None:
            return why_none or why
        if type(module) not in _TWINS:
            return None
        return why_none or _made_like(module, _TWINS[type(module)], dict(module.__dict__))

    return swap


def _to_torch(module: nn.Module) -> nn.Module | str | None:
    if not isinstance(module, _OURS):
        return None
    if type(module) not in _OURS:
        return f"a subclass of oriel.torch.{next(b for b in type(module).__mro__ if b in _OURS).__name__}, which may " \
               "compute something else"
    name = type(module).__name__
    if not hasattr(nn, name):
        return f"torch.nn has no {name}"
    if name.startswith("LPPool") and (why := _lp_reason(module)):
        return why
    attributes = torch_attributes(module)
    return attributes if isinstance(attributes, str) else _made_like(module, getattr(nn, name), attributes)


def _path_name(module: nn.Module) -> str:
    return ("oriel.torch." if isinstance(module, _OURS) else "torch.nn.") + type(module).__name__


def replace_pooling(model: nn.Module, *, inplace: bool = True, back: bool = False) -> PoolingReport:
    """Replace the pooling layers of `torch.nn` in a model by those of Oriel, at any depth, or the reverse.

    A layer that the model uses several times remains one layer; attributes, the training flag and hooks are kept. Not
    replaced, but listed, are subclasses of pooling layers, Lp layers for which PyTorch computes something else, and all
    layers of a model with quantized or mkldnn layers, whose tensors Oriel does not support. Layers that were replaced
    before are skipped.

    Pooling functions called in a `forward` (`torch.nn.functional.max_pool2d`, `x.mean((2, 3))`) are not replaced. The
    report lists such calls if `torch.fx` can trace the `forward`, and the modules that it cannot trace.

    Parameters
    ----------
    model : torch.nn.Module
        The model. Parameters, buffers and the keys of its state_dict do not change.
    inplace : bool
        Whether to change `model` itself, or a deep copy.
    back : bool
        Whether to replace layers of Oriel by those of `torch.nn`. Not replaced, but listed, are those that `torch.nn`
        cannot express: minima, sums, medians and other statistics, dilated averages, `nan_policy="omit"`, uneven or
        large padding.

    Returns
    -------
    PoolingReport
        `report.model` is the model; print the report for the lists of layers that were replaced and left.

    Raises
    ------
    TypeError
        If `model` is not a module.

    Examples
    --------
    >>> from torch import nn
    >>> import oriel.torch
    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.LPPool2d(3, 2))
    >>> print(oriel.torch.replace_pooling(model))
    1 pooling layer swapped, 1 left
      1: torch.nn.MaxPool2d -> oriel.torch.MaxPool2d
      2: LPPool2d left: for this norm_type torch sums x^p, Oriel |x|^p
    >>> print(oriel.torch.replace_pooling(model, back=True))
    1 pooling layer swapped, 0 left
      1: oriel.torch.MaxPool2d -> torch.nn.MaxPool2d
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"replace_pooling: model must be a torch.nn.Module, but is {type(model).__name__}")
    if not inplace:
        model = copy.deepcopy(model)
    report = PoolingReport(model)
    swap = _to_torch if back else _to_oriel(model)
    made: dict[nn.Module, nn.Module | str | None] = {}

    def replacement(path: str, module: nn.Module) -> nn.Module:
        if module not in made:
            made[module] = swap(module)
        new = made[module]
        if isinstance(new, str):
            report.left.append((path, type(module).__name__, new))
        elif new is not None:
            report.swapped.append((path, _path_name(module), _path_name(new)))
            return new
        return module

    report.model = replacement("", model)
    for path, parent in list(model.named_modules()):
        for name, child in list(parent._modules.items()):  # named_children would skip a layer's second place
            if child is None:
                continue
            new = replacement(f"{path}.{name}" if path else name, child)
            if new is not child:
                parent.register_module(name, new)
    report.functions, report.untraced = find_functional_pools(report.model, ours=back)
    return report
