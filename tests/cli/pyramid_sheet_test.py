"""`oriel pyramid --sheet`: places and colours of what is drawn, read back with Pillow and computed from levels by NumPy."""

import json
import os
import subprocess

import numpy as np
import pytest
import zarr
from conftest import COMMAND
from PIL import Image

FRAME = (240, 180, 40)
FAULT = np.array((255, 140, 90))
NOTHING = (48, 52, 62)


def pixels(path):
    with Image.open(path) as picture:
        assert picture.format == "PNG" and picture.mode == "RGB"
        return np.asarray(picture)


def frames(picture):
    """The insides of all frames, row by row: (top, left, bottom, right)."""
    is_frame = (picture == FRAME).all(2)
    found = []
    for top, left in np.argwhere(is_frame[:-1, :-1] & is_frame[1:, :-1] & is_frame[:-1, 1:]):
        if is_frame[top - 1, left] or is_frame[top, left - 1]:
            continue  # not an upper left corner
        right, bottom = left, top
        while is_frame[top, right + 1]:
            right += 1
        while is_frame[bottom + 1, left]:
            bottom += 1
        found.append((top + 1, left + 1, bottom, right))
    return found


def insides(picture):
    return [picture[top:bottom, left:right] for top, left, bottom, right in frames(picture)]


def greys(shown, range_of):
    """Greys of values that a plane shows, black and white at percentiles of what level 0 shows."""
    values = np.sort(np.concatenate([x.ravel() for x in range_of]).astype("f8"))
    low, high = (values[int(np.floor(share * (values.size - 1) + 0.5))] for share in (0.01, 0.995))
    return np.floor(np.clip((shown - low) / (high - low), 0, 1) * 255 + 0.5)


def enlarged(values, factor, shape):
    """Elements as blocks, cut off at the extent of level 0."""
    for axis in (0, 1):
        values = np.repeat(values, factor, axis)
    return values[: shape[0], : shape[1]]


def level(path, number):
    return zarr.open_array(str(path / str(number)), mode="r")[...]


def write_image(path, levels, coordinates, **more):
    """An OME-Zarr 0.5 image of 2-D arrays, by zarr-python."""
    group = zarr.create_group(str(path))
    for number, values in enumerate(levels):
        group.create_array(str(number), data=values, chunks=tuple(min(n, 16) for n in values.shape))
    datasets = [
        {"path": str(number), "coordinateTransformations": [{"type": "scale", "scale": scale}, {"type": "translation", "translation": translation}]}
        for number, (scale, translation) in enumerate(coordinates)
    ]
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}], **more}


def test_every_level_of_a_plane_is_where_it_belongs(oriel, tmp_path):
    y, x = np.mgrid[:44, :61]
    np.save(tmp_path / "x.npy", (100 + 3 * x + 40 * np.sin(y / 5)).astype("u2"))
    words = ["--levels", "2", "--factor", "2", "--chunk", "16", "--spacing", "0.5", "--unit", "micrometer"]
    oriel("pyramid", "x.npy", "y.zarr", *words, "--sheet", "sheet.png")
    picture = pixels(tmp_path / "sheet.png")
    assert picture.shape[0] <= 1200 and picture.shape[1] <= 1600
    parts = insides(picture)
    element = parts[0].shape[0] // 44
    assert [part.shape for part in parts] == [(44 * element, 61 * element, 3)] * 3 and element >= 2
    shown = [enlarged(level(tmp_path / "y.zarr", l).astype("f8"), element * 2**l, parts[0].shape) for l in range(3)]
    for part, values in zip(parts, shown):
        expected = greys(values, shown[:1])
        assert (part == expected[..., None]).all()
    top, left, bottom, right = frames(picture)[0]
    assert (picture[top, right + 2] == NOTHING).all()  # level 2 goes on there, level 0 does not
    assert (picture[:80] == 255).all(2).any(), "no title"


def test_planes_of_a_volume_are_those_through_its_middle(oriel, tmp_path):
    volume = np.random.default_rng(0).integers(0, 250, (9, 12, 16)).astype("u1")
    np.save(tmp_path / "x.npy", volume)
    for up in ("", "zy"):
        more = ["--sheet-up", up] if up else []
        oriel("pyramid", "x.npy", "y.zarr", "--levels", "1", "--factor", "2", "--chunk", "4", "--spacing", "2,1,1", "--sheet", "sheet.png", *more)
        parts = insides(pixels(tmp_path / "sheet.png"))
        element = min(part.shape[1] for part in parts) // 12
        # Level 1 has the elements 2 along z, 3 along y and 4 along x in the same planes.
        planes = [[values[z], values[:, y], values[:, :, x]] for values, z, y, x in ((volume, 4, 6, 8), (level(tmp_path / "y.zarr", 1), 2, 3, 4))]
        blocks = [[(1, 1), (2, 1), (2, 1)], [(2, 2), (4, 2), (4, 2)]]  # z is twice as coarse
        shapes = [(12, 16), (18, 16), (18, 12)]
        shown = []
        for number in (0, 1):
            for values, (down, right), (high, wide) in zip(planes[number], blocks[number], shapes):
                drawn = values.repeat(down * element, 0).repeat(right * element, 1)[: high * element, : wide * element]
                shown.append(drawn[::-1] if up else drawn)
        assert len(parts) == 6
        for drawn in shown:
            expected = greys(drawn.astype("f8"), shown[:3])[..., None]
            assert any(part.shape[:2] == drawn.shape and (part == expected).all() for part in parts)


