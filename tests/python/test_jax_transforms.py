"""Transformations of oriel.jax: derivatives of any order, batching over any axis, checkpoints, export."""

import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
import oriel.jax
import pytest
from jax import lax

POOLS = {
    "max": lambda x: oriel.jax.max_pool(x, (3, 2), (2, 1), "SAME"),
    "min": lambda x: oriel.jax.min_pool(x, (3, 2), (1, 2), ((1, 0), (-1, 1))),
    "max dilated": lambda x: oriel.jax.max_pool(x, (2, 2), dilation=(2, 1)),
    "avg": lambda x: oriel.jax.avg_pool(x, (3, 2), (2, 1), "SAME"),
    "avg exclude": lambda x: oriel.jax.avg_pool(x, (3, 2), (2, 1), "SAME", False),
    "sum": lambda x: oriel.jax.sum_pool(x, (2, 2), dilation=2),
    "lp1": lambda x: oriel.jax.lp_pool(x, 1, (3, 2)),
    "lp2": lambda x: oriel.jax.lp_pool(x, 2, (3, 2)),
    "lp3": lambda x: oriel.jax.lp_pool(x, 3, (2, 2), (2, 2), "SAME"),
    "lp inf": lambda x: oriel.jax.lp_pool(x, np.inf, (3, 2)),
    "adaptive avg": lambda x: oriel.jax.adaptive_avg_pool(x, (3, 2)),
    "adaptive max": lambda x: oriel.jax.adaptive_max_pool(x, (2, 3)),
    "global lp2.5": lambda x: oriel.jax.global_lp_pool(x, 2.5),
    "channels first": lambda x: oriel.jax.max_pool(x, (3, 1), data_format="channels_first"),
}
every_pool = pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS.keys())


def distinct(shape, seed=0):
    """Numbers of both signs, none near another or near 0, so that differences of 1e-3 change no maximum."""
    n = int(np.prod(shape))
    return jnp.asarray(((np.random.default_rng(seed).permutation(n) + 0.5) / n * 4 - 2).reshape(shape), jnp.float32)


def energy(pool):
    return lambda x: (pool(x) ** 3).sum()


@every_pool
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_derivatives_of_order_two(pool, mode):
    jax.test_util.check_grads(pool, (distinct((2, 5, 4, 2)),), 2, modes=[mode], atol=3e-2, rtol=3e-2, eps=1e-3)


@every_pool
def test_second_derivatives_agree_forward_and_backward(pool):
    x = distinct((1, 4, 4, 1), 1)
    forward, backward = jax.jacfwd(pool)(x), jax.jacrev(pool)(x)
    np.testing.assert_allclose(forward, backward, rtol=1e-5, atol=1e-6)
    hessian = jax.hessian(energy(pool))(x)
    np.testing.assert_allclose(hessian, jax.jacrev(jax.jacrev(energy(pool)))(x), rtol=1e-4, atol=1e-4)
    v = distinct(x.shape, 2)
    product = jax.jit(lambda x, v: jax.jvp(jax.grad(energy(pool)), (x,), (v,))[1])(x, v)
    np.testing.assert_allclose(product, jnp.tensordot(hessian, v, 4), rtol=1e-4, atol=1e-4)


@every_pool
@pytest.mark.parametrize("axis", range(5))
def test_batches_along_any_axis(pool, axis):
    x = jnp.stack([distinct((2, 5, 4, 2), seed) for seed in range(3)], axis)
    rows = jnp.unstack(x, axis=axis)
    np.testing.assert_array_equal(jax.vmap(pool, axis, axis)(x), jnp.stack([pool(row) for row in rows], axis))
    gradient = jax.grad(energy(pool))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(gradient, axis, 0))(x), jnp.stack([gradient(row) for row in rows]), rtol=1e-5, atol=1e-5
    )


@every_pool
def test_batches_along_unlike_axes(pool):
    rows = [distinct((2, 5, 4, 2), seed) for seed in range(3)]
    push = lambda x, t: jax.jvp(pool, (x,), (t,))[1]  # noqa: E731
    pushed = jax.vmap(push, (3, 1))(jnp.stack(rows, 3), jnp.stack(rows[::-1], 1))
    wanted = jnp.stack([push(x, t) for x, t in zip(rows, rows[::-1], strict=True)])
    np.testing.assert_allclose(pushed, wanted, rtol=1e-5, atol=1e-5)


