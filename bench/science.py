#!/usr/bin/env python3
"""Oriel beside other libraries on the problems of bench/science.txt, and beside the goals that stand there.

Usage: science.py OUT.json [--groups G,…] [--only TEXT] [--peers P,…] [--targets T,…] [--clock cpu] [--quick]

One process for each instruction set, with one processor and one thread, measures all contenders of a problem in turns, after Oriel's
result was compared with loops over some windows and every peer's with Oriel's. Known differences (borders, which median, which of
equally frequent labels) are those that bench/science_peers/ names. Peers that are missing, fail or give other values are said.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from report import processor, write_results

LONGEST = 25.0  # seconds: a peer whose call would take longer is not run, loudly
ONCE = 1.0  # seconds: what takes longer is called once, to verify and time it
HOPELESS = 4  # a peer that would take so many times as long as the fastest one, and more than ONCE, is not run
SLOW = 5  # what takes so many times as long as Oriel, and more than 50 ms, is called in three rounds


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--suite", type=Path, help="another file than bench/science.txt")
    parser.add_argument("--groups", default="", help="only these groups of the suite")
    parser.add_argument("--only", default="", help="only lines that contain this text")
    parser.add_argument("--peers", help="only these peers; empty: none")
    parser.add_argument("--targets", help="instruction sets; else the processor's and AVX2")
    parser.add_argument("--seconds", type=float, default=0.5, help="measure a problem for at least so long")
    parser.add_argument("--rounds", type=int, default=5, help="and at least so many rounds")
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: count processor time, on a machine that others use too",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small arrays, few rounds: shows that it works, not how fast"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def say(text):
    print(text, file=sys.stderr, flush=True)


def keep_to_one_processor():
    """Libraries count the processors that they may use when they are loaded."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")


def failure(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]


def load_peers(wanted):
    """[(word, module)] of those that are there, and name -> version; a missing one is said loudly."""
    from science_peers import ALL

    found, versions = [], {}
    for word in ALL if wanted is None else [w for w in wanted.split(",") if w]:
        try:
            module = importlib.import_module(f"science_peers.{word}")
            versions[module.NAME] = module.load()
            found.append((word, module))
        except Exception as error:  # a broken installation is as good as none
            say(f"science: {word.upper()} IS NOT HERE: {failure(error)}")
            versions[word] = None
    return found, versions


def timed(run, clock):
    start = clock()
    made = run()
    return clock() - start, made


def expected_seconds(case, modules, left_out, clock):
    """name -> about how long a call of a peer takes, from a call on a small part after one to warm up."""
    import math

    from science_problems import contents

    small = case.sized(lambda k, n: min(n, 64))
    share = math.prod(case.geometry.shape) / math.prod(small.geometry.shape)
    x, mask = contents(small)
    found = {}
    for _, module in modules:
        try:
            for rival in module.rivals(small, x, mask):
                rival.run()
                found[rival.name] = min(timed(rival.run, clock)[0] for _ in range(3)) * share
        except Exception as error:
            left_out[module.NAME] = failure(error)
    return found


def not_run(case, expected):
    """name -> why, of peers that would take too long."""
    from science_peers import belongs

    fastest, why = min(expected.values(), default=0.0), {}
    for name, seconds in expected.items():
        if seconds > LONGEST:
            why[name] = f"not run: would take about {seconds:.0f} s"
        elif seconds > ONCE and seconds > HOPELESS * fastest and not any(belongs(name, g.beside) for g in case.goals):
            why[name] = f"not run: would take about {seconds:.1f} s, far more than the fastest peer"
    return why


