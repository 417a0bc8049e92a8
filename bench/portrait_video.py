#!/usr/bin/env python3
"""Measures how steady the masks of oriel-portrait are in videos, and where the time of a frame goes.

    python bench/portrait_video.py RESULTS.json [--frames 18] [--seeds 2]

Drawn people (apps/portrait/training/synthetic) with exact alpha stand still or move sideways before a background, and a
sensor adds noise to each frame. `oriel-portrait pipe --only-mask` cuts them out with and without --smooth.

flicker: mean absolute difference of alpha between two frames of a still scene, in 1/255, within 8 pixels of the true outline.
lag: how far the outline found lies behind the true one, in pixels along the motion, less that of masks without smoothing.
error: mean absolute difference from the true alpha, in 1/255, within 8 pixels of the true outline.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy import ndimage

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "apps/portrait/training"))
from synthetic import scene  # noqa: E402

COMMAND = os.environ.get("ORIEL_PORTRAIT", str(ROOT / "build/bin/oriel-portrait"))
HEIGHT, WIDTH = 360, 640
SETTLED = 8  # frames until the filter has forgotten how it began
NEAR = 8  # pixels from the outline that count
SPEEDS = (0, 1, 4, 12)  # pixels a frame; one in 640 is a face's slow turn, twelve a wave of the hand
NOISE = 4 / 255  # standard deviation of a webcam's pixels in a lit room


class Still:
    """A person before a background; `alike`: with the same brightness, so that only colours tell them apart."""

    def __init__(self, seed, alike):
        rgba, _ = scene.people(seed, HEIGHT, "half")
        self.colour = rgba[..., :3].astype(np.float32) / 255
        self.alpha = rgba[..., 3].astype(np.float32) / 255
        side = np.zeros((HEIGHT, WIDTH - HEIGHT), np.float32)
        self.alpha = np.concatenate([self.alpha, side], axis=1)
        self.colour = np.concatenate([self.colour, np.zeros((*side.shape, 3), np.float32)], axis=1)
        self.behind = scene.ground(seed + 100, WIDTH)[:HEIGHT].astype(np.float32) / 255
        if alike:
            luma = np.array([0.299, 0.587, 0.114], np.float32)
            inside = self.alpha > 0.5
            outline = inside & ~ndimage.binary_erosion(inside, iterations=12)
            level = (self.colour[outline] @ luma).mean()
            self.behind += (level - self.behind @ luma)[..., None]
            self.behind = np.clip(self.behind, 0, 1)

    def frame(self, at, rng):
        """(uint8 picture, true alpha) with the person moved right by `at` pixels."""
        alpha, colour = (np.roll(x, at, axis=1) for x in (self.alpha, self.colour))
        picture = self.behind + alpha[..., None] * (colour - self.behind)
        picture = picture + rng.normal(0, NOISE, picture.shape)
        return (np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8), alpha


def masks(pictures, smooth):
    done = subprocess.run([COMMAND, "pipe", "--size", f"{WIDTH}x{HEIGHT}", "--only-mask", "--reproducible", "--smooth", str(smooth)],
                          input=np.stack(pictures).tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, HEIGHT, WIDTH).astype(np.float32) / 255


def near_outline(alpha):
    """Pixels near the outline, without the borders of the picture, at which people are cut off."""
    inside = alpha > 0.5
    edge = inside & ~ndimage.binary_erosion(inside, border_value=1)
    near = ndimage.distance_transform_edt(~edge) <= NEAR
    near[-NEAR:] = near[:, :NEAR] = near[:, -NEAR:] = False
    return near


def behind_by(found, alpha, speed):
    """How many pixels a mask lies behind the true alpha along the motion."""
    rows, columns = np.nonzero(near_outline(alpha))
    steps = np.arange(-4, 2 * speed + 4, 0.25)

    def moved_back(step):
        whole = int(np.floor(step))
        left, right = (alpha[rows, np.clip(columns + whole + i, 0, WIDTH - 1)] for i in (0, 1))
        return left + (step - whole) * (right - left)

    cost = [np.abs(found[rows, columns] - moved_back(s)).mean() for s in steps]
    return float(steps[int(np.argmin(cost))])


def measure(still, speed, frames, smooth, seed):
    rng = np.random.default_rng(seed)
    pairs = [still.frame(speed * i, rng) for i in range(frames)]
    found = masks([picture for picture, _ in pairs], smooth)
    rows = range(SETTLED, frames)
    near = [near_outline(pairs[i][1]) for i in rows]
    result = {"error": 255 * float(np.mean([np.abs(found[i] - pairs[i][1])[n].mean() for i, n in zip(rows, near)]))}
    if speed == 0:
        result["flicker"] = 255 * float(np.mean([np.abs(found[i] - found[i - 1])[near[0]].mean() for i in rows]))
    else:
        result["behind"] = float(np.mean([behind_by(found[i], pairs[i][1], speed) for i in rows]))
    return result


def steadiness(frames, seeds, smooths, speeds):
    rows = []
    for alike in (False, True):
        stills = [Still(seed, alike) for seed in seeds]
        for speed in speeds:
            count = min(frames, (WIDTH - HEIGHT) // max(speed, 1))
            found = {smooth: [measure(s, speed, count, smooth, i) for i, s in enumerate(stills)] for smooth in smooths}
            row = {"alike": alike, "speed": speed, "frames": count, "scenes": len(stills)}
            for smooth, values in found.items():
                row[str(smooth)] = {key: statistics.mean(v[key] for v in values) for key in values[0]}
            if speed:
                plain = row[str(smooths[0])]["behind"]
                for smooth in smooths:
                    row[str(smooth)]["lag"] = row[str(smooth)]["behind"] - plain
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--frames", type=int, default=18)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--smooth", type=float, nargs="*", default=[0, 0.7])
    parser.add_argument("--speeds", type=int, nargs="*", default=SPEEDS)
    given = parser.parse_args()
    results = {"steadiness": steadiness(given.frames, range(2, 2 + given.seeds), given.smooth, given.speeds)}
    unfinished = given.results.with_name(given.results.name + ".part")
    unfinished.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    unfinished.rename(given.results)


if __name__ == "__main__":
    main()
