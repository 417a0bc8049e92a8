"""`oriel pool` on TIFF files: what tifffile writes is read, in boxes, and tifffile reads what is written."""

import json
import struct
import subprocess
import sys

import numpy as np
import pytest
import tifffile
from conftest import COMMAND
from memory_test import PEAK

COPY = ["--op", "max", "--kernel", "1"]
DTYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]
SHAPE = (3, 37, 45)


def sample(shape=SHAPE, dtype="u2", seed=0):
    x = 1000 * np.random.default_rng(seed).standard_normal(shape)
    return x.astype(dtype) if np.dtype(dtype).kind == "f" else x.astype("i8").astype(dtype)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") and a.shape == b.shape
    np.testing.assert_array_equal(a, b)


@pytest.fixture
def copied(oriel, tmp_path):
    """copied(path): what `oriel pool` of kernel 1 reads, as a .npy file."""

    def run(path, *options):
        oriel("pool", path, "copy.npy", *COPY, *options)
        return np.load(tmp_path / "copy.npy")

    return run


# tifffile alone has no predictor of floats.
@pytest.mark.parametrize("byteorder", "<>")
@pytest.mark.parametrize("dtype, options", [(d, o) for d in DTYPES for o in [
    {}, {"rowsperstrip": 5}, {"tile": (16, 32)}, {"bigtiff": True, "tile": (32, 16)},
    {"compression": "zlib", "rowsperstrip": 7}, {"compression": "zlib", "predictor": 2, "tile": (16, 16)}]
    if d[0] != "f" or "predictor" not in o], ids=str)
def test_dtypes_layouts_and_byte_orders(copied, tmp_path, dtype, byteorder, options):
    x = sample(dtype=dtype)
    tifffile.imwrite(tmp_path / "x.tif", x, byteorder=byteorder, photometric="minisblack", **options)
    same(copied("x.tif:all"), x)


@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("options", [{}, {"tile": (16, 16)}, {"compression": "zlib", "rowsperstrip": 6},
                                     {"compression": "zlib", "tile": (32, 16)}], ids=str)
def test_samples_are_the_last_axis(oriel, copied, tmp_path, planar, options):
    x = sample((2, 33, 40, 3), "u1")
    stored = x if planar == "contig" else np.moveaxis(x, -1, 1)
    tifffile.imwrite(tmp_path / "x.tif", stored, photometric="rgb", planarconfig=planar, **options)
    same(copied("x.tif:all"), x)
    oriel("pool", "x.tif:all", "y.npy", "--op", "max", "-k", "2x3", "--axes", "1,2")
    same(np.load(tmp_path / "y.npy"), x[:, :32, :39].reshape(2, 16, 2, 13, 3, 3).max((2, 4)))


@pytest.mark.parametrize("axes, shape", [
    ("ZYX", (4, 20, 17)), ("CYX", (2, 20, 17)), ("TZCYX", (2, 3, 2, 20, 17)), ("CTZYX", (2, 2, 3, 20, 17)),
    ("ZCTYX", (3, 2, 2, 20, 17)), ("ZYXS", (4, 20, 17, 3)), ("TCYX", (3, 2, 20, 17)), ("YX", (20, 17))])
def test_ome_axes(oriel, copied, tmp_path, axes, shape):
    x = sample(shape, "u2" if "S" not in axes else "u1")
    tifffile.imwrite(tmp_path / "x.ome.tif", x, metadata={"axes": axes}, ome=True,
                     photometric="rgb" if "S" in axes else "minisblack")
    same(copied("x.ome.tif:all"), x)
    oriel("pool", "x.ome.tif:all", "y.tif:all", *COPY)
    with tifffile.TiffFile(tmp_path / "y.tif") as y:
        same(y.asarray(), x)
        if len(shape) > 2 and axes != "ZYXS":
            assert y.is_ome and y.series[0].axes == axes


