"""Gradients of pools over valid taps: against differences of the pools, and where they go."""

import numpy as np
import pytest

import oriel

GRADIENTS = ["median", "quantile", "first", "centre", "range", "midrange", "var", "std", "rms", "prod", "geo", "harm",
             "lse", "soft", "max", "min", "avg", "sum", "lp"]


def gradient(op, dy, x, more, window, options):
    backward = getattr(oriel, f"{op}_pool_backward")
    return backward(dy, x, *more, *window, **options)


@pytest.mark.parametrize("op", GRADIENTS)
@pytest.mark.parametrize("options", [{}, {"mask": True}, {"footprint": np.array([[1, 1], [0, 1]])}, {"min_count": 3}],
                         ids=["plain", "mask", "footprint", "min_count"])
def test_gradients_are_the_slopes(op, options):
    """Against differences: x has no ties, so every pool is smooth near it."""
    rng = np.random.default_rng(13)
    x = rng.permutation(np.linspace(0.5, 3.0, 30)).reshape(5, 6)
    options = dict(options)
    if "mask" in options:
        options["mask"] = rng.random(x.shape) < 0.7
    more = {"quantile": (0.3,), "lp": (3.0,)}.get(op, ())
    if op in ("median", "quantile"):
        options["method"] = "midpoint" if op == "median" else "linear"
    if op in ("var", "std"):
        options["ddof"] = 1
    if op == "lse":
        options["sharpness"] = 2.0
    if op == "avg":
        options["count_include_pad"] = False
    window = (2, 1, 1)
    forward = getattr(oriel, f"{op}_pool")
    y = forward(x, *more, *window, **options)
    dy = np.where(np.isfinite(y), rng.standard_normal(y.shape), 0.0)

    def loss(values):
        y = forward(values, *more, *window, **options)
        return np.sum(np.where(np.isfinite(y), y, 0.0) * dy)

    expected, step = np.zeros_like(x), 1e-6
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        expected[place] = (loss(up) - loss(down)) / (2 * step)
    dx = gradient(op, dy, x, more, window, options)
    np.testing.assert_allclose(dx, expected, rtol=1e-6, atol=1e-7)
    named = {"quantile": {"q": 0.3}, "lp": {"norm_type": 3.0}}.get(op, {})
    np.testing.assert_array_equal(oriel.pool_backward(op, dy, x, *window, **named, **options), dx)


def test_gradients_of_several_quantiles():
    x = np.array([3.0, 1.0, 2.0, 4.0])
    dy = np.array([[1.0], [10.0]])
    assert oriel.quantile_pool_backward(dy, x, [0.0, 1.0], 4).tolist() == [0.0, 1.0, 0.0, 10.0]
    assert oriel.quantile_pool_backward(dy[:1], x, [0.0], 4).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert oriel.pool_backward("quantile", dy[:1], x, 4, q=[0.0]).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert oriel.quantile_pool_backward(dy[0], x, None, 4, rank=-1).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_gradients_of_masked_arrays():
    x = np.ma.array([1.0, 5.0, 2.0, 9.0], mask=[False, True, False, True])
    dy = np.ma.array([1.0, 10.0], mask=[False, False])
    for op, expected in (("max", [1, 0, 10, 0]), ("median", [1, 0, 10, 0]), ("sum", [1, 0, 10, 0])):
        assert getattr(oriel, f"{op}_pool_backward")(dy, x, 2).tolist() == expected
    assert oriel.median_pool_backward(np.ma.array([1.0, 10.0], mask=[True, False]), x, 2).tolist() == [0, 0, 10, 0]


def test_ties_of_gradients_go_to_the_first_of_equal_bits():
    x = np.array([2.0, 2.0, 1.0])
    assert oriel.median_pool_backward(np.array([1.0]), x, 3).tolist() == [1.0, 0.0, 0.0]
    assert oriel.prod_pool_backward(np.array([1.0]), np.array([0.0, 3.0, 5.0]), 3).tolist() == [15.0, 0.0, 0.0]
    assert oriel.std_pool_backward(np.array([1.0]), np.array([4.0, 4.0]), 2).tolist() == [0.0, 0.0]
