"""`oriel pool` on Zarr arrays: what zarr-python and TensorStore write is read, and they read what it writes."""

import json
import shutil
import subprocess
import sys

import h5py
import ml_dtypes
import numcodecs
import numpy as np
import pytest
import tensorstore
import zarr
from conftest import COMMAND
from memory_test import PEAK
from zarr.codecs import (
    BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec,
)

DTYPES = ["f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]
SHAPE, CHUNKS = (13, 20, 17), (5, 8, 6)
COPY = ["--op", "max", "--kernel", "1"]


def sample(shape=SHAPE, dtype="f4", seed=0):
    x = 100 * np.random.default_rng(seed).standard_normal(shape)
    return (x > 0) if dtype == "?" else np.clip(x, 0, 255).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") and a.shape == b.shape
    assert a.astype(a.dtype.newbyteorder("=")).tobytes() == b.astype(b.dtype.newbyteorder("=")).tobytes()


@pytest.fixture
def copied(oriel, tmp_path):
    """copied(path): what `oriel pool` of kernel 1 reads, as a .npy file."""

    def run(path, *options):
        oriel("pool", path, "copy.npy", *COPY, *options)
        return np.load(tmp_path / "copy.npy")

    return run


def create(path, x, **options):
    options = {"chunks": CHUNKS, **options}
    array = zarr.create_array(str(path), shape=x.shape, dtype=x.dtype, **options)
    array[...] = x
    return array


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_byte_orders(copied, tmp_path, version, dtype):
    x = sample(dtype=dtype)
    for order in "<>":
        stored = x.astype(x.dtype.newbyteorder(order))
        path = tmp_path / f"{ord(order)}.zarr"
        if version == 2:
            create(path, stored, zarr_format=2)
        else:
            create(path, x, serializer=BytesCodec(endian="little" if order == "<" else "big"))
        same(copied(path), x)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("separator", "./")
@pytest.mark.parametrize("codec", [
    None, numcodecs.Zlib(6), numcodecs.GZip(1), numcodecs.Zstd(3), numcodecs.Zstd(3, checksum=True), numcodecs.LZ4(),
    *(numcodecs.Blosc(name, 5, shuffle) for name in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
      for shuffle in [0, 1, 2])], ids=str)
def test_version_2(copied, tmp_path, order, separator, codec):
    x = sample(dtype="i2")
    create(tmp_path / "x.zarr", x, zarr_format=2, compressors=codec, order=order,
           chunk_key_encoding={"name": "v2", "separator": separator})
    same(copied("x.zarr"), x)


CODECS = [
    [], [GzipCodec(level=3)], [ZstdCodec(level=3)], [ZstdCodec(level=1, checksum=True)], [Crc32cCodec()],
    [GzipCodec(level=1), Crc32cCodec()],
    *([BloscCodec(cname=name, clevel=5, shuffle=shuffle)] for name in ["blosclz", "lz4", "zstd", "zlib", "lz4hc"]
      for shuffle in ["noshuffle", "shuffle", "bitshuffle"])]


@pytest.mark.parametrize("codecs", CODECS, ids=str)
def test_version_3(copied, tmp_path, codecs):
    x = sample(dtype="u2")
    create(tmp_path / "x.zarr", x, compressors=codecs, filters=[TransposeCodec(order=(2, 0, 1))])
    same(copied("x.zarr"), x)


@pytest.mark.parametrize("place", ["start", "end"])
@pytest.mark.parametrize("index_codecs", [[BytesCodec()], [BytesCodec(), Crc32cCodec()],
                                          [BytesCodec(endian="big"), Crc32cCodec()]], ids=str)
@pytest.mark.parametrize("codecs", [[], [ZstdCodec(level=1)]], ids=str)
def test_shards(copied, tmp_path, place, index_codecs, codecs):
    x = sample((14, 20, 18))
    x[:6, :10] = 0  # chunks and a shard that are missing
    codec = ShardingCodec(chunk_shape=(3, 5, 6), codecs=[TransposeCodec(order=(1, 2, 0)), BytesCodec(), *codecs],
                          index_codecs=index_codecs, index_location=place)
    create(tmp_path / "x.zarr", x, chunks=(6, 10, 12), serializer=codec, compressors=[])
    same(copied("x.zarr"), x)
    same(copied("x.zarr", "--memory", "48MiB"), x)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 7.5])
