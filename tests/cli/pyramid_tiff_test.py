"""`oriel pyramid` to TIFF: cloud-optimised files and OME-TIFFs, read back by tifffile; spacing of TIFF and HDF5."""

import hashlib
import json
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET

import h5py
import numpy as np
import pytest
import tifffile
import zarr
from conftest import COMMAND
from memory_test import PEAK

GEO_KEYS = [(34735, "H", 16, [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3076, 0, 1, 9001]),
            (33550, "d", 3, [30.0, 30.0, 0.0]), (33922, "d", 6, [0.0, 0.0, 0.0, 5e5, 5e6, 0.0])]  # fmt: skip
DTYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]
OME = "{http://www.openmicroscopy.org/Schemas/OME/2016-06}"


def random(shape, dtype="u2", seed=0):
    x = np.random.default_rng(seed).integers(0, 250, shape)
    return (x - 100 if np.dtype(dtype).kind == "i" else x).astype(dtype)


def nodata_tag(text):
    return (42113, "s", 0, text, True)


def geotiff(path, x, *tags, **options):
    extra = [(code, kind, count, values, True) for code, kind, count, values in GEO_KEYS]
    tifffile.imwrite(path, x, extratags=[*extra, *tags], metadata=None, **{"photometric": "minisblack", **options})


def pages(path):
    """All images of a cloud-optimised TIFF."""
    with tifffile.TiffFile(path) as t:
        return [page.asarray() for page in t.pages]


def levels_of(path):
    """The same of an OME-TIFF."""
    with tifffile.TiffFile(path) as t:
        return [level.asarray() for level in t.series[0].levels]


def zarr_levels(path):
    group = zarr.open_group(str(path), mode="r")
    return [group[name][...] for name in sorted(group.array_keys())]


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.dtype.newbyteorder("=") == b.dtype
        np.testing.assert_array_equal(a, b)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def coordinates(folder):
    """Axes with units, and the scale of level 0."""
    (image,) = zarr.open_group(str(folder), mode="r").attrs["ome"]["multiscales"]
    scale, *_ = image["datasets"][0]["coordinateTransformations"]
    return [(axis["name"], axis.get("unit"), s) for axis, s in zip(image["axes"], scale["scale"])]


# ---- cloud-optimised TIFFs ----


class Layout:
    """What the rules for cloud-optimised TIFFs are about, read without a library."""

    def __init__(self, data):
        self.data = data
        assert data[:4] == b"II*\0"
        (at,) = struct.unpack_from("<I", data, 4)
        self.directories, self.tiles = [], []
        while at:
            (count,) = struct.unpack_from("<H", data, at)
            entries = [struct.unpack_from("<HHII", data, at + 2 + 12 * i) for i in range(count)]
            assert entries == sorted(entries)
            tags = {tag: (kind, n, value) for tag, kind, n, value in entries}
            numbers = [[tags[tag][2]] if tags[tag][1] == 1 else struct.unpack_from(f"<{tags[tag][1]}I", data, tags[tag][2]) for tag in (324, 325)]
            self.directories.append((at, tags[254][2], max(v for _, k, n, v in entries if n > 4 or v == tags[254][2])))
            self.tiles.append(list(zip(*numbers)))
            (at,) = struct.unpack_from("<I", data, at + 2 + 12 * count)


def test_the_layout_is_that_of_cloud_optimised_tiffs(oriel, tmp_path):
    geotiff(tmp_path / "x.tif", random((700, 900)))
    oriel("pyramid", "x.tif", "y.tif", "--chunk", "128")
    data = (tmp_path / "y.tif").read_bytes()
    layout = Layout(data)
    assert [reduced for _, reduced, _ in layout.directories] == [0, 1, 1, 1]
    structure = data[8 : 8 + 43 + 140].decode()
    assert structure.startswith("GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nLAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\n")
    assert layout.directories[0][0] == 192  # behind it
    places = [at for at, _, _ in layout.directories]
    assert places == sorted(places)
    # Tiles of the coarsest level come first, without gaps, in row-major order; each has its size before it and its last bytes again after it.
    tiles = [tile for level in layout.tiles[::-1] for tile in level]
    assert tiles[0][0] - 4 > places[-1]
    for (at, count), (following, _) in zip(tiles, [*tiles[1:], (len(data) + 4, 0)]):
        assert struct.unpack_from("<I", data, at - 4) == (count,)
        assert data[at + count : at + count + 4] == data[at + count - 4 : at + count]
        assert following == at + count + 8


