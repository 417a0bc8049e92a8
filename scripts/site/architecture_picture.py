#!/usr/bin/env python3
"""Draws docs/images/architecture/parts.svg: the parts of Oriel and the layers that scripts/check_floors.py enforces.

Usage: architecture_picture.py [--check]. Parts, layers and who may use which part of the top layer are read from check_floors.py
and from the files that it sorts; here are only the words for them, and a part without words is an error. With --check nothing
is written: the exit status is 1 if the picture is out of date.
"""

import sys
from pathlib import Path

from card import MARGIN, WIDTH, Card

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "architecture" / "parts.svg"
sys.path.insert(0, str(ROOT / "scripts"))

import check_floors  # noqa: E402

LAYERS = {
    5: "programs, bindings, tests",
    4: "built on the entry points",
    3: "entry points: check, choose a backend",
    2: "backends; tile language",
    1: "core: what a pool is",
    0: "types",
}
# What a part is called and what is written below it: folders, or the header that a user includes.
WORDS = {
    "tests": ("tests", "tests/"),
    "fuzz": ("fuzzing", "fuzz/"),
    "apps": ("portrait, wasm", "apps/"),
    "cli": ("command", "cli/"),
    "io": ("file formats", "src/io/"),
    "reference": ("reference", "reference/"),
    "python": ("Python", "python/"),
    "bench": ("benchmarks", "bench/"),
    "examples": ("examples", "examples/"),
    "distributed": ("distributed", "src/distributed/"),
    "pyramid": ("pyramids", "src/pyramid/"),
    "nn": ("networks", "src/nn/"),
    "c": ("C interface", "src/c/"),
    "pool": ("forward, backward, unpool", "include/oriel/pool.h  src/pool.cc"),
    "cpu": ("CPU backend", "src/cpu/"),
    "cuda": ("CUDA backend", "src/cuda/"),
    "tile": ("tile language", "src/tile/"),
    "core": ("windows, tensors, problems", "window.h  reduce.h  tensor.h  problem.h"),
    "types": ("element types, errors, lists of extents", "types.h  executor.h  dtypes.def  ops.def"),
}
GAP = 6


def parts():
    """The parts of each layer: {layer: set of parts}, as check_floors.py sorts the files of the tree."""
    found = {}
    for top in ("include", "src", "reference", "cli", "python", "apps", "bench", "examples", "tests", "fuzz"):
        for file in (ROOT / top).rglob("*"):
            if file.suffix in check_floors.SUFFIXES:
                layer, part = check_floors.part_of(file.relative_to(ROOT).as_posix())
                found.setdefault(layer, set()).add(part)
    return found


def row_of(part):
    """The row of a part in the top layer, counted from below: above all parts that it may use."""
    return 1 + max((row_of(other) for other in check_floors.MAY_USE.get(part, ())), default=-1)


def rows(layer, names):
    """The rows of a layer from above: lists of parts, in the order of WORDS."""
    ordered = sorted(names, key=list(WORDS).index)
    if layer < 5:
        return [ordered]
    return [[name for name in ordered if row_of(name) == number] for number in range(max(map(row_of, names)), -1, -1)]


def below(name):
    """The third line of a part's box: what it may use of the top layer, or its layers of folders."""
    uses = sorted(check_floors.MAY_USE.get(name, ()), key=list(WORDS).index)
    inside = check_floors.WINGS.get(f"src/{name}", ())
    return f"may use {', '.join(uses)}" if uses else f"{len(inside) + 1} layers inside" if inside else ""


def draw_row(card, y, names):
    """Boxes beside each other, three at most in a line; returns the height below them."""
    for begin in range(0, len(names), 3):
        line = names[begin : begin + 3]
        width = (WIDTH - 2 * MARGIN - GAP * (len(line) - 1)) / len(line)
        height = 58 if any(map(below, line)) else 42
        for number, name in enumerate(line):
            x = MARGIN + number * (width + GAP)
            card.box(x, y, width, height, "band" if name == "pool" else "input")
            for (words, kind), down in zip(((WORDS[name][0], "bold"), (WORDS[name][1], "name"), (below(name), "small")), (18, 34, 50), strict=True):
                if words:
                    card.text(x + width / 2, y + down, words, kind, "middle")
        y = card.down(GAP)
    return y


def draw():
    found = parts()
    if set(found) != set(LAYERS):
        sys.exit(f"architecture_picture.py: layers {sorted(found)} of check_floors.py have no words here")
    listed = "; ".join(f"layer {layer}: {', '.join(WORDS[name][0] for row in rows(layer, found[layer]) for name in row)}" for layer in sorted(found, reverse=True))
    card = Card("The parts of Oriel in layers", f"From the top: {listed}. A file includes files of its own part and of lower layers only.")
    for layer in sorted(found, reverse=True):
        y = card.down(24 if card.body else 14)
        card.text(MARGIN, y, f"{layer}   {LAYERS[layer]}", "head")
        y += 8
        for names in rows(layer, found[layer]):
            y = draw_row(card, y, names)
    y = card.down(26)
    card.arrow(MARGIN + 6, y - 12, MARGIN + 6, y + 24)
    card.text(MARGIN + 22, y, "A file includes files of its own part and of", "dim")
    card.text(MARGIN + 22, y + 18, "lower layers; in layer 5 also what is named.", "dim")
    return card.finish()


def main():
    text = draw()
    current = PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == text
    if sys.argv[1:] == ["--check"]:
        if not current:
            print(f"{PICTURE.relative_to(ROOT)} is out of date; python3 scripts/site/architecture_picture.py draws it")
        sys.exit(0 if current else 1)
    if sys.argv[1:]:
        sys.exit(__doc__)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
