"""`oriel pool --codec`: compressed chunks in HDF5 files, which h5py reads, and in Zarr arrays, which zarr-python reads."""

import subprocess
import sys

import h5py
import numpy as np
import pytest
import zarr
from conftest import COMMAND
from memory_test import PEAK

COPY = ["--op", "max", "--kernel", "1"]
DTYPES = ["f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


def sample(shape=(61, 50, 43), dtype="i2"):
    x = np.round(8 * np.random.default_rng(0).standard_normal(shape))
    return x > 0 if dtype == "?" else np.abs(x).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_hdf5(oriel, tmp_path, dtype):
    x = sample(dtype=dtype)
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "plain.h5", *COPY)
    oriel("pool", "x.npy", "y.h5", *COPY, "--codec", "gzip:4")
    with h5py.File(tmp_path / "y.h5") as file:
        data = file["data"]
        assert (data.compression, data.compression_opts, data.shuffle) == ("gzip", 4, True)
        assert data.attrs["oriel_problem"].startswith("max:")
        same(data[()], x)
    assert (tmp_path / "y.h5").stat().st_size < 0.8 * (tmp_path / "plain.h5").stat().st_size
    oriel("pool", "y.h5", "z.npy", *COPY)
    same(np.load(tmp_path / "z.npy"), x)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain.h5", "x.npy", "y.h5", "z.npy"]


def test_hdf5_chunks_and_attributes_and_what_else_is_in_the_file(oriel, tmp_path):
    """With indices in the same file; other datasets stay."""
    x = sample()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("data", data=x, chunks=(16, 20, 43), compression="gzip").attrs["units"] = "mm"
        file["other"] = np.arange(5)
    options = ["--op", "max", "--kernel", "3", "--stride", "2"]
    oriel("pool", "x.h5:/data", "wanted.npy", *options, "--indices", "wanted_i.npy")
    first = None
    for memory in ["1GiB", "48MiB"]:
        oriel("pool", "x.h5:/data", "x.h5:/y", *options, "--indices", "x.h5:/i", "--codec", "gzip", "--memory", memory)
        oriel("pool", "x.h5:/data", "alone.h5", *options, "--codec", "gzip", "--memory", memory)
        with h5py.File(tmp_path / "x.h5") as file:
            same(file["y"][()], np.load(tmp_path / "wanted.npy"))
            same(file["i"][()], np.load(tmp_path / "wanted_i.npy"))
            assert file["y"].compression_opts == file["i"].compression_opts == 6
            assert file["y"].attrs["units"] == "mm" and (file["other"][()] == np.arange(5)).all()
            same(file["data"][()], x)
        made = (tmp_path / "alone.h5").read_bytes()
        assert made == (first or made)
        first = made
        (tmp_path / "alone.h5").unlink()
    oriel("pool", "x.h5:/data", "plain.h5", *options)
    oriel("pool", "x.h5:/data", "none.h5", *options, "--codec", "none")
    assert (tmp_path / "none.h5").read_bytes() == (tmp_path / "plain.h5").read_bytes()


@pytest.mark.parametrize("shape", [(0, 4), (7,), (1, 1, 1, 1)])
def test_hdf5_of_any_shape(oriel, tmp_path, shape):
    x = sample(shape, "f4")
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.h5", "--op", "max", "--kernel", "1", "--axes", "-1", "--codec", "gzip:1")
    with h5py.File(tmp_path / "y.h5") as file:
        same(file["data"][()], x)


@pytest.mark.parametrize("codec,wanted", [
    ("none", None), ("gzip:9", {"name": "gzip", "configuration": {"level": 9}}),
    ("gzip", {"name": "gzip", "configuration": {"level": 6}}),
    ("zstd:7", {"name": "zstd", "configuration": {"level": 7, "checksum": False}}),
    *((f"blosc:{name}:3", {"name": "blosc", "configuration": {
        "cname": name, "clevel": 3, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}})
      for name in ["lz4", "lz4hc", "blosclz", "zlib", "zstd"]),
    ("blosc", {"name": "blosc", "configuration": {
        "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}})], ids=str)
def test_zarr(oriel, tmp_path, codec, wanted):
    x = sample()
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.zarr", *COPY, "--codec", codec)
    array = zarr.open_array(str(tmp_path / "y.zarr"))
    assert [c.to_dict() for c in array.metadata.codecs[1:]] == ([wanted] if wanted else [])
    same(array[...], x)
    oriel("pool", "y.zarr", "z.npy", *COPY)
    same(np.load(tmp_path / "z.npy"), x)


@pytest.mark.parametrize("dtype", ["u1", "?", "f8"])
def test_zarr_blosc_of_other_sizes(oriel, tmp_path, dtype):
    x = sample(dtype=dtype)
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.zarr", *COPY, "--codec", "blosc:zstd:1")
    same(zarr.open_array(str(tmp_path / "y.zarr"))[...], x)


@pytest.mark.parametrize("out,codec,wanted", [
    ("y.h5", "zstd:3", "--codec: OUT 'y.h5' is an HDF5 file; allowed: none, gzip:0-9"),
    ("y.npy", "gzip:3", "--codec: OUT 'y.npy' is no file whose chunks are compressed by choice; allowed: .h5, .hdf5, .zarr"),
    ("y.precomputed", "gzip:3", "'y.precomputed' is no file whose chunks"),
    *(("y.zarr", codec, f"--codec: '{codec}'; allowed: none, gzip:0-9, zstd:1-19, blosc:lz4")
      for codec in ["lz4", "gzip:10", "gzip:-1", "gzip:", "gzip:3x", "zstd:0", "blosc:snappy", "blosc:lz4:10", "none:1"])])
def test_what_is_refused(refusal, tmp_path, out, codec, wanted):
    np.save(tmp_path / "x.npy", sample())
    assert wanted in refusal("pool", "x.npy", out, *COPY, "--codec", codec, code=2)


def test_indices_have_the_codec_if_they_can(oriel, refusal, tmp_path):
    np.save(tmp_path / "x.npy", sample())
    pool = ["pool", "x.npy", "y.zarr", "--op", "max", "--kernel", "2", "--codec"]
    assert "--indices 'i.h5' is an HDF5 file" in refusal(*pool, "zstd", "--indices", "i.h5", code=2)
    oriel(*pool, "gzip:2", "--indices", "i.h5")
    oriel(*pool, "gzip:2", "--indices", "i.npy")
    with h5py.File(tmp_path / "i.h5") as file:
        assert file["data"].compression_opts == 2
        same(file["data"][()], np.load(tmp_path / "i.npy"))


def test_memory_is_bounded(oriel, tmp_path):
    """Of a result larger than the bound, whose compressed chunks are made at the end."""
    x = np.random.default_rng(0).integers(0, 50, (240, 300, 400)).astype("u2")  # 55 MiB
    np.save(tmp_path / "x.npy", x)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("data", data=x, chunks=(32, 100, 100), compression="gzip", compression_opts=1)
    for source in ["x.npy", "x.h5"]:
        command = [sys.executable, "-I", "-S", "-c", PEAK, COMMAND, "pool", source, "y.h5", *COPY, "--codec", "gzip:1",
                   "--memory", "50MiB", "-q"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
        assert int(done.stdout) <= 50 * 1024
        with h5py.File(tmp_path / "y.h5") as file:
            same(file["data"][()], x)
        (tmp_path / "y.h5").unlink()
