#!/usr/bin/env python3
"""Checks how long files, functions and classes are. Usage: check_lengths.py [ROOT] [--write].

At most 500 lines for a file, 60 for a C++ function in column 0, 250 for a class: its definition and what is defined of it
elsewhere. What is longer stands in scripts/long_code.txt, a line each with its length, and must not grow; --write writes that file
again. Prints each violation, ends with 1 for any. Relies on clang-format: what a namespace holds begins in column 0.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

MOST = {"file": 500, "function": 60, "class": 250}
LIST = Path("scripts") / "long_code.txt"
FOLDERS = (
    "include",
    "src",
    "reference",
    "cli",
    "python",
    "apps",
    "bench",
    "examples",
    "tests",
    "fuzz",
    "scripts",
)
CPP = {".cc", ".h", ".inl", ".cu", ".cuh"}
SOURCES = CPP | {".py", ".sh", ".def"}
CLASS = re.compile(r"^(?:class|struct) (?:[A-Z_]+ )?(\w+)[^;()]*\{$")
NAME = re.compile(r"([\w:~<>]+|operator\S+)\(")
MEMBER = re.compile(r"(\w+)(?:<[^()]*?>)?::~?\w+$")


def blocks(lines):
    """(first, last) of what stands in column 0 and ends with a brace there, as line numbers from 0."""
    first = None
    for number, line in enumerate(lines):
        if first is None:
            if (
                not line
                or line[0].isspace()
                or line.startswith(("#", "//", "}", "namespace", "extern"))
            ):
                continue
            first = number
        if line.startswith("}"):
            yield first, number
            first = None
        elif line.endswith((";", "}")) and not any(
            x.endswith("{") for x in lines[first:number]
        ):
            first = None  # of one line, or a declaration of several


def measure(root):
    """("file" | "function" | "class", where) -> lines, of everything."""
    lengths = Counter()
    for path in sorted(
        p
        for folder in FOLDERS
        for p in (root / folder).rglob("*")
        if p.suffix in SOURCES
    ):
        name = path.relative_to(root).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        lengths["file", name] = len(lines)
        if path.suffix not in CPP:
            continue
        folder = name.rsplit("/", 1)[0]
        for first, last in blocks(lines):
            head = " ".join(
                line.strip() for line in lines[first : min(last, first + 6)]
            )
            size = last - first + 1
            opening = next(
                (line for line in lines[first:last] if CLASS.match(line)), None
            )
            if opening and "(" not in lines[first]:
                lengths["class", f"{folder} {CLASS.match(opening)[1]}"] += size
                continue
            called = NAME.search(
                re.sub(r"^template <.*?> (?=\w)|__launch_bounds__\(.*?\)", "", head)
            )
            if not called:
                continue
            if size > MOST["function"]:
                lengths["function", f"{name} {called[1]}"] = size
            if member := MEMBER.match(called[1]):
                lengths["class", f"{folder} {member[1]}"] += size
    return lengths


def read(root):
    rows = (
        line.rsplit(" ", 1)
        for line in (root / LIST).read_text().splitlines()
        if line and not line.startswith("#")
    )
    return {tuple(what.split(" ", 1)): int(lines) for what, lines in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "root", nargs="?", default=Path(__file__).resolve().parent.parent, type=Path
    )
    parser.add_argument("--write", action="store_true", help=f"write {LIST}")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    long = {key: lines for key, lines in measure(root).items() if lines > MOST[key[0]]}
    if arguments.write:
        rows = [
            f"{kind} {where} {lines}" for (kind, where), lines in sorted(long.items())
        ]
        (root / LIST).write_text(
            "\n".join(
                [
                    "# What is longer than check_lengths.py allows, in lines. None may grow.",
                    *rows,
                ]
            )
            + "\n"
        )
        return 0
    known = read(root)
    found = 0
    for (kind, where), lines in sorted(long.items()):
        most = known.get((kind, where), MOST[kind])
        if lines > most:
            found += 1
            print(f"{where}: a {kind} of {lines} lines; allowed: {most}")
    for (kind, where), lines in sorted(known.items()):
        if (kind, where) not in long:
            found += 1
            print(
                f"{where}: is no {kind} of more than {MOST[kind]} lines any more: --write takes it off {LIST}"
            )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
