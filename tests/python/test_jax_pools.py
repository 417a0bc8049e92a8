"""The values of oriel.jax: against flax, against the array functions to the last bit; bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import oriel
import oriel.jax
import pytest
from flax.linen import pooling as flax
from random_seeds import seeds

DTYPES = ["float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "bool"]
WIDE = ["float64", "int64", "uint64"]


def same_bits(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, (
        ours.dtype,
        theirs.dtype,
        ours.shape,
        theirs.shape,
    )
    nans = ours != ours
    assert (nans == (theirs != theirs)).all()
    assert np.where(nans, 0, ours).tobytes() == np.where(nans, 0, theirs).tobytes()


def elements(rng, shape, dtype):
    dtype = jnp.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) < 0.4
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    x = rng.standard_normal(shape)
    x[rng.random(shape) < 0.2] = rng.choice([np.nan, -0.0, 0.0, 1.0, np.inf])
    return x.astype(dtype)


def draw(rng):
    """The shape (…, spatial, channels), and the lists of a window that fits."""
    k = int(rng.integers(1, 4))
    batch = tuple(int(n) for n in rng.integers(1, 3, int(rng.integers(0, 3))))
    spatial = tuple(int(n) for n in rng.integers(3, 9, k))
    window, strides = (tuple(int(v) for v in rng.integers(1, 4, k)) for _ in range(2))
    padding = ["VALID", "SAME", tuple((int(lo), int(hi)) for lo, hi in rng.integers(0, 3, (k, 2)))][
        int(rng.integers(0, 3))
    ]
    return batch + spatial + (int(rng.integers(1, 4)),), window, strides, padding


def near(ours, theirs, text):
    theirs = jnp.where(jnp.isnan(theirs), 0, theirs)  # a window of padding alone: 0/0 there, 0 here
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6, err_msg=text)


def agree(compare, ours, theirs, x, window, *arguments, text):
    """flax takes pairs of padding, and padding that does not count, for one batch axis only."""
    y = ours(x, window, *arguments)
    of_flax = theirs(x.reshape((-1,) + x.shape[-len(window) - 1 :]), window, *arguments)
    compare(y, of_flax.reshape(y.shape), text)


@pytest.mark.parametrize("seed", seeds())
def test_flax(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25 if seed == 1 else 10):
        shape, window, strides, padding = draw(rng)
        x = jnp.asarray(elements(rng, shape, "float32"))
        if rng.random() < 0.3:
            strides = None
        text = f"{shape} {window} {strides} {padding}"
        agree(np.testing.assert_array_equal, oriel.jax.max_pool, flax.max_pool, x, window, strides, padding, text=text)
        agree(np.testing.assert_array_equal, oriel.jax.min_pool, flax.min_pool, x, window, strides, padding, text=text)
        x = jnp.asarray(rng.standard_normal(shape), jnp.float32)
        for include in (True, False):
            agree(near, oriel.jax.avg_pool, flax.avg_pool, x, window, strides, padding, include, text=text)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("dtype", DTYPES + WIDE)
def test_the_bits_of_the_array_functions(dtype, seed):
    rng = np.random.default_rng(seed)
    for _ in range(3):
        shape, window, strides, padding = draw(rng)
        x = elements(rng, shape, dtype)
        k = len(window)
        axes = tuple(range(-k - 1, -1))
        with jax.enable_x64(dtype in WIDE):
            for name in ("max_pool", "min_pool", "avg_pool", "sum_pool"):
                ours = getattr(oriel.jax, name)(jnp.asarray(x), window, strides, padding)
                same_bits(
                    ours,
                    getattr(oriel, name)(x, window, strides, padding, axes=axes),
                )
            for p in (1, 2) if x.dtype.kind in "iu" else () if x.dtype.kind == "b" else (1, 2, 2.5, np.inf):
                ours = oriel.jax.lp_pool(jnp.asarray(x), p, window, strides, padding)
                same_bits(
                    ours,
                    oriel.lp_pool(x, p, window, strides, padding, axes=axes),
                )
            same_bits(
                oriel.jax.adaptive_max_pool(jnp.asarray(x), (2,) * k), oriel.adaptive_max_pool(x, (2,) * k, axes=axes)
            )
            same_bits(
                oriel.jax.adaptive_avg_pool(jnp.asarray(x), (3,) * k), oriel.adaptive_avg_pool(x, (3,) * k, axes=axes)
            )
            for name in ("max", "min", "avg", "sum"):
                same_bits(
                    getattr(oriel.jax, f"global_{name}_pool")(jnp.asarray(x), axes=axes, keepdims=False),
                    getattr(oriel, f"global_{name}_pool")(x, axes=axes, keepdims=False),
                )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_have_the_bits_of_the_array_functions(dtype):
    rng = np.random.default_rng(8)
    x = elements(rng, (2, 9, 8, 3), "float32").astype(jnp.dtype(dtype))
    keywords = {"stride": (2, 1), "padding": ((1, 0), (2, 1)), "axes": (1, 2)}
    arguments = ((3, 2), (2, 1), ((1, 0), (2, 1)))
    dy = rng.standard_normal(oriel.max_pool(x, (3, 2), **keywords).shape).astype(x.dtype)

    def gradient(pool):
        return jax.vjp(pool, jnp.asarray(x))[1](jnp.asarray(dy))[0]

    same_bits(gradient(lambda x: oriel.jax.max_pool(x, *arguments)), oriel.max_pool_backward(dy, x, (3, 2), **keywords))
    same_bits(gradient(lambda x: oriel.jax.min_pool(x, *arguments)), oriel.min_pool_backward(dy, x, (3, 2), **keywords))
    same_bits(
        gradient(lambda x: oriel.jax.sum_pool(x, *arguments)), oriel.sum_pool_backward(dy, x.shape, (3, 2), **keywords)
    )
    same_bits(
        gradient(lambda x: oriel.jax.avg_pool(x, *arguments, False)),
        oriel.avg_pool_backward(dy, x.shape, (3, 2), **keywords, count_include_pad=False),
    )
    for p in (1, 2, 3, np.inf):
        same_bits(
            gradient(lambda x: oriel.jax.lp_pool(x, p, *arguments)),
            oriel.lp_pool_backward(dy, x, p, (3, 2), **keywords),
        )


def test_channels_first_dilation_and_negative_padding():
    x = jnp.asarray(np.random.default_rng(9).standard_normal((2, 3, 9, 8)), jnp.float32)
    first = oriel.jax.max_pool(x, (3, 2), (2, 1), "SAME", dilation=(1, 2), data_format="channels_first")
    last = oriel.jax.max_pool(jnp.moveaxis(x, 1, -1), (3, 2), (2, 1), "SAME", dilation=(1, 2))
    same_bits(first, jnp.moveaxis(last, -1, 1))
    same_bits(
        oriel.jax.max_pool(x, (2, 2), padding=((-1, 0), (2, -3)), data_format="channels_first"),
        oriel.jax.max_pool(x[:, :, 1:, :-3], (2, 2), padding=((0, 0), (2, 0)), data_format="channels_first"),
    )
    same_bits(
        oriel.jax.global_lp_pool(x, 3, data_format="channels_first"),
        oriel.global_lp_pool(np.asarray(x), 3, axes=(2, 3)),
    )
    assert oriel.jax.global_max_pool(x, keepdims=False).shape == (2, 8)


@pytest.mark.parametrize("x64", [False, True])
def test_indices(x64):
    x = (
        np.random.default_rng(10).integers(-3, 4, (600, 9, 8, 60)).astype(np.float32)
    )  # many ties; several runs of scratch
    for name in ("max_pool", "min_pool"):
        for space in ("plane", "window"):
            with jax.enable_x64(x64):
                y, indices = getattr(oriel.jax, name)(jnp.asarray(x), (3, 2), (2, 1), "SAME", return_indices=space)
            assert indices.dtype == (np.int64 if x64 else np.int32)
            wanted = getattr(oriel, name)(x, (3, 2), (2, 1), "same", axes=(1, 2), return_indices=space)
            same_bits(y, wanted[0])
            np.testing.assert_array_equal(indices, wanted[1])
    with jax.enable_x64(x64):
        batched = jax.vmap(lambda x: oriel.jax.max_pool(x, (3, 2), return_indices=True), 3, 3)(
            jnp.asarray(x[:2, ..., None])
        )
        assert batched[1].shape == (2, 7, 7, 60, 1) and int(batched[1].max()) < 9 * 8
        gradient = jax.grad(lambda x: oriel.jax.max_pool(x, (3, 2), return_indices=True)[0].sum())(jnp.asarray(x[:2]))
        same_bits(gradient, jax.grad(lambda x: oriel.jax.max_pool(x, (3, 2)).sum())(jnp.asarray(x[:2])))


def test_tangents_of_many_rows():
    """More outputs than the handler's scratch holds, so it works in several runs."""
    x = jnp.asarray(np.random.default_rng(11).permutation(700 * 24 * 24).reshape(700, 24, 24, 1), jnp.float32)
    y, tangent = jax.jvp(lambda x: oriel.jax.max_pool(x, (2, 2)), (x,), (x + 7,))
    assert y.size > 2**18
    np.testing.assert_array_equal(tangent, y + 7)


