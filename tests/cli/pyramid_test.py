"""`oriel pyramid`: levels against NumPy, metadata against ome-zarr-models, coordinates by ramps, memory."""

import json
import shutil
import subprocess

import h5py
import nibabel
import numpy as np
import pytest
import tensorstore
import zarr
from conftest import COMMAND
from ome_zarr_models import open_ome_zarr
from pyramids import base_image, check, coordinates, digest, level, mean_by, metadata, mode_by, reduce_by


def test_levels_are_means_of_level_0(oriel, tmp_path, volume):
    report = json.loads(oriel("pyramid", "x.npy", "y.zarr", "--chunk", "16", "--json", "--spacing", "2,1,1").stdout)
    assert [one["shape"] for one in report["levels"]] == [[70, 81, 67], [70, 41, 34], [35, 21, 17], [18, 11, 9], [9, 6, 5]]
    assert (level(tmp_path / "y.zarr", 0) == volume).all()
    for number, factor in enumerate([(1, 2, 2), (2, 4, 4), (4, 8, 8)], 1):
        assert (level(tmp_path / "y.zarr", number) == mean_by(volume, factor)).all()
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "y.zarr/2")}}
    assert (tensorstore.open(spec).result().read().result() == mean_by(volume, (2, 4, 4))).all()
    assert report["chunks_uniform"] == 0 and report["tiles_read"] == report["tiles"]


def test_the_metadata_are_valid_and_say_where_elements_are(oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "16", "--spacing", "2,1,1", "--translation", "0,10,20", "--unit", "micrometer")
    image = open_ome_zarr(zarr.open_group(str(tmp_path / "y.zarr"), mode="r"))
    assert type(image).__name__ == "Image" and "v05" in type(image).__module__
    assert coordinates(tmp_path / "y.zarr") == [
        [[2, 1, 1], [0, 10, 20]], [[2, 2, 2], [0, 10.5, 20.5]], [[4, 4, 4], [1, 11.5, 21.5]], [[8, 8, 8], [3, 13.5, 23.5]], [[16, 16, 16], [7, 17.5, 27.5]],
    ]  # fmt: skip
    axes = metadata(tmp_path / "y.zarr")["axes"]
    assert [axis["name"] for axis in axes] == ["z", "y", "x"] and {axis["unit"] for axis in axes} == {"micrometer"}
    assert zarr.open_array(str(tmp_path / "y.zarr/1"), mode="r").metadata.dimension_names == ("z", "y", "x")


@pytest.mark.parametrize("origin", ["0", "3x1x2"])
def test_a_ramp_has_its_own_position_at_every_level(oriel, tmp_path, origin):
    for axis, n in enumerate((40, 48, 56)):
        shape = [40, 48, 56]
        x = np.broadcast_to(np.arange(n, dtype="f8").reshape([-1 if a == axis else 1 for a in range(3)]), shape)
        np.save(tmp_path / "x.npy", x * 0.5 + 7)
        words = ["--spacing", "0.5", "--translation", "7", "--chunk", "8", "--origin", origin, "--levels", "3"]
        oriel("pyramid", "x.npy", "y.zarr", *words)
        for number, (scale, translation) in enumerate(coordinates(tmp_path / "y.zarr")):
            values = level(tmp_path / "y.zarr", number)
            inner = [slice(1, -1) if a == axis else 0 for a in range(3)]  # windows that are whole
            expected = scale[axis] * np.arange(values.shape[axis]) + translation[axis]
            assert np.allclose(values[tuple(inner)], expected[1:-1], rtol=0, atol=1e-12)


