"""Real photographs that come with Python packages, and people's outlines in them drawn by hand (photographs.json)."""

import importlib.util
import json
from pathlib import Path

import numpy as np
from PIL import Image

from synthetic import raster

OUTLINES = Path(__file__).with_name("photographs.json")


def names():
    return list(json.loads(OUTLINES.read_text()))


def load(name):
    """(picture [h][w][3] uint8, alpha [h][w] float32, counted [h][w] bool, about) of a photograph.

    `counted` is False where what belongs to the person is a matter of opinion: a helmet on her lap, a camera in his hands.
    """
    known = json.loads(OUTLINES.read_text())
    if name not in known:
        raise ValueError(f"photographs: name is {name!r}; known are {', '.join(known)}")
    about = known[name]
    picture = _picture(about["from"])
    height, width = picture.shape[:2]
    alpha = _cover([about["person"]] if about["person"] else [], height, width)
    return picture, alpha, _cover(about["either"], height, width) == 0, about


def every(least_side=64):
    """{file name: picture [h][w][3] uint8} of every image file that scikit-image, matplotlib and, if it is installed,
    scikit-learn ship, but for those with a side shorter than `least_side` and those that Pillow cannot read."""
    found = {}
    for package, folder in (("skimage", "data"), ("matplotlib", "mpl-data/sample_data"), ("sklearn", "datasets/images")):
        spec = importlib.util.find_spec(package)
        for path in sorted((Path(spec.origin).parent / folder).iterdir()) if spec else ():
            if path.suffix not in (".png", ".jpg", ".jpeg", ".tif", ".gif"):
                continue
            try:
                picture = np.asarray(Image.open(path).convert("RGB"))
            except OSError:
                continue
            if min(picture.shape[:2]) >= least_side:
                found[path.name] = picture
    return found


def files_with_people():
    """The names of files that every() gives in which there are people: those with outlines."""
    known = json.loads(OUTLINES.read_text()).values()
    sources = [about["from"] for about in known if about["person"]]
    return {source.split()[1] if " " in source else source.rsplit(".", 1)[1] + ".png" for source in sources}


def _picture(source):
    if source.startswith("skimage.data."):
        picture = getattr(importlib.import_module("skimage.data"), source.rsplit(".", 1)[1])()
    else:
        package, file = source.split()
        picture = np.asarray(Image.open(Path(importlib.import_module(package).get_data_path()) / "sample_data" / file))
    picture = picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2)
    return np.ascontiguousarray(picture[..., :3])


def _cover(outlines, height, width):
    found = np.zeros((height, width), np.float32)
    for outline in outlines:
        patch = raster.patch(outline, height, width)
        if patch is not None:
            part = found[patch.rows, patch.columns]
            np.maximum(part, patch.coverage, out=part)
    return found