@pytest.mark.parametrize("codec", [None, "none", "gzip:9"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_are_those_of_zarr(oriel, tmp_path, dtype, codec):
    np.save(tmp_path / "x.npy", random((131, 77), dtype))
    options = ["--factor", "2", "--levels", "3", "--chunk", "32"]
    oriel("pyramid", "x.npy", "y.zarr", *options)
    oriel("pyramid", "x.npy", "y.tif", *options, *(["--codec", codec] if codec else []))
    same(pages(tmp_path / "y.tif"), zarr_levels(tmp_path / "y.zarr"))


def test_zstd_is_read_by_libtiff(oriel, tmp_path):
    np.save(tmp_path / "x.npy", random((300, 200)))
    report = json.loads(oriel("pyramid", "x.npy", "y.tif", "--codec", "zstd:5", "--chunk", "64", "--json").stdout)
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "64")
    with tifffile.TiffFile(tmp_path / "y.tif") as t:
        assert {page.compression for page in t.pages} == {50000}
    for level, expected in zip(report["levels"], zarr_levels(tmp_path / "y.zarr")):
        oriel("pool", f"y.tif:{level['path']}", "level.npy", "--op", "max", "--kernel", "1")
        same([np.load(tmp_path / "level.npy")], [expected])


@pytest.mark.parametrize("channels, planar", [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2)])
def test_bands(oriel, tmp_path, channels, planar):
    x = random((channels, 90, 133), "f4")
    np.save(tmp_path / "x.npy", x)
    words = ["--axes", "cyx", "--chunk", f"{1 if channels > 4 else channels}x32x48", "--factor", "1x2x2", "--levels", "2"]
    oriel("pyramid", "x.npy", "y.zarr", *words)
    oriel("pyramid", "x.npy", "y.tif", "--axes", "cyx", "--factor", "2", "--levels", "2", "--chunk", words[3])
    found = pages(tmp_path / "y.tif")
    if channels == 1:
        found = [page[None] for page in found]
    elif planar == 1:
        found = [np.moveaxis(page, -1, 0) for page in found]
    same(found, zarr_levels(tmp_path / "y.zarr"))
    with tifffile.TiffFile(tmp_path / "y.tif") as t:
        assert {(page.planarconfig, page.samplesperpixel) for page in t.pages} == {(planar, channels)}
    # The default is together up to four.
    default = json.loads(oriel("pyramid", "x.npy", "z.tif", "--axes", "cyx", "--factor", "2", "--levels", "1", "--json").stdout)
    assert default["levels"][0]["chunk"] == [1 if channels > 4 else channels, 512, 512]
    assert (b"GDAL_STRUCTURAL_METADATA" in (tmp_path / "z.tif").read_bytes()) == (planar == 1)


def test_colours_stay_colours(oriel, tmp_path):
    x = random((70, 90, 4), "u1")
    tifffile.imwrite(tmp_path / "x.tif", x, photometric="rgb", extrasamples=["unassalpha"], iccprofile=b"profile", tile=(32, 32))
    oriel("pyramid", "x.tif", "y.tif", "--factor", "2", "--levels", "1")
    with tifffile.TiffFile(tmp_path / "y.tif") as t:
        assert {(int(page.photometric), page.extrasamples) for page in t.pages} == {(2, (2,))}
        assert t.pages[0].iccprofile == b"profile"
    oriel("pyramid", "x.tif", "y.zarr", "--factor", "2", "--levels", "1")
    first, second = zarr_levels(tmp_path / "y.zarr")
    assert (first == np.moveaxis(x, -1, 0)).all() and second.shape == (4, 35, 45)
    same(pages(tmp_path / "y.tif"), [np.moveaxis(level, 0, -1) for level in (first, second)])


