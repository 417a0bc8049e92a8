#!/usr/bin/env python3
"""Counts how the instructions of long windows grow with them, and what a NaN or a negative zero adds.

Usage: growth.py PROGRAM [--full] [--only WORD] [--all] [--part N] [--seconds N]. PROGRAM is build/bin/oriel_count_instructions.
Operations, directions and rules for NaN are counted at three sizes, each four times the one before, with windows as long
as a part of the row: with --full each with each, else every seventeenth of these. Ends with 1 if the largest size takes more
than MOST times the one before (n log k is 4.5 to 5.5, n k is 16), or an input with special values more than SPECIAL times
one without, and with 77 if nothing can be counted here. --all prints every number.
"""

import argparse
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import callgrind

MOST = 8.0  # gradients of adaptive averages take 7.6 in the last step (4.0 in the one before), others of the sample 7 at most
SPECIAL = 3.0
SIZES = (2048, 8192, 32768)

OPS = ("max", "min", "sum", "avg", "lp1", "lp2", "lp3", "lpinf")
# What follows the shape; sizes are fractions of n.
WINDOWS = (
    "global",
    "k{n/2}s1",
    "k{n/2-1}s1",
    "k{n/2}s2",
    "k{n/2-1}s3",
    "k{n/2}s{n/16}",
    "k{n/4}s{n/8}",
    "k{n/4}s{n/4}",
    "k{n/64}s1",
    "k{n/8-1}s1d4",
    "k{n/8-1}s3d4",
    "k{n/2}s1p{n/4}",
    "k{n/2-1}s3p{n/4}",
    "out3",
    "out{n/64+1}",
)
# Shapes of n places along the pooled axis (with few others, so that the work is of windows), and axes.
LINES = ("3x{n}:axes1", "{n}x16:axes0", "{n}x3:axes0", "{n}x2x8:axes0")
# Pools of two or three axes, one of which has long windows.
PLANES = (
    "4x{n}:k2x{n/2}s1",
    "4x{n}:k2x{n/2-1}s1x3",
    "4x{n}:global",
    "{n}x64:k{n/2}x2s1",
    "{n}x64:k{n/2-1}x2s3x1",
    "{n}x48:k{n/2-1}x3s5x1",
    "{n}x64:global",
    "{n}x60:out3x2",
    "{n}x64:k{n/4}x2s{n/4}x2",
    "3x{n}x64:k2x{n/2}x2s1",
    "{n}x3x64:k{n/2}x2x2s1",
    "{n}x3x64:k{n/2-1}x2x2s3x1x1",
    "{n}x3x32:k{n/2-1}x2s1:axes0,1",
)


def directions(op):
    """The words that say how a pool is called, of those that the op has."""
    yield from ("", ":omit", ":backward", ":omit:backward")
    if op in ("max", "min"):
        yield from (":indices", ":omit:indices", ":indices:backward")


def names():
    """All problems, with {n/2} and the like in them."""
    for op in OPS:
        often = op in ("max", "lp3")  # the others share their ways with one of these
        for direction in directions(op):
            for window in WINDOWS if often else WINDOWS[::2]:
                yield f"{op}:f32:{{n}}:{window}{direction}"
            for plane in PLANES if often else PLANES[::4]:
                yield f"{op}:f32:{plane}{direction}"
            for line in LINES if often else LINES[::3]:
                shape, _, axes = line.partition(":")
                for window in WINDOWS[::3]:
                    yield f"{op}:f32:{shape}:{window}:{axes}{direction}"
    for window in WINDOWS + PLANES[::3]:
        shape = "" if window in PLANES else "{n}:"
        yield f"sum:f32:{shape}{window}@user"
    for dtype in ("f16", "f64", "u8", "i64"):
        for window in WINDOWS[:4]:
            yield from (
                f"{word}:{dtype}:{{n}}:{window}" for word in ("max", "sum", "lpinf")
            )
            yield f"max:{dtype}:{{n}}:{window}:indices"


