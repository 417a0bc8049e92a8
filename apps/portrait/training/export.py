"""Writes the smoothed weights of a training state as the demo model, with what was measured on held-out samples.

    python apps/portrait/training/export.py
"""

import argparse
import datetime
import os
from pathlib import Path

import torch

import evaluate
import network
import pool
import train

MODEL = Path(__file__).resolve().parents[1] / "model" / "portrait_demo.safetensors"


def smoothed(state):
    """The network of a kept state with its smoothed weights, in evaluation mode."""
    weights = {key.removeprefix("module."): value for key, value in state["smooth"].items() if key.startswith("module.")}
    net = network.UNet(weights["out.weight"].shape[1])
    net.load_state_dict(weights)
    return net.eval()


def described(state, each, drawn):
    """(network, metadata): what the file says of itself. The input has the size of the last phase that was trained."""
    net, phases = smoothed(state), state["phases"]
    size = train.phases(phases)[-1][0]
    found = evaluate.held_out(net, evaluate.MeanMask(), each, size)
    all_people = evaluate.overall(found)
    about = {
        "name": "Oriel portrait demo model", "kind": "demo: synthetic drawings only, weak on real photographs",
        "trained_on": f"procedural synthetic v1, {drawn}, no photographs", "licence": "Apache-2.0",
        "seed": state["seed"], "steps": state["done"], "phases": phases,
        "date": datetime.date.today().isoformat(), "architecture": f"unet levels={net.levels} width={net.width} concat=upsampled,skip bn_eps=1e-5",
        "input_size": f"{size}x{size}", "preprocessing": "RGB, divided by 255, letterboxed: longer side scaled to the input size, centred, bars of 0",
        "output": "logits; alpha is their sigmoid", "held_out_samples": f"{each} of each category",
    }
    for who in ("model", "baseline"):
        for key in ("iou", "boundary", "mae"):
            about[f"held_out_{key}{'_of_mean_mask' if who == 'baseline' else ''}"] = f"{all_people[who][key]:.4f}"
    return net, about


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", default="build/portrait/training/state.pt")
    parser.add_argument("--pool", default="build/portrait/pool")
    parser.add_argument("--out", type=Path, default=MODEL)
    parser.add_argument("--each", type=int, default=12, help="held-out samples of each category")
    choice = parser.parse_args()
    torch.set_num_threads(os.cpu_count())
    state = torch.load(choice.state, weights_only=True)
    store = pool.Pool(choice.pool)
    drawn = f"{store.count('people')} drawn people and {store.count('grounds')} backgrounds of seeds from {pool.FIRST_SEED} on"
    net, about = described(state, choice.each, drawn)
    network.save(choice.out, net, about)
    print("\n".join(f"{key}: {value}" for key, value in about.items()))


if __name__ == "__main__":
    main()
