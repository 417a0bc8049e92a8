"""What oriel-portrait keeps, replaces and refuses (docs/files.md): outputs that are read, files with several pictures,
names that do things to a terminal."""

import json
import os
import shutil

import numpy as np
import pytest
from conftest import KEY, PERSON, disc, seen
from PIL import Image

ALPHA = disc(60, 80)
REPLACE = "or --replace-input if IN is no longer wanted"


@pytest.fixture
def several(tmp_path):
    """several.tif: three pictures, the person darker in each."""

    def write(name="several.tif"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        frames = [Image.fromarray(seen(ALPHA, person=(90 - 20 * i, 40, 60))) for i in range(3)]
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        return name

    return write


def test_a_picture_is_replaced_only_if_asked(portrait, refusal, save, load, tmp_path):
    save("in.png", seen(ALPHA))
    os.symlink("in.png", tmp_path / "soft.png")
    os.link(tmp_path / "in.png", tmp_path / "hard.png")
    before = (tmp_path / "in.png").read_bytes()
    for source, out in [("in.png", "in.png"), ("in.png", "./in.png"), ("in.png", "soft.png"), ("in.png", "hard.png"),
                        ("soft.png", "in.png"), ("in.png:1", "in.png")]:
        text = refusal("image", source, out, *KEY, code=2)
        assert text == f"oriel-portrait image: OUT: '{out}' is IN too; allowed: another file, {REPLACE}"
    assert (tmp_path / "in.png").read_bytes() == before
    portrait("image", "soft.png", "in.png", *KEY, "--replace-input")
    assert load("in.png").shape == (60, 80, 4)
    assert (tmp_path / "hard.png").read_bytes() == before  # its other name keeps what it was


def test_what_else_is_read_is_never_replaced(refusal, save, tmp_path):
    save("in.png", seen(ALPHA))
    save("beach.png", np.full((9, 9, 3), 200, np.uint8))
    save("mask.png", np.rint(ALPHA * 255).astype(np.uint8))
    (tmp_path / "net.png").write_bytes(b"weights")
    for options, word in [(["--background", "beach.png", *KEY], "beach.png' is the --background"),
                          (["--mask", "mask.png"], "mask.png' is the --mask"), (["--trimap", "mask.png"], "mask.png' is the --trimap"), (["--model", "net.png"], "net.png' is the --model")]:
        out = word.split("'")[0]
        for more in [[], ["--replace-input"]]:
            text = refusal("image", "in.png", out, *options, *more, code=2)
            assert text == f"oriel-portrait image: OUT: '{word} too; allowed: another file"
    assert (tmp_path / "net.png").read_bytes() == b"weights"


def test_a_folder_of_results_that_leads_back(portrait, save, tmp_path):
    save("in/a.png", seen(ALPHA))
    save("in/b.png", seen(ALPHA))
    (tmp_path / "out").mkdir()
    os.symlink("../in/a.png", tmp_path / "out/a.png")
    before = (tmp_path / "in/a.png").read_bytes()
    done = portrait("folder", "in", "out", *KEY, "--overwrite", code=1)
    assert done.stderr.decode() == "oriel-portrait folder: OUT: 'out/a.png' is IN too; allowed: another file, " + REPLACE + "\n"
    assert done.stdout == b"out: 1 written, 0 existed already, 0 without a person, 1 failed\n"
    assert (tmp_path / "in/a.png").read_bytes() == before


@pytest.mark.skipif(os.environ.get("ORIEL_PORTRAIT_VIDEOS") == "0" or not shutil.which("ffmpeg"),
                    reason="NOT TESTED: videos; this build has no FFmpeg, or there is no ffmpeg command")
def test_a_video_is_replaced_only_if_asked(portrait, refusal, tmp_path):
    from video_test import frames, make, read
    make(tmp_path / "in.mp4", frames(4))
    os.symlink("in.mp4", tmp_path / "soft.mp4")
    before = (tmp_path / "in.mp4").read_bytes()
    background = ["--background", "blue", *KEY]
    assert "OUT: 'soft.mp4' is IN too" in refusal("video", "in.mp4", "soft.mp4", *background, code=2)
    assert (tmp_path / "in.mp4").read_bytes() == before
    portrait("video", "in.mp4", "in.mp4", *background, "--replace-input")
    assert read(tmp_path / "in.mp4", (96, 128)).shape[0] == 4


@pytest.mark.parametrize("name", ["several.tif", "several.webp"])
def test_pictures_of_a_file(portrait, refusal, several, load, tmp_path, name):
    if name.endswith("webp"):
        frames = [Image.fromarray(seen(ALPHA, person=(90 - 20 * i, 40, 60))) for i in range(3)]
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:], lossless=True)
    else:
        several()
    note = f"the first of 3 images in the file was used ({name}:2 is the second)"
    assert portrait("image", name, "out.png", *KEY).stdout.decode().endswith(f"; {note}\n")
    assert json.loads(portrait("image", name, "out.png", *KEY, "--json").stdout)["notes"] == [note]
    assert portrait("image", name, "-", *KEY).stderr.decode() == f"oriel-portrait image: {name}; {note}\n"
    for page in [1, 2, 3]:
        done = portrait("image", f"{name}:{page}", "out.png", *KEY)
        assert b"images in the file" not in done.stdout
        assert load("out.png")[30, 40].tolist() == [PERSON[0] - 20 * (page - 1), 40, 60, 255]
    (tmp_path / "out.png").unlink()
    assert refusal("image", f"{name}:4", "out.png", *KEY).endswith(f"{name}: has no image 4; allowed: 1 to 3")


def test_pictures_of_the_background_and_the_mask(portrait, several, save, load, tmp_path):
    save("in.png", seen(ALPHA))
    several()
    done = portrait("image", "in.png", "out.png", *KEY, "--background", "several.tif", "--fit", "cover")
    assert b"; --background: the first of 3 images in the file was used (several.tif:2" in done.stdout
    done = portrait("image", "in.png", "out.png", *KEY, "--background", "several.tif:3")
    assert b"several" not in done.stdout.split(b"->")[1].split(b"(")[-1]
    assert b"--mask: the first of 3" in portrait("image", "in.png", "out.png", "--mask", "several.tif", "--no-person", "keep").stdout


def test_pictures_of_the_files_of_a_folder(portrait, several, save):
    several("in/a.tif")
    save("in/b.png", seen(ALPHA))
    done = portrait("folder", "in", "out", *KEY)
    assert done.stdout == (b"out: 2 written, 0 existed already, 0 without a person, 0 failed; "
                           b"1 had several images, of which the first was used\n")


def test_names_do_nothing_to_a_terminal(portrait, save, tmp_path):
    save("in\x1b[31m.png", seen(ALPHA))
    done = portrait("image", "in\x1b[31m.png", "out\n.png", *KEY)
    assert done.stdout.startswith(b"in?[31m.png: 80x60 -> out?.png: a person") and done.stdout.count(b"\n") == 1
    assert (tmp_path / "out\n.png").exists()
