"""`oriel pyramid` that cannot do what is asked: one line, and what was there stays."""

import os
import signal
import subprocess
import time

import pytest
import zarr
from conftest import COMMAND
from pyramids import digest


def test_a_killed_run_leaves_the_old_store(oriel, tmp_path, volume):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    before = digest(tmp_path / "y.zarr")
    for delay in (0.01, 0.03, 0.06, 0.1):
        process = subprocess.Popen([COMMAND, "pyramid", "x.npy", "y.zarr", "--chunk", "4", "-q"], cwd=tmp_path)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break  # it was done before
        assert digest(tmp_path / "y.zarr") == before
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    assert digest(tmp_path / "y.zarr") == before
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.zarr"]  # what killed runs left is gone


def test_a_chunk_that_cannot_be_read_ends_the_call(oriel, refusal, tmp_path, volume):
    zarr.create_array(str(tmp_path / "x.zarr"), data=volume, chunks=(20, 30, 40))
    chunk = tmp_path / "x.zarr/c/1/1/1"
    chunk.write_bytes(chunk.read_bytes()[:50])
    assert "c/1/1/1" in refusal("pyramid", "x.zarr", "y.zarr", "-t", "2")
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