def test_tags_of_geotiff_and_nodata(oriel, tmp_path):
    x = random((64, 64), "i2")
    x[:20, :33] = -9999
    geotiff(tmp_path / "x.tif", x, nodata_tag("-9999"))
    oriel("pyramid", "x.tif", "y.tif", "--factor", "2", "--levels", "2", "--chunk", "16")
    with tifffile.TiffFile(tmp_path / "x.tif") as a, tifffile.TiffFile(tmp_path / "y.tif") as b:
        for code, *_ in GEO_KEYS:
            assert b.pages[0].tags[code].value == a.pages[0].tags[code].value
            assert code not in b.pages[1].tags
        assert [page.tags[42113].value for page in b.pages] == ["-9999"] * 3
    # Elements without data count only if a window has no others.
    valid = np.ma.masked_equal(x.astype("i8").reshape(32, 2, 32, 2), -9999)
    level = np.rint(valid.sum((1, 3)) / valid.count((1, 3))).filled(-9999)
    np.testing.assert_array_equal(pages(tmp_path / "y.tif")[1], level)
    assert -9999 in level and (level[:10, 16] != -9999).all()
    # The same for other formats; an option comes first.
    oriel("pyramid", "x.tif", "y.zarr", "--factor", "2", "--levels", "2")
    same(pages(tmp_path / "y.tif"), zarr_levels(tmp_path / "y.zarr"))
    assert coordinates(tmp_path / "y.zarr") == [("y", "meter", 30), ("x", "meter", 30)]
    oriel("pyramid", "x.tif", "z.tif", "--factor", "2", "--levels", "1", "--nodata", "7", "--method", "min")
    assert (pages(tmp_path / "z.tif")[1][:10, :16] == -9999).all()
    with tifffile.TiffFile(tmp_path / "z.tif") as t:
        assert t.pages[1].tags[42113].value == "7"


@pytest.mark.parametrize(
    "dtype, nodata, used", [("f4", "nan", True), ("f4", "-3.40282e+38", True), ("u1", "-9999", False), ("u1", "x", False), ("u1", "255 ", True)]
)
def test_values_without_data_of_other_types(oriel, tmp_path, dtype, nodata, used):
    x = random((16, 16), dtype)
    x[:8] = np.dtype(dtype).type(float(nodata)) if used else 0
    geotiff(tmp_path / "x.tif", x, nodata_tag(nodata))
    oriel("pyramid", "x.tif", "y.tif", "--factor", "16", "--levels", "1")
    expected = (x[8:] if used else x).astype("f8").mean()
    np.testing.assert_allclose(pages(tmp_path / "y.tif")[1], np.rint(expected) if dtype == "u1" else expected, rtol=1e-6)


def test_resolution_of_what_is_no_geotiff(oriel, tmp_path):
    np.save(tmp_path / "x.npy", random((40, 40)))
    words = ["--factor", "2", "--levels", "1"]
    for unit, resolution in [(["--unit", "micrometer"], (3, 10000 / 0.25, 10000 / 0.5)), ([], (1, 4, 2))]:
        oriel("pyramid", "x.npy", "y.tif", *words, "--spacing", "0.5,0.25", *unit)
        with tifffile.TiffFile(tmp_path / "y.tif") as t:
            tags = t.pages[0].tags
            found = (tags["ResolutionUnit"].value, *(np.divide(*tags[name].value) for name in ("XResolution", "YResolution")))
            assert found == resolution and "XResolution" not in t.pages[1].tags
    oriel("pyramid", "x.npy", "y.tif", *words)
    with tifffile.TiffFile(tmp_path / "y.tif") as t:
        assert "XResolution" not in t.pages[0].tags
    # A number that no fraction is stays within 1e-9.
    oriel("pyramid", "x.npy", "y.tif", *words, "--spacing", "0.3333719", "--unit", "nanometer")
    oriel("pyramid", "y.tif", "z.zarr", *words)
    assert coordinates(tmp_path / "z.zarr") == [("y", "micrometer", 0.0003333719), ("x", "micrometer", 0.0003333719)]


# ---- OME-TIFF ----


