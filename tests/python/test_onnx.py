"""oriel.onnx.Backend on other models: every version, random attributes, graphs of several nodes, bad input."""

import subprocess
import sys

import naive
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from random_seeds import seeds

import oriel
import oriel.onnx

Backend = oriel.onnx.Backend
VERSIONS = [(operator, version) for operator, (_, versions) in oriel.onnx._OPERATORS.items() for version in versions]
X = np.random.default_rng(1).standard_normal((2, 3, 7, 8)).astype(np.float32)


def model_of(nodes, inputs, outputs, opset=22, initializers=()):
    """A model whose inputs have the dtypes and shapes of the given arrays, and whose outputs have four axes."""

    def declared(name, array):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    results = [helper.make_tensor_value_info(name, element, [None] * 4) for name, element in outputs]
    graph = helper.make_graph(
        nodes,
        "pools",
        [declared(*item) for item in inputs.items()],
        results,
        [onnx.numpy_helper.from_array(array, name) for name, array in initializers],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def same_padding(auto_pad, n, k, s, d):
    """ONNX: ceil(n / s) outputs, the odd place after the input in SAME_UPPER, before it in SAME_LOWER."""
    total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
    small, large = total // 2, total - total // 2
    return (small, large) if auto_pad == "SAME_UPPER" else (large, small)


def random_node(rng, operator):
    """x, the attributes of a node of opset 22, and the window as loops take it."""
    dims = int(rng.integers(1, 4))
    x = rng.integers(-9, 10, (*rng.integers(1, 3, 2), *rng.integers(3, 8, dims))).astype(np.float32)
    kernel = [int(k) for k in rng.integers(1, 4, dims)]
    attributes = {"kernel_shape": kernel}
    strides, dilations, pads = [1] * dims, [1] * dims, [(0, 0)] * dims
    if rng.random() < 0.7:
        attributes["strides"] = strides = [int(s) for s in rng.integers(1, 4, dims)]
    if rng.random() < 0.5:
        dilations = [int(rng.integers(1, 3)) if n >= 2 * (k - 1) + 1 else 1 for n, k in zip(x.shape[2:], kernel)]
        attributes["dilations"] = dilations
    ceil_mode = bool(rng.random() < 0.4)
    attributes["ceil_mode"] = int(ceil_mode)
    auto_pad = str(rng.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"], p=[0.55, 0.15, 0.15, 0.15]))
    attributes["auto_pad"] = auto_pad
    if auto_pad != "NOTSET":
        ceil_mode = False
    if auto_pad.startswith("SAME"):
        pads = [same_padding(auto_pad, n, k, s, d) for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations)]
    elif auto_pad == "NOTSET" and rng.random() < 0.7:
        # Less than the window's reach, so that every window has a tap.
        pads = [
            (int(rng.integers(0, (k - 1) * d + 1)), int(rng.integers(0, (k - 1) * d + 1)))
            for k, d in zip(kernel, dilations)
        ]
        if any(d > 1 for d in dilations):
            pads = [(0, 0)] * dims
        attributes["pads"] = [lo for lo, _ in pads] + [hi for _, hi in pads]
    window = (tuple(range(2, 2 + dims)), kernel, strides, pads, dilations, ceil_mode)
    return x, attributes, window


@pytest.mark.parametrize("seed", seeds())
def test_random_maximum_pools(seed):
    rng = np.random.default_rng(seed)
    for i in range(40):
        x, attributes, window = random_node(rng, "MaxPool")
        x = x.astype((np.float32, np.float64, np.float16, np.int8, np.uint8)[i % 5])
        attributes["storage_order"] = order = int(rng.integers(0, 2))
        node = helper.make_node("MaxPool", ["x"], ["y", "i"], **attributes)
        y, indices = Backend.run_node(node, [x], opset_version=22)
        expected, places = naive.pool("max", x, *window)
        assert y.dtype == x.dtype and indices.dtype == np.int64
        np.testing.assert_array_equal(y, expected, err_msg=str(attributes))
        plane = int(np.prod(x.shape[2:]))
        at = np.unravel_index(places, x.shape[2:])
        within = np.ravel_multi_index(at, x.shape[2:], order="CF"[order])
        batch = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
        np.testing.assert_array_equal(indices, batch * plane + within, err_msg=str(attributes))
        (alone,) = Backend.run_node(helper.make_node("MaxPool", ["x"], ["y"], **attributes), [x])
        np.testing.assert_array_equal(alone, y)


@pytest.mark.parametrize("seed", seeds())
def test_random_averages_and_norms(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        x, attributes, window = random_node(rng, "AveragePool")
        include = int(rng.integers(0, 2))
        node = helper.make_node("AveragePool", ["x"], ["y"], **attributes, count_include_pad=include)
        (y,) = Backend.run_node(node, [x], opset_version=22)
        expected, _ = naive.pool("avg", x, *window, count_include_pad=bool(include))
        np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6, err_msg=str(attributes))
        p = int(rng.integers(1, 4))
        (y,) = Backend.run_node(helper.make_node("LpPool", ["x"], ["y"], **attributes, p=p), [x], opset_version=22)
        expected, _ = naive.pool("lp", x, *window, norm=p)
        np.testing.assert_allclose(y, expected, rtol=1e-5, err_msg=str(attributes))


def test_every_version_that_onnx_has_is_known():
    for operator, (_, known) in oriel.onnx._OPERATORS.items():
        history = sorted(
            s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == operator and s.domain == ""
        )
        assert list(known) == history


@pytest.mark.parametrize(("operator", "version"), VERSIONS)
def test_every_version(operator, version):
    """The least attributes that a version needs; strides are 1 where they are not given, p is 2."""
    attributes = {} if operator.startswith("Global") else {"kernel_shape": [2, 3]}
    opset = max(version, 1)
    if operator == "MaxUnpool":
        pooled, indices = oriel.max_pool(X, (2, 3), 1, return_indices="tensor", axes=(2, 3))
        model = model_of(
            [helper.make_node(operator, ["x", "i"], ["y"], **attributes)],
            {"x": pooled, "i": indices},
            [("y", TensorProto.FLOAT)],
            opset,
        )
        (y,) = Backend.run_model(model, [pooled, indices])
        np.testing.assert_array_equal(y, oriel.max_unpool(pooled, indices, (2, 3), 1, space="tensor", axes=(2, 3)))
        return
    (y,) = Backend.run_model(
        model_of([helper.make_node(operator, ["x"], ["y"], **attributes)], {"x": X}, [("y", TensorProto.FLOAT)], opset),
        [X],
    )
    op = {"Average": "avg", "Max": "max", "Lp": "lp"}[operator.removeprefix("Global").removesuffix("Pool")]
    kernel = X.shape[2:] if operator.startswith("Global") else (2, 3)
    expected, _ = naive.pool(op, X, (2, 3), kernel, (1, 1), [(0, 0)] * 2)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_the_first_versions():
    """LpPool 1 and GlobalLpPool 1 have a real p, AveragePool 1 no count_include_pad, and LpPool 1 needs no kernel."""
    for operator, attributes, kernel in (
        ("LpPool", {"kernel_shape": [2, 2]}, (2, 2)),
        ("GlobalLpPool", {}, (7, 8)),
        ("LpPool", {}, (7, 8)),
    ):
        node = helper.make_node(operator, ["x"], ["y"], p=2.5, **attributes)
        (y,) = Backend.run_model(model_of([node], {"x": X}, [("y", TensorProto.FLOAT)], 1), [X])
        np.testing.assert_allclose(y, naive.pool("lp", X, (2, 3), kernel, (1, 1), [(0, 0)] * 2, norm=2.5)[0], rtol=1e-5)
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    (y,) = Backend.run_model(model_of([node], {"x": X}, [("y", TensorProto.FLOAT)], 1), [X])
    np.testing.assert_allclose(
        y, naive.pool("avg", X, (2, 3), (3, 3), (1, 1), [(1, 1)] * 2, count_include_pad=False)[0], rtol=1e-5, atol=1e-6
    )
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], count_include_pad=1)
    with pytest.raises(onnx.checker.ValidationError, match="count_include_pad"):
        Backend.prepare(model_of([node], {"x": X}, [("y", TensorProto.FLOAT)], 1))


