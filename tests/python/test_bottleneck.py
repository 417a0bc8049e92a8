"""Moving windows of oriel.bottleneck against definitions in NumPy, and against bottleneck where it is installed."""

import inspect
import warnings

import numpy as np
import pytest
from random_seeds import seeds

from oriel import bottleneck as ours

NAMES = list(ours.__all__)


def last_rank(values):
    """The rank of the last number, -1 to 1."""
    if np.isnan(values[-1]):
        return np.nan
    others = values[:-1][~np.isnan(values[:-1])]
    if others.size == 0:
        return 0.0
    return 2 * (np.sum(others < values[-1]) + 0.5 * np.sum(others == values[-1])) / others.size - 1


def place_from_the_end(find, values):
    return find(values[::-1])


DEFINITIONS = {
    "move_sum": np.nansum,
    "move_mean": np.nanmean,
    "move_std": np.nanstd,
    "move_var": np.nanvar,
    "move_min": np.nanmin,
    "move_max": np.nanmax,
    "move_median": np.nanmedian,
    "move_argmin": lambda values: place_from_the_end(np.nanargmin, values),
    "move_argmax": lambda values: place_from_the_end(np.nanargmax, values),
    "move_rank": last_rank,
}


def by_definition(name, a, window, min_count, axis, **keywords):
    def along(line):
        result = np.full(line.size, np.nan)
        for i in range(line.size):
            values = line[max(i - window + 1, 0) : i + 1].astype(np.float64)
            if np.sum(~np.isnan(values)) >= (window if min_count is None else min_count):
                result[i] = DEFINITIONS[name](values, **keywords)
        return result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.apply_along_axis(along, axis, a)


def random_problems(seed, count):
    rng = np.random.default_rng(seed)
    for i in range(count):
        shape = tuple(int(n) for n in rng.integers(1, 12, rng.integers(1, 4)))
        a = rng.integers(-4, 5, shape).astype((np.float64, np.float32, np.int64, np.int32, np.float16)[i % 5])
        if a.dtype.kind == "f":
            a[rng.random(shape) < 0.2] = np.nan
        axis = int(rng.integers(-len(shape), len(shape)))
        window = int(rng.integers(1, shape[axis] + 1))
        min_count = int(rng.integers(1, window + 1)) if rng.random() < 0.7 else None
        yield a, window, min_count, axis


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("name", NAMES)
def test_definitions(name, seed):
    for a, window, min_count, axis in random_problems(seed, 120):
        y = getattr(ours, name)(a, window, min_count, axis)
        assert y.dtype == (a.dtype if a.dtype.kind == "f" else np.float64)
        bound = 8 * np.finfo(y.dtype).eps
        np.testing.assert_allclose(y, by_definition(name, a, window, min_count, axis), rtol=bound, atol=bound,
                                   err_msg=str((a, window, min_count, axis)))


@pytest.mark.parametrize("name", ["move_std", "move_var"])
def test_degrees_of_freedom(name):
    a = np.random.default_rng(1).standard_normal((3, 9))
    for ddof in (0, 1, 2, 5):
        y = getattr(ours, name)(a, 4, 2, ddof=ddof)
        expected = by_definition(name, a, 4, 2, -1, ddof=ddof)
        expected[~np.isfinite(expected)] = np.nan
        np.testing.assert_allclose(y, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("name", NAMES)
def test_bottleneck(name, seed):
    theirs = pytest.importorskip("bottleneck", reason="bottleneck is not installed")
    for a, window, min_count, axis in random_problems(seed, 60):
        if a.dtype == np.float16:  # bottleneck's functions of NumPy, which are slow
            continue
        mine = getattr(ours, name)(a, window, min_count, axis)
        assert mine.dtype == getattr(theirs, name)(a, window, min_count, axis).dtype
        # In float64, as bottleneck carries its rounding errors along an axis: in float32, 5e-4 in a deviation of 0.
        other = getattr(theirs, name)(a.astype(np.float64), window, min_count, axis)
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5, err_msg=str((a, window, min_count, axis)))


def test_differs_no_error_is_carried_on():
    a = np.concatenate([[1e8, 2e8], np.ones(6)]).astype(np.float32)
    assert ours.move_mean(a, 2)[3:].tolist() == [1] * 5
    assert ours.move_var(a, 2)[3:].tolist() == [0] * 5
    a[0] = np.inf
    assert np.isfinite(ours.move_sum(a, 2)[2:]).all()


def test_differs_a_nan_is_no_extremum():
    """bottleneck gives 0, the place of the NaN."""
    a = np.array([-np.inf, np.nan])
    assert ours.move_argmax(a, 2, 1).tolist() == [0, 1] and ours.move_argmin(-a, 2, 1).tolist() == [0, 1]


def test_infinities():
    a = np.array([1, np.inf, -np.inf, 2, 3])
    np.testing.assert_array_equal(ours.move_max(a, 2), [np.nan, np.inf, np.inf, 2, 3])
    np.testing.assert_array_equal(ours.move_sum(a, 2), [np.nan, np.inf, np.nan, -np.inf, 5])
    np.testing.assert_array_equal(ours.move_rank(a, 3), [np.nan, np.nan, -1, 0, 1])


def test_inputs():
    a = np.random.default_rng(1).standard_normal((4, 6))
    for view in (a.T, a[::-1, ::2], a.tolist(), a.astype(">f4"), np.asfortranarray(a)):
        for name in NAMES:
            np.testing.assert_allclose(getattr(ours, name)(view, 2, axis=0), by_definition(name, np.asarray(view), 2,
                                                                                           None, 0), rtol=1e-5)
    for name in NAMES:
        assert getattr(ours, name)(np.zeros((0, 3)), 2).shape == (0, 3)


@pytest.mark.parametrize("name", NAMES)
def test_arguments(name):
    words = ["a", "window", "min_count", "axis"] + (["ddof"] if name in ("move_std", "move_var") else [])
    assert list(inspect.signature(getattr(ours, name)).parameters) == words


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (dict(a=3.0, window=1), ValueError, "a must have an axis, but is a single number"),
        (dict(window=0), ValueError, "window must be in 1 to 3, the length of the axis, but is 0"),
        (dict(window=4), ValueError, "window must be in 1 to 3, the length of the axis, but is 4"),
        (dict(window=2, min_count=3), ValueError, "min_count must be in 1 to 2, the window, but is 3"),
        (dict(window=2, min_count=0), ValueError, "min_count must be in 1 to 2, the window, but is 0"),
        (dict(window=1, axis=1), ValueError, "axis must be in -1 to 0, but is 1"),
        (dict(window=1, axis=None), ValueError, "axis must be an int, but is None"),
        (dict(window=1, axis="0"), TypeError, "'str' object cannot be interpreted as an integer"),
        (dict(window=1, min_count="1"), TypeError, "'str' object cannot be interpreted as an integer"),
    ],
)
def test_bad_input(name, arguments, error, text):
    with pytest.raises(error, match=text if error is TypeError else f"{name}: {text}"):
        getattr(ours, name)(**{"a": np.ones(3)} | arguments)


def test_other_names():
    try:
        import bottleneck as theirs
    except ImportError:
        with pytest.raises(AttributeError, match="oriel.bottleneck has no nanmean, and bottleneck is not installed"):
            print(ours.nanmean)
    else:
        assert ours.nanmean is theirs.nanmean
