#!/usr/bin/env python3
"""Writes what bench/portrait_peers.py measured into docs/portrait-selfie.md. Usage: portrait_peers_page.py RESULTS.json"""

import json
import sys
from pathlib import Path

from marked_part import write_marked_parts

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "apps/portrait/training"))
import photographs  # noqa: E402

PAGE = ROOT / "docs/portrait-selfie.md"
PROGRAMS = {
    "mediapipe": "MediaPipe",
    "rembg": "rembg, the same file",
    "rembg-matting": "rembg, the same file, `alpha_matting=True`",
    "oriel-fast": "Oriel, the same file, `--matte fast`",
    "oriel-file": "Oriel, the same file",
    "oriel": "Oriel, `--model selfie`",
}


def title(name):
    return photographs.load(name)[3]["title"]


def table(found):
    programs = {PROGRAMS[name]: about for name, about in found["programs"].items()}
    people = list(next(iter(programs.values()))["people"])
    nobody = list(next(iter(programs.values()))["nobody"])
    yield "| IoU; outline error in pixels | " + " | ".join(map(title, people)) + " | least IoU with Oriel's masks |"
    yield "".join(f" {title(name)}: share cut out |" for name in nobody) + "\n|---|" + "--:|" * (len(people) + 1 + len(nobody)) + "\n"
    for program, about in programs.items():
        cells = [f"{about['people'][name]['iou']:.3f}; {about['people'][name]['boundary']:.1f}" for name in people]
        cells.append(f"{min(about['people'][name]['agrees'] for name in people):.3f}")
        cells += ["nothing" if about["nobody"][name] is None else f"{100 * about['nobody'][name]:.0f} %" for name in nobody]
        yield f"| {program} | " + " | ".join(cells) + " |\n"
    yield "\n| time and memory | one image | each further image | mask | memory |\n|---|--:|--:|--:|--:|\n"
    for program, about in programs.items():
        milliseconds = " | ".join(f"{1e3 * about[key]:.0f} ms" for key in ("one", "further", "mask"))
        yield f"| {program} | {milliseconds} | {about['memory'] / 1e6:.0f} MB |\n"
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    yield (f"\n*One image* is a process from start to end, Grace Hopper in 512x600, PNG in and out: the least of {found['runs']} processes of each program, in turns. *Each further image*: what one more "
           "image in a folder takes. *Mask*: the network with enlarging or reducing the image, for `--model selfie` five runs of it; of MediaPipe and rembg in a process that has run it before, of Oriel in a fresh one. *Nothing*: the program says that there is no person. "
           f"Memory is the largest of a process. The masks of the converted file and of MediaPipe, of the same 256x256 image, differ by at most {found['difference']:.0e}. The first start of rembg after it was "
           f"installed, which compiles PyMatting, took {found['first_start']:.0f} s. Versions: {versions}.\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_marked_parts(PAGE, {"peers": table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))})


if __name__ == "__main__":
    main()
