"""Random problems for jax.lax.reduce_window: asymmetric padding, dilation, windows over any axis."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import bridge

jax.config.update("jax_enable_x64", True)
COUNT = 250
FRESH_COUNT = 40
REDUCTIONS = {"max": lax.max, "min": lax.min, "sum": lax.add}


def first_value(op, dtype):
    if op == "sum":
        return np.array(0, dtype)
    if np.issubdtype(dtype, np.floating):
        return np.array(-np.inf if op == "max" else np.inf, dtype)
    info = np.iinfo(dtype)
    return np.array(info.min if op == "max" else info.max, dtype)


def draw(rng):
    rank = int(rng.integers(1, 6))
    shape = [int(v) for v in rng.integers(1, {1: 50, 2: 14, 3: 9, 4: 6, 5: 4}[rank], rank, endpoint=True)]
    axes = list(range(rank))
    kernel = [int(v) for v in rng.integers(1, 5, rank)]
    stride = [int(v) for v in rng.integers(1, 4, rank)]
    dilation = [int(v) for v in rng.integers(1, 4, rank)]
    low = [int(v) for v in rng.integers(0, 5, rank)]
    high = [int(v) for v in rng.integers(0, 5, rank)]
    if rng.random() < 0.5:  # leave one axis, batch or channels, alone
        axis = int(rng.integers(rank))
        kernel[axis] = stride[axis] = dilation[axis] = 1
        low[axis] = high[axis] = 0
    fits = all(n + l + h >= d * (k - 1) + 1 for n, l, h, d, k in zip(shape, low, high, dilation, kernel))
    return (shape, axes, kernel, stride, dilation, low, high) if fits else draw(rng)


def name_of(op, dtype, shape, axes, kernel, stride, dilation, low, high):
    padding = "x".join(f"{l}+{h}" for l, h in zip(low, high))
    return (f"{op}:{dtype}:{'x'.join(map(str, shape))}:" + bridge.word("k", kernel) + bridge.word("s", stride)
            + f"p{padding}" + bridge.word("d", dilation) + ":axes" + ",".join(map(str, axes)))


def reduce_window(op, x, kernel, stride, dilation, low, high):
    return np.asarray(lax.reduce_window(jnp.asarray(x), first_value(op, x.dtype), REDUCTIONS[op], tuple(kernel),
                                        tuple(stride), tuple(zip(low, high)), window_dilation=tuple(dilation)))


@pytest.mark.parametrize("seed", bridge.seeds())
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    count = COUNT if seed == 1 else FRESH_COUNT
    for _ in range(count):
        shape, axes, kernel, stride, dilation, low, high = draw(rng)
        op = str(rng.choice(["max", "min", "sum"]))
        dtype = str(rng.choice(["f64", "f32", "i32", "u8", "i64"]))
        kind = "integers" if dtype[0] in "iu" else str(rng.choice(["integers", "reals", "specials"]))
        if op == "sum" and kind == "specials":
            kind = "reals"
        x = bridge.elements(rng, shape, dtype, kind)
        if dtype == "u8" and op == "sum":
            x //= 8  # XLA wraps, Oriel saturates
            if np.prod(kernel) > 200:
                continue
        name = name_of(op, dtype, shape, axes, kernel, stride, dilation, low, high)
        ours = bridge.forward(name, x)
        theirs = reduce_window(op, x, kernel, stride, dilation, low, high)
        if op == "sum" and kind == "reals":
            exact = reduce_window(op, x.astype(np.float64), kernel, stride, dilation, low, high)
            magnitude = reduce_window(op, np.abs(x).astype(np.float64), kernel, stride, dilation, low, high)
            depth = bridge.tree_depth(kernel) + (int(np.prod(kernel)) if dtype == "f64" else 0)  # XLA's own error
            assert np.all(np.abs(ours - exact) <= bridge.sum_bound(dtype, depth, exact, magnitude)), name
        else:
            # XLA does not say which zero of a tie it takes.
            assert bridge.same(ours + 0 if ours.dtype.kind == "f" else ours,
                               theirs + 0 if ours.dtype.kind == "f" else theirs), name
    print(f"{count} problems agree with JAX {jax.__version__}")


def test_differs_integer_sums_wrap():
    x = np.array([200, 100], np.uint8)
    assert reduce_window("sum", x, [2], [1], [1], [0], [0]).item() == 44
    assert bridge.forward("sum:u8:2:k2", x).item() == 255
