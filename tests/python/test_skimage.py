"""oriel.skimage against scikit-image, oriel.cv2 against its own filters, footprints against scikit-image's."""

import warnings

import numpy as np
import pytest
from random_seeds import seeds
from skimage import filters as their_filters
from skimage import morphology as their_morphology
from skimage.filters import rank as their_rank

import oriel
from oriel import cv2
from oriel.skimage import filters, measure, morphology
from oriel.skimage.filters import rank

RANKS = ("median", "majority", "modal", "maximum", "minimum", "mean", "gradient", "pop", "percentile", "sum")
MORPHOLOGY = ("erosion", "dilation", "opening", "closing", "white_tophat", "black_tophat")


@pytest.mark.parametrize("name", RANKS)
@pytest.mark.parametrize("seed", seeds())
def test_rank_as_scikit_image(name, seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        x = (rng.random(rng.integers(1, 12, 2)) * rng.choice([4, 200])).astype(rng.choice(["uint8", "uint16"]))
        footprint = (rng.random(rng.integers(1, 6, 2)) > 0.3).astype(np.uint8)
        if not footprint.any():
            continue
        mask = None if rng.random() < 0.5 else (rng.random(x.shape) > 0.3).astype(np.uint8)
        keywords = {"p0": float(rng.choice([0, 0.1, 0.5, 0.9, 1]))} if name == "percentile" else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(their_rank, name)(x, footprint, mask=mask, **keywords)
        got = getattr(rank, name)(x, footprint, mask=mask, **keywords)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected, err_msg=f"{x} {footprint} {mask} {keywords}")


@pytest.mark.parametrize("name", MORPHOLOGY)
@pytest.mark.parametrize("seed", seeds())
def test_morphology_as_scikit_image(name, seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        dtype = rng.choice(["uint8", "float64", "bool"])
        x = (rng.random(rng.integers(1, 12, 2)) * (2 if dtype == "bool" else 50)).astype(dtype)
        footprint = None if rng.random() < 0.2 else rng.random(rng.integers(1, 5, 2)) > 0.3
        if footprint is not None and not footprint.any():
            continue
        mode = str(rng.choice(["reflect", "nearest", "mirror", "wrap", "constant", "max", "min", "ignore"]))
        expected = getattr(their_morphology, name)(x, footprint, mode=mode, cval=1.0)
        got = getattr(morphology, name)(x, footprint, mode=mode, cval=1.0)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected, err_msg=f"{x} {footprint} {mode}")


def test_sequences_of_footprints():
    x = np.random.default_rng(5).random((20, 21))
    sequence = their_morphology.disk(4, decomposition="sequence")
    np.testing.assert_array_equal(morphology.dilation(x, sequence), their_morphology.dilation(x, sequence))


def test_footprints_as_scikit_image():
    for radius in range(8):
        for name in ("disk", "ball", "diamond", "octahedron"):
            np.testing.assert_array_equal(getattr(oriel, name)(radius), getattr(their_morphology, name)(radius))
    for m in range(1, 6):
        for n in range(5):
            np.testing.assert_array_equal(oriel.octagon(m, n), their_morphology.octagon(m, n))
            if n > 0:
                np.testing.assert_array_equal(oriel.ellipse(m, n), their_morphology.ellipse(m, n))


def test_footprints_of_a_line():
    assert oriel.line(5, 0).shape == (1, 5) and oriel.line(5, 90).shape == (5, 1)
    for degrees in range(0, 180, 15):
        taps = oriel.line(7, degrees)
        assert taps.sum() >= 4 and np.array_equal(taps, taps[::-1, ::-1])


@pytest.mark.parametrize("call, text", [
    (lambda: oriel.disk(-1), "disk: radius must be in 0 to 4096, but is -1"),
    (lambda: oriel.disk(1.5), "disk: radius must be an int, but is 1.5"),
    (lambda: oriel.line(3, float("nan")), "line: degrees must be finite, but is nan"),
    (lambda: rank.median(np.zeros((3, 3)), np.ones((3, 3))), "median: image must have an integer dtype, but has float64"),
    (lambda: cv2.medianBlur(np.zeros((3, 3)), 4), "medianBlur: ksize must be odd and >= 1, but is 4"),
    (lambda: filters.threshold_local(np.zeros((3, 3)), 3, "gaussian"), "threshold_local: method must be 'mean' or 'median', but is 'gaussian'"),
])
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value) == text


def test_thresholds_as_scikit_image():
    x = np.random.default_rng(6).random((40, 50)) * 255
    for image in (x, x.astype(np.uint8)):
        for name in ("threshold_niblack", "threshold_sauvola"):
            np.testing.assert_allclose(getattr(filters, name)(image, 7), getattr(their_filters, name)(image, 7), rtol=1e-9)
    for method in ("mean", "median"):
        np.testing.assert_allclose(filters.threshold_local(x, 7, method), their_filters.threshold_local(x, 7, method))
    np.testing.assert_array_equal(filters.median(x), their_filters.median(x))


def test_differs_variance_far_from_zero():
    """scikit-image's deviations lose their digits; ours are those of float64."""
    x = np.random.default_rng(7).standard_normal((32, 32)) + 1e8
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, 3, mode="reflect"), (7, 7))
    expected = windows.mean((2, 3)) - 0.2 * windows.std((2, 3))
    ours, theirs = (np.abs(f(x, 7) - expected).max() for f in (filters.threshold_niblack, their_filters.threshold_niblack))
    assert ours < 1e-6 < theirs


def test_median_blur_of_any_dtype():
    x = (np.random.default_rng(8).random((12, 13, 3)) * 1000).astype(np.uint16)
    padded = np.pad(x, [(4, 4), (4, 4), (0, 0)], mode="edge")
    expected = np.median(np.lib.stride_tricks.sliding_window_view(padded, (9, 9), axis=(0, 1)), axis=(3, 4))
    np.testing.assert_array_equal(cv2.medianBlur(x, 9), expected)


def test_block_reduce_is_oriels():
    assert measure.block_reduce is oriel.block_reduce
