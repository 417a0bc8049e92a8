#!/usr/bin/env python3
"""Writes what `oriel bench --json` measured as the table of docs/performance.md. Usage: bench_table.py BENCH.json"""

import json
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def processor():
    text = Path("/proc/cpuinfo").read_text()
    return re.search(r"model name\s*: (.*)", text)[1], len(re.findall(r"^processor", text, re.MULTILINE))


def table(bench):
    name, cores = processor()
    yield f"{name}, {cores} cores, target {bench['target']}, threads used: {bench['threads']}.\n\n"
    yield "| problem | median ms | spread | GB/s | ratio to copy |\n|---|--:|--:|--:|--:|\n"
    for row in bench["results"]:
        yield (f"| `{row['name']}` | {1e3 * row['seconds']:.3f} | {100 * row['spread']:.0f} % | {row['gb_per_s']:.1f} "
               f"| {row['ratio_to_copy']:.2f} |\n")


def main():
    bench = json.loads(Path(sys.argv[1]).read_text())
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + "".join(table(bench)) + END + after)


if __name__ == "__main__":
    main()
