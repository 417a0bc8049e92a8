"""`oriel pyramid --in-place`: levels that are added to an image, which keeps all else, whatever happens meanwhile."""

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
import zarr
from conftest import COMMAND
from pyramids import Paused, base_image, check, digest, mean_by, wait_for


@pytest.mark.parametrize(("version", "base", "added"), [("0.5", "0", ["1", "2"]), ("0.4", "a/s0", ["a/s1", "a/s2"])])
def test_levels_are_added_to_an_image(oriel, tmp_path, volume, version, base, added):
    base_image(tmp_path / "y.zarr", volume, version, base)
    zarr.consolidate_metadata(str(tmp_path / "y.zarr"))
    before = {p: p.read_bytes() for p in (tmp_path / "y.zarr" / base).rglob("*") if p.is_file()}
    text = oriel("pyramid", "y.zarr", "--in-place", "--levels", "2").stdout.decode()
    assert text.startswith("y.zarr: u16 70x81x67: 2 levels by mean added, the coarsest 35x21x17 (")
    group = zarr.open_group(str(tmp_path / "y.zarr"), mode="r")
    assert group.metadata.consolidated_metadata is None
    attributes = group.attrs if version == "0.4" else group.attrs["ome"]
    image = attributes["multiscales"][0]
    assert attributes["omero"] == {"id": 7} and image["name"] == "cells" and image["axes"][0]["unit"] == "micrometer"
    assert image["axes"][2]["longName"] == "along x" and image["datasets"][0]["stain"] == "DAPI"
    assert [one["path"] for one in image["datasets"]] == [base, *added]
    assert [[t[t["type"]] for t in one["coordinateTransformations"]] for one in image["datasets"]] == [
        [[1, 0.5, 0.5], [0, 0, 0]], [[1, 1, 1], [0, 0.25, 0.25]], [[2, 2, 2], [0.5, 0.75, 0.75]]]
    assert (group[added[0]][...] == mean_by(volume, (1, 2, 2))).all() and group[added[0]].chunks == (16, 20, 24)
    assert (group[added[1]][...] == mean_by(volume, (2, 4, 4))).all()
    assert all(path.read_bytes() == there for path, there in before.items())
    assert check(tmp_path, "y.zarr", 0)["good"]
    # Levels that are there are replaced by others.
    oriel("pyramid", "y.zarr", "--in-place", "--method", "max", "--factor", "3", "--levels", "1")
    found = check(tmp_path, "y.zarr", 0)["levels"]
    assert [one["method"] for one in found[1:]] == ["max of level 0"] and found[1]["factor"] == [3, 3, 3]
    folders = sorted(p.name for p in (tmp_path / "y.zarr" / base).parent.iterdir() if p.is_dir())
    assert folders == [base[-2:].lstrip("/"), f"{added[0].split('/')[-1]}-2"]


def test_adding_levels_fails_without_a_trace(oriel, refusal, tmp_path, volume):
    base_image(tmp_path / "y.zarr", volume, "0.5")
    array = tmp_path / "y.zarr/0/c/4/4/2"
    whole = array.read_bytes()
    array.write_bytes(whole[:50])
    before = digest(tmp_path / "y.zarr")
    assert "y.zarr/0/c/4/4/2" in refusal("pyramid", "y.zarr", "--in-place")
    assert digest(tmp_path / "y.zarr") == before
    array.write_bytes(whole)
    before = digest(tmp_path / "y.zarr")
    for delay in (0.01, 0.02, 0.03, 0.05):
        process = subprocess.Popen([COMMAND, "pyramid", "y.zarr", "--in-place", "--chunk", "2", "-q"], cwd=tmp_path)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break  # it was done before
        names = {str(p.relative_to(tmp_path / "y.zarr")) for p in (tmp_path / "y.zarr").iterdir()}
        assert {name for name in names if not name.startswith(".")} == {"0", "zarr.json"}
        assert check(tmp_path, "y.zarr", 0)["good"]
    else:
        oriel("pyramid", "y.zarr", "--in-place", "--chunk", "16")
    assert not [p for p in (tmp_path / "y.zarr").iterdir() if p.name.startswith(".")]
    assert "--in-place: 'x.npy' is not an OME-Zarr image" in refusal("pyramid", "x.npy", "--in-place")
    assert "--in-place: the levels are added to IN, but OUT is 'z.zarr'" in refusal("pyramid", "y.zarr", "z.zarr", "--in-place", code=2)
    base_image(tmp_path / "v4.zarr", volume, "0.4")
    assert "OME-Zarr 0.4, which has none" in refusal("pyramid", "v4.zarr", "--in-place", "--shard", "64", "--chunk", "16")


@pytest.fixture
def image(tmp_path, volume):
    base_image(tmp_path / "y.zarr", volume, "0.5")
    return tmp_path / "y.zarr"


def paths(image):
    """Of all levels above level 0 that the metadata name."""
    ome = json.loads((image / "zarr.json").read_text())["attributes"]["ome"]
    return [one["path"] for one in ome["multiscales"][0]["datasets"][1:]]


def is_tidy(image, *others):
    """Whether each folder is one that the metadata name."""
    marks = [p for p in image.rglob(".*") if p.name != ".zattrs"]
    return marks == [] and sorted(p.name for p in image.iterdir()) == sorted(["0", "zarr.json", *paths(image), *others])


WORDS = ["y.zarr", "--in-place", "--chunk", "8", "--levels", "4"]
WAITING = "..levels."  # what folders begin with in which levels wait


