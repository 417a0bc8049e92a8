"""reduce_window against jax.lax.reduce_window."""

import functools
import math
import operator

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch
from random_seeds import seeds

from oriel.windows import reduce_window

COMPUTATIONS = {np.maximum: jax.lax.max, np.minimum: jax.lax.min, np.add: jax.lax.add}
IDENTITIES = {np.maximum: -math.inf, np.minimum: math.inf, np.add: 0.0}


def random_problem(rng):
    rank = int(rng.integers(1, 5))
    shape = rng.integers(1, 7, rank)
    window = [int(k) for k in rng.integers(1, 4, rank)]
    arguments = {"window_strides": [int(s) for s in rng.integers(1, 4, rank)]}
    arguments["padding"] = str(rng.choice(["VALID", "SAME", "SAME_LOWER", "same"]))
    if rng.random() < 0.6:
        arguments["padding"] = [
            tuple(int(p) for p in rng.integers(-2 if rng.random() < 0.3 else 0, 4, 2)) for _ in shape
        ]
    for word in ("base_dilation", "window_dilation"):
        if rng.random() < 0.4:
            arguments[word] = [int(d) for d in rng.integers(1, 4, rank)]
    return shape, window, arguments


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("computation", COMPUTATIONS, ids=lambda f: f.__name__)
def test_random_problems(computation, seed):
    rng = np.random.default_rng(seed)
    empty = 0
    for i in range(30):
        shape, window, arguments = random_problem(rng)
        dtype = (np.float32, np.int32)[i % 2]
        x = rng.integers(-50, 50, shape).astype(dtype)  # sums of them are exact in any order
        initial = int(rng.integers(-60, 60))
        if i % 4 == 0:
            initial = IDENTITIES[computation]
        problem = (shape, window, arguments, initial)
        theirs = np.asarray(
            jax.lax.reduce_window(x, np.asarray(initial, dtype), COMPUTATIONS[computation], window, **arguments)
        )
        ours = reduce_window(x, initial, computation, window, **arguments)
        assert type(ours) is np.ndarray and ours.dtype == dtype and ours.shape == theirs.shape, problem
        np.testing.assert_array_equal(ours, theirs, err_msg=str(problem))
        empty += ours.size == 0
    assert empty < 20


X = np.random.default_rng(1).integers(0, 2, (3, 5))
# JAX 0.10 fails on "SAME" without strides.
CASES = [
    {"padding": "SAME", "window_strides": (2, 1)},
    {"padding": ((-1, 2), (1, -1))},
    {"window_strides": (9, 9)},
    {"base_dilation": (2, 3), "padding": "SAME", "window_strides": (1, 2)},
    {"padding": ((-3, 0), (0, 0))},
    {"padding": ((-3, 4), (0, 0))},
]


@functools.cache
def expected_of(dtype, computation, initial, case):
    if dtype is np.bool_ and computation is np.add:
        computation = np.maximum  # JAX has no sum of booleans; S7 says "any"
    return np.asarray(
        jax.lax.reduce_window(
            X.astype(dtype), np.asarray(initial, dtype), COMPUTATIONS[computation], (2, 2), **CASES[case]
        )
    )


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray, torch.from_numpy], ids=["numpy", "jax", "torch"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int32, np.bool_])
def test_kinds_of_arrays(kind, dtype):
    x = kind(X.astype(dtype))
    for computation in COMPUTATIONS:
        for initial in (0, 1):
            for case, arguments in enumerate(CASES):
                y = reduce_window(x, initial, computation, (2, 2), **arguments)
                assert type(y) is type(x) and y.dtype == x.dtype
                np.testing.assert_array_equal(np.asarray(y), expected_of(dtype, computation, initial, case))


