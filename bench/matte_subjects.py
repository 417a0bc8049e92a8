"""Images with exact alpha for bench/matte.py: drawn subjects with hair, fur, fingers, thin rods and soft edges before real photographs."""

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage
from skimage import data

SIDE = 512
FINE = 4  # subjects are drawn FINE times as large and averaged
KINDS = ("hair", "curls", "fur", "fingers", "rods", "soft")
TINTS = ((0.16, 0.13, 0.11), (0.78, 0.62, 0.42), (0.36, 0.24, 0.16), (0.85, 0.66, 0.55), (0.30, 0.36, 0.52), (0.62, 0.61, 0.60), (0.52, 0.24, 0.14))


def _curves(rng, roots, direction, length, bend, points=10):
    """Curves [roots][points][2] that leave their roots in a direction and bend at random."""
    count = len(roots)
    t = np.linspace(0, 1, points)
    turn = rng.normal(0, bend, (count, 1)) * t + rng.normal(0, bend / 2, (count, 1)) * np.sin(np.pi * t * rng.uniform(1, 3, (count, 1)))
    angle = direction[:, None] + turn
    steps = np.stack([np.cos(angle), np.sin(angle)], axis=2) * (length[:, None, None] / points)
    return roots[:, None] + np.cumsum(steps, axis=1)


def _ring(rng, count, centre, radii):
    """Points on an ellipse and the direction outwards at each."""
    angle = rng.uniform(0, 2 * np.pi, count)
    out = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return centre + out * radii, np.arctan2(out[:, 1], out[:, 0])


def _strands(draw, curves, widths, shades):
    for curve, width, shade in zip(curves, widths, shades):
        draw.line([tuple(p * FINE) for p in curve], fill=int(shade), width=max(1, int(round(width * FINE))), joint="curve")


def _body(draw, rng):
    middle = SIDE * rng.uniform(0.42, 0.58)
    draw.ellipse([FINE * (middle - 190), FINE * 360, FINE * (middle + 190), FINE * 760], fill=120)
    draw.rectangle([FINE * (middle - 38), FINE * 250, FINE * (middle + 38), FINE * 400], fill=150)
    return np.array([middle, 190.0])


def _head(draw, rng, strands, length, width, bend):
    centre = _body(draw, rng)
    radii = np.array([95.0, 120.0])
    draw.ellipse([*(FINE * (centre - radii)), *(FINE * (centre + radii))], fill=90)
    roots, out = _ring(rng, strands, centre, radii * 0.97)
    upper = roots[:, 1] < centre[1] + 60
    curves = _curves(rng, roots[upper], out[upper] + rng.normal(0, 0.4, upper.sum()), rng.uniform(*length, upper.sum()), bend)
    _strands(draw, curves, rng.uniform(*width, upper.sum()), rng.uniform(40, 140, upper.sum()))


def _fingers(draw, rng):
    base = np.array([SIDE * rng.uniform(0.4, 0.6), 400.0])
    draw.ellipse([*(FINE * (base - [90, 80])), *(FINE * (base + [90, 140]))], fill=160)
    for i, angle in enumerate(np.linspace(-2.5, -0.6, 5)):
        start = base + 70 * np.array([np.cos(angle), np.sin(angle)])
        end = start + rng.uniform(90, 190) * np.array([np.cos(angle), np.sin(angle)])
        width = (11, 16, 7, 18, 5)[i]
        draw.line([tuple(start * FINE), tuple(end * FINE)], fill=140 + 10 * i, width=width * FINE)
        draw.ellipse([*(FINE * (end - width / 2)), *(FINE * (end + width / 2))], fill=140 + 10 * i)


def _rods(draw, rng):
    draw.polygon([tuple(FINE * np.array(p)) for p in ((140, 200), (380, 170), (420, 512), (110, 512))], fill=130)
    for width in (1.5, 2.5, 4, 7, 10):
        x, lean = rng.uniform(150, 370), rng.uniform(-60, 60)
        draw.line([(FINE * x, FINE * 260), (FINE * (x + lean), FINE * rng.uniform(30, 110))], fill=70, width=int(FINE * width))
    for x in (200, 260, 330):  # holes through which the background shows
        draw.rectangle([FINE * x, FINE * 300, FINE * (x + rng.uniform(12, 40)), FINE * 380], fill=0)


