"""Fills the model card with what a model is and measures: the parts of docs/portrait-model.md between `<!-- NAME -->` and `<!-- end -->`.

    python apps/portrait/training/card.py
"""

import argparse
import os
import re
from pathlib import Path

import torch

import evaluate
import export
import network

CARD = Path(__file__).resolve().parents[3] / "docs" / "portrait-model.md"


def filled(text, parts):
    """The text with each named part exchanged; every part must be there exactly once."""
    for name, content in parts.items():
        text, count = re.subn(rf"(<!-- {name} -->\n).*?(\n?<!-- end -->)", lambda m: m[1] + content + "\n<!-- end -->", text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"card: the part {name!r} must be there once, but it is there {count} times")
    return text


def facts(net, about, size):
    """The table of what the file says of itself."""
    rows = {"network": f"U-Net of {net.levels} levels, {net.width} to {net.width << (net.levels - 1)} channels, "
                       f"{sum(p.numel() for p in net.parameters()):,} parameters, batch norm (eps 1e-5)",
            "file": f"safetensors, float32, {size / 1e6:.2f} MB",
            "input": f"[1][3][h][w] of {about['input_size']} pixels: {about['preprocessing']}", "output": about["output"],
            "trained on": about["trained_on"], "training": f"seed {about['seed']}, {about['steps']} steps, phases (size:batch:steps:rate) `{about['phases']}`",
            "date, licence": f"{about['date']}, {about['licence']}"}
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, default=export.MODEL)
    parser.add_argument("--each", type=int, default=12, help="held-out samples of each category")
    choice = parser.parse_args()
    torch.set_num_threads(os.cpu_count())
    net, about = network.load(choice.weights)
    size, baseline = network.input_size(about), evaluate.MeanMask()
    found = evaluate.held_out(net, baseline, choice.each, size)
    parts = {"facts": facts(net, about, choice.weights.stat().st_size),
             "held-out": evaluate.table(found | {"all with people": evaluate.overall(found)}, f"{choice.each} of each"),
             "photographs": evaluate.table(evaluate.on_photographs(net, baseline, size), "photograph")}
    beside = CARD.with_suffix(".part")
    beside.write_text(filled(CARD.read_text(encoding="utf-8"), parts), encoding="utf-8")
    beside.replace(CARD)


if __name__ == "__main__":
    main()
