"""oriel.cv2 against definitions, and against OpenCV where it is installed."""

import numpy as np
import pytest
from scipy import ndimage

from oriel import cv2 as ours


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32, np.float64, np.int64, bool])
def test_medians(dtype):
    rng = np.random.default_rng(1)
    for shape in ((9, 12), (1, 5), (8, 7, 3), (6, 5, 1)):
        x = rng.integers(0, 2 if dtype is bool else 200, shape).astype(dtype)
        for k in (1, 3, 5, 11):
            y = ours.medianBlur(x, k)
            assert y.dtype == x.dtype
            expected = ndimage.median_filter(x, (k, k, *[1] * (x.ndim - 2)), mode="nearest")
            np.testing.assert_array_equal(y, expected)


def test_opencv():
    theirs = pytest.importorskip("cv2", reason="OpenCV is not installed")
    rng = np.random.default_rng(1)
    for dtype, sizes in ((np.uint8, (3, 5, 7, 9, 31)), (np.uint16, (3, 5)), (np.int16, (3, 5)), (np.float32, (3, 5))):
        for shape in ((20, 31), (17, 18, 3), (16, 15, 4)):
            x = rng.integers(0, 250, shape).astype(dtype)
            for k in sizes:
                np.testing.assert_array_equal(ours.medianBlur(x, k), theirs.medianBlur(x, k), err_msg=f"{dtype} {k}")
    assert ours.imread is theirs.imread


def test_differs_nan():
    x = np.arange(25, dtype=np.float32).reshape(5, 5)
    x[2, 2] = np.nan
    y = ours.medianBlur(x, 3)
    assert np.isnan(y[1:4, 1:4]).all() and np.isnan(y).sum() == 9


def test_output():
    x = np.random.default_rng(1).integers(0, 250, (6, 7)).astype(np.uint8)
    out = np.zeros_like(x)
    assert ours.medianBlur(x, 3, out) is out
    np.testing.assert_array_equal(out, ours.medianBlur(x, 3))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (dict(ksize=2), ValueError, "ksize must be odd and >= 1, but is 2"),
        (dict(ksize=-1), ValueError, "ksize must be odd and >= 1, but is -1"),
        (dict(ksize=3, src=np.zeros(4)), ValueError, r"src must have 2 or 3 axes, but has shape \(4,\)"),
        (dict(ksize=2.5), TypeError, "ksize must be an int, but is 2.5"),
    ],
)
def test_bad_input(arguments, error, text):
    with pytest.raises(error, match=f"medianBlur: {text}"):
        ours.medianBlur(**{"src": np.zeros((4, 5))} | arguments)
