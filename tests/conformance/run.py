#!/usr/bin/env python3
"""Runs the tests of PyTorch, JAX, SciPy, bottleneck, xarray and Dask with Oriel's functions; prints what came out."""

from __future__ import annotations

import argparse
import sys
import time

import page
import recorded
from shards import SHARDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/conformance.md; needs all parts")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to run, by default everything: {', '.join(SHARDS)}"
    )
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in SHARDS]
    if unknown or (options.write and options.parts):
        parser.error(f"no such part: {', '.join(unknown)}" if unknown else "--write runs all parts")
    tallies = []
    for name in options.parts or SHARDS:
        started = time.monotonic()
        for tally in SHARDS[name]():
            tallies.append(tally)
            print(page.row(tally))
            for line in tally.failed[:5]:
                print(f"    failed: {line}")
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    print(page.totals(tallies))
    if options.write:
        recorded.PAGE.write_text(page.render(tallies), encoding="utf-8")
    return 1 if any(tally.failed for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
