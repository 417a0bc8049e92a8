"""`oriel pool` on neuroglancer's precomputed volumes: what TensorStore writes is read, and it reads what is written."""

import gzip
import json
import shutil
import subprocess

import numpy as np
import pytest
import tensorstore
from conftest import COMMAND

COPY = ["--op", "max", "--kernel", "1"]
SHAPE, CHUNK, BLOCK, OFFSET = (37, 29, 23), (16, 9, 20), (8, 8, 8), (10, -21, 300)
DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "f4"]


def sample(shape=SHAPE, dtype="u1", seed=0):
    x = 100 * np.random.default_rng(seed).standard_normal(shape)
    return np.clip(x, 0, 255).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def labels(shape=SHAPE, dtype="u8", seed=0):
    """Regions, some of which have so many labels that numbers of 16 bits are needed."""
    rng = np.random.default_rng(seed)
    x = np.zeros(shape, dtype)
    for bits, corner in [(1, (0, 0, 0)), (3, (12, 3, 0)), (7, (9, 11, 5)), (15, (20, 14, 9))]:
        box = x[tuple(slice(c, None) for c in corner)]
        box[...] = rng.integers(0, 1 << bits, box.shape)
    return x + np.dtype(dtype).type((1 << 35) * (x.max() > 100 and np.dtype(dtype).itemsize == 8))


def spec(path):
    return {"driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/"}


def create(path, x, encoding="raw", kind="image", resolution=(8, 8, 40), offset=OFFSET, chunk=CHUNK, **more):
    x = x.reshape(x.shape + (1,) * (4 - x.ndim))
    scale = {"size": x.shape[:3], "resolution": resolution, "voxel_offset": offset, "chunk_size": chunk,
             "encoding": encoding, **more}
    if encoding == "compressed_segmentation":
        scale["compressed_segmentation_block_size"] = BLOCK
    store = tensorstore.open({**spec(path), "create": True, "scale_metadata": scale, "multiscale_metadata": {
        "type": kind, "data_type": x.dtype.name, "num_channels": x.shape[3]}}).result()
    store[...] = x
    return store


def load(path, **more):
    store = tensorstore.open({**spec(path), **more}).result()
    x = store.read().result()
    return x[..., 0] if x.shape[3] == 1 else x


def info(path):
    return json.loads((path / "info").read_text())


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.fixture
def copied(oriel, tmp_path):
    """copied(path): what `oriel pool` of kernel 1 reads, as a .npy file."""

    def run(path, *options):
        oriel("pool", path, "copy.npy", *COPY, *options)
        return np.load(tmp_path / "copy.npy")

    return run


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_raw(oriel, copied, tmp_path, dtype, channels):
    x = sample((*SHAPE, channels) if channels > 1 else SHAPE, dtype)
    create(tmp_path / "x", x)
    same(copied("x"), x)
    oriel("pool", "x", "y.precomputed", *COPY)
    same(load(tmp_path / "y.precomputed"), x)
    scale = info(tmp_path / "y.precomputed")["scales"][0]
    assert scale["voxel_offset"] == list(OFFSET) and scale["resolution"] == [8, 8, 40]
    oriel("pool", "copy.npy", "z.precomputed", *COPY)
    same(load(tmp_path / "z.precomputed"), x)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("dtype", ["u4", "u8"])
def test_compressed_segmentation(oriel, copied, tmp_path, dtype, channels):
    """Blocks end outside of chunks, whose sides are no multiples of 8, and of the volume."""
    x = np.stack([labels(dtype=dtype, seed=c) for c in range(channels)], -1)
    x = x[..., 0] if channels == 1 else x
    create(tmp_path / "x", x, "compressed_segmentation", "segmentation" if channels == 1 else "image")
    same(copied("x"), x)
    same(copied("x", "--memory", "48MiB"), x)
    oriel("pool", "x", "y.precomputed", *COPY)
    written = info(tmp_path / "y.precomputed")
    assert written["type"] == ("segmentation" if channels == 1 else "image")
    assert written["scales"][0]["encoding"] == "compressed_segmentation"
    same(load(tmp_path / "y.precomputed"), x)


