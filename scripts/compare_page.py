#!/usr/bin/env python3
"""Writes what bench/compare.py measured into README.md, docs/performance.md and docs/performance-tables.md and draws plots. Usage: compare_page.py [--beside NAME] RESULTS.json...

Of several runs the pages have the medians, and beside them what each run says by itself. --beside: only the totals, and what is
slower than a peer, between the lines measured-NAME and totals-NAME, as for AVX2 beside AVX-512."""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from marked_part import write_marked_parts, write_whole  # noqa: E402
from summary import NOISE, STORED, backward, best_peer, label, merged, ratio, summarise  # noqa: E402

README = ROOT / "README.md"
PAGE, TABLES = ROOT / "docs" / "performance.md", ROOT / "docs" / "performance-tables.md"
IMAGES = ROOT / "docs" / "images"

TITLES = {
    "networks": "Pools of networks",
    "memory": "More than 100 MB",
    "layouts": "Layouts, channels, small planes",
    "views": "Inner parts of larger arrays",
    "adaptive": "Global and adaptive windows",
    "windows": "Window sizes",
    "dtypes": "Types",
    "reductions": "Other reductions",
    "indices": "Maxima with indices",
    "codes": "Maxima with codes of one byte",
    "backward": "Gradients",
}
INSTRUCTION_SETS = {"AVX3": "AVX-512"}  # where users know another name than Highway's
CURVES = {
    "max, f32": r"max:f32:1080x1920:k(\d+)s1",
    "average, f32": r"avg:f32:1080x1920:k(\d+)s1",
}
DRAWN = [
    "Oriel",
    "OpenCV",
    "SciPy",
    "PyTorch",
    "JAX",
    "onnxruntime",
    "OpenVINO",
    "oneDNN",
    "copy",
]
THEMES = {
    "light": {
        "text": "#1f2328",
        "grid": "#d0d7de",
        "oriel": "#0550ae",
        "copy": "#8c959f",
        "colors": [
            "#bc4c00",
            "#1a7f37",
            "#8250df",
            "#9a6700",
            "#cf222e",
            "#0a7d91",
            "#bf3989",
        ],
    },
    "dark": {
        "text": "#e6edf3",
        "grid": "#3d444d",
        "oriel": "#4493f8",
        "copy": "#9198a1",
        "colors": [
            "#f0883e",
            "#3fb950",
            "#ab7df8",
            "#d29922",
            "#f85149",
            "#39c5cf",
            "#db61a2",
        ],
    },
}


def number(value):
    return (
        ""
        if value is None
        else f"{value:.0f}"
        if value >= 100
        else f"{value:.1f}"
        if value >= 10
        else f"{value:.2f}"
    )


def each_run(runs):
    """What every run says by itself."""
    yield "\nEach run by itself; `slower` counts problems that took longer than the fastest peer:\n\n"
    yield "| run | problems | threads | times a copy: mean | times the fastest peer: worst | slower | times PyTorch |\n"
    yield "|--:|---|--:|--:|--:|--:|--:|\n"
    for run, whole in enumerate(runs, 1):
        for section in summarise(whole)["sections"]:
            kind = (section["threads"], section["direction"] == "backward")
            these = [r for r in whole["results"] if (r["threads"], backward(r)) == kind]
            slower = sum(times_best_peer(r) > NOISE for r in these)
            peer = section.get("peer_worst")
            torch = section["means"].get("PyTorch", (None, 0))[0]
            yield (
                f"| {run} | {section['direction']} | {section['threads']} | {number(section['copy_mean'])} | "
                f"{f'{number(peer[0])} (`{peer[1]}`)' if peer else ''} | {slower} | {number(torch)} |\n"
            )


def times_best_peer(result):
    """Oriel's time in times of the fastest peer's, 0 without one."""
    peer = best_peer(result)
    return ratio(result, peer) if peer else 0


def slower_in(runs, problem, threads):
    """In how many runs a problem took longer than the fastest peer."""
    return sum(
        times_best_peer(r) > NOISE
        for run in runs
        for r in run["results"]
        if label(r) == problem and r["threads"] == threads
    )


