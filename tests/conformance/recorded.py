"""docs/conformance.md as it is, read back by the tests."""

from __future__ import annotations

from pathlib import Path

from tally import Tally

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"


def rows() -> list[list[str]]:
    """The cells of all rows of all tables."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| ") and line.count("|") == 7 and not line.startswith(("| Test |", "| --- |"))
    ]


def counts() -> set[tuple[str, str, int, int]]:
    """Of each row what is the same on every machine: how often a peer's rounding differs depends on its vectors."""
    return {(subject, group, int(cases), int(failed)) for subject, group, cases, _, _, failed in rows()}


def counts_of(tally: Tally) -> tuple[str, str, int, int]:
    """The same of what has just been run."""
    return tally.subject, tally.group, tally.cases, len(tally.failed)
