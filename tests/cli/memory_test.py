"""`oriel pool --memory`: what the process holds stays within it, from the least that it names; chunks are read once."""

import json
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

from conftest import COMMAND

SHAPE, CHUNKS = (60, 500, 500), (16, 128, 128)  # 30 MB, 64 chunks of 512 KiB
OVERLAPPING = ["-k", "3x3x3", "-s", "2", "-p", "1"]

# A process begins with its parent's peak, so a small one starts the command.
PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); " \
       "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("volumes")
    x = np.random.default_rng(0).integers(0, 2000, SHAPE).astype("u2")
    np.save(folder / "w.npy", x)
    with h5py.File(folder / "w.h5", "w") as file:
        file.create_dataset("data", data=x, chunks=CHUNKS, compression="gzip", compression_opts=1)
    return folder


def call(folder, *arguments, code=0):
    done = subprocess.run([COMMAND, "pool", *map(str, arguments)], cwd=folder, capture_output=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout.decode(), done.stderr.decode()


def least(folder, *arguments):
    """The least bound that the command names as allowed, in MiB. What it names is allowed, or is named once more."""
    said = int(re.search(r"allowed: at least (\d+)MiB", call(folder, *arguments, "--memory", "1MiB", code=1)[1])[1])
    for bound in range(said, said + 3):
        done = subprocess.run([COMMAND, "pool", *map(str, arguments), "--memory", f"{bound}MiB"], cwd=folder, capture_output=True, timeout=300)
        if done.returncode == 0:
            return bound
    raise AssertionError(f"{said} MiB were said to suffice, but: {done.stderr}")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("source, out, options", [
    ("w.npy", "y.npy", ["--op", "avg", "-k", "2x2x2"]), ("w.h5", "y.h5", ["--op", "avg", "-k", "2x2x2"]),
    ("w.h5", "y.npy", OVERLAPPING), ("w.npy", "y.npy", ["--op", "avg", "-k", "9x9x9"]), ("w.npy", "y.h5", [*OVERLAPPING, "--indices", "i.npy"]),
])
def test_the_bound_holds_from_its_lower_end(folder, source, out, options, threads):
    words = [source, out, *options, "-t", threads]
    lowest = least(folder, *words)
    assert lowest < 56  # the program itself, its libraries, and four chunks
    refused = call(folder, *words, "--memory", f"{lowest - 8}MiB", code=1)[1]
    assert "--memory: " in refused and "do not suffice" in refused
    for bound in sorted({lowest, lowest + 1, lowest + 3, 48, 64}):
        if bound < lowest:
            continue
        command = [sys.executable, "-I", "-S", "-c", PEAK, COMMAND, "pool", *map(str, words), "--memory", f"{bound}MiB", "-q"]
        done = subprocess.run(command, cwd=folder, capture_output=True)
        if bound < lowest + 3 and b"do not suffice" in done.stderr:  # what a process holds itself differs by a MiB from call to call
            continue
        assert done.returncode == 0, done.stderr
        peak = int(done.stdout) / 1024
        assert peak <= bound, f"{peak:.1f} MiB in {bound}"


@pytest.mark.parametrize("options", [["--op", "avg", "-k", "2x2x2"], ["--op", "max", "-k", "4x4x4", "-s", "4x2x4"]])
def test_blocks_follow_the_chunks(folder, options):
    """Windows that end where chunks do: each chunk is read once, in any memory that holds one of them and its outputs."""
    call(folder, "w.npy", "wanted.npy", *options)
    lowest = least(folder, "w.h5", "y.npy", *options)
    for bound in [lowest + 5, lowest + 12, 1024]:
        out, notes = call(folder, "w.h5", "y.npy", *options, "--memory", f"{bound}MiB", "--json")
        report = json.loads(out)
        assert report["chunks"] == 64
        assert (folder / "y.npy").read_bytes() == (folder / "wanted.npy").read_bytes()
        if "-s" not in options:
            assert report["chunk_reads"] == 64 and notes == ""


@pytest.mark.parametrize("options", [OVERLAPPING, ["-k", "5x5x5", "-s", "1", "--op", "avg"]])
def test_what_would_suffice_is_said_and_suffices(folder, options):
    """Windows that reach into the next chunks: those are kept if that fits; if not, one line says how much would do."""
    call(folder, "w.npy", "wanted.npy", *options)
    lowest = least(folder, "w.h5", "y.npy", *options)
    out, notes = call(folder, "w.h5", "y.npy", *options, "--memory", f"{lowest + 2}MiB", "--json")
    report = json.loads(out)
    assert report["chunks"] == 64 < report["chunk_reads"]
    said = re.fullmatch(r"oriel pool: w.h5: with so little memory its chunks are read and decoded up to ([0-9.]+) times; "
                        r"with --memory (\d+)MiB once\n", notes)
    assert said, notes
    assert report["chunk_reads"] <= 64 * float(said[1]) * 1.01
    assert (folder / "y.npy").read_bytes() == (folder / "wanted.npy").read_bytes()
    enough = int(said[2]) + 4  # the program's own part differs a little from run to run
    out, notes = call(folder, "w.h5", "y.npy", *options, "--memory", f"{enough}MiB", "--json")
    report = json.loads(out)
    assert notes == "" and report["chunk_reads"] == 64 and report["blocks"] > 1
    assert (folder / "y.npy").read_bytes() == (folder / "wanted.npy").read_bytes()
    assert call(folder, "w.h5", "y.npy", *options, "--memory", f"{lowest + 2}MiB", "-q") == ("", "")


def test_an_input_without_chunks_has_none(folder):
    assert "chunks" not in json.loads(call(folder, "w.npy", "y.npy", "-k", 2, "--memory", "1GiB", "--json")[0])
