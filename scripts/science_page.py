#!/usr/bin/env python3
"""Writes what bench/science.py measured into docs/performance-science.md. Usage: science_page.py RESULTS.json"""

import json
import sys
from pathlib import Path

from marked_part import write_marked_parts

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance-science.md"
TITLES = {
    "medians": "Medians and percentiles of images",
    "blocks": "Blocks of volumes",
    "modes": "Modes of labels",
    "moments": "Variances and thresholds",
    "footprints": "Footprints and top-hats",
}
NO_REASON = "not known yet"


def number(value):
    """Three digits; below a hundredth as 1/n, as goals are written."""
    if value < 0.1:
        return f"1/{1 / value:.0f}" if value > 0 else "0"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def milliseconds(seconds):
    return f"{1e3 * seconds:.3f}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def peers_of(result):
    """The names of the peers, the fastest first."""
    return sorted(
        (name for name in result["times"] if name not in ("Oriel", "copy")),
        key=lambda name: result["times"][name]["seconds"],
    )


def ratio(result, name):
    return result["times"]["Oriel"]["seconds"] / result["times"][name]["seconds"]


def wanted(goal):
    name, most = goal["goal"].split("<=")
    return f"{name if name != 'best' else 'fastest peer'} {most}"


def reached(goal, mark="**{}**"):
    """The ratio, marked if it misses the goal."""
    if goal["met"] is None:
        return "no peer"
    return number(goal["ratio"]) if goal["met"] else mark.format(number(goal["ratio"]))


def verdict(goal):
    """A goal, and what was reached."""
    return f"{wanted(goal)}: {reached(goal, '{} **missed**')}"


def verdicts(result):
    return "; ".join(map(verdict, result["goals"]))


def by_target(whole):
    """target -> {problem: result}, the processor's best instruction set first."""
    found = {}
    for result in whole["results"]:
        found.setdefault(result["target"], {})[result["problem"]] = result
    return found


def head(whole):
    versions = ", ".join(f"{name} {version}" for name, version in whole["versions"].items() if version)
    missing = ", ".join(name for name, version in whole["versions"].items() if not version)
    clock = {"cpu": "processor time", "wall": "time by the clock"}[whole["clock"]]
    yield f"{whole['processor']}, one thread of one processor, {clock}; load average {whole['load'][0]:.1f} at the start and {whole['load'][1]:.1f} at the end; {versions}."
    yield f" **Not there: {missing}.**\n" if missing else "\n"
    if max(whole["load"]) > 1.5:
        yield "\nOther work ran on the machine: of these numbers trust the ratios, which are of one run, not the times.\n"
    if whole["quick"]:
        yield "\n**Small arrays: these numbers say that the benchmark works, nothing of speed.**\n"


def group_table(group, targets):
    best, *others = targets.values()
    yield f"\n### {TITLES.get(group, group.capitalize())}\n\n"
    columns = "".join(f" {target}: ms | times a copy | goals |" for target in list(targets)[1:])
    yield f"| problem | ms | times a copy | fastest peer | its ms | goals | other peers, times Oriel's time |{columns}\n"
    yield "|---|--:|--:|---|--:|---|---|" + "--:|--:|---|" * len(others) + "\n"
    for problem, result in best.items():
        if result["group"] != group:
            continue
        names = peers_of(result)
        ours, fastest = result["times"]["Oriel"]["seconds"], names[0] if names else ""
        beside = milliseconds(result["times"][fastest]["seconds"]) if fastest else ""
        rest = ", ".join(f"{name} {number(1 / ratio(result, name))}" for name in names[1:])
        row = f"| `{problem}` | {milliseconds(ours)} | {number(ratio(result, 'copy'))} | {fastest} | {beside} | {verdicts(result)} | {rest} |"
        for results in others:
            again = results.get(problem)
            row += (
                f" {milliseconds(again['times']['Oriel']['seconds'])} | {number(ratio(again, 'copy'))} | {verdicts(again)} |"
                if again
                else " | | |"
            )
        yield row + "\n"


def collected(whole, key):
    """text -> problems, of what results say of peers."""
    found = {}
    for result in whole["results"]:
        for name, text in result[key].items():
            found.setdefault(f"{name}: {text}", []).append(result["problem"])
    return found


def tables(whole):
    yield from head(whole)
    yield "\nGoals are Oriel's time in times of the peer's or of a copy of the bytes that must move; what was reached stands behind the colon.\n"
    targets = by_target(whole)
    for group in dict.fromkeys(result["group"] for result in whole["results"]):
        yield from group_table(group, targets)
    yield "\nWhat was compared with a known difference:\n\n"
    for text, problems in sorted(collected(whole, "differences").items()):
        yield f"- {text} ({len(set(problems))} problem{'s' if len(set(problems)) > 1 else ''})\n"
    left = collected(whole, "left_out")
    if left:
        yield "\nWhat was left out:\n\n"
    for text, problems in sorted(left.items()):
        yield f"- {text}: {', '.join(f'`{problem}`' for problem in dict.fromkeys(problems))}\n"


def missed(whole):
    """reason -> texts of the goals that are not met with all instruction sets."""
    found = {}
    targets = list(by_target(whole).values())
    for problem, result in targets[0].items():
        for place, goal in enumerate(result["goals"]):
            goals = [results[problem]["goals"][place] for results in targets if problem in results]
            if not all(each["met"] for each in goals):
                ratios = ", ".join(map(reached, goals))
                found.setdefault(result["reason"] or NO_REASON, []).append(f"`{problem}` {wanted(goal)}: {ratios}")
    return found


def count_line(whole):
    for target, results in by_target(whole).items():
        goals = [goal for result in results.values() for goal in result["goals"]]
        met = sum(goal["met"] is True for goal in goals)
        without = sum(goal["met"] is None for goal in goals)
        yield f"- {target}: {met} of {len(goals)} goals met{f', {without} without a peer that could be measured' if without else ''}.\n"


def summary(whole):
    yield from count_line(whole)
    lost = missed(whole)
    if not lost:
        return
    yield f"\nGoals that are not met, what was reached with {' and with '.join(by_target(whole))} (a miss is bold), and why:\n\n"
    for reason, goals in lost.items():
        yield f"- ({reason}): {'; '.join(goals)}.\n"


def main():
    whole = json.loads(Path(sys.argv[1]).read_text())
    write_marked_parts(PAGE, {"goals": summary(whole), "science": tables(whole)})


if __name__ == "__main__":
    main()
