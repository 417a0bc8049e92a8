"""A backend for ONNX models that consist of pooling operators.

`oriel.onnx.Backend` is a subclass of `onnx.backend.base.Backend`: `prepare`, `run_model` and `run_node` work as in
every backend. It runs AveragePool, MaxPool, LpPool, GlobalAveragePool, GlobalMaxPool, GlobalLpPool and MaxUnpool of
every version of ONNX, one or many of them in a graph. It is not a runtime for networks: another node (Conv, Relu …) is
an error that names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.array_types import Op, Padding

_OLDEST = (1, 16)

try:
    import onnx
except ImportError as _error:
    raise ImportError("oriel.onnx needs the package onnx, 1.16 or newer, but none is installed") from _error
if tuple(int(part) for part in onnx.__version__.split(".")[:2]) < _OLDEST:
    raise ImportError(f"oriel.onnx needs the package onnx, 1.16 or newer, but {onnx.__version__} is installed")

import onnx.backend.base
import onnx.checker
import onnx.defs
import onnx.helper
import onnx.numpy_helper

__all__ = ["Backend", "BackendRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


# In the order of the graph, by name, or a single one.
Inputs = ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike]


class BackendRep(onnx.backend.base.BackendRep):
    """A model that is ready to run. `Backend.prepare` makes it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self._opset = _opset_of(model)
        self._nodes = list(graph.node)
        for node in self._nodes:
            _version_of(node, self._opset)
        if graph.sparse_initializer:
            raise ValueError("oriel.onnx: sparse initializers are not supported, but the graph has some")
        self._constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self._inputs = [value for value in graph.input if value.name not in self._constants]
        self._outputs = [value.name for value in graph.output]

    def run(self, inputs: Inputs, **kwargs: object) -> tuple[NDArray[Any], ...]:
        """The model's outputs.

        Parameters
        ----------
        inputs : sequence of array, mapping from names to arrays, or array
            The graph's inputs, except those that the model itself has values for.

        Returns
        -------
        tuple of numpy.ndarray
            With the names of the outputs.

        Raises
        ------
        ValueError, TypeError
            For inputs other than those that the graph declares, and for arguments that a node does not support.
        """
        values: dict[str, NDArray[Any]] = {**self._constants, **self._named(inputs)}
        for node in self._nodes:
            arguments = [values[name] if name else None for name in node.input]
            for name, result in zip(node.output, _run(node, arguments, self._opset)):
                if name:
                    values[name] = result
        return _named_outputs(self._outputs, [values[name] for name in self._outputs])

    def _named(self, inputs: Any) -> dict[str, NDArray[Any]]:
        """The inputs by their names, checked against what the graph declares."""
        names = [value.name for value in self._inputs]
        if isinstance(inputs, Mapping):
            if set(inputs) != set(names):
                raise ValueError(
                    f"oriel.onnx: inputs must be named {', '.join(names)}, but are {', '.join(map(str, inputs))}"
                )
            given = [inputs[name] for name in names]
        else:
            given = [inputs] if hasattr(inputs, "shape") and len(names) == 1 else list(inputs)
            if len(given) != len(names):
                raise ValueError(f"oriel.onnx: inputs must be {len(names)} ({', '.join(names)}), but are {len(given)}")
        arrays = {}
        for value, x in zip(self._inputs, given):
            x = arrays[value.name] = np.asarray(x)
            tensor = value.type.tensor_type
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            if x.dtype != dtype:
                raise TypeError(f"oriel.onnx: input {value.name} must have dtype {dtype}, but has {x.dtype}")
            if tensor.HasField("shape"):
                declared = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
                if len(declared) != x.ndim or any(d not in (None, n) for d, n in zip(declared, x.shape)):
                    shape = "x".join("?" if d is None else str(d) for d in declared)
                    raise ValueError(
                        f"oriel.onnx: input {value.name} must have shape {shape}, but has {'x'.join(map(str, x.shape))}"
                    )
        return arrays