def _shape(kind, rng):
    """Shade [SIDE][SIDE], 0 to 1, and exact alpha [SIDE][SIDE] of a subject."""
    canvas = Image.new("L", (SIDE * FINE, SIDE * FINE), 0)
    draw = ImageDraw.Draw(canvas)
    if kind == "hair":
        _head(draw, rng, 900, (20, 90), (0.4, 1.6), 0.6)
    elif kind == "curls":
        _head(draw, rng, 700, (15, 60), (0.6, 2.0), 2.5)
    elif kind == "fur":
        _head(draw, rng, 2500, (6, 26), (0.4, 1.2), 0.3)
    elif kind == "fingers":
        _fingers(draw, rng)
    elif kind == "rods":
        _rods(draw, rng)
    else:
        _head(draw, rng, 200, (10, 30), (1.0, 2.5), 0.5)
    fine = np.asarray(canvas, np.float32) / 255
    cover = (fine > 0).astype(np.float32)
    cells = [part.reshape(SIDE, FINE, SIDE, FINE).mean(axis=(1, 3)) for part in (cover, fine)]
    alpha, shade = cells
    shade = shade / np.maximum(alpha, 1e-6)
    if kind == "soft":  # out of focus
        alpha = ndimage.gaussian_filter(alpha, 4)
    nearest = ndimage.distance_transform_edt(cells[0] == 0, return_distances=False, return_indices=True)
    return shade[tuple(nearest)], alpha.astype(np.float32)


def _square(photograph, rng):
    height, width = photograph.shape[:2]
    side = min(height, width)
    top, left = rng.integers(height - side + 1), rng.integers(width - side + 1)
    part = Image.fromarray(photograph[top:top + side, left:left + side])
    return np.asarray(part.resize((SIDE, SIDE), Image.BICUBIC), np.float32) / 255


def subject(number):
    """(kind, image [SIDE][SIDE][3] uint8, alpha [SIDE][SIDE] float32, colours [SIDE][SIDE][3] float32) of a number.

    `colours` are those of the subject without the background, `image` is colours * alpha + photograph * (1 - alpha)
    with a camera's noise.
    """
    rng = np.random.Generator(np.random.PCG64([20, number]))
    kind = KINDS[number % len(KINDS)]
    shade, alpha = _shape(kind, rng)
    behind = _square((data.coffee(), data.chelsea(), data.rocket(), data.astronaut()[:200, 300:])[(number // 2) % 4], rng)
    texture = np.repeat(np.asarray(Image.fromarray((data.brick(), data.grass(), data.gravel())[number % 3]).resize((SIDE, SIDE)),
                                   np.float32)[..., None] / 255, 3, axis=2)
    tint = np.array(TINTS[number % len(TINTS)]) + rng.normal(0, 0.03, 3)
    colours = np.clip((0.4 + shade[..., None]) * 1.4 * tint * (0.85 + 0.3 * texture), 0, 1).astype(np.float32)
    mixed = behind + alpha[..., None] * (colours - behind) + rng.normal(0, 1.5 / 255, colours.shape)
    return kind, (np.clip(mixed, 0, 1) * 255 + 0.5).astype(np.uint8), alpha, colours


def rough_mask(alpha, number, cells=256):
    """What a network of cells x cells would say of an alpha: blurred, a little out of place, soft, [cells][cells] float32."""
    rng = np.random.Generator(np.random.PCG64([21, number]))
    cell = SIDE / cells
    shift = [1.2 * cell * ndimage.zoom(rng.normal(size=(12, 12)), SIDE / 12, order=3)[:SIDE, :SIDE] for _ in range(2)]
    y, x = np.mgrid[:SIDE, :SIDE]
    moved = ndimage.map_coordinates(ndimage.gaussian_filter(alpha, 1.5 * cell), [y + shift[0], x + shift[1]], order=1, mode="nearest")
    small = np.asarray(Image.fromarray(moved.astype(np.float32)).resize((cells, cells), Image.BOX))
    return (1 / (1 + np.exp(-9 * (small - 0.5)))).astype(np.float32)


def trimap(alpha, radius=12):
    """0 background, 1 subject, 0.5 unknown: where alpha is mixed, and `radius` pixels around. [SIDE][SIDE] float32."""
    size = 2 * radius + 1
    return np.where(ndimage.minimum_filter(alpha, size) >= 1, 1.0, np.where(ndimage.maximum_filter(alpha, size) <= 0, 0.0, 0.5)).astype(np.float32)
