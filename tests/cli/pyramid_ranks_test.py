"""`mpirun -n N oriel pyramid` whose ranks fail or die: one line, what was there stays, and nothing is left."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
import zarr
from conftest import COMMAND, ENVIRONMENT, MPIS, descendants
from pyramids import base_image, check, digest, wait_for


def begun(mpi, folder, *words, within=""):
    """A call on two ranks that has begun to write."""
    process = subprocess.Popen([*MPIS[mpi], "-n", "2", COMMAND, "pyramid", *words, "-q"], cwd=folder, env=ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    wait_for(lambda: list((folder / within).glob(".*.tmp")), process)
    return process


@pytest.fixture
def large(tmp_path):
    """A volume of which a pyramid of small chunks takes seconds."""
    x = np.random.default_rng(1).integers(0, 60000, (192, 192, 192)).astype("u2")
    np.save(tmp_path / "x.npy", x)
    return x


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_dies_leaves_what_was_there(mpi, oriel, tmp_path, large, rank):
    base_image(tmp_path / "i.zarr", large, "0.5")
    oriel("pyramid", "i.zarr", "--in-place", "--levels", "1")
    oriel("pyramid", "x.npy", "y.zarr", "--levels", "1")
    for words, output, within in ((["x.npy", "y.zarr"], "y.zarr", ""), (["i.zarr", "--in-place"], "i.zarr", "i.zarr")):
        before = digest(tmp_path / output)
        process = begun(mpi, tmp_path, *words, "--chunk", "8", within=within)
        time.sleep(0.1)
        assert process.poll() is None
        os.kill(descendants(process.pid, f"oriel-{mpi}")[rank], signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode != 0
        oriel("pyramid", *words, "--levels", "1")
        assert digest(tmp_path / output) == before or check(tmp_path, output, 0)["good"]
        assert not list((tmp_path / within).glob(".*"))
    assert sorted(os.listdir(tmp_path)) == ["i.zarr", "x.npy", "y.zarr"]


def test_a_rank_that_fails_ends_the_others_before_they_have_done_their_parts(mpi, oriel, tmp_path, large):
    zarr.create_array(str(tmp_path / "x.zarr"), data=large, chunks=(32, 32, 32))
    (tmp_path / "x.zarr/c/4/4/0").write_bytes(b"no chunk")  # what the second rank reads first
    process = begun(mpi, tmp_path, "x.zarr", "y.zarr", "--chunk", "8", "-t", "1", "--memory", "64MiB")
    most = 0
    while process.poll() is None:
        most = max(most, sum(len(files) for folder in tmp_path.glob(".*.tmp") for _, _, files in os.walk(folder)))
        time.sleep(0.005)
    lines = [line for line in process.communicate()[1].splitlines() if line.startswith("oriel")]
    assert process.returncode != 0 and len(lines) == 1 and lines[0].startswith("oriel pyramid: x.zarr/c/4/4/0"), lines
    assert most < 24**3 // 4  # the part of the first is half of that
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "x.zarr"]