def test_labels_are_the_most_frequent_ones_of_level_0(oriel, tmp_path):
    rng = np.random.default_rng(1)
    x = np.kron(rng.integers(0, 4, (7, 8, 9)), np.ones((3, 3, 2), int)).astype("u4")
    x[rng.random(x.shape) < 0.3] = 0
    np.save(tmp_path / "x.npy", x)
    for words, ignore in ([], None), (["--ignore", "0"], 0):
        oriel("pyramid", "x.npy", "y.zarr", "--labels", *words, "--chunk", "4", "--levels", "2")
        for number, factor in enumerate([(2, 2, 2), (4, 4, 4)], 1):
            assert (level(tmp_path / "y.zarr", number) == mode_by(x, factor, ignore)).all()
    group = zarr.open_group(str(tmp_path / "y.zarr"), mode="r")
    assert group.attrs["ome"]["image-label"] and metadata(tmp_path / "y.zarr")["type"] == "mode"


def test_every_method(oriel, tmp_path):
    x = np.random.default_rng(2).integers(-500, 500, (9, 30, 31)).astype("f4")
    np.save(tmp_path / "x.npy", x)
    expected = {"max": reduce_by(np.maximum, x, (2, 2, 2)), "min": reduce_by(np.minimum, x, (2, 2, 2)), "first": x[::2, ::2, ::2]}
    for method, values in expected.items():
        oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--levels", "1")
        assert (level(tmp_path / "y.zarr", 1) == values).all(), method
    assert coordinates(tmp_path / "y.zarr")[1] == [[2, 2, 2], [0, 0, 0]]  # first elements lie where they are
    x[0, 0, 0] = np.nan
    x[2:4] = -1
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.zarr", "--nodata", "-1", "--nan", "omit", "--levels", "1")
    values = level(tmp_path / "y.zarr", 1)
    assert (values[1] == -1).all() and values[0, 0, 0] == np.float32(np.nanmean(x[:2, :2, :2].astype("f8")))


@pytest.mark.parametrize("dtype", ["i2", "f4"])
@pytest.mark.parametrize("method, nothing", [("mean", 0), ("sum", 0), ("max", None)])
def test_windows_without_data(oriel, tmp_path, method, nothing, dtype):
    """They become the value without data, or what S6 says if no valid element is asked for."""
    x = np.full((8, 16), -9999, dtype)
    x[0, 0], x[4:, 8:] = 7, 3
    np.save(tmp_path / "x.npy", x)
    if nothing is None:
        nothing = -32768 if dtype == "i2" else -np.inf
    for words, fill in ([], -9999), (["--fill", "5"], 5), (["--min-count", "0"], nothing), (["--min-count", "0", "--fill", "5"], nothing):
        oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--nodata", "-9999", "--levels", "1", "--factor", "2", *words)
        found = level(tmp_path / "y.zarr", 1)
        assert found[0, 0] == 7 and (found[0, 1:] == fill).all() and (found[2:, :4] == fill).all(), words
        assert (found[2:, 4:] == (12 if method == "sum" else 3)).all()
    if dtype == "f4":
        np.save(tmp_path / "x.npy", np.where(x == -9999, np.nan, x))
        for words, fill in ([], np.nan), (["--min-count", "0"], nothing):
            oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--nan", "omit", "--levels", "1", "--factor", "2", *words)
            np.testing.assert_array_equal(level(tmp_path / "y.zarr", 1)[0], [7, *[fill] * 7])


def test_inputs_of_every_format(oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "wanted.zarr", "--levels", "1")
    wanted = level(tmp_path / "wanted.zarr", 1)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("raw", data=volume, chunks=(16, 16, 16))
    zarr.create_array(str(tmp_path / "x.zarr"), data=volume, chunks=(20, 30, 40))
    image = nibabel.Nifti1Image(volume.T, np.diag([0.5, 0.5, 3, 1]), dtype="u2")
    image.header.set_xyzt_units("mm")
    image.to_filename(tmp_path / "x.nii")
    image.to_filename(tmp_path / "x.nii.gz")
    for name in "x.h5:/raw", "x.zarr", "x.nii", "x.nii.gz":
        oriel("pyramid", name, "y.zarr", "--levels", "1", "--factor", "2", "--threads", "2")
        assert (level(tmp_path / "y.zarr", 1) == wanted).all(), name
    assert coordinates(tmp_path / "y.zarr")[0][0] == [3, 0.5, 0.5]
    assert metadata(tmp_path / "y.zarr")["axes"][0] == {"name": "z", "type": "space", "unit": "millimeter"}
    # Without factors the axes that are finer are halved first.
    oriel("pyramid", "x.nii", "y.zarr", "--chunk", "20")
    assert [scale for scale, _ in coordinates(tmp_path / "y.zarr")] == [[3, 0.5, 0.5], [3, 1, 1], [3, 2, 2], [6, 4, 4], [12, 8, 8]]


