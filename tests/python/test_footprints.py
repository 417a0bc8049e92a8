"""Footprints by name against scikit-image's."""

import numpy as np
import pytest

import oriel

morphology = pytest.importorskip("skimage.morphology", reason="scikit-image is not installed")


@pytest.mark.parametrize("name", ["ball", "diamond", "disk", "octahedron"])
def test_footprints_of_a_radius(name):
    for radius in range(8):
        np.testing.assert_array_equal(getattr(oriel, name)(radius), getattr(morphology, name)(radius))


def test_octagons_and_ellipses():
    for m in range(1, 6):
        for n in range(5):
            np.testing.assert_array_equal(oriel.octagon(m, n), morphology.octagon(m, n))
            if n > 0:
                np.testing.assert_array_equal(oriel.ellipse(m, n), morphology.ellipse(m, n))


def test_lines():
    assert oriel.line(5, 0).shape == (1, 5) and oriel.line(5, 90).shape == (5, 1)
    for degrees in range(0, 180, 15):
        taps = oriel.line(7, degrees)
        assert taps.sum() >= 4 and np.array_equal(taps, taps[::-1, ::-1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: oriel.disk(-1), "disk: radius must be in 0 to 4096, but is -1"),
        (lambda: oriel.disk(1.5), "disk: radius must be an int, but is 1.5"),
        (lambda: oriel.line(3, float("nan")), "line: degrees must be finite, but is nan"),
    ],
)
def test_bad_input(call, text):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value) == text