def test_missing_chunks(copied, tmp_path, version, value):
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=SHAPE, dtype="f4", chunks=CHUNKS, fill_value=value,
                              zarr_format=version)
    array[:5, 8:16] = 3
    x = np.full(SHAPE, value, "f4")
    x[:5, 8:16] = 3
    np.testing.assert_array_equal(copied("x.zarr"), x)


@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
def test_tensorstore(oriel, copied, tmp_path, driver):
    for dtype in ["bfloat16", "float32", "int64"]:
        shutil.rmtree(tmp_path / "x.zarr", ignore_errors=True)
        x = sample(dtype=dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
        store = tensorstore.open({"driver": driver, "kvstore": f"file://{tmp_path}/x.zarr/"}, create=True,
                                 dtype=dtype, shape=SHAPE, chunk_layout=tensorstore.ChunkLayout(chunk_shape=CHUNKS)).result()
        store[...] = x
        if dtype == "bfloat16":
            oriel("pool", "x.zarr", "y.zarr", *COPY)
            same(load(tmp_path / "y.zarr"), x)
        else:
            same(copied("x.zarr"), x)


def load(path):
    return tensorstore.open({"driver": "zarr3", "kvstore": f"file://{path}/"}).result().read().result()


@pytest.mark.parametrize("dtype", [*DTYPES, ml_dtypes.bfloat16], ids=str)
def test_written(oriel, tmp_path, dtype):
    """By both readers, from an input without chunks and from one with others."""
    x = sample(dtype=dtype)
    x[:5] = 0
    np.save(tmp_path / "x.npy", x)
    options = ["--dtype", "bf16"] if dtype == ml_dtypes.bfloat16 else []
    oriel("pool", "x.npy", "y.zarr", *COPY, *options)
    same(load(tmp_path / "y.zarr"), x)
    if not options:
        same(zarr.open_array(str(tmp_path / "y.zarr"))[...], x)
    oriel("pool", "y.zarr", "z.zarr", *COPY)
    same(load(tmp_path / "z.zarr"), x)


def test_a_pool_has_the_bits_of_one_of_npy(oriel, tmp_path):
    x = sample((61, 50, 43))
    np.save(tmp_path / "x.npy", x)
    create(tmp_path / "x.zarr", x, chunks=(16, 9, 20))
    for options in [["avg", "--kernel", "2"], ["median", "--kernel", "3", "--stride", "1", "--padding", "1"]]:
        oriel("pool", "x.npy", "wanted.npy", "--op", *options)
        for memory in [[], ["--memory", "44MiB"]]:
            oriel("pool", "x.zarr", "y.zarr", "--op", *options, *memory)
            same(load(tmp_path / "y.zarr"), np.load(tmp_path / "wanted.npy"))
            assert not (tmp_path / "y.zarr" / ".parts").exists()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("dtype", "fill"), [("u2", 7), ("i8", -(2**60) - 1), ("?", True), ("f4", 0.1), ("f4", -0.0), ("f4", np.nan),
                                             ("f8", -np.inf), ("f2", 1e-7)])  # fmt: skip
