#!/usr/bin/env python3
"""Times two builds of Oriel in turns, a sample of 2 ms of one and then of the other, and prints for each problem the
median of the ratios of two samples that follow each other: what else the machine does slows both of them. Each problem
is made ready several times, since where its memory happens to lie matters to caches.

    scripts/compare_builds.py BEFORE/bin/oriel_timed_calls AFTER/bin/oriel_timed_calls [NAME...]

Without names, the problems of bench/suite.txt. Problems whose ratio passes --doubt are timed again, since other work on
the machine may have hit one build alone. --json keeps every ratio; --page writes them between the markers of a page."""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

from marked_part import write_marked_parts

SUITE = pathlib.Path(__file__).resolve().parent.parent / "bench" / "suite.txt"


def suite():
    lines = (line.split("#")[0].strip() for line in SUITE.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("[")]


class Build:
    """A running oriel_timed_calls, on the same processors as any other: some may be slower than others."""

    def __init__(self, program, threads, target):
        environment = (
            dict(os.environ, ORIEL_TARGET=target) if target else dict(os.environ)
        )
        processors = sorted(os.sched_getaffinity(0))[:threads]
        self.process = subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, processors)), program, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"compare_builds: {self.process.args[3]} ended, see above")
        return answer.strip()

    def sample(self):
        return float(self.ask(""))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def pairs_of(builds, name, setups, rounds):
    """(before, after) in nanoseconds, of samples that followed each other."""
    pairs = []
    for _ in range(setups):
        for build in builds:
            build.ask(name)
        for turn in range(rounds):
            order = builds if turn % 2 == 0 else builds[::-1]
            samples = [build.sample() for build in order]
            pairs.append(tuple(samples if turn % 2 == 0 else samples[::-1]))
    return pairs


def ratio_of(pairs):
    return statistics.median(after / before for before, after in pairs)


def compare(arguments, names, threads, target):
    builds = [
        Build(program, threads, target)
        for program in (arguments.before, arguments.after)
    ]
    pairs = {
        name: pairs_of(builds, name, arguments.setups, arguments.rounds)
        for name in names
    }
    for _ in range(arguments.again):
        for name in names:
            if ratio_of(pairs[name]) > arguments.doubt:
                pairs[name] += pairs_of(
                    builds, name, 2 * arguments.setups, arguments.rounds
                )
    for build in builds:
        build.end()
    return pairs


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary_of(title, ratios):
    above = sum(ratio > 1.05 for ratio in ratios)
    below = sum(ratio < 0.95 for ratio in ratios)
    return (
        f"| {title} | {geometric_mean(ratios):.3f} | {min(ratios):.2f} | {max(ratios):.2f} "
        f"| {above} | {below} | {len(ratios)} |"
    )


def page_of(kept):
    """The text between the markers: a line for each configuration, then every problem, the slowest first."""
    lines = [
        "| instruction set, threads | geometric mean | least | greatest | above 1.05 | below 0.95 | problems |",
        "|---|---|---|---|---|---|---|",
    ]
    columns = {title: {name: row["ratio"] for name, row in rows.items()} for title, rows in kept.items()}
    lines += [summary_of(title, list(rows.values())) for title, rows in columns.items()]
    lines += ["", f"| problem | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    names = next(iter(columns.values()))
    for name in sorted(names, key=lambda n: -geometric_mean([rows[n] for rows in columns.values()])):
        cells = [f"**{rows[name]:.2f}**" if rows[name] > 1.05 else f"{rows[name]:.2f}" for rows in columns.values()]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", nargs="?")
    parser.add_argument("after", nargs="?")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--targets",
        nargs="+",
        default=["AVX3", "AVX2"],
        help="instruction sets, as in ORIEL_TARGET",
    )
    parser.add_argument(
        "--setups", type=int, default=4, help="how often a problem is made ready"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="samples of each build after that"
    )
    parser.add_argument(
        "--doubt", type=float, default=1.04, help="a ratio that is timed again"
    )
    parser.add_argument("--again", type=int, default=3, help="how often")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--from-json", type=pathlib.Path, help="times nothing: writes --page of what --json kept")
    arguments = parser.parse_args()
    if arguments.from_json:
        return write_marked_parts(arguments.page, {"builds": [page_of(json.loads(arguments.from_json.read_text()))]})
    if not arguments.after:
        parser.error("two builds are needed, BEFORE and AFTER")
    names, kept = arguments.names or suite(), {}
    for target in arguments.targets:
        for threads in arguments.threads:
            pairs = compare(arguments, names, threads, target)
            ratios = {name: ratio_of(pairs[name]) for name in names}
            least = {
                name: [min(times) for times in zip(*pairs[name])] for name in names
            }
            kept[f"{target}, {threads} threads"] = {
                name: {
                    "before_ns": least[name][0],
                    "after_ns": least[name][1],
                    "ratio": ratios[name],
                }
                for name in names
            }
            worst = sorted(ratios.items(), key=lambda item: -item[1])
            above = [(name, ratio) for name, ratio in worst if ratio > 1.05]
            print(
                f"{target}, threads {threads}: geometric mean {geometric_mean(ratios.values()):.3f} of {len(ratios)}, "
                f"least {worst[-1][1]:.2f}, greatest {worst[0][1]:.2f}, {len(above)} above 1.05"
            )
            for name, ratio in above:
                print(f"  {ratio:.2f}  {least[name][0] / 1e3:10.1f} us  {name}")
            sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(kept, indent=1) + "\n")
    if arguments.page:
        write_marked_parts(arguments.page, {"builds": [page_of(kept)]})


if __name__ == "__main__":
    main()
