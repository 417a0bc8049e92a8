"""What is behind people: walls, rooms, nature, things, and distractors that look a little like people."""

import numpy as np
from scipy import ndimage

from synthetic import person, shapes, textures
from synthetic.canvas import Canvas, Light


def draw(rng, size):
    """A background [size][size][3], float32, 0 to 1."""
    canvas = Canvas(size)
    canvas.alpha[:] = 1
    canvas.rgb[:] = _ground(rng, size)
    light = Light(rng)
    clutter = rng.choice([0, 2, 5, 12, 25], p=[0.2, 0.2, 0.25, 0.2, 0.15])
    things = (_rectangles, _frame, _shelf, _discs, _blob, _lamp, _chair, _plant, _writing, _lines, _flag, _poster, _mannequin, _limbs, _object, _animal)
    chances = np.array([4, 2, 1.5, 1, 4, 1.5, 1.5, 2, 1, 2, 1.5, 0.5, 0.5, 2.5, 2.5, 1])
    for _ in range(int(rng.integers(0, clutter + 1)) if clutter else 0):
        things[rng.choice(len(things), p=chances / chances.sum())](canvas, rng, light)
    rgb = canvas.rgb
    if rng.random() < 0.5:  # out of focus
        sigma = size * rng.uniform(0.002, 0.035)
        rgb = ndimage.gaussian_filter(rgb, (sigma, sigma, 0), mode="nearest", truncate=2.5)
        if rng.random() < 0.3:
            canvas.rgb = np.ascontiguousarray(rgb)
            _discs(canvas, rng, light)
            rgb = canvas.rgb
    if rng.random() < 0.4:  # light falls off
        rgb = rgb * textures.mix(textures.ramp(rng, size), rng.uniform(0.4, 1), rng.uniform(0.8, 1.2)) if rng.random() < 0.5 else (
            rgb * (0.6 + 0.6 * textures.noise(rng, size, 3, 1))[..., None])
    return np.clip(rgb, 0, 1).astype(np.float32)


def _ground(rng, size):
    """The farthest layer: a wall, a wall and a floor, sky and land, foliage, or cloth."""
    kind = rng.random()
    first, second = textures.colour(rng), textures.colour(rng)
    if kind < 0.2:  # a studio's backdrop
        return textures.mix(np.clip(textures.ramp(rng, size) + 0.3 * (textures.noise(rng, size, 4) - 0.5), 0, 1), first,
                            np.clip(first + rng.normal(0, 0.15, 3), 0, 1))
    if kind < 0.4:
        return textures.pattern(rng, size, size * rng.uniform(0.03, 0.2)).copy()
    if kind < 0.6:
        found = textures.pattern(rng, size, size * 0.1).copy()
        corner = int(size * rng.uniform(0.4, 0.9))
        found[corner:] = textures.pattern(rng, size, size * 0.15)[corner:]
        return found
    if kind < 0.72:  # sky over land
        sky = textures.mix(np.clip(textures.noise(rng, size, 4, 4) * 2 - 0.6, 0, 1), np.array([0.35, 0.55, 0.85]) * rng.uniform(0.5, 1.15), (0.93, 0.94, 0.97))
        land = textures.mix(textures.noise(rng, size, 12, 4, 0.7), np.array([0.1, 0.2, 0.06]) * rng.uniform(0.5, 2, 3), np.array([0.4, 0.5, 0.25]) * rng.uniform(0.6, 1.6, 3))
        ridge = size * (rng.uniform(0.15, 0.9) + 0.3 * (textures.noise(rng, size, 5, 4)[0] - 0.5))
        return np.where((np.arange(size)[:, None] < ridge)[..., None], sky, np.clip(land, 0, 1))
    if kind < 0.86:  # leaves, stone, grass
        field = np.clip((textures.noise(rng, size, rng.uniform(4, 40), 4, 0.8) - 0.5) * rng.uniform(1.5, 4) + 0.5, 0, 1)
        green = np.array([0.12, 0.2, 0.07]) * rng.uniform(0.3, 2, 3)
        return np.clip(textures.mix(field, green, green + rng.uniform(0.1, 0.6, 3)), 0, 1) if rng.random() < 0.6 else textures.mix(field, first, second)
    index, border = textures.cells(rng, size, int(rng.integers(8, 80)))
    palette = np.clip(first + rng.normal(0, rng.uniform(0.03, 0.25), (int(index.max()) + 1, 3)), 0, 1)
    return (palette[index] * np.clip(border * size / 3, 0.4, 1)[..., None]).astype(np.float32)


def _place(rng, size, small=0.04, large=0.5):
    return rng.uniform(-0.1, 1.1, 2) * size, size * rng.uniform(small, large), size * rng.uniform(small, large)