def conditions(whole):
    """The machine, the commit and the versions of all libraries."""
    there = ", ".join(f"{name} {version}" for name, version in whole["versions"].items() if version)
    missing = ", ".join(name for name, version in whole["versions"].items() if not version)
    at = f" at commit {whole['commit']}" if whole.get("commit") else ""
    return f"{whole['processor']}, target {whole['target']}{at}; {there}.{f' Not there: {missing}.' if missing else ''}"


def instruction_set(whole):
    return INSTRUCTION_SETS.get(whole["target"], whole["target"])


def peers_of(sections):
    return list(dict.fromkeys(peer for section in sections for peer in section["means"]))


def mean_and_count(means, peer):
    """How many times as fast, and of how many problems."""
    return f"{number(means[peer][0])} ({means[peer][1]})" if peer in means else ""


def short(whole):
    """For users: the machine, and a row for each peer."""
    sections = sorted(summarise(whole)["sections"], key=lambda section: (section["direction"] == "backward", section["threads"]))
    yield f"\n### With {instruction_set(whole)}\n\n{conditions(whole)} Geometric means (number of problems that the library has):\n\n"
    yield "| times as fast as | " + " | ".join(f"{s['direction']}, {s['threads']} thread{'s' if s['threads'] > 1 else ''}" for s in sections)
    yield " |\n|---|" + "--:|" * len(sections) + "\n"
    for peer in peers_of(sections):
        yield f"| {peer} | " + " | ".join(mean_and_count(section["means"], peer) for section in sections) + " |\n"
    yield "\n"


def mean_beside(means, peer):
    return f"{number(means[peer][0])} times as fast" if peer in means else "not measured"


def in_short(whole):
    """The first thing that README.md says."""
    means = next((s["means"] for s in summarise(whole)["sections"] if s["threads"] == 1 and s["direction"] == "forward"), {})
    counts = [str(means[peer][1]) for peer in ("PyTorch", "PyTorch, channels last", "SciPy") if peer in means]
    yield (
        f"- **Fast.** On one thread of a processor with {instruction_set(whole)}, forward pools run {mean_beside(means, 'PyTorch')} as PyTorch's, "
        f"{mean_beside(means, 'PyTorch, channels last')} as those with its channels-last layout and {mean_beside(means, 'SciPy')} as SciPy's "
        f"(geometric means of {', '.join(counts)} problems; [method and tables](docs/performance.md)).\n"
    )


def beside_copy(whole):
    """The first thing that the page says: how far large tensors are from a copy."""
    times = [ratio(r, "copy") for r in whole["results"] if r["threads"] == 1 and r["group"] == "memory"]
    if len(times) < 2:
        return
    low, half, high = statistics.quantiles(times, n=4)
    yield (
        f"Of Oriel's {len(times)} measured forward pools of more than 100 MB, a quarter takes at most {number(low)} times as long as copying the same bytes, half at most "
        f"{number(half)} times, three quarters at most {number(high)} times, on one thread of a processor with {instruction_set(whole)}. Less than the copy is possible, as "
        "a pool reads more than it writes, and a copy as much.\n"
    )


def worst(summary):
    yield "| problems | threads | number | times a copy: mean | worst | times the fastest peer: worst |\n|---|--:|--:|--:|--:|--:|\n"
    for section in summary["sections"]:
        peer = section.get("peer_worst")
        beside = f"{number(peer[0])} ({peer[2]}, `{peer[1]}`)" if peer else ""
        yield (
            f"| {section['direction']} | {section['threads']} | {section['cases']} | {number(section['copy_mean'])} | "
            f"{number(section['copy_worst'][0])} (`{section['copy_worst'][1]}`) | {beside} |\n"
        )


def times_each_peer(summary):
    peers = peers_of(summary["sections"])
    yield "\nHow many times as fast as each peer Oriel is, geometric means (number of problems that the peer has):\n\n"
    yield "| problems | threads | " + " | ".join(peers) + " |\n|---|--:|" + "--:|" * len(peers) + "\n"
    for section in summary["sections"]:
        kinds = [(section["direction"], section["means"])]
        if "recomputed" in section:
            kinds.append((f"{section['direction']}, maxima recomputed", section["recomputed"]))
        for kind, means in kinds:
            yield f"| {kind} | {section['threads']} | " + " | ".join(mean_and_count(means, peer) for peer in peers) + " |\n"


