"""A pool of drawn people and backgrounds on disk, which training combines in new ways for every sample.

    python apps/portrait/training/pool.py --folder build/portrait/pool --people 3000 --grounds 3000

Entry i of the people is that of seed FIRST_SEED + i, entry i of the backgrounds likewise: a longer pool begins with the shorter one.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from synthetic import scene

FIRST_SEED = 1_000_000  # of training; held-out samples have seeds from HELD_OUT_SEED
HELD_OUT_SEED = 9_000_000
KINDS = {"people": 4, "grounds": 3}  # channels


class Pool:
    """People [n][size][size][4] and backgrounds [m][size][size][3], uint8, mapped from files; `count` says how many there are."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.size = json.loads((self.folder / "pool.json").read_text())["size"]

    def count(self, kind):
        """How many entries of a kind ("people" or "grounds") are on disk by now."""
        return (self.folder / kind).stat().st_size // (self.size * self.size * KINDS[kind])

    def entries(self, kind, limit=None):
        """All entries, at most `limit`, as an array that the file backs."""
        count = min(self.count(kind), limit or 1 << 60)
        if count == 0:
            raise ValueError(f"pool: {self.folder / kind} is empty; make it with pool.py")
        return np.memmap(self.folder / kind, np.uint8, "r", shape=(count, self.size, self.size, KINDS[kind]))


def extend(folder, size, people, grounds, log=print):
    """Adds to the pool until it has that many people and backgrounds."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    about = folder / "pool.json"
    if not about.exists():
        about.write_text(json.dumps({"size": size, "first_seed": FIRST_SEED}))
    pool = Pool(folder)
    if pool.size != size:
        raise ValueError(f"pool: size is {size}, but {folder} has entries of {pool.size}; give another folder")
    draw = {"people": lambda seed: scene.people(seed, size)[0], "grounds": lambda seed: scene.ground(seed, size)}
    for kind in KINDS:
        (folder / kind).touch()
        os.truncate(folder / kind, pool.count(kind) * size * size * KINDS[kind])  # a torn last entry
    begin, made = time.time(), 0
    while (missing := [k for k, n in (("people", people), ("grounds", grounds)) if pool.count(k) < n]):
        for kind in missing:
            with open(folder / kind, "ab") as file:
                file.write(np.ascontiguousarray(draw[kind](FIRST_SEED + pool.count(kind))).tobytes())
            made += 1
            if made % 500 == 0:
                log(f"pool: {pool.count('people')} people, {pool.count('grounds')} backgrounds, {made / (time.time() - begin):.1f} a second")
    return pool


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="build/portrait/pool")
    parser.add_argument("--size", type=int, default=192, help="pixels of a side")
    parser.add_argument("--people", type=int, default=6000)
    parser.add_argument("--grounds", type=int, default=6000)
    choice = parser.parse_args()
    extend(choice.folder, choice.size, choice.people, choice.grounds)


if __name__ == "__main__":
    main()
