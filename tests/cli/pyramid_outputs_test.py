"""`oriel pyramid` to other formats than OME-Zarr: read back by their own libraries, and by Oriel."""

import json
import sys

import numpy as np
import pytest
import tensorstore
import zarr
from pyramids import digest, mean_by

SHAPE, CHUNK = (40, 51, 67), 16  # z, y, x


def random(shape=SHAPE, dtype="u2", seed=0):
    return np.random.default_rng(seed).integers(0, 250, shape).astype(dtype)


# ---- neuroglancer's precomputed format ----


def spec(path, **more):
    return {"driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/", **more}


def scale(path, number):
    """A scale as TensorStore sees it: channel, z, y, x; and its first voxel, z, y, x."""
    store = tensorstore.open(spec(path, scale_index=number)).result()
    return store.read().result().T, store.domain.origin[2::-1]


def info(path):
    return json.loads((path / "info").read_text())


def create(path, x, offset=(0, 0, 0), resolution=(4, 4, 40), **more):
    """`x`: z, y, x; `offset` and `resolution`: x, y, z."""
    metadata = {"size": x.shape[::-1], "resolution": resolution, "voxel_offset": offset, "chunk_size": (16, 16, 16), "encoding": "raw", **more}
    store = tensorstore.open(spec(path, create=True, scale_metadata=metadata, multiscale_metadata={
        "type": "image", "data_type": x.dtype.name, "num_channels": 1})).result()  # fmt: skip
    store[...] = x.T[..., None]


def test_scales_of_a_precomputed_volume(oriel, tmp_path):
    x = random()
    np.save(tmp_path / "x.npy", x)
    words = ["--spacing", "0.03,0.008,0.008", "--unit", "micrometer", "--chunk", CHUNK]
    report = json.loads(oriel("pyramid", "x.npy", "y.precomputed", *words, "--json").stdout)
    scales = info(tmp_path / "y.precomputed")["scales"]
    assert [s["key"] for s in scales] == [one["path"] for one in report["levels"]] == ["8_8_30", "16_16_30", "32_32_60", "64_64_120"]
    assert [s["size"] for s in scales] == [[67, 51, 40], [34, 26, 40], [17, 13, 20], [9, 7, 10]]
    assert all(s["voxel_offset"] == [0, 0, 0] and s["encoding"] == "raw" and s["chunk_sizes"] == [[16] * 3] for s in scales[:2])
    for number, factor in enumerate([(1, 1, 1), (1, 2, 2), (2, 4, 4), (4, 8, 8)]):
        values, first = scale(tmp_path / "y.precomputed", number)
        assert values.dtype == x.dtype and (values[0] == mean_by(x, factor)).all() and first == (0, 0, 0)
        key = scales[number]["key"]
        oriel("pool", f"y.precomputed:{key}", "k.npy", "--op", "max", "--kernel", "1")
        assert (np.load(tmp_path / "k.npy") == values[0].T).all()  # Oriel's own reader
    assert not list(tmp_path.rglob(".parts"))


@pytest.mark.parametrize("dtype", ["u4", "u8"])
def test_labels_are_compressed_segmentation(oriel, tmp_path, dtype):
    x = np.repeat(np.repeat(random((5, 7, 9), dtype) * 1000, 8, 1), 8, 2)
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.precomputed", "--labels", "--factor", "1x2x2,1x2x2", "--chunk", CHUNK)
    found = info(tmp_path / "y.precomputed")
    assert found["type"] == "segmentation" and {s["encoding"] for s in found["scales"]} == {"compressed_segmentation"}
    for number, f in enumerate([1, 2, 4]):
        assert (scale(tmp_path / "y.precomputed", number)[0][0] == x[:, ::f, ::f]).all()
    oriel("pyramid", "x.npy", "z.precomputed", "--labels", "--factor", "2", "--chunk", CHUNK, "--codec", "none")
    assert {s["encoding"] for s in info(tmp_path / "z.precomputed")["scales"]} == {"raw"}