def steps_and_bounds(summary):
    for section in summary["sections"]:
        mean, count = section.get("training", (None, 0))
        if count:
            yield (
                f"\nForward and backward together, {section['threads']} thread{'s' if section['threads'] > 1 else ''}: "
                f"{number(mean)} times as fast as PyTorch ({count} problems).\n"
            )
    for section in summary["sections"]:
        if section["bound_beside_torch"] and section["threads"] == 1:
            again = section.get("bound_recomputed")
            yield (
                f"\n{section['direction'].capitalize()} in the time of a copy of the bytes that must be moved would be "
                f"{number(section['bound_beside_torch'])} times as fast as PyTorch, 1 thread"
                f"{f'; {number(again)} times if maxima are recomputed' if again else ''}.\n"
            )


def slower_table(whole, runs, slower):
    several = len(runs) > 1
    yield f"\n{len(slower)} of {len(whole['results'])} measurements are slower than the fastest peer of the same layout"
    if not slower:
        yield ".\n"
        return
    yield f":\n\n| problem | threads | times the peer | peer |{' in runs |' if several else ''}\n|---|--:|--:|---|{'--:|' if several else ''}\n"
    for times, problem, threads, peer, _ in slower:
        runs_slower = f" {slower_in(runs, problem, threads)} |" if several else ""
        yield f"| `{problem}` | {threads} | {number(times)} | {peer} |{runs_slower}\n"


def totals(whole, runs):
    """For the page of tables: everything that is said of all problems together."""
    summary = summarise(whole)
    yield f"\n### All problems with {instruction_set(whole)}\n\n{conditions(whole)}\n\n"
    yield from worst(summary)
    yield from times_each_peer(summary)
    yield from steps_and_bounds(summary)
    if len(runs) > 1:
        yield from each_run(runs)
    yield from slower_table(whole, runs, summary["slower"])


def group_table(group, results):
    """One row for each problem, with one thread and, where that was measured, with two."""
    rows = {}
    for result in results:
        rows.setdefault(result["problem"], {})[result["threads"]] = result
    yield f"\n## {TITLES.get(group, group.capitalize())}\n\n"
    stored = any(STORED in result["times"] for result in results)
    yield f"| problem | ms |{' stored codes, ms |' if stored else ''} times a copy | fastest peer | times as fast | "
    yield f"PyTorch | two threads, ms |\n|---|--:|{'--:|' if stored else ''}--:|---|--:|--:|--:|\n"
    for problem, by_threads in rows.items():
        result = by_threads[min(by_threads)]
        times, peer = result["times"], best_peer(result)
        torch = number(1 / ratio(result, "PyTorch")) if "PyTorch" in times else ""
        two = (
            f"{1e3 * by_threads[2]['times']['Oriel']['seconds']:.3f}"
            if {1, 2} <= set(by_threads)
            else ""
        )
        by_codes = (
            f" {1e3 * times[STORED]['seconds']:.3f} |"
            if STORED in times
            else " |"
            if stored
            else ""
        )
        yield (
            f"| `{problem}` | {1e3 * times['Oriel']['seconds']:.3f} |{by_codes} {number(ratio(result, 'copy'))} | {peer or ''} | "
            f"{number(1 / ratio(result, peer)) if peer else ''} | {torch} | {two} |\n"
        )


def tables(whole):
    yield "`times as fast` and `PyTorch` say how many times as long as Oriel the peer takes.\n"
    for group in dict.fromkeys(result["group"] for result in whole["results"]):
        yield from group_table(
            group, [result for result in whole["results"] if result["group"] == group]
        )


def dress(look):
    plt.rcParams.update(
        {
            "text.color": look["text"],
            "axes.labelcolor": look["text"],
            "xtick.color": look["text"],
            "ytick.color": look["text"],
            "axes.edgecolor": look["grid"],
            "axes.facecolor": "none",
            "font.size": 10,
            "svg.hashsalt": "oriel",
        }
    )


