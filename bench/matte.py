"""Measures the mattes of oriel-portrait on images with exact alpha and on photographs with outlines drawn by hand, beside PyMatting.

    python bench/matte.py --command build/bin/oriel-portrait --json build/matte.json [--peers] [--selfie] [--sheet FILE]

--peers adds PyMatting's closed-form and KNN matting from the same trimaps. --selfie adds photographs, whose masks are those of
MediaPipe's selfie model (mediapipe 0.10.14). What is not measured is said on standard error. scripts/matte_page.py writes
the section "The matte" of docs/portrait.md from the JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matte_subjects as subjects
import numpy as np
from PIL import Image
from scipy import ndimage

TRAINING = Path(__file__).resolve().parents[1] / "apps/portrait/training"
OUTLINED = ("astronaut", "camera", "grace_hopper")
OPINION = 6  # pixels around what is a matter of opinion that are not counted either
TURNS = 5


def errors(found, alpha, unknown):
    """SAD in thousands, MSE in thousandths and gradient error in thousands of alpha, over the unknown pixels (Rhemann and others: A
    perceptually motivated online benchmark for image matting, 2009)."""
    difference = (found - alpha)[unknown].astype(np.float64)
    slopes = [np.hypot(*(ndimage.gaussian_filter(v.astype(np.float64), 1.4, order=o) for o in ((0, 1), (1, 0)))) for v in (found, alpha)]
    return {"sad": float(np.abs(difference).sum() / 1e3), "mse": float((difference**2).mean() * 1e3),
            "gradient": float(((slopes[0] - slopes[1])[unknown] ** 2).sum() / 1e3)}


def outline_error(found, alpha, counted):
    """Mean distance between the outlines of two alphas in both directions, in pixels of an image whose longer side is 512."""
    counted = ndimage.binary_erosion(counted, iterations=OPINION, border_value=1)
    first, second = (_outline(v > 0.5) & counted for v in (found, alpha))
    there = ndimage.distance_transform_edt(~second)[first].mean()
    back = ndimage.distance_transform_edt(~first)[second].mean()
    return float((there + back) / 2 * 512 / max(alpha.shape))


def _outline(mask):
    return mask & ~ndimage.binary_erosion(mask, border_value=1)


class Command:
    """oriel-portrait with images in a folder of its own; the last call's seconds for cutting out are in `seconds`."""

    def __init__(self, path, threads, folder):
        self.path, self.threads, self.folder, self.seconds = path, threads, Path(folder), 0.0

    def run(self, image, given, *options):
        """The result for an image [h][w][3] and a mask or trimap [h][w] from 0 to 1, as an array."""
        Image.fromarray(image).save(self.folder / "in.png")
        Image.fromarray((given * 255 + 0.5).astype(np.uint8)).save(self.folder / "given.png")
        seconds = []
        for _ in range(TURNS):
            done = subprocess.run([self.path, "image", "in.png", "out.png", "--json", "--threads", str(self.threads), *options],
                                  cwd=self.folder, capture_output=True, text=True, check=True)
            seconds.append(json.loads(done.stdout)["seconds"]["edges"])
        self.seconds = float(np.median(seconds))
        return np.asarray(Image.open(self.folder / "out.png")) / 255

    def alpha(self, image, mask, matte):
        return self.run(image, mask, "--mask", "given.png", "--matte", matte, "--only-mask")

    def from_trimap(self, image, trimap):
        return self.run(image, trimap, "--trimap", "given.png", "--only-mask")


def enlarged(mask, shape):
    return np.asarray(Image.fromarray(mask.astype(np.float32)).resize(shape[::-1], Image.BILINEAR))


def from_trimaps(command, count, peers):
    """{method: {kind: errors and seconds}} from trimaps of exact alpha."""
    methods = {"Oriel": lambda image, trimap: command.from_trimap(image, trimap)}
    if peers:
        import pymatting

        methods["PyMatting closed-form"] = lambda image, trimap: pymatting.estimate_alpha_cf(image / 255, trimap.astype(np.float64))
        methods["PyMatting KNN"] = lambda image, trimap: pymatting.estimate_alpha_knn(image / 255, trimap.astype(np.float64))
        for method in list(methods)[1:]:  # compiled in the first call
            _, image, alpha, _ = subjects.subject(0)
            methods[method](image, subjects.trimap(alpha))
    rows = {method: [] for method in methods}
    for number in range(count):
        kind, image, alpha, _ = subjects.subject(number)
        trimap = subjects.trimap(alpha)
        for method, find in methods.items():
            begin = time.perf_counter()
            found = find(image, trimap)
            seconds = command.seconds if method == "Oriel" else time.perf_counter() - begin
            rows[method].append({"kind": kind, **errors(found, alpha, trimap == 0.5), "seconds": seconds})
    return rows


