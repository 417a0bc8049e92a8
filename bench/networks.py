#!/usr/bin/env python3
"""Whole networks before and after `oriel.torch.replace_pooling`. Usage: networks.py OUT.json [--quick] [--only NAME ...] [--settings NAME ...]

The architectures of bench/architectures.py, on one thread, inference and training step; then inference on two threads, with
channels last, and compiled by `torch.compile`. Each setting has a process of its own (bench/network_turns.py), which is kept
to as many processors as the setting has threads.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from report import processor, write_results

TURNS = Path(__file__).with_name("network_turns.py")
SETTINGS = [
    {"name": "one thread", "threads": 1, "layout": "contiguous", "compiled": False, "training": True},
    {"name": "two threads", "threads": 2, "layout": "contiguous", "compiled": False, "training": False},
    {"name": "one thread, channels last", "threads": 1, "layout": "channels last", "compiled": False, "training": False},
    {"name": "one thread, torch.compile", "threads": 1, "layout": "contiguous", "compiled": True, "training": False},
]


def measured(setting, part, options):
    """What a process of its own measures in the setting, or None if this process may not use that many processors."""
    if len(os.sched_getaffinity(0)) < setting["threads"]:
        print(f"networks.py: {setting['name']} is left out: only {len(os.sched_getaffinity(0))} processor may be used", flush=True)
        return None
    words = [sys.executable, TURNS, json.dumps(setting), part, *(["--quick"] if options.quick else []), *options.only]
    done = subprocess.run(words)
    if done.returncode:
        sys.exit(done.returncode)
    found = json.loads(part.read_text())
    part.unlink()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true", help="every network once, without repetitions: for tests")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="these networks alone")
    parser.add_argument("--settings", nargs="+", metavar="NAME", choices=[s["name"] for s in SETTINGS], default=[s["name"] for s in SETTINGS],
                        help="these settings alone")
    options = parser.parse_args()
    kept, head = [], {}
    for i, setting in enumerate(s for s in SETTINGS if s["name"] in options.settings):
        part = measured(setting, options.out.with_name(f"{options.out.name}.{i}"), options)
        if not part:
            continue
        head = {key: part.pop(key) for key in ("target", "versions")}
        kept.append({**setting, **part})
        write_results(options.out, {"processor": processor(), **head, "settings": kept})  # each, so that nothing is lost


if __name__ == "__main__":
    main()
