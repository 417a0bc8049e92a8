"""oriel.jax's pools over valid elements: values, gradients, transformations, errors."""

import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
import oriel
import oriel.jax
import pytest
from oriel import _core

FOOTPRINT = np.array([[True, False], [True, True], [False, True]])
POOLS = {
    "median": lambda x: oriel.jax.median_pool(x, (3, 2), (2, 1), "SAME"),
    "median midpoint": lambda x: oriel.jax.median_pool(x, (2, 2), (1, 2), ((1, 0), (0, 1)), method="midpoint"),
    "median footprint": lambda x: oriel.jax.median_pool(x, (3, 2), footprint=FOOTPRINT),
    "quantile": lambda x: oriel.jax.quantile_pool(x, 0.3, (3, 2), method="linear"),
    "quantiles": lambda x: oriel.jax.quantile_pool(x, [0.1, 0.8], (3, 2), (2, 2), "SAME", method="nearest"),
    "var": lambda x: oriel.jax.var_pool(x, (3, 2), (2, 1), ddof=1),
    "std": lambda x: oriel.jax.std_pool(x, (2, 2), dilation=(2, 1)),
    "lse": lambda x: oriel.jax.lse_pool(x, (3, 2), (2, 1), "SAME", sharpness=1.5),
    "lse sum": lambda x: oriel.jax.lse_pool(x, (2, 2), sum=True),
    "soft": lambda x: oriel.jax.soft_pool(x, (3, 2), (2, 1), "SAME"),
    "channels first": lambda x: oriel.jax.var_pool(x, (3, 1), data_format="channels_first"),
}
every_pool = pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS.keys())


def distinct(shape, seed=0):
    """Numbers of both signs, none near another, so that differences of 1e-3 change no order."""
    n = int(np.prod(shape))
    return jnp.asarray(((np.random.default_rng(seed).permutation(n) + 0.5) / n * 4 - 2).reshape(shape), jnp.float32)


def energy(pool):
    return lambda x: (pool(x) ** 3).sum()


# -- Values


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint8", "int32", "uint16"])
def test_values_are_those_of_arrays(dtype):
    x = np.asarray(jnp.asarray(np.random.default_rng(1).integers(0, 100, (2, 7, 6, 3)), dtype))
    window = {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0), "axes": (1, 2)}
    ours = {"window_shape": (3, 2), "strides": (2, 1), "padding": ((1, 1), (0, 0))}
    cases = [("median", {}), ("median", {"method": "mean"}), ("var", {"ddof": 1}), ("std", {}), ("soft", {}),
             ("lse", {"sharpness": 0.5, "sum": True}), ("median", {"min_count": 5, "fill": 3})]  # fmt: skip
    for op, own in cases:
        wide = op != "median" and np.issubdtype(x.dtype, np.integer)
        expected = getattr(oriel, f"{op}_pool")(x, **window, **own, **({"dtype": "float32"} if wide else {}))
        for run in (lambda f: f, jax.jit):
            y = run(lambda x, op=op, own=own: getattr(oriel.jax, f"{op}_pool")(x, **ours, **own))(x)
            assert y.dtype == expected.dtype and y.shape == expected.shape
            np.testing.assert_array_equal(np.asarray(y), expected, f"{op} {own}")
    expected = oriel.quantile_pool(x, [0.25, 0.9], **window)
    np.testing.assert_array_equal(oriel.jax.quantile_pool(x, [0.25, 0.9], **ours), expected)
    assert oriel.jax.quantile_pool(x, [0.25], **ours).shape == (1, *expected.shape[1:])
    assert oriel.jax.quantile_pool(x, 0.25, **ours).shape == expected.shape[1:]


def test_results_of_integers_are_float64_where_jax_has_it():
    with jax.enable_x64(True):
        x = jnp.arange(12).reshape(1, 6, 2)
        y = oriel.jax.var_pool(x, (3,))
        assert y.dtype == jnp.float64
        np.testing.assert_array_equal(y, oriel.var_pool(np.asarray(x), 3, 1, axes=1))


def test_what_is_valid():
    """NaN, footprints, too few elements."""
    x = np.array(distinct((2, 6, 5, 2)))
    x[np.random.default_rng(2).random(x.shape) < 0.3] = np.nan
    words = {"nan_policy": "omit", "min_count": 2, "min_fraction": 0.4, "fill": -7.0, "footprint": FOOTPRINT}
    expected = oriel.median_pool(x, (3, 2), 1, axes=(1, 2), **words)
    assert (expected == -7).any() and (expected != -7).any()
    np.testing.assert_array_equal(oriel.jax.median_pool(x, (3, 2), **words), expected)
    assert np.isnan(oriel.jax.median_pool(x, (3, 2))).any()


