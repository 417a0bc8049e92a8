#!/usr/bin/env python3
"""Measures oriel-portrait beside other programs that cut people out of photographs, in turns, each in its own process.

    python bench/portrait_peers.py RESULTS.json --peers PYTHON [--sheet FILE.jpg] [--runs 9]

PYTHON has the packages of scripts/requirements-bench-portrait.txt. rembg cannot download weights everywhere, so bench/selfie_onnx.py
converts MediaPipe's selfie model, which must be installed (`oriel-portrait models get selfie`), and rembg and oriel-portrait both run
that file. Each program gets files and writes PNG files with transparency. RESULTS.json gets, for each:
one: least seconds of --runs processes for one image, Grace Hopper (512x600, shipped by matplotlib); memory: the largest, in bytes;
further: least seconds, of three, of each further image in a folder; mask: least seconds of one mask without files;
people: IoU, outline error and alpha error beside outlines drawn by hand, and the IoU with the mask of `oriel-portrait image`;
nobody: the share of images without people that is cut out, or null if the program finds no person.
--sheet writes all results side by side.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "apps/portrait/training"))
import photographs  # noqa: E402
from measures import measures, page_measures  # noqa: E402

COMMAND = os.environ.get("ORIEL_PORTRAIT", str(ROOT / "build/bin/oriel-portrait"))
BENCH = Path(__file__).parent
PEOPLE, NOBODY = ("astronaut", "camera", "grace_hopper"), ("coffee", "rocket", "chelsea")
TIMED = "grace_hopper"
COPIES = 14  # an even number: oriel-portrait cuts out as many images at once as there are cores
TURNS = 3
PEERS = ("mediapipe", "rembg", "rembg-matting")
ORIEL = {"oriel-fast": ("--model", "FILE", "--matte", "fast"), "oriel-file": ("--model", "FILE"), "oriel": ("--model", "selfie")}
PACKAGES = ("mediapipe", "rembg", "onnxruntime", "PyMatting")
TITLES = {"mediapipe": "MediaPipe", "rembg": "rembg, same file", "rembg-matting": "rembg, alpha matting", "oriel-file": "Oriel, same file", "oriel": "Oriel, selfie model"}
TILE = 210
BEHIND = (48, 160, 96)


class Programs:
    """Runs each program on files of `folder`, where the converted model is."""

    def __init__(self, python, folder):
        self.python, self.folder, self.model = python, folder, folder / "models" / "selfie.onnx"
        self.environment = {**os.environ, "REMBG_HOME": str(folder / "models"), "U2NET_HOME": str(folder / "models")}

    def run(self, words, allowed=(0,), **variables):
        """(what it prints, seconds, memory in bytes) of a process."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begin = time.perf_counter()
            process = subprocess.Popen([str(w) for w in words], stdout=out, stderr=err, env={**self.environment, **variables})
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            printed, said = ((stream.seek(0), stream.read().decode(errors="replace"))[1] for stream in (out, err))
        if process.returncode not in allowed:
            sys.exit(f"portrait_peers: {' '.join(map(str, words))}: {said[-500:]}")
        return printed, seconds, usage.ru_maxrss * 1024

    def convert(self, images):
        """Makes the ONNX file of the installed selfie model; returns the largest difference between its masks and MediaPipe's."""
        models = json.loads(self.run([COMMAND, "models", "--json"])[0])["models"]
        path = next((m["path"] for m in models if m["name"] == "selfie" and m["installed"]), None)
        if path is None:
            sys.exit("portrait_peers: the selfie model is not installed; `oriel-portrait models get selfie` installs it")
        self.model.parent.mkdir()
        return float(self.run([self.python, BENCH / "selfie_onnx.py", path, self.model, *images])[0])

    def words(self, name, out, images, turns=0):
        """The command that cuts images out into the folder `out`."""
        if name in PEERS:
            return [self.python, BENCH / "portrait_peer.py", name, self.model, out, turns, *images]
        options = [self.model if word == "FILE" else word for word in ORIEL[name]]
        if len(images) == 1:
            return [COMMAND, "image", images[0], out / f"{images[0].stem}.png", "--json", *options]
        return [COMMAND, "folder", images[0].parent, out, "--overwrite", "--quiet", *options]

    def versions(self):
        lines = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
        return json.loads(self.run([self.python, "-c", lines, *PACKAGES])[0])


def cut_out(programs, name, images, out):
    """{image's name: alpha [h][w], or None if no person was found}; the results stay in `out`."""
    out.mkdir()
    if name in PEERS:
        programs.run(programs.words(name, out, images))
    else:
        for image in images:
            programs.run(programs.words(name, out, [image]), allowed=(0, 1))
    results = {image.stem: out / f"{image.stem}.png" for image in images}
    return {key: np.asarray(Image.open(path).convert("RGBA"))[..., 3].astype(np.float32) / 255 if path.exists() else None for key, path in results.items()}


def accuracy(alphas, ours):
    """What a program made of people and of images without any."""
    people = {}
    for name in PEOPLE:
        _, alpha, counted, _ = photographs.load(name)
        people[name] = page_measures(alphas[name], alpha, counted)
        people[name]["agrees"] = measures(alphas[name], (ours[name] > 0.5).astype(np.float32))["iou"]
    return {"people": people, "nobody": {name: None if alphas[name] is None else float((alphas[name] > 0.5).mean()) for name in NOBODY}}