# What was quadratic once, and is counted always.
ALWAYS = (
    "max:f32:{n}:global",
    "max:f32:{n}:global:indices",
    "max:f32:{n}:global:backward",
    "max:f32:{n}:k{n/2-1}s1",
    "max:f32:{n}:k{n/2}s{n/2}:indices",
    "lpinf:f32:{n}:k{n/2-1}s3",
    "lp3:f32:{n}:k{n/2}s2",
    "avg:f32:{n}:k{n/2-1}s3:omit",
    "max:f32:{n}x64:k{n/2}x2s1:indices",
    "max:f32:{n}x16:k{n/2}s2:axes0",
)


def at_size(name, n):
    """The problem at one size; along other axes as it stands."""
    return re.sub(
        r"\{([^}]*)\}", lambda m: str(eval(m[1].replace("/", "//"), {"n": n})), name
    )  # noqa: S307


def specials(name):
    """The same with special values, if they are looked for."""
    op, dtype = name.split(":")[:2]
    if dtype not in ("f16", "bf16", "f32", "f64") or "@" in name:
        return []
    if op in ("max", "min"):
        return ["@nan", "@zero", "@zeros"]
    return ["@nan"] if "omit" in name or op == "lpinf" else []


def sizes_of(name):
    """The problem at all sizes: smaller ones if there are other axes."""
    shape = name.split(":")[2]
    part = 16 if re.search("x[3-6][0-9]", shape) else 4 if "x" in shape else 1
    return [at_size(name, n // part) for n in SIZES]


def judge(name, counted):
    """One line of text, and whether it is as it should be."""
    sizes = sizes_of(name)
    numbers = [counted.get(s) for s in sizes]
    if None in numbers:
        return f"{sizes[-1]:<56} was not counted in time: {numbers}", False
    grows = [b / a for a, b in zip(numbers, numbers[1:])]
    good = (
        grows[-1] <= MOST and numbers[-1] <= MOST * MOST * numbers[0]
    )  # the smallest may go another way
    text = f"{sizes[-1]:<56} {numbers[-1]:>12}  x{grows[0]:.1f} x{grows[1]:.1f}"
    for data in specials(name):
        ratio = counted.get(sizes[-1] + data, float("inf")) / numbers[-1]
        good = good and ratio <= SPECIAL
        text += f"  {data.partition('@')[2]} {ratio:.2f}"
    return text, good


def look(program, some, seconds):
    """What judge says of each of some problems."""
    wanted = [
        word
        for name in some
        for word in [*sizes_of(name), *(sizes_of(name)[-1] + d for d in specials(name))]
    ]
    counted = callgrind.count(program, wanted, seconds)
    return [judge(name, counted) for name in some]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument(
        "--full", action="store_true", help="every operation with every window"
    )
    parser.add_argument(
        "--only", default="", help="problems with this regular expression"
    )
    parser.add_argument("--all", action="store_true", help="print every number")
    parser.add_argument(
        "--part", type=int, default=20, help="problems that are counted by one process"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=1500,
        help="the longest that a process may take",
    )
    arguments = parser.parse_args()
    everything = list(names())
    some = (
        everything
        if arguments.full
        else list(dict.fromkeys((*ALWAYS, *everything[::17])))
    )
    problems = [
        name for name in some if re.search(arguments.only, at_size(name, SIZES[-1]))
    ]
    bad = 0
    parts = [
        problems[i : i + arguments.part]
        for i in range(0, len(problems), arguments.part)
    ]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            for lines in pool.map(
                lambda some: look(arguments.program, some, arguments.seconds), parts
            ):
                for text, good in lines:
                    bad += not good
                    if arguments.all or not good:
                        print(text, flush=True)
        except callgrind.NotCounted as why:
            print(f"SKIPPED [1] growth: not counted: {why}")
            return callgrind.CANNOT
    print(
        f"growth: {len(problems) - bad} of {len(problems)} problems grow as they should"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
