"""bench/gpu.py but for the device: names, shapes, errors, the page. Its C functions are those of the emulated backend."""

import ctypes
import os
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import gpu


@pytest.fixture(scope="module")
def bridge():
    return gpu.Bridge(os.environ["ORIEL_BRIDGE"])


def test_every_problem_of_the_suite_is_understood(bridge):
    suite = gpu.read_suite()
    assert sorted(gpu.by_turns(suite)) == sorted(suite) and len(suite) > 200
    known = 0
    for _, name in suite:
        problem = bridge.describe(name)
        if problem["dtype"] in gpu.KINDS:
            larger = bridge.describe(gpu.enlarged(name, problem))
            assert larger["shape"][1:] == problem["shape"][1:] and larger["shape"][0] >= problem["shape"][0]
        known += gpu.torch_function(problem) is not None
    assert known > 150


@pytest.mark.parametrize("name", ["max:f32:2x3x9x8:k3x3s2p1", "avg:f32:2x3x9x8:k3x3s2p1:ceil:exclude",
                                  "max:f32:2x8x8x3:k2:axes1,2"])
def test_pytorch_has_the_shape(bridge, name):
    problem = bridge.describe(name)
    x = gpu.batched(problem, torch.randn(problem["shape"]))
    assert gpu.makes_shape(problem, gpu.torch_function(problem), x)


def test_padding_at_one_end_is_not_pytorchs(bridge):
    problem = bridge.describe("max:f32:2x3x8x8:k3x3s1p1+0")
    assert not gpu.makes_shape(problem, gpu.torch_function(problem), torch.randn(2, 3, 8, 8))


def test_errors_reach_python(bridge):
    with pytest.raises(ValueError, match="dtype must be one of"):
        bridge.describe("max:f3:8:k2")
    x, error = torch.randn(1, 1, 4, 4), ctypes.create_string_buffer(500)
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, torch.zeros(1, 1, 2, 2))]
    assert bridge.library.oriel_cuda_forward(b"max:f32:1x1x4x4:k2x2", *pointers, None, None, error, len(error)) == 1
    assert b"max_pool: x must point to device memory" in error.value


def test_the_comparison_can_fail():
    problem = {"op": "max", "dtype": "f32", "backward": False}
    gpu.compare("same", problem, torch.ones(3), torch.ones(3))
    with pytest.raises(AssertionError, match="other: differs from PyTorch by"):
        gpu.compare("other", problem, torch.ones(3), torch.tensor([1, 1, 1 + 1e-6]))


def test_tables():
    row = gpu.Row("memory", "max:f32:8:k2")
    row.seconds = {"copy": 1.0, "Oriel": 1.25, "PyTorch": 2.5}
    assert gpu.table([row])[2] == "| `max:f32:8:k2` | 80% | 2.00x |  |  |  |"
    assert gpu.medians([row]) == [("memory", 0.8, {"PyTorch": 2.0})]
