"""What became of a peer's cases: how many, how many passed, which differ for a stated reason, which failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """The cases of one operator, or of one of the peer's tests.

    `part` names the section of the page, `subject` the row, `group` the dtypes or the way of running that it is about.
    """

    part: str
    subject: str
    group: str
    cases: int = 0
    passed: int = 0
    differing: int = 0
    known: Counter[str] = field(default_factory=Counter)  # reason -> cases
    failed: list[str] = field(default_factory=list)  # one line for each case

    def add(self, case: str, reasons: set[str], failures: list[str]) -> None:
        """Count a case: failed if anything in it is unexplained, else a known difference if anything is explained."""
        self.cases += 1
        if failures:
            self.failed.append(f"{self.subject} {case}: " + "; ".join(failures))
        elif reasons:
            for reason in sorted(reasons):
                self.known[reason] += 1
            self.differing += 1
        else:
            self.passed += 1


class Tallies:
    """Tallies by name, in the order in which they were first asked for."""

    def __init__(self, part: str) -> None:
        self.part = part
        self._tallies: dict[tuple[str, str], Tally] = {}

    def of(self, subject: str, group: str) -> Tally:
        return self._tallies.setdefault((subject, group), Tally(self.part, subject, group))

    def all(self) -> list[Tally]:
        return list(self._tallies.values())