@pytest.mark.parametrize("offset", [(5, 0, 3), (-3, 8, -6)])
def test_windows_are_on_the_grid_of_voxels(oriel, tmp_path, offset):
    """The first window is a part of one if voxel_offset is no multiple of the factor."""
    x = random()
    create(tmp_path / "x", x, offset)
    oriel("pyramid", "x", "y.precomputed", "--factor", "2,2", "--chunk", CHUNK)
    oriel("pyramid", "x", "y.zarr", "--factor", "2,2", "--chunk", CHUNK)
    (image,) = zarr.open_group(str(tmp_path / "y.zarr"), mode="r").attrs["ome"]["multiscales"]
    assert {axis["unit"] for axis in image["axes"]} == {"nanometer"}
    for number, f in enumerate([1, 2, 4]):
        values, first = scale(tmp_path / "y.precomputed", number)
        assert first == tuple(o // f for o in offset[::-1])
        assert (values[0] == mean_by(x, (f, f, f), offset[::-1])).all()
        assert info(tmp_path / "y.precomputed")["scales"][number]["resolution"] == [4 * f, 4 * f, 40 * f]
        spacing, translation = (t[t["type"]] for t in image["datasets"][number]["coordinateTransformations"])
        assert spacing == [40 * f, 4 * f, 4 * f]
        middle = [r * (o // f * f + (f - 1) / 2) for r, o in zip((40, 4, 4), offset[::-1])]
        assert translation == middle and (zarr.open_array(str(tmp_path / f"y.zarr/{number}"), mode="r")[...] == values[0]).all()


def test_segmentations_are_pooled_by_mode(oriel, tmp_path):
    x = random((8, 8, 8), "u8")
    create(tmp_path / "x", x)
    metadata = info(tmp_path / "x") | {"type": "segmentation"}
    (tmp_path / "x/info").write_text(json.dumps(metadata))
    np.save(tmp_path / "x.npy", x)
    words = ["--factor", "2", "--levels", "1", "--chunk", "4", "--spacing", "40,4,4"]
    oriel("pyramid", "x", "y.precomputed", *words)
    oriel("pyramid", "x.npy", "z.precomputed", *words, "--labels")
    assert digest(tmp_path / "y.precomputed") == digest(tmp_path / "z.precomputed")
    assert info(tmp_path / "y.precomputed")["type"] == "segmentation"


def test_a_translation_is_the_offset(oriel, refusal, tmp_path):
    x = random((9, 10, 11))
    np.save(tmp_path / "x.npy", x)
    words = ["--factor", "2,2", "--spacing", "2,0.5,0.5", "--chunk", "4"]
    oriel("pyramid", "x.npy", "y.precomputed", *words, "--translation", "-6,0.5,7")
    for number, f in enumerate([1, 2, 4]):
        values, first = scale(tmp_path / "y.precomputed", number)
        assert first == (-3 // f, 1 // f, 14 // f) and (values[0] == mean_by(x, (f, f, f), (-3, 1, 14))).all()
    text = refusal("pyramid", "x.npy", "z.precomputed", *words, "--translation", "1,0,0")
    assert "z.precomputed: voxel_offset holds whole voxels, but the translation 1 is 0.5 of them along axis 0" in text
    text = refusal("pyramid", "x.npy", "z.precomputed", *words, "--origin", "1x0x0")
    assert "windows of 2 voxels would begin at voxel -1 along z" in text


def test_channels_and_planes(oriel, tmp_path):
    x = random((3, 9, 33, 35))
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.precomputed", "--factor", "2", "--levels", "1", "--chunk", "16")
    oriel("pyramid", "x.npy", "z.precomputed", "--factor", "2", "--levels", "1", "--chunk", "2x16x16x16")  # chunks in parts
    assert digest(tmp_path / "y.precomputed") == digest(tmp_path / "z.precomputed")
    values, _ = scale(tmp_path / "y.precomputed", 1)
    assert info(tmp_path / "y.precomputed")["num_channels"] == 3
    assert (values == mean_by(x, (1, 2, 2, 2), (0, 0, 0, 0))).all()
    np.save(tmp_path / "plane.npy", x[0, 0])
    oriel("pyramid", "plane.npy", "plane.precomputed", "--factor", "2", "--levels", "1")
    assert (scale(tmp_path / "plane.precomputed", 1)[0][0, 0] == mean_by(x[0, 0], (2, 2), (0, 0))).all()


def test_zeros_are_left_out_and_volumes_replaced(oriel, refusal, tmp_path):
    x = random()
    x[:, :, 32:] = 0
    np.save(tmp_path / "x.npy", x)
    words = ["--factor", "2", "--levels", "1", "--chunk", CHUNK, "--method", "max"]
    for threads in ("1", "4"):
        oriel("pyramid", "x.npy", f"y{threads}.precomputed", *words, "-t", threads)
    assert digest(tmp_path / "y1.precomputed") == digest(tmp_path / "y4.precomputed")
    assert len(list((tmp_path / "y1.precomputed/1_1_1").iterdir())) == 3 * 4 * 2
    assert (scale(tmp_path / "y1.precomputed", 0)[0][0] == x).all()
    oriel("pyramid", "x.npy", "y1.precomputed", *words[:-2])  # one of several scales may be replaced
    found = info(tmp_path / "y1.precomputed") | {"mesh": "m"}
    (tmp_path / "y1.precomputed/info").write_text(json.dumps(found))
    assert "without meshes" in refusal("pyramid", "x.npy", "y1.precomputed", *words)
    text = refusal("pyramid", "y4.precomputed:2_2_2", "y4.precomputed", *words, code=2)
    assert "holds IN" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--method", "var"], "all scales of a precomputed volume have one type, but level 0 is u16, others are f64"),
        (["--axes", "tyx"], "has the axes x, y, z and c, but one is 't'"),
        (["--unit", "parsec"], "the unit is 'parsec'; allowed: picometer"),
        (["--codec", "zstd:1"], "a precomputed volume is raw or compressed_segmentation"),
        (["--shard", "32"], "written without shards"),
    ],
)
def test_what_precomputed_volumes_do_not_hold(refusal, tmp_path, words, text):
    np.save(tmp_path / "x.npy", random())
    assert text in refusal("pyramid", "x.npy", "y.precomputed", "--chunk", CHUNK, *words)


def test_types_and_factors_that_precomputed_volumes_do_not_have(refusal, tmp_path):
    np.save(tmp_path / "x.npy", random(dtype="f8"))
    assert "but IN is f64; allowed for others: .zarr" in refusal("pyramid", "x.npy", "y.precomputed", "--chunk", CHUNK)
    np.save(tmp_path / "x.npy", random((4, 9, 9, 9)))
    assert "have 4 channels, but a level has 2" in refusal("pyramid", "x.npy", "y.precomputed", "--factor", "2x2x2x2", "--levels", "1")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