def test_ome_that_names_pages_in_another_order(copied, tmp_path):
    x = sample((4, 20, 17))
    xml = """<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">
    <Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="17" SizeY="20" SizeC="2" SizeZ="2" SizeT="1">
    {}</Pixels></Image></OME>"""
    data = "".join(f'<TiffData IFD="{i}" FirstC="{c}" FirstZ="{z}"/>'
                   for i, (c, z) in enumerate([(1, 1), (0, 0), (1, 0), (0, 1)]))
    tifffile.imwrite(tmp_path / "x.tif", x, metadata=None, description=xml.format(data).encode(), photometric="minisblack")
    same(copied("x.tif:all"), x[[1, 3, 2, 0]].reshape(2, 2, 20, 17))


@pytest.mark.parametrize("data, said", [
    ('<TiffData IFD="3"/>', "names no image for plane 2 of 4"), ('<TiffData IFD="9"/>', "but there are 4 images"),
    ('<TiffData IFD="x"/>', "IFD is 'x'"), ("", "no TiffData"), ("<TiffData", "is damaged"),
    ('<TiffData><UUID FileName="o.tif">urn:1</UUID></TiffData>', "are in other files"),
    ('<TiffData IFD="0" PlaneCount="9223372036854775807"/>', "PlaneCount is"),
    ('<TiffData IFD="2" PlaneCount="3"/>', "names 3 planes from image 3 on")])
def test_damaged_ome(refusal, tmp_path, data, said):
    xml = f"""<?xml version="1.0"?><OME xmlns="http://x"><Image><Pixels DimensionOrder="XYZCT" Type="uint16"
    SizeX="17" SizeY="20" SizeC="2" SizeZ="2" SizeT="1">{data}</Pixels></Image></OME>"""
    tifffile.imwrite(tmp_path / "x.tif", sample((4, 20, 17)), metadata=None, description=xml.encode(), photometric="minisblack")
    assert said in refusal("pool", "x.tif:all", "y.npy", *COPY)


@pytest.mark.parametrize("axes, shape", [("TZCYX", (2, 3, 2, 20, 17)), ("ZYX", (5, 20, 17)), ("CYX", (2, 20, 17)),
                                         ("YX", (20, 17))])
def test_imagej_axes(copied, tmp_path, axes, shape):
    x = sample(shape)
    tifffile.imwrite(tmp_path / "x.tif", x, imagej=True, metadata={"axes": axes})
    same(copied("x.tif:all"), x)


def one_directory(path, x, description):
    """A big-endian TIFF as ImageJ writes it above 4 GB: one directory, all slices behind its data."""
    text = description.encode() + b"\0"
    entries = [(256, 4, 1, x.shape[-1]), (257, 4, 1, x.shape[-2]), (258, 3, 1, 16 << 16), (262, 3, 1, 1 << 16),
               (270, 2, len(text), 200), (273, 4, 1, 1000), (277, 3, 1, 1 << 16), (278, 4, 1, x.shape[-2]),
               (279, 4, 1, x.shape[-1] * x.shape[-2] * 2)]
    ifd = struct.pack(">H", len(entries)) + b"".join(struct.pack(">HHII", *e) for e in entries) + bytes(4)
    head = (b"MM\0*" + struct.pack(">I", 8) + ifd).ljust(200, b"\0") + text
    path.write_bytes(head.ljust(1000, b"\0") + x.astype(">u2").tobytes())


def test_imagej_stack_with_one_directory(copied, refusal, tmp_path):
    x = sample((6, 20, 17))
    one_directory(tmp_path / "x.tif", x, "ImageJ=1.54f\nimages=6\nchannels=2\nslices=3\nhyperstack=true\n")
    same(copied("x.tif:all"), x.reshape(3, 2, 20, 17))
    same(copied("x.tif"), x[0])
    one_directory(tmp_path / "x.tif", x[:5], "ImageJ=1.54f\nimages=6\nslices=6\n")
    assert "cut off: 6 images need" in refusal("pool", "x.tif:all", "y.npy", *COPY)


def test_tifffile_shape_and_pages_alone(copied, refusal, tmp_path):
    x = sample((2, 3, 20, 17))
    tifffile.imwrite(tmp_path / "x.tif", x, photometric="minisblack")
    same(copied("x.tif:all"), x)
    tifffile.imwrite(tmp_path / "x.tif", x, photometric="minisblack", metadata=None)
    same(copied("x.tif:all"), x.reshape(6, 20, 17))
    same(copied("x.tif:5"), x[1, 1])
    same(copied("x.tif:5", "--memory", "64MiB"), x[1, 1])
    assert "allowed: 1 to 6" in refusal("pool", "x.tif:7", "y.npy", *COPY, "--memory", "64MiB")


