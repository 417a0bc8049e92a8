"""bench/compare.py measures what it verified, leaves out what differs and says so; its page shows what it stored."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = """# a comment
[networks]
max:f32:8x64x112x112:k3x3s2p1          # ResNet's stem
avg:f32:8x112x112x64:k3s1p1:exclude:axes1,2
max:f32:1080x1920:k31s1p15
avg:f32:8x256x56x56:out6x6
[memory]
max:bf16:8x64x56x56:k2x2s2
lp2:f32:8x64x56x56:k2x2
min:u8:8x64x56x56:k2x2
[views]
max:f32:8x64x112x112:k3x3s2p1
[backward]
max:f32:8x64x112x112:k3x3s2p1:backward
avg:f32:8x64x112x112:k3x3s2p1:backward
"""


@pytest.fixture
def bench(tmp_path):
    """The scripts with a page beside them, and a suite of few problems."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "bench", tmp_path / "bench", ignore=ignored)
    for folder, name in (("scripts", "compare_page.py"), ("scripts", "marked_part.py"), (".", "README.md"), ("docs", "performance.md"), ("docs", "performance-tables.md")):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(ROOT / folder / name, tmp_path / folder)
    (tmp_path / "suite.txt").write_text(SUITE)
    return tmp_path


def run(folder, *words):
    environment = {name: value for name, value in os.environ.items() if name != "ORIEL_TARGET"}
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=folder, env=environment, capture_output=True, text=True
    )


def compare(folder, *words):
    return run(folder, "bench/compare.py", folder / "out.json", "--suite", "suite.txt", "--quick", *words)


