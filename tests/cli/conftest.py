"""Runs the `oriel` command as a process."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

COMMAND = os.environ.get("ORIEL_COMMAND", str(Path(__file__).parents[2] / "build/bin/oriel"))


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