def test_bfloat16():
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(ml_dtypes.bfloat16)
    expected = jax.lax.reduce_window(
        x, np.asarray(0.5, x.dtype), jax.lax.max, (2, 2), (1, 1), "SAME", base_dilation=(1, 2)
    )
    for operand in (x, jnp.asarray(x), torch.from_numpy(x.astype(np.float32)).to(torch.bfloat16)):
        y = reduce_window(operand, 0.5, "max", (2, 2), padding="SAME", base_dilation=(1, 2))
        assert type(y) is type(operand) and y.dtype == operand.dtype
        y = y.to(torch.float32) if isinstance(y, torch.Tensor) else y
        np.testing.assert_array_equal(np.asarray(y, np.float32), np.asarray(expected, np.float32))


def test_names_of_computations():
    x = np.array([1.0, 3.0, 2.0])
    for op, computations in (
        ("max", ["max", np.maximum, jax.lax.max, jnp.maximum, torch.maximum]),
        ("min", ["min", np.minimum, jax.lax.min, jnp.minimum, torch.minimum]),
        ("add", ["add", np.add, jax.lax.add, jnp.add, torch.add]),
    ):
        for computation in computations:
            expected = {"max": [3, 3], "min": [1, 2], "add": [4, 5]}[op]
            initial = {"max": -math.inf, "min": math.inf, "add": 0}[op]
            assert reduce_window(x, initial, computation, (2,)).tolist() == expected

    def add(a, b):  # of the same name, but who knows what it does
        return a + b

    for computation in (add, operator.add, max, jax.lax.mul, np.multiply, "mul", lambda a, b: a, None, 3):
        with pytest.raises(
            ValueError, match="reduce_window: computation must be 'max', 'min' or 'add', or the function of"
        ):
            reduce_window(x, 0.0, computation, (2,))


def test_the_start_counts_once_and_padding_not_at_all():
    x = np.arange(5.0)
    expected = [1, 2, 4, 7, 10, 8, 5]
    assert reduce_window(x, 1.0, "add", (3,), padding=((2, 2),)).tolist() == expected
    assert np.asarray(jax.lax.reduce_window(x, 1.0, jax.lax.add, (3,), (1,), ((2, 2),))).tolist() == expected


def test_starts_as_arrays():
    x = np.arange(4, dtype=np.int16)
    for initial in (2, np.int16(2), np.array(2), jnp.int16(2), torch.tensor(2), 2.0):
        assert reduce_window(x, initial, "max", (2,)).tolist() == [2, 2, 3]


def test_nan():
    x = np.array([1.0, np.nan, 2.0, 3.0])
    for computation in ("max", "min", "add"):
        np.testing.assert_array_equal(np.isnan(reduce_window(x, 0.0, computation, (2,))), [True, True, False])
        assert np.isnan(reduce_window(x, np.nan, computation, (2,))).all()


def test_negative_zeros_stay_in_sums():
    x = np.full((3, 3), -0.0, np.float32)
    assert np.signbit(reduce_window(x, 0.0, "add", (2, 2), base_dilation=(2, 2))).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_integer_sums_wrap(dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, (9, 40), dtype, endpoint=True)
    x[0], x[1] = info.min, info.max
    for window in ((1, 1), (1, 2), (2, 3), (9, 40)):  # 360 taps: more than 16 bits hold of 8
        for initial in (0, 7, info.min, info.max):
            y = reduce_window(x, initial, "add", window)
            if window != (9, 40) or initial == 0:  # XLA counts another start several times in large windows
                np.testing.assert_array_equal(
                    y, jax.lax.reduce_window(x, np.asarray(initial, dtype), jax.lax.add, window)
                )
            views = np.lib.stride_tricks.sliding_window_view(x, window).astype(np.int64)
            np.testing.assert_array_equal(y, (views.sum((2, 3)) + initial).astype(dtype))


def test_sums_of_64_bits_wrap():
    wide = np.array([2**63, 2**63, 5], np.uint64)
    assert reduce_window(wide, 7, "add", (2,)).tolist() == [7, 2**63 + 12]
    wide = np.array([2**62, 2**62, -1])
    assert reduce_window(wide, 0, "add", (2,)).tolist() == [-(2**63), 2**62 - 1]