def agrees(case, rival, made, expected):
    """Whether a peer's result is Oriel's, but for what the peer is known to do otherwise."""
    import numpy as np

    made = np.asarray(rival.result(made))
    if made.shape != expected.shape:
        return False
    inner = tuple(slice(m, n - m) for m, n in zip(rival.margin, made.shape)) if rival.margin else ()
    right = made == expected if rival.accepts is None else rival.accepts(made, expected)
    made, expected, right = made[inner], expected[inner], right[inner]
    if rival.relative == rival.absolute == 0:
        right = right | ((made != made) & (expected != expected))
    else:
        right = right | np.isclose(
            made.astype(np.float64), expected.astype(np.float64), rival.relative, rival.absolute, equal_nan=True
        )
    return right.size > 0 and bool(right.all())


class Verified:
    """Contenders of a case whose results were compared, with the seconds of that first call."""

    def __init__(self, case, modules, keep, clock):
        from science_problems import contents, first_wrong, output_shape, pooled
        from problems import zeros

        self.case, self.left_out, self.differences, self.by = case, {}, {}, []
        self.x, self.mask = contents(case)
        self.y = zeros(output_shape(case), case.result_dtype)
        self.runs = {"Oriel": lambda: pooled(case, self.x, self.mask, self.y)}
        seconds, made = timed(self.runs["Oriel"], clock)
        self.first = {"Oriel": seconds}
        self.results = {"{}": made.copy()}
        if not case.filter:
            wrong = first_wrong(case, self.x, self.mask, made)
            if wrong is not None:
                sys.exit(f"science: {case.label}: Oriel's output {wrong} is not what its window holds")
            self.by.append("loops")
        unwanted = not_run(case, expected_seconds(case, modules, self.left_out, clock))
        self.left_out |= {name: why for name, why in unwanted.items() if keep is None or name in keep}
        for _, module in modules:
            self.take(module, unwanted, keep, clock)

    def take(self, module, unwanted, keep, clock):
        if module.NAME in self.left_out:
            return
        try:
            for rival in module.rivals(self.case, self.x, self.mask):
                if rival.name not in unwanted and (keep is None or rival.name in keep):
                    seconds, made = timed(rival.run, clock)
                    self.compare(rival, seconds, made)
        except Exception as error:
            self.left_out[module.NAME] = failure(error)

    def compare(self, rival, seconds, made):
        from science_problems import pooled

        words = repr(rival.changes)
        if words not in self.results:
            self.results[words] = pooled(self.case, self.x, self.mask, **rival.changes)
        if not agrees(self.case, rival, made, self.results[words]):
            self.left_out[rival.name] = "gives other values"
            return
        self.by.append(rival.name)
        self.first[rival.name], self.runs[rival.name] = seconds, rival.run
        if rival.difference:
            self.differences[rival.name] = rival.difference


def in_turns(runs, first, arguments, clock):
    """name -> seconds of each round. In a round each is called once untimed, as others have used the caches, and then as often as makes
    two milliseconds. What takes longer than ONCE keeps its first call's time, and slow ones take part in few rounds."""
    from timing import seconds_of

    taken = {name: [first[name]] if first.get(name, 0) > ONCE else [] for name in runs}
    slow = {name for name, seconds in first.items() if seconds > max(0.05, SLOW * first["Oriel"])}
    names, calls = [name for name in runs if not taken[name]], {}
    for name in names:
        again = first[name] if name in slow else min(seconds_of(runs[name], 1, clock) for _ in range(3))
        calls[name] = max(1, min(2000, int(2e-3 / max(again, 1e-7))))
    end, done = time.perf_counter() + arguments.seconds, 0
    while done < arguments.rounds or (time.perf_counter() < end and done < 50):
        for name in names:
            if name in slow and len(taken[name]) >= 3:
                continue
            if name not in slow:
                runs[name]()
            taken[name].append(seconds_of(runs[name], calls[name], clock))
        names.append(names.pop(0))
        done += 1
    return taken


