#!/usr/bin/env python3
"""Writes what bench/portrait_speed.py measured into docs/portrait.md. Usage: portrait_speed_page.py RESULTS.json"""

import json
import sys
from pathlib import Path

from marked_part import write_marked_parts

PAGE = Path(__file__).resolve().parents[1] / "docs/portrait.md"
BEHIND = {"#00ff00": "a colour", "blur:20": "`blur:20`"}


def table(found):
    models = found["models"]
    yield "| |" + "".join(f" `--model {name}` |" for name in models) + "\n|---|" + "--:|" * len(models) + "\n"

    def row(title, cell):
        return f"| {title} | " + " | ".join(cell(m) for m in models.values()) + " |\n"

    yield row("`image`, 512x600: cutting out", lambda m: f"{1e3 * m['image']['cut']:.0f} ms")
    yield row("the whole program, with starting, loading the network, PNG in and out",
              lambda m: f"{1e3 * m['image']['program']:.0f} ms")
    for key, behind in BEHIND.items():
        yield row(f"`video`, 1280x720, H.264 decoded and encoded, {behind} behind", lambda m, k=key: f"{m['video'][k]['rate']:.0f} frames a second")
    for key, behind in BEHIND.items():
        yield row(f"`pipe`, 1280x720, {behind} behind", lambda m, k=key: f"{m['pipe'][k]['rate']:.0f} frames a second")
    first = next(iter(models.values()))["serve"]
    yield row(f"`serve`, {first['clients']} clients at once for {first['seconds']} s, 512x600 each",
              lambda m: f"{m['serve']['answers']} answers, {m['serve']['errors']} errors; half within {m['serve']['median']:.1f} s, "
                        f"all within {m['serve']['longest']:.1f} s; {m['serve']['memory'] / 1e6:.0f} MB")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    write_marked_parts(PAGE, {"speed": table(found)})


if __name__ == "__main__":
    main()
