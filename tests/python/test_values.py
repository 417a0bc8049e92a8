"""What the array functions compute, against loops, on random problems."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import naive
import oriel
from random_seeds import seeds


def random_problem(rng):
    """x (float64 of small integers, sometimes with NaN), axes and the window's lists, of which every window has a tap."""
    rank = int(rng.integers(1, 5))
    pooled = int(rng.integers(1, min(rank, 3) + 1))
    axes = tuple(int(a) for a in rng.permutation(rank)[:pooled])
    shape = tuple(int(n) for n in rng.integers(1, 8, rank))
    window = []
    for a in axes:
        n = shape[a]
        k, d = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        lo, hi = int(rng.integers(0, 3)), int(rng.integers(0, 3))
        if n + lo + hi < d * (k - 1) + 1:
            k = 1
        window.append((k, int(rng.integers(1, 4)), (lo, hi), d))
    x = rng.integers(-6, 7, shape).astype(np.float64)
    if rng.random() < 0.3:
        x[rng.random(shape) < 0.2] = np.nan
    kernel, stride, padding, dilation = zip(*window)
    return x, axes, kernel, stride, padding, dilation, bool(rng.integers(0, 2))


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("op", ["max", "min"])
def test_extrema_and_their_indices(op, seed):
    rng = np.random.default_rng(seed)
    function = getattr(oriel, f"{op}_pool")
    for _ in range(40):
        x, axes, kernel, stride, padding, dilation, ceil_mode = random_problem(rng)
        expected, places = naive.pool(op, x, axes, kernel, stride, padding, dilation, ceil_mode)
        y, indices = function(x, kernel, stride, padding, dilation, ceil_mode=ceil_mode, axes=axes, return_indices=True)
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(indices, places)
        np.testing.assert_array_equal(function(x, kernel, stride, padding, dilation, ceil_mode=ceil_mode, axes=axes), y)


