#!/usr/bin/env python3
"""Measures oriel-portrait's models on photographs that Python packages ship, and writes docs/portrait-selfie.md's tables and picture.

Usage: portrait_page.py [--check]; --check writes nothing, and ends with 1 if a number is worse than required. Needs
build/bin/oriel-portrait, an installed selfie model (`make portrait-models`) and the packages of .venv.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "apps/portrait/training"))
import photographs  # noqa: E402
from marked_part import write_marked_parts  # noqa: E402
from measures import page_measures  # noqa: E402

PORTRAIT = ROOT / "build/bin/oriel-portrait"
PAGE, SHEET = ROOT / "docs/portrait-selfie.md", ROOT / "docs/images/portrait-selfie.jpg"
PEOPLE = {"astronaut": "Eileen Collins", "camera": "photographer", "grace_hopper": "Grace Hopper"}
# Smallest IoU, largest outline error of 512 pixels; what must not be taken for a person.
REQUIRED = {"astronaut": (0.95, 4.0), "camera": (0.90, 5.0), "grace_hopper": (0.97, 4.0)}
NOBODY = ("coffee.png", "rocket.jpg")
RUNS = 15


def run(source, target, *options, check=True):
    """What --json reports, the peak of memory in bytes, and the exit code."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([PORTRAIT, "image", source, target, "--json", *options], stdout=subprocess.PIPE, stderr=said)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        said.seek(0)
        errors = said.read()
    process.returncode = os.waitstatus_to_exitcode(status)
    if check and process.returncode != 0:
        sys.exit(f"portrait_page: {errors.decode()}")
    return json.loads(text) if text else {}, usage.ru_maxrss * 1024, process.returncode


def accuracy(model, folder):
    """{photograph: measures}, the outline error in pixels of an image whose longer side has 512."""
    found = {}
    for name in PEOPLE:
        picture, alpha, counted, _ = photographs.load(name)
        Image.fromarray(picture).save(folder / f"{name}.png")
        run(folder / f"{name}.png", folder / f"{name}-{model}.png", "--model", model, "--only-mask", "--no-person", "background", "--reproducible")
        guess = np.asarray(Image.open(folder / f"{name}-{model}.png")).astype(np.float32) / 255
        found[name] = page_measures(guess, alpha, counted)
    return found


def speed(model, folder):
    """The least seconds for loading and for cutting out, as other programs may use the machine, and the largest memory, of
    Grace Hopper, 512x600."""
    runs = [run(folder / "grace_hopper.png", folder / "speed.png", "--model", model, "--no-person", "background") for _ in range(RUNS)]
    seconds = [found["seconds"] for found, _, _ in runs]
    return (min(s["load"] for s in seconds), min(s["segment"] + s["edges"] for s in seconds),
            max(memory for _, memory, _ in runs))


def verdicts(folder):
    """[(file, area, confidence, agreement or None, found)] of every photograph."""
    rows = []
    for name, picture in photographs.every().items():
        Image.fromarray(picture).save(folder / "one.png")
        found, _, _ = run(folder / "one.png", folder / "out.png", "--model", "selfie", check=False)
        person = found["person"]
        rows.append((name, person["area"], person["confidence"], person.get("agreement"), person["found"]))
    return rows


def accuracy_table(results):
    yield "| photograph | selfie: IoU | outline error | alpha error | drawn: IoU | outline error | alpha error |\n|---|--:|--:|--:|--:|--:|--:|\n"
    for name, title in PEOPLE.items():
        cells = []
        for model in ("selfie", "drawn"):
            m = results[model][name]
            cells += [f"{m['iou']:.3f}", "-" if np.isnan(m["boundary"]) else f"{m['boundary']:.1f}", f"{m['mae']:.3f}"]
        yield f"| {title} | " + " | ".join(cells) + " |\n"


def speed_table(times):
    yield "| model | loading | cutting out | memory |\n|---|--:|--:|--:|\n"
    for model, (load, cut, memory) in times.items():
        yield f"| {model} | {1e3 * load:.0f} ms | {1e3 * cut:.0f} ms | {memory / 1e6:.0f} MB |\n"


def verdict_table(rows):
    people = photographs.files_with_people()
    seen = sorted((r for r in rows if r[3] is not None), key=lambda r: -r[3])
    none = [r[0] for r in rows if r[3] is None]
    wrong = [r[0] for r in rows if r[4] != (r[0] in people)]
    yield "| image | share seen as a person | mean mask value there | agreement | verdict |\n|---|--:|--:|--:|---|\n"
    for name, area, confidence, agreement, found in seen:
        verdict = ("a person" if found else "no person") + ("" if found == (name in people) else ", **wrong**")
        yield f"| {name} | {100 * area:.0f} % | {confidence:.2f} | {agreement:.2f} | {verdict} |\n"
    yield (f"\nIn {len(none)} further images the first look sees no person: {', '.join(none)}.\n"
           f"{len(rows) - len(wrong)} of {len(rows)} images are judged rightly; wrong: {', '.join(wrong) or 'none'}.\n")


def sheet(folder):
    """Each photograph, its mask and the person before another background, in a row."""
    rows = []
    for name in PEOPLE:
        run(folder / f"{name}.png", folder / "cut.png", "--model", "selfie", "--background", "gradient:#7fb2ff,#ffffff", "--format", "png")
        parts = [Image.open(folder / file).convert("RGB") for file in (f"{name}.png", f"{name}-selfie.png", "cut.png", f"{name}-drawn.png")]
        rows.append(np.hstack([np.asarray(part.resize((240, round(240 * part.height / part.width)), Image.LANCZOS)) for part in parts]))
    SHEET.parent.mkdir(exist_ok=True)
    Image.fromarray(np.vstack(rows)).save(SHEET, quality=85)


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        results = {model: accuracy(model, folder) for model in ("selfie", "drawn")}
        rows = verdicts(folder)
        worse = [name for name, (iou, outline) in REQUIRED.items()
                 if results["selfie"][name]["iou"] < iou or results["selfie"][name]["boundary"] > outline]
        worse += [row[0] for row in rows if row[0] in NOBODY and row[4]]
        if worse:
            sys.exit(f"portrait_page: worse than required: {', '.join(worse)}")
        if check:
            return
        times = {model: speed(model, folder) for model in ("selfie", "drawn")}
        parts = {"accuracy": accuracy_table(results), "speed": speed_table(times), "verdicts": verdict_table(rows)}
        sheet(folder)
    write_marked_parts(PAGE, parts)


if __name__ == "__main__":
    main()