def test_a_large_mean_does_not_spoil_the_variance():
    x = np.float32(1e5) + np.random.default_rng(3).standard_normal((1, 16, 16, 1), np.float32)
    expected = x.astype(np.float64).var()
    np.testing.assert_allclose(oriel.jax.var_pool(x, (16, 16))[0, 0, 0, 0], expected, rtol=1e-6)


# -- Gradients


@every_pool
def test_gradients_are_those_of_differences(pool):
    jax.test_util.check_grads(pool, (distinct((2, 5, 4, 2)),), 1, modes=["rev"], atol=3e-2, rtol=3e-2, eps=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_gradients_are_those_of_arrays(dtype):
    x = jnp.asarray(distinct((2, 6, 5, 3)), dtype)
    y, pull = jax.vjp(lambda x: oriel.jax.std_pool(x, (3, 2), (2, 1)), x)
    dy = jnp.asarray(distinct(y.shape, 4), dtype)
    expected = oriel.pool_backward("std", np.asarray(dy), np.asarray(x), (3, 2), (2, 1), axes=(1, 2))
    (dx,) = pull(dy)
    assert dx.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(dx), expected)


def test_what_a_mask_excludes_has_no_gradient():
    """The recipe of ValidTaps: elements that a mask excludes become NaN, which are left out."""
    x, mask = distinct((1, 6, 6, 1)), np.random.default_rng(5).random((1, 6, 6, 1)) < 0.6

    def loss(x):
        y = oriel.jax.median_pool(jnp.where(mask, x, jnp.nan), (2, 2), (2, 2), nan_policy="omit", min_count=1, fill=0)
        return (y**2).sum()

    plain = oriel.median_pool(np.asarray(x), 2, axes=(1, 2), mask=mask, min_count=1, fill=0)
    dx = oriel.pool_backward("median", 2 * plain, np.asarray(x), 2, axes=(1, 2), mask=mask, min_count=1, fill=0)
    np.testing.assert_allclose(loss(x), (plain**2).sum(), rtol=1e-6)
    np.testing.assert_array_equal(jax.grad(loss)(x), dx)
    assert not dx[~mask].any() and dx.any()


def test_forward_mode_and_second_derivatives_are_refused():
    x = distinct((1, 5, 4, 1))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(POOLS["var"], (x,), (x,))
    with pytest.raises(
        NotImplementedError, match="var_pool: the pools over valid elements of oriel.jax have no second derivatives"
    ):
        jax.grad(lambda x: jax.grad(energy(POOLS["var"]))(x).sum())(x)


# -- Transformations


@every_pool
@pytest.mark.parametrize("axis", range(5))
def test_batches_along_any_axis(pool, axis):
    x = jnp.stack([distinct((2, 5, 4, 2), seed) for seed in range(3)], axis)
    rows = jnp.unstack(x, axis=axis)
    np.testing.assert_array_equal(jax.vmap(pool, axis)(x), jnp.stack([pool(row) for row in rows]))
    gradient = jax.grad(energy(pool))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(gradient, axis))(x), jnp.stack([gradient(row) for row in rows]), rtol=1e-5, atol=1e-5
    )


@every_pool
def test_batches_of_one_operand(pool):
    x = distinct((2, 5, 4, 2))
    y, pull = jax.vjp(pool, x)
    cts = jnp.stack([distinct(y.shape, seed) for seed in range(3)], 2)
    (pulled,) = jax.vmap(pull, 2)(cts)
    np.testing.assert_allclose(pulled, jnp.stack([pull(ct)[0] for ct in jnp.unstack(cts, axis=2)]), rtol=1e-6)
    xs = jnp.stack([distinct((2, 5, 4, 2), seed) for seed in range(3)])
    pulls = jax.vmap(lambda x: jax.vjp(pool, x)[1](cts[:, :, 0])[0])(xs)
    np.testing.assert_allclose(pulls, jnp.stack([jax.vjp(pool, x)[1](cts[:, :, 0])[0] for x in xs]), rtol=1e-6)


@every_pool
def test_checkpoints_and_jit(pool):
    x = distinct((2, 5, 4, 2))
    expected = jax.grad(energy(pool))(x)
    np.testing.assert_array_equal(jax.jit(jax.grad(jax.checkpoint(energy(pool))))(x), expected)


