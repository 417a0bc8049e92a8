"""Runs the `oriel` command as a process."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

COMMAND = os.environ.get("ORIEL_COMMAND", str(Path(__file__).parents[2] / "build/bin/oriel"))
MPIS = {
    # Ranks share the few cores; containers forbid reading other processes' memory; no network is needed.
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader",
                "--mca", "btl_vader_single_copy_mechanism", "none"],
    "mpich": ["mpirun.mpich"],
}
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


@pytest.fixture
def oriel(tmp_path):
    """oriel(*arguments, code=0, **subprocess options): runs in an empty folder; checks the exit code."""

    def run(*arguments, code=0, env=None, **options):
        environment = dict(os.environ, LC_ALL="C.UTF-8", **(env or {}))
        done = subprocess.run([COMMAND, *map(str, arguments)], cwd=tmp_path, capture_output=True, env=environment,
                              timeout=120, **options)
        assert done.returncode == code, done.stderr.decode()
        return done

    return run


@pytest.fixture
def refusal(oriel, tmp_path):
    """refusal(*arguments, code=1): the one line on stderr of a call that must fail and leave no file behind."""

    def run(*arguments, code=1, **options):
        before = sorted(tmp_path.iterdir())
        done = oriel(*arguments, code=code, **options)
        text = done.stderr.decode()
        assert text.endswith("\n") and text.count("\n") == 1, text
        assert done.stdout == b""
        assert sorted(tmp_path.iterdir()) == before
        return text[:-1]

    return run


@pytest.fixture
def volume(tmp_path):
    """Random numbers of odd extents, in x.npy."""
    x = np.random.default_rng(0).integers(0, 60000, (70, 81, 67)).astype("u2")
    np.save(tmp_path / "x.npy", x)
    return x


@pytest.fixture(params=MPIS)
def mpi(request):
    program = Path(COMMAND).parents[1] / "libexec" / "oriel" / f"oriel-{request.param}"
    if shutil.which(MPIS[request.param][0]) is None or not program.exists():
        pytest.skip(f"NOT TESTED: there is no {MPIS[request.param][0]} or no {program}")
    return request.param


@pytest.fixture
def ranks(mpi, tmp_path):
    """ranks(number, *arguments, code=0): runs the command on so many ranks."""

    def run(number, *arguments, code=0, command=COMMAND):
        words = [*MPIS[mpi], "-n", str(number), str(command), *map(str, arguments)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, env=ENVIRONMENT, timeout=120)
        assert (done.returncode == 0) == (code == 0), done.stderr.decode()
        return done

    return run


def descendants(pid, name):
    """Processes of that name below `pid`, which this test started."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if Path(f"/proc/{child}/comm").read_text().strip() == name[:15]:
            found.append(int(child))
        found += descendants(int(child), name)
    return found
