"""The node tests of ONNX for pooling operators."""

import warnings

import numpy as np
import onnx
import pytest
from onnx.backend.test.case.node import collect_testcases

import bridge

OPERATORS = ("MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "MaxUnpool")
ROUNDED_BY_HAND = ("test_averagepool_2d_ceil_last_window_starts_on_pad",)  # its numbers have four digits
DTYPES = {np.dtype(v): k for k, v in bridge.DTYPES.items()}


def cases():
    found = []
    with warnings.catch_warnings(action="ignore"):  # of ONNX, while it makes the cases of other operators
        everything = collect_testcases(None)
    for case in everything:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS:
            found.append(case)
    return sorted(found, key=lambda case: case.name)


CASES = cases()


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def name_of(operator, a, x):
    dims = x.ndim - 2
    op = {"MaxPool": "max", "AveragePool": "avg", "LpPool": f"lp{a.get('p', 2)}", "GlobalMaxPool": "max",
          "GlobalAveragePool": "avg", "GlobalLpPool": f"lp{a.get('p', 2)}"}[operator]
    head = f"{op}:{DTYPES[x.dtype]}:{'x'.join(map(str, x.shape))}:"
    axes = ":axes" + ",".join(str(i) for i in range(2, x.ndim))
    if operator.startswith("Global"):
        return head + "global" + axes
    text = head + bridge.word("k", a["kernel_shape"]) + bridge.word("s", a.get("strides", [1] * dims))
    text += bridge.word("d", a.get("dilations", [1] * dims))
    auto = a.get("auto_pad", b"NOTSET").decode()
    if auto == "NOTSET":
        pads = a.get("pads", [0] * (2 * dims))
        text += "p" + "x".join(f"{pads[i]}+{pads[i + dims]}" for i in range(dims))
    words = {"SAME_UPPER": ":same", "SAME_LOWER": ":same_lower"}.get(auto, "")
    if a.get("ceil_mode", 0) and not words:
        words += ":ceil"
    if op == "avg" and not a.get("count_include_pad", 0):
        words += ":exclude"
    return text + words + axes


def columns_first(indices, shape):
    """Row-major places of one plane as storage_order 1 counts them."""
    plane = int(np.prod(shape[2:]))
    at = np.unravel_index(indices % plane, shape[2:])
    return indices - indices % plane + np.ravel_multi_index(at, shape[2:], order="F")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node(case):
    node = case.model.graph.node[0]
    a = attributes(node)
    for inputs, outputs in case.data_sets:
        inputs, outputs = [np.asarray(v) for v in inputs], [np.asarray(v) for v in outputs]
        if node.op_type == "MaxUnpool":
            check_unpool(inputs, outputs[0], a)
            continue
        name = name_of(node.op_type, a, inputs[0])
        if len(outputs) == 2:
            y, indices = bridge.forward_indices(name, inputs[0], "tensor")
            if a.get("storage_order", 0) == 1:
                indices = columns_first(indices, inputs[0].shape)
            assert np.array_equal(indices, outputs[1]), name
        else:
            y = bridge.forward(name, inputs[0])
        assert y.shape == outputs[0].shape, (name, y.shape, outputs[0].shape)
        rtol = case.rtol if case.name in ROUNDED_BY_HAND else 1e-6
        np.testing.assert_allclose(y, outputs[0], rtol=rtol, atol=1e-6, err_msg=name)


def check_unpool(inputs, expected, a):
    if len(inputs) == 3:
        # ONNX unpools into the natural shape, with its flat indices, and copies that into the corner of the larger one.
        natural = [int(inputs[0].shape[i + 2] - 1) * s + k
                   for i, (s, k) in enumerate(zip(a.get("strides", [1] * 2), a["kernel_shape"]))]
        assert list(expected.shape[2:]) == list(inputs[2][2:])
    else:
        natural = list(expected.shape[2:])
    shape = list(expected.shape[:2]) + natural
    name = f"max:{DTYPES[inputs[0].dtype]}:{'x'.join(map(str, shape))}:{bridge.word('k', [1] * len(natural))}"
    x = bridge.unpool(name, inputs[0], inputs[1], "tensor")
    got = np.zeros_like(expected)
    got[tuple(slice(0, n) for n in x.shape)] = x
    assert bridge.same(got, expected), name


def test_the_cases_are_there():
    count = {operator: sum(case.model.graph.node[0].op_type == operator for case in CASES) for operator in OPERATORS}
    print(count)
    assert count["MaxPool"] >= 15 and count["AveragePool"] >= 15 and count["LpPool"] >= 5
    assert count["GlobalMaxPool"] >= 2 and count["GlobalAveragePool"] >= 2 and count["MaxUnpool"] >= 2