def from_masks(command, count):
    """{method: rows} from masks of 256x256 cells, over the pixels that trimaps of exact alpha leave unknown."""
    rows = {"mask": [], "fast": [], "fine": []}
    for number in range(count):
        kind, image, alpha, _ = subjects.subject(number)
        mask, unknown = subjects.rough_mask(alpha, number), subjects.trimap(alpha) == 0.5
        everywhere = np.ones(alpha.shape, bool)
        for matte in rows:
            command.seconds = 0.0
            found = enlarged(mask, alpha.shape) if matte == "mask" else command.alpha(image, mask, matte)
            rows[matte].append({"kind": kind, **errors(found, alpha, unknown), "outline": outline_error(found, alpha, everywhere),
                                "seconds": command.seconds})
    return rows


def colours(command, count, peers):
    """{method: mean difference of the person's colours, of 255, in mixed pixels}, each with the alpha of --trimap."""
    found = {"Oriel": [], "left as they are": []}
    for number in range(count):
        _, image, alpha, truth = subjects.subject(number)
        trimap = subjects.trimap(alpha)
        cut = command.run(image, trimap, "--trimap", "given.png")
        mixed = (alpha > 0.1) & (alpha < 0.9) & (cut[..., 3] > 0.1)
        guesses = {"Oriel": cut[..., :3], "left as they are": image / 255}
        if peers:
            import pymatting

            guesses["PyMatting multi-level"] = pymatting.estimate_foreground_ml(image / 255, cut[..., 3])
        for method, guess in guesses.items():
            found.setdefault(method, []).append(float(np.abs(guess - truth)[mixed].mean() * 255))
    return {method: float(np.mean(values)) for method, values in found.items()}


def photographs(command):
    """{name: {"mask", "fast", "fine": outline error, "seconds": of fine}} with masks of MediaPipe's selfie model."""
    import mediapipe

    sys.path.insert(0, str(TRAINING))
    import photographs as outlined

    model = mediapipe.solutions.selfie_segmentation.SelfieSegmentation(model_selection=0)
    found = {}
    for name in OUTLINED:
        picture, alpha, counted, about = outlined.load(name)
        small = np.asarray(Image.fromarray(picture).resize((256, 256), Image.BILINEAR))
        mask = model.process(small).segmentation_mask
        row = {"title": about["title"], "mask": outline_error(enlarged(mask, alpha.shape), alpha, counted)}
        for matte in ("fast", "fine"):
            row[matte] = outline_error(command.alpha(picture, mask, matte), alpha, counted)
            row[f"{matte}_seconds"] = command.seconds
        found[name] = row
    return found


def sheet(path, command, numbers=(6, 7, 9), behind=(48, 160, 96), box=(85, 20, 425, 360)):
    """Writes a JPEG: of some subjects the image and, over a plain colour, exact alpha, the mask, fast, fine, and the result of a trimap."""

    def over(colours, alpha):
        return (np.clip(alpha[..., None] * colours * 255 + (1 - alpha[..., None]) * np.array(behind), 0, 255)).astype(np.uint8)

    rows = []
    for number in numbers:
        _, image, alpha, truth = subjects.subject(number)
        mask = subjects.rough_mask(alpha, number)
        cuts = [command.run(image, mask, "--mask", "given.png", "--matte", matte) for matte in ("fast", "fine")]
        cuts.append(command.run(image, subjects.trimap(alpha), "--trimap", "given.png"))
        tiles = [image, over(truth, alpha), over(image / 255, enlarged(mask, alpha.shape)), *(over(c[..., :3], c[..., 3]) for c in cuts)]
        rows.append(np.concatenate([np.asarray(Image.fromarray(tile).crop(box)) for tile in tiles], axis=1))
    picture = Image.fromarray(np.concatenate(rows))
    unfinished = path.with_name(path.name + ".part")
    picture.resize((1536, round(1536 * picture.height / picture.width)), Image.LANCZOS).save(unfinished, "JPEG", quality=82)
    unfinished.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", type=Path, default=Path("build/bin/oriel-portrait"))
    parser.add_argument("--count", type=int, default=12, help="images with exact alpha")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--peers", action="store_true", help="measure PyMatting too")
    parser.add_argument("--selfie", action="store_true", help="measure photographs with masks of MediaPipe's model")
    parser.add_argument("--sheet", type=Path, help="JPEG to write with some of the images")
    parser.add_argument("--json", type=Path, required=True)
    choice = parser.parse_args()
    for wanted, what in ((choice.peers, "PyMatting (--peers)"), (choice.selfie, "photographs (--selfie)")):
        if not wanted:
            print(f"matte: {what}: NOT measured", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        command = Command(choice.command.resolve(), choice.threads, folder)
        found = {"count": choice.count, "threads": choice.threads, "masks": from_masks(command, choice.count),
                 "trimaps": from_trimaps(command, choice.count, choice.peers), "colours": colours(command, choice.count, choice.peers),
                 "photographs": photographs(command) if choice.selfie else {}}
        if choice.sheet:
            sheet(choice.sheet, command)
    unfinished = choice.json.with_name(choice.json.name + ".part")
    unfinished.write_text(json.dumps(found, indent=1))
    unfinished.replace(choice.json)


if __name__ == "__main__":
    main()