@pytest.mark.parametrize(
    "axes, shape", [("YX", (70, 90)), ("ZYX", (5, 70, 90)), ("CYX", (3, 70, 90)), ("TCZYX", (2, 3, 4, 70, 90)), ("TYX", (3, 33, 90))]
)
def test_planes_have_their_levels(oriel, tmp_path, axes, shape):
    np.save(tmp_path / "x.npy", random(shape))
    factor = "x".join(["1"] * (len(shape) - 2) + ["2", "2"])
    words = [
        "--axes",
        axes.lower(),
        "--factor",
        factor,
        "--spacing",
        ",".join(["1", "2", "3"][: len(shape) - 2] + ["0.25", "0.5"]),
        "--unit",
        "micrometer",
    ]
    oriel("pyramid", "x.npy", "y.zarr", *words, "--levels", "2")
    oriel("pyramid", "x.npy", "y.ome.tif", *words, "--chunk", "x".join(["1"] * (len(shape) - 2) + ["32", "48"]), "--levels", "2")
    same(levels_of(tmp_path / "y.ome.tif"), zarr_levels(tmp_path / "y.zarr"))
    with tifffile.TiffFile(tmp_path / "y.ome.tif") as t:
        assert t.is_ome and t.series[0].axes == axes and len(t.pages) == int(np.prod(shape[:-2]))
        assert all(len(page.subifds) == 2 and page.subfiletype == 0 for page in map(t.pages.get, range(len(t.pages))))
        (pixels,) = ET.fromstring(t.ome_metadata).iter(OME + "Pixels")
        assert (pixels.get("PhysicalSizeX"), pixels.get("PhysicalSizeXUnit"), pixels.get("PhysicalSizeY")) == ("0.5", "µm", "0.25")
        assert (pixels.get("PhysicalSizeZUnit") == "µm") == ("Z" in axes) and pixels.get("TimeIncrement") is None
    oriel("pool", "y.ome.tif:all", "back.npy", "--op", "max", "--kernel", "1")
    same([np.load(tmp_path / "back.npy")], [np.load(tmp_path / "x.npy")])


def test_samples_of_an_ome_tiff(oriel, tmp_path):
    tifffile.imwrite(tmp_path / "x.tif", random((50, 60, 3), "u1"), photometric="rgb")
    oriel("pyramid", "x.tif", "y.ome.tif", "--chunk", "3x32x32", "--factor", "2", "--levels", "1")
    oriel("pyramid", "x.tif", "z.ome.tif", "--factor", "2", "--levels", "1")
    together, apart = (levels_of(tmp_path / "y.ome.tif"), levels_of(tmp_path / "z.ome.tif"))
    same([np.moveaxis(level, -1, 0) for level in together], apart)
    with tifffile.TiffFile(tmp_path / "y.ome.tif") as t:
        assert t.series[0].axes == "YXS" and int(t.pages[0].photometric) == 2


def test_an_ome_tiff_of_an_ome_tiff(oriel, tmp_path):
    x = random((2, 4, 60, 70))
    tifffile.imwrite(tmp_path / "x.ome.tif", x, photometric="minisblack", metadata={
        "axes": "TZYX", "PhysicalSizeX": 0.3, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.4, "PhysicalSizeYUnit": "nm",
        "PhysicalSizeZ": 2, "PhysicalSizeZUnit": "nm", "TimeIncrement": 0.5, "TimeIncrementUnit": "ms"})  # fmt: skip
    oriel("pyramid", "x.ome.tif:all", "y.ome.tif", "--levels", "1")
    oriel("pyramid", "y.ome.tif:all", "y.zarr", "--levels", "1")
    expected = [("t", "millisecond", 0.5), ("z", "nanometer", 2), ("y", "nanometer", 0.4), ("x", "nanometer", 0.3)]
    assert coordinates(tmp_path / "y.zarr") == expected
    with tifffile.TiffFile(tmp_path / "y.ome.tif") as t:
        (pixels,) = ET.fromstring(t.ome_metadata).iter(OME + "Pixels")
        assert (pixels.get("TimeIncrement"), pixels.get("TimeIncrementUnit")) == ("0.5", "ms")


# ---- what both have ----


@pytest.mark.parametrize("name", ["y.tif", "y.ome.tif"])
def test_the_same_bytes_for_any_threads_and_memory(oriel, tmp_path, name):
    x = random((3, 300, 400)) if "ome" in name else random((900, 1000))
    np.save(tmp_path / "x.npy", x)
    found = set()
    for words in (
        ["-t", "1"],
        ["-t", "2"],
        ["-t", "3"],
        ["-t", "4"],
        ["--memory", "64MiB"],
        ["--memory", "96MiB", "-t", "4"],
        ["--memory", "256MiB"],
    ):
        oriel("pyramid", "x.npy", name, "--chunk", "x".join(["1"] * (x.ndim - 2) + ["64", "64"]), *words)
        found.add(digest(tmp_path / name))
    assert len(found) == 1 and len(list(tmp_path.iterdir())) == 2


