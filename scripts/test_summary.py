#!/usr/bin/env python3
"""Says, loudly, what was skipped and why, and how many tests passed. Usage: test_summary.py RESULTS.xml...

The files are what `ctest --output-junit` writes. A pytest or GoogleTest program that skipped a part of its cases but
passed is listed too. Exits 1 when a file is missing, holds no test, or has a failed one.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# What pytest -rs and GoogleTest print about a skipped case: the reason is on the same line, or on the one before.
PYTEST_SKIP = re.compile(r"^SKIPPED \[(\d+)\] (.*)$", re.MULTILINE)
GTEST_SKIP = re.compile(
    r"^(.*:\d+: Skipped\n(?:(?!\[).*\n)+)?\[  SKIPPED \] (\S+) \(", re.MULTILINE
)


def reasons(case):
    """The parts of one CTest test that were skipped, as (count, text)."""
    output = case.findtext("system-out") or ""
    found = [(int(count), text) for count, text in PYTEST_SKIP.findall(output)]
    for message, name in GTEST_SKIP.findall(output):
        lines = [line for line in message.splitlines()[1:] if line.strip()]
        found.append((1, f"{name}: {' '.join(lines) or 'no reason given'}"))
    return found


def summarise(paths):
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    skipped, failed = [], []
    for path in paths:
        if not path.is_file():
            failed.append(f"{path}: no results were written")
            continue
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
        if not cases:
            failed.append(f"{path}: holds no test")
        for case in cases:
            name = f"{path.parent.name}: {case.get('name')}"
            parts = reasons(case)
            status = case.get("status")
            if status == "run":
                totals["passed"] += 1
            elif status in ("notrun", "disabled") or case.find("skipped") is not None:
                totals["skipped"] += 1
                parts = parts or [(1, "no reason given")]
            else:
                totals["failed"] += 1
                failed.append(name)
            skipped += [
                f"{name}: {text}" + (f" ({count} times)" if count > 1 else "")
                for count, text in parts
            ]
    return totals, skipped, failed


def main():
    totals, skipped, failed = summarise([Path(argument) for argument in sys.argv[1:]])
    for title, lines in (
        ("SKIPPED, in whole or in part:", skipped),
        ("FAILED:", failed),
    ):
        if lines:
            print(title)
            print("\n".join(f"  {line}" for line in lines))
    print(", ".join(f"{count} {word}" for word, count in totals.items()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
