"""A canvas on which covered shapes are painted one over the other, with the alpha of all of them."""

import numpy as np
from PIL import Image
from scipy import ndimage

from synthetic import raster


class Canvas:
    """Square picture: premultiplied `rgb` [size][size][3] and `alpha` [size][size], float32, 0 to 1."""

    def __init__(self, size):
        self.size = size
        self.rgb = np.zeros((size, size, 3), np.float32)
        self.alpha = np.zeros((size, size), np.float32)

    def patch(self, outlines, inside=None, subrows=raster.SUBROWS):
        """What the union of outlines (pixels) covers, within the Patch `inside` if one is given; None if nothing."""
        found = raster.patch(outlines, self.size, self.size, subrows)
        if found is None or inside is None:
            return found
        whole = np.zeros((self.size, self.size), np.float32)
        whole[inside.rows, inside.columns] = inside.coverage
        return found._replace(coverage=found.coverage * whole[found.rows, found.columns])

    def paint(self, patch, colour, opacity=1.0, shade=None):
        """Paints a Patch. colour: [3], or [size][size][3]; shade: what colours are multiplied by, of the patch's shape."""
        if patch is None:
            return
        cover = patch.coverage * np.float32(opacity)
        colour = np.asarray(colour, np.float32)
        ink = colour[patch.rows, patch.columns] if colour.ndim == 3 else colour
        if shade is not None:
            ink = np.clip(ink * (shade[..., None] if shade.ndim == 2 else shade), 0, 1)
        rgb, alpha = self.rgb[patch.rows, patch.columns], self.alpha[patch.rows, patch.columns]
        rgb *= (1 - cover)[..., None]
        rgb += cover[..., None] * ink
        alpha *= 1 - cover
        alpha += cover

    def fill(self, outlines, colour, opacity=1.0, light=None, roundness=0.25, inside=None):
        """Paints outlines, shaded as a rounded body if a Light is given; returns their Patch (None if off the canvas)."""
        patch = self.patch(outlines, inside)
        if patch is not None:
            self.paint(patch, colour, opacity, None if light is None else light.shade(patch, roundness))
        return patch


class Light:
    """One coloured lamp and the light from everywhere else."""

    def __init__(self, rng):
        azimuth, height = rng.uniform(0, 2 * np.pi), rng.uniform(0.25, 1.4)
        self.direction = np.array([np.cos(azimuth), np.sin(azimuth) - 0.5, height])
        self.direction /= np.linalg.norm(self.direction)
        self.ambient = rng.uniform(0.35, 0.85)
        self.colour = np.clip(1 + rng.normal(0, 0.06, 3), 0.8, 1.2)
        self.depth = rng.uniform(0.8, 2.5)

    def shade(self, patch, roundness, bumps=None):
        """Brightness [rows][columns][3] of a body that bulges over the patch; roundness: the rim's part of the smaller side."""
        radius = max(1.0, roundness * min(patch.coverage.shape))
        step = max(1, int(radius / 3))  # a wide blur of few samples
        field = ndimage.gaussian_filter(patch.coverage[::step, ::step], radius / step, mode="nearest")
        if bumps is not None:
            field = field + bumps[patch.rows, patch.columns][::step, ::step]
        dy, dx = (np.zeros_like(field) if n < 2 else np.gradient(field, axis=a) for a, n in enumerate(field.shape))
        strength = self.depth * radius / step
        normal = np.stack([dx * -strength, dy * -strength, np.ones_like(field)])
        normal /= np.linalg.norm(normal, axis=0)
        lit = np.clip(np.tensordot(self.direction, normal, 1), 0, None) / max(self.direction[2], 0.35)
        level = (self.ambient + (1 - self.ambient) * lit).astype(np.float32)
        if step > 1:
            level = np.asarray(Image.fromarray(level).resize(patch.coverage.shape[::-1], Image.BILINEAR))
        return np.clip(level[..., None] * self.colour.astype(np.float32), 0, 1.5)