@every_pool
def test_export_with_a_batch_of_any_size(pool):
    def step(x):
        return pool(x), jax.grad(energy(pool))(x)

    (batch,) = jax.export.symbolic_shape("b")
    checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in oriel.jax.EXPORTED_CALLS]
    shape = jax.ShapeDtypeStruct((batch, 5, 4, 2), jnp.float32)
    exported = jax.export.export(jax.jit(step), disabled_checks=checks)(shape)
    for n in (1, 3):
        x = distinct((n, 5, 4, 2))
        for ours, wanted in zip(exported.call(x), step(x), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-6)


def test_equal_calls_are_compiled_once():
    compiled = jax.jit(lambda x: oriel.jax.median_pool(x, (3, 2), footprint=FOOTPRINT.tolist()) +
                       oriel.jax.median_pool(x, (3, 2), footprint=FOOTPRINT))  # fmt: skip
    text = str(jax.make_jaxpr(compiled)(distinct((1, 5, 4, 1))))
    specs = {line.split("spec=")[1].split("\n")[0] for line in text.split("custom_vjp_call") if "spec=" in line}
    assert len(specs) == 1


def test_other_platforms_are_refused_in_a_sentence():
    checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in oriel.jax.EXPORTED_CALLS]
    with pytest.raises(NotImplementedError, match="runs on CPU devices, but this program is for cuda"):
        export = jax.export.export(jax.jit(POOLS["median"]), platforms=["cuda"], disabled_checks=checks)
        export(jax.ShapeDtypeStruct((1, 5, 4, 2), jnp.float32))


# -- What a program carries


def test_options_are_part_of_the_words():
    """Pools without options keep the words that programs were exported with before there were any."""
    pool = _core.Pool("max", 2)
    assert _core.statistic_words(pool, None) == _core.statistic_words(pool, {}) == pool.words
    assert pool.words[0] == 1
    quantile = _core.Pool("quantile", 2)
    words = [_core.statistic_words(quantile, options) for options in
             ({}, {"q": [0.25]}, {"q": [0.25, 0.5]}, {"fill": 1}, {"fill": 1.0}, {"min_count": 1}, {"rank": 0})]  # fmt: skip
    assert len(set(words)) == len(words) and {each[0] for each in words[1:]} == {2}


# -- Errors


@pytest.mark.parametrize("call, error, text", [
    (lambda x: oriel.jax.median_pool(x, (2, 2), mask=x), TypeError, "median_pool: there is no argument mask; keywords of valid elements are fill, footprint, min_count, min_fraction, nan_policy"),
    (lambda x: oriel.jax.median_pool(x, (2, 2), footprint=FOOTPRINT), ValueError, "median_pool: footprint must have the window's shape (2, 2), but has (3, 2)"),
    (lambda x: oriel.jax.median_pool(x, (2, 2), footprint=[[0, 0], [0, 0]]), ValueError, "median_pool: footprint must have a tap, but all are false"),
    (lambda x: oriel.jax.quantile_pool(x, 1.5, (2, 2)), ValueError, "quantile_pool: q must be in 0 to 1, but is 1.5"),
    (lambda x: oriel.jax.quantile_pool(x, [], (2, 2)), TypeError, "quantile_pool: q must be a number or a sequence of numbers, but is []"),
    (lambda x: oriel.jax.var_pool(x, (2, 2), ddof=-1), ValueError, "var_pool: ddof must be >= 0, but is -1"),
    (lambda x: oriel.jax.var_pool(x, (9, 2)), ValueError, "var_pool: "),
    (lambda x: oriel.jax.lse_pool(x, (2, 2), sharpness=0.0), ValueError, "lse_pool: sharpness must be "),
    (lambda x: oriel.jax.lse_pool(x, (2, 2), sharpness=x.sum()), TypeError, "lse_pool: sharpness must be a number of Python, but is "),
    (lambda x: oriel.jax.soft_pool(x, 2), TypeError, "soft_pool: window_shape must be a sequence of ints, but is 2"),
    (lambda x: oriel.jax.soft_pool(x, (2, 2), nan_policy="drop"), ValueError, "pool: nan_policy must be 'propagate' or 'omit', but is 'drop'"),
    (lambda x: oriel.jax.soft_pool(x + 1j, (2, 2)), TypeError, "soft_pool: inputs must have a real dtype of 8 to 64 bits, not complex64"),
])  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call(distinct((1, 5, 4, 1)))
    assert str(caught.value).startswith(text)
