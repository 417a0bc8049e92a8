"""`oriel pyramid`: levels against NumPy, metadata against ome-zarr-models, coordinates by ramps, memory, faults."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import h5py
import nibabel
import numpy as np
import pytest
import tensorstore
import zarr
from conftest import COMMAND
from ome_zarr_models import open_ome_zarr

SHAPE = (70, 81, 67)


def reduce_by(ufunc, x, factor):
    for axis, f in enumerate(factor):
        x = ufunc.reduceat(x, range(0, x.shape[axis], f), axis)
    return x


def mean_by(x, factor):
    """The means of what windows hold, rounded once, half to even."""
    wide = np.float64 if x.dtype.kind == "f" else np.int64
    return np.rint(reduce_by(np.add, x.astype(wide), factor) / reduce_by(np.add, np.ones(x.shape, wide), factor))


def mode_by(x, factor, ignore=None):
    result = np.empty([-(-n // f) for n, f in zip(x.shape, factor)], x.dtype)
    for place in np.ndindex(result.shape):
        values, counts = np.unique(x[tuple(slice(p * f, (p + 1) * f) for p, f in zip(place, factor))], return_counts=True)
        if ignore is not None and len(values) > 1:
            values, counts = values[values != ignore], counts[values != ignore]
        result[place] = values[counts.argmax()]
    return result


def metadata(path):
    return zarr.open_group(str(path), mode="r").attrs["ome"]["multiscales"][0]


def coordinates(path):
    """[(scale, translation)] of all levels."""
    return [[t[t["type"]] for t in d["coordinateTransformations"]] for d in metadata(path)["datasets"]]


def level(path, number):
    return zarr.open_array(str(path / str(number)), mode="r")[...]


def digest(folder):
    found = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        found.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return found.hexdigest()


@pytest.fixture
def volume(tmp_path):
    x = np.random.default_rng(0).integers(0, 60000, SHAPE).astype("u2")
    np.save(tmp_path / "x.npy", x)
    return x


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


def test_a_killed_run_leaves_the_old_store(oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    before = digest(tmp_path / "y.zarr")
    for delay in (0.01, 0.03, 0.06, 0.1):
        process = subprocess.Popen([COMMAND, "pyramid", "x.npy", "y.zarr", "--chunk", "4", "-q"], cwd=tmp_path)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break  # it was done before
        assert digest(tmp_path / "y.zarr") == before
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    assert digest(tmp_path / "y.zarr") == before
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.zarr"]  # what killed runs left is gone


def test_a_chunk_that_cannot_be_read_ends_the_call(oriel, refusal, tmp_path, volume):
    zarr.create_array(str(tmp_path / "x.zarr"), data=volume, chunks=(20, 30, 40))
    chunk = tmp_path / "x.zarr/c/1/1/1"
    chunk.write_bytes(chunk.read_bytes()[:50])
    assert "c/1/1/1" in refusal("pyramid", "x.zarr", "y.zarr", "-t", "2")
    assert not (tmp_path / "y.zarr").exists()


@pytest.mark.parametrize(("words", "text"), [
    (["x.npy", "y.npy"], "OUT: 'y.npy'; allowed: a name that ends in .zarr, .precomputed"),
    (["x.png", "y.zarr"], "IN: 'x.png' cannot be read in parts; allowed: .npy, .zarr"),
])  # fmt: skip
def test_wrong_names(refusal, tmp_path, volume, words, text):
    assert text in refusal("pyramid", *words, code=2)


@pytest.mark.parametrize(("words", "text"), [
    (["--factor", "2x2"], "--factor: '2x2' has 2 numbers; allowed: 1, for the axes of space, or 3, one for each axis"),
    (["--factor", "0"], "--factor: must be >= 1, but is '0'"),
    (["--levels", "0"], "--levels: '0'; allowed: auto, 1 to 40"),
    (["--chunk", "128"], "--levels: IN, 70x81x67, fits into one chunk, 128x128x128; allowed: a number of levels, or smaller chunks"),
    (["--axes", "yx"], "--axes: 'yx' names 2 axes, but IN has 3; allowed: a letter for each, such as tczyx"),
    (["--axes", "xct"], "x.npy: axes x, c, t; allowed in OME-Zarr: 2 to 5 of different names, of time, channel and 2 or 3 of space, in this order"),
    (["--spacing", "1,2"], "--spacing: '1,2' has 2 numbers; allowed: 1, for the axes of space, or 3, one for each axis"),
    (["--spacing", "-1"], "--spacing: must be > 0, but has -1"),
    (["--labels", "--method", "mean"], "--labels: cannot be combined with --method mean; allowed: mode"),
    (["--ignore", "0"], "ignore"),
    (["--shard", "100"], "--shard: 100 along axis 0; allowed: multiples of the chunk's 64"),
    (["--memory", "1MiB"], "--memory: 1.05 MB is too little; allowed: more than"),
])  # fmt: skip
def test_wrong_options(oriel, tmp_path, volume, words, text):
    done = subprocess.run([COMMAND, "pyramid", "x.npy", "y.zarr", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (1, 2) and text in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert os.listdir(tmp_path) == ["x.npy"]


def test_a_store_that_holds_the_input_is_not_replaced(refusal, oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "16")
    assert "OUT: 'y.zarr' holds IN, 'y.zarr/0'" in refusal("pyramid", "y.zarr/0", "y.zarr", "--chunk", "8", code=2)
    (tmp_path / "z.zarr").mkdir()
    (tmp_path / "z.zarr/file").write_text("mine")
    assert "a folder that is not an OME-Zarr image" in refusal("pyramid", "x.npy", "z.zarr")


@pytest.mark.parametrize("damage", [
    '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.6", "multiscales": [{}]}}}',
    '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": 5}}}',
    '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "x"}]}]}}}',
    '{"attributes": {"ome": {"multiscales": []}}}',
    "[",
])  # fmt: skip
def test_damaged_metadata_are_named(refusal, oriel, tmp_path, volume, damage):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "16")
    (tmp_path / "y.zarr/zarr.json").write_text(damage)
    assert "y.zarr/zarr.json" in refusal("pyramid", "y.zarr", "z.zarr")


def write_image(path, levels, scales, translations):
    """An OME-Zarr 0.4 image as others write it."""
    group = zarr.create_group(str(path), zarr_format=2)
    datasets = []
    for number, (values, scale, translation) in enumerate(zip(levels, scales, translations)):
        group.create_array(str(number), shape=values.shape, dtype=values.dtype, chunks=(16, 16, 16))[...] = values
        transformations = [{"type": "scale", "scale": scale}]
        transformations += [{"type": "translation", "translation": translation}] if translation else []
        datasets.append({"path": str(number), "coordinateTransformations": transformations})
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": datasets}]


def check(folder, name, code, *words):
    done = subprocess.run([COMMAND, "pyramid", "--check", name, "--json", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("method", "name"), [("mean", "mean"), ("max", "max"), ("min", "min"), ("mode", "mode"), ("first", "first")])
def test_what_is_written_passes_the_check(oriel, tmp_path, volume, method, name):
    np.save(tmp_path / "x.npy", volume // 6000 if method == "mode" else volume)
    oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--chunk", "16", "--spacing", "2,1,1", "--translation", "5,6,7")
    found = check(tmp_path, "y.zarr", 0)
    assert found["good"] and found["version"] == "0.5"
    assert [one["method"] for one in found["levels"][1:]] == [f"{name} of level 0"] * (len(found["levels"]) - 1)
    assert [one["factor"] for one in found["levels"][:3]] == [[1, 1, 1], [1, 2, 2], [2, 4, 4]]


def base_image(path, x, version, base="0", **attributes):
    """An image of which there is level 0 alone, with metadata that nobody else understands."""
    group = zarr.open_group(str(path), mode="w", zarr_format=2 if version == "0.4" else 3)
    array = group.create_array(base, shape=x.shape, chunks=(16, 20, 24), dtype=x.dtype)
    array[...] = x
    axes = [{"name": name, "type": "space", "unit": "micrometer", "longName": f"along {name}"} for name in "zyx"]
    datasets = [{"path": base, "coordinateTransformations": [{"type": "scale", "scale": [2.0, 1.0, 1.0]}], "stain": "DAPI"}]
    multiscales = [{"name": "cells", "axes": axes, "datasets": datasets,
                    "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.5, 0.5]}]}]
    if version == "0.4":
        multiscales[0]["version"] = "0.4"
        group.attrs.update({"multiscales": multiscales, "omero": {"id": 7}, **attributes})
    else:
        group.attrs["ome"] = {"version": "0.5", "multiscales": multiscales, "omero": {"id": 7}, **attributes}
    return array


@pytest.mark.parametrize(("version", "base", "added"), [("0.5", "0", ["1", "2"]), ("0.4", "a/s0", ["a/s1", "a/s2"])])
def test_levels_are_added_to_an_image(oriel, tmp_path, volume, version, base, added):
    base_image(tmp_path / "y.zarr", volume, version, base)
    zarr.consolidate_metadata(str(tmp_path / "y.zarr"))
    before = {p: p.read_bytes() for p in (tmp_path / "y.zarr" / base).rglob("*") if p.is_file()}
    text = oriel("pyramid", "y.zarr", "--in-place", "--levels", "2").stdout.decode()
    assert text.startswith("y.zarr: u16 70x81x67: 2 levels by mean added, the coarsest 35x21x17 (")
    group = zarr.open_group(str(tmp_path / "y.zarr"), mode="r")
    assert group.metadata.consolidated_metadata is None
    attributes = group.attrs if version == "0.4" else group.attrs["ome"]
    image = attributes["multiscales"][0]
    assert attributes["omero"] == {"id": 7} and image["name"] == "cells" and image["axes"][0]["unit"] == "micrometer"
    assert image["axes"][2]["longName"] == "along x" and image["datasets"][0]["stain"] == "DAPI"
    assert [one["path"] for one in image["datasets"]] == [base, *added]
    assert [[t[t["type"]] for t in one["coordinateTransformations"]] for one in image["datasets"]] == [
        [[1, 0.5, 0.5], [0, 0, 0]], [[1, 1, 1], [0, 0.25, 0.25]], [[2, 2, 2], [0.5, 0.75, 0.75]]]
    assert (group[added[0]][...] == mean_by(volume, (1, 2, 2))).all() and group[added[0]].chunks == (16, 20, 24)
    assert (group[added[1]][...] == mean_by(volume, (2, 4, 4))).all()
    assert all(path.read_bytes() == there for path, there in before.items())
    assert check(tmp_path, "y.zarr", 0)["good"]
    # Levels that are there are replaced by others.
    oriel("pyramid", "y.zarr", "--in-place", "--method", "max", "--factor", "3", "--levels", "1")
    found = check(tmp_path, "y.zarr", 0)["levels"]
    assert [one["method"] for one in found[1:]] == ["max of level 0"] and found[1]["factor"] == [3, 3, 3]
    folders = sorted(p.name for p in (tmp_path / "y.zarr" / base).parent.iterdir() if p.is_dir())
    assert folders == [base[-2:].lstrip("/"), f"{added[0].split('/')[-1]}-2"]


def test_adding_levels_fails_without_a_trace(oriel, refusal, tmp_path, volume):
    base_image(tmp_path / "y.zarr", volume, "0.5")
    array = tmp_path / "y.zarr/0/c/4/4/2"
    whole = array.read_bytes()
    array.write_bytes(whole[:50])
    before = digest(tmp_path / "y.zarr")
    assert "y.zarr/0/c/4/4/2" in refusal("pyramid", "y.zarr", "--in-place")
    assert digest(tmp_path / "y.zarr") == before
    array.write_bytes(whole)
    before = digest(tmp_path / "y.zarr")
    for delay in (0.01, 0.02, 0.03, 0.05):
        process = subprocess.Popen([COMMAND, "pyramid", "y.zarr", "--in-place", "--chunk", "2", "-q"], cwd=tmp_path)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break  # it was done before
        names = {str(p.relative_to(tmp_path / "y.zarr")) for p in (tmp_path / "y.zarr").iterdir()}
        assert {name for name in names if not name.startswith(".")} == {"0", "zarr.json"}
        assert check(tmp_path, "y.zarr", 0)["good"]
    else:
        oriel("pyramid", "y.zarr", "--in-place", "--chunk", "16")
    assert not [p for p in (tmp_path / "y.zarr").iterdir() if p.name.startswith(".")]
    assert "--in-place: 'x.npy' is not an OME-Zarr image" in refusal("pyramid", "x.npy", "--in-place")
    assert "--in-place: the levels are added to IN, but OUT is 'z.zarr'" in refusal("pyramid", "y.zarr", "z.zarr", "--in-place", code=2)
    base_image(tmp_path / "v4.zarr", volume, "0.4")
    assert "OME-Zarr 0.4, which has none" in refusal("pyramid", "v4.zarr", "--in-place", "--shard", "64", "--chunk", "16")


def test_labels_and_booleans_are_not_averaged(oriel, tmp_path, volume):
    base_image(tmp_path / "l.zarr", volume // 9000, "0.5", **{"image-label": {"version": "0.5"}})
    assert "2 levels by mode added" in oriel("pyramid", "l.zarr", "--in-place", "--levels", "2").stdout.decode()
    assert "1 level by mode" in oriel("pyramid", "l.zarr", "m.zarr", "--levels", "1").stdout.decode()
    assert metadata(tmp_path / "m.zarr")["type"] == "mode"
    assert "image-label" in zarr.open_group(str(tmp_path / "m.zarr"), mode="r").attrs["ome"]
    assert "1 level by max" in oriel("pyramid", "l.zarr", "n.zarr", "--levels", "1", "--method", "max").stdout.decode()
    np.save(tmp_path / "b.npy", volume > 50000)
    assert "1 level by any" in oriel("pyramid", "b.npy", "b.zarr", "--levels", "1").stdout.decode()


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


def test_progress_has_the_time_that_is_left(tmp_path, volume):
    big = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "u2", (400, 400, 400))
    big[:] = np.random.default_rng(5).integers(0, 65535, (400, 400), dtype="u2")
    del big
    done = subprocess.run([COMMAND, "pyramid", "x.npy", "y.zarr", "-t", "1", "--progress", "--chunk", "16"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "left" in done.stderr, done.stderr
    shutil.rmtree(tmp_path / "y.zarr")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
