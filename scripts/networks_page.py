#!/usr/bin/env python3
"""Writes what bench/networks.py measured into docs/performance-networks.md, docs/performance.md and README.md, and draws it. Usage: networks_page.py RESULTS.json"""

import json
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from marked_part import write_marked_parts, write_whole  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
IN_README = ("SqueezeNet 1.1", "BN-Inception", "NASNet-A mobile", "ResNet-50", "SPPF head, 512 channels")
THEMES = {
    "light": {"text": "#1f2328", "grid": "#d0d7de", "colors": ("#0550ae", "#54aeff")},
    "dark": {"text": "#e6edf3", "grid": "#3d444d", "colors": ("#4493f8", "#a5d6ff")},
}


def factor(result, of):
    """How many times as fast the network is with Oriel's layers."""
    return result[of]["PyTorch"] / result[of]["Oriel"]


def mean(results, of):
    """The geometric mean of the factors of all networks."""
    return math.exp(sum(math.log(factor(r, of)) for r in results) / len(results))


def pair(result, of):
    """Both times in milliseconds."""
    before, after = result[of]["PyTorch"], result[of]["Oriel"]
    digits = 1 if before >= 0.01 else 2
    return f"{1e3 * before:.{digits}f} | {1e3 * after:.{digits}f}"


def conditions(found):
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in found["versions"].items())
    at = f" at commit {found['commit']}" if found.get("commit") else ""
    return f"{found['processor']}, target {found['target']}{at}; {versions}; medians of turns."


def main_table(setting):
    """Every network on one thread, inference and training."""
    results = setting["networks"]
    yield "| network | input | pooling layers | time in pooling | PyTorch | with Oriel | times as fast | step, PyTorch | step, with Oriel | times as fast |\n"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    for r in results:
        shape = "x".join(map(str, r["shape"]))
        yield (f"| {r['network']} | {shape} | {r['layers']} | {100 * r['pooling']:.0f} % | {pair(r, 'inference')} | {factor(r, 'inference'):.2f} | "
               f"{pair(r, 'training')} | {factor(r, 'training'):.2f} |\n")
    yield f"| geometric mean | | | | | | {mean(results, 'inference'):.2f} | | | {mean(results, 'training'):.2f} |\n"


def settings_table(settings):
    """How many times as fast each network is in the further settings."""
    yield "| network, inference: times as fast | " + " | ".join(s["name"] for s in settings) + " |\n|---|" + "--:|" * len(settings) + "\n"
    by_setting = [{r["network"]: r for r in s["networks"]} for s in settings]
    for name in by_setting[0]:
        cells = [f"{factor(found[name], 'inference'):.2f}" if name in found else "" for found in by_setting]
        yield f"| {name} | " + " | ".join(cells) + " |\n"
    yield "| geometric mean | " + " | ".join(f"{mean(s['networks'], 'inference'):.2f}" for s in settings) + " |\n"


def picture(folder):
    return (f'<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="{folder}/networks-dark.svg">\n'
            '  <img alt="How many times as fast each network is with Oriel\'s layers, inference and training step, one thread" '
            f'src="{folder}/networks-light.svg">\n</picture>\n')


def section(found):
    """For docs/performance-networks.md: every network and setting."""
    main, *others = found["settings"]
    yield f"{conditions(found)} Times in milliseconds, one thread.\n\n"
    yield from main_table(main)
    if others:
        yield "\n"
        yield from settings_table([main, *others])


def summary(found):
    """For docs/performance.md: geometric means of every setting, and the plot."""
    main = found["settings"][0]["networks"]
    yield f"{conditions(found)} Geometric means:\n\n| setting | networks | times as fast |\n|---|--:|--:|\n"
    for setting in found["settings"]:
        yield f"| inference, {setting['name']} | {len(setting['networks'])} | {mean(setting['networks'], 'inference'):.2f} |\n"
    yield f"| training step, {found['settings'][0]['name']} | {len(main)} | {mean(main, 'training'):.2f} |\n\n"
    yield picture("images")


def short_table(found):
    """For README.md: inference of a few networks, and the geometric means of all."""
    results = found["settings"][0]["networks"]
    yield "| network, inference on one thread | PyTorch's time in pooling | PyTorch | with Oriel's layers | times as fast |\n|---|--:|--:|--:|--:|\n"
    for r in results:
        if r["network"] in IN_README:
            before, after = pair(r, "inference").split(" | ")
            yield f"| {r['network']} | {100 * r['pooling']:.0f} % | {before} ms | {after} ms | {factor(r, 'inference'):.2f} |\n"
    yield f"\nGeometric means of {len(results)} networks: inference {mean(results, 'inference'):.2f} times as fast, training steps {mean(results, 'training'):.2f} times.\n"


def draw(results, theme):
    look = THEMES[theme]
    plt.rcParams.update({"text.color": look["text"], "axes.labelcolor": look["text"], "xtick.color": look["text"], "ytick.color": look["text"],
                         "axes.edgecolor": look["grid"], "axes.facecolor": "none", "font.size": 10, "svg.hashsalt": "oriel"})
    figure, axis = plt.subplots(figsize=(9, 1.2 + 0.36 * len(results)), layout="constrained")
    for i, (of, label) in enumerate((("inference", "inference"), ("training", "training step"))):
        values = [factor(r, of) for r in results]
        bars = axis.barh([place + (i - 0.5) * 0.38 for place in range(len(results))], values, 0.36, color=look["colors"][i], label=label)
        axis.bar_label(bars, [f"{v:.2f}" for v in values], padding=2, fontsize=8)
    axis.set_yticks(range(len(results)), [r["network"] for r in results])
    axis.invert_yaxis()
    axis.axvline(1, color=look["text"], linewidth=1)
    axis.grid(axis="x", color=look["grid"], linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel("times as fast as with PyTorch's own layers, one thread")
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    write_whole(IMAGES / f"networks-{theme}.svg", lambda to: figure.savefig(to, format="svg", transparent=True, metadata={"Date": None}))
    plt.close(figure)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = json.loads(Path(sys.argv[1]).read_text())
    write_marked_parts(ROOT / "docs" / "performance-networks.md", {"networks": section(found)})
    write_marked_parts(ROOT / "docs" / "performance.md", {"networks": summary(found)})
    write_marked_parts(ROOT / "README.md", {"networks": short_table(found)})
    IMAGES.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        draw(found["settings"][0]["networks"], theme)


if __name__ == "__main__":
    main()
