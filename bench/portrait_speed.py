#!/usr/bin/env python3
"""Times oriel-portrait as it is used: an image, a video, frames through a pipe, and a server with many clients.

    python bench/portrait_speed.py RESULTS.json [--models selfie drawn] [--runs 15] [--frames 240] [--seconds 60]

The image is Grace Hopper (512x600, shipped by matplotlib). The video is scikit-image's astronaut, 720 pixels high, who moves
before a gradient in 1280x720, with noise of 2/255; ffmpeg encodes it as H.264. RESULTS.json gets, for each model:
image: least seconds of --runs processes for the program, for loading, and for cutting out;
video, pipe: frames a second of the median of three runs; stages: milliseconds of each step per frame;
serve: answers, errors, median and largest seconds of an answer, and the server's largest memory, with 50 clients at once.
"""

import argparse
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "apps/portrait/training"))
import photographs  # noqa: E402

COMMAND = os.environ.get("ORIEL_PORTRAIT", str(ROOT / "build/bin/oriel-portrait"))
HEIGHT, WIDTH = 720, 1280
CLIENTS = 50
TURNS = 3
BEHIND = "#00ff00"


def run(*words, **options):
    """(what it prints, what it says on standard error, seconds) of the program."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.run([COMMAND, *map(str, words)], stdout=out, stderr=err, **options)
        seconds = time.perf_counter() - begin
        texts = [(stream.seek(0), stream.read())[1] for stream in (out, err)]
    if process.returncode != 0:
        sys.exit(f"portrait_speed: {' '.join(map(str, words))}: {texts[1].decode(errors='replace')[-500:]}")
    return texts[0], texts[1].decode(), seconds


def image(model, folder, runs):
    found = [run("image", folder / "person.png", folder / "cut.png", "--model", model, "--json") for _ in range(runs)]
    seconds = [json.loads(out)["seconds"] for out, *_ in found]
    return {"program": min(f[2] for f in found), "load": min(s["load"] for s in seconds),
            "segment": min(s["segment"] for s in seconds), "cut": min(s["segment"] + s["edges"] for s in seconds)}


def frames(count):
    """Frames [720][1280][3] uint8: the astronaut goes back and forth before a gradient."""
    picture, alpha, _, _ = photographs.load("astronaut")
    person = np.asarray(Image.fromarray(picture).resize((HEIGHT, HEIGHT), Image.BICUBIC)).astype(np.float32)
    share = np.asarray(Image.fromarray(alpha).resize((HEIGHT, HEIGHT), Image.BILINEAR))[..., None]
    behind = np.linspace((90, 120, 150), (160, 140, 110), WIDTH)[None].repeat(HEIGHT, axis=0).astype(np.float32)
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 2, (HEIGHT, WIDTH + 64, 3)).astype(np.float32)
    for i in range(count):
        at = int(280 + 120 * np.sin(i / 20))
        frame = behind + noise[:, i % 64 : i % 64 + WIDTH]
        part = frame[:, at : at + HEIGHT]
        part += share * (person - behind[:, at : at + HEIGHT])
        yield (np.clip(frame, 0, 255) + 0.5).astype(np.uint8)


def make_video(folder, count):
    encoder = subprocess.Popen(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", "30", "-i", "-",
                                "-pix_fmt", "yuv420p", "-crf", "20", str(folder / "call.mp4")], stdin=subprocess.PIPE)
    with open(folder / "call.rgb", "wb") as raw:
        for frame in frames(count):
            encoder.stdin.write(frame.tobytes())
            raw.write(frame.tobytes())
    encoder.stdin.close()
    if encoder.wait() != 0:
        sys.exit("portrait_speed: ffmpeg could not make the video")


def video(model, folder, count, background):
    found = [run("video", folder / "call.mp4", folder / "out.mp4", "--model", model, "--background", background, "--json") for _ in range(TURNS)]
    if any(json.loads(out)["frames"] != count for out, *_ in found):
        sys.exit(f"portrait_speed: video: not all of {count} frames were written")
    return {"rate": count / statistics.median(f[2] for f in found)}


def pipe(model, folder, count, background):
    rates, said = [], ""
    for _ in range(TURNS):
        with open(folder / "call.rgb", "rb") as raw:
            out, said, seconds = run("pipe", "--size", f"{WIDTH}x{HEIGHT}", "--model", model, "--background", background, "--timing", stdin=raw)
        if len(out) != count * HEIGHT * WIDTH * 3 or (background == BEHIND and out[:3] != b"\0\xff\0"):
            sys.exit(f"portrait_speed: pipe: {len(out)} bytes came, or another background")
        rates.append(count / seconds)
    stages = {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", said.splitlines()[-1])}
    return {"rate": statistics.median(rates), "stages": stages}


def serve(model, folder, seconds):
    """50 clients that each send the image again as soon as the answer is there."""
    server = subprocess.Popen([COMMAND, "serve", "--model", model, "--port", "0", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", server.stdout.readline() or server.stderr.readline()).group(0).rstrip("/")
        data = (folder / "person.png").read_bytes()
        end = time.monotonic() + seconds

        def client(_):
            times, errors = [], 0
            while time.monotonic() < end:
                begin = time.monotonic()
                request = urllib.request.Request(url + "/api/remove", data, {"Content-Type": "image/png"})
                try:
                    with urllib.request.urlopen(request, timeout=120) as reply:
                        errors += reply.read()[:4] != b"\x89PNG"
                except (urllib.error.URLError, OSError):
                    errors += 1
                times.append(time.monotonic() - begin)
            return times, errors

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            found = list(pool.map(client, range(CLIENTS)))
        status = Path(f"/proc/{server.pid}/status").read_text()
        memory = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024
    finally:
        server.terminate()
        server.wait()
    times = [t for each, _ in found for t in each]
    return {"clients": CLIENTS, "seconds": seconds, "answers": len(times), "errors": sum(e for _, e in found), "median": statistics.median(times),
            "longest": max(times), "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--models", nargs="+", default=["selfie", "drawn"])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--frames", type=int, default=240)
    parser.add_argument("--seconds", type=int, default=60)
    a = parser.parse_args()
    found = {"frames": a.frames, "models": {}}
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        Image.fromarray(photographs.load("grace_hopper")[0]).save(folder / "person.png")
        make_video(folder, a.frames)
        for model in a.models:
            found["models"][model] = {
                "image": image(model, folder, a.runs),
                "video": {b: video(model, folder, a.frames, b) for b in (BEHIND, "blur:20")},
                "pipe": {b: pipe(model, folder, a.frames, b) for b in (BEHIND, "blur:20")},
                "serve": serve(model, folder, a.seconds),
            }
    part = Path(a.results + ".part")
    part.write_text(json.dumps(found, indent=1) + "\n")
    part.rename(a.results)


if __name__ == "__main__":
    main()