def _rectangles(canvas, rng, light):
    (x, y), w, h = _place(rng, canvas.size, 0.03, 0.45)
    canvas.fill(shapes.rotate(shapes.box(x, y, x + w, y + h), rng.choice([0, rng.normal(0, 0.2)]), (x, y)),
                textures.pattern(rng, canvas.size, canvas.size * 0.06), light=light if rng.random() < 0.4 else None, roundness=0.1)


def _frame(canvas, rng, _):
    """A window, door or picture: panes with bars."""
    (x, y), w, h = _place(rng, canvas.size, 0.12, 0.6)
    edge = canvas.size * rng.uniform(0.005, 0.03)
    canvas.fill(shapes.box(x - edge, y - edge, x + w + edge, y + h + edge), textures.colour(rng, 0.7))
    canvas.fill(shapes.box(x, y, x + w, y + h), textures.pattern(rng, canvas.size, canvas.size * 0.1, np.full(3, rng.uniform(0.6, 1.0)) if rng.random() < 0.5 else None))
    for i in range(1, int(rng.integers(1, 4))):
        canvas.fill(shapes.box(x, y + h * i / 3 - edge / 2, x + w, y + h * i / 3 + edge / 2), textures.colour(rng, 0.8))
        canvas.fill(shapes.box(x + w * i / 3 - edge / 2, y, x + w * i / 3 + edge / 2, y + h), textures.colour(rng, 0.8))


def _shelf(canvas, rng, _):
    (x, y), w, _ = _place(rng, canvas.size, 0.2, 0.9)
    high = canvas.size * rng.uniform(0.06, 0.16)
    for row in range(int(rng.integers(1, 5))):
        left, base = x, y + row * high * 1.2
        while left < x + w:
            thick = canvas.size * rng.uniform(0.008, 0.035)
            canvas.fill(shapes.box(left, base - high * rng.uniform(0.6, 1), left + thick, base), textures.colour(rng))
            left += thick
        canvas.fill(shapes.box(x, base, x + w, base + high * 0.12), textures.colour(rng, 0.8))


def _discs(canvas, rng, _):
    """Lights out of focus."""
    radius, base = canvas.size * rng.uniform(0.01, 0.07), np.clip(textures.colour(rng) + 0.4, 0, 1)
    for _ in range(int(rng.integers(3, 25))):
        r = radius * rng.uniform(0.7, 1.3)
        canvas.fill(shapes.superellipse(*rng.uniform(0, canvas.size, 2), r, r, points=24), np.clip(base + rng.normal(0, 0.15, 3), 0, 1), rng.uniform(0.2, 0.9))


def _blob(canvas, rng, light):
    (x, y), w, h = _place(rng, canvas.size, 0.03, 0.35)
    outline = shapes.wobble(shapes.superellipse(x, y, w, h, rng.uniform(1.6, 5)), rng, rng.uniform(0, 0.2))
    canvas.fill(outline, textures.pattern(rng, canvas.size, canvas.size * 0.05), light=light, roundness=rng.uniform(0.1, 0.4))


def _lamp(canvas, rng, light):
    """A stand with a shade on top: a stick with a head."""
    x, y, r = rng.uniform(0, canvas.size), rng.uniform(0, 0.6) * canvas.size, canvas.size * rng.uniform(0.04, 0.16)
    canvas.fill(shapes.box(x - r * 0.08, y, x + r * 0.08, canvas.size), textures.colour(rng, 0.8), light=light)
    if rng.random() < 0.5:
        canvas.fill(shapes.superellipse(x, y, r, r * rng.uniform(0.7, 1.3)), np.clip(textures.colour(rng) + 0.3, 0, 1), light=light)
    else:
        canvas.fill([[x - r * 0.6, y - r], [x + r * 0.6, y - r], [x + r, y + r * 0.5], [x - r, y + r * 0.5]], textures.pattern(rng, canvas.size, r * 0.2), light=light)


def _chair(canvas, rng, light):
    """A rounded back with a seat: shoulders without a head."""
    x, y, w = rng.uniform(0, canvas.size), rng.uniform(0.3, 0.9) * canvas.size, canvas.size * rng.uniform(0.08, 0.3)
    cloth = textures.pattern(rng, canvas.size, w * 0.15)
    canvas.fill(shapes.superellipse(x, y + w * 0.7, w, w * rng.uniform(0.7, 1.3), rng.uniform(2.2, 6)), cloth, light=light, roundness=0.12)
    if rng.random() < 0.4:
        canvas.fill(shapes.superellipse(x, y - w * 0.3, w * 0.4, w * 0.22, 4), cloth, light=light)