def test_a_bound_of_memory_holds(oriel, tmp_path):
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "u1", (20000, 20000))
    x[::7, ::11] = 200
    x.flush()
    out = subprocess.run([sys.executable, "-c", PEAK, COMMAND, "pyramid", "x.npy", "y.tif", "--memory", "96MiB", "-t", "4", "-q"],
                         cwd=tmp_path, check=True, capture_output=True, text=True).stdout  # fmt: skip
    assert int(out) < 96 << 20
    with tifffile.TiffFile(tmp_path / "y.tif") as t:
        assert [page.shape for page in t.pages][:2] == [(20000, 20000), (10000, 10000)]
        tile = t.pages[1].asarray()[4096:4608, 4096:4608]
    y, x0 = 8192, 8192
    part = np.asarray(x[y : y + 1024, x0 : x0 + 1024], "i8").reshape(512, 2, 512, 2)
    np.testing.assert_array_equal(tile, np.rint(part.mean((1, 3))))


@pytest.mark.parametrize("name", ["y.tif", "y.ome.tif"])
def test_a_killed_run_leaves_the_old_file(oriel, tmp_path, name):
    np.save(tmp_path / "x.npy", random((3000, 3000), "f4"))
    np.save(tmp_path / "small.npy", random((40, 40)))
    oriel("pyramid", "small.npy", name, "--levels", "1")
    (tmp_path / name).chmod(0o640)
    before = digest(tmp_path / name)
    run = subprocess.Popen([COMMAND, "pyramid", "x.npy", name, "-t", "1", "--codec", "gzip:9"], cwd=tmp_path)
    while not list(tmp_path.glob(f".{name}.*")) and run.poll() is None:
        pass
    run.kill()
    run.wait()
    assert digest(tmp_path / name) == before
    oriel("pyramid", "small.npy", name, "--levels", "1")  # and removes what the other left
    assert digest(tmp_path / name) == before and (tmp_path / name).stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["x.npy", "small.npy", name])


@pytest.mark.parametrize("shape, out, words, said", [
    ((4, 40, 40), "y.tif", [], "are images with the axes yx or cyx, but the axes are 'zyx'; allowed: .ome.tif"),
    ((4, 40, 40), "y.ome.tif", ["--factor", "2"], "smaller along y and x only, but level 1 is along 'z'; allowed: --factor 1x2x2"),
    ((2, 3, 4, 40, 40), "y.ome.tif", ["--axes", "tczyx", "--factor", "1x3x1x2x2"], "is along 'c'; allowed: --factor 1x1x1x2x2"),
    ((40, 40), "y.tif", ["--chunk", "20x32"], "--chunk: sides of tiles are 20x32; allowed: multiples of 16"),
    ((40, 40), "y.tif", ["--codec", "blosc"], "TIFF has no blosc"),
    ((40, 40), "y.tif", ["--shard", "1024"], "written without shards"),
    ((40, 40), "y.tif", ["--origin", "1x0"], "begin before the first element along 'y'"),
    ((41, 40), "y.tif", ["--edge", "trim"], "lacks the end of 'y'"),
    ((40, 40), "y.tif", ["--translation", "0,5"], "no tag for a translation, which is 5 along 'x'"),
    ((40, 40), "y.tif", ["--method", "var"], "one type, but level 0 is u16, others are f64"),
    ((40, 40), "y.ome.tif", ["--axes", "zx"], "the last two y and x, but the axes are 'zx'")], ids=str)  # fmt: skip
def test_refused(refusal, tmp_path, shape, out, words, said):
    np.save(tmp_path / "x.npy", random(shape))
    assert said in refusal("pyramid", "x.npy", out, "--levels", "1", *words)


def test_refused_types_and_places(refusal, oriel, tmp_path):
    np.save(tmp_path / "b.npy", random((40, 40)) > 9)
    assert "but the result is bool" in refusal("pyramid", "b.npy", "y.tif", "--levels", "1")
    np.save(tmp_path / "l.npy", random((40, 40), "i8"))
    assert "but IN is i64; allowed for others: .tif, .zarr" in refusal("pyramid", "l.npy", "y.ome.tif", "--levels", "1")
    (tmp_path / "d.tif").mkdir()
    assert "d.tif: a folder; allowed: a file" in refusal("pyramid", "l.npy", "d.tif", "--levels", "1")
    assert "no/y.tif: cannot write here: No such file" in refusal("pyramid", "l.npy", "no/y.tif", "--levels", "1")
    geotiff(tmp_path / "g.tif", random((40, 40)))
    text = refusal("pyramid", "g.tif", "y.tif", "--levels", "1", "--spacing", "10")
    assert "say that pixels are 30 apart along 'y', but the spacing is 10; allowed: without --spacing" in text
    assert "holds IN" in refusal("pyramid", "g.tif", "g.tif", "--levels", "1", code=2)


