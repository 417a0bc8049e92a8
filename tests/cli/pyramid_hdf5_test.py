"""`oriel pyramid` to HDF5: read back by h5py, and by Oriel."""

import hashlib
import json

import h5py
import numpy as np
import pytest
import zarr

SHAPE = (20, 51, 67)


def random(shape=SHAPE, dtype="u2", seed=0):
    return np.random.default_rng(seed).integers(0, 250, shape).astype(dtype)


def levels(path):
    with h5py.File(path) as f:
        return [f[str(number)][...] for number in range(len(f))]


def zarr_levels(path):
    group = zarr.open_group(str(path), mode="r")
    return [group[name][...] for name in sorted(group.array_keys())]


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("dtype", ["u1", "u8", "i4", "f2", "f4", "f8", "?"])
@pytest.mark.parametrize("codec", [[], ["--codec", "none"]])
def test_levels_are_those_of_zarr(oriel, tmp_path, dtype, codec):
    np.save(tmp_path / "x.npy", random(dtype=dtype))
    words = ["--chunk", "16", "--factor", "1x2x2,2x2x2"]
    oriel("pyramid", "x.npy", "y.h5", *words, *codec)
    oriel("pyramid", "x.npy", "y.zarr", *words)
    same(levels(tmp_path / "y.h5"), zarr_levels(tmp_path / "y.zarr"))
    with h5py.File(tmp_path / "y.h5") as f:
        assert f["0"].chunks == (16, 16, 16) and f["2"].chunks == (10, 13, 16)
        assert (f["0"].compression, f["0"].compression_opts) == ((None, None) if codec else ("gzip", 1))


def test_attributes_and_a_pyramid_of_a_pyramid(oriel, tmp_path):
    np.save(tmp_path / "x.npy", random())
    words = ["--factor", "1x2x2", "--levels", "2"]
    report = json.loads(
        oriel("pyramid", "x.npy", "y.h5", *words, "--spacing", "2000,500,250", "--unit", "nanometer", "--translation", "1,2,3", "--json").stdout
    )
    assert [level["path"] for level in report["levels"]] == ["/0", "/1", "/2"]
    with h5py.File(tmp_path / "y.h5") as f:
        for number, level in enumerate(report["levels"]):
            attributes = f[str(number)].attrs
            assert list(attributes["element_size_um"]) == [2, 0.5 * 2**number, 0.25 * 2**number]
            assert list(attributes["scale"]) == level["scale"] and list(attributes["translation"]) == level["translation"]
            assert [dim.label for dim in f[str(number)].dims] == ["z", "y", "x"]
    oriel("pyramid", "y.h5:/1", "z.zarr", *words)
    (image,) = zarr.open_group(str(tmp_path / "z.zarr"), mode="r").attrs["ome"]["multiscales"]
    assert image["datasets"][0]["coordinateTransformations"][0]["scale"] == [2, 1, 0.5]
    # Without a unit nothing is known in micrometers; an image has one plane.
    oriel("pyramid", "x.npy", "y.h5", *words, "--spacing", "3")
    np.save(tmp_path / "plane.npy", random((40, 50)))
    oriel("pyramid", "plane.npy", "plane.h5", "--levels", "1", "--spacing", "3", "--unit", "millimeter")
    with h5py.File(tmp_path / "y.h5") as f, h5py.File(tmp_path / "plane.h5") as p:
        assert "element_size_um" not in f["0"].attrs and list(f["0"].attrs["scale"]) == [3, 3, 3]
        assert list(p["1"].attrs["element_size_um"]) == [1, 6000, 6000]


def test_the_same_bytes_for_any_threads_and_memory(oriel, tmp_path):
    np.save(tmp_path / "x.npy", random((60, 150, 130)))
    found = set()
    for words in (["-t", "1"], ["-t", "2"], ["-t", "4"], ["--memory", "64MiB"], ["--memory", "128MiB", "-t", "3"]):
        oriel("pyramid", "x.npy", "y.h5", "--chunk", "16", *words)
        found.add(digest(tmp_path / "y.h5"))
    assert len(found) == 1 and sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "y.h5"]


def test_refused(refusal, oriel, tmp_path):
    np.save(tmp_path / "x.npy", random((40, 50)))
    words = ["--levels", "1"]
    with h5py.File(tmp_path / "mine.h5", "w") as f:
        f["a/raw"] = random()
    assert "mine.h5: has the dataset /a/raw; allowed: a new file" in refusal("pyramid", "x.npy", "mine.h5", *words)
    (tmp_path / "no.h5").write_text("words")
    assert "no.h5: not an HDF5 file" in refusal("pyramid", "x.npy", "no.h5", *words)
    assert "datasets /0, /1 … of a file; allowed: y.h5" in refusal("pyramid", "x.npy", "y.h5:/g", *words)
    assert "compressed by gzip; allowed: --codec none" in refusal("pyramid", "x.npy", "y.h5", *words, "--codec", "zstd")
    assert "without shards" in refusal("pyramid", "x.npy", "y.h5", *words, "--shard", "256")
    oriel("pyramid", "x.npy", "y.h5", *words)
    before = digest(tmp_path / "y.h5")
    assert "holds IN" in refusal("pyramid", "y.h5:/0", "y.h5", *words, code=2)
    assert digest(tmp_path / "y.h5") == before