def spoil(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


def test_measures_summarises_and_writes_the_page(bench):
    done = compare(bench, "--peers", "torch")
    assert done.returncode == 0, done.stderr
    measured = json.loads((bench / "out.json").read_text())
    assert {path.name for path in bench.iterdir()} == {"README.md", "bench", "docs", "scripts", "suite.txt", "out.json"}
    names = [line.partition("#")[0].strip() for line in SUITE.splitlines() if line[:1] not in "#["]
    assert [(r["threads"], r["problem"]) for r in measured["results"]] == [(t, name) for t in (1, 2) for name in names]
    for result in measured["results"]:
        times = result["times"]
        assert {"Oriel", "copy"} <= set(times) and result["verified_by"]
        maximum = result["problem"].startswith("max") and ":backward" in result["problem"]
        assert ("Oriel, stored codes" in times) == maximum
        assert ("PyTorch" in times) == (result["problem"].split(":")[0] != "min")
        assert result["ratios"]["copy"] == times["Oriel"]["seconds"] / times["copy"]["seconds"]
        for time in times.values():
            assert 0 < time["least"] <= time["seconds"] < 10 and time["rounds"] >= 2
    assert [section["cases"] for section in measured["summary"]["sections"]] == [8, 2, 8, 2]
    assert "== forward, 1 thread, 8 problems" in done.stdout and "== backward, 2 threads, 2 problems" in done.stdout
    assert "in forward and backward together (1 problems)" in done.stdout

    before = (bench / "docs" / "performance.md").read_text()
    shutil.copy(bench / "out.json", bench / "again.json")
    done = run(bench, "scripts/compare_page.py", "out.json", "again.json")
    assert done.returncode == 0, done.stderr
    text = (bench / "docs" / "performance.md").read_text()
    marks = re.compile(r"<!-- (measured|beside-copy): begin -->.*?<!-- \1: end -->", re.DOTALL)  # all that may change
    assert len(marks.findall(text)) == 2 and marks.sub("", text) == marks.sub("", before)
    assert "Of Oriel's 3 measured forward pools of more than 100 MB, a quarter takes at most " in text
    tables = (bench / "docs" / "performance-tables.md").read_text()
    assert all(f"| `{name}` |" in tables for name in names)
    assert "Each run by itself" in tables and all(f"\n| {number} | backward | 2 |" in tables for number in (1, 2))
    assert "\n| times as fast as | forward, 1 thread | forward, 2 threads | backward, 1 thread | backward, 2 threads |\n" in text
    readme = (bench / "README.md").read_text()
    means = {s["direction"]: s["means"] for s in measured["summary"]["sections"] if s["threads"] == 1}["forward"]
    assert f"(geometric means of {means['PyTorch'][1]}, " in readme and readme.count("- **Fast.**") == 1
    drawn = {path.name: path.read_text() for path in (bench / "docs" / "images").iterdir()}
    assert set(drawn) == {f"{name}-{theme}.svg" for name in ("windows", "copy") for theme in ("light", "dark")}
    assert all("</svg>" in svg for svg in drawn.values()) and len(set(drawn.values())) == 4

    done = run(bench, "scripts/compare_page.py", "--beside", "avx2", "out.json")
    assert done.returncode == 0, done.stderr
    for name, mark, was in (("performance.md", "measured-avx2", text), ("performance-tables.md", "totals-avx2", tables)):
        begin = f"<!-- {mark}: begin -->"
        beside = (bench / "docs" / name).read_text()
        assert beside.split(begin)[0] == was.split(begin)[0]
        assert f"{measured['processor']}, target {measured['target']}" in beside.split(begin)[1]


def test_parts_can_be_measured(bench):
    done = compare(bench, "--peers", "", "--threads", "1", "--groups", "networks,backward", "--only", "k3x3s2")
    assert done.returncode == 0, done.stderr
    results = json.loads((bench / "out.json").read_text())["results"]
    assert [r["problem"] for r in results] == [
        "max:f32:8x64x112x112:k3x3s2p1",
        "max:f32:8x64x112x112:k3x3s2p1:backward",
        "avg:f32:8x64x112x112:k3x3s2p1:backward",
    ]
    assert "NOTHING VERIFIES max:f32:8x64x112x112:k3x3s2p1:backward" in done.stderr
    done = compare(bench, "--groups", "nets")
    assert done.returncode != 0 and "no group nets in the suite" in done.stderr


def test_a_wrong_result_of_oriel_is_not_timed(bench):
    spoil(
        bench / "bench" / "compare.py", "lambda: pool(x, out=y), lambda: y)", "lambda: pool(x, out=y), lambda: y + 1)"
    )
    done = compare(bench, "--peers", "", "--threads", "1")
    assert done.returncode != 0 and "is not what its window holds" in done.stderr, done.stderr
    assert not (bench / "out.json").exists()


def test_other_values_and_missing_peers_are_said(bench):
    spoil(
        bench / "bench" / "peers" / "torch.py",
        "return array(problem, made.reshape(out.shape))",
        "return array(problem, made.reshape(out.shape)) + 1",
    )
    done = compare(bench, "--peers", "torch,nonesuch", "--threads", "1", "--groups", "networks")
    assert done.returncode == 0, done.stderr
    results = json.loads((bench / "out.json").read_text())["results"]
    assert all(r["left_out"]["PyTorch"] == "gives other values" and "PyTorch" not in r["times"] for r in results)
    assert "NONESUCH IS NOT HERE" in done.stderr
    assert "LEFT OUT PyTorch: gives other values (4 problems" in done.stdout


def test_a_peer_that_dies_costs_one_problem(bench):
    spoil(
        bench / "bench" / "peers" / "torch.py",
        "    x = tensor(problem, x)\n",
        "    x = tensor(problem, x)\n    if problem.name.endswith('out6x6'):\n        import os\n        os.abort()\n",
    )
    done = compare(bench, "--peers", "torch", "--threads", "1", "--groups", "networks,memory")
    assert done.returncode == 0, done.stderr
    whole = json.loads((bench / "out.json").read_text())
    assert len(whole["results"]) == 6 and whole["killed"] == 1
    assert "SIGNAL 6 ENDED PROBLEM 4 OF THE SUITE" in done.stderr


def measured(problem, **milliseconds):
    times = {name: {"seconds": value / 1000} for name, value in milliseconds.items()}
    return {
        "group": "g",
        "problem": problem,
        "threads": 1,
        "bytes": 8,
        "stored_bytes": 4,
        "times": times,
        "other_layout": ["blocked"],
        "left_out": {},
    }


def test_summary_counts_only_peers_of_the_same_layout(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from summary import best_peer, summarise

    results = [measured("a", Oriel=2, copy=1, slow=8, blocked=1), measured("b", Oriel=4, copy=1, slow=2, blocked=8)]
    assert [best_peer(result) for result in results] == ["slow", "slow"]
    summary = summarise({"results": results})
    assert summary["slower"] == [[2.0, "b", 1, "slow", 4.0]]
    (section,) = summary["sections"]
    assert section["copy_worst"] == [4.0, "b"] and section["peer_worst"] == [2.0, "b", "slow"]
    assert section["means"]["slow"] == (pytest.approx(2**0.5), 2)
    assert section["means"]["blocked"] == (pytest.approx(1.0), 2)


def test_stored_codes_are_beside_peers_that_follow_indices(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from summary import STORED, best_peer, lines, ratio, summarise

    times = {"Oriel": 4, STORED: 1, "copy": 1, "PyTorch": 2, "PyTorch, channels last": 4, "JAX": 3}
    result = measured("max:f32:9:k3:backward", **times)
    assert [ratio(result, name) for name in list(times)[2:]] == [4.0, 0.5, 0.25, pytest.approx(4 / 3)]
    assert best_peer(result) == "JAX"
    summary = summarise({"results": [result]})
    assert [row[3] for row in summary["slower"]] == ["JAX"]
    (section,) = summary["sections"]
    assert section["means"]["PyTorch"] == (2.0, 1) and section["recomputed"]["PyTorch"] == (0.5, 1)
    # A copy of half the bytes, as codes are read for the input, takes half a millisecond.
    assert section["bound_beside_torch"] == pytest.approx(4) and section["bound_recomputed"] == pytest.approx(2)
    assert any("0.50 times as fast as PyTorch if Oriel recomputes maxima" in line for line in lines({"results": [result]}))


def test_several_runs_are_one_of_medians(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from summary import merged, summarise

    runs = [{"results": [measured("a", Oriel=ours, copy=1, peer=peer)]} for ours, peer in ((2, 3), (9, 1), (4, 5))]
    (result,) = merged(runs)["results"]
    assert {name: time["seconds"] for name, time in result["times"].items()} == {
        "Oriel": pytest.approx(0.004),
        "copy": pytest.approx(0.001),
        "peer": pytest.approx(0.003),
    }
    assert runs[0]["results"][0]["times"]["Oriel"]["seconds"] == pytest.approx(0.002)  # the runs stay as they were
    assert len(summarise(merged(runs))["slower"]) == 1


def test_the_suite_can_be_read(monkeypatch):
    """Every name is a problem, of the same size for Python as for the library."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import problems

    suite = problems.read_suite()
    assert 150 <= len(suite) <= 250 and len(set(suite)) == len(suite)
    for group, name in suite:
        problem = problems.parse(name, cropped=group == "views")
        assert group and all(n > 0 for n in problem.output_shape) and problem.bytes > 0
        assert problem.axes == tuple(range(len(problem.shape)))[problem.axes[0] : problem.axes[-1] + 1]
