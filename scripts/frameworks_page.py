#!/usr/bin/env python3
"""Writes what bench/frameworks.py measured into docs/performance-networks.md and draws its two plots. Usage: frameworks_page.py RESULTS.json"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from marked_part import write_marked_parts, write_whole  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance-networks.md"
IMAGES = ROOT / "docs" / "images"

COLUMNS = [
    "Oriel, NumPy",
    "Oriel, PyTorch",
    "PyTorch",
    "Oriel, JAX",
    "JAX",
    "Oriel, Keras",
    "Keras",
]
DRAWN = ["Oriel, PyTorch", "PyTorch", "Oriel, JAX", "JAX"]
THEMES = {
    "light": {
        "text": "#1f2328",
        "grid": "#d0d7de",
        "colors": ["#0550ae", "#d4763b", "#54aeff", "#f0b37e"],
    },
    "dark": {
        "text": "#e6edf3",
        "grid": "#3d444d",
        "colors": ["#4493f8", "#db8a55", "#a5d6ff", "#8a5a3a"],
    },
}


def tables(results):
    versions = ", ".join(
        f"{name} {version}" for name, version in results["versions"].items()
    )
    at = f" at commit {results['commit']}" if results.get("commit") else ""
    yield f"{results['processor']}, one processor, target {results['target']}{at}; {versions}.\n\n"
    yield "A call on a 1x1x8x8 array:\n\n| call | µs |\n|---|--:|\n"
    for name, seconds in results["overhead"].items():
        yield f"| {name} | {1e6 * seconds:.2f} |\n"
    for direction in ("forward", "backward"):
        columns = [
            name
            for name in COLUMNS
            if any(name in case[direction] for case in results["cases"])
        ]
        yield f"\n{direction.capitalize()}, milliseconds (ratio to a copy of the same bytes):\n\n"
        yield (
            "| case | copy | "
            + " | ".join(columns)
            + " |\n|---|--:|"
            + "--:|" * len(columns)
            + "\n"
        )
        for case in results["cases"]:
            seconds = case[direction]
            copy = seconds["copy"]
            cells = [
                f"{1e3 * seconds[name]:.2f} ({seconds[name] / copy:.1f})"
                if name in seconds
                else ""
                for name in columns
            ]
            yield f"| {case['case']} | {1e3 * copy:.2f} | " + " | ".join(cells) + " |\n"


def draw(results, theme):
    look = THEMES[theme]
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
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 4.6), sharey=True, layout="constrained"
    )
    cases = results["cases"]
    for axis, direction in zip(axes, ("forward", "backward")):
        for i, (name, color) in enumerate(zip(DRAWN, look["colors"])):
            ratios = [case[direction][name] / case[direction]["copy"] for case in cases]
            places = [c + (i - 1.5) * 0.2 for c in range(len(cases))]
            bars = axis.barh(places, ratios, 0.19, color=color, label=name)
            axis.bar_label(
                bars, [f"{ratio:.1f}" for ratio in ratios], padding=2, fontsize=8
            )
        axis.set_xscale("log")
        most = max(
            seconds / case[direction]["copy"]
            for case in cases
            for seconds in case[direction].values()
        )
        axis.set_xlim(0.5, 1.6 * most)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.axvline(1, color=look["text"], linewidth=1)
        axis.grid(axis="x", color=look["grid"], linewidth=0.6)
        axis.set_axisbelow(True)
        axis.set_title(direction)
        axis.set_xlabel("time / time of a copy of the same bytes")
        for side in ("top", "right", "left"):
            axis.spines[side].set_visible(False)
    axes[0].set_yticks(range(len(cases)), [case["case"] for case in cases])
    axes[0].invert_yaxis()
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(DRAWN),
        frameon=False,
    )
    path = IMAGES / f"frameworks-{theme}.svg"
    write_whole(
        path,
        lambda to: figure.savefig(
            to, format="svg", transparent=True, metadata={"Date": None}
        ),
    )
    plt.close(figure)


def main():
    results = json.loads(Path(sys.argv[1]).read_text())
    write_marked_parts(PAGE, {"frameworks": tables(results)})
    IMAGES.mkdir(exist_ok=True)
    for theme in THEMES:
        draw(results, theme)


if __name__ == "__main__":
    main()
