"""The onnx package's own backend tests, every one whose graph consists of pooling operators."""

import inspect
import os
import re
import warnings

import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

import oriel.onnx

OPERATORS = {"AveragePool", "MaxPool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "MaxUnpool"}
# onnx asks for 1e-3; all but one of its tests have numbers that were computed, and agree to 1e-6.
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
WRITTEN_WITH_FOUR_DIGITS = "test_averagepool_2d_ceil_last_window_starts_on_pad"
KINDS = ("node", "real", "simple", "pytorch-converted", "pytorch-operator")


def model_of(case):
    """The test's model, or None where it would have to be downloaded."""
    if case.model is not None:
        return case.model
    if case.model_dir is not None:
        return onnx.load(os.path.join(case.model_dir, "model.onnx"))
    path = os.path.join(os.path.dirname(onnx.__file__), (case.url or "").removeprefix("onnx/"))
    return onnx.load(path, load_external_data=False) if os.path.exists(path) else None


def pooling_tests():
    """Names of the tests of pooling operators, found by what is in their graphs, by kind."""
    found = {}
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            model = model_of(case)
            assert model is not None, f"{case.name} has no model here, so nobody knows whether it pools"
            types = {node.op_type for node in model.graph.node}
            if types and types <= OPERATORS:
                found[case.name] = types
    return found


def test_classes():
    """The unittest classes of onnx, without the thousands of tests of other operators and devices."""
    tolerances = {name: CLOSE for name in FOUND if name != WRITTEN_WITH_FOUR_DIGITS}
    backend_test = onnx.backend.test.BackendTest(oriel.onnx.Backend, __name__, tolerances)
    for name in FOUND:
        backend_test.include(f"^{re.escape(name)}_cpu$")
    classes = {}
    for name, case in backend_test.test_cases.items():
        for test, function in inspect.getmembers(case, inspect.isfunction):
            if (
                test.startswith("test_")
                and getattr(function, "__unittest_skip_why__", "") == "no matched include pattern"
            ):
                delattr(case, test)
        if any(test.startswith("test_") for test in dir(case)):
            classes[name] = case
    return classes


test_classes.__test__ = False
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # onnx's own, while it makes the cases of other operators
    import onnx.backend.test

    FOUND = pooling_tests()
    CLASSES = test_classes()
globals().update(CLASSES)


def test_all_of_them_are_run():
    run = [test for case in CLASSES.values() for test in dir(case) if test.startswith("test_")]
    assert sorted(run) == sorted(f"{name}_cpu" for name in FOUND)
    for case in CLASSES.values():
        for test in dir(case):
            assert not getattr(getattr(case, test), "__unittest_skip__", False), test


@pytest.mark.parametrize(
    ("operator", "least"),
    [
        ("AveragePool", 25),
        ("MaxPool", 25),
        ("LpPool", 8),
        ("GlobalMaxPool", 2),
        ("GlobalAveragePool", 2),
        ("MaxUnpool", 2),
    ],
)
def test_the_cases_are_there(operator, least):
    assert sum(operator in types for types in FOUND.values()) >= least