def test_a_label_has_one_colour_in_every_level(oriel, tmp_path):
    labels = np.zeros((32, 32), "u8")
    labels[4:12, 4:12] = 2**63 + 5
    labels[16:28, 8:28] = 77
    labels[4:8, 20:28] = 78
    np.save(tmp_path / "x.npy", labels)
    oriel("pyramid", "x.npy", "y.zarr", "--labels", "--levels", "2", "--factor", "2", "--chunk", "8", "--sheet", "one.png")
    np.save(tmp_path / "x.npy", labels[::-1] * (labels[::-1] > 77))
    oriel("pyramid", "x.npy", "z.zarr", "--labels", "--levels", "1", "--factor", "2", "--chunk", "8", "--sheet", "two.png")
    parts = insides(pixels(tmp_path / "one.png"))
    element = parts[0].shape[0] // 32
    colours = {number: tuple(parts[0][y * element, x * element]) for number, y, x in ((0, 0, 0), (2**63 + 5, 5, 5), (77, 20, 20), (78, 5, 24))}
    assert colours[0] == (0, 0, 0) and len(set(colours.values())) == 4
    for l, part in enumerate(parts):
        values = enlarged(level(tmp_path / "y.zarr", l), element * 2**l, part.shape)
        for number, colour in colours.items():
            assert ((part == colour).all(2) == (values == number)).all()
    other = insides(pixels(tmp_path / "two.png"))[0]
    size = other.shape[0] // 32
    assert tuple(other[(31 - 5) * size, 5 * size]) == colours[2**63 + 5] and tuple(other[(31 - 5) * size, 24 * size]) == colours[78]


@pytest.mark.parametrize("translation, shift", [([0.5, 0.5], 0), ([0, 0], -0.5), ([0.5, 40], None)])
def test_a_wrong_translation_is_a_shift(oriel, tmp_path, translation, shift):
    values = np.zeros((32, 40), "u1")
    values[8:12, 20:24] = 200
    values[0, 0] = 1
    half = values.reshape(16, 2, 20, 2).mean((1, 3)).round().astype("u1")
    write_image(tmp_path / "y.zarr", [values, half], [([1, 1], [0, 0]), ([2, 2], translation)])
    right = shift == 0
    report = json.loads(oriel("pyramid", "--check", "y.zarr", "--sheet", "sheet.png", "--json", code=0 if right else 1).stdout)
    assert report["good"] == right
    picture = pixels(tmp_path / "sheet.png")
    parts = insides(picture)
    element = parts[0].shape[0] // 32
    bright = [np.argwhere((part == 255).all(2)) for part in parts]
    assert bright[0].min(0).tolist() == [8 * element, 20 * element] and bright[0].max(0).tolist() == [12 * element - 1, 24 * element - 1]
    if shift is None:
        assert not bright[1].size  # far to the right
    else:
        # A pixel shows the element that holds its centre.
        assert (np.abs(bright[1].min(0) - (np.array([8, 20]) + shift) * element) <= 0.5).all()
        assert (np.abs(bright[1].max(0) + 1 - (np.array([12, 24]) + shift) * element) <= 0.5).all()
    orange = (np.abs(picture.astype(int) - FAULT).sum(2) < 30).any()
    assert orange != right  # the fault in the caption


def test_nan_is_magenta_and_of_channels_the_first_is_drawn(oriel, tmp_path):
    values = np.full((2, 3, 20, 24), np.nan, "f4")
    values[0, 0] = np.arange(24)
    values[0, 0, 3, 4] = np.nan
    np.save(tmp_path / "x.npy", values)
    oriel("pyramid", "x.npy", "y.zarr", "--axes", "tcyx", "--levels", "1", "--factor", "2", "--chunk", "8", "--sheet", "sheet.png")
    first, second = insides(pixels(tmp_path / "sheet.png"))
    element = first.shape[0] // 20
    is_magenta = [(part == (255, 0, 255)).all(2) for part in (first, second)]
    assert is_magenta[0].sum() == element**2 and is_magenta[0][3 * element, 4 * element]
    assert is_magenta[1].sum() == (2 * element) ** 2 and is_magenta[1][2 * element, 4 * element]