def test_chunks_of_nothing_but_the_fill_value_are_left_out(oriel, tmp_path, dtype, fill, version):
    """Where the array ends, too. A chunk of zeros is not left out if another value is the fill value."""
    x = np.full((21, 34, 33), fill, dtype)
    x[:9, 8:16, :8] = 0
    x[3, 9, 1:5] = 1
    zarr.create_array(str(tmp_path / "x.zarr"), data=x, chunks=(7, 17, 11), fill_value=fill, zarr_format=version)
    for words in [["pool", "x.zarr", "y.zarr", *COPY], ["pyramid", "x.zarr", "g.zarr", "--levels", "1", "--chunk", "8", "--method", "max"]]:
        oriel(*words)
    for path, factor in [("y.zarr", 1), ("g.zarr/0", 1), ("g.zarr/1", 2)]:
        array = zarr.open_array(str(tmp_path / path), mode="r")
        same(array.fill_value, x[-1, -1, -1])
        if factor == 1:
            same(array[...], x)
        assert (array[-1, -1] == x[-1, -1, ::factor]).all() or np.isnan(fill)
        steps = [range(0, n, c) for n, c in zip(array.shape, array.chunks)]
        held = sum(array[z : z + array.chunks[0], y : y + array.chunks[1], x : x + array.chunks[2]].tobytes() != np.full(
            array[z : z + array.chunks[0], y : y + array.chunks[1], x : x + array.chunks[2]].shape, fill, dtype).tobytes()
            for z in steps[0] for y in steps[1] for x in steps[2])  # fmt: skip
        assert array.nchunks_initialized == held
    assert array.nchunks > held  # the array of the pool is one chunk
    zarr.open_array(str(tmp_path / "x.zarr"), mode="r+")[...] = x[-1, -1, -1]
    oriel("pool", "x.zarr", "y.zarr", *COPY)
    array = zarr.open_array(str(tmp_path / "y.zarr"), mode="r")
    assert array.nchunks_initialized == 0
    same(array[...], np.full(x.shape, x[-1, -1, -1]))


def test_chunks_that_are_written_in_parts(oriel, tmp_path):
    """Quantiles are made one by one; a mask and indices are arrays of Zarr too."""
    x = sample((40, 50, 60))
    create(tmp_path / "x.zarr", x, chunks=(40, 7, 60))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["data"] = x
    create(tmp_path / "m.zarr", x > 0)
    np.save(tmp_path / "m.npy", x > 0)
    oriel("pool", "x.h5:/data", "y.h5:/data", "--op", "max", "--kernel", "3", "--indices", "i.npy", "--mask", "m.npy")
    oriel("pool", "x.zarr", "y.zarr", "--op", "max", "--kernel", "3", "--indices", "i.zarr", "--mask", "m.zarr")
    with h5py.File(tmp_path / "y.h5") as file:
        same(load(tmp_path / "y.zarr"), file["data"][()])
    same(load(tmp_path / "i.zarr"), np.load(tmp_path / "i.npy"))


def test_attributes_and_names_are_kept(oriel, tmp_path):
    create(tmp_path / "x.zarr", sample(), attributes={"units": "mm", "list": [1, {"a": "ä"}]},
           dimension_names=["z", "y", None])
    oriel("pool", "x.zarr", "y.zarr", "--op", "avg", "--kernel", "2")
    metadata = json.loads((tmp_path / "y.zarr/zarr.json").read_text())
    assert metadata["dimension_names"] == ["z", "y", None]
    assert metadata["attributes"].pop("oriel_problem").startswith("avg:f32:")
    assert metadata["attributes"] == {"units": "mm", "list": [1, {"a": "ä"}]}


@pytest.mark.parametrize("text", [b"no JSON", b"[1, 2]", b'{"a": "\xff"}', b'{"a": ' + 400_000 * b"[" + 400_000 * b"]" + b"}"],
                         ids=["no-json", "list", "no-utf8", "deep"])  # fmt: skip
def test_attributes_that_cannot_be_kept_are_named(oriel, refusal, tmp_path, text):
    """They do not matter to an output that has none."""
    x = sample()
    create(tmp_path / "x.zarr", x, zarr_format=2)
    (tmp_path / "x.zarr/.zattrs").write_bytes(text)
    assert ": x.zarr/.zattrs: " in refusal("pool", "x.zarr", "y.zarr", *COPY)
    oriel("pool", "x.zarr", "y.npy", *COPY)
    same(np.load(tmp_path / "y.npy"), x)


def test_fill_values_are_not_written(oriel, tmp_path):
    x = np.zeros((64, 64, 64), "u1")
    x[40, 40, 40] = 1
    create(tmp_path / "x.zarr", x, chunks=(32, 32, 32))
    oriel("pool", "x.zarr", "y.zarr", "--op", "max", "--kernel", "1")
    assert len([p for p in (tmp_path / "y.zarr/c").rglob("*") if p.is_file()]) == 1
    same(load(tmp_path / "y.zarr"), x)