def test_reduced_images_are_no_planes(copied, tmp_path):
    x = sample((64, 48), "u1")
    with tifffile.TiffWriter(tmp_path / "x.tif") as out:
        out.write(x, tile=(16, 16), metadata=None)
        out.write(x[::2, ::2], tile=(16, 16), subfiletype=1, metadata=None)
    same(copied("x.tif:all"), x)


@pytest.mark.parametrize("options", [{}, {"tile": (16, 16)}, {"compression": "zlib", "rowsperstrip": 9}], ids=str)
@pytest.mark.parametrize("shape", [(61, 47), (61, 47, 3), (61, 47, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_an_image_in_boxes_is_that_read_whole(oriel, tmp_path, options, shape, dtype):
    tifffile.imwrite(tmp_path / "x.tif", sample(shape, dtype), photometric="rgb" if len(shape) > 2 else "minisblack",
                     resolution=(300, 300), **options)
    pool = ["--op", "avg", "-k", "3", "-s", "2", "-p", "1", "--json"]
    whole = json.loads(oriel("pool", "x.tif", "whole.npy", *pool).stdout)
    boxes = json.loads(oriel("pool", "x.tif", "boxes.npy", *pool, "--memory", "64MiB").stdout)
    assert (tmp_path / "whole.npy").read_bytes() == (tmp_path / "boxes.npy").read_bytes()
    assert whole["problem"] == boxes["problem"] and "blocks" in boxes and "blocks" not in whole
    oriel("pool", "x.tif", "boxes.tif", *pool, "--memory", "64MiB")
    same(tifffile.imread(tmp_path / "boxes.tif"), np.load(tmp_path / "whole.npy"))
    oriel("pool", "x.tif", "still.png", *pool, "--memory", "64MiB")  # whole, as no PNG is written in boxes


def test_palettes_and_white_as_zero_are_read_whole(oriel, copied, tmp_path):
    x = sample((20, 17), "u1")
    tifffile.imwrite(tmp_path / "x.tif", x, photometric="miniswhite")
    same(copied("x.tif"), 255 - x)
    same(copied("x.tif", "--memory", "64MiB"), 255 - x)
    same(copied("x.tif:all"), x)


def test_float_images_go_in_boxes(oriel, copied, tmp_path):
    x = sample((50, 40, 3), "f4")
    tifffile.imwrite(tmp_path / "x.tif", x, photometric="rgb", tile=(16, 16))
    same(copied("x.tif"), x)
    oriel("pool", "x.tif", "y.tif", "--op", "max", "-k", "2")
    same(tifffile.imread(tmp_path / "y.tif"), x.reshape(25, 2, 20, 2, 3).max((1, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(300, 520), (4, 300, 270), (2, 3, 40, 50), (2, 2, 2, 17, 40), (2, 2, 2, 2, 9, 8), (3, 20, 2)],
                         ids=str)
def test_written_volumes(oriel, copied, tmp_path, dtype, shape):
    x = sample(shape, dtype)
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.tif:all", *COPY)
    with tifffile.TiffFile(tmp_path / "y.tif") as y:
        same(y.asarray(), x)
        assert not y.is_bigtiff and y.pages[0].is_tiled and y.pages[0].compression == tifffile.COMPRESSION.ADOBE_DEFLATE
        assert len(y.pages) == np.prod(shape[:-2], dtype=int)
        if 2 < len(shape) < 6 and dtype not in ("u8", "i8", "f2"):
            assert y.is_ome and y.series[0].axes == "TCZYX"[5 - len(shape):]
    same(copied("y.tif:all"), x)


def test_written_in_many_blocks_with_permissions_kept(oriel, tmp_path):
    x = sample((90, 500, 300))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "y.tif").write_bytes(b"old")
    (tmp_path / "y.tif").chmod(0o640)
    done = oriel("pool", "x.npy", "y.tif:all", "--op", "max", "-k", "3x2x2", "--memory", "48MiB", "--json")
    assert json.loads(done.stdout)["blocks"] > 1
    same(tifffile.imread(tmp_path / "y.tif"), x.reshape(30, 3, 250, 2, 150, 2).max((1, 3, 5)))
    assert (tmp_path / "y.tif").stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "y.tif"]


def test_memory_stays_within_the_bound_and_tiles_are_read_once(tmp_path):
    x = sample((12, 1024, 1024))
    tifffile.imwrite(tmp_path / "x.tif", x, tile=(256, 256), compression="zlib", photometric="minisblack")
    done = subprocess.run(
        [sys.executable, "-c", PEAK, COMMAND, "pool", "x.tif:all", "y.tif:all", "--op", "avg", "-k", "2x3x3", "-s", "2x2x2",
         "-p", "0x1x1", "-t", "1", "--memory", "48MiB", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 48 << 10
    report = json.loads(done.stderr)
    assert report["chunks"] == report["chunk_reads"] == 12 * 16 and report["blocks"] > 1


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_tiles_that_are_left_out(copied, refusal, tmp_path, compression):
    x = sample((40, 50))
    for extra in [[], [(42113, "s", 0, "-1", True)]]:
        tifffile.imwrite(tmp_path / "x.tif", x, tile=(16, 16), compression=compression, extratags=extra)
        with tifffile.TiffFile(tmp_path / "x.tif") as file:
            tags = [file.pages[0].tags[name] for name in ("TileOffsets", "TileByteCounts")]
        data = bytearray((tmp_path / "x.tif").read_bytes())
        for tag in tags:  # of the sixth tile
            size = {3: 2, 4: 4}[int(tag.dtype)]
            data[tag.valueoffset + 5 * size:tag.valueoffset + 6 * size] = bytes(size)
        (tmp_path / "x.tif").write_bytes(data)
        if extra:
            assert "tile 5 is left out" in refusal("pool", "x.tif:all", "y.npy", *COPY)
        else:
            x[16:32, 16:32] = 0
            same(copied("x.tif:all"), x)
            (tmp_path / "copy.npy").unlink()


def test_refused(refusal, oriel, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4, 5), bool))
    np.save(tmp_path / "v.npy", np.zeros(7, "f4"))
    assert "the result is bool" in refusal("pool", "x.npy", "y.tif:all", "--op", "any", "-k", "1")
    assert "2 or more axes" in refusal("pool", "v.npy", "y.tif:all", *COPY)
    tifffile.imwrite(tmp_path / "bits.tif", np.zeros((8, 8), bool), photometric="minisblack")
    assert "samples of 1 bit; allowed: integers of 8, 16, 32 and 64 bits" in refusal("pool", "bits.tif:all", "y.npy", *COPY)
    with tifffile.TiffWriter(tmp_path / "sizes.tif") as out:
        out.write(np.zeros((8, 8), "u1"), metadata=None)
        out.write(np.zeros((8, 9), "u1"), metadata=None)
    assert "image 2 is 8x9" in refusal("pool", "sizes.tif:all", "y.npy", *COPY)
    (tmp_path / "none.tif").write_bytes(b"none")
    assert "none.tif: cannot read the TIFF: " in refusal("pool", "none.tif:all", "y.npy", *COPY)
    assert "No such file" in refusal("pool", "away.tif:all", "y.npy", *COPY)
    tifffile.imwrite(tmp_path / "x.tif", np.zeros((2, 8, 8), "f4"), photometric="minisblack")
    assert "IN too" in refusal("pool", "x.tif:all", "x.tif:all", *COPY, code=2)
    assert "IN too" in refusal("pool", "x.tif:1", "x.tif", *COPY, code=2)
    assert "was requested" in refusal("pool", "x.tif:all", "y.npy", *COPY, "--dtype", "f64")
    tifffile.imwrite(tmp_path / "cut.tif", sample((64, 64)), compression="zlib")
    (tmp_path / "cut.tif").write_bytes((tmp_path / "cut.tif").read_bytes()[:-2000])
    assert "cut.tif: cannot read the TIFF: " in refusal("pool", "cut.tif:all", "y.npy", *COPY)


GEO_KEYS = [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 1026, 34737, 7, 0]


def write_geotiff(path, x, placed, point=False, **options):
    keys = GEO_KEYS[:11] + [2 if point else 1] + GEO_KEYS[12:]
    tags = [(34735, "H", len(keys), keys, True), (34737, "s", 0, "a name|", True), (42113, "s", 0, "-1", True),
            (42112, "s", 0, "<GDALMetadata><Item name=\"a\">b</Item></GDALMetadata>", True),
            *((tag, "d", len(values), values, True) for tag, values in placed.items())]
    tifffile.imwrite(path, x, extratags=tags, **options)


def model(path, row, column):
    """Where in the model the point of a raster is, counted in pixels from its upper left corner."""
    with tifffile.TiffFile(path) as file:
        tags = {tag.code: tag.value for tag in file.pages[0].tags}
    half = 0.5 if tags[34735][11] == 2 else 0  # then raster coordinates are those of middles
    at = np.array([column - half, row - half])
    if 34264 in tags:
        m = np.reshape(tags[34264], (4, 4))
        return m[:2, :2] @ at + m[:2, 3]
    i, j, _, x, y, _ = tags[33922]
    return np.array([x, y]) + (at - [i, j]) * tags[33550][:2] * [1, -1]


@pytest.mark.parametrize("point", [False, True])
@pytest.mark.parametrize("placed", [
    {33550: (10.0, 20.0, 0.0), 33922: (0.0, 0.0, 0.0, 5000.0, 8000.0, 0.0)},
    {33550: (10.0, 20.0, 0.0), 33922: (3.0, 4.5, 0.0, 5000.0, 8000.0, 0.0)},
    {34264: (9.0, 2.0, 0.0, 5000.0, 3.0, -18.0, 0.0, 8000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)}], ids=["corner", "point", "matrix"])
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_geotiff(oriel, tmp_path, placed, point, dtype):
    x = sample((60, 48), dtype)
    write_geotiff(tmp_path / "x.tif", x, placed, point, tile=(16, 16))
    for options, step, shift in [(["-k", "2x3"], (2, 3), (0, 0)), (["-k", "3", "-s", "2"], (2, 2), (0.5, 0.5)),
                                 (["-k", "3", "-s", "2", "-p", "1"], (2, 2), (-0.5, -0.5)),
                                 (["-k", "2", "--dilation", "2", "-s", "4"], (4, 4), (-0.5, -0.5)),
                                 (["--output-size", "10x12"], (6, 4), (0, 0))]:
        oriel("pool", "x.tif", "y.tif", "--op", "max", *options)
        with tifffile.TiffFile(tmp_path / "y.tif") as y:
            tags = y.pages[0].tags
            assert tags[34735].value == tuple(GEO_KEYS[:11] + [2 if point else 1] + GEO_KEYS[12:])
            assert tags[34737].value == "a name|" and tags[42113].value == "-1" and "GDALMetadata" in tags[42112].value
        for row, column in [(0, 0), (0.5, 0.5), (3, 7)]:
            np.testing.assert_allclose(model(tmp_path / "y.tif", row, column),
                                       model(tmp_path / "x.tif", row * step[0] + shift[0], column * step[1] + shift[1]))
    oriel("pool", "x.tif", "y.png" if dtype == "u1" else "y.npy", "-k", "2")


def test_an_image_keeps_resolution_and_profile_in_boxes(oriel, tmp_path):
    profile = bytes(range(200))
    tifffile.imwrite(tmp_path / "x.tif", sample((40, 30, 3), "u1"), photometric="rgb", resolution=(300, 150), resolutionunit=2,
                     extratags=[(34675, "B", len(profile), profile, True)])
    oriel("pool", "x.tif", "y.tif", "-k", "2", "--memory", "64MiB")
    with tifffile.TiffFile(tmp_path / "y.tif") as y:
        tags = y.pages[0].tags
        assert bytes(tags[34675].value) == profile and tags[296].value == 3
        for tag, dots in [(282, 300), (283, 150)]:
            assert tags[tag].value[0] / tags[tag].value[1] * 2.54 == pytest.approx(dots)