def _plant(canvas, rng, light):
    (x, y), w, _ = _place(rng, canvas.size, 0.08, 0.4)
    count = int(rng.integers(5, 30))
    angle = rng.uniform(-np.pi, 0.3, count)
    reach = w * rng.uniform(0.4, 1, count)
    tip = np.stack([x + np.cos(angle) * reach, y + np.sin(angle) * reach], axis=1)
    root = np.broadcast_to([x, y], tip.shape)
    middle = (tip + root) / 2 + rng.normal(0, 0.15, tip.shape) * w
    curves = np.stack([root, (root + 2 * middle) / 3, middle, (tip + 2 * middle) / 3, tip], axis=1)
    leaf = w * rng.uniform(0.02, 0.1) * np.array([0.3, 0.8, 1.0, 0.7, 0.05])
    colour = np.clip(np.array([0.15, 0.4, 0.12]) * rng.uniform(0.4, 1.8, 3), 0, 1)
    for outline in shapes.ribbons(curves, np.broadcast_to(leaf, (count, 5))):
        canvas.fill(outline, np.clip(colour * rng.uniform(0.6, 1.4), 0, 1), light=light)


def _writing(canvas, rng, _):
    """Rows of marks like words on a board."""
    (x, y), w, h = _place(rng, canvas.size, 0.2, 0.7)
    canvas.fill(shapes.box(x, y, x + w, y + h), textures.colour(rng, 0.6))
    line, ink = canvas.size * rng.uniform(0.015, 0.06), textures.colour(rng)
    marks = []
    for base in np.arange(y + line, y + h - line, line * 1.6):
        left = x + line
        while left < x + w - line and len(marks) < 250:
            wide = line * rng.uniform(0.1, 0.6)
            marks.append(shapes.box(left, base - line * rng.uniform(0.4, 1), left + wide, base))
            left += wide + line * rng.choice([0.15, 0.15, 0.6])
    if marks:
        canvas.fill(np.stack(marks), ink)


def _lines(canvas, rng, _):
    """Poles, cables and edges across the picture."""
    ends = rng.uniform(-0.2, 1.2, (2, 2)) * canvas.size
    if rng.random() < 0.5:
        ends[1, 0] = ends[0, 0]
    width = canvas.size * rng.uniform(0.002, 0.03)
    canvas.fill(shapes.ribbons(ends[None], np.full((1, 2), width))[0], textures.colour(rng))


def _flag(canvas, rng, light):
    """Hanging cloth with stripes and folds."""
    (x, y), w, h = _place(rng, canvas.size, 0.15, 0.9)
    cloth = textures.mix(textures.waves(rng, canvas.size, canvas.size * rng.uniform(0.03, 0.15)), textures.colour(rng), textures.colour(rng))
    folds = 0.6 + 0.6 * textures.waves(rng, canvas.size, canvas.size * rng.uniform(0.05, 0.2), rng.normal(0, 0.2), 0.8)
    left = [[x + rng.normal(0, 0.04) * w, y + h * t] for t in np.linspace(0, 1, 5)]
    right = [[x + w * (1 + rng.normal(0, 0.08)), y + h * t] for t in np.linspace(1, 0, 5)]
    canvas.fill(shapes.spline(left + right, 4), np.clip(cloth * folds[..., None], 0, 1), light=light, roundness=0.05)


def _poster(canvas, rng, _):
    """A framed picture of a person, drawn small: part of the background."""
    small = Canvas(int(canvas.size * rng.uniform(0.12, 0.3)))
    ground = textures.mix(textures.ramp(rng, small.size), textures.colour(rng), textures.colour(rng))
    person.draw(small, rng, "head")
    picture = small.rgb + (1 - small.alpha)[..., None] * ground
    x, y = (int(v) for v in rng.uniform(0, canvas.size - small.size, 2))
    edge = canvas.size * rng.uniform(0.005, 0.02)
    canvas.fill(shapes.box(x - edge, y - edge, x + small.size + edge, y + small.size + edge), textures.colour(rng, 0.7))
    canvas.rgb[y:y + small.size, x:x + small.size] = picture


def _mannequin(canvas, rng, light):
    """A head and shoulders of one plain colour, without a face."""
    x, y, r = rng.uniform(0, canvas.size), rng.uniform(0.1, 0.7) * canvas.size, canvas.size * rng.uniform(0.02, 0.06)
    colour = textures.colour(rng, 0.95)
    canvas.fill(shapes.spline([[x - r * 0.6, y + r], [x - r * 2.4, y + 2 * r], [x - r * 2, y + 7 * r], [x + r * 2, y + 7 * r], [x + r * 2.4, y + 2 * r],
                               [x + r * 0.6, y + r]]), colour, light=light)
    canvas.fill(shapes.superellipse(x, y, r, r * 1.35), colour, light=light)


