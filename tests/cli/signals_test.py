"""Signals that end `oriel pool` while it writes: which leave a temporary file, and what removes one that is left."""

import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import COMMAND

# Every signal that ends a process unless it is caught. Left out: those of a program that has gone wrong (SEGV, ABRT,
# FPE, ILL, SYS, TRAP), BUS (an input that became shorter: a line and exit code 1), XFSZ (an error of write).
ENDING = [signal.Signals[name] for name in
          ["SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGXCPU", "SIGVTALRM",
           "SIGPROF", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGRTMIN", "SIGRTMAX"] if name in signal.Signals.__members__]


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.fixture
def writer(tmp_path):
    """writer(out): a call that is stopped in the middle of writing to OUT, and its temporary file."""
    started = []
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f4", (256, 256, 512))

    def start(out="y.npy"):
        words = [COMMAND, "pool", "x.npy", out, "-k", "9x9x9", "-s", "1", "--memory", "60MiB"]
        before = set(tmp_path.glob(".*.tmp"))
        process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, preexec_fn=no_core)
        started.append(process)
        deadline = time.monotonic() + 60
        while not (begun := set(tmp_path.glob(".*.tmp")) - before):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        while process.poll() is None and open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
            time.sleep(0.001)
        assert process.poll() is None, "it was over before it could be stopped"
        return process, begun.pop()

    yield start
    for process in started:
        process.kill()
        process.wait()


def end(process, number):
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    process.wait(timeout=60)


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_a_signal_leaves_nothing(writer, tmp_path, number):
    np.save(tmp_path / "y.npy", np.arange(5))
    before = (tmp_path / "y.npy").read_bytes()
    process, _ = writer()
    end(process, number)
    assert process.returncode == -number  # it dies of the signal, as its caller must be able to see
    assert (tmp_path / "y.npy").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "y.npy"]


def test_ignored_signals_stay_ignored(tmp_path):
    """As under nohup."""
    np.save(tmp_path / "x.npy", np.zeros((8, 8), "f4"))
    script = f"trap '' HUP USR1; {COMMAND} pool x.npy y.npy -k 2 & kill -HUP $!; kill -USR1 $!; wait $!"
    assert subprocess.run(["sh", "-c", script], cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == 0
    assert (tmp_path / "y.npy").exists()


@pytest.mark.parametrize("out", ["y.npy", "y.h5:/y"])
def test_the_next_run_removes_what_a_killed_one_left(oriel, writer, tmp_path, out):
    pytest.importorskip("h5py")
    process, left = writer(out)
    end(process, signal.SIGKILL)
    assert left.exists()  # nothing can catch SIGKILL
    oriel("pool", "x.npy", "other.npy", "-k", 8)
    assert left.exists()  # it is of another file
    oriel("pool", "x.npy", out, "-k", 8)
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_living_writers_file_stays(oriel, writer, tmp_path):
    process, place = writer()
    oriel("pool", "x.npy", "y.npy", "-k", 8)
    assert place.exists()
    process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=120) == 0
    assert np.load(tmp_path / "y.npy").shape == (248, 248, 504)
    assert not list(tmp_path.glob(".*.tmp"))
