"""Which arrays are taken and given: kinds, dtypes, layouts, without copies."""

import array
import tracemalloc

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch

import oriel

DTYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.int32,
          np.uint32, np.int64, np.uint64, np.bool_]
X = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6)
Y = np.array([[[[7, 9, 11], [19, 21, 23]]]], np.float32)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_every_dtype_of_numpy(dtype):
    y, indices = oriel.max_pool(X.astype(dtype), 2, return_indices=True, axes=(2, 3))
    assert y.dtype == dtype and indices.dtype == np.int64
    np.testing.assert_array_equal(y, Y.astype(dtype))
    assert type(y) is np.ndarray


def test_platform_integers():
    for name in ("long", "longlong", "ulong", "ulonglong", "intc"):
        assert oriel.max_pool(np.arange(4, dtype=name), 2).tolist() == [1, 3]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8,
                                   torch.int16, torch.int32, torch.int64, torch.bool], ids=str)
def test_torch_tensors(dtype):
    y, indices = oriel.max_pool(torch.from_numpy(X).to(dtype), 2, return_indices=True, axes=(2, 3))
    assert type(y) is torch.Tensor and y.dtype == dtype and indices.dtype == torch.int64
    assert torch.equal(y, torch.from_numpy(Y).to(dtype))


def test_torch_parameter_without_gradient():
    parameter = torch.nn.Parameter(torch.from_numpy(X), requires_grad=False)
    assert torch.equal(oriel.max_pool(parameter, 2, axes=(2, 3)), torch.from_numpy(Y))
    with torch.no_grad():
        assert torch.equal(oriel.max_pool(torch.nn.Parameter(torch.from_numpy(X)), 2, axes=(2, 3)), torch.from_numpy(Y))


def test_torch_negated_view():
    z = torch.randn(4, dtype=torch.complex64)
    x = z.conj().imag  # memory holds the negative
    assert x.is_neg()
    assert torch.equal(oriel.max_pool(x, 2), -oriel.min_pool(z.imag.clone(), 2))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint32, jnp.bool_], ids=lambda d: np.dtype(d).name)
def test_jax_arrays(dtype):
    y = oriel.max_pool(jnp.asarray(X).astype(dtype), 2, axes=(2, 3))
    assert isinstance(y, type(jnp.zeros(1))) and y.dtype == dtype
    np.testing.assert_array_equal(np.asarray(y), Y.astype(dtype))