class Backend(onnx.backend.base.Backend):
    """Runs ONNX models whose nodes are pooling operators, on the CPU.

    Examples
    --------
    >>> import numpy as np
    >>> import onnx
    >>> import oriel.onnx
    >>> node = onnx.helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2], strides=[2])
    >>> oriel.onnx.Backend.run_node(node, [np.array([[[1, 4, 3, 2]]], np.float32)])
    Outputs(y=array([[[4., 3.]]], dtype=float32), i=array([[[1, 2]]]))
    """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is the CPU."""
        return device.partition(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: object) -> bool:
        """Whether `prepare` accepts the model."""
        if not cls.supports_device(device):
            return False
        try:
            BackendRep(model)
        except ValueError:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: object) -> BackendRep:
        """The model, checked and ready to run.

        Raises
        ------
        ValueError
            For a node that is not a pooling operator, whose name is in the text, and for a device other than the CPU.
        onnx.checker.ValidationError
            For an invalid model.
        """
        _check_device(cls, device)
        super().prepare(model, device, **kwargs)
        return BackendRep(model)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Inputs,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[NDArray[Any], ...]:
        """The outputs of one node; `opset_version` selects the version of the operator, by default the newest."""
        _check_device(cls, device)
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        given: Any = inputs
        if isinstance(inputs, Mapping):
            given = [inputs[name] if name else None for name in node.input]
        elif hasattr(inputs, "shape"):
            given = [inputs]
        arguments = [None if x is None else np.asarray(x) for x in given]
        opset = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        return _named_outputs(list(node.output), _run(node, arguments, opset))


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
is_compatible = Backend.is_compatible


def _check_device(backend: type[Backend], device: str) -> None:
    if not backend.supports_device(device):
        raise ValueError(f"oriel.onnx: device must be CPU, but is {device}")


def _named_outputs(names: Sequence[str], values: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    return onnx.backend.base.namedtupledict("Outputs", names)(*values)


def _opset_of(model: onnx.ModelProto) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    return versions[0] if versions else 1  # models from before opsets were imported are of the first


def _label(node: onnx.NodeProto) -> str:
    domain = f"{node.domain}." if node.domain not in ("", "ai.onnx") else ""
    return f"{domain}{node.op_type} {node.name!r}" if node.name else f"{domain}{node.op_type}"


def _version_of(node: onnx.NodeProto, opset: int) -> int:
    """The version of the node's operator, one of those in _OPERATORS."""
    if node.domain not in ("", "ai.onnx") or node.op_type not in _OPERATORS:
        raise ValueError(
            f"oriel.onnx: nodes must be {', '.join(_OPERATORS)}, but one is {_label(node)}: this backend runs graphs "
            "of pooling nodes alone, no whole networks"
        )
    known = _OPERATORS[node.op_type][1]
    try:
        version = onnx.defs.get_schema(node.op_type, opset, "").since_version
    except onnx.defs.SchemaError:
        raise ValueError(
            f"oriel.onnx: the opset must have {node.op_type}, which came with {known[0]}, but is {opset}"
        ) from None
    if version not in known:
        raise ValueError(
            f"oriel.onnx: {node.op_type} must be of version {', '.join(map(str, known))}, "
            f"but opset {opset} has {version}"
        )
    return version


def _run(node: onnx.NodeProto, inputs: Sequence[NDArray[Any] | None], opset: int) -> tuple[Any, ...]:
    version = _version_of(node, opset)
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    function = _OPERATORS[node.op_type][0]
    x = inputs[0] if inputs else None
    if x is None or x.ndim < 2:
        shape = "nothing" if x is None else "x".join(map(str, x.shape)) or "a scalar"
        raise ValueError(f"{_label(node)}: the input must have a batch, channels and pooled axes, but is {shape}")
    try:
        return function(node, version, attributes, *inputs)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{_label(node)}: {error}") from error


def _list(attributes: dict[str, Any], name: str, count: int, default: int | None) -> list[int]:
    """A list attribute of `count` values; `default` for each if it is absent."""
    values = list(attributes.get(name, ())) or ([default] * count if default is not None else [])
    if len(values) != count:
        raise ValueError(f"{name} must have {count} values, but has {len(values)}")
    return values


def _pool_of(
    op: Op, x: NDArray[Any], attributes: dict[str, Any], count_include_pad: bool = True, norm: float | None = None
) -> _core.Pool:
    """The pool of a node with windows. AveragePool excludes padding from the divisor by default."""
    dims = x.ndim - 2
    if dims == 0:
        raise ValueError(f"the input must have 3 or more axes, but has shape {x.shape}")
    kernel = _list(attributes, "kernel_shape", dims, None)
    strides = _list(attributes, "strides", dims, 1)
    dilations = _list(attributes, "dilations", dims, 1)
    auto_pad = attributes.get("auto_pad", b"NOTSET").decode()
    ceil_mode = bool(attributes.get("ceil_mode", 0))
    if auto_pad == "NOTSET":
        pads = _list(attributes, "pads", 2 * dims, 0)
        padding: Padding = [(pads[i], pads[i + dims]) for i in range(dims)]
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        if any(attributes.get("pads", ())):
            raise ValueError(f"pads must not be given with auto_pad, but auto_pad is {auto_pad}")
        padding = "valid" if auto_pad == "VALID" else "same" if auto_pad == "SAME_UPPER" else "same_lower"
        # ONNX gives the sizes of these as ceil((n - span + 1) / s) and ceil(n / s), in ceil mode or not: whole windows
        # only.
        ceil_mode = False
    else:
        raise ValueError(f"auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, but is {auto_pad}")
    return _core.Pool(
        op, kernel, strides, padding, dilations, None, list(range(2, x.ndim)), ceil_mode, count_include_pad, None, norm
    )