def test_newer_opsets():
    node = helper.make_node("GlobalMaxPool", ["x"], ["y"])
    newest = onnx.defs.onnx_opset_version()
    (y,) = Backend.run_model(model_of([node], {"x": X}, [("y", TensorProto.FLOAT)], newest), [X])
    np.testing.assert_array_equal(y, X.max((2, 3), keepdims=True))


def test_bfloat16():
    import ml_dtypes

    x = X.astype(ml_dtypes.bfloat16)
    model = model_of(
        [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2])], {"x": x}, [("y", TensorProto.BFLOAT16)]
    )
    (y,) = Backend.run_model(model, [x])
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, oriel.avg_pool2d(x, 2, 1))


def test_without_pooled_axes():
    x = np.array([[1.0, -2.0]], np.float32)
    for operator, expected in (("GlobalMaxPool", x), ("GlobalAveragePool", x), ("GlobalLpPool", np.abs(x))):
        (y,) = Backend.run_node(helper.make_node(operator, ["x"], ["y"]), [x])
        np.testing.assert_array_equal(y, expected)
        assert not np.shares_memory(x, y)


def graph_of_several():
    nodes = [
        helper.make_node("MaxPool", ["x"], ["a", "i"], kernel_shape=[2, 2], strides=[2, 2], name="first"),
        helper.make_node("MaxUnpool", ["a", "i", "shape"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("AveragePool", ["b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        helper.make_node("LpPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2], p=1),
        helper.make_node("GlobalAveragePool", ["d"], ["y"]),
    ]
    x = X[:, :, :6]
    shape = np.array([2, 3, 8, 9])
    outputs = [("y", TensorProto.FLOAT), ("i", TensorProto.INT64), ("b", TensorProto.FLOAT)]
    return model_of(nodes, {"x": x, "shape": shape}, outputs, initializers=[("shape", shape)]), x


def test_a_graph_of_several_nodes():
    model, x = graph_of_several()
    a, i = oriel.max_pool(x, 2, return_indices="tensor", axes=(2, 3))
    b = np.zeros((2, 3, 8, 9), np.float32)
    b[:, :, :6, :8] = oriel.max_unpool(a, i, 2, space="tensor", axes=(2, 3))
    y = oriel.global_avg_pool(oriel.lp_pool2d(oriel.avg_pool2d(b, 3, 1, 1), 1, 2), axes=(2, 3))
    representation = Backend.prepare(model)
    for inputs in ([x], {"x": x}, x):
        results = representation.run(inputs)
        for got, expected in zip(results, (y, i, b)):
            np.testing.assert_array_equal(got, expected)
    assert results._fields == ("y", "i", "b")
    assert results["b"] is results.b
    np.testing.assert_array_equal(Backend.run_model(model, [x]).y, y)
    np.testing.assert_array_equal(oriel.onnx.run_model(model, [x]).y, y)


def test_compatibility_and_devices():
    model, _ = graph_of_several()
    assert Backend.is_compatible(model) and not Backend.is_compatible(model, "CUDA")
    assert Backend.supports_device("CPU") and Backend.supports_device("CPU:0") and not Backend.supports_device("CUDA:0")
    other = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": X}, [("y", TensorProto.FLOAT)])
    assert not Backend.is_compatible(other)
    assert issubclass(Backend, onnx.backend.base.Backend)
    with pytest.raises(ValueError, match="oriel.onnx: device must be CPU, but is CUDA:1"):
        Backend.prepare(model, "CUDA:1")


def test_other_operators_are_named():
    nodes = [helper.make_node("GlobalMaxPool", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"], name="after")]
    with pytest.raises(
        ValueError, match="oriel.onnx: nodes must be AveragePool, .*, MaxUnpool, but one is Relu 'after': this backend "
        "runs graphs of pooling nodes alone, no whole networks$"
    ):
        Backend.prepare(model_of(nodes, {"x": X}, [("y", TensorProto.FLOAT)]))
    with pytest.raises(ValueError, match="but one is Relu: this backend"):
        Backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [X])
    with pytest.raises(ValueError, match="the opset must have MaxUnpool, which came with 9, but is 8"):
        oriel.onnx._version_of(helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2]), 8)


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ([X, X], ValueError, r"inputs must be 1 \(x\), but are 2"),
        ([], ValueError, r"inputs must be 1 \(x\), but are 0"),
        ({"z": X}, ValueError, "inputs must be named x, but are z"),
        ([X.astype(np.float64)], TypeError, "input x must have dtype float32, but has float64"),
        ([X[0]], ValueError, "input x must have shape 2x3x7x8, but has 3x7x8"),
        ([X[:, :, :5]], ValueError, "input x must have shape 2x3x7x8, but has 2x3x5x8"),
    ],
)
def test_wrong_inputs(inputs, error, text):
    model = model_of([helper.make_node("GlobalMaxPool", ["x"], ["y"])], {"x": X}, [("y", TensorProto.FLOAT)])
    with pytest.raises(error, match="oriel.onnx: " + text):
        Backend.run_model(model, inputs)


