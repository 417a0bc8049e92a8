"""Filters made of several pools: oriel.local against definitions window by window."""

from collections import Counter

import numpy as np
import pytest
from random_seeds import seeds
from scipy import ndimage

import oriel
from oriel import local


def around(x, size, at):
    """The elements that exist around a place."""
    return x[tuple(slice(max(i - k // 2, 0), i + k - k // 2) for i, k in zip(at, size))]


@pytest.mark.parametrize("seed", seeds())
def test_z_scores(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((7, 9)) * 10
    x[2, 3] = np.nan
    mask = rng.random(x.shape) < 0.8
    size = (3, 4)
    for ddof, valid in ((0, None), (1, mask)):
        y = local.z_score(x, size, mask=valid, ddof=ddof, nan_policy="omit")
        for at in np.ndindex(*x.shape):
            values = around(x, size, at)[... if valid is None else around(valid, size, at)]
            values = values[~np.isnan(values)]
            expected = (x[at] - values.mean()) / values.std(ddof=ddof) if values.size > ddof else np.nan
            np.testing.assert_allclose(y[at], expected, rtol=1e-9, atol=1e-9)
    assert np.isnan(local.z_score(x, size)[1:4, 2:5]).all()


def test_z_scores_of_equal_elements_are_zero():
    for value in (0.1, 3, 1e8 + 0.3):
        for k in (3, 5, 7):
            assert not local.z_score(np.full((8, 9), value), k).any()
    assert local.z_score(np.arange(5, dtype=np.float32), 3).dtype == np.float32
    assert local.z_score(np.arange(5, dtype=np.uint8), 3).dtype == np.float64


@pytest.mark.parametrize("seed", seeds())
def test_majorities(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (6, 8)).astype(np.uint16)
    y, without = local.majority_filter(x, (3, 2)), local.majority_filter(x, (3, 2), ignore=0)
    for at in np.ndindex(*x.shape):
        counts = Counter(around(x, (3, 2), at).ravel().tolist())
        assert y[at] == min(counts, key=lambda value: (-counts[value], value))
        others = {value: n for value, n in counts.items() if value} or {0: 1}
        assert without[at] == min(others, key=lambda value: (-others[value], value))
    cross = oriel.disk(1)
    np.testing.assert_array_equal(local.majority_filter(x, footprint=cross),
                                  oriel.mode_pool(x, None, 1, 1, footprint=cross))


@pytest.mark.parametrize("seed", seeds())
def test_dilations_of_labels(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 4, (9, 8)) * (rng.random((9, 8)) < 0.2)
    before = x.copy()
    y = local.dilate_labels(x)
    np.testing.assert_array_equal(x, before)
    for at in np.ndindex(*x.shape):
        counts = Counter(value for value in around(x, (3, 3), at).ravel().tolist() if value)
        expected = min(counts, key=lambda value: (-counts[value], value)) if counts and x[at] == 0 else x[at]
        assert y[at] == expected
    np.testing.assert_array_equal(local.dilate_labels(x, iterations=2), local.dilate_labels(y))
    np.testing.assert_array_equal(local.dilate_labels(x, iterations=0), x)
    np.testing.assert_array_equal(local.dilate_labels(x, footprint=oriel.disk(1)) != 0,
                                  ndimage.binary_dilation(x != 0))
    assert local.dilate_labels(np.array([9, 9, 1, 9]), background=9).tolist() == [9, 1, 1, 1]


def by_definition(x, guide, radius, epsilon):
    """The least squares fit of every box, and the mean of the fits that hold an element."""
    channels = guide.reshape(*x.shape, -1)
    size = (2 * radius + 1,) * x.ndim
    total, count = np.zeros(x.shape), np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        box = tuple(slice(max(i - radius, 0), i + radius + 1) for i in at)
        p = x[box].ravel()
        i = channels[box].reshape(p.size, -1)
        covariance = np.cov(i.T, bias=True).reshape(i.shape[1], i.shape[1]) + epsilon * np.eye(i.shape[1])
        slope = np.linalg.solve(covariance, ((i - i.mean(0)) * (p - p.mean())[:, None]).mean(0))
        total[box] += channels[box] @ slope + p.mean() - i.mean(0) @ slope
        count[box] += 1
    assert size and count.min() > 0
    return total / count


@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)], ids=str)
def test_guided_filter(channels):
    rng = np.random.default_rng(1)
    x, guide = rng.random((8, 9)), rng.random((8, 9, *channels))
    for radius, epsilon in ((1, 1e-2), (2, 1e-4), (20, 0.1)):
        np.testing.assert_allclose(local.guided_filter(x, guide, radius, epsilon),
                                   by_definition(x, guide, radius, epsilon), rtol=1e-7)
    assert local.guided_filter(x.astype(np.float32), guide, 1, 0.1).dtype == np.float32
    volume = rng.random((4, 5, 6))
    np.testing.assert_allclose(local.guided_filter(volume, volume, 1, 0.01), by_definition(volume, volume, 1, 0.01))


def test_the_guided_filter_keeps_edges():
    step = np.repeat([0.0, 1.0], 20)
    noisy = step + 0.05 * np.random.default_rng(1).standard_normal(40)
    smooth = local.guided_filter(noisy, step, 4, 1e-3)
    assert np.abs(smooth - step).max() < np.abs(noisy - step).max() / 2
    np.testing.assert_allclose(local.guided_filter(noisy, np.ones(40), 0, 1), noisy)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: local.z_score(x, 0), ValueError, "z_score: size must be >= 1, but is 0"),
        (lambda x: local.z_score(x, footprint=np.ones(3)), ValueError, "must have one axis for each of the 2 filtered"),
        (lambda x: local.z_score(x, nan_policy="raise"), ValueError, "nan_policy must be 'propagate' or 'om"),
        (lambda x: local.majority_filter(x + 1j), TypeError, "majority_filter: input must have dtype float64"),
        (lambda x: local.dilate_labels(x, iterations=-1), ValueError, "dilate_labels: iterations must be >= 0, but is"),
        (lambda x: local.guided_filter(x, x.T, 1, 1), ValueError, "guided_filter: guide must have the shape of x"),
        (lambda x: local.guided_filter(x, x, -1, 1), ValueError, "guided_filter: radius must be >= 0, but is -1"),
        (lambda x: local.guided_filter(x, x, 1, 0), ValueError, "guided_filter: epsilon must be > 0, but is 0"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call(np.zeros((4, 5)))
