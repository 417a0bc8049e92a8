"""Draws the pictures of docs/portrait-model.md: samples, held-out results, photographs with their cut-outs.

    python apps/portrait/training/pictures.py apps/portrait/model/portrait_demo.safetensors docs/images
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

import evaluate
import network
import photographs
import pool
from synthetic import camera, scene

TILE = 160


def tile(picture):
    """A picture or alpha as a TILE x TILE tile on grey."""
    picture = np.asarray(picture)
    if picture.ndim == 2:
        picture = (np.repeat(picture[..., None], 3, axis=2) * 255 + 0.5).astype(np.uint8)
    return camera.letterbox(picture, (0, 0, picture.shape[1], picture.shape[0]), TILE)


def over_green(picture, alpha):
    """What is cut out, before a plain colour."""
    return (picture * alpha[..., None] + np.array([40, 160, 90]) * (1 - alpha[..., None])).astype(np.uint8)


def sheet(path, rows):
    """Writes rows of tiles as JPEG, whole or not at all."""
    gap = np.full((TILE, 4, 3), 255, np.uint8)
    strips = [np.concatenate([part for t in row for part in (tile(t), gap)][:-1], axis=1) for row in rows]
    line = np.full((4, strips[0].shape[1], 3), 255, np.uint8)
    picture = Image.fromarray(np.concatenate([part for s in strips for part in (s, line)][:-1], axis=0))
    beside = Path(path).with_suffix(".part")
    picture.save(beside, "JPEG", quality=80)
    beside.replace(path)


def samples(path, columns=8, rows=3, size=192):
    """Training samples, each with its alpha below."""
    found = []
    for row in range(rows):
        picked = [scene.sample(pool.HELD_OUT_SEED + 700_000 + row * columns + i, size) for i in range(columns)]
        found += [[p for p, _, _ in picked], [a for _, a, _ in picked]]
    sheet(path, found)


def results(path, net, size, count=40, columns=8):
    """Of held-out samples with people, by IoU: the best tenth's first ones, the middle ones, the worst; picture, truth, guess."""
    found = []
    for i in range(count):
        picture, alpha, category = scene.sample(pool.HELD_OUT_SEED + 600_000 + i, evaluate.PICTURE_SIZE)
        if category != "nobody":
            guess = evaluate.cut(net, picture, size)
            found.append((evaluate.measures(guess, alpha)["iou"], picture, alpha, guess))
    found.sort(key=lambda row: -row[0])
    middle = len(found) // 2
    picked = found[:2] + found[middle - 2:middle + 2] + found[-2:]
    sheet(path, [[row[k] for row in picked[:columns]] for k in (1, 2, 3)])
    return [row[0] for row in picked]


def photographs_sheet(path, net, size):
    """Photographs, the outlines drawn by hand, the model's alpha, and the cut-out."""
    columns = []
    for name in photographs.names():
        picture, alpha, counted, _ = photographs.load(name)
        guess = evaluate.cut(net, picture, size)
        columns.append((picture, np.where(counted, alpha, 0.5), guess, over_green(picture, guess)))
    sheet(path, list(zip(*columns)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="safetensors file")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    choice = parser.parse_args()
    net, about = network.load(choice.weights)
    size = network.input_size(about)
    samples(choice.folder / "portrait-samples.jpg")
    print("IoU of the shown results:", " ".join(f"{v:.2f}" for v in results(choice.folder / "portrait-held-out.jpg", net, size)))
    photographs_sheet(choice.folder / "portrait-photographs.jpg", net, size)


if __name__ == "__main__":
    main()
