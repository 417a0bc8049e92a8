"""The types of the package, by pyright: its own files, what users write with it, and how much of it has a type."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import oriel

ROOT = Path(__file__).resolve().parents[2]
USERS = Path(__file__).resolve().parent / "types"
MISSING = [
    name
    for name in ("pyright", "torch", "jax", "keras", "onnx", "mpi4py", "threadpoolctl")
    if importlib.util.find_spec(name) is None
]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"NOT CHECKED: types, for there is no {', '.join(MISSING)} (scripts/requirements-test.txt)"
)


def pyright(*arguments):
    """What pyright says, as it prints it in JSON; imports are those of the Python that runs this."""
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    result = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PATH": here, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr  # 1: it has found errors
    return json.loads(result.stdout[result.stdout.index("{") :])


def found(report):
    """(file, line) -> text of each error and warning."""
    return {
        (Path(entry["file"]).name, entry["range"]["start"]["line"] + 1): entry["message"]
        for entry in report["generalDiagnostics"]
        if entry["severity"] in ("error", "warning")
    }


def test_the_package_has_no_type_errors():
    report = pyright("--project", "pyproject.toml")
    files = [path for path in (ROOT / "python" / "oriel").rglob("*.py")]
    assert report["summary"]["filesAnalyzed"] == len(files) > 50
    assert not found(report)


def test_what_users_write():
    marked = {
        ("wrong.py", number)
        for number, line in enumerate((USERS / "wrong.py").read_text().splitlines(), 1)
        if line.endswith("# wrong")
    }
    report = pyright(USERS / "right.py", USERS / "wrong.py")
    errors = found(report)
    assert report["summary"]["filesAnalyzed"] == 2 and len(marked) > 20
    assert {place: text for place, text in errors.items() if place not in marked} == {}
    assert marked - set(errors) == set(), "mistakes that were not found"


def test_almost_everything_public_has_a_type():
    report = pyright("--ignoreexternal", "--verifytypes", "oriel")["typeCompleteness"]
    assert report["packageRootDirectory"] == str(Path(oriel.__file__).parent)
    counts = report["exportedSymbolCounts"]
    unknown = [symbol["name"] for symbol in report["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert counts["withKnownType"] > 900 and report["completenessScore"] > 0.98, unknown


def test_frameworks_are_imported_for_types_by_checkers_alone():
    code = "import sys, oriel, oriel.array_types; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in modules if re.match(r"(torch|jax|keras|onnx|mpi4py)\b", name)]