@pytest.mark.parametrize("seed", seeds())
def test_averages_sums_and_norms(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        x, axes, kernel, stride, padding, dilation, ceil_mode = random_problem(rng)
        arguments = dict(ceil_mode=ceil_mode, axes=axes)
        window = (kernel, stride, padding, dilation)
        for include in (True, False):
            expected, _ = naive.pool("avg", x, axes, *window, ceil_mode, include)
            np.testing.assert_array_equal(oriel.avg_pool(x, *window, count_include_pad=include, **arguments), expected)
        expected, _ = naive.pool("sum", x, axes, *window, ceil_mode)
        np.testing.assert_array_equal(oriel.sum_pool(x, *window, **arguments), expected)
        expected, _ = naive.pool("lp", x, axes, *window, ceil_mode, norm=3.0)
        np.testing.assert_allclose(oriel.lp_pool(x, 3, *window, **arguments), expected, rtol=1e-14)


def test_padding_words():
    x = np.arange(5.0)
    np.testing.assert_array_equal(oriel.max_pool(x, 2, padding="same"), [1, 3, 4])
    np.testing.assert_array_equal(oriel.max_pool(x, 2, padding="same_lower"), [0, 2, 4])
    np.testing.assert_array_equal(oriel.max_pool(x, 2, padding="VALID"), [1, 3])
    np.testing.assert_array_equal(oriel.sum_pool(x, 2, 2, padding=[(0, 1)]), [1, 5, 4])
    np.testing.assert_array_equal(oriel.sum_pool(x, 2, 2, padding=[(1, 0)]), [0, 3, 7])


@pytest.mark.parametrize("rank", range(1, 7))
def test_all_axes_are_pooled_if_none_are_named(rank):
    """As in SciPy and scikit-image: a volume is one, and not a batch of rows."""
    x = np.arange(4.0**rank).reshape((4, ) * rank)
    everywhere = tuple(range(rank))
    blocks = x.reshape((2, 2) * rank).max(axis=tuple(range(1, 2 * rank, 2)))
    np.testing.assert_array_equal(oriel.max_pool(x, 2), blocks)
    np.testing.assert_array_equal(oriel.Pool("max", 2)(x), blocks)
    assert oriel.avg_pool(x, 2).shape == oriel.sum_pool(x, 2).shape == oriel.lp_pool(x, 2, 2).shape == (2, ) * rank
    assert oriel.adaptive_avg_pool(x, 3).shape == (3, ) * rank
    np.testing.assert_array_equal(oriel.global_max_pool(x), x.max(keepdims=True))
    assert oriel.global_sum_pool(x, keepdims=False) == x.sum()
    y, indices = oriel.max_pool(x, (2, ) * rank, return_indices=True)
    np.testing.assert_array_equal(indices, y)  # element i of the whole array is i
    back = oriel.max_unpool(y, indices, 2)
    assert back.shape == x.shape and back.sum() == y.sum()
    for op in ("max", "min"):
        np.testing.assert_array_equal(getattr(oriel, f"{op}_pool_backward")(y, x, 2),
                                      getattr(oriel, f"{op}_pool_backward")(y, x, 2, axes=everywhere))
    np.testing.assert_array_equal(oriel.lp_pool_backward(y, x, 2, 2), oriel.lp_pool_backward(y, x, 2, 2, axes=everywhere))
    assert oriel.avg_pool_backward(y, x.shape, 2).shape == oriel.sum_pool_backward(y, x.shape, 2).shape == x.shape


def test_named_axes():
    x = np.zeros((2, 4, 6, 8))
    assert oriel.max_pool(x, 2, axes=-1).shape == (2, 4, 6, 4)
    assert oriel.max_pool(x, 2, axes=(0, -1)).shape == (1, 4, 6, 4)
    assert oriel.max_pool(x, (1, 4, 3, 2)).shape == (2, 1, 2, 4)
    assert oriel.max_pool2d(x, 2).shape == (2, 4, 3, 4)  # as in PyTorch: batch and channels stay
    assert oriel.global_max_pool(x, axes=(-2, -1), keepdims=False).shape == (2, 4)


@pytest.mark.parametrize("values", [(2, 2), [2, 2], np.array([2, 2])], ids=["tuple", "list", "array"])
def test_lists_of_fewer_values_than_axes_need_named_axes(values):
    """A kernel of (2, 2) on height, width and colours must not pool the colours."""
    picture = np.zeros((6, 8, 3))
    text = "has 2; no axes are named, so all 3 are pooled \\(axes -2, -1 are the last 2\\)"
    for call in (lambda: oriel.max_pool(picture, values), lambda: oriel.avg_pool(picture, 2, values),
                 lambda: oriel.Pool("sum", values)(picture), lambda: oriel.max_pool(picture, 2, padding=[1, 1]),
                 lambda: oriel.adaptive_avg_pool(picture, tuple(values))):
        with pytest.raises(ValueError, match=text):
            call()
    assert oriel.max_pool(picture, values, axes=(0, 1)).shape == (3, 4, 3)


@pytest.mark.parametrize("kind", [np.array, np.int64, torch.tensor, jnp.asarray], ids=["NumPy", "int64", "PyTorch", "JAX"])
def test_numbers_may_be_arrays(kind):
    x = np.random.default_rng(5).standard_normal((9, 8))
    two, one, last = kind(2), kind(1), kind(-1)
    np.testing.assert_array_equal(oriel.max_pool(x, two, one, one, one), oriel.max_pool(x, 2, 1, 1, 1))
    np.testing.assert_array_equal(oriel.max_pool(x, two, axes=last), oriel.max_pool(x, 2, axes=-1))
    np.testing.assert_array_equal(oriel.adaptive_max_pool(x, two), oriel.adaptive_max_pool(x, 2))


@pytest.mark.parametrize("kind", [np.array, torch.tensor, jnp.asarray], ids=["NumPy", "PyTorch", "JAX"])
def test_lists_may_be_arrays(kind):
    x = np.random.default_rng(5).standard_normal((9, 8))
    expected = oriel.avg_pool(x, (3, 2), (2, 1), ((1, 0), (1, 1)), (1, 2), axes=(1, 0))
    y = oriel.avg_pool(x, kind([3, 2]), kind([2, 1]), kind([[1, 0], [1, 1]]), kind([1, 2]), axes=kind([1, 0]))
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(oriel.max_pool2d(x[None], kind([3, 2]), kind([2, 1])), oriel.max_pool2d(x[None], (3, 2), (2, 1)))
    np.testing.assert_array_equal(oriel.adaptive_max_pool(x, kind([3, 2])), oriel.adaptive_max_pool(x, (3, 2)))


def test_adaptive_and_global():
    x = np.random.default_rng(1).integers(-50, 50, (2, 3, 7, 5)).astype(np.float32)
    y = oriel.adaptive_max_pool(x, (3, None), axes=(2, 3))
    for o, (begin, end) in enumerate([(0, 3), (2, 5), (4, 7)]):
        np.testing.assert_array_equal(y[:, :, o], x[:, :, begin:end].max(axis=2))
    np.testing.assert_array_equal(oriel.global_max_pool(x, axes=(2, 3)), x.max(axis=(2, 3), keepdims=True))
    np.testing.assert_array_equal(oriel.global_min_pool(x, axes=(0, 1), keepdims=False), x.min(axis=(0, 1)))
    np.testing.assert_array_equal(oriel.global_sum_pool(x, keepdims=False, axes=(2, 3)), x.sum(axis=(2, 3)))
    np.testing.assert_allclose(oriel.global_avg_pool(x, axes=(2, 3)), x.mean(axis=(2, 3), keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(oriel.global_lp_pool(x, 2, axes=(2, 3)), np.sqrt((x**2).sum(axis=(2, 3), keepdims=True)), rtol=1e-6)
    np.testing.assert_array_equal(oriel.adaptive_sum_pool(x, 1, axes=(2, 3)), oriel.global_sum_pool(x, axes=(2, 3)))
    np.testing.assert_array_equal(oriel.adaptive_max_pool(x, (None, 2), axes=(1, 3)),
                                  oriel.adaptive_max_pool(x, 2, axes=3))  # None keeps the extent of its own axis
    np.testing.assert_array_equal(oriel.adaptive_min_pool(x, 1, return_indices=True, axes=(2, 3))[1].ravel(), x.reshape(6, 35).argmin(axis=1))


def test_unpooling_is_the_inverse_at_the_maxima():
    x = np.random.default_rng(2).standard_normal((2, 3, 6, 6))
    y, indices = oriel.max_pool2d(x, 2, return_indices=True)
    back = oriel.max_unpool2d(y, indices, 2)
    assert back.shape == x.shape
    np.testing.assert_array_equal(oriel.max_pool2d(back.clip(0), 2), y.clip(0))
    np.testing.assert_array_equal(back[back != 0], x[back != 0])
    assert np.count_nonzero(back) == y.size
    assert oriel.max_unpool2d(y, indices, 2, output_size=(2, 3, 7, 6)).shape == (2, 3, 7, 6)
    y, indices = oriel.max_pool(x, 2, axes=(0, 1), return_indices="tensor")
    np.testing.assert_array_equal(oriel.max_unpool(y, indices, 2, axes=(0, 1), space="tensor", output_size=(2, 3)).ravel()[indices], y)


@pytest.mark.parametrize("seed", seeds())
def test_gradients_are_adjoint(seed):
    """<dy, A dx> = <A' dy, dx> for the linear pools, in integers: exact."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x, axes, kernel, stride, padding, dilation, ceil_mode = random_problem(rng)
        x = np.nan_to_num(x)
        window = (kernel, stride, padding, dilation)
        y = oriel.sum_pool(x, *window, ceil_mode=ceil_mode, axes=axes)
        dy = rng.integers(-5, 6, y.shape).astype(np.float64)
        dx = oriel.sum_pool_backward(dy, x.shape, *window, ceil_mode=ceil_mode, axes=axes)
        assert (dy * y).sum() == (dx * x).sum()
        y, indices = oriel.max_pool(x, *window, ceil_mode=ceil_mode, axes=axes, return_indices=True)
        dx = oriel.max_pool_backward(dy, x, *window, ceil_mode=ceil_mode, axes=axes)
        by_index = oriel.max_pool_backward(dy, x.shape, *window, ceil_mode=ceil_mode, axes=axes, indices=indices)
        np.testing.assert_array_equal(dx, by_index)
        assert (dy * np.where(indices < 0, 0, y)).sum() == (dx * x).sum()


def test_gradients_of_averages_and_norms_by_differences():
    rng = np.random.default_rng(3)
    x, step = rng.standard_normal((2, 5, 6)), 1e-6
    for pool in (oriel.Pool("avg", 3, 2, 1, axes=(1, 2), count_include_pad=False), oriel.Pool("lp", 2, 1, norm_type=3, axes=(1, 2)),
                 oriel.Pool("avg", output_size=2, axes=(1, 2)), oriel.Pool("max", axes=(1, 2)), oriel.Pool("lp", (2, 2), norm_type=2, axes=(1, 2))):
        dy = rng.standard_normal(pool(x).shape)
        dx = pool.backward(dy, x)
        at = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            at[place] = step
            numeric = (dy * (pool(x + at) - pool(x - at))).sum() / (2 * step)
            at[place] = 0
            assert abs(numeric - dx[place]) < 1e-7, (pool, place)


def test_pool_objects():
    a = oriel.Pool("max", (3, 3), 2, padding=1, axes=(2, 3))
    assert a == oriel.Pool("max", (3, 3), 2, padding=1, axes=(2, 3)) and hash(a) == hash(oriel.Pool("max", (3, 3), 2, padding=1, axes=(2, 3)))
    assert a != oriel.Pool("min", (3, 3), 2, padding=1, axes=(2, 3)) and a != "max"
    assert "kernel_size=3x3" in repr(a) and "stride=2" in repr(a)
    assert a.output_shape((8, 64, 112, 112)) == (8, 64, 56, 56)
    with pytest.raises(AttributeError, match="immutable"):
        a.op = "min"
    assert {a: 1}[oriel.Pool("max", [3, 3], 2, padding=1, axes=[2, 3])] == 1
