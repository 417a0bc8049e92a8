"""oriel.ndimage against scipy.ndimage: random images, footprints, edge modes, origins, percentiles."""

import warnings

import numpy as np
import pytest
from random_seeds import seeds
from scipy import ndimage as theirs

from oriel import ndimage as ours

RANKS = ("median_filter", "percentile_filter", "rank_filter")
MORPHOLOGY = ("grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "white_tophat", "black_tophat",
              "morphological_gradient", "morphological_laplace", "maximum_filter", "minimum_filter")
MODES = ("reflect", "nearest", "mirror", "wrap", "constant")


def random_call(rng):
    """(name, arguments, keywords) of a call."""
    name = str(rng.choice(RANKS + MORPHOLOGY))
    shape = tuple(rng.integers(1, 14, rng.integers(1, 4)))
    x = (rng.random(shape) * 50).astype(rng.choice(["uint8", "int16", "float32", "float64", "int64"]))
    extents = tuple(int(k) for k in rng.integers(1, 5, x.ndim))
    keywords = {"mode": str(rng.choice(MODES)), "cval": 3}
    footprint = rng.random(extents) > 0.3
    if rng.random() < 0.5 and footprint.any() and (x.ndim > 1 or footprint.all()):
        keywords["footprint"] = footprint
    else:
        keywords["size"] = extents
    if name in (*RANKS, "grey_erosion") and rng.random() < 0.3:
        keywords["origin"] = tuple(int(rng.integers(-(k // 2), (k - 1) // 2 + 1)) for k in extents)
    extra = {"percentile_filter": [float(rng.integers(0, 101))], "rank_filter": [int(rng.integers(-1, 1))]}
    return name, [x, *extra.get(name, [])], keywords


@pytest.mark.parametrize("seed", seeds())
def test_as_scipy(seed):
    rng = np.random.default_rng(seed)
    for _ in range(500):
        name, arguments, keywords = random_call(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(theirs, name)(*arguments, **keywords)
            got = getattr(ours, name)(*arguments, **keywords)
        assert got.dtype == expected.dtype, (name, keywords)
        np.testing.assert_array_equal(got, expected, err_msg=f"{name} {arguments} {keywords}")


@pytest.mark.parametrize("function", [np.median, np.mean, np.std, np.var, np.ptp, np.max, np.min, np.sum, np.nanmean, np.nanmedian])
def test_generic_filter_recognises_numpy(function, monkeypatch):
    x = np.random.default_rng(2).random((9, 8))
    expected = theirs.generic_filter(x, function, (3, 4), mode="nearest")
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)  # so that SciPy cannot have done it
    np.testing.assert_allclose(ours.generic_filter(x, function, (3, 4), mode="nearest"), expected)


def test_generic_filter_leaves_others_to_scipy():
    x = np.arange(9.0)
    np.testing.assert_array_equal(ours.generic_filter(x, lambda v: v[0] - v[-1], 3), theirs.generic_filter(x, lambda v: v[0] - v[-1], 3))


def test_heights_are_left_to_scipy():
    x, heights = np.random.default_rng(3).random((6, 7)), np.array([[0, 1, 0], [1, 2, 1], [0, 1, 0]]) / 4
    np.testing.assert_array_equal(ours.grey_dilation(x, structure=heights), theirs.grey_dilation(x, structure=heights))


def test_output_and_axes():
    x = np.random.default_rng(4).random((5, 6, 7))
    y = np.empty(x.shape, np.float32)
    assert ours.median_filter(x, 3, output=y, axes=(0, 2)) is y
    np.testing.assert_array_equal(y, theirs.median_filter(x, 3, axes=(0, 2)).astype(np.float32))


def test_differs_footprints_of_one_axis():
    """scipy.ndimage.median_filter (1.17.1) takes them for boxes of as many elements."""
    x = np.array([41.0, 16.0, 18.0, 0.0, 46.0])
    got = ours.median_filter(x, footprint=[True, True, True, False])
    assert got[2] == np.median(x[:3]) == 18 and theirs.median_filter(x, footprint=[True, True, True, False])[2] == 16


def test_differs_nan():
    """A NaN makes its windows NaN; SciPy's result is undefined (scipy#4800)."""
    x = np.array([1.0, np.nan, 2.0, 3.0, 5.0, 4.0])
    assert np.isnan(ours.median_filter(x, 3)).tolist() == [True, True, True, False, False, False]


def test_differs_large_integers():
    """SciPy computes in float64; Oriel is exact."""
    x = np.array([2**62 + 1, 2**62 + 3, 2**62 + 2])
    assert ours.median_filter(x, 3)[1] == 2**62 + 2


@pytest.mark.parametrize("call, text", [
    (lambda x: ours.median_filter(x), "median_filter: size or footprint must be given, but both are None"),
    (lambda x: ours.median_filter(x, footprint=[[0, 0]]), "median_filter: footprint must have a true element, but has none"),
    (lambda x: ours.rank_filter(x, 9, 3), "rank_filter: rank must be in -9 to 8, but is 9"),
    (lambda x: ours.percentile_filter(x, 101, 3), "percentile_filter: percentile must be in -100 to 100, but is 101"),
    (lambda x: ours.median_filter(x, 0), "median_filter: size must be >= 1, but axis 0 has 0"),
    (lambda x: ours.median_filter(x.astype(object), 3), "median_filter: input must have dtype float64"),
])
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError)) as error:
        call(np.zeros((4, 4)))
    assert str(error.value).startswith(text)