def test_ties_nan_and_windows_without_a_tap():
    x = jnp.array([-0.0, 0.0, 7.0, 7.0, jnp.nan, 1.0], jnp.float32).reshape(6, 1)
    y, indices = oriel.jax.max_pool(x, (2,), (2,), return_indices=True)
    same_bits(y.ravel(), np.array([-0.0, 7.0, np.nan], np.float32))
    assert indices.ravel().tolist() == [0, 2, 4]
    dx = jax.grad(lambda x: oriel.jax.max_pool(x, (2,), (2,)).sum())(x)
    assert dx.ravel().tolist() == [1, 0, 1, 0, 1, 0]
    y, indices = oriel.jax.max_pool(x[:1], (1,), padding=((0, 1),), return_indices=True)
    assert indices.ravel().tolist() == [0, -1] and float(y[1, 0]) == -jnp.inf
    tangent = jax.jvp(lambda x: oriel.jax.max_pool(x, (1,), padding=((0, 1),)), (x[:1],), (x[:1] + 3,))[1]
    assert tangent.ravel().tolist() == [3, 0]


def test_arrays_of_other_kinds_and_empty_batches():
    x = np.arange(16, dtype=np.int32).reshape(1, 4, 4, 1)
    y = oriel.jax.max_pool(x, (2, 2), (2, 2))
    assert isinstance(y, jax.Array) and y.ravel().tolist() == [5, 7, 13, 15]
    assert oriel.jax.max_pool([[[1.0], [2.0]]], (2,)).tolist() == [[[2.0]]]
    empty = jnp.zeros((0, 4, 4, 3), jnp.float32)
    assert oriel.jax.max_pool(empty, (2, 2)).shape == (0, 3, 3, 3)
    assert jax.grad(lambda x: oriel.jax.max_pool(x, (2, 2)).sum())(empty).shape == empty.shape
    assert jax.jvp(lambda x: oriel.jax.max_pool(x, (2, 2)), (empty,), (empty,))[1].shape == (0, 3, 3, 3)


