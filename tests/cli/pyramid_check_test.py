"""`oriel pyramid --check`: it names the method of every level, and what is wrong."""

import json
import shutil
import subprocess

import numpy as np
import pytest
import zarr
from conftest import COMMAND
from pyramids import check, mean_by, write_image


@pytest.mark.parametrize(("method", "name"), [("mean", "mean"), ("max", "max"), ("min", "min"), ("mode", "mode"), ("first", "first")])
def test_what_is_written_passes_the_check(oriel, tmp_path, volume, method, name):
    np.save(tmp_path / "x.npy", volume // 6000 if method == "mode" else volume)
    oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--chunk", "16", "--spacing", "2,1,1", "--translation", "5,6,7")
    found = check(tmp_path, "y.zarr", 0)
    assert found["good"] and found["version"] == "0.5"
    assert [one["method"] for one in found["levels"][1:]] == [f"{name} of level 0"] * (len(found["levels"]) - 1)
    assert [one["factor"] for one in found["levels"][:3]] == [[1, 1, 1], [1, 2, 2], [2, 4, 4]]


def test_the_check_knows_labels_whose_background_is_ignored(oriel, tmp_path):
    labels = np.random.default_rng(2).integers(0, 5, (40, 48, 56))
    np.save(tmp_path / "x.npy", labels.astype("u4"))
    oriel("pyramid", "x.npy", "y.zarr", "--labels", "--ignore", "0", "--chunk", "16", "--factor", "2")
    found = check(tmp_path, "y.zarr", 0)
    assert [one["method"] for one in found["levels"][1:]] == ["mode (0 ignored) of level 0"] * 2
    oriel("pyramid", "x.npy", "y.zarr", "--labels", "--chunk", "16", "--factor", "2")
    assert [one["method"] for one in check(tmp_path, "y.zarr", 0)["levels"][1:]] == ["mode of level 0"] * 2


def test_the_check_names_methods_of_others(tmp_path, volume):
    """Table 0.1: means that are cut off, values that are rounded twice, decimation."""
    x = volume[:64, :80, :64]
    block = lambda a: a.reshape(a.shape[0] // 2, 2, a.shape[1] // 2, 2, a.shape[2] // 2, 2).astype("i8")
    cut = lambda a: (block(a).sum((1, 3, 5)) // 8).astype("u2")
    twice = lambda a: np.rint(block(a).mean((1, 3, 5))).astype("u2")
    shift = [[0, 0, 0], [0.5] * 3, [1.5] * 3]
    for make, first, second in (
        (cut, "mean, cut off instead of rounded of level 0", "mean, cut off instead of rounded of the level before"),
        (twice, "mean of level 0", "mean of the level before"),
        (lambda a: a[1::2, 1::2, 1::2], "centre of level 0", "centre of the level before"),
    ):
        shutil.rmtree(tmp_path / "y.zarr", ignore_errors=True)
        write_image(tmp_path / "y.zarr", [x, make(x), make(make(x))], [[1] * 3, [2] * 3, [4] * 3], shift)
        found = check(tmp_path, "y.zarr", 0)
        assert [one["method"] for one in found["levels"][1:]] == [first, second]


def test_the_check_names_what_is_wrong(tmp_path, volume):
    """Dropped ends, scales that are ratios of shapes, translations that are left out, values of another image."""
    x = volume[:64, :81, :66]
    half = mean_by(x, (2, 2, 2)).astype("u2")
    write_image(tmp_path / "y.zarr", [x, half[:, :40], half[:, :20, ::2]], [[1] * 3, [2, 81 / 40, 2], [4, 4, 4]], [None, None, [1.5] * 3])
    faults = [one["faults"] for one in check(tmp_path, "y.zarr", 1)["levels"]]
    assert faults[0] == []
    assert faults[1] == [
        "scale: 2.025 along y; it should be 2, 2 times that of level 0",
        "shape: 40 along y; it should be 41: the last 1 of 81 elements is in no window",
        "translation: 0 along z; it should be 0.5", "translation: 0 along y; it should be 0.5", "translation: 0 along x; it should be 0.5",
    ]  # fmt: skip
    assert faults[2][0] == "scale: 4 along z; it should be 2, 2 times that of level 0"
    shutil.rmtree(tmp_path / "y.zarr")
    write_image(tmp_path / "y.zarr", [x, half // 2], [[1] * 3, [2] * 3], [[0] * 3, [0.5] * 3])
    (only,) = check(tmp_path, "y.zarr", 1)["levels"][1]["faults"]
    assert only.startswith("values: no method fits; the nearest, ")
    shutil.rmtree(tmp_path / "y.zarr")
    write_image(tmp_path / "y.zarr", [x, half[:, :, :20]], [[1] * 3, [2] * 3], [[0] * 3, [0.5] * 3])
    assert check(tmp_path, "y.zarr", 1)["levels"][1]["faults"] == ["shape: 20 along x: no factor makes that of 66"]


def test_the_check_reads_images_only(refusal, tmp_path, volume):
    assert "not an OME-Zarr image" in refusal("pyramid", "--check", "x.npy")
    assert "--check: writes nothing, but OUT is 'y.zarr'" in refusal("pyramid", "--check", "x.npy", "y.zarr", code=2)
    assert "OUT is required" in refusal("pyramid", "x.npy", code=2)


@pytest.mark.parametrize(("method", "rule"), [
    *((method, rule) for method in ("mean", "max", "min", "median") for rule in ("propagate", "omit")),
    ("first", "propagate"),  # the first that is valid is no method of --check
])  # fmt: skip
def test_the_check_of_volumes_with_nan(oriel, tmp_path, method, rule):
    x = np.random.default_rng(1).standard_normal((20, 22, 24)).astype("f4")
    x[np.random.default_rng(2).random(x.shape) < 0.2] = np.nan
    x[:8, :8, :8] = np.nan
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--nan", rule, "--levels", "1", "--chunk", "8")
    found = check(tmp_path, "y.zarr", 0)["levels"][1]
    assert found["method"] == f"{method} of level 0"
    array = zarr.open_array(str(tmp_path / "y.zarr/1"), mode="r+")
    array[:4, :4, :4] = 7  # which no method makes of nothing but NaN
    if method == "mean":
        assert check(tmp_path, "y.zarr", 1)["levels"][1]["method"] is None


ONE = [1.0, 1.0, 1.0]
ALLOWED = "one scale, then at most one translation"


def scale(*numbers):
    return {"type": "scale", "scale": list(numbers or ONE)}


def translation(*numbers):
    return {"type": "translation", "translation": list(numbers or ONE)}


def edit(folder, change):
    """Changes the image in the metadata of a group of version 2."""
    attributes = json.loads((folder / ".zattrs").read_text())
    change(attributes["multiscales"][0])
    (folder / ".zattrs").write_text(json.dumps(attributes))


@pytest.fixture
def image(tmp_path, volume):
    """y.zarr: two levels, right in all."""
    x = volume[:16, :16, :16]
    write_image(tmp_path / "y.zarr", [x, mean_by(x, (2, 2, 2)).astype("u2")], [[1] * 3, [2] * 3], [[0] * 3, [0.5] * 3])
    return tmp_path / "y.zarr"


TWICE = scale(2.0, 2.0, 2.0)
HALF = translation(0.5, 0.5, 0.5)


@pytest.mark.parametrize(("transformations", "found"), [
    ([], "none"),
    (None, "none"),
    ([HALF, TWICE], "translation, scale"),
    ([TWICE, scale(), HALF], "scale, scale, translation"),
    ([TWICE, HALF, translation(0, 0, 0)], "scale, translation, translation"),
    ([HALF], "translation"),
    ([{"type": "identity"}, TWICE, HALF], "identity, scale, translation"),
])  # fmt: skip
def test_transformations_that_an_image_must_not_have(oriel, image, transformations, found):
    def change(one):
        del one["datasets"][1]["coordinateTransformations"]
        if transformations is not None:
            one["datasets"][1]["coordinateTransformations"] = transformations

    edit(image, change)
    levels = check(image.parent, "y.zarr", 1)["levels"]
    wanted = f"datasets[1]: coordinateTransformations: {found}; allowed: {ALLOWED}"
    assert levels[0]["faults"] == [] and levels[1]["faults"][0] == wanted
    assert f"\n  {wanted}\n" in oriel("pyramid", "--check", "y.zarr", code=1).stdout.decode()


def test_transformations_of_the_whole_image_have_the_same_rules(image):
    edit(image, lambda one: one.update(coordinateTransformations=[scale(3, 3, 3), translation(7, 7, 7)]))
    assert check(image.parent, "y.zarr", 0)["good"]
    edit(image, lambda one: one.update(coordinateTransformations=[translation(7, 7, 7), scale(3, 3, 3)]))
    levels = check(image.parent, "y.zarr", 1)["levels"]
    assert levels[0]["faults"] == [f"multiscales[0]: coordinateTransformations: translation, scale; allowed: {ALLOWED}"]
    assert levels[1]["faults"] == []  # said once


@pytest.mark.parametrize(("transformation", "text"), [
    ({"type": "affine", "affine": [1]}, 'coordinateTransformations: {"affine":[1],"type":"affine"}; allowed: ' + ALLOWED),
    ({"type": "scale", "scale": [1.0, 2.0]}, "scale: [1.0,2.0]; allowed: a list of 3 numbers, one for each axis"),
    ({"type": "scale", "scale": [1.0, 2.0, "3"]}, 'scale: [1.0,2.0,"3"]; allowed: finite numbers'),
    ({"type": "scale", "path": "s"}, 'scale: {"path":"s","type":"scale"}; allowed: a list of 3 numbers, not the path of an array of them'),
    ({"scale": ONE}, "coordinateTransformations: type: null; allowed: a text"),
    ("scale", "coordinateTransformations: type: null; allowed: a text"),
])  # fmt: skip
def test_transformations_that_cannot_be_read(refusal, image, transformation, text):
    edit(image, lambda one: one["datasets"][1].update(coordinateTransformations=[transformation]))
    assert refusal("pyramid", "--check", "y.zarr") == f"oriel pyramid: y.zarr/.zattrs: datasets[1]: {text}"


def test_a_level_without_a_path(refusal, image):
    edit(image, lambda one: one["datasets"][1].pop("path"))
    assert refusal("pyramid", "--check", "y.zarr") == "oriel pyramid: y.zarr/.zattrs: datasets[1]: path: null; allowed: a text"


def test_metadata_without_a_version_are_those_of_0_4(oriel, refusal, image):
    edit(image, lambda one: one.pop("version"))
    found = check(image.parent, "y.zarr", 0)
    assert found["version"] == "0.4" and not found["has_version"]
    assert "\n  version: none in the metadata; taken for 0.4\n" in oriel("pyramid", "--check", "y.zarr").stdout.decode()
    oriel("pyramid", "y.zarr", "z.zarr", "--levels", "1")
    assert check(image.parent, "z.zarr", 0)["has_version"]
    oriel("pyramid", "y.zarr", "--in-place", "--levels", "1")
    assert check(image.parent, "y.zarr", 0)["good"]
    edit(image, lambda one: one.update(version="0.3"))
    assert refusal("pyramid", "--check", "y.zarr") == 'oriel pyramid: y.zarr/.zattrs: version: "0.3"; allowed: 0.4, 0.5'
    # In version 3 it is required.
    (image.parent / "z.zarr/zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": [{}]}}}')
    assert refusal("pyramid", "--check", "z.zarr") == "oriel pyramid: z.zarr/zarr.json: version: null; allowed: 0.4, 0.5"


def test_an_axis_may_run_backwards(tmp_path, volume):
    """As latitudes do, from north to south."""
    x = volume[:16, :16, :16]
    write_image(tmp_path / "y.zarr", [x, mean_by(x, (2, 2, 2)).astype("u2")], [[1, -1, 1], [2, -2, 2]], [[0, 60, 0], [0.5, 59.5, 0.5]])
    assert check(tmp_path, "y.zarr", 0)["good"]


@pytest.mark.parametrize("method", ["sum", "any", "all", "var", "std", "first", "mean"])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4"])
def test_every_method_of_every_dtype_passes_the_check(oriel, tmp_path, method, dtype):
    """Also sums near 0, whose terms cancel each other, results that saturate, and levels of another dtype."""
    x = np.random.default_rng(3).normal(0 if dtype != "u1" else 60, 30, (17, 37, 53)).clip(-99, 250).astype(dtype)
    x[np.random.default_rng(4).random(x.shape) < 0.2] = 0
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--levels", "2", "--factor", "2")
    found = check(tmp_path, "y.zarr", 0)["levels"][1:]
    if dtype == "u1" or method != "all":  # of floats both are true nearly everywhere
        assert [one["method"] for one in found] == [f"{method} of level 0"] * 2


@pytest.mark.parametrize("dtype", ["u8", "i8"])
def test_the_check_tells_large_numbers_of_segments_apart(oriel, tmp_path, dtype):
    """Numbers of 64 bits, of which 128 neighbours are one double."""
    labels = (720575940600000000 + np.random.default_rng(5).integers(0, 50, (20, 37, 53))).astype(dtype)
    np.save(tmp_path / "x.npy", labels)
    oriel("pyramid", "x.npy", "y.zarr", "--labels", "--levels", "2", "--factor", "2")
    assert [one["method"] for one in check(tmp_path, "y.zarr", 0)["levels"][1:]] == ["mode of level 0"] * 2
    wrong = zarr.open_array(str(tmp_path / "y.zarr" / "1"), mode="r+")
    wrong[...] = wrong[...] + 1
    assert check(tmp_path, "y.zarr", 1)["levels"][1]["method"] is None


@pytest.mark.parametrize("words", [[], ["--min-count", "0"], ["--min-count", "3"]])
@pytest.mark.parametrize("method", ["mean", "max", "min", "sum", "first", "median", "var"])
def test_the_check_leaves_out_elements_without_data(oriel, tmp_path, method, words):
    x = np.random.default_rng(6).integers(1, 90, (70, 90)).astype("i2")
    x[np.random.default_rng(7).random(x.shape) < 0.6] = -9999
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--nodata", "-9999", "--levels", "2", "--factor", "2", *words)
    if method == "mean":
        assert check(tmp_path, "y.zarr", 1)["levels"][1]["method"] is None
    found = check(tmp_path, "y.zarr", 0, "--nodata", "-9999")
    source = "the level before" if method == "median" else "level 0"
    assert [one["method"] for one in found["levels"][1:]] == [f"{method} of level 0", f"{method} of {source}"]


def test_samples_that_fit_several_methods_may_lie_where_any_of_these_puts_them(oriel, tmp_path):
    np.save(tmp_path / "x.npy", np.repeat(np.uint8([3, 5]), 32)[:, None] + np.zeros((64, 64), np.uint8))
    for method in "first", "mode", "mean":
        oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--levels", "1", "--factor", "2")
        assert check(tmp_path, "y.zarr", 0)["good"], method
    attributes = tmp_path / "y.zarr" / "zarr.json"
    attributes.write_text(attributes.read_text().replace("0.5,", "0.25,"))
    assert "translation: 0.25 along y; it should be 0.5" in check(tmp_path, "y.zarr", 1)["levels"][1]["faults"]


@pytest.mark.parametrize(
    "words, text",
    [
        (["--check", "y.zarr", "--method", "max"], "--method: cannot be combined with --check"),
        (["--check", "y.zarr", "--ome", "0.5"], "--ome: cannot be combined with --check"),
        (["--check", "y.zarr", "--memory", "1GiB"], "--memory: cannot be combined with --check"),
        (["--check", "y.zarr", "--threads", "2"], "--threads: cannot be combined with --check"),
        (["--check", "y.zarr", "--deadline", "9s"], "--deadline: cannot be combined with --check"),
        (["x.npy", "z.h5", "--ome", "0.5"], "--ome: is for OUT.zarr only, but OUT is 'z.h5'"),
        (["x.npy", "z.ome.tif", "--ome", "0.4"], "--ome: is for OUT.zarr only"),
        (["--check", "y.zarr", "--min-count", "0"], "--min-count: cannot be combined with --check"),
        (["--check", "y.zarr", "--nodata", "300"], "--nodata: 300 is not a value of u8, the dtype of level 0"),
        (["x.npy", "z.zarr", "--sample", "9"], "--sample: is for --check only"),
        (["y.zarr", "--in-place", "--ome", "0.4"], "--ome: cannot be combined with --in-place; IN keeps its version"),
        (["f.npy", "z.zarr", "--labels"], "--labels: IN is of f32; allowed: integers"),
    ],
)
def test_options_that_would_do_nothing_are_refused(oriel, tmp_path, words, text):
    np.save(tmp_path / "x.npy", np.zeros((8, 8), "u1"))
    np.save(tmp_path / "f.npy", np.zeros((8, 8), "f4"))
    oriel("pyramid", "x.npy", "y.zarr", "--levels", "1")
    run = subprocess.run([COMMAND, "pyramid", *words], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode != 0 and text in run.stderr
    assert not (tmp_path / "z.zarr").exists()
