#!/usr/bin/env python3
"""Writes what bench/portrait_video.py measured into docs/portrait.md. Usage: portrait_video_page.py RESULTS.json"""

import json
import sys
from pathlib import Path

from marked_part import write_marked_parts

ROOT = Path(__file__).resolve().parents[1]


def table(found):
    """The rows of a scene that stands still, then of those that move."""
    rows = found["steadiness"]
    smooths = sorted((key for key in rows[0] if isinstance(rows[0][key], dict)), key=float)
    if len(smooths) != 2:
        sys.exit(f"portrait_video_page: the results are for --smooth {' '.join(smooths)}; allowed: two values, the first of which is 0")
    plain, smooth = smooths
    yield (
        f"Made by `bench/portrait_video.py`: drawn people with exact alpha in 640x360, {rows[0]['frames']} frames of each of {rows[0]['scenes']} scenes, noise of 4/255 in each sample, the demo model. Within 8 pixels of the "
        "true outline:\n"
        "flicker is the mean absolute difference of alpha between frames, error that from the truth, both in 1/255; lag is the distance in pixels by which the outline is "
        "farther behind than without smoothing.\n\n"
    )
    yield f"| person and background | moves by | flicker without smoothing | with `--smooth {smooth}` | error without | with | lag |\n|---|--:|--:|--:|--:|--:|--:|\n"
    for row in rows:
        before, after = row[plain], row[smooth]
        flicker = [f"{x['flicker']:.2f}" if "flicker" in x else "" for x in (before, after)]
        lag = f"{after['lag']:.2f}" if "lag" in after else ""
        scene = "equally bright" if row["alike"] else "as drawn"
        moves = f"{row['speed']} pixel{'s' * (row['speed'] > 1)} a frame" if row["speed"] else "nothing"
        yield f"| {scene} | {moves} | {flicker[0]} | {flicker[1]} | {before['error']:.1f} | {after['error']:.1f} | {lag} |\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    write_marked_parts(ROOT / "docs/portrait.md", {"steadiness": table(found)})


if __name__ == "__main__":
    main()
