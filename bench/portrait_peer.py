"""Cuts people out of images with another program, in this process. bench/portrait_peers.py runs it, with that program's Python.

    python bench/portrait_peer.py PROGRAM MODEL OUT TURNS IMAGE...

PROGRAM is mediapipe, rembg or rembg-matting. MODEL is an ONNX file for rembg, in the folder that REMBG_HOME or U2NET_HOME names; mediapipe
uses the one in its package. OUT/NAME.png is each image's result, with transparency. Then the last image's mask is computed TURNS times
more. Prints JSON: the seconds of each of these.
"""

import json
import sys
import time
from pathlib import Path

from PIL import Image


def mediapipe_program():
    """(mask of an image, its cut-out) by MediaPipe's own solution, which ends with the mask: it becomes the transparency."""
    import mediapipe
    import numpy as np

    solution = mediapipe.solutions.selfie_segmentation.SelfieSegmentation(model_selection=0)

    def mask(image):
        return solution.process(np.asarray(image)).segmentation_mask

    def cut(image):
        result = image.copy()
        result.putalpha(Image.fromarray((mask(image) * 255 + 0.5).astype(np.uint8)))
        return result

    return mask, cut


def rembg_program(model, **options):
    """(mask of an image, its cut-out) by rembg with the file `model`, and options of rembg.remove."""
    import rembg

    session = rembg.new_session("u2net_custom", model_path=model)
    return session.predict, lambda image: rembg.remove(image, session=session, **options)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    program, model, out, turns, *paths = sys.argv[1:]
    make = {"mediapipe": mediapipe_program, "rembg": lambda: rembg_program(model), "rembg-matting": lambda: rembg_program(model, alpha_matting=True)}
    if program not in make:
        sys.exit(f"portrait_peer: PROGRAM is {program}; allowed: {', '.join(make)}")
    mask, cut = make[program]()
    for path in map(Path, paths):
        image = Image.open(path).convert("RGB")
        cut(image).save(Path(out) / f"{path.stem}.png")
    seconds = []
    for _ in range(int(turns)):
        begin = time.perf_counter()
        mask(image)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
