"""The Python package over the emulated backend: arrays of a stand-in for CuPy go in, arrays of its kind come out, on its
stream. ORIEL_EMULATED_CORE names the module. The real CuPy is in tests/python/test_cupy.py."""

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]
import stand_in


def load_core():
    """Puts the module with the emulated backend in the place of the package's own."""
    path = os.environ["ORIEL_EMULATED_CORE"]
    spec = importlib.util.spec_from_file_location("oriel._core", path)
    sys.modules["oriel._core"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["oriel._core"])
    library = ctypes.CDLL(path)
    for name, result, words in (
        ("allocate", ctypes.c_void_p, [ctypes.c_size_t]),
        ("free", None, [ctypes.c_void_p]),
        ("copy", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]),
        ("stream", ctypes.c_void_p, []),
        ("failure", ctypes.c_char_p, []),
        ("move", None, [ctypes.c_void_p, ctypes.c_int]),
    ):
        function = getattr(library, f"emulated_{name}")
        function.restype, function.argtypes = result, words
    stand_in.library = library


load_core()
import oriel  # noqa: E402


@pytest.fixture(autouse=True)
def clean():
    stand_in.current_stream = 1
    stand_in.asked_streams.clear()
    yield
    assert stand_in.library.emulated_failure() is None


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((2, 3, 9, 16)).astype(np.float32)


def test_the_backend_is_there():
    assert oriel._core.has_cuda()


def test_values_and_kind(x):
    for pool in (lambda a: oriel.max_pool(a, 3, stride=2, padding=1, axes=(2, 3)), lambda a: oriel.avg_pool(a, (2, 2), axes=(2, 3)),
                 lambda a: oriel.sum_pool(a, 2, axes=(0, 3))):  # fmt: skip
        y = pool(stand_in.asarray(x))
        assert type(y) is stand_in.Array
        np.testing.assert_array_equal(y.numpy(), pool(x))


def test_indices(x):
    y, indices = oriel.max_pool(stand_in.asarray(x), 3, stride=2, return_indices=True, axes=(2, 3))
    expected_y, expected_indices = oriel.max_pool(x, 3, stride=2, return_indices=True, axes=(2, 3))
    np.testing.assert_array_equal(y.numpy(), expected_y)
    np.testing.assert_array_equal(indices.numpy(), expected_indices)
    assert indices.dtype == np.int64


def test_results_lie_in_memory_as_inputs_do(x):
    y = oriel.max_pool(stand_in.asarray(x, order=(0, 2, 3, 1)), 2, axes=(2, 3))
    assert y.steps == (4 * 8 * 3, 1, 8 * 3, 3)
    np.testing.assert_array_equal(y.numpy(), oriel.max_pool(x, 2, axes=(2, 3)))


def test_gradients(x):
    dy = np.ones((2, 3, 4, 8), np.float32)
    dx = oriel.max_pool_backward(stand_in.asarray(dy), stand_in.asarray(x), 2, axes=(2, 3))
    np.testing.assert_array_equal(dx.numpy(), oriel.max_pool_backward(dy, x, 2, axes=(2, 3)))


@pytest.mark.parametrize("stream", [1, 2, 0x5EED0])
def test_calls_go_on_the_current_stream(x, stream):
    a = stand_in.asarray(x)
    stand_in.current_stream = stream
    oriel.max_pool(a, 2, axes=(2, 3))
    assert stand_in.library.emulated_stream() == stream
    assert set(stand_in.asked_streams) == {stream}, "the producer had to make another stream wait"


def test_out(x):
    out = stand_in.empty((2, 3, 4, 8), np.float32)
    assert oriel.max_pool(stand_in.asarray(x), 2, out=out, axes=(2, 3)) is out
    np.testing.assert_array_equal(out.numpy(), oriel.max_pool(x, 2, axes=(2, 3)))
    with pytest.raises(ValueError, match="max_pool: out must have shape 2x3x4x8, but has 2x3x4x7"):
        oriel.max_pool(stand_in.asarray(x), 2, out=stand_in.empty((2, 3, 4, 7), np.float32), axes=(2, 3))
    with pytest.raises(TypeError, match="max_pool: x and out must be arrays of one kind, but are Array and ndarray"):
        oriel.max_pool(stand_in.asarray(x), 2, out=np.empty((2, 3, 4, 8), np.float32), axes=(2, 3))


class Bare(stand_in.Array):
    """Of a module that has no `empty`."""


def test_a_library_without_empty_needs_out(x):
    a, out = stand_in.asarray(x), stand_in.empty((2, 3, 4, 8), np.float32)
    bare = Bare(a.memory, a.shape, a.steps, a.dtype)
    with pytest.raises(TypeError, match="pool: a new result cannot be an array of package_test on a CUDA device: give `out`"):
        oriel.max_pool(bare, 2, axes=(2, 3))
    bare_out = Bare(out.memory, out.shape, out.steps, out.dtype)
    np.testing.assert_array_equal(oriel.max_pool(bare, 2, out=bare_out, axes=(2, 3)).numpy(), oriel.max_pool(x, 2, axes=(2, 3)))


def test_another_device_is_an_error(x):
    a = stand_in.asarray(x)
    stand_in.library.emulated_move(a.memory.at, 1)
    with pytest.raises(ValueError, match="max_pool: x must be on the current CUDA device, 0, but is on device 1"):
        oriel.max_pool(a, 2, axes=(2, 3))


def test_what_dlpack_refuses_is_said(x):
    class Refusing(stand_in.Array):
        def __dlpack__(self, stream=None):
            raise BufferError("not today")

    a = stand_in.asarray(x)
    with pytest.raises(ValueError, match="max_pool: x cannot be read: not today"):
        oriel.max_pool(Refusing(a.memory, a.shape, a.steps, a.dtype), 2, axes=(2, 3))