def test_a_pool_of_labels(oriel, tmp_path):
    x = labels()
    np.save(tmp_path / "x.npy", x)
    create(tmp_path / "x", x, "compressed_segmentation", "segmentation", offset=(10, -20, 300))
    oriel("pool", "x.npy", "wanted.npy", "--op", "mode", "--kernel", "2", "--ceil")
    for memory in [[], ["--memory", "40MiB"]]:
        oriel("pool", "x", "y.precomputed", "--op", "mode", "--kernel", "2", "--ceil", *memory)
        same(load(tmp_path / "y.precomputed"), np.load(tmp_path / "wanted.npy"))
        written = info(tmp_path / "y.precomputed")
        scale = written["scales"][0]
        assert scale["resolution"] == [16, 16, 80] and scale["voxel_offset"] == [5, -10, 150]
        assert scale["size"] == [19, 15, 12] and scale["key"] == "16_16_80"
        assert written["oriel_problem"].startswith("mode:u64:") and written["type"] == "segmentation"
        assert not (tmp_path / "y.precomputed" / ".parts").exists()


def test_chunks_that_are_written_in_parts(oriel, tmp_path):
    x = sample((40, 50, 60), "u2")
    create(tmp_path / "x", x, chunk=(40, 7, 60), offset=(0, 0, 0))
    np.save(tmp_path / "x.npy", x)
    options = ["--op", "max", "--kernel", "3", "--stride", "1", "--padding", "1"]
    oriel("pool", "x.npy", "wanted.npy", *options)
    oriel("pool", "x", "y.precomputed", *options, "--memory", "36MiB")
    same(load(tmp_path / "y.precomputed"), np.load(tmp_path / "wanted.npy"))


def test_offsets(oriel, refusal, tmp_path):
    """The voxels of the result must lie on its grid: windows from a multiple of the stride, also by padding."""
    x = sample((12, 12, 12))
    create(tmp_path / "x", x, offset=(5, 0, -3))
    text = refusal("pool", "x", "y.precomputed", "--op", "max", "--kernel", "2")
    assert "y.precomputed: along x" in text and "begin at voxel 5" in text and "--padding 1+0" in text
    oriel("pool", "x", "y.precomputed", "--op", "max", "--kernel", "2", "--padding", "1+0x0x1+0", "--ceil")
    assert info(tmp_path / "y.precomputed")["scales"][0]["voxel_offset"] == [2, 0, -2]
    grid = np.zeros((14, 12, 14), "u1")  # from voxel (4, 0, -4)
    grid[1:13, :, 1:13] = x
    same(load(tmp_path / "y.precomputed"), grid.reshape(7, 2, 6, 2, 7, 2).max((1, 3, 5)))
    oriel("pool", "x", "z.precomputed", "--op", "max", "--kernel", "3", "--stride", "1")
    assert info(tmp_path / "z.precomputed")["scales"][0]["voxel_offset"] == [6, 1, -2]
    refusal("pool", "x", "w.precomputed", "--op", "max", "--kernel", "3", "--stride", "2", "--padding", "1")
    oriel("pool", "x", "w.npy", "--op", "max", "--kernel", "2")


def test_gzip_and_missing_chunks(copied, refusal, tmp_path):
    """As cloud-volume writes them."""
    for encoding, x in [("raw", sample(dtype="u2")), ("compressed_segmentation", labels())]:
        create(tmp_path / "x", x, encoding)
        folder = tmp_path / "x" / info(tmp_path / "x")["scales"][0]["key"]
        chunks = sorted(folder.iterdir())
        for chunk in chunks[1:]:
            (folder / (chunk.name + ".gz")).write_bytes(gzip.compress(chunk.read_bytes()))
            chunk.unlink()
        same(copied("x"), x)
        chunks[0].unlink()
        y = copied("x")
        assert (y != x).any() and ((y == x) | (y == 0)).all()
        (folder / (chunks[0].name + ".br")).write_bytes(b"x")
        assert ".br: a compressed chunk" in refusal("pool", "x", "y.npy", *COPY)
        (folder / (chunks[0].name + ".br")).unlink()
        chunks[0].write_bytes(b"12345678")
        assert str(chunks[0].name) in refusal("pool", "x", "y.npy", *COPY)
        shutil.rmtree(tmp_path / "x")