class Dlpack:
    """Gives its memory by DLPack alone."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **arguments):
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Arrayish:
    """Gives its memory by __array__ alone."""

    def __array__(self, dtype=None, copy=None):
        return X


def test_other_kinds_become_numpy():
    for x in (X.tolist(), Dlpack(X), Arrayish(), memoryview(X)):
        y = oriel.max_pool(x, 2, axes=(2, 3))
        assert isinstance(y, np.ndarray), type(x)
        np.testing.assert_array_equal(y, Y)
    assert oriel.max_pool(array.array("d", [1, 3, 2, 4]), 2).tolist() == [3, 4]
    assert oriel.max_pool((1, 3, 2, 4), 2).tolist() == [3, 4]


class Measured(np.ndarray):
    pass


def test_subclasses_give_plain_arrays(tmp_path):
    assert type(oriel.max_pool(X.view(Measured), 2, axes=(2, 3))) is np.ndarray
    mapped = np.memmap(tmp_path / "x.bin", np.float32, "w+", shape=X.shape)
    mapped[:] = X
    np.testing.assert_array_equal(oriel.max_pool(mapped, 2, axes=(2, 3)), Y)


def layouts():
    rng = np.random.default_rng(1)
    x = rng.integers(-99, 99, (2, 3, 8, 10)).astype(np.float32)
    yield "C", x
    yield "F", np.asfortranarray(x)
    yield "channels last", np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    yield "reversed", x[::-1, :, ::-1, ::-1]
    yield "stepped", np.repeat(np.repeat(x, 2, 2), 3, 3)[:, :, ::2, ::3]
    yield "broadcast", np.broadcast_to(x[:1], (5, *x.shape[1:]))
    yield "crop", x[:, 1:, 1:-1, 2:]
    yield "field of a packed record", _field(x)


def _field(x):
    records = np.zeros(x.shape, dtype=[("a", "u1"), ("x", "f4")])
    records["x"] = x
    return records["x"]


@pytest.mark.parametrize(("name", "x"), list(layouts()), ids=lambda value: value if isinstance(value, str) else "")
def test_any_layout(name, x):
    dense = np.ascontiguousarray(x)
    before = dense.copy()
    x.flags.writeable = False
    for function in (oriel.max_pool, oriel.avg_pool):
        np.testing.assert_array_equal(function(x, (3, 2), 2, padding=1, axes=(2, 3)),
                                      function(dense, (3, 2), 2, padding=1, axes=(2, 3)))
    dy = np.ones((*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2), np.float32)
    np.testing.assert_array_equal(oriel.max_pool_backward(dy, x, (2, 2), axes=(2, 3)), oriel.max_pool_backward(dy, dense, (2, 2), axes=(2, 3)))
    np.testing.assert_array_equal(x, before)


def test_results_keep_the_memory_order():
    x = np.zeros((2, 8, 10, 3), np.float32).transpose(0, 3, 1, 2)
    y = oriel.max_pool(x, 2, axes=(2, 3))
    assert y.transpose(0, 2, 3, 1).flags.c_contiguous
    assert oriel.max_pool(np.zeros((4, 6), order="F"), 2).flags.f_contiguous
    assert oriel.max_pool(np.broadcast_to(np.zeros((1, 3, 4, 4)), (2, 3, 4, 4)), 2, axes=(2, 3)).flags.c_contiguous
    assert oriel.max_pool_backward(np.zeros((2, 3, 4, 5), np.float32), x, 2, axes=(2, 3)).strides == x.strides


@pytest.mark.parametrize("shape", [(2, 3, 8, 10), (1, 3, 8, 8), (2, 1, 8, 8), (2, 3, 1, 1), (1, 1, 4, 4), (0, 3, 4, 4)])
@pytest.mark.parametrize("form", ["contiguous", "channels_last", "crop"])
def test_torch_memory_formats_are_torchs(shape, form):
    x = torch.zeros(shape)
    if form == "channels_last":
        x = x.to(memory_format=torch.channels_last)
    elif form == "crop":
        x = torch.zeros(tuple(n + 2 for n in shape)).to(memory_format=torch.channels_last)[tuple(slice(1, n + 1) for n in shape)]
    y = oriel.max_pool2d(x, 1)
    expected = torch.nn.functional.max_pool2d(x, 1)
    assert y.shape == expected.shape and y.stride() == expected.stride()


def test_torch_channels_last_3d():
    x = torch.randn(2, 3, 4, 6, 8).to(memory_format=torch.channels_last_3d)
    y = oriel.max_pool3d(x, 2)
    assert y.is_contiguous(memory_format=torch.channels_last_3d)
    assert torch.equal(y, torch.nn.functional.max_pool3d(x, 2))


def test_nothing_is_copied():
    x = np.zeros((64, 64, 1024), np.float32)[:, ::2, 1::3]
    oriel.max_pool(x, 2, axes=(1, 2))
    tracemalloc.start()  # NumPy reports its allocations
    oriel.max_pool(x, 2, axes=(1, 2))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    result = 64 * 16 * (x.shape[2] // 2) * 4
    assert result <= peak < result + 20000


def test_memory_of_results_lives_as_long_as_they():
    for kind in (np.asarray, torch.from_numpy, jnp.asarray):
        parts = [oriel.max_pool(kind(np.full((1, 1, 64, 64), i, np.float32)), 2, axes=(2, 3)) for i in range(50)]
        for i, part in enumerate(parts):
            assert float(part.min()) == float(part.max()) == i


def test_out():
    out = np.empty((1, 1, 2, 3), np.float32)
    assert oriel.max_pool(X, 2, out=out, axes=(2, 3)) is out
    np.testing.assert_array_equal(out, Y)
    wide = np.zeros((1, 1, 2, 6), np.float32)
    oriel.max_pool(X, 2, out=wide[..., ::2], axes=(2, 3))
    np.testing.assert_array_equal(wide[..., ::2], Y)
    assert not wide[..., 1::2].any()
    tensor = torch.empty(1, 1, 2, 3)
    assert oriel.max_pool(torch.from_numpy(X), 2, out=tensor, axes=(2, 3)) is tensor
    assert torch.equal(tensor, torch.from_numpy(Y))
    pair = (np.empty_like(out), np.empty((1, 1, 2, 3), np.int64))
    y, indices = oriel.max_pool(X, 2, return_indices=True, out=pair, axes=(2, 3))
    assert y is pair[0] and indices is pair[1]
    np.testing.assert_array_equal(indices.ravel(), Y.ravel())


def test_empty_batch():
    for x in (np.zeros((0, 3, 4, 4)), torch.zeros(0, 3, 4, 4), jnp.zeros((0, 3, 4, 4))):
        assert tuple(oriel.max_pool(x, 2, axes=(2, 3)).shape) == (0, 3, 2, 2)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_results_begin_with_a_line(dtype, order):
    x = np.asarray(np.ones((4, 32, 130, 130)), dtype=dtype, order=order)
    for y in (oriel.max_pool2d(x, 2), oriel.avg_pool2d(x, 3, 1, 1)):
        assert y.ctypes.data % 64 == 0 and y.flags.owndata and y.base is None
        assert type(y) is np.ndarray and y.dtype == dtype and y.flags[f"{order}_CONTIGUOUS"]
        y.resize((5, *y.shape[1:]), refcheck=False)  # what owns its memory can have more of it
        assert order == "F" or (y[:4, :, 1:-1, 1:-1] == 1).all()


def test_large_results_are_given_back():
    x = np.ones((4, 32, 130, 130), np.float32)
    oriel.max_pool2d(x, 3, 1, 1)
    tracemalloc.start()
    for _ in range(5):
        oriel.max_pool2d(x, 3, 1, 1)
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < x.nbytes // 2 and peak < 3 * x.nbytes


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u8", "i4", "u4", "i2", "u2"])
def test_the_other_byte_order_is_converted(dtype, order):
    """As FITS and netCDF files have it; the result is in the machine's order, as `block_reduce`'s is."""
    swapped = np.dtype(dtype).newbyteorder()
    x = np.random.default_rng(2).integers(0, 1000, (9, 8)).astype(swapped, order=order)
    native = x.astype(x.dtype.newbyteorder("="))
    before = x.tobytes()
    for function in (oriel.max_pool, oriel.avg_pool, lambda a, k: oriel.max_pool(a[::2, ::-1], k, return_indices=True)[1]):
        y, expected = function(x, 2), function(native, 2)
        assert y.dtype == expected.dtype and y.dtype.isnative and y.strides == expected.strides
        np.testing.assert_array_equal(y, expected)
    if native.dtype.kind == "f":
        dy = np.ones((4, 4), swapped)
        np.testing.assert_array_equal(oriel.max_pool_backward(dy, x, 2), oriel.max_pool_backward(dy.astype(native.dtype), native, 2))
    np.testing.assert_array_equal(oriel.maximum_filter(x, 3), oriel.maximum_filter(native, 3))
    assert x.tobytes() == before
