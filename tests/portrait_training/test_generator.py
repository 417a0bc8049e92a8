"""Synthetic portraits: coverage is exact, alpha follows the picture, and everything follows from the seed."""

import json

import numpy as np
import photographs
import pool
import pytest
from synthetic import camera, raster, scene, shapes
from synthetic.canvas import Canvas


def whole(found, height, width):
    result = np.zeros((height, width))
    result[found[0], found[1]] = found[2]
    return result


def test_a_box_covers_its_parts_of_pixels():
    cover = whole(raster.coverage(shapes.box(1.25, 2.5, 4.75, 5.0), 8, 8), 8, 8)
    expected = np.outer([0, 0, 0.5, 1, 1, 0, 0, 0], [0, 0.75, 1, 1, 0.75, 0, 0, 0])
    np.testing.assert_allclose(cover, expected, atol=1e-12)


def test_a_circle_has_the_coverage_of_fine_samples():
    size, fine, middle, radius = 20, 40, (9.3, 10.6), 7.2
    cover = whole(raster.coverage(shapes.superellipse(*middle, radius, radius, points=720), size, size), size, size)
    steps = (np.arange(size * fine) + 0.5) / fine
    inside = (steps[None, :] - middle[0]) ** 2 + (steps[:, None] - middle[1]) ** 2 < radius**2
    exact = inside.reshape(size, fine, size, fine).mean(axis=(1, 3))
    assert np.abs(cover - exact).max() < 0.5 / raster.SUBROWS + 1e-3  # where the edge runs along a scan line
    assert cover.sum() == pytest.approx(np.pi * radius**2, rel=1e-3)


def test_direction_and_canvas_edges_do_not_matter():
    outline = shapes.superellipse(2, 3, 6, 4, points=30)
    there, back = (whole(raster.coverage(o, 9, 7), 9, 7) for o in (outline, outline[::-1]))
    np.testing.assert_allclose(there, back, atol=1e-12)
    large = whole(raster.coverage(outline + [10, 10], 40, 40), 40, 40)
    np.testing.assert_allclose(there, large[10:19, 10:17], atol=1e-12)
    assert raster.coverage(outline + [100, 0], 9, 7) is None
    with pytest.raises(ValueError, match=r"outlines must be \[polygons\]\[points\]\[2\], but they are \[3\]"):
        raster.coverage(np.zeros(3), 9, 7)


def test_values_weigh_polygons():
    boxes = np.stack([shapes.box(0, 0, 2, 2), shapes.box(1, 0, 3, 2)])
    np.testing.assert_allclose(whole(raster.coverage(boxes, 2, 4, [2.0, 5.0]), 2, 4), [[2, 7, 5, 0]] * 2, atol=1e-12)
    np.testing.assert_allclose(raster.patch(boxes, 2, 4).coverage, [[1, 1, 1]] * 2, atol=1e-6)


def test_paint_lies_over_paint():
    canvas = Canvas(4)
    for colour in ((1, 0, 0), (0, 1, 0)):
        canvas.fill(shapes.box(1, 1, 3, 3), colour, opacity=0.5)
    np.testing.assert_allclose(canvas.alpha[1:3, 1:3], 0.75)
    np.testing.assert_allclose(canvas.rgb[1, 1], [0.25, 0.5, 0.0])
    assert canvas.alpha.sum() == pytest.approx(3)


@pytest.mark.parametrize("category", scene.CATEGORIES)
def test_a_seed_says_everything(category):
    first = scene.sample(123, 64, category)
    np.random.default_rng().random(7)
    again = scene.sample(123, 64, category)
    other = scene.sample(124, 64, category)
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not np.array_equal(first[0], other[0])
    part = first[1].mean()
    assert part == 0 if category == "nobody" else 0.005 < part < 0.99
    assert first[0].dtype == np.uint8 and first[0].shape == (64, 64, 3) and first[1].shape == (64, 64)


def test_alpha_is_that_of_the_picture():
    """White people over black ground: the picture is the alpha, also after lens and frame."""
    rgba = scene.people(5, 96, "head")[0].copy()
    rgba[..., :3] = 255
    for lot in range(40):
        rng = np.random.default_rng(lot)
        alpha = rgba[..., 3].astype(np.float32) / 255
        picture, blurred = camera.focus(np.repeat(alpha[..., None], 3, axis=2), alpha, rng)
        np.testing.assert_allclose(picture, np.repeat(blurred[..., None], 3, axis=2), atol=1e-5)
        assert blurred[:4].max() == alpha[:4].max() == 0  # what leaves at the bottom does not come in at the top


def test_a_letterbox_keeps_shape_and_has_black_bars():
    boxed = camera.letterbox(np.full((30, 60, 3), 200, np.uint8), (0, 0, 60, 30), 32)
    assert boxed.shape == (32, 32, 3)
    assert (boxed[:8] == 0).all() and (boxed[8:24] == 200).all() and (boxed[24:] == 0).all()


def test_bars_have_no_person():
    rgba, ground = np.full((64, 64, 4), 255, np.uint8), np.full((64, 64, 3), 90, np.uint8)
    bars = 0
    for lot in range(20):
        picture, alpha = scene.seen(rgba, ground, np.random.default_rng(lot), 48)
        black = (picture == 0).all(axis=2)
        bars += black.any()
        assert (alpha[black] == 0).all()
    assert bars > 3


def test_categories_are_known():
    with pytest.raises(ValueError, match="category is 'dog'; known are head, half, full"):
        scene.people(1, 32, "dog")


def test_a_pool_grows_by_the_same_entries(tmp_path):
    pool.extend(tmp_path, 32, 2, 1)
    first = np.array(pool.Pool(tmp_path).entries("people"))
    with open(tmp_path / "people", "ab") as file:
        file.write(b"torn")
    longer = pool.extend(tmp_path, 32, 3, 2)
    assert longer.count("people") == 3 and longer.count("grounds") == 2
    entries = longer.entries("people")
    assert np.array_equal(entries[:2], first)
    assert np.array_equal(entries[2], scene.people(pool.FIRST_SEED + 2, 32)[0])
    with pytest.raises(ValueError, match="size is 48, but .* has entries of 32"):
        pool.extend(tmp_path, 48, 1, 1)


def test_outlines_lie_in_their_photographs():
    pytest.importorskip("skimage", reason="scikit-image, which brings the photographs, is not installed")
    for name in photographs.names():
        picture, alpha, counted, about = photographs.load(name)
        assert picture.dtype == np.uint8 and alpha.shape == counted.shape == picture.shape[:2]
        outline = np.array(about["person"]).reshape(-1, 2)
        assert (outline >= 0).all() and (outline <= [alpha.shape[1], alpha.shape[0]]).all()
        assert (0.2 < alpha.mean() < 0.7) if len(outline) else alpha.max() == 0
        assert counted.mean() > 0.8
    with pytest.raises(ValueError, match="name is 'nobody'; known are astronaut"):
        photographs.load("nobody")
    assert json.loads(photographs.OUTLINES.read_text())["astronaut"]["rights"].startswith("public domain")