X = np.zeros((1, 4, 4, 1), np.float32)
BAD = [
    (TypeError, "window_shape", lambda: oriel.jax.max_pool(X, 2)),
    (TypeError, "window_shape", lambda: oriel.jax.max_pool(X, (2.0, 2))),
    (TypeError, "window_shape", lambda: oriel.jax.max_pool(X, "22")),
    (ValueError, "window_shape", lambda: oriel.jax.max_pool(X, ())),
    (ValueError, "window_shape", lambda: oriel.jax.max_pool(X, (0, 2))),
    (ValueError, "window", lambda: oriel.jax.max_pool(X, (5, 2))),
    (ValueError, "strides", lambda: oriel.jax.avg_pool(X, (2, 2), (0, 1))),
    (ValueError, "strides", lambda: oriel.jax.avg_pool(X, (2, 2), (1,))),
    (TypeError, "strides", lambda: oriel.jax.avg_pool(X, (2, 2), (1, True))),
    (ValueError, "padding must be .* but is .FULL.", lambda: oriel.jax.min_pool(X, (2, 2), padding="FULL")),
    (ValueError, "padding must be .* but is .FULL.", lambda: oriel.jax.median_pool(X, (2, 2), padding="FULL")),
    (TypeError, "padding", lambda: oriel.jax.min_pool(X, (2, 2), padding=(1, 1))),
    (TypeError, "padding", lambda: oriel.jax.min_pool(X, (2, 2), padding=None)),
    (ValueError, "padding", lambda: oriel.jax.min_pool(X, (2, 2), padding=((1, 1),))),
    (ValueError, "axis 1", lambda: oriel.jax.max_pool(X, (1, 1), padding=((-9, 0), (0, 0)))),
    (ValueError, "dilation", lambda: oriel.jax.max_pool(X, (2, 2), dilation=0)),
    (ValueError, "data_format", lambda: oriel.jax.max_pool(X, (2, 2), data_format="NHWC")),
    (ValueError, "inputs", lambda: oriel.jax.max_pool(X[0, 0], (2, 2))),
    (TypeError, "inputs", lambda: oriel.jax.max_pool(X.astype(np.complex64), (2, 2))),
    (TypeError, "inputs", lambda: oriel.jax.max_pool(object(), (2, 2))),
    (TypeError, "inputs", lambda: oriel.jax.max_pool(None, (2, 2))),
    (TypeError, "count_include_pad", lambda: oriel.jax.avg_pool(X, (2, 2), None, "VALID", 3)),
    (ValueError, "norm", lambda: oriel.jax.lp_pool(X, 0.5, (2, 2))),
    (TypeError, "norm_type", lambda: oriel.jax.lp_pool(X, "2", (2, 2))),
    (TypeError, "norm_type", lambda: oriel.jax.global_lp_pool(X, None)),
    (ValueError, "return_indices", lambda: oriel.jax.max_pool(X, (2, 2), return_indices="tensor")),
    (ValueError, "output_size", lambda: oriel.jax.adaptive_avg_pool(X, (0, 2))),
    (TypeError, "output_size", lambda: oriel.jax.adaptive_avg_pool(X, 2)),
    (TypeError, "axes", lambda: oriel.jax.global_max_pool(X, axes=(1.0,))),
    (ValueError, "axes", lambda: oriel.jax.global_max_pool(X, axes=(1, -3))),
    (ValueError, "axes", lambda: oriel.jax.global_max_pool(X, axes=4)),
    (ValueError, "inputs", lambda: oriel.jax.global_max_pool(X[0, 0])),
    (ValueError, "axis 1", lambda: oriel.jax.global_max_pool(X[:, :0])),
]


@pytest.mark.parametrize("error, word, call", BAD)
def test_bad_input(error, word, call):
    with pytest.raises(error, match=word):
        call()
    with pytest.raises(error, match=word):
        jax.jit(call)()