@pytest.mark.parametrize(
    ("operator", "attributes", "text"),
    [
        ("MaxPool", dict(kernel_shape=[2]), "MaxPool: kernel_shape must have 2 values, but has 1"),
        ("MaxPool", dict(kernel_shape=[2, 2], strides=[1]), "MaxPool: strides must have 2 values, but has 1"),
        ("LpPool", dict(kernel_shape=[2, 2], pads=[1, 1]), "LpPool: pads must have 4 values, but has 2"),
        (
            "AveragePool",
            dict(kernel_shape=[2, 2], pads=[1, 1, 1, 1], auto_pad="SAME_UPPER"),
            "AveragePool: pads must not be given with auto_pad",
        ),
        (
            "AveragePool",
            dict(kernel_shape=[2, 2], auto_pad="FULL"),
            "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, but is FULL",
        ),
        (
            "AveragePool",
            dict(kernel_shape=[2, 2], strides=[0, 1]),
            "AveragePool: avg_pool: stride must be >= 1, but axis 2 has 0",
        ),
        ("MaxPool", dict(kernel_shape=[9, 2]), "MaxPool: max_pool: "),
        ("LpPool", dict(kernel_shape=[2, 2], p=0), "LpPool: lp_pool: "),
    ],
)
def test_wrong_attributes(operator, attributes, text):
    with pytest.raises(ValueError, match=text):
        Backend.run_node(helper.make_node(operator, ["x"], ["y"], **attributes), [X])


