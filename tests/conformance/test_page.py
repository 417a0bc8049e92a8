"""docs/conformance.md is whole: rows of every part, versions, totals and reasons that are used."""

import re
from pathlib import Path

import page
import recorded
import suite_differences
import torch_cases
import torch_differences
from jax_lists import WINDOWS, mapped_axes
from shards import SHARDS

TEXT = recorded.PAGE.read_text(encoding="utf-8")


def test_the_versions_are_those_installed():
    assert f"Made with {page.versions()}." in TEXT


def test_the_totals_are_those_of_the_rows():
    cases, passed, differing, failed = map(
        int, re.search(r"(\d+) cases: (\d+) passed, (\d+) with a known difference, (\d+) failed", TEXT).groups()
    )
    assert [sum(int(row[column]) for row in recorded.rows()) for column in (2, 3, 5)] == [cases, passed, failed]
    assert cases == passed + differing + failed and failed == 0 and "## Failed" not in TEXT


def test_every_operator_and_module_of_pytorch_has_its_rows():
    rows = {tuple(row[:2]) for row in recorded.rows()}
    for info in torch_cases.POOLS:
        for dtype in torch_cases.dtypes_of(info):
            assert (torch_cases.operator_name(info), torch_cases.group_of(dtype)) in rows
    for info in torch_cases.MODULES:
        assert (torch_cases.module_name(info), "float64, float32") in rows


def test_no_pool_of_pytorch_is_left_out():
    offered = {torch_cases.operator_name(info) for info in torch_cases.POOLS}
    assert offered == {torch_cases.operator_name(info) for info in torch_cases.op_db if "pool" in info.name}
    assert len(offered) == 21 and len(torch_cases.MODULES) == 17


def test_every_sample_is_counted():
    # The numbers of PyTorch's lists: shapes x memory formats x arguments.
    counts = {tuple(row[:2]): int(row[2]) for row in recorded.rows()}
    assert counts["max_pool2d", "float64, float32"] == 2 * 1440 and counts["max_pool2d", "integers"] == 5 * 1440
    assert counts["max_pool1d", "float64, float32"] == 2 * 864
    for op in ("add", "max", "min"):
        assert counts[f"testReduceWindow ({op})", "values, compiled"] == len(WINDOWS) == 120
        assert counts[f"testReduceWindow ({op})", "vmap"] == sum(len(mapped_axes(window)) for window in WINDOWS)


def test_every_reason_is_used_and_explained():
    used = {word.split()[1] for row in recorded.rows() for word in row[4].split(",") if word}
    assert used == set(page.LETTERS.values())
    for reason, letter in page.LETTERS.items():
        assert f"- **{letter}**: {reason}." in TEXT
    lists = (torch_differences.REASONS, torch_differences.ACCEPTED, suite_differences.REASONS)
    assert len(page.LETTERS) == sum(map(len, lists))


def test_ctest_runs_every_part():
    listing = (Path(__file__).parent / "CMakeLists.txt").read_text(encoding="utf-8")
    for name in SHARDS:
        assert re.search(rf"\b{name}\b", listing), name
