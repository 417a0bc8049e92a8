"""The module's sources use nothing outside of Python's stable ABI of 3.12, so that one wheel serves 3.12 and newer."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# As python/CMakeLists.txt has them: what XLA calls uses nothing of Python.
SOURCES = [path for path in sorted((ROOT / "python/src").glob("*.cc")) if not path.name.startswith("xla")]
LIMITED = "-DPy_LIMITED_API=0x030C0000"


def headers_of(python):
    code = "import sys, sysconfig; print(sys.version_info >= (3, 12), sysconfig.get_path('include'))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60)
    newer, _, folder = done.stdout.strip().partition(" ")
    return folder if done.returncode == 0 and newer == "True" and Path(folder, "Python.h").is_file() else None


@pytest.fixture(scope="module")
def flags():
    nanobind, numpy = pytest.importorskip("nanobind"), pytest.importorskip("numpy")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    pythons = [sys.executable, *(shutil.which(f"python3.{minor}") for minor in range(12, 20)),
               *sorted(pyenv.glob("versions/3.1[2-9]*/bin/python3"))]
    folder = next((found for python in pythons if python and (found := headers_of(python))), None)
    if folder is None:
        pytest.skip("NOT CHECKED: there are no headers of Python 3.12 or newer, so nothing says that the sources use its stable ABI alone")
    includes = [ROOT / "src", ROOT / "include", nanobind.include_dir(), numpy.get_include(), folder]
    return ["-std=c++20", "-fsyntax-only", "-w", *(f"-I{path}" for path in includes)]


def compiled(flags, source):
    return subprocess.run(["g++", *flags, LIMITED, source], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_sources_use_the_stable_abi(flags, source):
    result = compiled(flags, source)
    assert result.returncode == 0, result.stderr


def test_other_functions_are_seen(flags, tmp_path):
    for code in ("Py_ssize_t n(PyObject* t) { return PyTuple_GET_SIZE(t); }", "auto n(PyObject* o) { return Py_TYPE(o)->tp_name; }"):
        (tmp_path / "other.cc").write_text("#include <Python.h>\n" + code)
        assert compiled(flags, tmp_path / "other.cc").returncode != 0
    (tmp_path / "other.cc").write_text("#include <Python.h>\nPy_ssize_t n(PyObject* t) { return PyTuple_Size(t); }")
    assert compiled(flags, tmp_path / "other.cc").returncode == 0


def test_wheels_are_tagged_so():
    (override,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["overrides"]
    assert override["if"] == {"python-version": ">=3.12", "abi-flags": "^$", "env": {"ORIEL_STABLE_ABI": True}}
    assert override["wheel"] == {"py-api": "cp312"}
    assert override["cmake"] == {"version": ">=3.26"}  # which knows the stable ABI