def test_wrong_shapes():
    with pytest.raises(
        ValueError, match="GlobalMaxPool: the input must have a batch, channels and pooled axes, but is 5"
    ):
        Backend.run_node(helper.make_node("GlobalMaxPool", ["x"], ["y"]), [np.zeros(5, np.float32)])
    with pytest.raises(ValueError, match="MaxPool: the input must have 3 or more axes, but has shape"):
        Backend.run_node(helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2]), [np.zeros((2, 2), np.float32)])
    node = helper.make_node("MaxUnpool", ["x", "i", "s"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    x, i = oriel.max_pool(X[:, :, :6], 2, return_indices="tensor", axes=(2, 3))
    for shape in ((2, 3, 5, 8), (2, 3, 8), (1, 3, 6, 8)):
        with pytest.raises(
            ValueError,
            match=r"MaxUnpool: output_shape must be at least \(2, 3, 6, 8\), with that batch and those channels",
        ):
            Backend.run_node(node, [x, i, np.array(shape)])
    with pytest.raises(ValueError, match="MaxUnpool: .*unpool: indices must be"):
        Backend.run_node(node, [x, i + 10**6])
    sparse = helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2])
    with pytest.raises(ValueError, match="MaxUnpool: kernel_shape must have 2 values, but has 1"):
        Backend.run_node(sparse, [x, i])


def test_unpooling_with_pads():
    """Pads take places away from the natural shape, as the padded pool had them."""
    x, i = oriel.max_pool(X, 3, 2, 1, return_indices="tensor", axes=(2, 3))
    node = helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 0])
    (y,) = Backend.run_node(node, [x, i])
    assert y.shape == X.shape
    np.testing.assert_array_equal(y[y != 0], X[y != 0])
    assert set(y[y != 0]) == set(x.ravel())


@pytest.mark.parametrize(
    ("fake", "text"),
    [
        ("sys.modules['onnx'] = None", "oriel.onnx needs the package onnx, 1.16 or newer, but none is installed"),
        (
            "sys.modules['onnx'] = types.SimpleNamespace(__version__='1.9.0')",
            "oriel.onnx needs the package onnx, 1.16 or newer, but 1.9.0 is installed",
        ),
    ],
)
def test_missing_and_old_onnx(fake, text):
    program = f"import sys, types; {fake}\ntry:\n    import oriel.onnx\nexcept ImportError as error:\n    print(error)"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
        == text
    )