def test_an_image_of_ome_zarr_keeps_its_axes_and_coordinates(oriel, tmp_path):
    x = np.random.default_rng(3).integers(0, 255, (2, 3, 40, 50)).astype("u1")
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "a.zarr", "--axes", "tcyx", "--spacing", "5,1,0.25,0.25", "--unit", "micrometer", "--chunk", "16")
    assert [one[0] for one in coordinates(tmp_path / "a.zarr")] == [[5, 1, 0.25, 0.25], [5, 1, 0.5, 0.5], [5, 1, 1, 1]]
    for name in "a.zarr", "a.zarr/0":
        oriel("pyramid", name, "b.zarr", "--chunk", "16")
        assert metadata(tmp_path / "b.zarr")["axes"] == metadata(tmp_path / "a.zarr")["axes"]
        assert coordinates(tmp_path / "b.zarr") == coordinates(tmp_path / "a.zarr")
    oriel("pyramid", "a.zarr/1", "b.zarr", "--levels", "1")
    assert coordinates(tmp_path / "b.zarr")[0] == coordinates(tmp_path / "a.zarr")[1]


def test_the_same_bytes_for_any_number_of_threads_and_any_memory(oriel, tmp_path, volume):
    found = set()
    for words in (["-t", "1"], ["-t", "2"], ["-t", "3"], ["-t", "4"], ["--memory", "64MiB"], ["--memory", "200MiB"], ["--memory", "2GiB"]):
        oriel("pyramid", "x.npy", "y.zarr", "--chunk", "20x16x32", *words)
        found.add(digest(tmp_path / "y.zarr"))
    assert len(found) == 1


def test_shards_have_the_same_bytes_for_any_number_of_threads(oriel, tmp_path, volume):
    volume[20:60] = 0  # chunks of nothing but zeros are left out
    np.save(tmp_path / "x.npy", volume)
    found = set()
    for threads in "1", "2", "3", "4":
        oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8", "--shard", "24x32x16", "-t", threads)
        found.add(digest(tmp_path / "y.zarr"))
    assert len(found) == 1
    array = zarr.open_array(str(tmp_path / "y.zarr/0"), mode="r")
    assert array.shards == (24, 32, 16) and array.chunks == (8, 8, 8) and (array[...] == volume).all()
    assert (level(tmp_path / "y.zarr", 2) == mean_by(volume, (4, 4, 4))).all()
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "y.zarr/1")}}
    assert (tensorstore.open(spec).result().read().result() == mean_by(volume, (2, 2, 2))).all()
    assert len([p for p in (tmp_path / "y.zarr/0").rglob("*") if p.is_file()]) < 3 * 3 * 5 + 2


