"""Draws the pictures of the tutorials into docs/images/learn.

Usage: learn_pictures.py [--check]. The pictures show variables of the programs in docs/learn/photograph.md and docs/learn/cnn.md, which are
run for that: of the second, only what draws. With --check nothing is written: files that differ visibly from what would be drawn are listed, and the exit status is 1 if there
are any. Needs the Python package, scikit-image and PyTorch. The photograph is scikit-image's Chelsea (CC0, Stefan van der Walt).
"""

import ast
import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images" / "learn"
LARGEST = 60_000  # bytes of a picture
GAP = 6
SIZE = (332, 221)  # of a photograph in a sheet
LETTERS = 15


def programs(page):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "learn" / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def variables_of(page):
    """The variables of all programs of a page, each run on its own as a reader would."""
    found = {}
    for program in programs(page):
        names = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program, page, "exec"), names)
        found |= names
    return found


def function_of(page, name):
    """A function of a page's program, without running the rest of it."""
    program = next(ast.parse(text) for text in programs(page) if f"def {name}(" in text)
    program.body = [each for each in program.body if isinstance(each, (ast.Import, ast.ImportFrom, ast.FunctionDef))]
    names = {}
    exec(compile(program, page, "exec"), names)
    return names[name]


def tile(pixels, words, size=SIZE):
    """A picture with its name in a dark corner, which can be read on any page."""
    image = Image.fromarray(np.asarray(pixels)).convert("RGB")
    image = image.resize(size, Image.Resampling.NEAREST if image.width < size[0] else Image.Resampling.LANCZOS)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=LETTERS)
    left, top, right, bottom = draw.textbbox((8, 5), words, font=font)
    draw.rectangle((0, 0, right + 8, bottom + 5), fill=(24, 24, 24))
    draw.text((8, 5), words, fill=(245, 245, 245), font=font)
    return image


def sheet(tiles, columns):
    """Pictures of one size in rows, on grey, which fits light and dark pages."""
    width, height = tiles[0].size
    rows = -(-len(tiles) // columns)
    image = Image.new("RGB", (columns * (width + GAP) - GAP, rows * (height + GAP) - GAP), (128, 128, 128))
    for number, each in enumerate(tiles):
        image.paste(each, (number % columns * (width + GAP), number // columns * (height + GAP)))
    return image


def photographs():
    """The sheets of docs/learn/photograph.md, by file name."""
    found = variables_of("photograph.md")
    photo = found["photo"]
    cut = photo[:, : found["mean"].shape[1] * 4]  # what whole windows read
    return {
        "shrink.jpg": sheet([tile(cut, "photograph"), tile(found["mean"], "mean"), tile(found["bright"], "maximum"), tile(found["dark"], "minimum")], 2),
        "morphology.jpg": sheet([tile(found["eroded"], "erosion"), tile(found["opened"], "opening"), tile(found["closed"], "closing"),
                                 tile(found["gradient"], "gradient")], 2),
        "borders.jpg": sheet([tile(found["zeros"], "padding counts"), tile(found["inside"], "pixels that exist")], 2),
    }


def drawings():
    """The sheet of docs/learn/cnn.md: a picture of each kind, as the network gets them."""
    x, kinds = function_of("cnn.md", "pictures")(32, seed=1)
    first = [int((kinds == kind).nonzero()[0, 0]) for kind in range(3)]
    greys = [np.clip(128 + 48 * x[place, 0].numpy(), 0, 255).astype(np.uint8) for place in first]
    return {"kinds.png": sheet([tile(grey, words, (220, 220)) for grey, words in zip(greys, ("0: rows", "1: columns", "2: squares"))], 3)}


def encoded(name, image):
    file = io.BytesIO()
    if name.endswith(".png"):
        image.quantize(64).save(file, "PNG", optimize=True)
    else:
        image.save(file, "JPEG", quality=74, optimize=True)
    if file.tell() > LARGEST:
        sys.exit(f"learn_pictures.py: {name} would have {file.tell()} bytes; allowed: {LARGEST}")
    return file.getvalue()


def differs(file, image):
    """Whether a committed picture is missing or another one; versions of the encoder may differ in the last bits."""
    if not file.is_file():
        return True
    old = np.asarray(Image.open(file).convert("RGB"), float)
    new = np.asarray(image, float)
    return old.shape != new.shape or float(np.abs(old - new).mean()) > 6


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = [(name, image) for name, image in {**photographs(), **drawings()}.items() if differs(IMAGES / name, image)]
    for name, image in stale:
        print(f"docs/images/learn/{name}")
        if "--check" not in sys.argv:
            IMAGES.mkdir(parents=True, exist_ok=True)
            (IMAGES / name).write_bytes(encoded(name, image))
    sys.exit(1 if stale and "--check" in sys.argv else 0)


if __name__ == "__main__":
    main()