# ---- spacing of inputs ----


def test_spacing_of_imagej_and_of_the_resolution(oriel, tmp_path):
    x = random((3, 20, 30))
    for unit, name in [("micron", "micrometer"), ("um", "micrometer"), ("\\u00B5m", "micrometer"), ("nm", "nanometer"), ("pixel", None)]:
        tifffile.imwrite(tmp_path / "x.tif", x, imagej=True, resolution=(4, 2), metadata={"axes": "ZYX", "spacing": 1.5, "unit": unit})
        oriel("pyramid", "x.tif:all", "y.zarr", "--levels", "1", "--factor", "2")
        assert coordinates(tmp_path / "y.zarr") == [("z", name, 1.5), ("y", name, 0.5), ("x", name, 0.25)]
    for unit, spacing in [("CENTIMETER", 12.5), ("INCH", 31.75), ("NONE", 1)]:
        tifffile.imwrite(tmp_path / "x.tif", x, resolution=(800, 800), resolutionunit=unit, metadata=None, photometric="minisblack")
        oriel("pyramid", "x.tif:2", "y.zarr", "--levels", "1", "--factor", "2")
        assert coordinates(tmp_path / "y.zarr") == [(a, "micrometer" if spacing > 1 else None, spacing) for a in "yx"]
    oriel("pyramid", "x.tif:all", "y.zarr", "--levels", "1", "--factor", "2", "--spacing", "7,8,9")
    assert [s for _, _, s in coordinates(tmp_path / "y.zarr")] == [7, 8, 9]


@pytest.mark.parametrize("attribute, expected", [
    ([2.0, 0.5, 0.25], [("z", "micrometer", 2), ("y", "micrometer", 0.5), ("x", "micrometer", 0.25)]),
    (np.array([2, 1, 1], "i4"), [("z", "micrometer", 2), ("y", "micrometer", 1), ("x", "micrometer", 1)]),
    ("words", None), ([1.0, -1, 1], None), ([np.nan, 1, 1], None), (list(range(1, 9)), None)], ids=str)  # fmt: skip
def test_spacing_of_hdf5(oriel, tmp_path, attribute, expected):
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("x", data=random((8, 20, 30))).attrs["element_size_um"] = attribute
        f.create_dataset("plane", data=random((20, 30))).attrs["element_size_um"] = attribute
    oriel("pyramid", "x.h5:/x", "y.zarr", "--levels", "1", "--factor", "2")
    assert coordinates(tmp_path / "y.zarr") == (expected or [(a, None, 1) for a in "zyx"])
    oriel("pyramid", "x.h5:/plane", "y.zarr", "--levels", "1", "--factor", "2")
    assert coordinates(tmp_path / "y.zarr") == (expected or [(a, None, 1) for a in "zyx"])[1:]


# ---- --check ----


@pytest.mark.parametrize("name, shape", [("y.tif", (150, 170)), ("y.ome.tif", (3, 150, 170)), ("y.ome.tif:all", (2, 3, 2, 150, 170))])
@pytest.mark.parametrize("method", ["mean", "max"])
def test_what_is_written_passes_the_check(oriel, tmp_path, name, shape, method):
    np.save(tmp_path / "x.npy", random(shape))
    oriel("pyramid", "x.npy", name.removesuffix(":all"), "--levels", "2", "--method", method)
    report = json.loads(oriel("pyramid", "--check", name, "--json", "--sheet", "sheet.png").stdout)
    assert report["good"] and report["version"] is None and len(report["levels"]) == 3
    assert [level["method"] for level in report["levels"][1:]] == [f"{method} of level 0"] * 2
    assert [level["factor"][-2:] for level in report["levels"]] == [[1, 1], [2, 2], [4, 4]]
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_the_check_leaves_out_elements_without_data(oriel, tmp_path):
    x = random((128, 128), "i2")
    x[:60, :67] = -9999
    geotiff(tmp_path / "x.tif", x, nodata_tag("-9999"))
    oriel("pyramid", "x.tif", "y.tif", "--factor", "2", "--levels", "2")
    said = oriel("pyramid", "--check", "y.tif").stdout.decode()
    assert said.startswith("y.tif: TIFF, 2 levels above level 0\n") and said.count("mean of level 0 (1024 elements): good") == 2


