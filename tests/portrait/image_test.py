"""oriel-portrait image: backgrounds, formats, what files carry, bad input."""

import io
import json
import re
import struct
import zlib

import numpy as np
import pytest
from conftest import GREEN, KEY, PERSON, disc, seen
from PIL import Image, ImageCms

ALPHA = disc(180, 240)


def test_a_transparent_picture_has_the_true_alpha_and_the_person_s_own_colours(portrait, save, load):
    portrait("image", save("in.png", seen(ALPHA)), "out.png", *KEY)
    out = load("out.png")
    assert out.shape == (180, 240, 4)
    assert np.abs(out[..., 3] / 255 - ALPHA).mean() < 0.003
    mixed = (out[..., 3] > 25) & (out[..., 3] < 230)
    assert mixed.sum() > 100
    green = out[..., 1][mixed].astype(int)
    kept = portrait("image", "in.png", "kept.png", *KEY, "--keep-colours") and load("kept.png")
    assert np.abs(green - PERSON[1]).mean() < np.abs(kept[..., 1][mixed].astype(int) - PERSON[1]).mean() / 3
    assert (out[ALPHA == 0][:, 3] == 0).mean() > 0.99
    inside = disc(180, 240, 50) == 1
    assert (out[inside][:, :3] == seen(ALPHA)[inside]).all()


@pytest.mark.parametrize("ending", ["webp", "tif"])
def test_other_formats_hold_transparency(portrait, save, load, ending):
    portrait("image", save("in.png", seen(ALPHA)), f"out.{ending}", *KEY)
    assert np.abs(load(f"out.{ending}")[..., 3] / 255 - ALPHA).mean() < 0.003


def test_a_colour_behind(portrait, save, load):
    portrait("image", save("in.png", seen(ALPHA)), "out.png", *KEY, "--background", "#1020f0")
    wanted = seen(ALPHA, behind=(16, 32, 240))
    assert np.abs(load("out.png").astype(int) - wanted).mean() < 1.5


def test_a_picture_behind_covers_or_is_contained(portrait, save, load):
    save("in.png", seen(ALPHA))
    behind = np.zeros((100, 100, 3), np.uint8)
    behind[:50] = (255, 0, 0)
    behind[50:] = (0, 0, 255)
    save("behind.png", behind)
    portrait("image", "in.png", "cover.png", *KEY, "--background", "behind.png")
    cover = load("cover.png")
    assert tuple(cover[5, 5]) == (255, 0, 0) and tuple(cover[175, 235]) == (0, 0, 255)
    portrait("image", "in.png", "contain.png", *KEY, "--background", "behind.png", "--fit", "contain", "--fill", "white")
    contain = load("contain.png")
    assert tuple(contain[5, 5]) == (255, 255, 255) and tuple(contain[5, 35]) == (255, 0, 0)


def test_gradient_and_blur(portrait, save, load):
    save("in.png", seen(ALPHA))
    portrait("image", "in.png", "gradient.png", *KEY, "--background", "gradient:#000,#fff,90")
    gradient = load("gradient.png")[5, :, 0].astype(int)
    assert gradient[0] < 3 and gradient[-1] > 252 and (np.diff(gradient) >= 0).all()
    portrait("image", "in.png", "blur.png", *KEY, "--background", "blur:12")
    blurred = load("blur.png")
    assert np.abs(blurred[ALPHA == 0].astype(int) - GREEN).max() < 12  # nothing of the person flows out
    inside = disc(180, 240, 50) == 1
    assert (blurred[inside] == seen(ALPHA)[inside]).all()


def test_only_the_mask(portrait, save, load):
    portrait("image", save("in.png", seen(ALPHA)), "mask.png", *KEY, "--only-mask")
    assert np.abs(load("mask.png") / 255 - ALPHA).mean() < 0.003
    portrait("image", "in.png", "mask.jpg", *KEY, "--only-mask")
    assert load("mask.jpg").shape == (180, 240)


