"""`oriel pyramid --check`: it names the method of every level, and what is wrong."""

import shutil

import numpy as np
import pytest
import zarr
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
    assert not check(tmp_path, "y.zarr", 1)["good"]
