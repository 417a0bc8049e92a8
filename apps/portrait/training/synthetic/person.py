"""One person, drawn from back to front."""

import numpy as np

from synthetic.body import Body
from synthetic.figure import Figure
from synthetic.hair import Hair, headwear
from synthetic.head import Head

# How large people are (head's width as a part of the picture's side) and where their heads' middles are.
VIEWS = {
    "head": ((0.26, 0.46), (0.33, 0.52)),
    "half": ((0.13, 0.25), (0.18, 0.42)),
    "full": ((0.055, 0.12), (0.12, 0.45)),
}


def draw(canvas, rng, view, hat=None, style=None, middle=None):
    """Draws one person on the canvas.

    view: a key of VIEWS. hat: with headwear or without; None draws lots. style: of the hair, a name in hair.STYLES.
    middle: of the head, a part of the picture's width; None draws lots.
    """
    (small, large), (high, low) = VIEWS[view]
    unit = canvas.size * rng.uniform(small, large)
    x = np.clip(rng.normal(0.5, 0.11), 0.15, 0.85) if middle is None else middle
    y = max(rng.uniform(high, low) * canvas.size, 0.75 * unit if rng.random() < 0.9 else 0.4 * unit)
    figure = Figure.random(rng, canvas, unit, (x * canvas.size, y))
    head = Head(figure)
    hair, body = Hair(head, style), Body(figure)
    hair.behind()
    arms_first = rng.random() < 0.3
    if arms_first:
        body.arms()
    body.torso()
    hair.before_body()
    inside = head.draw()
    if inside is not None:
        head.features(inside)
        head.beard(inside)
    hair.over()
    head.glasses()
    if rng.random() < 0.16 if hat is None else hat:
        headwear(head)
    if not arms_first:
        body.arms()