def test_a_mask_of_one_s_own(portrait, save, load):
    grey = np.random.default_rng(1).integers(0, 256, (180, 240, 3), dtype=np.uint8)
    save("in.png", grey)
    save("mask.png", np.rint(disc(60, 80) * 255).astype(np.uint8))
    portrait("image", "in.png", "out.png", "--mask", "mask.png")
    assert abs((load("out.png")[..., 3] > 127).mean() - (ALPHA > 0.5).mean()) < 0.01
    see_through = np.zeros((60, 80, 4), np.uint8)
    see_through[..., 3] = np.rint(disc(60, 80) * 255)
    save("mask_a.png", see_through)
    portrait("image", "in.png", "out_a.png", "--mask", "mask_a.png")
    assert (load("out_a.png") == load("out.png")).all()


def test_streams(portrait, save, tmp_path):
    save("in.jpg", seen(ALPHA), quality=95)
    done = portrait("image", "-", "-", *KEY, input=(tmp_path / "in.jpg").read_bytes())
    out = np.asarray(Image.open(io.BytesIO(done.stdout)))
    assert out.shape == (180, 240, 4) and np.abs(out[..., 3] / 255 - ALPHA).mean() < 0.006
    done = portrait("image", "in.jpg", "-", "--format", "jpg", "--background", "white", *KEY)
    assert done.stdout.startswith(b"\xff\xd8\xff")


def test_json_says_what_was_done(portrait, save):
    done = portrait("image", save("in.png", seen(ALPHA)), "out.png", *KEY, "--json")
    said = json.loads(done.stdout)
    assert (said["width"], said["height"], said["written"]) == (240, 180, True)
    assert said["person"]["found"] and abs(said["person"]["area"] - (ALPHA > 0.5).mean()) < 0.01
    assert said["model"] == "key #28c83c" and set(said["seconds"]) == {"load", "read", "segment", "edges", "write", "all"}
    *parts, whole = said["seconds"].values()
    assert whole > 0 and abs(sum(parts) - whole) < 0.001


def test_the_line_says_what_its_times_count(portrait, save):
    line = portrait("image", save("in.png", seen(ALPHA)), "out.png", *KEY).stdout.decode()
    assert re.search(r"\(cut out in [0-9.e+-]+ (us|ms|s), [0-9.e+-]+ (ms|s) in all\)\n$", line)


def test_pictures_lie_as_cameras_say(portrait, save, load):
    turned = np.rot90(seen(disc(180, 240, centre=(60, 60), radius=40)))  # what a camera held upright writes
    exif = Image.Exif()
    exif[0x0112] = 6  # turn clockwise to see it
    save("in.jpg", turned, exif=exif, quality=95)
    portrait("image", "in.jpg", "out.png", *KEY)
    out = load("out.png")
    assert out.shape == (180, 240, 4)
    assert out[60, 60, 3] == 255 and out[150, 200, 3] == 0


