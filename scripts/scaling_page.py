#!/usr/bin/env python3
"""Draws docs/images/scaling-light.svg and -dark.svg: the strong and weak scaling that `oriel scale` predicts. Usage: scaling_page.py [COMMAND]"""

import json
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from frameworks_page import IMAGES, ROOT, THEMES, write_whole  # noqa: E402

COMMAND = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/bin/oriel")
GRIDS = [4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 100]  # of n^3 ranks
POOL, CHANNELS, STRONG = "k3x3x3s2p1", 32, 1024
PARTS = (128, 32, 16)
COLORS = {
    "light": ["#0550ae", "#d4763b", "#1a7f37"],
    "dark": ["#4493f8", "#db8a55", "#56d364"],
}


def efficiency(extent, grid):
    """(blocking, overlapped) of the forward pass; nodes of 64 ranks."""
    name = f"max:f32:1x{CHANNELS}x{extent}x{extent}x{extent}:{POOL}"
    words = [
        COMMAND,
        "scale",
        name,
        "--grid",
        f"{grid}x{grid}x{grid}",
        "--ranks-per-node",
        "64",
        "--json",
    ]
    predicted = json.loads(
        subprocess.run(words, check=True, capture_output=True).stdout
    )["passes"][0]["predicted"]
    return predicted["blocking_efficiency"], predicted["overlapped_efficiency"]


def lines():
    """(plot, label, color, blocking, overlapped by grid)."""
    yield 0, f"{STRONG}³ places", 0, [efficiency(STRONG, n) for n in GRIDS]
    for color, part in enumerate(PARTS):
        yield (
            1,
            f"{part}³ places a rank",
            color,
            [efficiency(part * n, n) for n in GRIDS],
        )


def draw(found, theme):
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
        1, 2, figsize=(11, 4.2), sharey=True, layout="constrained"
    )
    ranks = [n**3 for n in GRIDS]
    for plot, label, color, pairs in found:
        for which, style in enumerate(("--", "-")):
            axes[plot].plot(
                ranks,
                [pair[which] for pair in pairs],
                style,
                color=COLORS[theme][color],
                marker=".",
                label=f"{label}, {('blocking', 'overlapped')[which]}",
            )
    for axis, title in zip(
        axes,
        (
            "strong scaling: PREDICTED, not measured",
            "weak scaling: PREDICTED, not measured",
        ),
    ):
        axis.set_xscale("log")
        axis.set_ylim(0, 1.02)
        axis.set_title(title)
        axis.set_xlabel("ranks")
        axis.grid(color=look["grid"], linewidth=0.6)
        axis.set_axisbelow(True)
        axis.legend(frameon=False, fontsize=8, loc="lower left")
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_ylabel("efficiency")
    write_whole(
        IMAGES / f"scaling-{theme}.svg",
        lambda to: figure.savefig(
            to, format="svg", transparent=True, metadata={"Date": None}
        ),
    )
    plt.close(figure)


def main():
    found = list(lines())
    for theme in THEMES:
        draw(found, theme)


if __name__ == "__main__":
    main()