@every_pool
def test_batches_of_one_operand(pool):
    """Many tangents (gradients) for one x, and one for many x."""
    x, many = distinct((2, 5, 4, 2)), jnp.stack([distinct((2, 5, 4, 2), seed) for seed in range(3)])
    push = lambda x, t: jax.jvp(pool, (x,), (t,))[1]  # noqa: E731
    np.testing.assert_allclose(
        jax.vmap(push, (None, 0))(x, many), jnp.stack([push(x, t) for t in many]), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        jax.vmap(push, (0, None))(many, x), jnp.stack([push(t, x) for t in many]), rtol=1e-5, atol=1e-6
    )
    pull = lambda x, ct: jax.vjp(pool, x)[1](ct)[0]  # noqa: E731
    ct, cts = pool(x), jnp.stack([pool(t) for t in many])
    np.testing.assert_allclose(
        jax.vmap(pull, (None, 0))(x, cts), jnp.stack([pull(x, ct) for ct in cts]), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        jax.vmap(pull, (0, None))(many, ct), jnp.stack([pull(x, ct) for x in many]), rtol=1e-5, atol=1e-6
    )
    # Differentiated again, the x that stands for a batch gets the sum of its derivatives.
    total = lambda x: (jax.vmap(pull, (None, 0))(x, cts) ** 2).sum()  # noqa: E731
    apart = lambda x: sum((pull(x, ct) ** 2).sum() for ct in cts)  # noqa: E731
    wanted = np.asarray(jax.grad(apart)(x))
    most = 2.0**-16 * np.abs(wanted).max()  # sums of a few terms of either sign in float32, in two orders
    np.testing.assert_allclose(jax.grad(total)(x), wanted, rtol=0, atol=most)


