"""CuPy's arrays: what a build without the backend says, and the values where there is a device."""

import numpy as np
import pytest

import oriel
from oriel import _core


class OnDevice:
    """As much of an array on CUDA device 3 as is looked at before it is refused."""

    dtype, shape = np.dtype(np.float32), (4, 4)

    def __dlpack_device__(self):
        return 2, 3

    def __dlpack__(self, **_):
        raise AssertionError("it must be refused before it is read")


@pytest.mark.skipif(_core.has_cuda(), reason="this build has the CUDA backend")
@pytest.mark.parametrize("pool", [oriel.max_pool, oriel.avg_pool, oriel.sum_pool])
def test_a_build_without_cuda_says_so(pool):
    message = f"{pool.__name__}: x is on CUDA device 3, but this build of oriel runs on the CPU only"
    with pytest.raises(ValueError, match=message):
        pool(OnDevice(), 2)


@pytest.fixture
def cupy():
    cupy = pytest.importorskip("cupy", reason="NOT CHECKED: there is no CuPy")
    if not _core.has_cuda() or cupy.cuda.runtime.getDeviceCount() == 0:
        pytest.skip("NOT CHECKED: needs a CUDA device and a build with ORIEL_CUDA")
    return cupy


def test_values_indices_gradients(cupy):
    x = np.random.default_rng(1).standard_normal((2, 3, 17, 32)).astype(np.float32)
    y, indices = oriel.max_pool(cupy.asarray(x), 3, 2, 1, return_indices=True, axes=(2, 3))
    expected, places = oriel.max_pool(x, 3, 2, 1, return_indices=True, axes=(2, 3))
    assert type(y) is cupy.ndarray and y.get().tobytes() == expected.tobytes()
    np.testing.assert_array_equal(indices.get(), places)
    dx = oriel.max_pool_backward(y, cupy.asarray(x), 3, 2, 1, axes=(2, 3))
    assert dx.get().tobytes() == oriel.max_pool_backward(expected, x, 3, 2, 1, axes=(2, 3)).tobytes()


def test_calls_go_on_the_current_stream(cupy):
    x = cupy.random.standard_normal((8, 64, 256, 256), dtype=np.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        doubled = x * 2
        y = oriel.avg_pool(doubled, 2, axes=(2, 3))
        stream.synchronize()
    assert y.get().tobytes() == oriel.avg_pool(x.get() * 2, 2, axes=(2, 3)).tobytes()