def _average_pool(
    node: onnx.NodeProto, version: int, attributes: dict[str, Any], x: NDArray[Any]
) -> tuple[NDArray[Any]]:
    return (_core.forward(_pool_of("avg", x, attributes, bool(attributes.get("count_include_pad", 0))), x, None),)


def _lp_pool(node: onnx.NodeProto, version: int, attributes: dict[str, Any], x: NDArray[Any]) -> tuple[NDArray[Any]]:
    if (
        version == 1 and "kernel_shape" not in attributes
    ):  # optional there, and its meaning not said: the only window that needs no size
        return _global_pool(node, version, attributes, x)
    return (_core.forward(_pool_of("lp", x, attributes, norm=float(attributes.get("p", 2))), x, None),)


def _max_pool(
    node: onnx.NodeProto, version: int, attributes: dict[str, Any], x: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    pool = _pool_of("max", x, attributes)
    if len(node.output) < 2 or not node.output[1]:
        return (_core.forward(pool, x, None),)
    y, indices = _core.forward_indices(pool, x, "tensor", None)
    if attributes.get("storage_order", 0) == 1:
        indices = _columns_first(indices, x.shape)
    return y, indices


def _columns_first(indices: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Flat row-major indices as storage_order 1 counts them: the first pooled axis fastest within each plane."""
    plane = math.prod(shape[2:])
    absent = indices < 0  # windows without a tap have index -1
    within = np.where(absent, 0, indices % plane)
    places = np.unravel_index(within, shape[2:])
    return np.where(absent, indices, indices - within + np.ravel_multi_index(places, shape[2:], order="F"))


def _global_pool(
    node: onnx.NodeProto, version: int, attributes: dict[str, Any], x: NDArray[Any]
) -> tuple[NDArray[Any]]:
    ops: dict[str, Op] = {"GlobalMaxPool": "max", "GlobalAveragePool": "avg"}
    op = ops.get(node.op_type, "lp")
    norm = float(attributes.get("p", 2)) if op == "lp" else None
    if x.ndim == 2:  # each channel has one value; only the absolute value of an Lp norm changes it
        return (np.abs(x) if op == "lp" else x.copy(),)
    pool = _core.Pool(op, None, None, 0, 1, None, list(range(2, x.ndim)), False, True, None, norm)
    return (_core.forward(pool, x, None),)


def _max_unpool(
    node: onnx.NodeProto,
    version: int,
    attributes: dict[str, Any],
    x: NDArray[Any],
    indices: NDArray[Any],
    output_shape: NDArray[Any] | None = None,
) -> tuple[NDArray[Any]]:
    """Indices count the natural shape, the least that the windows need; it is the corner of a larger `output_shape`."""
    dims = x.ndim - 2
    if dims == 0:
        raise ValueError(f"the input must have 3 or more axes, but has shape {x.shape}")
    kernel, strides = _list(attributes, "kernel_shape", dims, None), _list(attributes, "strides", dims, 1)
    pads = _list(attributes, "pads", 2 * dims, 0)
    sizes = [
        (n - 1) * s + k - pads[i] - pads[i + dims] for i, (n, s, k) in enumerate(zip(x.shape[2:], strides, kernel))
    ]
    natural = (*x.shape[:2], *sizes)
    axes = list(range(2, x.ndim))
    if output_shape is None:
        return (_core.unpool(x, indices, "tensor", axes, natural, None),)
    shape = tuple(int(n) for n in output_shape)
    if len(shape) != x.ndim or shape[:2] != x.shape[:2] or any(n < least for n, least in zip(shape, natural)):
        raise ValueError(f"output_shape must be at least {natural}, with that batch and those channels, but is {shape}")
    y = np.zeros(shape, x.dtype)
    _core.unpool(x, indices, "tensor", axes, natural, y[tuple(slice(0, n) for n in natural)])
    return (y,)


# Each operator: its function, and the versions of it that the function knows. `onnx.checker` refuses attributes that a
# version lacks.
_OPERATORS: dict[str, tuple[Callable[..., tuple[Any, ...]], tuple[int, ...]]] = {
    "AveragePool": (_average_pool, (1, 7, 10, 11, 19, 22)),
    "MaxPool": (_max_pool, (1, 8, 10, 11, 12, 22)),
    "LpPool": (_lp_pool, (1, 2, 11, 18, 22)),
    "GlobalAveragePool": (_global_pool, (1, 22)),
    "GlobalMaxPool": (_global_pool, (1, 22)),
    "GlobalLpPool": (_global_pool, (1, 2, 22)),
    "MaxUnpool": (_max_unpool, (9, 11, 22)),
}
