"""Fields and patterns that cover a whole square: noise, cells, stripes, checks, dots, writing. All in 0 to 1, float32."""

import numpy as np
from PIL import Image


def resized(field, size, how=Image.BICUBIC):
    return np.asarray(Image.fromarray(np.asarray(field, np.float32)).resize((size, size), how))


def noise(rng, size, cells, octaves=3, fall=0.5):
    """Smooth noise with about `cells` bumps along a side, and finer octaves of falling strength; mean 0.5."""
    field, weight, total = np.zeros((size, size), np.float32), 1.0, 0.0
    for _ in range(octaves):
        n = int(np.clip(cells, 2, size))
        field += weight * resized(rng.random((n, n)), size)
        total += weight
        weight *= fall
        cells *= 2
    return np.clip(field / total, 0, 1)


def cells(rng, size, count):
    """The number of the nearest of `count` random points, and how near the border to the next one is."""
    small = max(48, size // 2)
    y, x = np.mgrid[:small, :small] / small
    points = rng.random((count, 2))
    distance = (x[..., None] - points[:, 0]) ** 2 + (y[..., None] - points[:, 1]) ** 2
    nearest = np.sqrt(np.partition(distance, 1, axis=2)[..., :2])
    return (resized(distance.argmin(axis=2), size, Image.NEAREST).astype(np.int64),
            resized(nearest[..., 1] - nearest[..., 0], size))


def ramp(rng, size):
    """A straight gradient of random direction, 0 to 1."""
    angle = rng.uniform(0, 2 * np.pi)
    y, x = np.mgrid[:size, :size] / (size - 1) - 0.5
    return np.clip(0.5 + (x * np.cos(angle) + y * np.sin(angle)) / 1.2, 0, 1).astype(np.float32)


def waves(rng, size, period, angle=None, duty=None):
    """Stripes of `period` pixels."""
    angle = rng.uniform(0, np.pi) if angle is None else angle
    duty = rng.uniform(0.2, 0.7) if duty is None else duty
    y, x = np.mgrid[:size, :size]
    phase = ((x * np.cos(angle) + y * np.sin(angle)) / period + rng.random()) % 1
    edge = np.abs(phase - 0.5) * 2  # 0 in a stripe's middle
    return np.clip((duty - edge) * period / 2 + 0.5, 0, 1).astype(np.float32)


def dots(rng, size, period):
    angle = rng.uniform(0, np.pi)
    y, x = np.mgrid[:size, :size]
    u = ((x * np.cos(angle) + y * np.sin(angle)) / period) % 1 - 0.5
    v = ((y * np.cos(angle) - x * np.sin(angle)) / period) % 1 - 0.5
    return np.clip((rng.uniform(0.15, 0.35) - np.hypot(u, v)) * period + 0.5, 0, 1).astype(np.float32)


def mix(field, first, second):
    """Colours [size][size][3] from a field: `first` at 0, `second` at 1."""
    return (np.asarray(first) + field[..., None] * (np.asarray(second) - np.asarray(first))).astype(np.float32)


def colour(rng, dull=None):
    """A random colour; `dull` 0 to 1 draws it towards grey."""
    dull = rng.beta(2, 2) if dull is None else dull
    value = rng.uniform(0.03, 1.0)
    return np.clip(value * (dull + (1 - dull) * rng.random(3) * 1.3), 0, 1)


def pattern(rng, size, unit, base=None):
    """Colours [size][size][3] of cloth or wall: plain, stripes, checks, dots, cells or noise, with marks about `unit` pixels wide."""
    base = colour(rng) if base is None else base
    other = np.clip(base + rng.normal(0, 0.2, 3), 0, 1) if rng.random() < 0.5 else colour(rng)
    kind = rng.choice(6, p=[0.42, 0.15, 0.13, 0.08, 0.07, 0.15])
    period = unit * rng.uniform(0.5, 2.0) + 2
    if kind == 0:
        found = np.broadcast_to(np.asarray(base, np.float32), (size, size, 3))
    elif kind == 1:
        found = mix(waves(rng, size, period, rng.choice([0.0, np.pi / 2, rng.uniform(0, np.pi)])), base, other)
    elif kind == 2:
        angle = rng.uniform(-0.3, 0.3)
        found = mix((waves(rng, size, period, angle) + waves(rng, size, period, angle + np.pi / 2)) / 2, base, other)
    elif kind == 3:
        found = mix(dots(rng, size, period), base, other)
    elif kind == 4:
        index, _ = cells(rng, size, int(rng.integers(20, 90)))
        found = np.stack([base, other, colour(rng)])[index % 3].astype(np.float32)
    else:
        found = mix(np.clip((noise(rng, size, size / period / 2, 2) - 0.5) * rng.uniform(1.5, 5) + 0.5, 0, 1), base, other)
    grain = rng.uniform(0, 0.12)
    return np.clip(found * (1 + grain * (rng.random((size, size, 1), np.float32) - 0.5)), 0, 1)