def judged(goal, times):
    """A goal and whether it is met: the ratio to the fastest contender that it speaks of."""
    from science_peers import belongs

    ours, any_peer = times["Oriel"]["seconds"], set(times) - {"Oriel", "copy"} if goal.beside == "best" else set()
    named = [name for name in times if name in any_peer or belongs(name, goal.beside)]
    if not named:
        return {"goal": goal.text, "most": goal.most, "beside": None, "ratio": None, "met": None}
    beside = min(named, key=lambda name: times[name]["seconds"])
    ratio = ours / times[beside]["seconds"]
    return {"goal": goal.text, "most": goal.most, "beside": beside, "ratio": ratio, "met": ratio <= goal.most}


def earlier_times(arguments, case):
    """Times of the peers of a case in the first process, which has measured all; {} in that process itself."""
    if not arguments.first:
        return {}
    for result in json.loads(arguments.first.read_text())["results"]:
        if result["problem"] == case.label:
            return {name: time for name, time in result["times"].items() if name not in ("Oriel", "copy")}
    return {}


def needed(case, earlier):
    """The peers that a case's goals speak of, and the fastest: all that another instruction set is held against."""
    from science_peers import belongs

    if not earlier:
        return None
    fastest = min(earlier, key=lambda name: earlier[name]["seconds"])
    return {name for name in earlier if name == fastest or any(belongs(name, goal.beside) for goal in case.goals)}


def measure(case, modules, target, arguments):
    from science_peers import belongs
    from timing import Copy, summary_of

    clock = time.perf_counter if arguments.clock == "wall" else time.process_time
    earlier = earlier_times(arguments, case)
    keep = needed(case, earlier)
    slow = {name: time for name, time in earlier.items() if name in (keep or ()) and time["seconds"] > ONCE}
    contenders = Verified(
        case,
        [m for m in modules if keep is None or any(belongs(name, m[1].NAME) for name in keep)],
        keep and keep - set(slow),
        clock,
    )
    if not contenders.by:
        say(f"science: NOTHING VERIFIES {case.label}")
    moved = case.bytes(contenders.x, contenders.mask, contenders.y)
    runs = {"copy": Copy(moved, 1).alone, **contenders.runs}
    times = {name: summary_of(taken) for name, taken in in_turns(runs, contenders.first, arguments, clock).items()}
    times |= {name: {**time, "earlier": True} for name, time in slow.items()}
    goals = [judged(goal, times) for goal in case.goals]
    for goal in goals:
        if goal["met"] is None:
            say(f"science: {case.label}: NO PEER FOR THE GOAL {goal['goal']}")
    return {
        "group": case.group,
        "problem": case.label,
        "target": target,
        "bytes": moved,
        "verified_by": contenders.by,
        "times": times,
        "goals": goals,
        "reason": case.reason,
        "left_out": contenders.left_out,
        "differences": contenders.differences,
    }


def chosen(arguments):
    from science_problems import SUITE, read_cases

    groups = {word for word in arguments.groups.split(",") if word}
    cases = read_cases(arguments.suite or SUITE)
    unknown = groups - {case.group for case in cases}
    if unknown:
        sys.exit(
            f"science: no group {', '.join(sorted(unknown))} in the suite; there are {', '.join(dict.fromkeys(c.group for c in cases))}"
        )
    cases = [case for case in cases if (not groups or case.group in groups) and arguments.only in case.label]
    return cases or sys.exit(f"science: no problem of the suite has {arguments.only} in its name")


def quick(case):
    """At most 16 blocks or 63 elements beyond the window along each axis."""
    return case.sized(lambda k, n: min(n, 16 * k if case.blocks else 2 * k + 63 if case.filter else k + 63))


def verdict(goal):
    if goal["met"] is None:
        return f"{goal['goal']}: no peer"
    return f"{goal['goal']}: {goal['ratio']:.3g} {'met' if goal['met'] else 'MISSED'}"