def test_arrays_without_axes_and_without_elements():
    for initial, expected in ((5.0, 5.0), (3.0, 4.0)):
        y = reduce_window(np.float32(4), initial, "max", ())
        assert y.shape == () and y.dtype == np.float32 and float(y) == expected
        # XLA leaves the start out here, and only here.
        assert float(jax.lax.reduce_window(jnp.float32(4), initial, jax.lax.max, ())) == 4
    y = reduce_window(np.zeros((0, 2), np.float32), 3.0, "add", (2, 1), padding=((1, 1), (0, 0)))
    assert (
        y.tolist()
        == np.asarray(
            jax.lax.reduce_window(
                np.zeros((0, 2), np.float32), np.float32(3), jax.lax.add, (2, 1), (1, 1), ((1, 1), (0, 0))
            )
        ).tolist()
        == [[3, 3]]
    )
    assert reduce_window([[1, 2], [3, 4]], 0, "add", (2, 2)).tolist() == [[10]]


def test_the_operand_is_not_changed():
    x = np.arange(12.0).reshape(3, 4)
    x.flags.writeable = False
    before = x.copy()
    y = reduce_window(x, -math.inf, "max", (1, 1))
    y += 1
    np.testing.assert_array_equal(x, before)
    y = reduce_window(np.arange(3.0)[()], 0.0, "add", (1,))
    assert y.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (
            {"window_dimensions": (2,)},
            ValueError,
            "window_dimensions must have one value for each of the operand's 2 axes, but has 1",
        ),
        ({"window_dimensions": (2, 0)}, ValueError, "window_dimensions must be >= 1, but axis 1 has 0"),
        ({"window_dimensions": 2}, TypeError, "window_dimensions must be a sequence of ints, but is 2"),
        (
            {"window_dimensions": (2, 1.5)},
            TypeError,
            r"window_dimensions must be a sequence of ints, but is \(2, 1.5\)",
        ),
        ({"window_strides": (1, -1)}, ValueError, "window_strides must be >= 1, but axis 1 has -1"),
        ({"base_dilation": (0, 1)}, ValueError, "base_dilation must be >= 1, but axis 0 has 0"),
        (
            {"window_dilation": (1, 1, 1)},
            ValueError,
            "window_dilation must have one value for each of the operand's 2 axes, but has 3",
        ),
        ({"padding": "FULL"}, ValueError, "padding must be 'VALID', 'SAME', 'SAME_LOWER' or pairs, but is 'FULL'"),
        ({"padding": 1}, TypeError, "padding must be a word or a sequence of"),
        ({"padding": ((0, 0),)}, ValueError, "padding must have one pair for each of the operand's 2 axes, but has 1"),
        ({"padding": ((0, 0), (0,))}, TypeError, "padding must be a word or a sequence of"),
        ({"init_value": "zero"}, TypeError, "init_value must be a real number, but is 'zero'"),
        ({"init_value": np.zeros(2)}, TypeError, "init_value must be a real number, but is array"),
        (
            {"operand": np.zeros((2, 2), np.int8), "init_value": 200},
            ValueError,
            "init_value must be a value of the operand's dtype int8, but is 200",
        ),
        (
            {"operand": np.zeros((2, 2), np.int8), "init_value": -math.inf},
            ValueError,
            "init_value must be a value of .* int8, but is -inf",
        ),
        ({"operand": np.zeros((2, 2), complex)}, TypeError, "operand must have dtype float64, .* but has complex128"),
        ({"operand": np.zeros((2, 2), object)}, TypeError, "operand must have dtype float64, .* but has object"),
    ],
)
def test_bad_input(change, error, text):
    arguments = {
        "operand": np.zeros((3, 4)),
        "init_value": 0.0,
        "computation": "add",
        "window_dimensions": (2, 2),
    } | change
    with pytest.raises(error, match="reduce_window: " + text):
        reduce_window(**arguments)
