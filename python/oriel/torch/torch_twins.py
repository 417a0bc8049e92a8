"""A layer of Oriel as the same layer of `torch.nn`."""

from __future__ import annotations

from typing import Any

from torch import nn

__all__ = ["torch_attributes"]

_BEYOND_TORCH = {"nan_policy": "propagate", "dilation": 1, "divisor_override": None, "padding": 0}


def _per_axis(value: Any, ndim: int) -> list[int]:
    return list(value) * (ndim if len(value) == 1 else 1) if isinstance(value, (tuple, list)) else [value] * ndim


def _torch_padding(layer: Any) -> Any:
    """The padding as an argument of `torch.nn`, or why there is none."""
    padding: Any = layer.padding
    ndim = layer._ndim
    dilation = _per_axis(getattr(layer, "dilation", 1), ndim)
    kernel = _per_axis(layer.kernel_size, ndim)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if isinstance(padding, str):
        if padding.lower() == "valid":
            return 0
        stride = _per_axis(layer.kernel_size if layer.stride is None else layer.stride, ndim)
        if any(s != 1 or span % 2 == 0 for s, span in zip(stride, spans)):
            return f"torch.nn has no padding={padding!r}, which depends on the size of the input"
        padding = tuple((span - 1) // 2 for span in spans)
    if isinstance(padding, (tuple, list)) and any(isinstance(pair, (tuple, list)) for pair in padding):
        if any(before != after for before, after in padding):
            return f"torch.nn pads both sides alike, but padding is {padding!r}"
        padding = tuple(before for before, _ in padding)
    if any(2 * p > k for p, k in zip(_per_axis(padding, ndim), kernel)):
        return f"torch.nn pads by half a window at most, but padding is {layer.padding!r}"
    return padding


def torch_attributes(layer: nn.Module) -> dict[str, Any] | str:
    """The attributes of the layer of `torch.nn` that computes the same as a layer of Oriel of that name, or why there
    is none."""
    attributes = dict(layer.__dict__)
    attributes.pop("_operator", None)  # of torch.jit.script
    template = vars(_example(type(layer).__name__))
    nan_policy = getattr(layer, "nan_policy", "propagate")
    if nan_policy != "propagate":
        return f"torch.nn has no nan_policy={nan_policy!r}"
    if "padding" in template and not type(layer).__name__.startswith("MaxUnpool"):
        padding = _torch_padding(layer)
        if isinstance(padding, str):
            return padding
        attributes["padding"] = padding
    for name, default in _BEYOND_TORCH.items():
        if name in template or not hasattr(layer, name):
            continue
        value = getattr(layer, name)
        if set(value if isinstance(value, (tuple, list)) else [value]) != {default}:
            return f"torch.nn.{type(layer).__name__} has no {name}, but it is {value!r}"
        attributes.pop(name, None)
    return attributes


def _example(name: str) -> nn.Module:
    """Any layer of that name, for the attributes that it has."""
    return getattr(nn, name)(2, 2) if name.startswith(("LPPool", "FractionalMaxPool")) else getattr(nn, name)(2)