def times(programs, folder, runs):
    """{program: least seconds and largest memory}, all programs in turns."""
    image, many, out = folder / f"{TIMED}.png", folder / "many", folder / "out"
    many.mkdir()
    out.mkdir()
    copies = [many / f"{i:02}.png" for i in range(COPIES)]
    for copy in copies:
        shutil.copy(image, copy)
    two = folder / "two"
    two.mkdir()
    pair = [Path(shutil.copy(image, two / f"{i}.png")) for i in range(2)]
    names = (*PEERS, *ORIEL)
    ones, masks, many_seconds, two_seconds = ({name: [] for name in names} for _ in range(4))
    for turn in range(runs):
        for name in names:
            printed, seconds, memory = programs.run(programs.words(name, out, [image]))
            ones[name].append((seconds, memory))
            if name in ORIEL:
                masks[name].append(json.loads(printed)["seconds"]["segment"])
            if turn < TURNS:
                two_seconds[name].append(programs.run(programs.words(name, out, pair))[1])
                many_seconds[name].append(programs.run(programs.words(name, out, copies))[1])
    for name in PEERS:
        masks[name] = json.loads(programs.run(programs.words(name, out, [image], turns=20))[0])
    return {name: {"one": min(s for s, _ in ones[name]), "memory": max(m for _, m in ones[name]), "mask": min(masks[name]),
                   "further": (min(many_seconds[name]) - min(two_seconds[name])) / (len(copies) - len(pair))} for name in names}


def first_start(programs, folder):
    """Seconds of rembg's first image if what PyMatting compiles with Numba is not kept from an earlier run."""
    with tempfile.TemporaryDirectory() as empty:
        return programs.run(programs.words("rembg", folder / "out", [folder / f"{TIMED}.png"]), NUMBA_CACHE_DIR=empty)[1]


def tile(path, caption, image):
    """An image, or what a program cut out of it over a colour, with a caption below. `path` may name no file: no person was found."""
    size = (TILE, round(TILE * image.height / image.width))
    canvas = Image.new("RGB", (TILE, size[1] + 18), "white")
    if path.exists():
        seen = Image.open(path).convert("RGBA")
        canvas.paste(Image.alpha_composite(Image.new("RGBA", seen.size, BEHIND), seen).convert("RGB").resize(size, Image.LANCZOS))
    else:
        ImageDraw.Draw(canvas).rectangle((0, 0, TILE, size[1] - 1), fill=(225, 225, 225))
    ImageDraw.Draw(canvas).text((TILE / 2, size[1] + 9), caption, fill="black", anchor="mm", font=ImageFont.load_default(13))
    return canvas


def sheet(target, found, folder):
    """Writes a JPEG with a row for each photograph: itself, then what each program cut out, with its IoU or share of the image."""
    names = [name for name in TITLES if name in found["programs"]]
    rows = []
    for name in (*PEOPLE, *NOBODY):
        path = folder / f"{name}.png"
        image = Image.open(path)
        tiles = [tile(path, photographs.load(name)[3]["title"], image)]
        for program in names:
            about = found["programs"][program]
            if name in PEOPLE:
                caption = f"IoU {about['people'][name]['iou']:.3f}"
            else:
                share = about["nobody"][name]
                percent = None if share is None else round(100 * share)
                caption = "no person found: right" if percent is None else f"{percent} % cut out: {'wrong' if percent else 'right'}"
            tiles.append(tile(folder / program / f"{name}.png", caption, image))
        rows.append(np.hstack([np.asarray(t) for t in tiles]))
    head = Image.new("RGB", (rows[0].shape[1], 26), "white")
    for i, title in enumerate(("photograph", *(TITLES[name] for name in names))):
        ImageDraw.Draw(head).text((TILE * (i + 0.5), 13), title, fill="black", anchor="mm", font=ImageFont.load_default(15))
    beside = target.with_name(target.name + ".part")
    Image.fromarray(np.vstack([np.asarray(head), *rows])).save(beside, "JPEG", quality=80)
    beside.replace(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--peers", required=True, help="Python interpreter with the other programs")
    parser.add_argument("--sheet", type=Path, help="JPEG to write")
    parser.add_argument("--runs", type=int, default=9, help="processes of each program for one image")
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        images = [folder / f"{name}.png" for name in (*PEOPLE, *NOBODY)]
        for image in images:
            Image.fromarray(photographs.load(image.stem)[0]).save(image)
        programs = Programs(choice.peers, folder)
        found = {"runs": choice.runs, "versions": programs.versions(), "difference": programs.convert(images)}
        alphas = {name: cut_out(programs, name, images, folder / name) for name in (*PEERS, *ORIEL)}
        found["programs"] = times(programs, folder, choice.runs)
        for name, about in found["programs"].items():
            about.update(accuracy(alphas[name], alphas["oriel"]))
        found["first_start"] = first_start(programs, folder)
        if choice.sheet:
            sheet(choice.sheet, found, folder)
    beside = choice.results.with_name(choice.results.name + ".part")
    beside.write_text(json.dumps(found, indent=1) + "\n")
    beside.replace(choice.results)


if __name__ == "__main__":
    main()