@every_pool
def test_linearize_transpose_and_checkpoint(pool):
    x, t = distinct((2, 5, 4, 2)), distinct((2, 5, 4, 2), 3)
    y, push = jax.linearize(pool, x)
    np.testing.assert_array_equal(y, pool(x))
    np.testing.assert_allclose(push(t), jax.jvp(pool, (x,), (t,))[1], rtol=1e-6)
    ct = pool(t)
    pulled = jax.linear_transpose(push, x)(ct)[0]
    np.testing.assert_allclose(pulled, jax.vjp(pool, x)[1](ct)[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(jnp.vdot(pulled, t), jnp.vdot(ct, push(t)), rtol=1e-4)  # <J' ct, t> = <ct, J t>
    np.testing.assert_allclose(jax.grad(jax.checkpoint(energy(pool)))(x), jax.grad(energy(pool))(x), rtol=1e-6)
    looped = lax.fori_loop(0, 2, lambda _, x: x + pool(x).sum(), x)
    np.testing.assert_allclose(looped, (x1 := x + pool(x).sum()) + pool(x1).sum(), rtol=1e-5)


@every_pool
def test_export_with_a_batch_of_any_size(pool):
    def step(x):
        return pool(x), jax.grad(energy(pool))(x)

    (batch,) = jax.export.symbolic_shape("b")
    checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in oriel.jax.EXPORTED_CALLS]
    exported = jax.export.export(jax.jit(step), disabled_checks=checks)(
        jax.ShapeDtypeStruct((batch, 5, 4, 2), jnp.float32)
    )
    for n in (1, 3):
        x = distinct((n, 5, 4, 2))
        for ours, wanted in zip(exported.call(x), step(x)):
            np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_export_without_the_names_is_refused():
    with pytest.raises(ValueError, match="oriel_pool"):
        jax.export.export(jax.jit(POOLS["max"]))(jax.ShapeDtypeStruct((1, 5, 4, 2), jnp.float32))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_gradients_of_maxima_against_lax(dtype):
    with jax.enable_x64(dtype == "float64"):
        x = jnp.asarray(np.random.default_rng(4).permutation(2 * 9 * 8).reshape(2, 9, 8, 1) % 100, dtype)  # with ties
        ct = jnp.asarray(np.random.default_rng(5).integers(-3, 4, (2, 8, 7, 1)), dtype)
        theirs = jax.vjp(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID"), x)[1](
            ct
        )[0]
        ours = jax.vjp(lambda x: oriel.jax.max_pool(x, (2, 2)), x)[1](ct)[0]
        assert ours.dtype == theirs.dtype == jnp.dtype(dtype)
        np.testing.assert_array_equal(ours.astype(jnp.float32), theirs.astype(jnp.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_second_derivatives_of_lp_in_narrow_types(dtype):
    gradient = jax.grad(lambda x: POOLS["lp3"](x).sum())
    x = (200 * distinct((1, 4, 4, 1))).astype(dtype)  # 200^3 is infinite in float16
    t = x + 1
    ours = jax.jvp(gradient, (x,), (t,))[1]
    assert ours.dtype == jnp.dtype(dtype)
    wide_x, wide_t = x.astype(jnp.float32), t.astype(jnp.float32)
    wanted = np.asarray(jax.jvp(gradient, (wide_x,), (wide_t,))[1])
    # The result is rounded once; in float32 its terms, which nearly cancel, are each a little off.
    hessian = np.asarray(jax.jacfwd(gradient)(wide_x)).reshape(16, 16)
    terms = (np.abs(hessian) @ np.abs(np.asarray(wide_t).ravel())).reshape(wanted.shape)
    most = float(jnp.finfo(dtype).eps) / 2 * np.abs(wanted) + 2.0**-22 * terms
    assert (np.abs(np.asarray(ours.astype(jnp.float32)) - wanted) <= most).all()


def test_lp_at_zero_has_finite_derivatives():
    x = jnp.array([0.0, 0.0, 3.0, 0.0], jnp.float32).reshape(4, 1)
    for p in (1, 2, 3, np.inf):
        function = lambda x: oriel.jax.lp_pool(x, p, (2,), (2,)).sum()  # noqa: E731
        assert jax.grad(function)(x).ravel().tolist() == [0, 0, 1, 0]
        assert np.isfinite(jax.hessian(function)(x)).all()


def test_integers_have_no_derivative_but_may_stand_beside_what_has():
    def function(scale, x):
        y, indices = oriel.jax.max_pool(scale * x, (2, 2), return_indices=True)
        counts = oriel.jax.sum_pool(indices, (2, 2)) + oriel.jax.reduce_window(indices, 0, lax.add, (1, 2, 2, 1))
        return y.sum() * 2 + counts.sum()

    x = distinct((1, 5, 4, 1))
    assert float(jax.grad(function)(3.0, x)) == pytest.approx(2 * float(oriel.jax.max_pool(x, (2, 2)).sum()), rel=1e-4)


def test_equal_layers_and_shapes_are_compiled_once():
    traces = []

    @jax.jit
    def step(layer, x):
        traces.append(layer)
        return layer(x)

    x = distinct((1, 5, 4, 1))
    step(oriel.jax.MaxPool2D(2), x)
    step(oriel.jax.MaxPool2D((2, 2), padding="VALID"), x)
    assert len(traces) == 1
    step(oriel.jax.MaxPool2D(3), x)
    assert len(traces) == 2


def test_without_jit():
    x = distinct((1, 5, 4, 1))
    wanted = jax.grad(energy(POOLS["lp3"]))(x)
    with jax.disable_jit():
        np.testing.assert_allclose(jax.grad(energy(POOLS["lp3"]))(x), wanted, rtol=1e-5)
        y, indices = oriel.jax.max_pool(x, (2, 2), return_indices=True)
    np.testing.assert_array_equal(y, oriel.jax.max_pool(x, (2, 2)))
    assert indices.shape == y.shape


def test_nan_checks_of_jax():
    x = distinct((1, 5, 4, 1))
    bad = x.at[0, 2, 2, 0].set(jnp.nan)
    with jax.debug_nans(True):
        assert jax.grad(energy(POOLS["max"]))(x).shape == x.shape
        with pytest.raises(FloatingPointError):
            oriel.jax.max_pool(bad, (2, 2))


def test_other_platforms_are_refused_in_a_sentence():
    checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in oriel.jax.EXPORTED_CALLS]
    for pool in (POOLS["max"], jax.grad(energy(POOLS["lp3"]))):
        with pytest.raises(NotImplementedError, match="oriel.jax runs on CPU devices, but this program is for cuda"):
            export = jax.export.export(jax.jit(pool), platforms=["cuda"], disabled_checks=checks)
            export(jax.ShapeDtypeStruct((1, 5, 4, 2), jnp.float32))
