"""`oriel.tile`: the shipped tile kernels on arrays of NumPy, PyTorch and JAX, and what they become on a machine."""

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import oriel
import oriel.tile

torch = pytest.importorskip("torch")
jnp = pytest.importorskip("jax.numpy")

# More planes than partitions. Multiples of 1/8, whose sums are exact: the engine adds in another order.
X = (np.random.default_rng(7).integers(-30, 30, (130, 9, 11)) / 8).astype(np.float32)
SHIPPED = ["tensor_avgpool", "avg_pool2d", "max_pool2d", "max_pool2d_with_taps", "max_pool2d_backward",
           "adaptive_avg_pool2d", "max_pool3d"]

# (a kernel of `oriel.tile` on x, the same by the engine)
SAME = {
    "tensor_avgpool": (lambda x, **how: oriel.tile.tensor_avgpool(x, pool_size=2, precise=True, **how),
                       lambda x: oriel.avg_pool(x, 2, axes=(1, 2))),
    "avg_pool2d": (lambda x, **how: oriel.tile.avg_pool2d(x, (3, 2), (2, 3), (1, 0), rows=2, **how),
                   lambda x: oriel.avg_pool(x, (3, 2), (2, 3), (1, 0), axes=(1, 2))),
    "avg_pool2d_exclude": (lambda x, **how: oriel.tile.avg_pool2d(x, 3, 2, 1, count_include_pad=False, **how),
                           lambda x: oriel.avg_pool(x, 3, 2, 1, count_include_pad=False, axes=(1, 2))),
    "avg_pool2d_ceil": (lambda x, **how: oriel.tile.avg_pool2d(x, 2, 2, ((1, 0), (0, 2)), ceil_mode=True, **how),
                        lambda x: oriel.avg_pool(x, 2, 2, ((1, 0), (0, 2)), ceil_mode=True, axes=(1, 2))),
    "max_pool2d_ceil": (lambda x, **how: oriel.tile.max_pool2d(x, 4, 3, ((0, 1), (1, 0)), ceil_mode=True, **how),
                        lambda x: oriel.max_pool(x, 4, 3, ((0, 1), (1, 0)), ceil_mode=True, axes=(1, 2))),
    "max_pool2d": (lambda x, **how: oriel.tile.max_pool2d(x, 3, 2, 1, **how),
                   lambda x: oriel.max_pool(x, 3, 2, 1, axes=(1, 2))),
    "max_pool2d_dilated": (lambda x, **how: oriel.tile.max_pool2d(x, (2, 3), 1, dilation=(3, 2), **how),
                           lambda x: oriel.max_pool(x, (2, 3), 1, dilation=(3, 2), axes=(1, 2))),
    "max_pool3d": (lambda x, **how: oriel.tile.max_pool3d(x[None], 3, 2, **how)[0],
                   lambda x: oriel.max_pool(x, 3, 2)),
}
DTYPES = ["float32", "float16", "bfloat16"]


def numpy_of(y):
    if isinstance(y, torch.Tensor):
        return y.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if y.dtype == torch.bfloat16 else y.numpy()
    return np.asarray(y)


def arrays(x, dtype):
    """The same elements in each framework."""
    given = x.astype(dtype)
    return {"numpy": given, "torch": torch.from_numpy(x).to(getattr(torch, dtype)), "jax": jnp.asarray(given)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SAME)
def test_kernels_have_the_engines_bits_in_every_framework(name, dtype):
    kernel, engine = SAME[name]
    expected = engine(X.astype(dtype))
    for framework, given in arrays(X, dtype).items():
        y = kernel(given)
        assert type(y) is type(given) and y.dtype == given.dtype, framework
        assert y.shape == expected.shape
        np.testing.assert_array_equal(numpy_of(y).view(np.uint8), expected.view(np.uint8), framework)