def row(result):
    times = result["times"]
    ours = times["Oriel"]
    peers = sorted((name for name in times if name not in ("Oriel", "copy")), key=lambda name: times[name]["seconds"])
    beside = ", ".join(f"{name} {1e3 * times[name]['seconds']:.3g} ms" for name in peers) or "no peer"
    out = "".join(f"\n    left out: {name}: {why}" for name, why in result["left_out"].items())
    return (
        f"{result['target']:<5} {result['problem']:<52} {1e3 * ours['seconds']:9.3f} ms +-{100 * ours['spread']:3.0f} %, "
        f"{ours['seconds'] / times['copy']['seconds']:.2f} x copy; {'; '.join(map(verdict, result['goals']))}; {beside}{out}"
    )


def child(arguments):
    """Measures with one instruction set and stores that."""
    keep_to_one_processor()
    modules, versions = load_peers(arguments.peers)
    import oriel

    oriel.set_threads(1)
    if arguments.quick:
        arguments.seconds, arguments.rounds = 0.0, 2
    results = []
    for case in chosen(arguments)[arguments.skip :]:
        results.append(measure(quick(case) if arguments.quick else case, modules, oriel.active_target(), arguments))
        print(row(results[-1]), flush=True)
        write_results(arguments.out, {"versions": {"Oriel": oriel.__version__, **versions}, "results": results})


def measured_by_children(words, out, target, first):
    """What processes with an instruction set measured. Where a peer's code kills one, another goes on after that problem."""
    part = out.with_name(f"{out.name}.{target}")
    command = [str(part) if word == str(out) else word for word in words]
    whole, skip, killed = {"results": []}, 0, 0
    while True:
        part.unlink(missing_ok=True)
        more = ["--child", target, "--skip", str(skip), *(["--first", str(first)] if first else [])]
        done = subprocess.run([sys.executable, __file__, *command, *more], env={**os.environ, "ORIEL_TARGET": target})
        measured = json.loads(part.read_text()) if part.exists() else {"results": []}
        results = whole["results"] + measured.pop("results")
        whole |= measured | {"results": results}
        part.unlink(missing_ok=True)
        if done.returncode > 0:
            sys.exit(f"science: measuring with {target} ended with {done.returncode}")
        if done.returncode == 0:
            return whole, killed
        killed += 1
        skip = len(results) + killed
        say(f"science: SIGNAL {-done.returncode} ENDED PROBLEM {skip} OF THE SUITE with {target}; the rest goes on")


def instruction_sets(wanted):
    """The processor's best one, and AVX2 where that is another."""
    import oriel

    if wanted:
        return wanted.split(",")
    best, *others = oriel.supported_targets()
    return [best, *(target for target in others if target == "AVX2")]


def totals(results):
    goals = [goal for result in results for goal in result["goals"]]
    missed = sum(goal["met"] is False for goal in goals)
    return f"{sum(goal['met'] is True for goal in goals)} goals met, {missed} missed, {sum(goal['met'] is None for goal in goals)} without a peer"


def main():
    words = sys.argv[1:]
    arguments = arguments_of(words)
    if arguments.child:
        child(arguments)
        return
    whole = {
        "processor": processor(),
        "quick": arguments.quick,
        "clock": arguments.clock,
        "load": [os.getloadavg()[0]],
        "killed": 0,
        "results": [],
    }
    start, first = time.monotonic(), None
    for target in instruction_sets(arguments.targets):
        measured, killed = measured_by_children(words, arguments.out, target, first)
        whole["results"] += measured.pop("results")
        whole["killed"] += killed
        whole |= measured
        whole |= {"load": [whole["load"][0], os.getloadavg()[0]], "minutes": (time.monotonic() - start) / 60}
        write_results(arguments.out, whole)
        first = arguments.out
    for target in dict.fromkeys(result["target"] for result in whole["results"]):
        print(f"== {target}: {totals([r for r in whole['results'] if r['target'] == target])}")
    print(
        f"{whole['minutes']:.1f} minutes; load {whole['load'][0]:.1f} at the start, {whole['load'][1]:.1f} at the end"
    )


if __name__ == "__main__":
    main()