def test_scales(oriel, copied, refusal, tmp_path):
    x, half = sample(), sample((18, 14, 11), seed=1)
    create(tmp_path / "x", x)
    create(tmp_path / "x", half, resolution=(16, 16, 80), offset=(5, -10, 150))
    keys = [scale["key"] for scale in info(tmp_path / "x")["scales"]]
    same(copied("x"), x)
    same(copied("x/:" + keys[0]), x)
    same(copied("x:" + keys[1]), half)
    text = refusal("pool", "x:8_8_8", "y.npy", *COPY)
    assert "'8_8_8'" in text and ", ".join(keys) in text
    assert "a scale cannot be written" in refusal("pool", "x", "x:8_8_8", *COPY)
    # A volume of several scales is not replaced, nor that which is read.
    np.save(tmp_path / "x.npy", x)
    assert "one scale" in refusal("pool", "x.npy", "x", *COPY)
    oriel("pool", "x:" + keys[1], "y.precomputed", *COPY)
    key = info(tmp_path / "y.precomputed")["scales"][0]["key"]
    assert "IN" in refusal("pool", "y.precomputed:" + key, "y.precomputed", *COPY, code=2)
    for _ in range(2):
        oriel("pool", "x.npy", "y.precomputed", *COPY)
    same(load(tmp_path / "y.precomputed"), x)


BAD = [("data_type", "float64"), ("type", "mesh"), ("num_channels", 0), ("num_channels", 2.5), ("scales", []),
       ("@type", "neuroglancer_legacy_mesh")]
BAD_SCALES = [("encoding", "jpeg"), ("encoding", "compressed_segmentation"), ("size", [1, 2]), ("size", [1, 2, -3]),
              ("size", [1 << 61, 1 << 61, 1 << 61]), ("size", [1 << 61, 1, 1]), ("voxel_offset", [0, 0]),
              ("voxel_offset", [0, 0, 0.5]), ("voxel_offset", [0, 0, 1 << 62]), ("resolution", [0, 1, 1]),
              ("chunk_sizes", []), ("chunk_sizes", [[0, 1, 1]]), ("chunk_sizes", [[1 << 50, 1 << 50, 1]]),
              ("key", "/etc"), ("key", ""), ("key", "gs://a/b"),
              ("sharding", {"@type": "neuroglancer_uint64_sharded_v1"})]


@pytest.mark.parametrize("key,value", BAD + BAD_SCALES, ids=str)
def test_bad_info(refusal, tmp_path, key, value):
    create(tmp_path / "x.precomputed", sample())
    root = info(tmp_path / "x.precomputed")
    (root["scales"][0] if (key, value) in BAD_SCALES else root)[key] = value
    if key == "chunk_sizes" and value and value[0][0] > 1:
        root["scales"][0]["size"] = [1 << 24, 1 << 24, 1]
    (tmp_path / "x.precomputed/info").write_text(json.dumps(root))
    assert "x.precomputed" in refusal("pool", "x.precomputed", "y.npy", *COPY)


def test_what_cannot_be_written(oriel, refusal, tmp_path):
    np.save(tmp_path / "x.npy", sample(dtype="f8"))
    assert "float32" in refusal("pool", "x.npy", "y.precomputed", *COPY)
    np.save(tmp_path / "x.npy", sample((3, 4)))
    assert "x, y, z" in refusal("pool", "x.npy", "y.precomputed", *COPY)
    (tmp_path / "y.precomputed").mkdir()
    (tmp_path / "y.precomputed/file").write_text("")
    np.save(tmp_path / "x.npy", sample())
    assert "a folder that is not" in refusal("pool", "x.npy", "y.precomputed", *COPY)
    assert "info" in refusal("pool", "y.precomputed", "z.npy", *COPY)
    assert "No such file" in refusal("pool", "none.precomputed", "z.npy", *COPY)


