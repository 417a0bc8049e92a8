#!/usr/bin/env python3
"""Counts the instructions of the problems of bench/instructions.txt and compares with the numbers there.

Usage: instructions.py PROGRAM [--write] [--budget FILE]. PROGRAM is build/bin/oriel_count_instructions. Ends with 1
where a problem needs a tenth more than its number, and with 77 where nothing can be counted here. `--write` stores what was counted.
Valgrind counts the same on every machine and at any load; it knows AVX2, not AVX-512.
"""

import argparse
import sys
from pathlib import Path

import callgrind

BUDGET = Path(__file__).resolve().parents[1] / "bench" / "instructions.txt"
SLACK = 1.10


def read(path):
    """The lines of the budget, and name -> instructions (None where no number was stored yet)."""
    lines, budget = path.read_text().splitlines(), {}
    for line in lines:
        words = line.partition("#")[0].split()
        if words:
            budget[words[0]] = int(words[1]) if len(words) > 1 else None
    return lines, budget


def count_all(program, names):
    """name -> instructions of one call, of every one."""
    counted = callgrind.count(program, names)
    missing = set(names) - set(counted)
    if missing:
        sys.exit(
            f"instructions: valgrind gave no number for {', '.join(sorted(missing))}"
        )
    return counted


def write(path, lines, counted):
    out = []
    for line in lines:
        words = line.partition("#")[0].split()
        out.append(f"{words[0]:<48} {counted[words[0]]:>12}" if words else line)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text("\n".join(out) + "\n")
    unfinished.rename(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--budget", type=Path, default=BUDGET)
    arguments = parser.parse_args()
    lines, budget = read(arguments.budget)
    try:
        counted = count_all(arguments.program, list(budget))
    except callgrind.NotCounted as why:
        print(f"SKIPPED [1] instructions: not counted: {why}")
        return callgrind.CANNOT
    over = 0
    for name, most in budget.items():
        change = f"{counted[name] / most:6.2f} times its number" if most else "new"
        over += most is not None and counted[name] > SLACK * most
        print(f"{name:<48} {counted[name]:>12}  {change}")
    if arguments.write:
        write(arguments.budget, lines, counted)
        print(f"{arguments.budget} has these numbers now")
        return 0
    if over:
        print(
            f"instructions: {over} of {len(budget)} need more than {SLACK:.2f} times their number of {arguments.budget.name}; where that "
            f"is meant to be: scripts/instructions.py {arguments.program} --write"
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
