#!/usr/bin/env python3
"""Writes what bench/networks.py measured into docs/performance.md and README.md. Usage: networks_page.py RESULTS.json"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- networks: begin -->\n", "<!-- networks: end -->\n"
IN_README = ("SqueezeNet 1.1", "BN-Inception", "ResNet-50", "SPPF head, 512 channels")


def times(result, of):
    return result[of]["PyTorch"], result[of]["Oriel"]


def speedup(result, of):
    before, after = times(result, of)
    return f"{before / after:.2f}"


def pair(result, of):
    """Both times in milliseconds."""
    before, after = times(result, of)
    digits = 1 if before >= 0.01 else 2
    return f"{1e3 * before:.{digits}f} | {1e3 * after:.{digits}f}"


def table(found):
    """For docs/performance.md: every network, inference and training."""
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in found["versions"].items())
    yield f"{found['processor']}, one thread, target {found['target']}; {versions}; medians of turns. Times in milliseconds.\n\n"
    yield "| network | input | pooling layers | time in pooling | PyTorch | with Oriel | times as fast | step, PyTorch | step, with Oriel | times as fast |\n"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    for r in found["networks"]:
        shape = "x".join(map(str, r["shape"]))
        yield (f"| {r['network']} | {shape} | {r['layers']} | {100 * r['pooling']:.0f} % | {pair(r, 'inference')} | {speedup(r, 'inference')} | "
               f"{pair(r, 'training')} | {speedup(r, 'training')} |\n")


def short_table(found):
    """For README.md: inference of a few networks."""
    yield "| network, inference on one thread | PyTorch's time in pooling | PyTorch | with Oriel's layers | times as fast |\n|---|--:|--:|--:|--:|\n"
    for r in found["networks"]:
        if r["network"] in IN_README:
            before, after = pair(r, "inference").split(" | ")
            yield f"| {r['network']} | {100 * r['pooling']:.0f} % | {before} ms | {after} ms | {speedup(r, 'inference')} |\n"


def replaced(path, lines):
    """Writes the lines between the marks of a page, which appears whole or not at all."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"networks_page: {path} has no {BEGIN.strip()} … {END.strip()}")
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(before + begin + "".join(lines) + end + after, encoding="utf-8")
    unfinished.rename(path)


def main():
    found = json.loads(Path(sys.argv[1]).read_text())
    replaced(ROOT / "docs" / "performance.md", table(found))
    replaced(ROOT / "README.md", short_table(found))


if __name__ == "__main__":
    main()
