"""`oriel pool` on pictures: formats, depths, channels, EXIF orientation."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image


def pool(x, k, f):
    """Blocks of k x k of an HxW or HxWxC array, reduced by f."""
    h, w = x.shape[0] // k, x.shape[1] // k
    return f(x[: h * k, : w * k].reshape(h, k, w, k, *x.shape[2:]), axis=(1, 3))


def picture(mode, size=(40, 30)):
    rng = np.random.default_rng(3)
    channels = {"L": (), "LA": (2,), "RGB": (3,), "RGBA": (4,)}[mode]
    return rng.integers(0, 256, (size[1], size[0], *channels), dtype="u1")


def write_png16(path, x):
    """A 16-bit PNG, which Pillow cannot write in colour."""
    h, w = x.shape[:2]
    kind = {(): 0, (2,): 4, (3,): 2, (4,): 6}[x.shape[2:]]
    rows = b"".join(b"\0" + x[i].astype(">u2").tobytes() for i in range(h))
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 16, kind, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
@pytest.mark.parametrize("ending", ["png", "tif"])
def test_lossless_formats(oriel, tmp_path, mode, ending):
    x = picture(mode)
    Image.fromarray(x, mode).save(tmp_path / f"x.{ending}")
    oriel("pool", f"x.{ending}", f"y.{ending}", "--kernel", 3)
    with Image.open(tmp_path / f"y.{ending}") as y:
        assert y.mode == mode
        np.testing.assert_array_equal(np.asarray(y), pool(x, 3, np.max))


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_webp(oriel, tmp_path, mode):
    x = picture(mode)
    x[..., 3:] |= 128
    Image.fromarray(x, mode).save(tmp_path / "x.webp", lossless=True)
    oriel("pool", "x.webp", "y.webp", "--kernel", 3, "--op", "min")
    with Image.open(tmp_path / "y.webp") as y:
        assert y.format == "WEBP"
        np.testing.assert_array_equal(np.asarray(y), pool(x, 3, np.min))


def test_jpeg(oriel, tmp_path):
    gradient = np.add.outer(np.arange(64), np.arange(48))[..., None] + np.array([0, 40, 80])
    Image.fromarray(gradient.astype("u1"), "RGB").save(tmp_path / "x.jpg", quality=100)
    oriel("pool", "x.jpg", "y.jpg", "--kernel", 2, "--op", "avg")
    with Image.open(tmp_path / "x.jpg") as x, Image.open(tmp_path / "y.jpg") as y:
        assert y.format == "JPEG" and y.size == (24, 32)
        np.testing.assert_allclose(np.asarray(y, "f4"), pool(np.asarray(x, "f4"), 2, np.mean), atol=8)


@pytest.mark.parametrize("channels", [(), (2,), (3,), (4,)])
@pytest.mark.parametrize("ending", ["png", "tif"])
def test_16_bits_stay(oriel, tmp_path, channels, ending):
    x = np.random.default_rng(4).integers(0, 65536, (20, 30, *channels), dtype="u2")
    write_png16(tmp_path / "x.png", x)
    oriel("pool", "x.png", f"y.{ending}", "--kernel", 2)
    oriel("pool", f"y.{ending}", "z.npy", "--kernel", 1)
    z = np.load(tmp_path / "z.npy")
    assert z.dtype == np.uint16
    np.testing.assert_array_equal(z, pool(x, 2, np.max))


def test_16_bit_grey_as_others_read_it(oriel, tmp_path):
    x = np.random.default_rng(4).integers(0, 65536, (20, 30), dtype="u2")
    write_png16(tmp_path / "x.png", x)
    oriel("pool", "x.png", "y.png", "--kernel", 2)
    with Image.open(tmp_path / "y.png") as y:
        np.testing.assert_array_equal(np.asarray(y), pool(x, 2, np.max))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png", "tif", "webp"])
def test_exif_orientation(oriel, tmp_path, orientation, ending):
    x = np.zeros((32, 48, 3), "u1")
    x[:16, :16], x[:16, 16:], x[16:, :16] = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if ending == "webp" else {"quality": 100, "subsampling": 0} if ending == "jpg" else {}
    Image.fromarray(x, "RGB").save(tmp_path / f"x.{ending}", exif=exif, **options)
    turn = {1: lambda a: a, 2: np.fliplr, 3: lambda a: np.rot90(a, 2), 4: np.flipud, 5: lambda a: a.swapaxes(0, 1),
            6: lambda a: np.rot90(a, -1), 7: lambda a: np.rot90(a, 2).swapaxes(0, 1), 8: np.rot90}[orientation]
    oriel("pool", f"x.{ending}", "y.png", "--kernel", 8)
    with Image.open(tmp_path / "y.png") as y:
        assert y.getexif().get(0x0112, 1) == 1  # upright now, and nobody turns it again
        np.testing.assert_allclose(np.asarray(y, "f4"), pool(turn(x).astype("f4"), 8, np.max), atol=3)


def test_palette_and_bilevel(oriel, tmp_path):
    x = picture("RGB")
    palette = Image.fromarray(x, "RGB").quantize(16)
    palette.save(tmp_path / "p.png")
    oriel("pool", "p.png", "y.png", "--kernel", 2)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "y.png")), pool(np.asarray(palette.convert("RGB")), 2, np.max))
    bilevel = Image.fromarray(picture("L")).convert("1")
    bilevel.save(tmp_path / "b.png")
    oriel("pool", "b.png", "c.npy", "--kernel", 1)
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), np.asarray(bilevel).astype("u1") * 255)


def test_an_image_through_pipes(oriel, tmp_path):
    x = picture("RGB")
    Image.fromarray(x, "RGB").save(tmp_path / "x.png")
    done = oriel("pool", "-", "-", "--kernel", 2, "--format", "png", input=(tmp_path / "x.png").read_bytes())
    (tmp_path / "y.png").write_bytes(done.stdout)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "y.png")), pool(x, 2, np.max))


def test_from_array_to_picture_and_back(oriel, tmp_path):
    x = picture("RGBA")
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.png", "--kernel", 2, "--axes", "0,1")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "y.png")), pool(x, 2, np.max))


def test_the_colour_profile_stays(oriel, tmp_path):
    from PIL import ImageCms
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(picture("RGB"), "RGB").save(tmp_path / "x.png", icc_profile=profile, dpi=(144, 144))
    oriel("pool", "x.png", "y.png", "--kernel", 2)
    with Image.open(tmp_path / "y.png") as y:
        assert y.info["icc_profile"] == profile
        assert round(y.info["dpi"][0]) == 144


@pytest.mark.parametrize("ending", ["png", "jpg", "tif", "webp"])
def test_corrupt_images(refusal, tmp_path, ending):
    Image.fromarray(picture("RGB", (200, 200)), "RGB").save(tmp_path / f"x.{ending}")
    whole = (tmp_path / f"x.{ending}").read_bytes()
    for part in (1, 5, 9):
        (tmp_path / f"x.{ending}").write_bytes(whole[: len(whole) * part // 10])
        assert refusal("pool", f"x.{ending}", "y.png", "-k", 2).startswith(f"oriel pool: x.{ending}: ")


def test_what_is_refused(refusal, tmp_path):
    Image.fromarray(picture("RGBA"), "RGBA").save(tmp_path / "a.png")
    assert "JPEG has no alpha, but the result has 4 channels; allowed: .png, .tiff, .webp" in refusal("pool", "a.png", "y.jpg", "-k", 2)
    write_png16(tmp_path / "d.png", np.zeros((8, 8, 3), "u2"))
    assert ".webp holds u8, but the result is u16" in refusal("pool", "d.png", "y.webp", "-k", 2)
    Image.fromarray(np.zeros((8, 8), "f4")).save(tmp_path / "f.tif")
    assert "'y.png' cannot be written in parts, as HDF5, Zarr, NIfTI, precomputed and TIFF volumes" in refusal("pool", "f.tif", "y.png", "-k", 2, code=2)
    Image.fromarray(picture("L")).save(tmp_path / "g.gif")
    assert "g.gif: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP" in refusal("pool", "g.gif", "y.png", "-k", 2)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_height_and_width_are_pooled_whatever_the_output(oriel, tmp_path, mode):
    """Into HDF5, where the same command goes block by block, too."""
    import h5py

    x = picture(mode)
    Image.fromarray(x, mode).save(tmp_path / "x.png")
    for out in ("y.npy", "y.h5:/y"):
        axes = "axes 0, 1 of 2" if mode == "L" else "axes 0, 1 of 3"
        assert f", {axes} -> {out}: ".encode() in oriel("pool", "x.png", out, "--kernel", 3).stdout
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), pool(x, 3, np.max))
    with h5py.File(tmp_path / "y.h5") as file:
        np.testing.assert_array_equal(file["y"][()], pool(x, 3, np.max))
