"""Where a drawn person stands on the canvas, and what all parts of the person share."""

from dataclasses import dataclass, field

import numpy as np

from synthetic import shapes, textures
from synthetic.canvas import Canvas, Light

SKIN = np.array([[0.16, 0.09, 0.06], [0.30, 0.18, 0.12], [0.46, 0.29, 0.20], [0.63, 0.43, 0.31],
                 [0.78, 0.57, 0.44], [0.89, 0.70, 0.58], [0.97, 0.83, 0.74]])
HAIR = np.array([[0.03, 0.03, 0.03], [0.10, 0.07, 0.05], [0.22, 0.13, 0.08], [0.36, 0.22, 0.12], [0.55, 0.36, 0.18],
                 [0.80, 0.64, 0.38], [0.48, 0.20, 0.09], [0.55, 0.55, 0.55], [0.88, 0.87, 0.85]])


@dataclass
class Figure:
    """A person in units of the head's width, the middle of the head at (0, 0), y down; `at` maps that to pixels."""

    canvas: Canvas
    rng: np.random.Generator
    light: Light
    unit: float  # pixels of one head's width
    origin: np.ndarray  # the head's middle, pixels
    tilt: float  # of the whole person, radians
    nod: float  # of the head, on top
    yaw: float  # -1 to 1: where the face looks
    skin: np.ndarray = field(default_factory=lambda: np.zeros(3))
    hair: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def random(cls, rng, canvas, unit, origin):
        found = cls(canvas, rng, Light(rng), unit, np.asarray(origin, np.float64), rng.normal(0, 0.09),
                    rng.normal(0, 0.12), float(np.clip(rng.normal(0, 0.4), -1, 1)))
        tone = rng.uniform(0, len(SKIN) - 1)
        found.skin = np.array([np.interp(tone, np.arange(len(SKIN)), SKIN[:, i]) for i in range(3)])
        found.skin = np.clip(found.skin * (1 + rng.normal(0, 0.04, 3)), 0.02, 1)
        dark = rng.random() < 0.55
        found.hair = np.clip(HAIR[rng.integers(0, 3) if dark else rng.integers(0, len(HAIR))] + rng.normal(0, 0.03, 3), 0.01, 1)
        if rng.random() < 0.04:
            found.hair = textures.colour(rng)
        return found

    def at(self, points):
        """Body units to pixels."""
        return shapes.rotate(np.asarray(points, np.float64) * self.unit, self.tilt) + self.origin

    def at_head(self, points):
        """The same for what turns with the head about the neck."""
        return self.at(shapes.rotate(points, self.nod, (0.0, 0.8)))

    def draw(self, outlines, colour, opacity=1.0, roundness=0.25, head=False, inside=None, lit=True):
        """Fills outlines in body units ([points][2] or [polygons][points][2]); returns their Patch."""
        points = np.asarray(outlines, np.float64)
        place = self.at_head if head else self.at
        flat = place(points.reshape(-1, 2)).reshape(points.shape)
        return self.canvas.fill(flat, colour, opacity, self.light if lit else None, roundness, inside)
