"""oriel.bottleneck against bottleneck."""

import bottleneck as theirs
import numpy as np
import pytest
from random_seeds import seeds

from oriel import bottleneck as ours

NAMES = ("sum", "mean", "std", "var", "min", "max", "median", "argmin", "argmax")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", seeds())
def test_as_bottleneck(name, seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        x = (rng.random((rng.integers(1, 6), rng.integers(1, 20))) * 6).round()
        x[rng.random(x.shape) < 0.2] = np.nan
        axis = int(rng.integers(-2, 2))
        window = int(rng.integers(1, x.shape[axis] + 1))
        least = None if rng.random() < 0.3 else int(rng.integers(1, window + 1))
        expected = getattr(theirs, f"move_{name}")(x, window, min_count=least, axis=axis)
        got = getattr(ours, f"move_{name}")(x, window, min_count=least, axis=axis)
        assert got.dtype == expected.dtype
        # Their running sums leave an error of 1e-8 in a deviation that is 0.
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6, err_msg=f"{x} {window} {least} {axis}")


def test_differs_a_deviation_of_equal_values_is_0():
    x = np.array([1e5, 1e5 + 1, 1e5 + 2, 1e5 + 2, 1e5 + 2], np.float32)
    assert ours.move_std(x, 3)[-1] == 0


@pytest.mark.parametrize("call, text", [
    (lambda x: ours.move_mean(x, 0), "move_mean: window must be in 1 to 5, the length of the axis, but is 0"),
    (lambda x: ours.move_mean(x, 6), "move_mean: window must be in 1 to 5"),
    (lambda x: ours.move_sum(x, 3, min_count=4), "move_sum: min_count must be in 1 to 3, the window, but is 4"),
    (lambda x: ours.move_max(x, 2, axis=1), "move_max: axis must be in -1 to 0, but is 1"),
])
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call(np.zeros(5))
