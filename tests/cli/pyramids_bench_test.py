"""bench/pyramids.py measures what it verified; its page shows what it stored."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ["ORIEL_COMMAND"]
MARKS = "<!-- pyramids: begin -->", "<!-- pyramids: end -->"


@pytest.fixture
def bench(tmp_path):
    """The scripts, with the page beside them."""
    for name in (
        "bench/pyramids.py",
        "bench/pyramid_peers.py",
        "bench/report.py",
        "scripts/pyramids_page.py",
        "scripts/marked_part.py",
        "docs/performance-science.md",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(folder, *words):
    return subprocess.run([sys.executable, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=100)


def pyramids(folder, *words):
    # An odd size, so that chunks and windows are cut.
    return run(folder, "bench/pyramids.py", COMMAND, "--size", 81, "--repeats", 1, "--json", "out.json", *words)


def test_measures_verifies_and_writes_the_page(bench):
    done = pyramids(bench, "--peers", "TensorStore")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    whole = json.loads((bench / "out.json").read_text())
    assert whole["shape"] == [81] * 3 and whole["versions"]["TensorStore"] and whole["versions"]["ome-zarr"] is None
    assert set(whole["memory"]) == {"raw", "zstd:1", "modes", "means"}
    assert all(1 << 20 < bytes_ < whole["most_memory"] for bytes_ in whole["memory"].values())
    for goal in whole["goals"]:
        theirs = whole["times"].get(goal["other"])
        assert (theirs is None) == (goal["other"] in ("ome-zarr", "ngff-zarr"))
        ours = whole["times"][f"Oriel, {goal['way']}"]["seconds"]
        assert goal["ratio"] == (theirs and ours / theirs["seconds"])

    # Numbers that are known, so that the page's are.
    times = {
        "Oriel, raw": 0.05,
        "TensorStore, raw": 0.1,
        "cp of level 0": 0.01,
        "Oriel, zstd:1": 0.06,
        "zstd alone": 0.04,
        "cp of compressed levels": 0.02,
    }
    for name, seconds in times.items():
        whole["times"][name]["seconds"] = seconds
    for goal, ratio in {0: 0.5, 1: 5.0}.items():
        whole["goals"][goal]["ratio"] = ratio
    whole["load"], whole["memory"]["raw"] = [0.0, 9.0], 300 << 20
    (bench / "out.json").write_text(json.dumps(whole))
    before = (bench / "docs" / "performance-science.md").read_text()
    done = run(bench, "scripts/pyramids_page.py", "out.json")
    assert done.returncode == 0, done.stderr
    page = (bench / "docs" / "performance-science.md").read_text()
    assert page.split(MARKS[0])[0] == before.split(MARKS[0])[0] and page.split(MARKS[1])[1] == before.split(MARKS[1])[1]
    table = page.split(MARKS[0])[1].split(MARKS[1])[0]
    assert "| means, uncompressed | 50 | TensorStore | 100 | 0.50 | 0.6 |" in table
    assert "| means, uncompressed | 50 | `cp` of level 0 | 10 | **5.00** | 2.5 |" in table
    assert "| means, uncompressed | 50 | ome-zarr | | not measured | 1/5 |" in table
    assert "Not there: ome-zarr, ngff-zarr." in table and "load average 0.0 at the start, 9.0 at the end" in table
    assert "uncompressed 300 MiB" in table and "**missed** goal: at most 256 MiB" in table
    assert "takes 20 ms: Oriel takes 1.00 times as long as both" in table


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("np.rint(found)", "np.rint(found + 1)", "level 1 of Oriel is not what NumPy's means are"),
        ("ZSTD_LEVEL)\n            self.library", "9)\n            self.library", "THE COMPRESSOR IS ANOTHER"),
    ],
)
def test_what_differs_is_said(bench, old, new, text):
    script = bench / "bench" / "pyramids.py"
    assert script.read_text().count(old) == 1
    script.write_text(script.read_text().replace(old, new))
    done = pyramids(bench, "--peers", "")
    assert text in done.stderr and (done.returncode != 0) == text.startswith("level"), done.stderr
    assert (bench / "out.json").exists() == (done.returncode == 0)


def test_unknown_peers_are_refused(bench):
    done = pyramids(bench, "--peers", "zarr")
    assert done.returncode != 0 and "--peers: 'zarr'; allowed: TensorStore, ome-zarr, ngff-zarr" in done.stderr
