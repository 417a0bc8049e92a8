"""`oriel pyramid` that cannot do what is asked, or is disturbed: one line, what was there stays, and nothing is left."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import zarr
from conftest import COMMAND
from pyramids import Paused, digest


def test_a_run_that_is_killed_at_any_time_leaves_the_old_store(oriel, tmp_path, volume):
    words = [COMMAND, "pyramid", "x.npy", "y.zarr", "--chunk", "6", "-q"]
    begin, killed = time.monotonic(), 0
    subprocess.run(words, cwd=tmp_path, check=True)
    lasts, after = time.monotonic() - begin, digest(tmp_path / "y.zarr")
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    before = digest(tmp_path / "y.zarr")
    for number in range(12):
        process = subprocess.Popen(words, cwd=tmp_path)
        time.sleep(random.Random(number).uniform(0, 1.2 * lasts))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() != 0
        found = digest(tmp_path / "y.zarr")
        assert found in (before, after)  # whole, the old one or the new one
        before = found
    assert killed > 2
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.zarr"]  # what killed runs left is gone


@pytest.fixture
def disk(tmp_path):
    """disk(options, words, before): runs the command in a small file system of its own, which has what `before` (shell) puts
    there. Returns the code, stderr, and the digests of all files afterwards."""

    def run(options, words, before="true"):
        (tmp_path / "disk").mkdir(exist_ok=True)
        script = (f"mount -t tmpfs -o {options} tmpfs disk || exit 99; cd disk; {before}; before=$(find . -type f | sort | xargs -r sha256sum);"
                  f'"$@"; code=$?; after=$(find . -type f | sort | xargs -r sha256sum); find . -mindepth 1; [ "$before" = "$after" ] && echo SAME; exit $code')
        as_root = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
        done = subprocess.run([*as_root, "sh", "-c", script, "sh", COMMAND, *words], cwd=tmp_path, capture_output=True, text=True,
                              timeout=120, env=dict(os.environ, LC_ALL="C.UTF-8"))  # fmt: skip
        if done.returncode == 99 or "unshare" in done.stderr:
            pytest.skip(f"NOT TESTED: a file system of its own cannot be mounted here: {done.stderr}")
        lines = done.stdout.split()
        return done.returncode, done.stderr, [line for line in lines if line != "SAME"], "SAME" in lines

    return run


FULL, FEW = "size=300k", "size=90%,nr_inodes="


@pytest.mark.parametrize(("options", "words"), [
    (FULL, ["y.zarr", "--chunk", "8"]), (FULL, ["y.zarr", "--chunk", "8", "--shard", "64"]), (FULL, ["y.precomputed", "--chunk", "8"]),
    (FEW + "60", ["y.zarr", "--chunk", "8", "--ome", "0.4"]), (FEW + "60", ["y.precomputed", "--chunk", "8"]),
    (FEW + "14", ["y.zarr", "--chunk", "8", "--shard", "64"]), (FEW + "3", ["y.zarr", "--chunk", "8"]),
])  # fmt: skip
def test_a_full_disk(disk, volume, options, words):
    code, text, left, _ = disk(options, ["pyramid", "../x.npy", *words, "-q"])
    assert (code, text, left) == (1, f"oriel pyramid: {words[0]}: cannot write: No space left on device\n", [])


def test_a_full_disk_while_levels_are_added(disk, oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "x.zarr", "--chunk", "32", "--levels", "1")
    for limit in "size=1100k", "size=90%,nr_inodes=120":
        code, text, left, same = disk(limit, ["pyramid", "y.zarr", "--in-place", "--factor", "1x1x2", "--chunk", "8", "-q"], "cp -r ../x.zarr y.zarr")
        assert (code, text) == (1, "oriel pyramid: y.zarr: cannot write: No space left on device\n")
        assert same and not [name for name in left if "/." in name.removeprefix(".")]


def test_folders_that_are_read_only(disk, oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "x.zarr", "--chunk", "32", "--levels", "1")
    read_only = "cp -r ../x.zarr y.zarr; mount -o remount,ro ."
    for words, name in ((["../x.npy", "z.zarr"], "z.zarr"), (["../x.npy", "y.zarr"], "y.zarr"), (["y.zarr", "--in-place"], "y.zarr/.levels"),
                        (["../x.npy", "z.precomputed"], "z.precomputed")):  # fmt: skip
        code, text, _, same = disk("size=90%", ["pyramid", *words], read_only)
        assert (code, text) == (1, f"oriel pyramid: {name}: cannot write here: Read-only file system\n") and same


def test_a_limit_of_the_size_of_files(tmp_path, volume):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    words = [COMMAND, "pyramid", "x.npy", "y.zarr", "--chunk", "16", "--shard", "64"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (1, "oriel pyramid: y.zarr: cannot write: File too large\n")
    assert os.listdir(tmp_path) == ["x.npy"]


def test_two_writers_of_one_output(oriel, tmp_path, volume):
    """It is whole all the time: that of either, and at the end nothing else is there."""
    wanted = set()
    for chunk in "6", "9", "16":
        oriel("pyramid", "x.npy", "y.zarr", "--chunk", chunk)
        wanted.add(digest(tmp_path / "y.zarr"))
    calls = [subprocess.Popen([COMMAND, "pyramid", "x.npy", "y.zarr", "--chunk", chunk, "-q"], cwd=tmp_path) for chunk in ("6", "9", "16")]
    assert [call.wait() for call in calls] == [0, 0, 0]
    assert digest(tmp_path / "y.zarr") in wanted and sorted(os.listdir(tmp_path)) == ["x.npy", "y.zarr"]


def test_a_folder_that_comes_meanwhile_is_not_replaced(tmp_path, volume):
    with Paused(tmp_path, "x.npy", "y.zarr", "--chunk", "6") as run:
        (tmp_path / "y.zarr").mkdir()
        (tmp_path / "y.zarr/file").write_text("mine")
    assert run.code == 1 and run.text == (
        "oriel pyramid: y.zarr: has been made by another program meanwhile, and is not an OME-Zarr image; it was not replaced\n")
    assert (tmp_path / "y.zarr/file").read_text() == "mine" and sorted(os.listdir(tmp_path)) == ["x.npy", "y.zarr"]


@pytest.mark.parametrize("kind", ["changed", "replaced", "removed"])
@pytest.mark.parametrize("source", ["x.npy", "x.zarr", "x.zarr/0", "x.precomputed"])
def test_an_input_that_changes_meanwhile(oriel, tmp_path, volume, source, kind):
    """A chunk that is gone looks like one that has the fill value, so what says what IN is is looked at again."""
    path = tmp_path / source.split("/")[0]
    if source != "x.npy":
        oriel("pyramid", "x.npy", path.name, "--chunk", "20", "--levels", "1")
    told = {"x.npy": path, "x.zarr": path / "zarr.json", "x.zarr/0": path / "0/zarr.json", "x.precomputed": path / "info"}[source]
    with Paused(tmp_path, source, "y.zarr", "--chunk", "6", "-t", "1") as run:
        if kind == "changed":
            os.utime(told)
        elif kind == "replaced":
            shutil.copy(told, tmp_path / "new")
            (tmp_path / "new").rename(told)
        else:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert run.code == 1 and run.text == f"oriel pyramid: {source}: has been changed or removed while it was read; nothing was written\n"
    assert "y.zarr" not in os.listdir(tmp_path) and not list(tmp_path.glob(".*"))


def test_an_input_that_becomes_shorter(oriel, tmp_path, volume):
    big = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "u2", (200, 200, 200))
    del big
    with Paused(tmp_path, "x.npy", "y.zarr", "--chunk", "8", "-t", "1") as run:
        os.truncate(tmp_path / "x.npy", 1000)
    assert run.code == 1 and run.text == "oriel pyramid: x.npy: the file became shorter while it was being read\n"
    assert os.listdir(tmp_path) == ["x.npy"]


def test_a_chunk_that_cannot_be_read_ends_the_call(oriel, refusal, tmp_path, volume):
    zarr.create_array(str(tmp_path / "x.zarr"), data=volume, chunks=(20, 30, 40))
    chunk = tmp_path / "x.zarr/c/1/1/1"
    chunk.write_bytes(chunk.read_bytes()[:50])
    assert "c/1/1/1" in refusal("pyramid", "x.zarr", "y.zarr", "-t", "2")
    assert not (tmp_path / "y.zarr").exists()


def test_chunks_that_cannot_be_opened_do_not_count_as_missing(refusal, tmp_path):
    """Not even if that is so of all chunks of a tile: a maximum of missing chunks is the fill value, without reading."""
    zarr.create_array(str(tmp_path / "x.zarr"), data=np.full((8, 8), 3, "u1"), chunks=(8, 8), fill_value=7)
    chunk = tmp_path / "x.zarr/c/0/0"
    chunk.unlink()
    chunk.symlink_to("0")  # to itself
    assert "c/0/0: cannot open: Too many levels" in refusal("pyramid", "x.zarr", "y.zarr", "--method", "max", "--levels", "1")
    chunk.unlink()
    chunk.mkdir()
    assert "c/0/0: a folder, a pipe or a device" in refusal("pyramid", "x.zarr", "y.zarr", "--method", "max", "--levels", "1")
    assert not (tmp_path / "y.zarr").exists()


@pytest.mark.parametrize(("words", "text"), [
    (["x.npy", "y.npy"], "OUT: 'y.npy'; allowed: a name that ends in .zarr, .precomputed"),
    (["x.png", "y.zarr"], "IN: 'x.png' cannot be read in parts; allowed: .npy, .zarr"),
])  # fmt: skip
def test_wrong_names(refusal, tmp_path, volume, words, text):
    assert text in refusal("pyramid", *words, code=2)


@pytest.mark.parametrize(("words", "text"), [
    (["--factor", "2x2"], "--factor: '2x2' has 2 numbers; allowed: 1, for the axes of space, or 3, one for each axis"),
    (["--factor", "0"], "--factor: must be >= 1, but is '0'"),
    (["--levels", "0"], "--levels: '0'; allowed: auto, 1 to 40"),
    (["--chunk", "128"], "--levels: IN, 70x81x67, fits into one chunk, 128x128x128; allowed: a number of levels, or smaller chunks"),
    (["--axes", "yx"], "--axes: 'yx' names 2 axes, but IN has 3; allowed: a letter for each, such as tczyx"),
    (["--axes", "xct"], "x.npy: axes x, c, t; allowed in OME-Zarr: 2 to 5 of different names, of time, channel and 2 or 3 of space, in this order"),
    (["--spacing", "1,2"], "--spacing: '1,2' has 2 numbers; allowed: 1, for the axes of space, or 3, one for each axis"),
    (["--spacing", "-1"], "--spacing: must be > 0, but has -1"),
    (["--labels", "--method", "mean"], "--labels: cannot be combined with --method mean; allowed: mode"),
    (["--ignore", "0"], "ignore"),
    (["--shard", "100"], "--shard: 100 along axis 0; allowed: multiples of the chunk's 64"),
    (["--memory", "1MiB"], "--memory: 1.05 MB is too little; allowed: more than"),
])  # fmt: skip
def test_wrong_options(oriel, tmp_path, volume, words, text):
    done = subprocess.run([COMMAND, "pyramid", "x.npy", "y.zarr", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (1, 2) and text in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert os.listdir(tmp_path) == ["x.npy"]


def test_a_store_that_holds_the_input_is_not_replaced(refusal, oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "16")
    assert "OUT: 'y.zarr' holds IN, 'y.zarr/0'" in refusal("pyramid", "y.zarr/0", "y.zarr", "--chunk", "8", code=2)
    (tmp_path / "z.zarr").mkdir()
    (tmp_path / "z.zarr/file").write_text("mine")
    assert "a folder that is not an OME-Zarr image" in refusal("pyramid", "x.npy", "z.zarr")


@pytest.mark.parametrize("damage", [
    '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.6", "multiscales": [{}]}}}',
    '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": 5}}}',
    '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "x"}]}]}}}',
    '{"attributes": {"ome": {"multiscales": []}}}',
    "[",
])  # fmt: skip
def test_damaged_metadata_are_named(refusal, oriel, tmp_path, volume, damage):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "16")
    (tmp_path / "y.zarr/zarr.json").write_text(damage)
    assert "y.zarr/zarr.json" in refusal("pyramid", "y.zarr", "z.zarr")
