"""oriel-portrait folder: resumed, each picture for itself."""

import json

import numpy as np
from conftest import KEY, disc, seen


def fill(save, count=5):
    for i in range(count):
        save(f"in/{i}.png", seen(disc(60, 80, radius=12 + i)))


def test_every_picture_gets_a_result(portrait, save, load):
    fill(save)
    done = portrait("folder", "in", "out", *KEY)
    assert done.stdout == b"out: 5 written, 0 existed already, 0 without a person, 0 failed\n"
    areas = [(load(f"out/{i}.png")[..., 3] > 127).sum() for i in range(5)]
    assert areas == sorted(areas) and areas[0] > 300


def test_it_goes_on_where_it_was(portrait, save, tmp_path):
    fill(save)
    portrait("folder", "in", "out", *KEY, "--quiet")
    (tmp_path / "out/3.png").unlink()
    (tmp_path / "out/1.png").write_bytes(b"mine")
    done = portrait("folder", "in", "out", *KEY)
    assert done.stdout == b"out: 1 written, 4 existed already, 0 without a person, 0 failed\n"
    assert (tmp_path / "out/1.png").read_bytes() == b"mine"
    portrait("folder", "in", "out", *KEY, "--overwrite")
    assert (tmp_path / "out/1.png").read_bytes() != b"mine"


def test_former_names_of_options_work_and_say_the_new_ones(portrait, save, tmp_path):
    fill(save, 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/0.png").write_bytes(b"mine")
    done = portrait("folder", "in", "out", *KEY, "--again", "--least-area", "0.001")
    assert (tmp_path / "out/0.png").read_bytes() != b"mine"
    lines = sorted(done.stderr.decode().splitlines())
    assert [line.split(": ", 1)[1] for line in lines] == [
        "--again is now called --overwrite; the next release will not accept the old name",
        "--least-area is now called --min-area; the next release will not accept the old name",
    ]
    assert "--again" not in portrait("folder", "--help").stdout.decode()


def test_a_bad_picture_stops_no_other(portrait, save, tmp_path):
    fill(save, 3)
    (tmp_path / "in/bad.jpg").write_bytes(b"nothing")
    save("in/nobody.png", seen(np.zeros((60, 80))))
    (tmp_path / "in/notes.txt").write_text("not a picture")
    done = portrait("folder", "in", "out", *KEY, "--json", code=1)
    said = {entry["in"]: entry for entry in map(json.loads, done.stdout.decode().splitlines())}
    assert len(said) == 5
    assert "not an image that Oriel reads" in said["in/bad.jpg"]["error"]
    assert "no person found" in said["in/nobody.png"]["error"] and not said["in/nobody.png"]["written"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["0.png", "1.png", "2.png"]
    done = portrait("folder", "in", "out", *KEY, code=1)
    assert done.stdout == b"out: 0 written, 3 existed already, 1 without a person, 1 failed\n"
    assert done.stderr.count(b"\n") == 2


def test_threads_change_no_byte(portrait, save, tmp_path):
    fill(save)
    for threads in (1, 4):
        portrait("folder", "in", f"out{threads}", *KEY, "--background", "blur", "--format", "jpg", "--threads", threads)
    for i in range(5):
        assert (tmp_path / f"out1/{i}.jpg").read_bytes() == (tmp_path / f"out4/{i}.jpg").read_bytes()


def test_bad_folders_are_one_line_each(refusal, portrait, save, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "out").mkdir()
    assert "empty: no image in the folder" in refusal("folder", "empty", "out", *KEY)
    assert "none: cannot read the folder: No such file" in refusal("folder", "none", "out", *KEY)
    save("in/a.png", seen(disc(20, 20)))
    assert "in: IN and OUT are the same folder" in refusal("folder", "in", "in", *KEY)
    save("in/a.jpg", seen(disc(20, 20)))
    assert "in/a.jpg and in/a.png would both become out/a.png" in refusal("folder", "in", "out", *KEY)