@pytest.mark.parametrize("name", SAME)
def test_the_interpreter_and_the_machines_give_the_same_bits(name):
    kernel, _ = SAME[name]
    x = X[:3].astype(np.float16)
    expected = kernel(x)
    for machine in ("trn1", "trn2", "trn3"):
        np.testing.assert_array_equal(kernel(x, machine=machine, backend="interpreter"), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_tutorials_numbers(dtype):
    # Sums of such data have few bits, so that rounding them before the division changes nothing.
    expected = np.array([[3.5, 5.5, 7.5, 15.5, 17.5, 19.5, 27.5, 29.5, 31.5],
                         [39.5, 41.5, 43.5, 51.5, 53.5, 55.5, 63.5, 65.5, 67.5]]).reshape(2, 3, 3)
    for given in arrays(np.arange(72, dtype=np.float32).reshape(2, 6, 6), dtype).values():
        np.testing.assert_array_equal(numpy_of(oriel.tile.tensor_avgpool(given, pool_size=2)).astype(float), expected)


def test_taps_and_gradients_are_pytorchs():
    x = torch.from_numpy(X[:4]).requires_grad_()
    y, indices = torch.nn.functional.max_pool2d(x, 3, 2, return_indices=True)
    dy = torch.arange(float(y.numel())).reshape(y.shape)
    y.backward(dy)
    tile_y, taps = oriel.tile.max_pool2d_with_taps(x.detach(), 3, 2)
    assert torch.equal(tile_y, y.detach()) and taps.dtype == torch.float32
    rows, columns = (torch.arange(n) * 2 for n in y.shape[1:])
    flat = (rows[:, None] + taps.long() // 3) * x.shape[2] + columns + taps.long() % 3
    assert torch.equal(flat, indices)
    torch.testing.assert_close(oriel.tile.max_pool2d_backward(x.detach(), dy, 3, 2), x.grad)
    ours = oriel.tile.max_pool2d_backward(jnp.asarray(X[:4]), jnp.asarray(dy.numpy()), 3, 2)
    np.testing.assert_array_equal(np.asarray(ours), oriel.tile.max_pool2d_backward(X[:4], dy.numpy(), 3, 2))


def test_gradients_of_images_larger_than_sbuf():
    x = torch.from_numpy(np.random.default_rng(5).standard_normal((3, 224, 224)).astype(np.float32)).requires_grad_()
    y = torch.nn.functional.max_pool2d(x, 3, 2, 1)
    dy = torch.arange(float(y.numel())).reshape(y.shape)
    y.backward(dy)
    for how in ({"machine": "trn1"}, {"rows": 5}):
        assert torch.equal(oriel.tile.max_pool2d_backward(x.detach(), dy, 3, 2, 1, **how), x.grad)


MEMORY = """
import resource, sys
import numpy as np
framework, layout = sys.argv[1:]
if framework == "torch":
    import torch
    make = lambda *shape: torch.ones(*shape)
elif framework == "jax":
    import jax
    import jax.numpy as jnp
    make = lambda *shape: jnp.ones(shape, jnp.float32)
else:
    make = lambda *shape: np.ones(shape, np.float32)
import oriel.tile
small = oriel.tile.tensor_avgpool(make(2, 8, 8), 4)  # what is made once is made now
x = make(32, 1024, 1024)  # 128 MiB; the result has 8
if layout == "dense":
    given = x
else:
    given = x[:, ::-1] if framework == "numpy" else x.transpose(1, 2)
now = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize"))) * 1024
resource.setrlimit(resource.RLIMIT_AS, (now + 72 * 2**20, resource.RLIM_INFINITY))
try:
    y = oriel.tile.tensor_avgpool(given, 4)
except MemoryError:
    print("out of memory")
else:
    print(float(y[31, 255, 255]))
"""


@pytest.mark.parametrize(("framework", "layout", "said"), [
    ("numpy", "dense", "1.0"), ("torch", "dense", "1.0"), ("jax", "dense", "1.0"),
    ("numpy", "turned", "out of memory"), ("torch", "turned", "out of memory"),  # these are copied, so the test can fail
])
def test_dense_arrays_are_read_where_they_lie(framework, layout, said):
    """In an address space that has room for the result, but not for a copy of the input."""
    environment = {**os.environ, "PYTHONPATH": str(Path(oriel.__file__).parents[1]), "JAX_PLATFORMS": "cpu"}
    result = subprocess.run([sys.executable, "-c", MEMORY, framework, layout], capture_output=True, text=True,
                            timeout=120, env=environment)
    assert result.stdout.strip() == said, result.stdout + result.stderr


def test_results_are_written_where_out_lies():
    for out in (np.zeros((2, 3, 3), np.float32), torch.zeros(2, 3, 3)):
        place = out.ctypes.data if isinstance(out, np.ndarray) else out.data_ptr()
        view = oriel.tile.tensor_avgpool(F32 if isinstance(out, np.ndarray) else torch.ones(2, 6, 6), 2, out=out)
        assert view is out and place == (out.ctypes.data if isinstance(out, np.ndarray) else out.data_ptr())


def test_adaptive_windows_of_any_length():
    x = np.random.default_rng(3).standard_normal((2, 3, 400)).astype(np.float32)
    for size in ((1, 2), (3, 7), 2):
        theirs = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(x), size).numpy()
        np.testing.assert_allclose(oriel.tile.adaptive_avg_pool2d(x, size), theirs, rtol=1e-4, atol=1e-6)


def test_inputs_that_are_not_dense_and_integers():
    for x in (X[:3, ::2, ::-1], X[:3].transpose(0, 2, 1), np.asfortranarray(X[:3]), X[:1]):
        y = oriel.tile.max_pool2d(x, 2)
        np.testing.assert_array_equal(y, oriel.max_pool(np.ascontiguousarray(x), 2, axes=(1, 2)))
        assert y.flags.c_contiguous
    strided = torch.from_numpy(X[:3]).permute(0, 2, 1)
    assert torch.equal(oriel.tile.max_pool2d(strided, 2), oriel.tile.max_pool2d(strided.contiguous(), 2))
    x = np.arange(-36, 36, dtype=np.int16).reshape(2, 6, 6)
    np.testing.assert_array_equal(oriel.tile.max_pool2d(x, 3, 1, 1), oriel.max_pool(x, 3, 1, 1, axes=(1, 2)))
    assert oriel.tile.max_pool2d([np.float32([[1, 2], [3, 4]])], 2).tolist() == [[[4]]]


def test_results_can_go_to_given_memory():
    out = np.zeros((3, 4, 5), np.float32)
    assert oriel.tile.max_pool2d(X[:3], 2, out=out) is out
    np.testing.assert_array_equal(out, oriel.tile.max_pool2d(X[:3], 2))
    tensors = torch.zeros(3, 4, 5), torch.zeros(3, 4, 5)
    returned = oriel.tile.max_pool2d_with_taps(torch.from_numpy(X[:3]), 2, out=tensors)
    assert returned[0] is tensors[0] and returned[1] is tensors[1]
    assert torch.equal(tensors[0], torch.from_numpy(out)) and tensors[1].max() == 3


def test_checks_reports_and_texts_of_arrays_and_of_shapes():
    large = oriel.tile.check(oriel.tile.tensor_avgpool, (2, 224, 224), machine="trn3", pool_size=2)
    assert [(f.id, f.is_error) for f in large][0] == ("SBUF1", True)
    assert "rows of `in_tile` fit" in large[0].text and large[0].place.startswith("kernels.cc:")
    with pytest.raises(ValueError, match="^SBUF1: "):
        oriel.tile.tensor_avgpool(np.zeros((2, 224, 224), np.float32), 2, machine="trn3")
    for name in SHIPPED:
        shape = (2, 9, 8, 7)[: 4 if name == "max_pool3d" else 3]
        option = {"tensor_avgpool": "pool_size", "adaptive_avg_pool2d": "output_size"}.get(name, "kernel_size")
        assert oriel.tile.check(name, shape, **{option: 2}) == []
        assert "machine trn1\nexact   hbm->sbuf" in oriel.tile.report(name, shape, machine="trn1", **{option: 2})
        assert "dma_copy" in oriel.tile.ir(name, shape, **{option: 2})
        assert "tensor_reduce reads" in oriel.tile.picture(name, shape, **{option: 2})
        assert "<<<" in oriel.tile.emit_cuda(name, shape, dtype="float16", **{option: 2})
        for version in ("0.1", "0.6"):
            text = oriel.tile.emit_nki(name, shape, version=version, dtype="float16", **{option: 2})
            compile(text, name, "exec")
            assert f"def {name}" in text and "float16" in text
    x = np.zeros((2, 6, 6), np.float16)
    for same in (x, torch.from_numpy(x), jnp.asarray(x), torch.empty(2, 6, 6, dtype=torch.float16, device="meta")):
        assert oriel.tile.report("tensor_avgpool", same, pool_size=2).startswith("tensor_avgpool_kernel(f16[2x6x6]; 2)")
    assert "bf16[2,6,6]" in oriel.tile.ir("tensor_avgpool", x.astype(ml_dtypes.bfloat16), pool_size=2, precise=True)


F32 = np.zeros((2, 6, 6), np.float32)


@pytest.mark.parametrize(("fault", "text", "call"), [
    (TypeError, "err_unsupported_dtype: tensor_avgpool_kernel: argument 1: dtype must be f32, .* but is f64$", lambda t: t.tensor_avgpool(F32.astype(float), 2)),
    (TypeError, "x must have dtype", lambda t: t.max_pool2d("abc", 2)),
    (ValueError, "x must have 3 axes, but has 2", lambda t: t.max_pool2d(F32[0], 2)),
    (ValueError, "x must have 4 axes, but has 3", lambda t: t.max_pool3d(F32, 2)),
    (ValueError, "x must have extents of 1 to 2147483647, but has 0x6x6", lambda t: t.max_pool2d(F32[:0], 2)),
    (ValueError, "must not require grad", lambda t: t.max_pool2d(torch.zeros(2, 6, 6, requires_grad=True), 2)),
    (ValueError, "pool_size must be 1 to 6 for 2x6x6, but is 0", lambda t: t.tensor_avgpool(F32, pool_size=0)),
    (ValueError, "pool_size must be 1 to 6 for 2x6x6, but is 7", lambda t: t.tensor_avgpool(F32, pool_size=7)),
    (TypeError, "pool_size must be an int", lambda t: t.tensor_avgpool(F32, pool_size=2.0)),
    (ValueError, "covers 7 of 6 rows", lambda t: t.max_pool2d(F32, 7)),
    (ValueError, "covers 9 of 8 columns", lambda t: t.avg_pool2d(F32, (2, 5), padding=1, dilation=(1, 2))),
    (ValueError, "kernel_size must be >= 1, but is 0", lambda t: t.max_pool2d(F32, (2, 0))),
    (ValueError, "stride must be >= 1, but is 0", lambda t: t.max_pool2d(F32, 2, 0)),
    (ValueError, "padding must be >= 0, but is -1", lambda t: t.max_pool2d(F32, 2, padding=-1)),
    (ValueError, "pairs \\(before, after\\), but has one of 3", lambda t: t.max_pool2d(F32, 2, padding=((0, 1, 1), (0, 1)))),
    (ValueError, "padding_after must be >= 0", lambda t: t.max_pool2d(F32, 2, padding=((0, -1), (0, 1)))),
    (TypeError, "ceil_mode must be True or False", lambda t: t.max_pool2d(F32, 2, ceil_mode="yes")),
    (ValueError, "at most 1073741823 rows, but has 4294967300",
     lambda t: t.max_pool2d(F32, 2, padding=2**31 - 1)),
    (ValueError, "kernel_size must fit 32 bits", lambda t: t.max_pool2d(F32, 2**31)),
    (ValueError, "kernel_size must have 1 or 2 values, but has 3", lambda t: t.max_pool2d(F32, (2, 2, 2))),
    (ValueError, "rows must be >= 0, but is -1", lambda t: t.max_pool2d(F32, 2, rows=-1)),
    (ValueError, "output must be >= 1, but is 0", lambda t: t.adaptive_avg_pool2d(F32, 0)),
    (ValueError, "kernel_size must be at most 5", lambda t: t.max_pool3d(np.zeros((1, 6, 5, 6), np.float32), 6)),
    (TypeError, "dy must have x's dtype float32, but has float16", lambda t: t.max_pool2d_backward(F32, F32.astype("f2"), 2)),
    (ValueError, "dy must have shape 2x3x3, but has 2x6x6", lambda t: t.max_pool2d_backward(F32, F32, 2)),
    (TypeError, "must be arrays of one kind", lambda t: t.max_pool2d_backward(F32, torch.zeros(2, 3, 3), 2)),
    (ValueError, "machine: must be one of trn1, trn2, trn3, native", lambda t: t.max_pool2d(F32, 2, machine="trn9")),
    (TypeError, "machine must be a str", lambda t: t.max_pool2d(F32, 2, machine=2)),
    (ValueError, "backend must be 'cpu' or 'interpreter'", lambda t: t.max_pool2d(F32, 2, backend="gpu")),
    (ValueError, "out must have shape 2x3x3", lambda t: t.max_pool2d(F32, 2, out=np.zeros((2, 3, 2), "f4"))),
    (ValueError, "results must be dense", lambda t: t.max_pool2d(F32, 2, out=np.zeros((2, 3, 6), "f4")[:, :, ::2])),
    (ValueError, "share memory", lambda t: t.max_pool2d(F32, 1, out=F32)),
    (TypeError, "out must be a tuple of 2 arrays", lambda t: t.max_pool2d_with_taps(F32, 2, out=F32)),
    (ValueError, "kernel must be one of tensor_avgpool, ", lambda t: t.report("avgpool", F32)),
    (ValueError, "kernel must be one of tensor_avgpool, ", lambda t: t.report(oriel.max_pool, F32)),
    (TypeError, "kernel_size must be given", lambda t: t.report("max_pool2d", F32)),
    (TypeError, "options must be of kernel_size, .* is size", lambda t: t.ir("max_pool2d", F32, size=2)),
    (TypeError, "dtype must be one of", lambda t: t.ir("max_pool2d", (2, 6, 6), dtype="half", kernel_size=2)),
    (ValueError, "version must be '0.1' or '0.6'", lambda t: t.emit_nki("max_pool2d", F32, version="1", kernel_size=2)),
])
def test_bad_input(fault, text, call):
    with pytest.raises(fault, match=text):
        call(oriel.tile)
