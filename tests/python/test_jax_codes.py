"""Gradients of maxima in oriel.jax by codes that the forward pass stores: where they are used, and that they are right."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oriel
import oriel.jax
from oriel import _core
from oriel.jax import selection

# window, strides, padding, shape of NHWC inputs, whether codes pay
CODED = [
    ((2, 2), (2, 2), "VALID", (2, 64, 64, 16)),
    ((3, 3), (2, 2), "SAME", (2, 57, 56, 16)),
    ((2, 3), (2, 3), ((1, 0), (0, 2)), (3, 64, 96, 8)),
]


def values(shape, dtype, seed=0):
    """Few different values, so that windows have equal maxima, and both zeros and NaN."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, shape).astype(np.float32)
    x[rng.random(shape) < 0.01] = np.nan
    x[rng.random(shape) < 0.05] = -0.0
    return jnp.asarray(x, dtype)


def gradient(window, strides, padding, name="max_pool"):
    pool = getattr(oriel.jax, name)

    def value(x, dy):
        y = pool(x, window, strides, padding)
        return jnp.sum(jnp.where(dy == 0, 0, y * dy))

    return jax.grad(value)


def program(function, *arguments):
    return jax.jit(function).lower(*arguments).as_text()


def pulled(window, strides, padding, x, dy, name="max_pool"):
    _, back = jax.vjp(lambda x: getattr(oriel.jax, name)(x, window, strides, padding), x)
    return back(dy)[0]


def without_codes(monkeypatch):
    monkeypatch.setattr(selection, "_codes_pay", lambda x, spec: False)
    jax.clear_caches()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["max_pool", "min_pool"])
@pytest.mark.parametrize("case", CODED, ids=str)
def test_the_same_bits_as_without_codes(case, name, dtype, monkeypatch):
    window, strides, padding, shape = case
    with jax.enable_x64(dtype == "float64"):
        x = values(shape, dtype)
        y = getattr(oriel.jax, name)(x, window, strides, padding)
        dy = jnp.asarray(np.random.default_rng(1).standard_normal(y.shape), x.dtype)
        found = jax.jit(lambda x, dy: pulled(window, strides, padding, x, dy, name))(x, dy)
        eager = pulled(window, strides, padding, x, dy, name)
        without_codes(monkeypatch)
        expected = jax.jit(lambda x, dy: pulled(window, strides, padding, x, dy, name))(x, dy)
        jax.clear_caches()
    for one in (found, eager):
        assert one.dtype == expected.dtype and np.asarray(one).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.skipif(_core.has_cuda(), reason="a build for CUDA devices does not use codes")
@pytest.mark.skipif(_core.active_target() in ("SCALAR", "EMU128"), reason="codes are for vectors")
def test_a_training_step_looks_at_windows_once():
    """Programs of gradients call the handlers of codes where those pay, and no handler that recomputes maxima."""
    found = 0
    for window, strides, padding, shape in CODED:
        x = values(shape, "float32")
        text = program(gradient(window, strides, padding), x, jnp.ones(oriel.jax.max_pool(x, window, strides, padding).shape))
        spec = oriel.jax.pools._read_pool("max_pool", "max", x, window, strides, padding, 1, "channels_last")[1]
        pays = selection._codes_pay(x, spec)
        assert pays == ("@oriel_pool_codes" in text) == ("@oriel_pool_backward_codes" in text)
        assert pays != ("@oriel_pool_backward(" in text or "@oriel_pool(" in text)
        found += pays
    assert found > 0


def test_without_derivatives_there_are_no_codes():
    window, strides, padding, shape = CODED[0]
    text = program(lambda x: oriel.jax.max_pool(x, window, strides, padding), values(shape, "float32"))
    assert "oriel_pool_codes" not in text and "oriel_pool" in text


def test_windows_of_more_than_a_byte_have_no_codes():
    x = values((1, 64, 64, 8), "float32")
    text = program(jax.grad(lambda x: oriel.jax.max_pool(x, (17, 17), (17, 17)).sum()), x)
    assert "oriel_pool_codes" not in text and "oriel_pool_backward" in text