def test_the_check_names_what_is_wrong_with_others(oriel, tmp_path):
    x = random((101, 80), "u2")
    halves = x[:100].reshape(50, 2, 40, 2).sum((1, 3)) // 4
    with tifffile.TiffWriter(tmp_path / "others.tif") as t:
        t.write(x, metadata=None, photometric="minisblack")
        t.write(halves.astype("u2"), metadata=None, photometric="minisblack", subfiletype=1)
        t.write(np.zeros((50, 40), bool), metadata=None, photometric="mask", subfiletype=5)  # a mask
    said = oriel("pyramid", "--check", "others.tif", code=1).stdout.decode()
    assert said == (
        "others.tif: TIFF, 1 level above level 0\nlevel 0: u16 101x80\n"
        "level 1: u16 50x40, factor 2x2, mean, cut off instead of rounded of level 0 (1024 elements)\n"
        "  shape: 50 along y; it should be 51: the last 1 of 101 elements is in no window\n"
    )
    planes = random((3, 64, 64))
    with tifffile.TiffWriter(tmp_path / "others.ome.tif") as t:
        t.write(planes, subifds=1, metadata={"axes": "ZYX"}, photometric="minisblack")
        t.write(planes[:, ::2, ::2], subfiletype=1, photometric="minisblack")
    assert "first of level 0 (1024 elements): good" in oriel("pyramid", "--check", "others.ome.tif").stdout.decode()


def test_the_check_of_files_without_levels(refusal, tmp_path):
    tifffile.imwrite(tmp_path / "x.tif", random((20, 30)), metadata=None)
    assert refusal("pyramid", "--check", "x.tif") == "oriel pyramid: x.tif: the TIFF has no reduced images; allowed: one with levels"
    with tifffile.TiffWriter(tmp_path / "y.tif") as t:
        t.write(random((20, 30)), subifds=1, metadata=None)
        t.write(random((10, 15)), subfiletype=1, metadata=None)
        t.write(random((20, 30)), metadata=None)
    assert "y.tif: image 2 has 0 SubIFDs, but 1 are needed" in refusal("pyramid", "--check", "y.tif")
    data = (tmp_path / "y.tif").read_bytes()
    (tmp_path / "z.tif").write_bytes(data[:90])
    assert refusal("pyramid", "--check", "z.tif").startswith("oriel pyramid: z.tif: ")
    assert "x.tif:1: not an OME-Zarr image" in refusal("pyramid", "--check", "x.tif:1")


# ---- axes of inputs ----


@pytest.mark.parametrize("axes, shape", [("TZCYX", (2, 3, 4, 30, 40)), ("ZCYX", (3, 2, 30, 40)), ("CZYX", (2, 3, 30, 40)), ("ZYXS", (3, 30, 40, 3))])
def test_axes_are_in_the_order_of_ome_zarr(oriel, tmp_path, axes, shape):
    x = random(shape, "u1" if "S" in axes else "u2")
    tifffile.imwrite(tmp_path / "x.tif", x, metadata={"axes": axes}, ome=True, photometric="rgb" if "S" in axes else "minisblack")
    oriel("pyramid", "x.tif:all", "y.zarr", "--factor", "2", "--levels", "1", "--chunk", "16")
    names = axes.lower().replace("s", "c")
    wanted = "".join(name for name in "tczyx" if name in names)
    assert [name for name, _, _ in coordinates(tmp_path / "y.zarr")] == list(wanted)
    x = x.transpose([names.index(name) for name in wanted])
    np.testing.assert_array_equal(zarr_levels(tmp_path / "y.zarr")[0], x)
    # The same by --axes for pages that the file does not name.
    if "S" not in axes and len(axes) == 4:
        tifffile.imwrite(tmp_path / "p.tif", random(shape), photometric="minisblack")
        oriel("pyramid", "p.tif:all", "z.zarr", "--factor", "2", "--levels", "1", "--chunk", "16", "--axes", names)
        same(zarr_levels(tmp_path / "z.zarr"), zarr_levels(tmp_path / "y.zarr"))