def test_a_huge_plane_is_drawn_from_a_coarser_level(oriel, tmp_path):
    """Level 0 would be 2^40 elements; none is stored, so only the sheet of the coarser level has anything bright."""
    group = zarr.create_group(str(tmp_path / "y.zarr"))
    datasets = []
    for number, n in enumerate((2**20, 2**15, 2**10)):
        array = group.create_array(str(number), shape=(n, n), chunks=(256, 256), dtype="u1", compressors=None)
        if number == 2:
            array[256:512, 512:768] = 200
        scale = [2**20 / n] * 2
        translation = [(s - 1) / 2 for s in scale]
        datasets.append({"path": str(number), "coordinateTransformations": [{"type": "scale", "scale": scale}, {"type": "translation", "translation": translation}]})
    axes = [{"name": name, "type": "space"} for name in "yx"]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    words = [COMMAND, "pyramid", "--check", "y.zarr", "--sheet", "sheet.png", "--sample", "2", "-q"]
    done = subprocess.run(["python3", "-c", script, *words], cwd=tmp_path, capture_output=True, check=True, timeout=120)
    assert int(done.stdout) < 400 * 1024, done.stdout  # KiB
    picture = pixels(tmp_path / "sheet.png")
    assert picture.shape[0] <= 1200 and picture.shape[1] <= 1600
    parts = insides(picture)
    assert len(parts) == 3 and (parts[2] == 255).all(2).any()
    assert (parts[0] == parts[2]).all()


@pytest.mark.parametrize(
    "words, text",
    [
        (["--sheet", "sheet.jpg"], "--sheet: 'sheet.jpg'; allowed: a name that ends in .png"),
        (["--sheet", "-"], "--sheet: '-'; allowed: a name that ends in .png"),
        (["--sheet", "y.zarr/sheet.png"], "--sheet: 'y.zarr/sheet.png' is in 'y.zarr'; allowed: a file outside of it"),
        (["--sheet", "sheet.png", "--sheet-up", "yx"], "--sheet-up: 'yx' names 'x'; allowed: letters of 'y', the axes that are drawn downwards"),
        (["--sheet-up", "y"], "--sheet-up: is for --sheet only"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_made(refusal, tmp_path, words, text):
    np.save(tmp_path / "x.npy", np.zeros((20, 24), "u1"))
    assert text in refusal("pyramid", "x.npy", "y.zarr", "--levels", "1", *words, code=2)


def test_levels_that_are_added_are_drawn(oriel, tmp_path):
    """Whatever the image's folder is called."""
    values = np.arange(32 * 40, dtype="u2").reshape(32, 40)
    write_image(tmp_path / "image", [values], [([1, 1], [0, 0])])
    oriel("pyramid", "image", "--in-place", "--levels", "2", "--factor", "2", "--sheet", "sheet.png")
    parts = insides(pixels(tmp_path / "sheet.png"))
    element = parts[0].shape[0] // 32
    shown = [enlarged(level(tmp_path / "image", l).astype("f8"), element * 2**l, parts[0].shape) for l in range(3)]
    assert all((part == greys(drawn, shown[:1])[..., None]).all() for part, drawn in zip(parts, shown, strict=True))


def test_nothing_is_made_if_the_sheet_cannot_be_written(refusal, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((20, 24), "u1"))
    assert "none/sheet.png: cannot write here" in refusal("pyramid", "x.npy", "y.zarr", "--levels", "1", "--sheet", "none/sheet.png")


def test_an_old_sheet_stays_if_the_image_is_broken(refusal, oriel, tmp_path):
    write_image(tmp_path / "y.zarr", [np.ones((32, 40), "u1"), np.ones((16, 20), "u1")], [([1, 1], [0, 0]), ([2, 2], [0.5, 0.5])])
    (tmp_path / "sheet.png").write_bytes(b"old")
    (tmp_path / "y.zarr/1/c/0/0").write_bytes(b"broken")
    refusal("pyramid", "--check", "y.zarr", "--sheet", "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes() == b"old"


@pytest.mark.parametrize("scale", [0.0, 1e308, 5e-324])
def test_coordinates_that_no_picture_can_show(oriel, tmp_path, scale):
    """An error in one line that names the image, or a sheet: nothing else."""
    write_image(tmp_path / "y.zarr", [np.ones((32, 40), "u1"), np.ones((16, 20), "u1")], [([scale, scale], [0, 0]), ([2, 2 * scale], [0.5, 0.5])])
    done = subprocess.run([COMMAND, "pyramid", "--check", "y.zarr", "--sheet", "sheet.png", "-q"], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"y.zarr" in done.stderr
    assert not (tmp_path / "sheet.png").exists()


def test_names_may_have_any_bytes(oriel, tmp_path):
    """Markup, and bytes that are not UTF-8."""
    write_image(tmp_path / "y.zarr", [np.eye(32, 40, dtype="u1"), np.zeros((16, 20), "u1")], [([1, 1], [0, 0]), ([2, 2], [0.5, 0.5])])
    for name in (b"<b>&amp; y.zarr", b"\xff\xfe y.zarr", "µ.zarr".encode()):
        os.rename(tmp_path / "y.zarr", os.path.join(os.fsencode(tmp_path), name))
        done = subprocess.run([COMMAND, "pyramid", "--check", name, "--sheet", "sheet.png", "-q"], cwd=tmp_path, capture_output=True, timeout=60)
        assert done.stderr == b""
        assert len(insides(pixels(tmp_path / "sheet.png"))) == 2
        os.rename(os.path.join(os.fsencode(tmp_path), name), tmp_path / "y.zarr")
        (tmp_path / "sheet.png").unlink()