def test_colour_profiles_are_kept(portrait, save, tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    save("in.png", seen(ALPHA), icc_profile=profile, dpi=(300, 300))
    for out in ("out.png", "out.webp"):
        portrait("image", "in.png", out, *KEY)
        assert Image.open(tmp_path / out).info.get("icc_profile") == profile
    assert round(Image.open(tmp_path / "out.png").info["dpi"][0]) == 300


def test_kinds_of_picture(portrait, save, load, tmp_path):
    cmyk = Image.fromarray(seen(ALPHA)).convert("CMYK")
    cmyk.save(tmp_path / "cmyk.jpg", quality=95)
    portrait("image", "cmyk.jpg", "cmyk.png", "--key", "#28c83c")
    assert load("cmyk.png").shape == (180, 240, 4)
    deep = seen(ALPHA).astype(np.uint16) * 257
    Image.fromarray(deep[..., 0]).save(tmp_path / "deep.png")
    mask = save("mask.png", np.rint(ALPHA * 255).astype(np.uint8))
    done = portrait("image", "deep.png", "deep_out.png", "--mask", mask)
    assert b"converted from 16 to 8 bits per sample" in done.stdout
    assert (load("deep_out.png")[90, 120, :3] == seen(ALPHA)[90, 120, 0]).all()
    grey = save("grey.png", seen(ALPHA)[..., 0])
    portrait("image", grey, "grey_out.png", "--mask", mask)
    assert load("grey_out.png")[90, 120].tolist() == [90, 90, 90, 255]
    frames = [Image.fromarray(seen(ALPHA)), Image.fromarray(seen(ALPHA, person=(0, 0, 0)))]
    frames[0].save(tmp_path / "moving.webp", save_all=True, append_images=frames[1:], lossless=True)
    done = portrait("image", "moving.webp", "still.png", *KEY)
    assert b"the first of 2 images" in done.stdout
    assert load("still.png")[90, 120].tolist() == [*PERSON, 255]


def test_what_is_transparent_stays_so(portrait, save, load):
    rgba = np.dstack([seen(ALPHA), np.full((180, 240), 255, np.uint8)])
    rgba[:, :120, 3] = 0
    portrait("image", save("in.png", rgba), "out.png", *KEY)
    out = load("out.png")
    assert (out[:, :120, 3] == 0).all() and out[90, 130, 3] == 255
    rgba[:, :120, 3] = 51  # a fifth
    portrait("image", save("in.png", rgba), "white.png", *KEY, "--background", "white", "--keep-colours")
    out = load("white.png").astype(int)
    assert out[90, 130].tolist() == list(PERSON)
    assert np.abs(out[90, 110] - (0.8 * 255 + 0.2 * np.array(PERSON))).max() <= 1


def test_light_of_the_background_falls_on_the_edge(portrait, save, load):
    save("in.png", seen(ALPHA))
    portrait("image", "in.png", "plain.png", *KEY, "--background", "white")
    portrait("image", "in.png", "lit.png", *KEY, "--background", "white", "--light-wrap", "0.5")
    gain = load("lit.png").astype(int) - load("plain.png")
    assert gain.min() >= -1 and (gain[90, 120] == 0).all()
    assert (gain[90, 120 - 58 : 120 + 58].max(axis=1) > 20).any()


def test_extreme_sizes(portrait, save, load):
    portrait("image", save("one.png", np.full((1, 1, 3), 99, np.uint8)), "one_out.png", *KEY)
    assert load("one_out.png").tolist() == [[[99, 99, 99, 255]]]
    wide = seen(disc(40, 30000, radius=6000, soft=2)[:, :])
    portrait("image", save("wide.png", wide), "wide_out.png", *KEY)
    assert load("wide_out.png").shape == (40, 30000, 4)


def test_too_many_pixels_are_refused_before_they_are_decoded(refusal, tmp_path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0)
    (tmp_path / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b""))
                                        + chunk(b"IEND", b""))
    text = refusal("image", "huge.png", "out.png", *KEY)
    assert text == ("oriel-portrait image: huge.png: the image has 30000x30000 pixels, 900 million; "
                    "allowed: at most 200 million")


def test_no_person_is_said_so(portrait, refusal, save, load):
    save("in.png", seen(np.zeros((60, 80))))
    text = refusal("image", "in.png", "out.png", *KEY)
    assert text.startswith("oriel-portrait image: in.png: no person found: the most likely candidate covers 0 %")
    done = portrait("image", "in.png", "out.png", *KEY, "--no-person", "background", "--background", "red")
    assert b"no person found" in done.stdout
    assert (load("out.png") == (255, 0, 0)).all()
    portrait("image", "in.png", "keep.png", *KEY, "--no-person", "keep")
    assert (load("keep.png") == (*GREEN, 255)).all()