def test_outputs_replace_arrays_only(oriel, refusal, tmp_path):
    x = sample()
    np.save(tmp_path / "x.npy", x)
    for _ in range(2):
        oriel("pool", "x.npy", "y.zarr", *COPY)
    same(load(tmp_path / "y.zarr"), x)
    create(tmp_path / "g.zarr" / "0", x)
    zarr.open_group(str(tmp_path / "g.zarr"), mode="a")
    assert "g.zarr: a folder that is not a Zarr array" in refusal("pool", "x.npy", "g.zarr", *COPY)
    oriel("pool", "g.zarr/0", "g.zarr/1", "--op", "max", "--kernel", "2")
    assert sorted(zarr.open_group(str(tmp_path / "g.zarr")).array_keys()) == ["0", "1"]


def test_bad_input(oriel, refusal, tmp_path):
    x = sample()
    group = zarr.open_group(str(tmp_path / "g.zarr"))
    for name in "01":
        group.create_array(name, shape=SHAPE, dtype="f4")
    assert refusal("pool", "g.zarr", "y.npy", *COPY).endswith(
        "g.zarr: a Zarr group; allowed: one of its arrays: g.zarr/0, g.zarr/1")
    assert "none.zarr: cannot open" in refusal("pool", "none.zarr", "y.npy", *COPY)
    create(tmp_path / "x.zarr", x, zarr_format=2, filters=[numcodecs.Delta("f4")])
    assert 'x.zarr/.zarray: filters: [{"' in refusal("pool", "x.zarr", "y.npy", *COPY)
    create(tmp_path / "z.zarr", x)
    chunk = tmp_path / "z.zarr/c/1/1/1"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    assert "z.zarr/c/1/1/1: zstd: " in refusal("pool", "z.zarr", "y.zarr", *COPY)
    text = (tmp_path / "z.zarr/zarr.json").read_text()
    for old, new, words in [('"zstd"', '"quantum"', 'codecs: {"configuration"'), ('"regular"', '"odd"', "chunk_grid: "),
                            ('"float32"', '"complex64"', 'data_type: "complex64"; allowed: bool'),
                            ("5,", "-5,", "chunk_shape: [-5,8,6]; allowed: "),
                            ("5,", "4611686018427387904,", "at most 2^58 elements")]:
        assert old in text
        (tmp_path / "z.zarr/zarr.json").write_text(text.replace(old, new, 1))
        assert words in refusal("pool", "z.zarr", "y.npy", *COPY)


def test_memory(oriel, tmp_path):
    """64 MiB of input stay within what --memory allows, without and with shards."""
    x = np.random.default_rng(0).integers(0, 9, (128, 256, 512), "i4")
    wanted = x.reshape(64, 2, 128, 2, 256, 2).max(axis=(1, 3, 5))
    create(tmp_path / "x.zarr", x, chunks=(32, 64, 64))
    create(tmp_path / "s.zarr", x, chunks=(32, 64, 64), shards=(64, 256, 256))
    for source in ["x.zarr", "s.zarr"]:
        for bound in [48, 64]:
            command = [sys.executable, "-I", "-S", "-c", PEAK, COMMAND, "pool", source, "y.zarr", "--op", "max", "--kernel", "2",
                       "--memory", f"{bound}MiB", "-q"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
            assert int(done.stdout) <= 1024 * bound
            same(load(tmp_path / "y.zarr"), wanted)


def test_cut_chunks_end_with_zeros(oriel, tmp_path):
    """Whatever a thread's memory held before: chunks of 128 KiB, of which few are whole."""
    x = np.random.default_rng(6).integers(1, 250, (70, 75, 90)).astype("u2")
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.zarr", "--levels", 1, "--factor", 2, "--chunk", 40, "--codec", "none", "-t", 1)
    for place in np.ndindex(2, 2, 3):
        chunk = np.fromfile(tmp_path / "y.zarr" / "0" / "c" / "/".join(map(str, place)), "u2").reshape(40, 40, 40)
        there = x[tuple(slice(40 * p, 40 * p + 40) for p in place)]
        wanted = np.zeros_like(chunk)
        wanted[tuple(map(slice, there.shape))] = there
        assert np.array_equal(chunk, wanted), place
