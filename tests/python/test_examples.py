"""The example programs run and say what they should; their times are their own affair."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
INSTALLED = {name for name in ("jax", "keras", "torch") if importlib.util.find_spec(name)}


def run_first_principles(without=(), **environment):
    """The program's output, where the named modules cannot be imported."""
    path = EXAMPLES / "first_principles.py"
    program = (
        f"import runpy, sys\nfor name in {tuple(without)!r}: sys.modules[name] = None\n"
        f"sys.argv = ['first_principles.py', '--repeats', '3']\nrunpy.run_path({str(path)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def parse(output):
    """(lines of equality, missing libraries, table: name -> four numbers)."""
    equalities = re.findall(r"^(float64|float32): (.+) (equals|DIFFERS FROM) the NumPy loop$", output, re.M)
    missing = re.findall(r"^missing: (\S+) \(.+\)$", output, re.M)
    _, header, *rows = output[output.index("32x28x28x3, window 4x4, step 2:") :].splitlines()
    assert header.split() == ["float64", "float32"]
    table = {}
    for row in rows:
        name, *numbers = re.fullmatch(r"(\S.*?) +(\d+\.\d) +(\d+\.\d)x +(\d+\.\d) +(\d+\.\d)x", row).groups()
        table[name] = [float(number) for number in numbers]
    return equalities, missing, table


def check(output, expected):
    equalities, missing, table = parse(output)
    names = ["NumPy loop", *expected, "oriel.max_pool"]
    assert list(table) == names
    assert [(dtype, name) for dtype, name, _ in equalities] == [
        (dtype, name) for dtype in ("float64", "float32") for name in names[1:]
    ]
    assert {word for _, _, word in equalities} == {"equals"}
    loop = table["NumPy loop"]
    assert loop[1] == loop[3] == 1.0
    for numbers in table.values():
        assert min(numbers[::2]) > 0
        for column in (0, 2):  # both numbers have one decimal
            ratio = loop[column] / numbers[column]
            assert abs(numbers[column + 1] - ratio) <= 0.06 + ratio * 0.06 / numbers[column]
    return missing


KERAS = ["keras.layers.MaxPooling2D ({})", "oriel.keras.MaxPooling2D ({})"]
JAX = ["jax.lax.reduce_window", "jax.lax.reduce_window, jit", "oriel.jax.MaxPool2D", "oriel.jax.MaxPool2D, jit"]


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_first_principles(backend):
    if not {"jax", "keras", backend} <= INSTALLED:
        pytest.skip(f"needs jax, keras and {backend}")
    assert check(run_first_principles(KERAS_BACKEND=backend), [name.format(backend) for name in KERAS] + JAX) == []


def test_first_principles_names_what_is_missing():
    assert check(run_first_principles(without=("jax", "keras")), []) == ["keras", "jax"]
    if {"jax", "keras"} <= INSTALLED:
        environment = {"KERAS_BACKEND": "jax"}
        assert check(
            run_first_principles(without=("oriel.keras", "torch"), **environment), [KERAS[0].format("jax"), *JAX]
        ) == ["oriel.keras"]