def _limbs(canvas, rng, light):
    """Rounded chains: pipes, branches, bolsters."""
    joints = np.cumsum(np.concatenate([rng.uniform(0, 1, (1, 2)), rng.normal(0, 0.15, (int(rng.integers(1, 4)), 2))]), axis=0) * canvas.size
    radii = canvas.size * rng.uniform(0.01, 0.07) * rng.uniform(0.7, 1.2, len(joints))
    colour = textures.colour(rng) if rng.random() < 0.6 else np.array([0.8, 0.6, 0.45]) * rng.uniform(0.4, 1.2)
    canvas.fill(shapes.capsules(joints, radii), np.clip(colour, 0, 1), light=light, roundness=0.3)


def _object(canvas, rng, light):
    """Something round seen from near: a cup, plate, ball, vase or box, with rims, marks and a handle."""
    x, y, r = rng.uniform(0.1, 0.9) * canvas.size, rng.uniform(0.3, 1.0) * canvas.size, canvas.size * rng.uniform(0.08, 0.4)
    flat, power, turn = rng.uniform(0.35, 1.3), rng.uniform(1.7, 6), rng.normal(0, 0.4)
    outline = shapes.rotate(shapes.superellipse(x, y, r, r * flat, power), turn, (x, y))
    if rng.random() < 0.3:  # its saucer or foot
        canvas.fill(shapes.superellipse(x, y + r * flat * 0.6, r * 1.4, r * 0.6), textures.colour(rng), light=light, roundness=0.1)
    if rng.random() < 0.3:
        ring = shapes.superellipse(x + r * rng.choice([-1, 1]), y, r * 0.4, r * 0.4)
        canvas.fill(shapes.ribbons(np.concatenate([ring, ring[:1]])[None], np.full((1, len(ring) + 1), r * 0.09))[0], textures.colour(rng), light=light)
    canvas.fill(outline, textures.pattern(rng, canvas.size, r * 0.3), light=light, roundness=rng.uniform(0.1, 0.4))
    middle = np.array([x, y - r * flat * rng.uniform(0, 0.5)])
    for _ in range(int(rng.integers(0, 4))):  # rims inside of rims
        outline = (outline - outline.mean(0)) * rng.uniform(0.55, 0.95) + middle
        canvas.fill(outline, textures.colour(rng), light=light if rng.random() < 0.5 else None)


def _animal(canvas, rng, light):
    """A furry head with ears, eyes and nose on a body."""
    x, y, r = rng.uniform(0, 1) * canvas.size, rng.uniform(0.2, 0.9) * canvas.size, canvas.size * rng.uniform(0.04, 0.3)
    base = np.array([0.55, 0.4, 0.28]) * rng.uniform(0.15, 1.7) + rng.normal(0, 0.05, 3)
    fur = textures.mix(textures.noise(rng, canvas.size, canvas.size / r * rng.uniform(2, 8), 3, 0.8), np.clip(base * 0.5, 0, 1), np.clip(base * 1.4, 0, 1))
    canvas.fill(shapes.wobble(shapes.superellipse(x + rng.normal(0, 0.6) * r, y + 1.7 * r, 1.3 * r, 1.5 * r), rng, 0.08), fur, light=light)
    for side in (-1, 1):
        ear = [[x + side * 0.3 * r, y - 0.7 * r], [x + side * rng.uniform(0.5, 1.1) * r, y - rng.uniform(0.9, 1.6) * r], [x + side * 0.9 * r, y - 0.2 * r]]
        canvas.fill(shapes.spline(ear, 6), fur, light=light)
    canvas.fill(shapes.wobble(shapes.superellipse(x, y, r, r * rng.uniform(0.75, 1.1)), rng, 0.04), fur, light=light, roundness=0.3)
    for side in (-1, 1):
        canvas.fill(shapes.superellipse(x + side * 0.42 * r, y - 0.1 * r, 0.17 * r, 0.17 * r, points=20), np.clip(rng.random(3) * [1, 1, 0.5], 0, 1))
        canvas.fill(shapes.superellipse(x + side * 0.42 * r, y - 0.1 * r, 0.07 * r, 0.13 * r, points=16), np.full(3, 0.03))
    canvas.fill([[x - 0.15 * r, y + 0.25 * r], [x + 0.15 * r, y + 0.25 * r], [x, y + 0.42 * r]], np.clip(base * [1.2, 0.7, 0.7], 0, 1))