SHARDINGS = [
    {"hash": "identity", "preshift_bits": 1, "minishard_bits": 1, "shard_bits": 2, "minishard_index_encoding": "gzip"},
    {"hash": "murmurhash3_x86_128", "minishard_bits": 2, "shard_bits": 5, "minishard_index_encoding": "gzip", "data_encoding": "gzip"},
    {"hash": "murmurhash3_x86_128", "preshift_bits": 2, "minishard_bits": 0, "shard_bits": 0, "minishard_index_encoding": "raw"},
    {"hash": "identity", "minishard_bits": 3, "shard_bits": 9},
]


def sharding(**more):
    return {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, **more}


@pytest.mark.parametrize("given", SHARDINGS, ids=lambda given: f"{given['hash']}-{given['shard_bits']}")
@pytest.mark.parametrize("dtype,channels", [("u2", 1), ("u1", 3), ("u8", 1)])
def test_shards(oriel, copied, tmp_path, given, dtype, channels):
    """What TensorStore puts into shards: odd sizes, so that the Morton code has axes of different bits, and zeros left out."""
    x = labels(dtype="u8") if dtype == "u8" else sample((37, 29, 23, channels)[: 3 + (channels > 1)], dtype)
    x[16:32, 9:18] = 0
    encoding = "compressed_segmentation" if dtype == "u8" else "raw"
    create(tmp_path / "x.precomputed", x, encoding, "segmentation" if dtype == "u8" else "image", chunk=(8, 9, 7), sharding=sharding(**given))
    assert list((tmp_path / "x.precomputed").glob("*/*.shard"))
    same(copied("x.precomputed"), x)
    if channels == 1:  # by two threads
        oriel("pyramid", "x.precomputed", "y.precomputed", "--method", "max", "--levels", 1, "--factor", 2, "-t", 2)
        same(load(tmp_path / "y.precomputed", scale_index=0), x)


def test_shards_that_are_gone_are_zeros(copied, tmp_path):
    x = sample(dtype="u2")
    create(tmp_path / "x.precomputed", x, chunk=(8, 8, 8), sharding=sharding(**SHARDINGS[0]))
    shards = sorted((tmp_path / "x.precomputed").glob("*/*.shard"))
    shards[0].unlink()
    read = copied("x.precomputed")
    assert (read != x).any() and ((read == x) | (read == 0)).all()


def test_damaged_shards_are_refused(oriel, refusal, tmp_path):
    """Any shard that is cut off, and any number of an index that is wrong, is one clear line or reads the same bytes."""
    x = sample(dtype="u2")
    given = sharding(hash="identity", minishard_bits=1, shard_bits=0, minishard_index_encoding="raw")
    create(tmp_path / "x.precomputed", x, chunk=(16, 16, 16), sharding=given)
    (shard,) = (tmp_path / "x.precomputed").glob("*/*.shard")
    whole = shard.read_bytes()
    for size in (0, 31, 32, len(whole) - 1):
        shard.write_bytes(whole[:size])
        assert shard.name in refusal("pool", "x.precomputed", "y.npy", *COPY)
    begin, end = np.frombuffer(whole[:16], "<u8")
    for at in (0, 8, *range(32 + int(begin), 32 + int(end), 24)):
        damaged = bytearray(whole)
        damaged[at + 6] ^= 0x81
        shard.write_bytes(damaged)
        done = subprocess.run([COMMAND, "pool", "x.precomputed", "z.npy", *COPY], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode in (0, 1) and (done.returncode == 0 or (done.stderr.count("\n") == 1 and ".shard: " in done.stderr)), done.stderr


@pytest.mark.parametrize("key,value", [("preshift_bits", 64), ("preshift_bits", -1), ("minishard_bits", 33), ("shard_bits", 65), ("shard_bits", 63), ("shard_bits", 2.5), ("hash", "md5"), ("minishard_index_encoding", "zstd"), ("data_encoding", "br"), ("@type", "v2"), ("minishard_bits", None)])
def test_bad_sharding(refusal, tmp_path, key, value):
    create(tmp_path / "x.precomputed", sample(), sharding=sharding(**SHARDINGS[1]))
    root = info(tmp_path / "x.precomputed")
    root["scales"][0]["sharding"][key] = value
    (tmp_path / "x.precomputed/info").write_text(json.dumps(root))
    text = refusal("pool", "x.precomputed", "y.npy", *COPY)
    assert ("sharding" if key == "@type" else key) in text and "allowed" in text
