#!/usr/bin/env python3
"""Writes what bench/matte.py measured into docs/portrait.md. Usage: matte_page.py RESULTS.json"""

import json
import sys
from pathlib import Path

from marked_part import write_marked_parts

ROOT = Path(__file__).resolve().parents[1]
MASKS = {"mask": "the mask, enlarged", "fast": "`--matte fast`", "fine": "`--matte fine`"}


def mean(rows, key):
    return sum(row[key] for row in rows) / len(rows)


def errors(rows):
    return f"{mean(rows, 'sad'):.2f} | {mean(rows, 'mse'):.1f} | {mean(rows, 'gradient') * 1e3:.1f}"


def lines(found):
    """The section's tables."""
    threads = f"{found['threads']} thread{'s' if found['threads'] > 1 else ''}"
    yield (f"\nMeasured by bench/matte.py: {found['count']} images of 512x512 pixels with exact alpha (hair, curls, fur, fingers, rods, soft edges) before real photographs; errors over pixels within "
           "12 of mixed ones: sum of absolute differences (thousands), mean square (thousandths), sum of squared differences of gradients; mean distance between outlines. Oriel's times, for cutting out and colours, are medians of 5 runs, "
           "PyMatting's, for alpha alone, of one run; means over images, "
           f"{threads}, while other programs were running.\n\n")
    yield "| from a mask of 256x256 cells | SAD | MSE | gradient | outline, pixels | time |\n|---|--:|--:|--:|--:|--:|\n"
    for method, rows in found["masks"].items():
        spent = "" if method == "mask" else f"{mean(rows, 'seconds') * 1e3:.0f} ms"
        yield f"| {MASKS[method]} | {errors(rows)} | {mean(rows, 'outline'):.2f} | {spent} |\n"
    yield "\n| from the same trimap | SAD | MSE | gradient | time |\n|---|--:|--:|--:|--:|\n"
    for method, rows in found["trimaps"].items():
        yield f"| {'`--trimap`' if method == 'Oriel' else method} | {errors(rows)} | {mean(rows, 'seconds') * 1e3:.0f} ms |\n"
    kinds = list(dict.fromkeys(row["kind"] for row in next(iter(found["trimaps"].values()))))
    yield f"\n| SAD from the same trimap | {' | '.join(kinds)} |\n|---|{'--:|' * len(kinds)}\n"
    for method, rows in found["trimaps"].items():
        values = [mean([row for row in rows if row["kind"] == kind], "sad") for kind in kinds]
        yield f"| {'`--trimap`' if method == 'Oriel' else method} | {' | '.join(f'{v:.2f}' for v in values)} |\n"
    yield "\nMean difference of the person's colours from the true ones in mixed pixels, of 255: "
    yield "; ".join(f"{'`oriel-portrait`' if method == 'Oriel' else method} {value:.1f}" for method, value in found["colours"].items()) + ".\n"
    if found["photographs"]:
        yield ("\nOutlines beside those drawn by hand (apps/portrait/training/photographs.json), mean distance in pixels of an image whose longer side is 512; the masks are those of MediaPipe's selfie "
               "model, 256x256. Drawn outlines are themselves straight between points some ten pixels apart.\n\n"
               "| photograph | mask, enlarged | `--matte fast` | `--matte fine` | time of fine |\n|---|--:|--:|--:|--:|\n")
        for row in found["photographs"].values():
            yield f"| {row['title']} | {row['mask']:.1f} | {row['fast']:.1f} | {row['fine']:.1f} | {row['fine_seconds'] * 1e3:.0f} ms |\n"
    yield "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    write_marked_parts(ROOT / "docs" / "portrait.md", {"matte": lines(found)})


if __name__ == "__main__":
    main()
