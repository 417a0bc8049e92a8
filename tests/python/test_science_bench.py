"""bench/science.py measures what it verified, leaves out what differs and says so; goals are judged; its page shows what it stored."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = """# a comment
[medians]
median:u8:1024x1024:k3s1p1                        SciPy<=1000 ; slow
median:f32:1024x1024:k5s1p2                       best<=1/1000000 nobody<=1 ; no one is so fast
median_mean:f32:256x256:k3s1p1:omit content:nan   copy<=1000000
q0.9scipy:u8:1024x1024:k5s1p2                     SciPy<=1000
[blocks]
avg:f32:16x64x64:k2:omit          content:nan     NumPy<=1000
avg:f32:16x64x64:k1x2x2:mask                      NumPy<=1000
median:u8:16x64x64:k2                             NumPy<=1000
mode:u64:16x64x64:k3:ceil         content:labels  copy<=1000000
[others]
var:f32:256x256:k9s1p4                            SciPy<=1000
max:u8:256x256:k11s1p5:disk5                      SciPy<=1000
min:u8:256x256:k9s1p4             as:white_tophat SciPy<=1000
"""


@pytest.fixture
def bench(tmp_path):
    """The scripts with pages beside them, and a suite of few problems."""
    shutil.copytree(ROOT / "bench", tmp_path / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    for folder, name in (("scripts", "science_page.py"), ("scripts", "marked_part.py"), ("docs", "performance-science.md")):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(ROOT / folder / name, tmp_path / folder)
    (tmp_path / "suite.txt").write_text(SUITE)
    return tmp_path


@pytest.fixture
def of_bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))


def run(folder, *words):
    environment = {name: value for name, value in os.environ.items() if name != "ORIEL_TARGET"}
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=folder, env=environment, capture_output=True, text=True
    )


def science(folder, *words):
    return run(folder, "bench/science.py", folder / "out.json", "--suite", "suite.txt", "--quick", *words)


def spoil(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


def test_measures_judges_and_writes_the_pages(bench):
    import oriel

    targets = [oriel.supported_targets()[0], *(["AVX2"] if "AVX2" in oriel.supported_targets()[1:] else [])]
    done = science(bench, "--peers", "scipy,numpy")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in bench.iterdir()} == {"bench", "docs", "scripts", "suite.txt", "out.json"}
    measured = json.loads((bench / "out.json").read_text())
    assert measured["quick"] and set(measured["versions"]) == {"Oriel", "SciPy", "NumPy"} and len(measured["load"]) == 2
    assert [(r["target"], r["group"]) for r in measured["results"]] == [
        (t, g) for t in targets for g in ["medians"] * 4 + ["blocks"] * 4 + ["others"] * 3
    ]
    for result in measured["results"]:
        times = result["times"]
        assert {"Oriel", "copy"} <= set(times) and not result["left_out"]
        assert ("loops" in result["verified_by"]) == ("as:" not in result["problem"])
        peers = set(times) - {"Oriel", "copy"}
        assert bool(peers) == (not result["problem"].startswith("mode")), result["problem"]
        assert all(0 < time["least"] <= time["seconds"] < 10 for time in times.values())
        for goal in result["goals"]:
            if goal["beside"] is not None:
                assert goal["ratio"] == times["Oriel"]["seconds"] / times[goal["beside"]]["seconds"]
                assert goal["met"] == (goal["ratio"] <= goal["most"])
    million, nobody = measured["results"][1]["goals"]
    assert (million["beside"], million["met"], nobody["met"]) == ("SciPy", False, None)
    assert done.stdout.count("10 goals met, 1 missed, 1 without a peer") == len(targets)
    assert len(targets) == 1 or f"{len(targets) * 10} goals" not in done.stdout  # none for all together
    assert "median:f32:1024x1024:k5s1p2: NO PEER FOR THE GOAL nobody<=1" in done.stderr

    before = (bench / "docs" / "performance-science.md").read_text()
    done = run(bench, "scripts/science_page.py", "out.json")
    assert done.returncode == 0, done.stderr
    page = (bench / "docs" / "performance-science.md").read_text()
    for side, mark in enumerate(("<!-- goals: begin -->", "<!-- science: end -->")):
        assert page.split(mark)[side * -1] == before.split(mark)[side * -1]
    tables = page.partition("<!-- science: begin -->")[2]
    assert all(f"| `{result['problem']}` |" in tables for result in measured["results"])
    assert "Small arrays: these numbers say that the benchmark works" in tables
    assert "mirrored border instead of fewer elements" in tables
    reasons = page.partition("<!-- goals: begin -->")[2].partition("<!-- goals: end -->")[0]
    assert f"- {targets[0]}: 10 of 12 goals met, 1 without a peer that could be measured." in reasons
    assert "(no one is so fast): `median:f32:1024x1024:k5s1p2` fastest peer 1/1000000: **" in reasons
    assert f"nobody 1: {', '.join(['no peer'] * len(targets))}" in reasons and "slow" not in reasons


def test_parts_can_be_measured(bench):
    done = science(bench, "--peers", "", "--targets", "SCALAR", "--groups", "medians,others", "--only", "f32")
    assert done.returncode == 0, done.stderr
    results = json.loads((bench / "out.json").read_text())["results"]
    assert [r["problem"].split(":k")[0] for r in results] == [
        "median:f32:1024x1024",
        "median_mean:f32:256x256",
        "var:f32:256x256",
    ]
    assert {r["target"] for r in results} == {"SCALAR"} and all(r["verified_by"] == ["loops"] for r in results)
    done = science(bench, "--groups", "nets")
    assert done.returncode != 0 and "no group nets in the suite" in done.stderr


def test_a_wrong_result_of_oriel_is_not_timed(bench):
    spoil(
        bench / "bench" / "science.py",
        "lambda: pooled(case, self.x, self.mask, self.y)}",
        "lambda: pooled(case, self.x, self.mask, self.y) + 1}",
    )
    done = science(bench, "--peers", "", "--targets", "SCALAR")
    assert done.returncode != 0 and "is not what its window holds" in done.stderr, done.stderr
    assert not (bench / "out.json").exists()


def test_other_values_and_missing_peers_are_said(bench):
    spoil(
        bench / "bench" / "science_peers" / "scipy.py",
        "lambda: ndimage.median_filter(x, case.kernel, output=y), lambda made: y,",
        "lambda: ndimage.median_filter(x, case.kernel, output=y), lambda made: y + 1,",
    )
    done = science(bench, "--peers", "scipy,nonesuch", "--targets", "SCALAR", "--only", "median:")
    assert done.returncode == 0, done.stderr
    results = json.loads((bench / "out.json").read_text())["results"]
    assert [result["left_out"].get("SciPy") for result in results] == ["gives other values"] * 2 + [None]
    assert all("SciPy" not in result["times"] for result in results)
    assert "NONESUCH IS NOT HERE" in done.stderr and "NO PEER FOR THE GOAL SciPy<=1000" in done.stderr
    assert "left out: SciPy: gives other values" in done.stdout


def test_a_peer_that_dies_costs_one_problem(bench):
    spoil(
        bench / "bench" / "science_peers" / "scipy.py",
        "    if case.masked or not case.sliding:\n",
        "    if case.op == 'quantile':\n        import os\n        os.abort()\n    if case.masked or not case.sliding:\n",
    )
    done = science(bench, "--peers", "scipy", "--targets", "SCALAR", "--groups", "medians,blocks")
    assert done.returncode == 0, done.stderr
    whole = json.loads((bench / "out.json").read_text())
    assert len(whole["results"]) == 7 and whole["killed"] == 1
    assert "SIGNAL 6 ENDED PROBLEM 4 OF THE SUITE" in done.stderr


def test_peers_that_would_take_too_long_are_not_run(of_bench):
    from science import not_run
    from science_problems import parse

    case = parse("g", "median:u8:64x64:k3s1p1 SciPy<=1")
    why = not_run(case, {"fast": 0.01, "slow": 3.0, "SciPy other": 3.0, "hopeless": 60.0})
    assert why == {
        "slow": "not run: would take about 3.0 s, far more than the fastest peer",
        "hopeless": "not run: would take about 60 s",
    }


def test_goals_are_held_against_those_that_they_name(of_bench):
    from science import judged
    from science_problems import Goal

    times = {
        name: {"seconds": seconds}
        for name, seconds in {"Oriel": 2.0, "copy": 1.0, "A": 8.0, "A other": 4.0, "B": 3.0}.items()
    }
    found = {beside: judged(Goal("", beside, 0.6), times) for beside in ("best", "A", "copy", "C")}
    assert [(goal["beside"], goal["ratio"], goal["met"]) for goal in found.values()] == [
        ("B", pytest.approx(2 / 3), False),
        ("A other", 0.5, True),
        ("copy", 2.0, False),
        (None, None, None),
    ]


def test_known_differences_are_allowed_and_no_others(of_bench):
    from science import agrees
    from science_peers import Rival, as_frequent
    from science_problems import parse

    expected = np.arange(25, dtype=np.uint8).reshape(5, 5)
    made = expected.copy()
    made[0] += 1
    assert not agrees(None, Rival("p", None), made, expected) and agrees(
        None, Rival("p", None, margin=(1, 0)), made, expected
    )
    assert not agrees(None, Rival("p", None), made[1:], expected)
    assert agrees(None, Rival("p", None, absolute=1.0), made, expected) and not agrees(
        None, Rival("p", None, absolute=0.5), made, expected
    )
    nan = np.array([np.nan, 1.0])
    assert agrees(None, Rival("p", None), nan, nan.copy()) and not agrees(
        None, Rival("p", None, absolute=1.0), nan, np.array([0.0, 1.0])
    )
    labels = np.array([[7, 7, 1, 1], [3, 3, 2, 1]], np.uint64)
    rival = Rival("p", None, accepts=as_frequent(parse("g", "mode:u64:2x4:k2"), labels))
    assert agrees(None, rival, np.array([[7, 1]], np.uint64), np.array([[3, 1]], np.uint64))
    assert not agrees(None, rival, np.array([[7, 2]], np.uint64), np.array([[3, 1]], np.uint64))


@pytest.mark.parametrize(
    "line", ["median:u8:9:k3 gibberish", "median:u8:9:k3 as:portrait", "median:u8:9:k3 contents:nan"]
)
def test_lines_that_say_nothing_are_refused(of_bench, line):
    from science_problems import parse

    with pytest.raises(ValueError):
        parse("g", line)


def test_the_suite_can_be_read(of_bench):
    """Every line is a problem of the library, has goals for its numbers, and its arrays can be made small."""
    import science_problems
    from science import quick

    cases = science_problems.read_cases()
    assert 45 <= len(cases) <= 100 and len({case.label for case in cases}) == len(cases)
    from science_peers import ALL

    names = {path.stem for path in (ROOT / "bench" / "science_peers").glob("*.py")} - {"__init__"}
    assert names == set(ALL)
    known = {"best", "copy", "OpenCV", "SciPy", "scikit-image", "xarray"}
    for case in cases:
        assert (
            case.goals
            and {goal.beside for goal in case.goals} <= known
            and all(0 < goal.most <= 2 for goal in case.goals)
        ), case.label
        small = quick(case)
        x, mask = science_problems.contents(small)
        y = science_problems.pooled(small, x, mask)
        assert y.shape == science_problems.output_shape(small) and y.dtype == case.result_dtype
        assert case.filter or science_problems.first_wrong(small, x, mask, y) is None, case.label
