"""Measures a network on held-out synthetic samples and on real photographs, beside a mean-mask baseline.

    python apps/portrait/training/evaluate.py apps/portrait/model/portrait_demo.safetensors

Prints Markdown tables; --json FILE writes the numbers too.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import network
import photographs
import pool
from measures import measures
from synthetic import camera, scene

PICTURE_SIZE = 256  # of held-out samples; what the network takes may be smaller


def cut(net, picture, size):
    """The alpha [h][w] float32 that a network gives a picture [h][w][3] uint8: letterboxed to size x
    size, run, and scaled back."""
    height, width = picture.shape[:2]
    boxed = camera.letterbox(picture, (0, 0, width, height), size)
    with torch.inference_mode():
        x = torch.from_numpy(boxed).permute(2, 0, 1)[None].float() / 255
        alpha = torch.sigmoid(net(x))[0, 0].numpy()
    scale = size / max(height, width)
    high, wide = max(1, round(height * scale)), max(1, round(width * scale))
    top, left = (size - high) // 2, (size - wide) // 2
    part = Image.fromarray(np.ascontiguousarray(alpha[top:top + high, left:left + wide]))
    return np.asarray(part.resize((width, height), Image.BILINEAR))


class MeanMask:
    """The baseline: the mean alpha of training samples, cut where that fits the same samples best."""

    def __init__(self, count=200, size=64):
        alphas = np.stack([scene.people(pool.FIRST_SEED + i, size)[0][..., 3] / 255 for i in range(count)]).astype(np.float32)
        self.mean = alphas.mean(axis=0)
        true = alphas[alphas.max(axis=(1, 2)) > 0.5] > 0.5
        levels = np.linspace(0.1, 0.9, 33)
        fits = [np.mean([(m & t).sum() / max(1, (m | t).sum()) for t in true]) for m in (self.mean > v for v in levels)]
        self.level = float(levels[int(np.argmax(fits))])

    def alpha(self, height, width):
        """The baseline's alpha for any picture of that size; above one half is what it takes for a person."""
        mean = np.asarray(Image.fromarray(self.mean).resize((width, height), Image.BILINEAR))
        return np.clip(mean + 0.5 - self.level, 0, 1)


def held_out(net, baseline, each, size, first=pool.HELD_OUT_SEED):
    """{category: {"model": measures, "baseline": measures}}, means over `each` samples of PICTURE_SIZE whose seeds training
    never saw; `size` is that of the network's input."""
    found = {}
    for number, category in enumerate(scene.CATEGORIES):
        rows = {"model": [], "baseline": []}
        for i in range(each):
            picture, alpha, _ = scene.sample(first + number * 10_000 + i, PICTURE_SIZE, category)
            rows["model"].append(measures(cut(net, picture, size), alpha))
            rows["baseline"].append(measures(baseline.alpha(*alpha.shape), alpha))
        found[category] = {who: mean(values) for who, values in rows.items()}
    return found


def mean(rows):
    """The mean of each measure over rows, without those that are nan."""
    found = {}
    for key in ("iou", "boundary", "mae"):
        values = [row[key] for row in rows if not np.isnan(row[key])]
        found[key] = float(np.mean(values)) if values else float("nan")
    return found


def overall(found):
    """Means over the categories with people."""
    return {who: mean([row[who] for category, row in found.items() if category != "nobody"]) for who in ("model", "baseline")}


def on_photographs(net, baseline, size):
    """{name: {"model": measures, "baseline": measures}} for the real photographs."""
    found = {}
    for name in photographs.names():
        picture, alpha, counted, _ = photographs.load(name)
        found[name] = {"model": measures(cut(net, picture, size), alpha, counted),
                       "baseline": measures(baseline.alpha(*alpha.shape), alpha, counted)}
    return found


def table(found, heading):
    """Measures as a Markdown table."""
    def text(value, digits):
        return "-" if np.isnan(value) else f"{value:.{digits}f}"

    lines = [f"| {heading} | IoU | of the mean mask | outline error, pixels | of the mean mask | alpha error | of the mean mask |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for name, row in found.items():
        cells = [text(row[who][key], digits) for key, digits in (("iou", 3), ("boundary", 1), ("mae", 3)) for who in ("model", "baseline")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="safetensors file")
    parser.add_argument("--each", type=int, default=12, help="samples of each category")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    choice = parser.parse_args()
    torch.set_num_threads(os.cpu_count())
    net, about = network.load(choice.weights)
    size, baseline = network.input_size(about), MeanMask()
    synthetic = held_out(net, baseline, choice.each, size)
    real = on_photographs(net, baseline, size)
    print(table(synthetic | {"all with people": overall(synthetic)}, "held-out"), end="\n\n")
    print(table(real, "photograph"))
    if choice.json:
        beside = choice.json.with_suffix(".part")
        beside.write_text(json.dumps({"held_out": synthetic, "photographs": real}, indent=1))
        beside.replace(choice.json)


if __name__ == "__main__":
    main()