def test_bad_pictures_are_one_line_each(refusal, save, tmp_path):
    (tmp_path / "text.png").write_text("hello")
    assert "text.png: not an image that Oriel reads" in refusal("image", "text.png", "out.png", *KEY)
    (tmp_path / "empty.png").touch()
    assert "empty.png: the file is empty" in refusal("image", "empty.png", "out.png", *KEY)
    for name in ("in.png", "in.jpg", "in.webp"):
        save(name, np.random.default_rng(2).integers(0, 256, (90, 120, 3), dtype=np.uint8))
        whole = (tmp_path / name).read_bytes()
        (tmp_path / f"cut_{name}").write_bytes(whole[: len(whole) // 2])
        assert f"cut_{name}: cannot read the image" in refusal("image", f"cut_{name}", "out.png", *KEY)
    assert "none.png: cannot open: No such file" in refusal("image", "none.png", "out.png", *KEY)
    assert "cannot write here: No such file" in refusal("image", "in.png", "no/out.png", *KEY)


def test_bad_command_lines_are_one_line_each(refusal, save):
    save("in.png", seen(ALPHA))
    for arguments, text in [
        (("in.png", "out.jpg"), "out.jpg: JPEG holds no transparency; allowed: .png, .webp, .tif, or another --background"),
        (("in.png", "out.gif"), "out.gif: '.gif' is not an image extension; allowed: .png, .jpg, .webp, .tif"),
        (("in.png", "out.png", "--background", "#12"), "--background: '#12' is not a colour"),
        (("in.png", "out.png", "--low", "0.9"), "--high: 0.75 is out of range; allowed: from 0.9 to 1"),
        (("in.png", "out.png", "--light-wrap", "2"), "--light-wrap: 2 is out of range; allowed: from 0 to 1"),
        (("in.png", "out.png", "--feather", "-3"), "--feather: -3 is out of range; allowed: from 0 to 1000"),
        (("in.png", "out.png", "--mask", "m.png", "--key", "red"), "--mask excludes --key"),
        (("in.png", "out.png", "--trimap", "m.png", "--mask", "m.png"), "--mask excludes --trimap"),
        (("in.png", "out.png", "--trimap", "m.png", "--matte", "fast"), "--trimap: cannot be combined with --matte fast; allowed: --matte fine"),
        (("in.png", "out.png", "--matte", "rough"), "--matte: rough not in {fast,fine}"),
        (("in.png",), "OUT is required"),
    ]:
        said = refusal("image", *arguments, code=2)
        assert said.startswith("oriel-portrait image: ") and text in said, said
    assert "'cut' is not a subcommand; allowed: image, folder, pipe, video" in refusal("cut", code=2)
    assert "--background: nope.jpg: cannot open" in refusal("image", "in.png", "out.png", "--background", "nope.jpg", *KEY)


def strands(height, width):
    """The alpha of a disc with 60 strands, 1.5 pixels thin, around it."""
    y, x = np.mgrid[0:height, 0:width] + 0.5
    away, angle = np.hypot(y - height / 2, x - width / 2), np.arctan2(y - height / 2, x - width / 2) / (2 * np.pi) * 60
    beside = np.abs(angle - np.rint(angle)) / 60 * 2 * np.pi * away
    return np.maximum(disc(height, width, 60), np.where(away < 80, np.clip(1.25 - beside, 0, 1), 0))


def test_the_fine_matte_finds_strands_from_a_mask_and_all_from_a_trimap(portrait, save, load):
    alpha = strands(200, 240)
    save("in.png", seen(alpha))
    save("mask.png", np.asarray(Image.fromarray((alpha * 255).astype(np.uint8)).resize((80, 66), Image.BOX)))
    away = np.hypot(*(np.mgrid[0:200, 0:240] + 0.5 - np.array([100, 120])[:, None, None]))
    save("drawn.png", np.select([away < 56, away < 84], [255, 128], 0).astype(np.uint8))
    error = {}
    for name, options in {"fast": ["--mask", "mask.png", "--matte", "fast"], "fine": ["--mask", "mask.png", "--matte", "fine"],
                          "default": ["--mask", "mask.png"], "trimap": ["--trimap", "drawn.png"]}.items():
        portrait("image", "in.png", f"{name}.png", "--only-mask", *options)
        error[name] = np.abs(load(f"{name}.png") / 255 - alpha).mean()
    assert error["fine"] < 0.8 * error["fast"] and error["trimap"] < error["fast"] / 10, error
    assert error["default"] == error["fine"]
    assert (load("trimap.png")[away < 56] == 255).all() and (load("trimap.png")[away > 84] == 0).all()


def test_a_trimap_without_white_has_no_person(portrait, refusal, save):
    save("in.png", seen(ALPHA))
    save("grey.png", np.full((20, 20), 128, np.uint8))
    assert "in.png: no person found" in refusal("image", "in.png", "out.png", "--trimap", "grey.png")


def test_the_threads_change_no_byte(portrait, save, tmp_path):
    save("in.png", seen(disc(500, 700)))
    for threads in (1, 2, 5):  # the default matte is fine
        portrait("image", "in.png", f"{threads}.png", *KEY, "--threads", threads, "--feather", 2)
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes() == (tmp_path / "5.png").read_bytes()
