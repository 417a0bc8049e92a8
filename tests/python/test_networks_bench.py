"""The benchmark of whole networks runs, verifies what it times, and its pages are written from what it measured."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif("ORIEL_EVERY_CASE" not in os.environ, reason="NOT CHECKED: minutes of a benchmark's script; ORIEL_EVERY_CASE=1, as at night, runs it")
SPEAKS_OF = "SPPF head, 512 channels"
SETTINGS = ["one thread", "two threads", "one thread, channels last", "one thread, torch.compile"]


def measure(script, out, folder, *names):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'bench'}:{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run([sys.executable, script, out, "--quick", "--only", *names], cwd=folder, env=environment, capture_output=True, text=True)


def scripts_and_pages(folder):
    """A copy of the script and of the pages that it writes."""
    for part in ("scripts/networks_page.py", "scripts/marked_part.py", "docs/performance.md", "docs/performance-networks.md", "README.md"):
        (folder / part).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / part, folder / part)
    return folder / "scripts" / "networks_page.py"


def test_measures_and_writes(tmp_path):
    results = tmp_path / "results.json"
    done = measure(ROOT / "bench" / "networks.py", results, tmp_path, SPEAKS_OF)
    assert done.returncode == 0, done.stderr
    assert [f.name for f in tmp_path.iterdir() if f.name.startswith("results")] == ["results.json"]
    measured = json.loads(results.read_text())
    names = [s["name"] for s in measured["settings"]]
    if len(os.sched_getaffinity(0)) < 2:
        assert names == [n for n in SETTINGS if n != "two threads"] and "two threads is left out" in done.stdout
    else:
        assert names == SETTINGS
    for setting in measured["settings"]:
        (network,) = setting["networks"]
        assert network["network"] == SPEAKS_OF and network["layers"] == 1
        assert ("pooling" in network) == ("training" in network) == setting["training"]
        for of in {"inference", "training"} & set(network):
            assert set(network[of]) == {"PyTorch", "Oriel"} and all(0 < seconds < 60 for seconds in network[of].values())
    (network,) = measured["settings"][0]["networks"]
    assert 0 < network["pooling"] < 1

    script = scripts_and_pages(tmp_path)
    network["inference"] = {"PyTorch": 0.5, "Oriel": 0.25}
    network["training"] = {"PyTorch": 0.9, "Oriel": 0.6}
    results.write_text(json.dumps(measured))
    done = subprocess.run([sys.executable, script, results], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "docs" / "performance-networks.md").read_text()
    assert f"| {SPEAKS_OF} | 8x512x20x20 | 1 |" in page
    assert "| network, inference: times as fast | " + " | ".join(names) + " |" in page and f"| {SPEAKS_OF} | 2.00 | " in page
    assert "| training step, one thread | 1 | 1.50 |" in (tmp_path / "docs" / "performance.md").read_text()
    readme = (tmp_path / "README.md").read_text()
    assert "| 500.0 ms | 250.0 ms | 2.00 |" in readme
    assert "Geometric means of 1 networks: inference 2.00 times as fast, training steps 1.50 times." in readme
    assert readme.partition("<!-- networks: begin -->")[0] == (ROOT / "README.md").read_text().partition("<!-- networks: begin -->")[0]
    assert {f.name for f in (tmp_path / "docs" / "images").iterdir()} == {"networks-light.svg", "networks-dark.svg"}


def test_the_geometric_mean_is_over_networks(tmp_path):
    """Of 4 and 1 times as fast it is 2 times, not 2.5."""
    results = {"processor": "P", "target": "T", "versions": {"torch": "2"}, "settings": [{"name": "one thread", "networks": [
        {"network": name, "shape": [1], "layers": 1, "pooling": 0.5, "inference": {"PyTorch": seconds, "Oriel": 1.0},
         "training": {"PyTorch": 1.0, "Oriel": 1.0}} for name, seconds in (("A", 4.0), ("B", 1.0))]}]}
    script = scripts_and_pages(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps(results))
    subprocess.run([sys.executable, script, tmp_path / "results.json"], check=True)
    assert "Geometric means of 2 networks: inference 2.00 times as fast, training steps 1.00 times." in (tmp_path / "README.md").read_text()


def test_an_unknown_network_is_named(tmp_path):
    done = measure(ROOT / "bench" / "networks.py", tmp_path / "out.json", tmp_path, "LeNet")
    assert done.returncode != 0 and "no network is called 'LeNet'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_wrong_result_is_not_timed(tmp_path):
    """With layers of Oriel that add one to what they pool, the benchmark ends before it measures."""
    for name in ("networks.py", "architectures.py", "report.py"):
        shutil.copy(ROOT / "bench" / name, tmp_path / name)
    script = (ROOT / "bench" / "network_turns.py").read_text()
    wrong = script.replace("def verify(", "right = oriel.torch.MaxPool2d.forward\n"
                           "oriel.torch.MaxPool2d.forward = lambda self, x: right(self, x) + 1\n\n\ndef verify(", 1)
    assert wrong != script
    (tmp_path / "network_turns.py").write_text(wrong)
    done = measure(tmp_path / "networks.py", tmp_path / "out.json", tmp_path, SPEAKS_OF)
    assert done.returncode != 0 and "gives another result with Oriel's layers" in done.stderr, done.stderr
    assert not (tmp_path / "out.json").exists()