def save(figure, name, theme):
    path = IMAGES / f"{name}-{theme}.svg"
    write_whole(
        path,
        lambda to: figure.savefig(
            to, format="svg", transparent=True, metadata={"Date": None}
        ),
    )
    plt.close(figure)


def plain(axis, look):
    axis.grid(color=look["grid"], linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def curve(results, pattern, name):
    """(window sizes, milliseconds) of a contender on one thread."""
    points = {}
    for result in results:
        match = re.match(pattern, result["problem"])
        if match and result["threads"] == 1 and name in result["times"]:
            points[int(match[1])] = 1e3 * result["times"][name]["seconds"]
    return sorted(points), [points[k] for k in sorted(points)]


def draw_windows(whole, theme):
    look = THEMES[theme]
    dress(look)
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 4.6), sharey=True, layout="constrained"
    )
    colors = {
        **dict(
            zip(
                [name for name in DRAWN if name not in ("Oriel", "copy")],
                look["colors"],
            )
        ),
        "Oriel": look["oriel"],
        "copy": look["copy"],
    }
    for axis, (title, pattern) in zip(axes, CURVES.items()):
        for name in DRAWN:
            sizes, milliseconds = curve(whole["results"], pattern, name)
            if sizes:
                axis.plot(
                    sizes,
                    milliseconds,
                    color=colors[name],
                    label=name,
                    marker="" if name == "copy" else "o",
                    markersize=4,
                    linewidth=2.6 if name == "Oriel" else 1.4,
                    linestyle="--" if name == "copy" else "-",
                )
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(f"{title}, 1080x1920, one thread")
        axis.set_xlabel("window size, stride 1")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_major_formatter("{x:g}")
        plain(axis, look)
    axes[0].set_ylabel("milliseconds")
    labels = dict(zip(*reversed(axes[0].get_legend_handles_labels()))) | dict(
        zip(*reversed(axes[1].get_legend_handles_labels()))
    )
    if labels:
        figure.legend(
            labels.values(),
            labels.keys(),
            loc="outside lower center",
            ncols=len(labels),
            frameon=False,
        )
    save(figure, "windows", theme)


def draw_copy(whole, theme):
    """Every problem as a point: its time in times of a copy of the same bytes, group by group; PyTorch's beside it."""
    look = THEMES[theme]
    dress(look)
    results = [result for result in whole["results"] if result["threads"] == 1]
    groups = list(dict.fromkeys(result["group"] for result in results))
    figure, axis = plt.subplots(
        figsize=(11, 0.45 * len(groups) + 1.6), layout="constrained"
    )
    for name, color, shift in (
        ("Oriel", look["oriel"], -0.15),
        ("PyTorch", look["colors"][2], 0.15),
    ):
        points = [
            (
                r["times"][name]["seconds"] / r["times"]["copy"]["seconds"],
                groups.index(r["group"]) + shift,
            )
            for r in results
            if name in r["times"]
        ]
        if points:
            axis.scatter(
                *zip(*points), s=14, color=color, alpha=0.75, linewidths=0, label=name
            )
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.axvline(1, color=look["text"], linewidth=1)
    axis.set_yticks(range(len(groups)), [TITLES.get(group, group) for group in groups])
    axis.invert_yaxis()
    axis.set_xlabel(
        "time / time of a copy of the same bytes, one thread; a point is a problem"
    )
    plain(axis, look)
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    save(figure, "copy", theme)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--beside", metavar="NAME")
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS.json")
    arguments = parser.parse_args()
    runs = [json.loads(path.read_text()) for path in arguments.results]
    whole = merged(runs)
    name = f"-{arguments.beside}" if arguments.beside else ""
    write_marked_parts(PAGE, {f"measured{name}": short(whole)} | ({} if name else {"beside-copy": beside_copy(whole)}))
    write_marked_parts(TABLES, {f"totals{name}": totals(whole, runs)} | ({} if name else {"tables": tables(whole)}))
    if name:
        return
    write_marked_parts(README, {"fast": in_short(whole)})
    IMAGES.mkdir(exist_ok=True)
    for theme in THEMES:
        draw_windows(whole, theme)
        draw_copy(whole, theme)


if __name__ == "__main__":
    main()