@pytest.mark.parametrize("mapped", [at for at in itertools.product((None, 0, 2), repeat=2) if at != (None, None)], ids=str)
def test_batches_of_inputs_and_gradients(mapped):
    """vmap over x, over the gradient, over both along unlike axes, of a pull-back by codes."""
    window, strides, padding, shape = CODED[0]
    x_at, dy_at = mapped
    count = 3
    xs = [values(shape, "float32", seed) for seed in range(count if x_at is not None else 1)]
    dys = [jnp.asarray(np.random.default_rng(seed).standard_normal((2, 32, 32, 16)), jnp.float32)
           for seed in range(count if dy_at is not None else 1)]
    x = xs[0] if x_at is None else jnp.stack(xs, x_at)
    dy = dys[0] if dy_at is None else jnp.stack(dys, dy_at)
    found = jax.vmap(lambda x, dy: pulled(window, strides, padding, x, dy), (x_at, dy_at))(x, dy)
    for i in range(count):
        expected = pulled(window, strides, padding, xs[i % len(xs)], dys[i % len(dys)])
        np.testing.assert_array_equal(found[i], expected)


def test_gradients_of_a_batch_of_pull_backs():
    """vmap of the pull-back alone: the codes are shared by all gradients."""
    window, strides, padding, shape = CODED[1]
    x = values(shape, "float32")
    y, back = jax.vjp(lambda x: oriel.jax.max_pool(x, window, strides, padding), x)
    dys = jnp.asarray(np.random.default_rng(0).standard_normal((4, *y.shape)), jnp.float32)
    for axis in (0, 3):
        found = jax.vmap(lambda dy: back(dy)[0], axis)(jnp.moveaxis(dys, 0, axis))
        np.testing.assert_array_equal(found, jnp.stack([back(dy)[0] for dy in dys]))


def test_derivatives_of_order_two_and_both_modes():
    """f(x) = sum(max(x)^3) has the Hessian product 6 max(x) t at the places of maxima; forward and backward agree."""
    window, strides, padding, shape = CODED[0]
    rng = np.random.default_rng(0)
    x, t = (jnp.asarray(rng.permutation(np.prod(shape)).reshape(shape) / 1e5, jnp.float32) for _ in range(2))

    def f(x):
        return jnp.sum(oriel.jax.max_pool(x, window, strides, padding) ** 3)

    forward_over_backward = jax.jvp(jax.grad(f), (x,), (t,))[1]
    backward_over_backward = jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), t))(x)
    backward_over_forward = jax.grad(lambda x: jax.jvp(f, (x,), (t,))[1])(x)
    y, indices = oriel.max_pool2d(np.asarray(x).transpose(0, 3, 1, 2), 2, return_indices=True)
    at = np.asarray(t).transpose(0, 3, 1, 2).reshape(2, 16, -1)
    picked = np.take_along_axis(at, indices.reshape(2, 16, -1), -1)
    expected = np.zeros_like(at)
    np.put_along_axis(expected, indices.reshape(2, 16, -1), 6 * y.reshape(2, 16, -1) * picked, -1)
    expected = expected.reshape(2, 16, 64, 64).transpose(0, 2, 3, 1)
    for found in (forward_over_backward, backward_over_backward, backward_over_forward):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_checkpointed_gradients_and_scans():
    window, strides, padding, shape = CODED[0]
    x = values(shape, "float32")
    x = jnp.where(jnp.isnan(x), 0, x)

    def layer(x):
        return oriel.jax.max_pool(x, window, strides, padding)

    plain = jax.grad(lambda x: (layer(x) ** 2).sum())(x)
    np.testing.assert_array_equal(jax.grad(lambda x: (jax.checkpoint(layer)(x) ** 2).sum())(x), plain)
    scanned = jax.grad(lambda xs: jax.lax.scan(lambda c, x: (c + (layer(x) ** 2).sum(), None), 0.0, xs)[0])(jnp.stack([x, x]))
    np.testing.assert_array_equal(scanned, jnp.stack([plain, plain]))


def test_empty_batches():
    x = jnp.zeros((0, 64, 64, 8))
    assert jax.grad(lambda x: oriel.jax.max_pool(x, (2, 2), (2, 2)).sum())(x).shape == x.shape


def test_codes_pay_refuses_what_it_cannot_read():
    words = _core.Pool("max", 2).words
    with pytest.raises(ValueError, match="dtype must be the name of a dtype"):
        _core.codes_pay(words, (1, 4, 4), "float33")
    with pytest.raises(ValueError, match="pool words"):
        _core.codes_pay(words[:-1], (1, 4, 4), "float32")