def test_a_run_that_is_killed_at_any_time_leaves_the_image_whole(oriel, tmp_path, image):
    begin = time.monotonic()
    oriel("pyramid", *WORDS, "-q")
    lasts, killed = time.monotonic() - begin, 0
    for number in range(12):
        process = subprocess.Popen([COMMAND, "pyramid", *WORDS, "-q"], cwd=tmp_path)
        time.sleep(random.Random(number).uniform(0, 1.2 * lasts))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() != 0
        assert check(tmp_path, "y.zarr", 0)["good"] and len(paths(image)) == 4
    assert killed > 2
    oriel("pyramid", *WORDS)
    assert check(tmp_path, "y.zarr", 0)["good"] and is_tidy(image)


def stopped_at(call, number, folder, action="signal=KILL"):
    """Runs under strace, which does something as the command makes a system call for the nth time."""
    if shutil.which("strace") is None:
        pytest.skip("NOT TESTED: there is no strace")
    words = ["strace", "-f", "-qq", "-e", f"trace={call}", "-e", f"inject={call}:{action}:when={number}", COMMAND, "pyramid", *WORDS, "-q"]
    process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
    if action.startswith("signal"):
        text = process.communicate(timeout=60)[1]
        if "ptrace" in text:
            pytest.skip(f"NOT TESTED: strace cannot trace here: {text}")
    return process


@pytest.mark.parametrize(("call", "number"), [*(("renameat2", number) for number in range(1, 6)), *(("rename", number) for number in range(1, 4)),
                                              ("unlink", 1), ("unlinkat", 1)])  # fmt: skip
def test_a_run_that_is_killed_while_it_gives_names_leaves_no_folder(oriel, tmp_path, image, call, number):
    """Levels come, metadata change, levels go: whatever is half done is removed by the next run, and nothing else."""
    oriel("pyramid", *WORDS[:-1], "3")
    (image / "9").mkdir()  # of somebody else, as the next one
    (image / "notes").mkdir()
    (image / "notes/file").write_text("mine")
    before = paths(image)
    stopped_at(call, number, tmp_path)
    assert check(tmp_path, "y.zarr", 0)["good"]
    assert len(paths(image)) == (4 if paths(image) != before else 3)
    assert [name for name in os.listdir(image) if name.startswith(WAITING)]  # it was killed
    assert "4 levels" in oriel("pyramid", *WORDS).stdout.decode()
    assert check(tmp_path, "y.zarr", 0)["good"] and is_tidy(image, "9", "notes")
    assert (image / "notes/file").read_text() == "mine"


@pytest.fixture
def late(tmp_path, image):
    """late(change): what a run says for which the image changes right before it gives names."""

    def run(change):
        lock = os.open(image / ".levels.lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen([COMMAND, "pyramid", *WORDS, "-q"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: list(image.glob(f"{WAITING}*.tmp/zarr.json")), process)
        time.sleep(0.05)
        assert process.poll() is None  # it waits for the lock
        change()
        os.close(lock)
        text = process.communicate(timeout=60)[1]
        return process.returncode, text

    return run


CHANGED = "oriel pyramid: y.zarr: its metadata have been changed by another program; nothing was added\n"


def test_a_level_that_another_program_adds_is_not_replaced(late, image):
    def change():
        (image / "2").mkdir()

    before = digest(image)
    assert late(change) == (1, "oriel pyramid: y.zarr: y.zarr/2 has been made by another program; nothing was added\n")
    assert digest(image) == before and is_tidy(image, "2")


def test_metadata_that_another_program_changes_stay(late, image):
    text = (image / "zarr.json").read_text() + " "
    assert late(lambda: (image / "zarr.json").write_text(text)) == (1, CHANGED)
    assert (image / "zarr.json").read_text() == text and is_tidy(image)


def test_metadata_that_change_at_the_last_moment_stay(tmp_path, image):
    """By a program that takes no lock: right before the new ones get their name."""
    process = stopped_at("renameat2", 5, tmp_path, "delay_enter=1s")
    wait_for(lambda: (image / "4").exists(), process)
    text = (image / "zarr.json").read_text() + " "
    (image / "zarr.json").write_text(text)
    said = process.communicate(timeout=60)[1]
    if process.returncode != 1 and "ptrace" in said:
        pytest.skip(f"NOT TESTED: strace cannot trace here: {said}")
    assert process.returncode == 1 and CHANGED in said
    assert (image / "zarr.json").read_text() == text and is_tidy(image)


def test_several_programs_add_levels_at_once(tmp_path, image):
    """Each adds all of its own, or none and says so."""
    methods = ["mean", "max", "min", "first", "median"]
    calls = [subprocess.Popen([COMMAND, "pyramid", *WORDS, "--method", method, "-q"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
             for method in methods]  # fmt: skip
    said = [call.communicate(timeout=60)[1] for call in calls]
    added = [method for method, text in zip(methods, said) if text == ""]
    assert added
    for text in said:
        assert text in ("", CHANGED) or text.endswith(" has been made by another program; nothing was added\n"), said
    found = check(tmp_path, "y.zarr", 0)["levels"]
    assert {one["method"].split(" ")[0] for one in found[1:]} <= set(added) and len({one["method"] for one in found[1:]}) == 1
    assert is_tidy(image)


def test_an_image_that_is_replaced_while_levels_are_added(oriel, tmp_path, image):
    oriel("pyramid", "x.npy", "z.zarr", "--levels", "1")
    wanted = digest(tmp_path / "z.zarr")
    with Paused(tmp_path, *WORDS, within="y.zarr") as run:
        (tmp_path / "y.zarr").rename(tmp_path / "old.zarr")
        (tmp_path / "z.zarr").rename(tmp_path / "y.zarr")
    assert run.code == 1 and run.text.count("\n") == 1
    assert digest(tmp_path / "y.zarr") == wanted and is_tidy(image)
