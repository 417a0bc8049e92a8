"""Draws the pictures of the rules in docs/semantics.md, and of how it is fast, into docs/images.

Usage: rule_pictures.py ORIEL [--check]. ORIEL is the command, which says where windows lie; numbers are those of the page's examples. With
--check nothing is written: files that differ are listed, and the exit status is 1 if there are any.
"""

import sys
from pathlib import Path

import method_pictures
import order_pictures
import geometry_pictures
import pyramid_pictures
import science_pictures
from example_rows import read_examples

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "semantics.md"
IMAGES = ROOT / "docs" / "images"
PICTURES = {
    "rules/legend.svg": geometry_pictures.legend,
    "rules/S1.svg": geometry_pictures.size,
    "rules/S1-shared.svg": geometry_pictures.shared,
    "rules/S2.svg": geometry_pictures.taps,
    "rules/S3.svg": geometry_pictures.nan,
    "rules/S4.svg": geometry_pictures.ties,
    "rules/S5.svg": geometry_pictures.divisor,
    "rules/S6.svg": geometry_pictures.no_tap,
    "rules/S7.svg": order_pictures.rounding,
    "rules/S8.svg": order_pictures.tree,
    "rules/S9.svg": order_pictures.gradient,
    "rules/S10.svg": order_pictures.indices,
    "rules/S11.svg": order_pictures.empty,
    "rules/S12.svg": order_pictures.limits,
    "rules/S13.svg": science_pictures.valid_taps,
    "rules/S14.svg": science_pictures.too_few,
    "rules/S15.svg": science_pictures.result_types,
    "rules/S16.svg": science_pictures.quantiles,
    "rules/S17.svg": science_pictures.modes,
    "rules/S18.svg": science_pictures.variances,
    "rules/S19.svg": science_pictures.others,
    "rules/S20.svg": science_pictures.footprints,
    "rules/S21.svg": pyramid_pictures.levels,
    "rules/S22.svg": pyramid_pictures.coordinates,
    "explain/fold.svg": method_pictures.fold,
    "explain/blocks.svg": method_pictures.blocks,
    "explain/doubling.svg": method_pictures.doubling,
}


def drawn(oriel, page=PAGE):
    """The text of every picture, by its path in docs/images."""
    examples = read_examples(page)
    return {path: draw(oriel, examples).finish() for path, draw in PICTURES.items()}


def main():
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    stale = []
    for path, text in drawn(arguments[0]).items():
        file = IMAGES / path
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if "--check" not in sys.argv:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"docs/images/{path}")
    sys.exit(1 if stale and "--check" in sys.argv else 0)


if __name__ == "__main__":
    main()
