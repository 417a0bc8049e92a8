"""The benchmark beside other frameworks runs, verifies what it times, and its page and plots are drawn from what it measured."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif("ORIEL_EVERY_CASE" not in os.environ, reason="NOT CHECKED: minutes of a benchmark's script; ORIEL_EVERY_CASE=1, as at night, runs it")


def test_measures_and_draws(tmp_path):
    results = tmp_path / "results.json"
    command = [sys.executable, ROOT / "bench" / "frameworks.py", results, "--quick"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "KERAS_HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    measured = json.loads(results.read_text())
    assert not list(tmp_path.glob("*.part"))
    assert all(0 < seconds < 1 for seconds in measured["overhead"].values())
    assert len(measured["cases"]) == 5
    for case in measured["cases"]:
        for direction in ("forward", "backward"):
            assert {"copy", "Oriel, NumPy", "Oriel, PyTorch", "PyTorch", "Oriel, JAX", "JAX"} <= set(case[direction])
            assert all(0 < seconds < 10 for seconds in case[direction].values())

    (tmp_path / "scripts").mkdir()
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "scripts" / "marked_part.py", tmp_path / "scripts")
    script = shutil.copy(ROOT / "scripts" / "frameworks_page.py", tmp_path / "scripts")
    page = Path(shutil.copy(ROOT / "docs" / "performance-networks.md", tmp_path / "docs"))
    before = page.read_text()
    done = subprocess.run([sys.executable, script, results], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for case in measured["cases"]:
        assert text.count(f"| {case['case']} |") == 2
    assert text.split("<!-- frameworks: begin -->")[0] == before.split("<!-- frameworks: begin -->")[0]
    drawn = {path.name: path.read_text() for path in (tmp_path / "docs" / "images").iterdir()}
    assert set(drawn) == {"frameworks-light.svg", "frameworks-dark.svg"}
    assert all("</svg>" in svg for svg in drawn.values()) and len(set(drawn.values())) == 2


def test_a_wrong_result_is_not_timed(tmp_path):
    """With an Oriel that adds one to what it pools, the benchmark ends before it measures."""
    script = (ROOT / "bench" / "frameworks.py").read_text()
    wrong = script.replace("def verify(", "right = oriel.max_pool2d\noriel.max_pool2d = lambda *a: right(*a) + 1\n\n\ndef verify(", 1)
    assert wrong != script
    program = tmp_path / "wrong.py"
    program.write_text(wrong)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'bench'}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, program, tmp_path / "out.json", "--quick"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode != 0 and "Oriel, NumPy gives another result than PyTorch" in done.stderr, done.stderr
    assert not (tmp_path / "out.json").exists()
