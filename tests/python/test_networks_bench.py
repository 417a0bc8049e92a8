"""The benchmark of whole networks runs, verifies what it times, and its pages are written from what it measured."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPEAKS_OF = "SPPF head, 512 channels"


def measure(script, out, folder):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'bench'}:{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run([sys.executable, script, out, "--quick"], cwd=folder, env=environment, capture_output=True, text=True)


def test_measures_and_writes(tmp_path):
    results = tmp_path / "results.json"
    done = measure(ROOT / "bench" / "networks.py", results, tmp_path)
    assert done.returncode == 0, done.stderr
    measured = json.loads(results.read_text())
    (network,) = measured["networks"]
    assert network["network"] == SPEAKS_OF and network["layers"] == 1 and 0 < network["pooling"] < 1
    for of in ("inference", "training"):
        assert set(network[of]) == {"PyTorch", "Oriel"} and all(0 < seconds < 60 for seconds in network[of].values())

    for folder, name in (("scripts", "networks_page.py"), ("docs", "performance.md"), (".", "README.md")):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(ROOT / folder / name, tmp_path / folder / name)
    network["inference"] = {"PyTorch": 0.5, "Oriel": 0.25}
    results.write_text(json.dumps(measured))
    done = subprocess.run([sys.executable, tmp_path / "scripts" / "networks_page.py", results], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"| {SPEAKS_OF} | 8x512x20x20 | 1 |" in (tmp_path / "docs" / "performance.md").read_text()
    readme = (tmp_path / "README.md").read_text()
    assert "| 500.0 ms | 250.0 ms | 2.00 |" in readme
    assert readme.partition("<!-- networks: begin -->")[0] == (ROOT / "README.md").read_text().partition("<!-- networks: begin -->")[0]


def test_a_wrong_result_is_not_timed(tmp_path):
    """With layers of Oriel that add one to what they pool, the benchmark ends before it measures."""
    script = (ROOT / "bench" / "networks.py").read_text()
    wrong = script.replace("def verify(", "right = oriel.torch.MaxPool2d.forward\n"
                           "oriel.torch.MaxPool2d.forward = lambda self, x: right(self, x) + 1\n\n\ndef verify(", 1)
    assert wrong != script
    program = tmp_path / "wrong.py"
    program.write_text(wrong)
    done = measure(program, tmp_path / "out.json", tmp_path)
    assert done.returncode != 0 and "gives another result with Oriel's layers" in done.stderr, done.stderr
    assert not (tmp_path / "out.json").exists()
