"""Bad arguments: the exception's type, and a text that names the function, the argument, its value and what is allowed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import oriel

X = np.zeros((1, 1, 4, 6), np.float32)
Y = (1, 1, 2, 3)


def lazy(module, name):
    """An array of that type, by its name: what reads itself by __array__ when somebody asks."""

    def read(self, *args, **kwargs):
        raise AssertionError(f"{module}.{name} was read into memory")

    return type(name, (), {"__module__": module, "__array__": read, "shape": X.shape, "dtype": X.dtype})()


CASES = [
    # windows
    (lambda: oriel.max_pool(X, 0, axes=(2, 3)), ValueError, "max_pool: kernel_size must be >= 1, but axis 2 has 0"),
    (lambda: oriel.max_pool(X, -3, axes=(2, 3)), ValueError, "kernel_size must be >= 1, but axis 2 has -3"),
    (lambda: oriel.max_pool(X, 2, 0, axes=(2, 3)), ValueError, "max_pool: stride must be >= 1, but axis 2 has 0"),
    (lambda: oriel.min_pool(X, 2, (1, -1), axes=(2, 3)), ValueError, "min_pool: stride must be >= 1, but axis 3 has -1"),
    (lambda: oriel.avg_pool(X, 2, padding=-1, axes=(2, 3)), ValueError, "avg_pool: padding must be >= 0, but axis 2 has -1"),
    (lambda: oriel.sum_pool(X, 2, dilation=0, axes=(2, 3)), ValueError, "sum_pool: dilation must be >= 1, but axis 2 has 0"),
    (lambda: oriel.max_pool(X, 7, axes=(2, 3)), ValueError, "the window must fit in the padded input, but on axis 2 it spans 7 and the padded input is 4"),
    (lambda: oriel.max_pool(X, (2, 2, 2, 2, 2)), ValueError, r"kernel_size must have 1 value or one per pooled axis \(4\), but has 5"),
    (lambda: oriel.max_pool(X, (2, 2), (1, 1, 1), axes=(2, 3)), ValueError, r"stride must have 1 value or one per pooled axis \(2\), but has 3$"),
    (lambda: oriel.max_pool(X, (), axes=(2, 3)), ValueError, "kernel_size must have at least one value, but is empty"),
    (lambda: oriel.max_pool(X, 2**70, axes=(2, 3)), ValueError, "kernel_size must fit 64 bits, but is 1180591620717411303424"),
    (lambda: oriel.max_pool(X, 2**62, dilation=2**62, axes=(2, 3)), ValueError,
     r"max_pool: extent, padding, stride and window must stay below 2\^63 together, but axis 2 has extent 4, .*, kernel 4611686018427387904, dilation 4611"),
    (lambda: oriel.max_pool(X, 2, padding=2**63 - 1, axes=(2, 3)), ValueError,
     r"max_pool: extent, padding, stride and window must stay below 2\^63 together, but axis 2 has extent 4, padding 9223372036854775807\+9223"),
    (lambda: oriel.max_pool(X, 2.0, axes=(2, 3)), TypeError, "max_pool: kernel_size must be an int or a sequence of ints, but is 2.0"),
    (lambda: oriel.max_pool(X, "2", axes=(2, 3)), TypeError, "kernel_size must be an int or a sequence of ints, but is '2'"),
    (lambda: oriel.max_pool(X, True, axes=(2, 3)), TypeError, "kernel_size must be an int or a sequence of ints, but is True"),
    (lambda: oriel.max_pool(X, (2, None), axes=(2, 3)), TypeError, r"kernel_size must be an int or a sequence of ints, but is \(2, None\)"),
    (lambda: oriel.max_pool(X, 2, padding="some", axes=(2, 3)), ValueError, "padding must be 'valid', 'same' or 'same_lower' if it is a word, but is 'some'"),
    (lambda: oriel.max_pool(X, 2, padding=((1, 2), 3), axes=(2, 3)), TypeError, r"\(before, after\) pairs.*but is \(\(1, 2\), 3\)"),
    (lambda: oriel.max_pool(X, 2, padding=1.5, axes=(2, 3)), TypeError, "padding must be an int.*but is 1.5"),
    (lambda: oriel.max_pool(X, 2, axes=4), ValueError, "axes must be in -4 to 3, but one is 4"),
    (lambda: oriel.max_pool(X, 2, axes=(2, -2)), ValueError, "axes must each be named once, but 2 is named twice"),
    (lambda: oriel.max_pool(X, 2, ceil_mode="yes", axes=(2, 3)), TypeError, "max_pool: ceil_mode must be True or False, but is 'yes'"),
    (lambda: oriel.max_pool(X, 2, nan_policy="raise", axes=(2, 3)), ValueError, "nan_policy must be 'propagate' or 'omit', but is 'raise'"),
    (lambda: oriel.max_pool(X, 2, return_indices="place", axes=(2, 3)), ValueError,
     "max_pool: the indices must count elements of the 'plane', the 'tensor' or the 'window', but are to count 'place'$"),
    (lambda: oriel.avg_pool(X, 2, divisor_override=0, axes=(2, 3)), ValueError, "avg_pool: divisor_override must be >= 1 or None, but is 0"),
    (lambda: oriel.lp_pool(X, 0.5, 2, axes=(2, 3)), ValueError, "lp_pool: norm_type must be >= 1, but is 0.5$"),
    (lambda: oriel.lp_pool(X, "two", 2, axes=(2, 3)), TypeError, "lp_pool: norm_type must be a number, but is 'two'"),
    (lambda: oriel.adaptive_max_pool(X, 0, axes=(2, 3)), ValueError, "max_pool: output_size must be >= 1, but axis 2 has 0$"),
    (lambda: oriel.adaptive_avg_pool(X, None, axes=(2, 3)), TypeError, "output_size must be an int or a sequence of ints, but is None"),
    (lambda: oriel.adaptive_max_pool1d(X[0], None), TypeError, "output_size must be an int or a sequence of ints, but is None"),
    (lambda: oriel.max_pool2d(X[0, 0], 2), ValueError, "max_pool2d: the input must have 3 axes .* or 4 .*, but has shape 4x6"),
    (lambda: oriel.avg_pool1d(X, 2), ValueError, "avg_pool1d: the input must have 2 axes .* or 3 .*, but has shape 1x1x4x6"),
    (lambda: oriel.max_pool(np.zeros((1, 1, 0, 4)), 2), ValueError,
     "pooled axes must have extent >= 1, but axis 2 has 0; no axes are named, so all 4 are pooled"),
    (lambda: oriel.max_pool(np.zeros((1,) * 17), 2), ValueError, "at most 16 axes"),
    (lambda: oriel.max_pool(np.float32(3), 2), ValueError, "max_pool: the input must have 1 to 16 axes, but has 0$"),
    # arrays
    (lambda: oriel.max_pool(None, 2), TypeError, "max_pool: x must have dtype float64.*, but has object"),
    (lambda: oriel.max_pool("image", 2), TypeError, "x must have dtype .* but has <U5"),
    (lambda: oriel.max_pool(X.astype(complex), 2, axes=(2, 3)), TypeError, "x must have dtype .* but has complex128"),
    (lambda: oriel.max_pool(X.astype(np.longdouble), 2, axes=(2, 3)), TypeError, "x must have dtype .* but has float128"),
    (lambda: oriel.max_pool(X.astype(object), 2, axes=(2, 3)), TypeError, "x must have dtype .* but has object"),
    (lambda: oriel.max_pool(np.zeros(4, [("a", "f4")]), 2), TypeError, "x must have dtype .* but has"),
    (lambda: oriel.max_pool(np.zeros(4, "M8[s]"), 2), TypeError, "x must have dtype .* but has datetime64"),
    (lambda: oriel.max_pool2d(np.ma.masked_array(X, X > 0), 2), TypeError, "x must be an array without a mask, but is MaskedArray"),
    (lambda: oriel.max_pool([[1, 2], [3]], 2), TypeError, "x must be an array, but is list"),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4, dtype=torch.complex64), 2, axes=(2, 3)), TypeError, "x must have dtype .* but has torch.complex64"),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4, device="meta"), 2, axes=(2, 3)), ValueError, "x cannot be read: .*meta"),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4).to_sparse(), 2, axes=(2, 3)), ValueError, "x cannot be read: "),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4, requires_grad=True), 2, axes=(2, 3)), ValueError, "x must not require grad here; oriel.torch"),
    (lambda: oriel.max_pool(jnp.zeros((1, 1, 4, 4), jnp.complex64), 2, axes=(2, 3)), TypeError, "x must have dtype .* but has complex64"),
    # arrays that are not in memory
    (lambda: oriel.max_pool(lazy("dask.array.core", "Array"), 2), TypeError,
     "max_pool: x must be an array in memory, but is dask.Array; x.map_overlap or x.map_blocks .*, x.compute"),
    (lambda: oriel.avg_pool(lazy("xarray.core.dataarray", "DataArray"), 2), TypeError,
     "avg_pool: x must be an array in memory, but is xarray.DataArray; xarray.apply_ufunc .* keeps its labels, x.values"),
    (lambda: oriel.avg_pool(lazy("xarray.core.variable", "Variable"), 2), TypeError, "but is xarray.Variable; xarray.apply_ufunc"),
    (lambda: oriel.avg_pool(lazy("xarray.core.dataset", "Dataset"), 2), TypeError, "but is xarray.Dataset; x.map"),
    (lambda: oriel.max_pool(lazy("zarr.core.array", "Array"), 2), TypeError, r"but is zarr.Array; x\[...\] reads it whole, slices read a part$"),
    (lambda: oriel.max_pool(lazy("h5py._hl.dataset", "Dataset"), 2), TypeError, "but is h5py.Dataset; .* `oriel pool` reads the file in parts"),
    (lambda: oriel.max_pool(lazy("tensorstore", "TensorStore"), 2), TypeError, r"but is tensorstore.TensorStore; x.read\(\).result\(\)"),
    # out
    (lambda: oriel.max_pool(X, 2, out=np.zeros(Y), axes=(2, 3)), TypeError, "max_pool: out must have dtype float32, but has float64$"),
    (lambda: oriel.max_pool(X, 2, out=np.zeros((1, 1, 2, 2), np.float32), axes=(2, 3)), ValueError, "out must have shape 1x1x2x3, but has 1x1x2x2"),
    (lambda: oriel.max_pool(X, 2, out=[0] * 6, axes=(2, 3)), TypeError, "out must be a writable array, but is list"),
    (lambda: oriel.max_pool(X, 2, out=torch.zeros(Y), axes=(2, 3)), TypeError, "x and out must be arrays of one kind, but are ndarray and Tensor"),
    (lambda: oriel.max_pool(torch.from_numpy(X), 2, out=np.zeros(Y, np.float32), axes=(2, 3)), TypeError, "are Tensor and ndarray"),
    (lambda: oriel.max_pool(torch.from_numpy(X), 2, out=torch.zeros(Y, requires_grad=True), axes=(2, 3)), ValueError, "out must not require grad"),
    (lambda: oriel.max_pool(X, 2, out=np.broadcast_to(np.zeros(1, np.float32), Y), axes=(2, 3)), ValueError, "out must be writable, but is read-only"),
    (lambda: oriel.max_pool(jnp.asarray(X), 2, out=jnp.zeros(Y), axes=(2, 3)), TypeError, "out must be a writable array"),
    (lambda: oriel.max_pool(X, 1, out=X, axes=(2, 3)), ValueError, "out must not share memory with the input"),
    (lambda: oriel.max_pool(X, 2, return_indices=True, out=np.zeros(Y, np.float32), axes=(2, 3)), TypeError, "out must be a tuple of two arrays"),
    (lambda: oriel.max_pool(X, 2, return_indices=True, out=(np.zeros(Y, np.float32), np.zeros(Y, np.int32)), axes=(2, 3)), TypeError,
     r"out\[1\] must have dtype int64, but has int32$"),
    (lambda: oriel.global_max_pool(X, keepdims=False, out=np.zeros((1, 1), np.float32), axes=(2, 3)), ValueError, "out must"),
    # gradients
    (lambda: oriel.max_pool_backward(np.zeros(Y, np.float64), X, 2, axes=(2, 3)), ValueError, "dy must have dtype float32, but has float64$"),
    (lambda: oriel.max_pool_backward(np.zeros((1, 1, 2, 2), np.float32), X, 2, axes=(2, 3)), ValueError, "dy must have shape 1x1x2x3, but has 1x1x2x2"),
    (lambda: oriel.avg_pool_backward(np.zeros(Y, np.float32), (1, 1, 4, -6), 2, axes=(2, 3)), ValueError, r"input_shape must have extents >= 0, but is \(1, 1, 4, -6\)"),
    (lambda: oriel.avg_pool_backward(np.zeros(Y, np.int32), X.shape, 2, axes=(2, 3)), ValueError, "a gradient of avg needs dtype"),
    (lambda: oriel.avg_pool_backward(np.zeros(Y, np.float32), X.shape, 2, nan_policy="omit", axes=(2, 3)), ValueError, "avg_pool_backward: x must be given: only sum and avg"),
    (lambda: oriel.max_pool_backward(torch.zeros(Y), X, 2, axes=(2, 3)), TypeError, "x and dy must be arrays of one kind"),
    (lambda: oriel.max_pool_backward(np.zeros(Y, np.float32), X, 2, indices=np.full(Y, 99), axes=(2, 3)), ValueError, "99"),
    (lambda: oriel.Pool("max", 2, axes=(2, 3)).backward(np.zeros(Y, np.float32)), ValueError, "x or input_shape must be given"),
    (lambda: oriel.Pool("sum", 2, axes=(2, 3)).with_indices(X), ValueError, "indices exist for max, min, first, centre, median, quantile and mode only"),
    (lambda: oriel.Pool("mean", 2), ValueError, "mean"),
    (lambda: oriel.Pool(3, 2), TypeError, "op must be a str, but is 3"),
    # unpooling
    (lambda: oriel.max_unpool(np.zeros(Y), np.full(Y, 24), 2, axes=(2, 3)), ValueError, "max_unpool: .*24"),
    (lambda: oriel.max_unpool(np.zeros(Y), np.zeros(Y, np.int32), 2, axes=(2, 3)), ValueError, "max_unpool: indices must have dtype int64, but has int32$"),
    (lambda: oriel.max_unpool(np.zeros(Y), np.zeros((1, 1, 2, 2), np.int64), 2, axes=(2, 3)), ValueError, "indices must have shape 1x1x2x3, but has 1x1x2x2"),
    (lambda: oriel.max_unpool2d(np.zeros(Y), np.zeros(Y, np.int64), 2, output_size=(1, 2, 3)), ValueError, r"max_unpool2d: output_size must have 2 or 4 values"),
    # axes
    (lambda: oriel.max_pool(X, 2), ValueError,
     "on axis 0 it spans 2 and the padded input is 1; no axes are named, so all 4 are pooled"),
    (lambda: oriel.max_pool(X, (2, 2)), ValueError,
     r"kernel_size must have 1 value .*\(4\), but has 2; no axes are named, so all 4 are pooled \(axes -2, -1 are the last 2\)$"),
    (lambda: oriel.max_pool(np.zeros((1,) * 9), 1), ValueError, "axes must be at most 8, but there are 9; no axes are named"),
    (lambda: oriel.max_pool(X, 2, axes=()), ValueError, "max_pool: axes must name at least one axis, or be None for all, but is empty"),
    (lambda: oriel.global_max_pool(X, axes=[]), ValueError, "max_pool: axes must name at least one axis"),
    (lambda: oriel.Pool("avg", 2, axes=np.array([], int)), ValueError, "avg_pool: axes must name at least one axis"),
    # None for a kernel is a mistake, never a global pool
    *[(call, TypeError, f"{name}: kernel_size must be an int or a sequence of ints, but is None") for name, call in [
        ("max_pool", lambda: oriel.max_pool(X, None)),
        ("min_pool", lambda: oriel.min_pool(X, None)),
        ("avg_pool", lambda: oriel.avg_pool(X, None, axes=(2, 3))),
        ("sum_pool", lambda: oriel.sum_pool(X, None)),
        ("lp_pool", lambda: oriel.lp_pool(X, 2, None)),
        ("max_pool2d", lambda: oriel.max_pool2d(X, None)),
        ("avg_pool2d", lambda: oriel.avg_pool2d(X, None)),
        ("max_unpool", lambda: oriel.max_unpool(X, X.astype(int), None)),
        ("max_pool_backward", lambda: oriel.max_pool_backward(X, X, None)),
        ("min_pool_backward", lambda: oriel.min_pool_backward(X, X, None)),
        ("avg_pool_backward", lambda: oriel.avg_pool_backward(X, X.shape, None)),
        ("sum_pool_backward", lambda: oriel.sum_pool_backward(X, X.shape, None)),
        ("lp_pool_backward", lambda: oriel.lp_pool_backward(X, X, 2, None)),
        ("Pool", lambda: oriel.Pool("max", None)),
        ("Pool", lambda: oriel.Pool("max", kernel_size=None, axes=(2, 3))),
    ]],
    # NumPy's arrays and numbers in place of ints
    (lambda: oriel.max_pool(X, np.array([2.0, 2.0])), TypeError, r"max_pool: kernel_size must be an int or a sequence of ints, but is array\(\[2., 2.\]\)"),
    (lambda: oriel.max_pool(X, np.array(2.0)), TypeError, r"max_pool: kernel_size must be an int.*, but is array\(2.\)"),
    (lambda: oriel.max_pool(X, np.float64(2)), TypeError, "max_pool: kernel_size must be an int or a sequence of ints"),
    (lambda: oriel.max_pool(X, np.True_), TypeError, "max_pool: kernel_size must be an int"),
    (lambda: oriel.max_pool(X, 2, np.array([[1]])), TypeError, "max_pool: stride must be an int or a sequence of ints"),
    (lambda: oriel.max_pool(X, 2, padding=np.array([0.5])), TypeError, "max_pool: padding must be an int"),
    (lambda: oriel.max_pool(X, 2, axes=np.array([0.0])), TypeError, "max_pool: axes must be an int or a sequence of ints"),
    # how calls run
    (lambda: oriel.set_threads(-1), ValueError, "set_threads: n must be >= 0"),
    (lambda: oriel.set_threads("a"), TypeError, "set_threads: n must be an int >= 0 .*, but is 'a'"),
    (lambda: oriel.threads("a").__enter__(), TypeError, "threads: n must be an int >= 0 .*, but is 'a'"),
    (lambda: oriel.threads(-1).__enter__(), ValueError, "threads: n must be >= 0"),
    (lambda: oriel.threads(2**40).__enter__(), ValueError, r"threads: n must be >= 0 \(0: all\) and < 2\*\*31, but is"),
    (lambda: oriel.set_target("\0"), ValueError, r"set_target: '\?' is no instruction set that runs here; allowed: "),
    (lambda: oriel.set_target(3), TypeError, "set_target: name must be a str, but is 3"),
    # byte order
    (lambda: oriel.max_pool(X, 2, axes=(2, 3), out=np.zeros(Y, ">f4")), TypeError,
     "max_pool: out must be in the machine's byte order, but its dtype is >f4"),
    # tracers
    (lambda: jax.jit(lambda x: oriel.max_pool(x, 2))(jnp.ones(4)), TypeError,
     "max_pool: x must be an array with values, but is traced by JAX .* the functions of oriel.jax can be traced"),
    (lambda: jax.vmap(lambda x: oriel.avg_pool(x, 2))(jnp.ones((3, 4))), TypeError, "functions of oriel.jax can be traced"),
    (lambda: jax.grad(lambda x: oriel.avg_pool(x, 2).sum())(jnp.ones(4)), TypeError, "functions of oriel.jax can be traced"),
]


@pytest.mark.parametrize(("call", "kind", "text"), CASES, ids=[f"{i}-{text[:40]}" for i, (_, _, text) in enumerate(CASES)])
def test_bad_input_is_named(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


def test_nothing_is_written_when_arguments_are_bad():
    out = np.full(Y, 7, np.float32)
    with pytest.raises(ValueError):
        oriel.max_pool(X, 9, out=out, axes=(2, 3))
    assert (out == 7).all()
