"""A camera that looks at a composite: framing, light, lens, sensor, compression. What moves or blurs pixels does so to the alpha too."""

import io

import numpy as np
from PIL import Image
from scipy import ndimage


def expose(picture, rng, strength=1.0):
    """Light and sensor: white balance, exposure, gamma, contrast, saturation, falling off to the corners. [h][w][3]."""
    picture = picture * (1 + strength * rng.normal(0, 0.1, 3)) * (1 + strength * rng.normal(0, 0.12))
    picture = np.clip(picture, 0, 1) ** np.exp(strength * rng.normal(0, 0.25))
    grey = picture.mean(axis=2, keepdims=True)
    saturation = 0.0 if rng.random() < 0.06 else 1 + strength * rng.normal(0, 0.25)
    picture = grey + (picture - grey) * saturation
    picture = (picture - 0.5) * (1 + strength * rng.normal(0, 0.15)) + 0.5 + strength * rng.normal(0, 0.03)
    if rng.random() < 0.3:
        h, w = picture.shape[:2]
        y, x = np.ogrid[-1:1:h * 1j, -1:1:w * 1j]
        picture = picture * (1 - rng.uniform(0, 0.5) * (x * x + y * y) / 2)[..., None]
    return np.clip(picture, 0, 1).astype(np.float32)


def focus(picture, alpha, rng):
    """Lens and motion: a little of defocus or of movement, of picture and alpha alike."""
    kind = rng.random()
    if kind < 0.35:
        sigma = rng.uniform(0.2, 1.0) * picture.shape[0] / 160
        picture = ndimage.gaussian_filter(picture, (sigma, sigma, 0), truncate=2.5)
        alpha = ndimage.gaussian_filter(alpha, sigma, truncate=2.5)
    elif kind < 0.45:
        angle, steps = rng.uniform(0, np.pi), int(rng.integers(2, 6))
        moves = [(round(np.sin(angle) * i), round(np.cos(angle) * i)) for i in range(steps)]
        picture, alpha = _moved(picture, moves), _moved(alpha, moves)
    return picture, alpha


def _moved(field, moves):
    """The mean of the field moved by each (rows, columns); edges are continued."""
    reach = max(max(abs(r), abs(c)) for r, c in moves)
    wide = np.pad(field, [(reach, reach)] * 2 + [(0, 0)] * (field.ndim - 2), mode="edge")
    h, w = field.shape[:2]
    return sum(wide[reach - r:reach - r + h, reach - c:reach - c + w] for r, c in moves) / len(moves)


def record(picture, rng):
    """Sensor noise, sharpening and JPEG; float [h][w][3] to uint8."""
    if rng.random() < 0.7:
        noise = rng.standard_normal(picture.shape, np.float32)
        if rng.random() < 0.4:
            noise = ndimage.uniform_filter(noise, (2, 2, 1)) * 1.5
        picture = picture + noise * min(0.08, rng.exponential(0.016))
    if rng.random() < 0.15:
        picture = picture + rng.uniform(0.3, 1.2) * (picture - ndimage.uniform_filter(picture, (3, 3, 1)))
    pixels = (np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8)
    if rng.random() < 0.5:
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "JPEG", quality=int(rng.integers(35, 96)))
        pixels = np.asarray(Image.open(buffer))
    return pixels


def crop(rng, size):
    """A box (x0, y0, x1, y1) within size x size pixels of random place, scale and aspect ratio."""
    part = size * rng.uniform(0.72, 1.0)
    aspect = np.exp(rng.normal(0, 0.22)) if rng.random() < 0.6 else 1.0
    wide, high = part * min(1, aspect), part * min(1, 1 / aspect)
    left, top = rng.uniform(0, size - wide), rng.uniform(0, size - high)
    return left, top, left + wide, top + high


def letterbox(picture, box, size):
    """The box (x0, y0, x1, y1) of a uint8 picture scaled to fit size x size, centred, bars of zeros."""
    scale = size / max(box[2] - box[0], box[3] - box[1])
    wide, high = max(1, round((box[2] - box[0]) * scale)), max(1, round((box[3] - box[1]) * scale))
    part = np.asarray(Image.fromarray(picture).resize((wide, high), Image.BILINEAR, box))
    found = np.zeros((size, size, *picture.shape[2:]), np.uint8)
    top, left = (size - high) // 2, (size - wide) // 2
    found[top:top + high, left:left + wide] = part
    return found
