"""Runs oriel-portrait as a process on pictures that are made here: a person is a disc before a green screen."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

COMMAND = os.environ.get("ORIEL_PORTRAIT", str(Path(__file__).parents[2] / "build/bin/oriel-portrait"))
# No models of whoever runs the tests.
os.environ["XDG_DATA_HOME"] = tempfile.gettempdir() + "/no-data-of-oriel"
GREEN, PERSON = (40, 200, 60), (90, 40, 60)
KEY = ("--key", "#28c83c")


def disc(height, width, radius=None, centre=None, soft=2.0):
    """The true alpha of a disc, float, height x width."""
    y, x = np.mgrid[0:height, 0:width] + 0.5
    cy, cx = centre or (height / 2, width / 2)
    radius = radius or min(height, width) / 3
    return np.clip((radius - np.hypot(y - cy, x - cx)) / soft + 0.5, 0, 1)


def seen(alpha, person=PERSON, behind=GREEN):
    """What a camera sees: uint8, height x width x 3."""
    a = alpha[..., None]
    return np.rint(a * np.array(person) + (1 - a) * np.array(behind)).astype(np.uint8)


@pytest.fixture
def portrait(tmp_path):
    """portrait(*arguments, code=0, **subprocess options): runs in an empty folder; checks the exit code."""

    def run(*arguments, code=0, env=None, **options):
        environment = dict(os.environ, LC_ALL="C.UTF-8", **(env or {}))
        done = subprocess.run([COMMAND, *map(str, arguments)], cwd=tmp_path, capture_output=True, env=environment,
                              timeout=240, **options)
        assert done.returncode == code, (done.returncode, done.stderr.decode()[-2000:])
        return done

    return run


@pytest.fixture
def refusal(portrait, tmp_path):
    """refusal(*arguments, code=1): the one line on stderr of a call that must fail and leave no file behind."""

    def run(*arguments, code=1, **options):
        before = sorted(tmp_path.rglob("*"))
        done = portrait(*arguments, code=code, **options)
        text = done.stderr.decode()
        assert text.endswith("\n") and text.count("\n") == 1, text
        assert sorted(tmp_path.rglob("*")) == before
        return text[:-1]

    return run


@pytest.fixture
def save(tmp_path):
    """save(name, array, **options of Pillow): writes a picture into the folder."""

    def write(name, array, **options):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(array).save(tmp_path / name, **options)
        return name

    return write


@pytest.fixture
def load(tmp_path):
    """load(name): a picture of the folder as an array."""
    return lambda name: np.asarray(Image.open(tmp_path / name))


def get_selfie(data, **environment):
    """`oriel-portrait models get selfie` into a data folder."""
    return subprocess.run([COMMAND, "models", "get", "selfie", "--python", sys.executable], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XDG_DATA_HOME": str(data), "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1", **environment})


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A data folder with the selfie models."""
    data = tmp_path_factory.mktemp("data")
    done = get_selfie(data)
    if done.returncode != 0 and "pip cannot download" in done.stderr:
        pytest.skip("NOT TESTED: MediaPipe's selfie models; " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return data
