"""`mpirun -n N oriel pool` and `oriel pyramid` on each MPI that is there: the bytes of the files are those that one process writes."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from conftest import COMMAND, ENVIRONMENT, MPIS, descendants


@pytest.fixture
def volume(tmp_path):
    x = np.random.default_rng(3).standard_normal((41, 50, 60)).astype("f4")
    x[7, 8, 9] = np.nan
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("data", data=x, chunks=(8, 16, 16), compression="gzip").attrs["units"] = "mm"
    np.save(tmp_path / "x.npy", x)
    return x


@pytest.mark.parametrize("number", [1, 2, 4, 7])
def test_the_same_bytes_on_any_number_of_ranks(oriel, ranks, volume, tmp_path, number):
    for source, out, *options in [
        ["x.h5:/data", "y.h5:/pooled", "--op", "avg", "--kernel", "2x2x2"],
        ["x.npy", "y.npy", "--op", "max", "--kernel", "3x3x3", "--stride", "2", "--padding", "1", "--ceil"],
    ]:
        oriel("pool", source, out, *options)
        file = tmp_path / out.split(":")[0]
        wanted = file.read_bytes()
        file.unlink()
        report = json.loads(ranks(number, "pool", source, out, *options, "--json").stdout)
        if number > 1:
            assert report["ranks"] == number and report["blocks"] >= number
        assert file.read_bytes() == wanted


@pytest.mark.parametrize("number", [2, 3])
def test_zarr(oriel, ranks, volume, tmp_path, number):
    """Each file of the folder: chunks that several ranks write are put together by the first."""
    for options in [["--op", "avg", "--kernel", "2"], ["--op", "max", "--kernel", "3", "--stride", "1", "--padding", "1"]]:
        oriel("pool", "x.h5:/data", "wanted.zarr", *options)
        ranks(number, "pool", "x.h5:/data", "y.zarr", *options)
        ranks(number, "pool", "wanted.zarr", "z.zarr", "--op", "max", "--kernel", "1")
        wanted = files_of(tmp_path / "wanted.zarr")
        assert len(wanted) > 1
        assert files_of(tmp_path / "y.zarr") == wanted
        oriel("pool", "wanted.zarr", "w.npy", "--op", "max", "--kernel", "1")
        oriel("pool", "z.zarr", "z.npy", "--op", "max", "--kernel", "1")
        assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "w.npy").read_bytes()


@pytest.mark.parametrize("number", [2, 4])
def test_pyramids(oriel, ranks, volume, tmp_path, number):
    """Chunks and shards that several ranks make parts of are put together by the first, whatever the bound of memory."""
    x = np.load(tmp_path / "x.npy")
    x[20:35] = 0  # chunks of zeros are left out
    np.save(tmp_path / "x.npy", x)
    for options in [["--chunk", "16"], ["--chunk", "9x20x7", "--method", "max", "--origin", "3x1x2"],
                    ["--chunk", "8", "--shard", "24x32x16"], ["--chunk", "16", "--ome", "0.4", "--levels", "2"],
                    ["--chunk", "4", "--method", "mode", "--factor", "2,3"]]:
        oriel("pyramid", "x.npy", "y.zarr", *options)
        wanted = files_of(tmp_path / "y.zarr")
        memory = "64MiB" if number == 4 else "1GiB"
        report = json.loads(ranks(number, "pyramid", "x.npy", "y.zarr", *options, "--json", "--memory", memory).stdout)
        assert report["ranks"] == number
        assert files_of(tmp_path / "y.zarr") == wanted
    assert sorted(os.listdir(tmp_path)) == ["x.h5", "x.npy", "y.zarr"]


@pytest.mark.parametrize("shard", [[], ["--shard", "24x32x16"]])
def test_a_fill_value_that_is_not_zero(oriel, ranks, tmp_path, shard):
    """Chunks that come in parts have it too where the volume ends."""
    x = np.full((41, 50, 60), 7, "u2")
    x[:9, :9, :9] = 1
    zarr.create_array(str(tmp_path / "x.zarr"), data=x, chunks=(16, 16, 16), fill_value=7)
    words = ["pyramid", "x.zarr", "y.zarr", "--chunk", "8", "--levels", "3", *shard]
    oriel(*words)
    wanted = files_of(tmp_path / "y.zarr")
    ranks(3, *words, "--memory", "64MiB")
    assert files_of(tmp_path / "y.zarr") == wanted


def test_the_sheet_of_a_pyramid_by_ranks_is_that_of_one_process(oriel, ranks, volume, tmp_path):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8", "--sheet", "wanted.png")
    ranks(2, "pyramid", "x.npy", "y.zarr", "--chunk", "8", "--sheet", "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes() == (tmp_path / "wanted.png").read_bytes()
    error = ranks(2, "pyramid", "x.npy", "y.zarr", "--chunk", "8", "--sheet", "sheet.jpg", code=2).stderr.decode()
    assert error.startswith("oriel pyramid: --sheet: 'sheet.jpg'; allowed: a name that ends in .png")


def test_pyramids_as_precomputed_volumes(oriel, ranks, volume, tmp_path):
    for options in [["--chunk", "16"], ["--chunk", "9x20x7", "--method", "max", "--translation", "3,-1,2", "--factor", "2,2"]]:
        oriel("pyramid", "x.npy", "y.precomputed", *options)
        wanted = files_of(tmp_path / "y.precomputed")
        ranks(3, "pyramid", "x.npy", "y.precomputed", *options)
        assert files_of(tmp_path / "y.precomputed") == wanted and len(wanted) > 9


def test_pyramids_as_tiff(oriel, ranks, volume, tmp_path):
    x = np.random.default_rng(0).integers(0, 250, (3, 150, 190)).astype("u2")
    np.save(tmp_path / "x.npy", x)
    for out, axes in [("y.tif", "cyx"), ("y.ome.tif", "zyx")]:
        options = ["--axes", axes, "--chunk", "1x16x32", "--factor", "1x2x2", "--levels", "3", "--spacing", "2", "--unit", "meter"]
        oriel("pyramid", "x.npy", out, *options)
        wanted = (tmp_path / out).read_bytes()
        for number in (2, 3):
            ranks(number, "pyramid", "x.npy", out, *options, "--memory", "64MiB")
            assert (tmp_path / out).read_bytes() == wanted
    assert sorted(os.listdir(tmp_path)) == ["x.h5", "x.npy", "y.ome.tif", "y.tif"]


def test_pyramids_as_hdf5(oriel, ranks, volume, tmp_path):
    options = ["--chunk", "9x16x7", "--factor", "2", "--levels", "2"]
    oriel("pyramid", "x.h5:/data", "wanted.h5", *options)
    ranks(3, "pyramid", "x.h5:/data", "y.h5", *options, "--memory", "64MiB")
    assert (tmp_path / "y.h5").read_bytes() == (tmp_path / "wanted.h5").read_bytes()


def test_one_rank_checks(oriel, ranks, volume):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    said = ranks(3, "pyramid", "--check", "y.zarr").stdout.decode()
    assert said == oriel("pyramid", "--check", "y.zarr").stdout.decode()


def test_a_pyramid_that_a_rank_cannot_read_fails_once(oriel, ranks, volume, tmp_path):
    oriel("pyramid", "x.npy", "y.zarr", "--chunk", "8")
    oriel("pyramid", "x.npy", "z.zarr", "--chunk", "8")
    damaged = sorted((tmp_path / "y.zarr/0/c").rglob("*/*/*"))[-1]
    damaged.write_bytes(b"no chunk")
    before = files_of(tmp_path / "z.zarr")
    done = ranks(2, "pyramid", "y.zarr", "z.zarr", "--chunk", "8", "--memory", "64MiB", code=1)
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("oriel")]
    assert len(lines) == 1 and lines[0].startswith("oriel pyramid: y.zarr/0/c/"), lines
    assert files_of(tmp_path / "z.zarr") == before
    assert "oriel pyramid: OUT: 'z.tar'" in ranks(2, "pyramid", "x.npy", "z.tar", code=2).stderr.decode()


@pytest.mark.parametrize("number", [2, 3])
def test_precomputed(oriel, ranks, volume, tmp_path, number):
    for options in [["--op", "max", "--kernel", "2"], ["--op", "max", "--kernel", "3", "--stride", "1", "--padding", "1"]]:
        oriel("pool", "x.h5:/data", "wanted.precomputed", *options)
        ranks(number, "pool", "x.h5:/data", "y.precomputed", *options)
        ranks(number, "pool", "wanted.precomputed", "z.precomputed", "--op", "max", "--kernel", "1")
        wanted = files_of(tmp_path / "wanted.precomputed")
        assert len(wanted) > 1
        assert files_of(tmp_path / "y.precomputed") == wanted
        oriel("pool", "wanted.precomputed", "w.npy", "--op", "max", "--kernel", "1")
        oriel("pool", "z.precomputed", "z.npy", "--op", "max", "--kernel", "1")
        assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "w.npy").read_bytes()


@pytest.mark.parametrize("number", [2, 3])
def test_codecs(oriel, ranks, volume, tmp_path, number):
    """An HDF5 file whose chunks are compressed has the bytes that one process writes, as a Zarr array."""
    options = ["--op", "max", "--kernel", "3", "--stride", "1", "--padding", "1", "--codec", "gzip:1"]
    for out in ["y.h5:/a/y", "y.zarr"]:
        oriel("pool", "x.h5:/data", "wanted" + out[1:], *options)
        ranks(number, "pool", "x.h5:/data", out, *options)
    assert (tmp_path / "y.h5").read_bytes() == (tmp_path / "wanted.h5").read_bytes()
    assert files_of(tmp_path / "y.zarr") == files_of(tmp_path / "wanted.zarr")
    with h5py.File(tmp_path / "y.h5") as file:
        assert file["a/y"].compression == "gzip" and file["a/y"].shape == volume.shape


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_masks_and_weights(oriel, ranks, volume, tmp_path):
    """Read block by block by each rank, from other files than IN; results of another dtype."""
    random = np.random.default_rng(4)
    mask, weights = random.random(volume.shape) > 0.3, random.integers(0, 5, (1, *volume.shape[1:])).astype("f8")
    np.save(tmp_path / "m.npy", mask)
    np.save(tmp_path / "w.npy", weights)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("m", data=mask, chunks=(8, 16, 16), compression="gzip")
        file["w"] = weights
    for options in [
        ["--op", "median", "-k", "3x3x3", "-s", "1", "-p", "1", "--mask", "{m}", "--indices", "i.npy"],
        ["--op", "var", "-k", "3x3", "--axes", "1,2", "--mask", "{m}", "--weights", "{w}"],
        ["--op", "count", "-k", "2x2x2", "--mask", "{m}", "--result-dtype", "u8"],
    ]:
        wanted = None
        for number, source, names in [(1, "x.npy", {"m": "m.npy", "w": "w.npy"}),
                                      (3, "x.h5:/data", {"m": "b.h5:/m", "w": "b.h5:/w"}),
                                      (3, "x.npy", {"m": "b.h5:/m", "w": "w.npy"})]:
            words = ["pool", source, "y.npy", *[word.format(**names) for word in options]]
            oriel(*words) if number == 1 else ranks(number, *words)
            made = [(tmp_path / name).read_bytes() for name in ("y.npy", "i.npy") if (tmp_path / name).exists()]
            wanted = wanted or made
            assert made == wanted
            (tmp_path / "y.npy").unlink()
    bad = weights.copy()
    bad[0, 5, 6] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    said = ranks(3, "pool", "x.npy", "y.npy", "--op", "avg", "-k", "3x3", "--axes", "1,2", "--weights", "bad.npy", code=1).stderr
    assert b"oriel pool: --weights: bad.npy must be finite, but that at (0, 5, 6) is not\n" in said
    said = ranks(3, "pool", "x.npy", "y.npy", "-k", "3x3", "--axes", "1,2", "--mask", "m.png", code=1).stderr
    assert b"--mask: 'm.png' cannot be read in parts, as mpirun needs; allowed: .npy, .zarr, " in said
    assert not (tmp_path / "y.npy").exists()


def test_more_ranks_than_planes(oriel, ranks, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(1).standard_normal((2, 3, 40)).astype("f4"))
    oriel("pool", "x.npy", "wanted.npy", "-k", 2, "--axes", "2", "--indices", "wanted_i.npy")
    ranks(7, "pool", "x.npy", "y.h5:/y", "-k", 2, "--axes", "2", "--indices", "i.npy")
    with h5py.File(tmp_path / "y.h5") as file:
        np.testing.assert_array_equal(file["y"], np.load(tmp_path / "wanted.npy"))
    assert (tmp_path / "i.npy").read_bytes() == (tmp_path / "wanted_i.npy").read_bytes()


def test_other_datasets_stay(ranks, volume, tmp_path):
    ranks(3, "pool", "x.h5:/data", "x.h5:/small/data", "-k", "2x2x2", "--op", "avg")
    with h5py.File(tmp_path / "x.h5") as file:
        np.testing.assert_array_equal(file["data"], volume)
        assert file["small/data"].attrs["units"] == "mm"


def test_result_and_indices_in_one_file(oriel, ranks, volume, tmp_path):
    options = ["--kernel", "3x3x3", "--stride", "2", "--indices"]
    oriel("pool", "x.h5:/data", "y.h5:/y", *options, "y.h5:/i")
    wanted = (tmp_path / "y.h5").read_bytes()
    (tmp_path / "y.h5").unlink()
    ranks(3, "pool", "x.h5:/data", "y.h5:/y", *options, "./y.h5:/i")
    assert (tmp_path / "y.h5").read_bytes() == wanted
    with h5py.File(tmp_path / "y.h5") as file:
        np.testing.assert_array_equal(np.isnan(file["y"]), np.isnan(volume.reshape(-1)[file["i"]]))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.h5", "x.npy", "y.h5"]


def test_several_calls_of_ranks_lose_nothing(mpi, volume, tmp_path):
    calls = [subprocess.Popen([*MPIS[mpi], "-n", "2", COMMAND, "pool", "x.h5:/data", f"y.h5:/d{i}", "-k", "2x2x2", "-q"],
                              cwd=tmp_path, env=ENVIRONMENT) for i in range(3)]
    assert [call.wait(timeout=120) for call in calls] == [0, 0, 0]
    with h5py.File(tmp_path / "y.h5") as file:
        assert sorted(file) == ["d0", "d1", "d2"]
        np.testing.assert_array_equal(file["d0"], file["d2"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.h5", "x.npy", "y.h5"]


def test_waiting_for_another_writer_is_not_hanging(mpi, volume, tmp_path):
    lock = os.open(tmp_path / ".y.h5.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    call = subprocess.Popen([*MPIS[mpi], "-n", "2", COMMAND, "pool", "x.h5:/data", "y.h5:/d", "-k", "2x2x2", "-q",
                             "--deadline", "3s"], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE)
    time.sleep(8)
    running = call.poll() is None
    os.close(lock)
    assert running and call.wait(timeout=120) == 0, call.stderr.read()
    with h5py.File(tmp_path / "y.h5") as file:
        assert list(file) == ["d"]


@pytest.mark.parametrize("code, arguments, wanted", [
    (2, ["x.npy", "./x.npy", "-k", 2], "oriel pool: OUT: './x.npy' is IN too; allowed: another file, or --replace-input"),
    (2, ["x.h5", "x.h5:/data", "-k", 2], "oriel pool: OUT: 'x.h5:/data' is IN too; allowed: another file, another name in it"),
    (2, ["x.npy", "y.npy", "-k", 2, "--indices", "./y.npy"], "oriel pool: --indices: './y.npy' is OUT too; allowed: another"),
    (1, ["x.h5:/dta", "y.h5:/y", "-k", 2], "oriel pool: x.h5: has no dataset '/dta'; allowed: /data"),
    (2, ["x.h5:/data", "y.h5:/y", "-k", "2x2x2x2"], "oriel pool: x.h5:/data: "),
    (2, ["x.h5:/data", "y.h5:/y"], "oriel pool: --kernel: is required (e.g. 2 or 3x3) unless --output-size, --global or --footprint is given"),
    (1, ["x.h5:/data", "none/y.h5:/y", "-k", 2], "oriel pool: none/y.h5: cannot write here: No such file or directory"),
    (1, ["x.h5:/data", "y.h5:/y", "-k", 2, "--memory", "5MiB"], "oriel pool: --memory: 5 MiB do not suffice: "),
    (2, ["x.npz", "y.npy", "-k", 2], "oriel pool: IN: 'x.npz' cannot be read in parts"),
])
def test_one_line_for_all_ranks(ranks, volume, tmp_path, code, arguments, wanted):
    before = sorted(p.name for p in tmp_path.iterdir())
    text = ranks(3, "pool", *arguments, code=code).stderr.decode()
    assert text.count("oriel pool: ") == 1 and wanted in text  # mpirun adds words of its own
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_failure_of_one_rank_ends_all(ranks, tmp_path):
    """The last rank may write files of 32 MiB only, and its part lies behind that."""
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f4", (256, 256, 256))
    command = tmp_path / "limited.sh"
    command.write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 2 ] && ulimit -f 65536\n'
                       f'exec {COMMAND} "$@"\n')
    command.chmod(0o755)
    text = ranks(3, "pool", "x.npy", "y.npy", "-k", "1x1x1", code=1, command=command).stderr.decode()
    assert text.count("oriel pool: ") == 1 and "oriel pool: y.npy: cannot write: File too large" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["limited.sh", "x.npy"]


def test_a_killed_rank_leaves_what_was_there(mpi, tmp_path):
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f4", (256, 512, 512))
    (tmp_path / "y.npy").write_bytes(b"before")
    words = [*MPIS[mpi], "-n", "2", COMMAND, "pool", "x.npy", "y.npy", "--indices", "i.npy", "-k", "9x9x9", "-s", "1",
             "--memory", "80MiB"]
    process = subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".y.npy.*.tmp")) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert process.poll() is None
    os.kill(descendants(process.pid, f"oriel-{mpi}")[-1], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert (tmp_path / "y.npy").read_bytes() == b"before"


def test_progress(ranks, volume):
    text = ranks(2, "pool", "x.npy", "y.npy", "-k", "2x2x2", "--progress").stderr.decode()
    assert "oriel pool: " in text and "Traceback" not in text


def test_a_build_without_the_programs_for_ranks(ranks, volume, tmp_path):
    alone = tmp_path / "bin" / "oriel"
    alone.parent.mkdir()
    shutil.copy(COMMAND, alone)
    text = ranks(2, "pool", "x.npy", "y.npy", "-k", 2, code=2, command=alone).stderr.decode()
    assert text.count("oriel pool: mpirun of ") == 1 and "started 2 ranks, but " in text and "ORIEL_MPI=none" in text
    assert not (tmp_path / "y.npy").exists()


def test_other_subcommands_are_not_divided(ranks):
    assert ranks(2, "info", "--json").stdout.count(b'"version"') == 2


class Ranks:
    """A call on three ranks in many small blocks (with indices: it lasts seconds), and its processes by their ranks."""

    def __init__(self, mpi, folder, *options, planes=256):
        np.lib.format.open_memmap(folder / "x.npy", "w+", "f4", (planes, 512, 512))
        (folder / "y.npy").write_bytes(b"before")
        words = [*MPIS[mpi], "-n", "3", COMMAND, "pool", "x.npy", "y.npy", "--indices", "i.npy", "-k", "9x9x9", "-s", "1",
                 "--memory", "60MiB", *options]
        self.process = subprocess.Popen(words, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not list(folder.glob(".y.npy.*.tmp")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        assert self.process.poll() is None
        self.pids = {self.rank_of(pid): pid for pid in descendants(self.process.pid, f"oriel-{mpi}")}
        assert sorted(self.pids) == [0, 1, 2]

    @staticmethod
    def rank_of(pid):
        words = dict(word.split("=", 1) for word in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in word)
        return int(words.get("OMPI_COMM_WORLD_RANK", words.get("PMI_RANK")))

    def send(self, number, *ranks):
        for rank in ranks:
            os.kill(self.pids[rank], number)

    def end(self):
        text = self.process.communicate(timeout=100)[1].decode()
        deadline = time.monotonic() + 60
        while left := [pid for pid in self.pids.values() if self.runs(pid)]:  # mpirun ends them all
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
        return text

    @staticmethod
    def runs(pid):
        try:
            return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False


@pytest.mark.parametrize("stopped", [0, 2])
def test_a_stopped_rank_ends_all_at_the_deadline(mpi, tmp_path, stopped):
    ranks = Ranks(mpi, tmp_path, "--deadline", "4s")
    ranks.send(signal.SIGSTOP, stopped)
    text = ranks.end()
    assert ranks.process.returncode != 0
    named = rf"oriel pool: rank {stopped} has not responded for [4-9][0-9.]* s: stopped, hanging or slower than --deadline 4s"
    within = r"oriel pool: a rank makes no progress while .*: it is stopped or hangs \(see --deadline\)"  # in a call that all are in
    assert re.search(f"{named}|{within}", text), text
    assert (tmp_path / "y.npy").read_bytes() == b"before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "y.npy"]


def test_the_deadline_is_for_a_step_and_not_for_the_whole(mpi, tmp_path):
    """Four times a rank is late by less than the deadline, by more in all; and all are stopped for longer than it."""
    for planes in [256, 512, 1024, 2048]:  # until the work outlasts the disturbances, however fast the machine is
        ranks = Ranks(mpi, tmp_path, "--deadline", "6s", "--json", planes=planes)
        for _ in range(4):
            if ranks.process.poll() is None:
                ranks.send(signal.SIGSTOP, 1)
                time.sleep(2)
                ranks.send(signal.SIGCONT, 1)
                time.sleep(0.02)
        if ranks.process.poll() is None:
            break
        ranks.process.communicate(timeout=100)
    assert ranks.process.poll() is None, "it was over before it could be disturbed"
    ranks.send(signal.SIGSTOP, 0, 1, 2)
    time.sleep(8)
    ranks.send(signal.SIGCONT, 0, 1, 2)
    out, text = ranks.process.communicate(timeout=100)
    assert ranks.process.returncode == 0, text
    assert json.loads(out)["seconds"]["all"] > 14


def under_slurm(tmp_path, rank, **more):
    """oriel pool as task `rank` of two that srun started."""
    slurm = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": str(rank)}
    return subprocess.run([COMMAND, "pool", "x.npy", "y.npy", "-k", "2"], cwd=tmp_path, capture_output=True, env={**ENVIRONMENT, **slurm, **more}, timeout=120)


def test_tasks_that_slurm_started_without_an_mpi_are_refused(volume, tmp_path):
    """Otherwise each task would pool the whole volume and write the same file."""
    first, second = under_slurm(tmp_path, 0), under_slurm(tmp_path, 1)
    assert first.returncode == 2 and first.stderr.startswith(b"oriel pool: SLURM started 2 tasks, but sets neither OMPI_COMM_WORLD_SIZE nor PMI_SIZE; allowed: ")
    assert second.returncode == 1 and second.stderr == b""
    assert not (tmp_path / "y.npy").exists()
    assert under_slurm(tmp_path, 1, ORIEL_MPI="none").returncode == 0 and (tmp_path / "y.npy").exists()


def test_tasks_whose_mpi_has_one_rank_are_refused(mpi, volume, tmp_path):
    done = under_slurm(tmp_path, 0, ORIEL_MPI=mpi)
    assert done.returncode == 1 and b"the launcher started 2 tasks, but MPI has one rank; allowed: " in done.stderr, done.stderr
    assert not (tmp_path / "y.npy").exists()