def test_ome_zarr_0_4_has_arrays_of_zarr_2(oriel, tmp_path, volume):
    for codec in (None, "none", "gzip:3", "blosc:lz4:5"):
        oriel("pyramid", "x.npy", "y.zarr", "--chunk", "16", "--ome", "0.4", "--unit", "nanometer", "--levels", "2",
              *(["--codec", codec] if codec else []))
        group = zarr.open_group(str(tmp_path / "y.zarr"), mode="r")
        assert group.metadata.zarr_format == 2
        assert (group["0"][...] == volume).all() and group["1"].metadata.zarr_format == 2
        assert (group["2"][...] == mean_by(volume, (4, 4, 4))).all()
        assert group["1"].attrs["_ARRAY_DIMENSIONS"] == ["z", "y", "x"]
        spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": str(tmp_path / "y.zarr/2")}}
        assert (tensorstore.open(spec).result().read().result() == mean_by(volume, (4, 4, 4))).all()
    valid = open_ome_zarr(zarr.open_group(str(tmp_path / "y.zarr"), mode="r"))
    assert type(valid).__name__ == "Image" and "v04" in type(valid).__module__
    assert valid.attributes.multiscales[0].datasets[1].coordinateTransformations[1].translation == [0.5, 0.5, 0.5]
    assert check(tmp_path, "y.zarr", 0)["levels"][2]["method"] == "mean of level 0"
    oriel("pyramid", "x.npy", "l.zarr", "--labels", "--chunk", "16", "--ome", "0.4")
    labels = open_ome_zarr(zarr.open_group(str(tmp_path / "l.zarr"), mode="r"))
    assert type(labels).__name__ == "ImageLabel" and "v04" in type(labels).__module__


def test_large_sparse_volumes_take_little_memory_and_time(oriel, tmp_path):
    """64 GiB of which nearly all chunks are missing: nothing is made of those."""
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(4096, 4096, 4096), chunks=(64, 64, 64), dtype="u1",
                              shards=(1024, 1024, 1024))  # fmt: skip
    block = np.random.default_rng(4).integers(1, 255, (200, 200, 200)).astype("u1")
    array[1000:1200, 2000:2200, 3000:3200] = block
    report = json.loads(oriel("pyramid", "x.zarr", "y.zarr", "-t", "4", "--json", "--memory", "320MiB").stdout)
    assert report["peak_memory"] < 320 << 20
    assert report["tiles_uniform"] > 32000 and report["tiles_read"] < 60
    last = len(report["levels"]) - 1
    assert level(tmp_path / "y.zarr", last).shape == (64, 64, 64)
    part = zarr.open_array(str(tmp_path / "y.zarr/2"), mode="r")[250:300, 500:550, 750:800]
    assert (part == mean_by(block, (4, 4, 4))).all()


def test_a_bound_of_memory_holds(oriel, tmp_path):
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "u2", (512, 512, 512))
    x[:] = np.arange(512, dtype="u2")[:, None, None]
    del x
    for bound in (96, 160):
        report = json.loads(oriel("pyramid", "x.npy", "y.zarr", "-t", "4", "--memory", f"{bound}MiB", "--json").stdout)
        assert report["peak_memory"] <= bound << 20


def test_labels_and_booleans_are_not_averaged(oriel, tmp_path, volume):
    base_image(tmp_path / "l.zarr", volume // 9000, "0.5", **{"image-label": {"version": "0.5"}})
    assert "2 levels by mode added" in oriel("pyramid", "l.zarr", "--in-place", "--levels", "2").stdout.decode()
    assert "1 level by mode" in oriel("pyramid", "l.zarr", "m.zarr", "--levels", "1").stdout.decode()
    assert metadata(tmp_path / "m.zarr")["type"] == "mode"
    assert "image-label" in zarr.open_group(str(tmp_path / "m.zarr"), mode="r").attrs["ome"]
    assert "1 level by max" in oriel("pyramid", "l.zarr", "n.zarr", "--levels", "1", "--method", "max").stdout.decode()
    np.save(tmp_path / "b.npy", volume > 50000)
    assert "1 level by any" in oriel("pyramid", "b.npy", "b.zarr", "--levels", "1").stdout.decode()


def test_progress_has_the_time_that_is_left(tmp_path, volume):
    big = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "u2", (400, 400, 400))
    big[:] = np.random.default_rng(5).integers(0, 65535, (400, 400), dtype="u2")
    del big
    done = subprocess.run([COMMAND, "pyramid", "x.npy", "y.zarr", "-t", "1", "--progress", "--chunk", "16"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "left" in done.stderr, done.stderr
    shutil.rmtree(tmp_path / "y.zarr")
