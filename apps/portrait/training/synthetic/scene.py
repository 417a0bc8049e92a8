"""Samples: people over a background, seen by a camera. Everything follows from the seed."""

import numpy as np

from synthetic import background, camera, person
from synthetic.canvas import Canvas

CATEGORIES = ("head", "half", "full", "hat", "long hair", "two people", "nobody")
CHANCES = (0.32, 0.25, 0.10, 0.08, 0.08, 0.12, 0.05)


def _generator(seed, stream):
    return np.random.Generator(np.random.PCG64([int(seed), stream]))


def people(seed, size, category=None):
    """(rgba [size][size][4] uint8 with straight colours, category): the people of a seed before nothing."""
    rng = _generator(seed, 1)
    drawn = str(rng.choice(CATEGORIES, p=CHANCES))
    category = category or drawn
    canvas = Canvas(size)
    if category in ("head", "half", "full"):
        person.draw(canvas, rng, category, hat=None if category == "full" else False)
    elif category == "hat":
        person.draw(canvas, rng, str(rng.choice(["head", "half"])), hat=True)
    elif category == "long hair":
        person.draw(canvas, rng, str(rng.choice(["head", "half"])), hat=False, style="long")
    elif category == "two people":
        view, left = str(rng.choice(["head", "half", "half", "full"])), rng.uniform(0.18, 0.38)
        middles = [left, left + rng.uniform(0.28, 0.5)]
        rng.shuffle(middles)
        for middle in middles:
            person.draw(canvas, rng, view, middle=middle)
    elif category != "nobody":
        raise ValueError(f"people: category is {category!r}; known are {', '.join(CATEGORIES)}")
    straight = canvas.rgb / np.maximum(canvas.alpha, 1e-6)[..., None]
    rgba = np.concatenate([straight, canvas.alpha[..., None]], axis=2)
    return (np.clip(rgba, 0, 1) * 255 + 0.5).astype(np.uint8), category


def ground(seed, size):
    """The background of a seed, [size][size][3] uint8."""
    return (background.draw(_generator(seed, 2), size) * 255 + 0.5).astype(np.uint8)


def seen(rgba, behind, rng, size, whole=False):
    """A camera's picture of people over a background: ([size][size][3] uint8, alpha [size][size] float32).

    rgba, behind: from `people` and `ground`, square. Both are mirrored and cut by lot, the background on its own;
    `whole` keeps them as they are. In half of the pictures the background takes on the people's mean and spread of colour.
    """
    sides = [rgba, behind]
    boxes = [(0.0, 0.0, float(p.shape[1]), float(p.shape[0])) for p in sides]
    if not whole:
        sides = [p[:, ::-1] if rng.random() < 0.5 else p for p in sides]
        boxes = [camera.crop(rng, p.shape[0]) for p in sides]
    boxes[1] = _same_shape(boxes[0], boxes[1], behind.shape[0])
    front, back = (camera.letterbox(np.ascontiguousarray(p), b, size) for p, b in zip(sides, boxes))
    front, back = front.astype(np.float32) / 255, back.astype(np.float32) / 255
    colour, alpha = front[..., :3], front[..., 3]
    apart = rng.random()
    if apart < 0.25:  # people under another light than what is behind them
        back = camera.expose(back, rng)
    elif apart < 0.75 and alpha.sum() > 1:
        back = _like(back, colour, alpha, rng.uniform(0.5, 1))
    picture = back + alpha[..., None] * (colour - back)
    picture, alpha = camera.focus(camera.expose(picture, rng), alpha, rng)
    pixels = camera.record(picture, rng)
    bars = _bars(boxes[0], size)
    pixels = np.where(bars[..., None], pixels, 0)
    return pixels, np.where(bars, np.clip(alpha, 0, 1), 0).astype(np.float32)


def sample(seed, size, category=None):
    """The picture and exact alpha of a seed, as `seen`, uncut, and the category."""
    rgba, category = people(seed, size, category)
    picture, alpha = seen(rgba, ground(seed, size), _generator(seed, 3), size, whole=True)
    return picture, alpha, category


def _same_shape(box, other, side):
    """The largest box of `box`'s aspect ratio about the middle of `other`, moved into [0, side]."""
    aspect = (box[2] - box[0]) / (box[3] - box[1])
    width = min(other[2] - other[0], (other[3] - other[1]) * aspect)
    half = np.array([width, width / aspect]) / 2
    middle = np.clip([(other[0] + other[2]) / 2, (other[1] + other[3]) / 2], half, side - half)
    return (*(middle - half), *(middle + half))


def _like(back, colour, alpha, how_much):
    """The background with its mean and deviation moved towards those of the people."""
    weight = alpha[..., None] / alpha.sum()
    mean = (colour * weight).sum((0, 1))
    spread = np.sqrt(((colour - mean) ** 2 * weight).sum((0, 1)))
    own, deviation = back.mean((0, 1)), back.std((0, 1)) + 1e-3
    return np.clip(back + how_much * ((back - own) * (np.clip(spread / deviation, 0.3, 3)) + mean - back), 0, 1).astype(np.float32)


def _bars(box, size):
    """True where the letterboxed box has pixels."""
    high = round(size * min(1, (box[3] - box[1]) / (box[2] - box[0])))
    wide = round(size * min(1, (box[2] - box[0]) / (box[3] - box[1])))
    found = np.zeros((size, size), bool)
    top, left = (size - high) // 2, (size - wide) // 2
    found[top:top + high, left:left + wide] = True
    return found
