"""oriel.jax.reduce_window against a loop over windows, and against jax.lax.reduce_window, on random problems."""

import itertools

import jax
import jax.test_util
import jax.numpy as jnp
import numpy as np
import oriel.jax
import pytest
from jax import lax
from random_seeds import seeds

COUNT, FRESH_COUNT = 60, 20
COMPUTATIONS = {
    "max": (lax.max, jnp.maximum, np.maximum),
    "min": (lax.min, jnp.minimum, np.minimum),
    "add": (lax.add, jnp.add, np.add),
}


def identity(op, dtype):
    if op == "add":
        return dtype.type(0)
    if dtype == np.bool_:
        return np.bool_(op == "min")
    if jnp.issubdtype(dtype, jnp.floating):
        return dtype.type(-np.inf if op == "max" else np.inf)
    return dtype.type(np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max)


def loop(x, init, combine, window, strides, padding, base, dilation):
    """Each result from its definition: the taps are those that exist in x."""
    extents = [b * (n - 1) + 1 + lo + hi for n, b, (lo, hi) in zip(x.shape, base, padding)]
    outputs = [max(0, (e - d * (k - 1) - 1) // s + 1) for e, k, s, d in zip(extents, window, strides, dilation)]
    y = np.full(outputs, init, x.dtype)
    for o in itertools.product(*map(range, outputs)):
        for t in itertools.product(*map(range, window)):
            places = [oo * s + tt * d - lo for oo, s, tt, d, (lo, _) in zip(o, strides, t, dilation, padding)]
            limits = [b * (n - 1) + 1 + min(hi, 0) for n, b, (_, hi) in zip(x.shape, base, padding)]
            firsts = [max(-lo, 0) for lo, _ in padding]
            if all(
                p % b == 0 and first <= p < limit and p >= 0 for p, b, first, limit in zip(places, base, firsts, limits)
            ):
                y[o] = combine(y[o], x[tuple(p // b for p, b in zip(places, base))])
    return y


def draw(rng):
    rank = int(rng.integers(1, 5))
    shape = tuple(int(n) for n in rng.integers(1, {1: 12, 2: 7, 3: 4, 4: 4}[rank] + 1, rank))
    window, strides, dilation, base = (tuple(int(v) for v in rng.integers(1, most + 1, rank)) for most in (3, 3, 2, 2))
    padding = tuple((int(lo), int(hi)) for lo, hi in rng.integers(-1, 3, (rank, 2)))
    if rng.random() < 0.5:
        base = (1,) * rank
    extents = [b * (n - 1) + 1 + lo + hi for n, b, (lo, hi) in zip(shape, base, padding)]
    if any(e < 1 for e in extents):
        return draw(rng)
    return shape, window, strides, padding, base, dilation


def elements(rng, shape, dtype):
    if dtype == np.bool_:
        return rng.random(shape) < 0.4
    if jnp.issubdtype(dtype, jnp.floating):
        x = rng.integers(-9, 10, shape).astype(dtype)  # exact sums
        if rng.random() < 0.3:
            x[rng.random(shape) < 0.15] = np.nan
        return x
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("seed", seeds())
def test_random_problems(seed, x64):
    rng = np.random.default_rng(seed)
    names = ["float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "bool"] + [
        "float64",
        "int64",
        "uint64",
    ] * x64
    for _ in range(COUNT if seed == 1 else FRESH_COUNT):
        shape, window, strides, padding, base, dilation = draw(rng)
        op = str(rng.choice(["max", "min", "add"]))
        dtype = np.dtype(str(rng.choice(names)))
        if op == "add" and dtype == np.bool_:
            continue
        x = elements(rng, shape, dtype)
        init = identity(op, dtype) if rng.random() < 0.5 else elements(rng, (), dtype)[()]
        computation = COMPUTATIONS[op][int(rng.integers(0, 2))]
        with jax.enable_x64(x64):
            ours = oriel.jax.reduce_window(
                jnp.asarray(x), jnp.asarray(init), computation, window, strides, padding, base, dilation
            )
        with np.errstate(all="ignore"):
            wanted = loop(x, init, COMPUTATIONS[op][2], window, strides, padding, base, dilation)
        assert ours.dtype == dtype
        np.testing.assert_array_equal(
            np.asarray(ours), wanted, err_msg=f"{op} {dtype} {shape} {window} {strides} {padding} {base} {dilation}"
        )


@pytest.mark.parametrize("op", ["max", "min", "add"])
@pytest.mark.parametrize("padding", ["VALID", "SAME", "SAME_LOWER", "same"])
def test_words_of_padding_and_real_sums(op, padding):
    x = jnp.asarray(np.random.default_rng(3).standard_normal((3, 17, 19, 4)), jnp.float32)
    init = jnp.float32(identity(op, x.dtype))
    arguments = (init, COMPUTATIONS[op][0], (1, 3, 4, 2), (1, 2, 3, 1), padding, None, (1, 2, 1, 1))
    ours, theirs = oriel.jax.reduce_window(x, *arguments), lax.reduce_window(x, *arguments)
    assert ours.shape == theirs.shape
    if op == "add":
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6)  # 24 terms of about 1
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("op", ["max", "min", "add"])
def test_bfloat16_and_python_numbers_as_init_value(op):
    x = jnp.asarray(np.random.default_rng(4).integers(-9, 10, (5, 9)), jnp.bfloat16)
    init = {"max": -jnp.inf, "min": jnp.inf, "add": 0.0}[op]
    arguments = (init, COMPUTATIONS[op][0], (2, 3), (1, 2), ((1, 0), (0, 1)))
    ours = oriel.jax.reduce_window(x, *arguments)
    assert ours.dtype == jnp.bfloat16
    np.testing.assert_array_equal(ours.astype(jnp.float32), lax.reduce_window(x, *arguments).astype(jnp.float32))


def test_narrow_integer_sums_wrap():
    x = jnp.array([200, 100, 50], jnp.uint8)
    assert oriel.jax.reduce_window(x, jnp.uint8(0), lax.add, (2,)).tolist() == [44, 150]
    x = jnp.array([2**31 - 1, 1, 1], jnp.int32)
    assert oriel.jax.reduce_window(x, 0, lax.add, (2,)).tolist() == [-(2**31), 2]


def uses_oriel(function, *arguments):
    return "oriel" in str(jax.make_jaxpr(function)(*arguments))


def test_what_oriel_computes_and_what_jax_lax_does():
    x = jnp.ones((4, 6), jnp.float32)
    pool = oriel.jax.reduce_window
    for computation in (lax.max, jnp.maximum, lax.min, jnp.minimum, lax.add, jnp.add):
        assert uses_oriel(lambda x: pool(x, 1.0, computation, (2, 2)), x), computation
    assert uses_oriel(lambda x, init: pool(x, init, lax.max, (2, 2)), x, jnp.float32(3))  # a traced init_value
    assert not uses_oriel(lambda x: pool(x, 1.0, lax.mul, (2, 2)), x)
    assert not uses_oriel(lambda x: pool(x, 0.0, lax.max, (1, 1)), x)  # nothing to pool
    np.testing.assert_array_equal(pool(x * 2, 1.0, lax.mul, (2, 2)), lax.reduce_window(x * 2, 1.0, lax.mul, (2, 2)))
    z = x * (1 + 2j)
    np.testing.assert_array_equal(pool(z, 0j, lax.add, (2, 2)), lax.reduce_window(z, 0j, lax.add, (2, 2)))
    two = pool((x, x), (-jnp.inf, 0.0), lambda a, b: (lax.max(a[0], b[0]), lax.add(a[1], b[1])), (2, 2))
    assert two[0].shape == two[1].shape == (3, 5) and float(two[1][0, 0]) == 4
    assert pool(x, -jnp.inf, lax.max, (5, 1)).shape == (0, 6)  # as in jax.lax, no window fits
    assert pool(jnp.ones((2,) * 9), -jnp.inf, lax.max, (2,) * 9).shape == (1,) * 9


@pytest.mark.parametrize(
    "bad",
    [
        {"window_dimensions": (2,)},
        {"window_dimensions": (0, 1)},
        {"window_strides": (1, 1, 1)},
        {"window_strides": (0, 1)},
        {"padding": "NOT_A_PADDING"},
        {"base_dilation": (1,)},
        {"window_dilation": (1, 2, 3)},
        {"init_value": jnp.ones(2)},
        {"init_value": jnp.float16(1)},
    ],
)
def test_bad_arguments_raise_what_jax_lax_raises(bad):
    arguments = {"init_value": -jnp.inf, "computation": lax.max, "window_dimensions": (2, 2), **bad}
    with pytest.raises(Exception) as theirs:
        lax.reduce_window(jnp.ones((3, 3)), **arguments)
    with pytest.raises(theirs.type) as ours:
        oriel.jax.reduce_window(jnp.ones((3, 3)), **arguments)
    assert str(ours.value) == str(theirs.value)


def test_derivatives():
    x = jnp.asarray(np.random.default_rng(5).permutation(3 * 7 * 6).reshape(3, 7, 6), jnp.float32)
    ct = jnp.asarray(np.random.default_rng(6).integers(-5, 6, (2, 3, 6)), jnp.float32)
    for op in ("max", "min", "add"):
        arguments = (identity(op, x.dtype), COMPUTATIONS[op][0], (2, 3, 1), (1, 2, 1))
        ours = jax.vjp(lambda x: oriel.jax.reduce_window(x, *arguments), x)[1](ct)[0]
        theirs = jax.vjp(lambda x: lax.reduce_window(x, *arguments), x)[1](ct)[0]
        np.testing.assert_array_equal(ours, theirs)
    # An init_value that wins takes the derivative.
    gradient = jax.grad(lambda x, init: oriel.jax.reduce_window(x, init, lax.max, (3,), (3,)).sum(), argnums=(0, 1))
    dx, dinit = gradient(jnp.array([1.0, 5.0, 2.0, 0.0, -1.0, 2.0]), 3.0)
    assert dx.tolist() == [0, 1, 0, 0, 0, 0] and float(dinit) == 1


def test_derivatives_with_holes_and_cropping():
    x = jnp.asarray(np.random.default_rng(7).standard_normal((5, 6)), jnp.float32)
    for op in ("max", "min", "add"):
        arguments = (identity(op, x.dtype), COMPUTATIONS[op][0], (3, 2), (1, 2), ((-1, 2), (1, -2)), (2, 1), (1, 2))
        jax.test_util.check_grads(
            lambda x: oriel.jax.reduce_window(x, *arguments), (x,), 2, eps=1e-3, atol=2e-2, rtol=2e-2
        )
