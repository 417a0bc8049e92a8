#!/usr/bin/env python3
"""`make demo`: pools a real photograph with the `oriel` command, checks the results, times them, draws a contact sheet; then
`oriel-portrait` cuts a person out of another photograph, and `oriel pyramid` makes pyramids (demo_pyramids.py).

The photographs are sample pictures of scikit-image and matplotlib. Everything is written to build/demo.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.cbook
import numpy as np
import skimage
from demo_pyramids import pyramids
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

ROOT = Path(__file__).resolve().parents[1]
ORIEL = ROOT / "build" / "bin" / "oriel"
PORTRAIT = ROOT / "build" / "bin" / "oriel-portrait"
OUT = ROOT / "build" / "demo"
PHOTO = Path(skimage.__file__).parent / "data" / "coffee.png"
LARGE = ["--kernel", "31x31", "--stride", "1", "--padding", "same"]

# file, caption, input, options
PICTURES = [
    ("max4.png", "max 4x4", "photo.png", ["--op", "max", "--kernel", "4x4"]),
    ("min4.png", "min 4x4", "photo.png", ["--op", "min", "--kernel", "4x4"]),
    ("avg4.png", "average 4x4", "photo.png", ["--op", "avg", "--kernel", "4x4"]),
    ("max31.png", "max 31x31, stride 1", "photo.png", ["--op", "max", *LARGE]),
    ("min31.png", "min 31x31, stride 1", "photo.png", ["--op", "min", *LARGE]),
    (
        "avg31.png",
        "average 31x31, stride 1",
        "photo.png",
        ["--op", "avg", *LARGE, "--exclude-pad"],
    ),
    (
        "spread.npy",
        "holes (NaN), average 9x9",
        "holes.npy",
        [
            "--op",
            "avg",
            "--kernel",
            "9x9",
            "--stride",
            "1",
            "--padding",
            "same",
            "--axes",
            "0,1",
        ],
    ),
    (
        "filled.npy",
        "the same, NaN omitted",
        "holes.npy",
        [
            "--op",
            "avg",
            "--kernel",
            "9x9",
            "--stride",
            "1",
            "--padding",
            "same",
            "--exclude-pad",
            "--nan",
            "omit",
            "--axes",
            "0,1",
        ],
    ),
]


def oriel(*words):
    result = subprocess.run(
        [str(ORIEL), *map(str, words)], capture_output=True, text=True, cwd=OUT
    )
    if result.returncode != 0:
        sys.exit(f"oriel {' '.join(map(str, words))}\n{result.stdout}{result.stderr}")
    return result.stdout


def prepare():
    OUT.mkdir(parents=True, exist_ok=True)
    photo = np.asarray(Image.open(PHOTO).convert("RGB"))
    Image.fromarray(photo).save(OUT / "photo.png")
    holes = photo.astype(np.float32)
    rows, columns = np.mgrid[: photo.shape[0], : photo.shape[1]]
    holes[(rows % 40 < 6) & (columns % 40 < 6)] = np.nan
    np.save(OUT / "holes.npy", holes)
    return photo


def pool_pictures(photo):
    height, width, _ = photo.shape
    print(f"photograph: scikit-image's {PHOTO.name}, {width}x{height} pixels")
    for name, caption, source, options in PICTURES:
        start = time.perf_counter()
        oriel("pool", source, name, *options)
        print(
            f"  {name:11} {caption:26} {1e3 * (time.perf_counter() - start):6.0f} ms with reading and writing"
        )


def check_pictures(photo):
    """Compares pictures with what NumPy and SciPy make of the photograph."""

    def picture(name):
        return np.asarray(Image.open(OUT / name))

    blocks = photo.reshape(photo.shape[0] // 4, 4, photo.shape[1] // 4, 4, 3)
    large = (31, 31, 1)
    wanted = {
        "max4.png": blocks.max(axis=(1, 3)),
        "min4.png": blocks.min(axis=(1, 3)),
        "avg4.png": np.rint(blocks.mean(axis=(1, 3))),
        "max31.png": ndimage.maximum_filter(photo, large, mode="constant", cval=0),
        "min31.png": ndimage.minimum_filter(photo, large, mode="constant", cval=255),
    }
    for name, pixels in wanted.items():
        if not np.array_equal(picture(name), pixels):
            sys.exit(f"{name} differs from NumPy's or SciPy's result")
    filled = np.load(OUT / "filled.npy")
    if np.isnan(filled).any() or not np.isnan(np.load(OUT / "spread.npy")).any():
        sys.exit("filled.npy must hold no NaN, spread.npy must hold some")
    print(
        f"check: {len(wanted)} pictures equal NumPy's and SciPy's results; no hole is left in filled.npy"
    )


def check_problems():
    names = [
        "max:u8:100x150x3:k4:axes0,1",
        "max:u8:60x90x3:k31s1p15:axes0,1",
        "avg:u8:60x90x3:k31s1p15:exclude:axes0,1",
        "avg:f32:100x150x3:k9s1p4:exclude:omit:axes0,1",
    ]
    results = json.loads(oriel("check", "--json", *names))
    print(
        f"check: {', '.join(results[0]['targets'])}, every thread count and layout, against the reference (oriel check)"
    )
    for result in results:
        runs = sum(sum(part["runs"]) for part in result["parts"])
        print(
            f"  {result['name']:46} {runs} runs, {'the same bits' if result['passed'] else 'DIFFERENCES'}"
        )


def time_problems():
    names = [
        "max:u8:1080x1920x3:k31s1p15:axes0,1",
        "max:f32:8x64x112x112:k2x2s2",
        "max:f32:8x64x112x112:k3x3s2p1",
    ]
    print(
        "time: one thread, against a copy of as many bytes measured in the same run (oriel bench)"
    )
    for row in oriel("bench", *names).rstrip().splitlines():
        print(f"  {row}")


def as_pixels(path):
    if path.suffix == ".png":
        return Image.open(path).convert("RGB")
    values = np.load(path)
    holes = np.isnan(values).any(axis=2)
    pixels = np.nan_to_num(values).round().clip(0, 255).astype(np.uint8)
    pixels[holes] = (255, 0, 255)  # magenta: NaN
    return Image.fromarray(pixels)


def contact_sheet(photo):
    width, height, gap, title = 440, 293, 12, 26
    font = ImageFont.load_default(size=16)
    tiles = [
        ("photo.png", f"photograph, {photo.shape[1]}x{photo.shape[0]}"),
        *((p[0], p[1]) for p in PICTURES),
    ]
    columns = 3
    rows = -(-len(tiles) // columns)
    sheet = Image.new(
        "RGB",
        (columns * (width + gap) + gap, rows * (height + title + gap) + gap),
        "white",
    )
    draw = ImageDraw.Draw(sheet)
    for number, (name, caption) in enumerate(tiles):
        left = gap + number % columns * (width + gap)
        top = gap + number // columns * (height + title + gap)
        pixels = as_pixels(OUT / name)
        small = pixels.width < width
        if small:
            caption += f" -> {pixels.width}x{pixels.height}"
        draw.text((left, top), caption, fill="black", font=font)
        sheet.paste(
            pixels.resize((width, height), Image.NEAREST if small else Image.LANCZOS),
            (left, top + title),
        )
    sheet.save(OUT / "contact_sheet.png")
    print(f"look at {(OUT / 'contact_sheet.png').relative_to(ROOT)} (magenta: NaN)")


def cut_out(source, name, *options):
    """What `oriel-portrait image` prints for one picture."""
    result = subprocess.run(
        [PORTRAIT, "image", source, name, "--reproducible", *options],
        capture_output=True,
        text=True,
        cwd=OUT,
    )
    if result.returncode != 0:
        sys.exit(
            f"oriel-portrait image {source} {name}\n{result.stdout}{result.stderr}"
        )
    return result.stdout.strip()


def portrait():
    """A photograph of a person, cut out and put before another background: by the selfie model if it is installed, else by
    the drawn model, which needs an easier photograph."""
    listed = subprocess.run(
        [PORTRAIT, "models", "--json"], capture_output=True, text=True, check=True
    )
    selfie = any(
        model["name"] == "selfie" and model["default"]
        for model in json.loads(listed.stdout)["models"]
    )
    if selfie:
        print(
            "portrait: scikit-image's astronaut (NASA, public domain), cut out by oriel-portrait with MediaPipe's selfie model"
        )
        picture = Image.open(PHOTO.with_name("astronaut.png")).convert("RGB")
        inside, outside = (slice(90, 150), slice(190, 260)), (slice(60), slice(60))
    else:
        print(
            "portrait: matplotlib's grace_hopper.jpg (US Navy, public domain), cut out by oriel-portrait with its drawn model"
        )
        picture = Image.open(
            matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
        )
        inside, outside = (slice(180, 300), slice(200, 310)), (slice(60), slice(60))
    picture.save(OUT / "portrait.png")
    for name, options in (
        ("portrait_gradient.png", ["--background", "gradient:#7fb2ff,#ffffff"]),
        ("portrait_blur.png", ["--background", "blur:20"]),
        ("portrait_mask.png", ["--only-mask"]),
    ):
        print(f"  {cut_out('portrait.png', name, *options)}")
    mask = np.asarray(Image.open(OUT / "portrait_mask.png").convert("L"))
    if mask[inside].min() < 230 or mask[outside].max() > 25:
        sys.exit("portrait_mask.png: the face must be kept and the upper corner not")
    names = ("portrait", "portrait_mask", "portrait_gradient", "portrait_blur")
    pictures = [Image.open(OUT / f"{name}.png").convert("RGB") for name in names]
    sheet = Image.new(
        "RGB", (sum(picture.width for picture in pictures), pictures[0].height)
    )
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (number * picture.width, 0))
    sheet.save(OUT / "portrait_sheet.png")
    print(
        f"look at {(OUT / 'portrait_sheet.png').relative_to(ROOT)} (docs/portrait-selfie.md)"
    )


def main():
    photo = prepare()
    info = json.loads(oriel("info", "--json"))
    print(f"Oriel {info['version']}, instruction set {info['target']}")
    pool_pictures(photo)
    check_pictures(photo)
    check_problems()
    time_problems()
    contact_sheet(photo)
    portrait()
    pyramids()


if __name__ == "__main__":
    main()
