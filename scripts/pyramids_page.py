#!/usr/bin/env python3
"""Writes what bench/pyramids.py measured into docs/performance-science.md. Usage: pyramids_page.py RESULTS.json"""

import json
import math
import sys
from pathlib import Path

import numpy as np

from marked_part import write_marked_parts

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance-science.md"
WAYS = {
    "raw": "means, uncompressed",
    "zstd:1": "means, zstd of level 1",
    "modes": "modes of labels, uncompressed",
    "means": "means of labels, uncompressed",
    "check": "`--check`",
}
OTHERS = {
    "TensorStore, raw": "TensorStore",
    "TensorStore, zstd:1": "TensorStore",
    "cp of level 0": "`cp` of level 0",
    "zstd alone": "compressing the same chunks, without files",
    "Oriel, means of labels": "means of the same labels",
    "cat of all levels": "`cat` of all levels",
}


def number(value):
    """Two or three digits; below a fifth as 1/n, as goals are written."""
    return f"1/{1 / value:.1f}" if value < 0.2 else f"{value:.2f}"


def goal(value):
    return "" if value is None else f"1/{1 / value:.0f}" if value <= 0.2 else f"{value:g}"


def head(whole):
    there = ", ".join(f"{name} {version}" for name, version in whole["versions"].items() if version)
    missing = ", ".join(name for name, version in whole["versions"].items() if not version)
    mebibytes = math.prod(whole["shape"]) * np.dtype(whole["dtype"]).itemsize / 2**20
    shape = "x".join(map(str, whole["shape"]))
    yield f"{whole['processor']}; {shape} {whole['dtype']}, {mebibytes:.0f} MiB, {whole['levels']} levels, {whole['threads']} threads; medians of {whole['repeats']} runs; {there}.\n"
    if missing:
        yield f"**Not there: {missing}.**\n"
    if max(whole["load"]) > whole["threads"] + 1:  # of which the benchmark's own are a part
        yield f"Other work ran on the machine (load average {whole['load'][0]:.1f} at the start, {whole['load'][1]:.1f} at the end): trust the ratios, which are of one run, not the times.\n"


def rows(whole):
    yield "\n| Oriel | ms | beside | its ms | Oriel's time in times of it | goal, at most |\n|---|--:|---|--:|--:|--:|\n"
    for each in whole["goals"]:
        ours = 1e3 * whole["times"][f"Oriel, {each['way']}"]["seconds"]
        name = OTHERS.get(each["other"], each["other"])
        if each["ratio"] is None:
            yield f"| {WAYS[each['way']]} | {ours:.0f} | {name} | | not measured | {goal(each['most'])} |\n"
            continue
        ratio = number(each["ratio"])
        if each["most"] is not None and each["ratio"] > each["most"]:
            ratio = f"**{ratio}**"
        theirs = 1e3 * whole["times"][each["other"]]["seconds"]
        yield f"| {WAYS[each['way']]} | {ours:.0f} | {name} | {theirs:.0f} | {ratio} | {goal(each['most'])} |\n"


def memory(whole):
    peaks = ", ".join(f"{WAYS[way]} {bytes_ / 2**20:.0f} MiB" for way, bytes_ in whole["memory"].items())
    most = whole["most_memory"]
    missed = "" if max(whole["memory"].values()) <= most else "**missed** "
    yield f"\nMost memory of the process, program and libraries included: {peaks}; {missed}goal: at most {most / 2**20:.0f} MiB.\n"
    copy = whole["times"].get("cp of compressed levels")
    if copy:
        alone, ours = (1e3 * whole["times"][name]["seconds"] for name in ("zstd alone", "Oriel, zstd:1"))
        sum_ = alone + 1e3 * copy["seconds"]
        yield f"The compressor alone writes no files. A `cp` of the compressed levels takes {1e3 * copy['seconds']:.0f} ms: Oriel takes {number(ours / sum_)} times as long as both.\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    whole = json.loads(Path(sys.argv[1]).read_text())
    write_marked_parts(PAGE, {"pyramids": [*head(whole), *rows(whole), *memory(whole)]})


if __name__ == "__main__":
    main()
