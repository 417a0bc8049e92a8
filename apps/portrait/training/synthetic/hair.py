"""Hair as a painted mass with hundreds of strands over it, and what is worn on a head."""

import numpy as np

from synthetic import raster, shapes, textures

STYLES = ("bald", "short", "receding", "bob", "long", "curly", "bun")
CHANCES = (0.07, 0.32, 0.07, 0.14, 0.22, 0.12, 0.06)


class Hair:
    """One hairstyle: `behind` is drawn before the body, `over` after the face."""

    def __init__(self, head, style=None):
        self.head, self.figure = head, head.figure
        rng = self.figure.rng
        self.style = style or str(rng.choice(STYLES, p=CHANCES))
        curly = self.style == "curly"
        self.lift = rng.uniform(0.12, 0.55) if curly else rng.uniform(0.02, 0.2)
        self.curl = rng.uniform(0.3, 1.0) if curly else max(0.0, rng.normal(0.0, 0.15))
        self.low = {"bob": rng.uniform(0.4, 0.95), "long": rng.uniform(1.0, 2.8), "curly": rng.uniform(0.1, 1.2)}.get(self.style, 0.0)
        self.wide = rng.uniform(0.05, 0.25) + (self.lift if curly else 0)
        self.front = rng.random() < 0.45  # long hair lies before the shoulders

    def behind(self):
        if self.low > 0:
            self._mass(0.85)

    def before_body(self):
        if self.low > 0.9 and self.front:
            self._mass(1.0)

    def _mass(self, dark):
        """The hair that falls at the sides and behind, as one blob with strands along its rim."""
        figure, rng, rx, top = self.figure, self.figure.rng, self.head.rx, self.head.top
        side = rx + self.wide
        ends = side * rng.uniform(0.75, 1.25)
        outline = shapes.spline([[0, -top - self.lift], [side * 0.8, -top * 0.7], [side, 0], [side * 1.05, self.low * 0.6], [ends, self.low],
                                 [0, self.low * rng.uniform(0.75, 1.05)], [-ends, self.low], [-side * 1.05, self.low * 0.6], [-side, 0],
                                 [-side * 0.8, -top * 0.7]])
        outline = shapes.wobble(outline, rng, 0.03 + 0.08 * self.curl, 16)
        figure.draw(outline, figure.hair * dark, roundness=0.12, head=True)
        count = int(rng.uniform(80, 200))
        angle = rng.uniform(-np.pi, 0, count)
        roots = np.stack([np.cos(angle) * rx * rng.uniform(0.7, 1.1, count), np.sin(angle) * top], axis=1)
        goal = np.stack([np.sign(roots[:, 0]) * ends * rng.uniform(0.5, 1.08, count), self.low * rng.uniform(0.6, 1.1, count)], axis=1)
        bulge = np.stack([np.sign(roots[:, 0]) * (side * rng.uniform(0.9, 1.15, count)), (roots[:, 1] + goal[:, 1]) * 0.4], axis=1)
        self._strands(roots, bulge, goal, dark)

    def over(self):
        """The cap of hair from the hairline to the crown, and its strands."""
        if self.style == "bald":
            return
        figure, rng, rx, top = self.figure, self.figure.rng, self.head.rx, self.head.top
        line = -rng.uniform(0.28, 0.48) * (1.35 if self.style == "receding" else 1)
        ear, part = rng.uniform(-0.15, 0.2), rng.uniform(-0.25, 0.25) + 0.2 * figure.yaw
        arc = np.linspace(-0.05 * np.pi, -0.95 * np.pi, 24)
        grow = 1 + rng.uniform(0.0, 0.06) + 0.3 * self.lift
        rim = np.stack([np.cos(arc) * rx * grow, np.sin(arc) * (top + self.lift)], axis=1)
        fringe = rng.uniform(-0.02, 0.28) if rng.random() < 0.35 else rng.uniform(-0.1, 0.03)
        hairline = shapes.spline([[-rx * 1.02, ear], [-rx * 0.82, line * 0.6], [part - 0.2, line + fringe], [part, line + fringe * rng.uniform(0, 1)],
                                  [part + 0.2, line + fringe], [rx * 0.82, line * 0.6], [rx * 1.02, ear]], 4, False)
        outline = np.concatenate([rim, hairline])
        if self.curl > 0.25:
            outline[:24] *= (1 + 0.05 * rng.normal(size=24))[:, None]
        figure.draw(outline, figure.hair, roundness=0.15, head=True)
        if self.style == "bun":
            x, y = rng.uniform(-0.3, 0.3), -top - self.lift - 0.1
            figure.draw(shapes.wobble(shapes.superellipse(x, y, 0.28, 0.24), rng, 0.06), figure.hair, head=True)
        self._crown(rx * grow, top + self.lift, line, part)

    def _crown(self, rx, top, line, part):
        """Strands of the cap: from the parting outwards; of curly hair out of the rim in all directions."""
        rng = self.figure.rng
        count = int(rng.uniform(60, 180))
        angle = rng.uniform(-np.pi, 0, count)
        rim = np.stack([np.cos(angle) * rx, np.sin(angle) * top], axis=1)
        if self.curl > 0.25:
            reach = rng.uniform(0.02, 0.2, (count, 1))
            turn = rng.normal(0, 0.12, (count, 2))
            self._strands(rim * 0.93, rim * (1 + reach) + turn, rim * (1 + 0.5 * reach) - turn, 1.0)
            return
        roots = np.stack([part + rng.normal(0, 0.08, count), np.full(count, -top * 0.92)], axis=1)
        goal = np.where(rng.random((count, 1)) < 0.6, rim * rng.uniform(0.9, 1.06, (count, 1)),
                        np.stack([rng.uniform(-rx, rx, count) * 0.8, line + rng.normal(0, 0.06, count)], axis=1))
        self._strands(roots, (roots + goal) / 2 * [1.15, 1.12], goal, 1.0)

    def _strands(self, roots, bulge, goal, dark):
        """Tapered ribbons along quadratic curves in colours around the hair's."""
        figure, rng, count = self.figure, self.figure.rng, len(roots)
        t = np.linspace(0, 1, 6)[None, :, None]
        curves = (1 - t) ** 2 * roots[:, None] + 2 * t * (1 - t) * bulge[:, None] + t**2 * goal[:, None]
        curves = curves + self.curl * 0.04 * rng.normal(size=curves.shape) * t
        widths = rng.uniform(0.006, 0.028, (count, 1)) * (1.05 - t[:, :, 0] ** 2)
        polygons = shapes.ribbons(curves, widths)
        pixels = figure.at_head(polygons.reshape(-1, 2)).reshape(polygons.shape)
        size = figure.canvas.size
        found = raster.coverage(pixels, size, size, subrows=4)
        if found is None:
            return
        tone = rng.uniform(0.55, 1.5, count) * dark
        shaded = raster.coverage(pixels, size, size, tone, subrows=4)
        shade = (shaded[2] / np.maximum(found[2], 1e-6)).astype(np.float32)
        patch = raster.Patch(found[0], found[1], np.clip(found[2], 0, 1).astype(np.float32))
        figure.canvas.paint(patch, figure.hair, rng.uniform(0.6, 1.0), np.clip(shade, 0.3, 2.0))


def headwear(head):
    """A beanie, cap, brimmed hat, uniform cap, helmet, hood or headscarf."""
    figure, rng, rx, top = head.figure, head.figure.rng, head.rx, head.top
    kind = rng.choice(["beanie", "cap", "brim", "uniform", "scarf", "helmet"])
    colours = textures.pattern(rng, figure.canvas.size, figure.unit * 0.2)
    line = -rng.uniform(0.22, 0.45)
    if kind == "scarf":
        side = rx + rng.uniform(0.08, 0.22)
        outer = shapes.spline([[0, -top - 0.08], [side, -0.25], [side, 0.4], [side * 1.5, 1.3], [0, 1.7], [-side * 1.5, 1.3], [-side, 0.4], [-side, -0.25]])
        face = head.outline * [0.86, 0.8] + [0, 0.03]
        figure.draw(_ring(outer, face), colours, roundness=0.15, head=True)
        return
    high, wide = top + rng.uniform(0.06, 0.3), rx * rng.uniform(1.05, 1.22)
    if kind == "uniform":
        crown = shapes.spline([[-wide, line], [-wide * 1.3, line - 0.35], [-0.5, -high - 0.1], [0.5, -high - 0.1], [wide * 1.3, line - 0.35], [wide, line]])
        figure.draw(crown, colours, head=True)
        figure.draw(shapes.box(-wide, line - 0.16, wide, line + 0.02), textures.colour(rng), head=True)
        figure.draw(shapes.superellipse(0.1 * figure.yaw, line - 0.22, 0.14, 0.12), textures.colour(rng, 0.2), head=True)
    else:
        bend = 2 / (rng.uniform(2, 4) if kind == "brim" else 2.0)
        arc = np.linspace(0, np.pi, 24)
        dome = np.stack([wide * np.sign(np.cos(arc)) * np.abs(np.cos(arc)) ** bend, line - (high + line) * np.sin(arc) ** bend], axis=1)
        figure.draw(np.concatenate([dome, [[-wide, line + 0.05], [wide, line + 0.05]]]), colours, roundness=0.2, head=True)
    if kind in ("cap", "uniform"):
        s = 0.4 * figure.yaw
        figure.draw(shapes.superellipse(s, line + 0.04, wide * 0.85, rng.uniform(0.06, 0.16), 2.3), textures.colour(rng), head=True)
    elif kind == "brim":
        brim = shapes.superellipse(0, line, wide * rng.uniform(1.4, 2.0), rng.uniform(0.07, 0.2))
        figure.draw(brim, colours, head=True)
        figure.draw(shapes.box(-wide, line - 0.2, wide, line - 0.05), textures.colour(rng), head=True)
    elif kind == "beanie":
        figure.draw(shapes.box(-wide * 1.03, line - 0.12, wide * 1.03, line + 0.06), textures.colour(rng), head=True)
    elif kind == "helmet":
        for side in (-1, 1):
            figure.draw(shapes.superellipse(side * wide * 0.95, 0.0, 0.14, 0.4), colours, head=True)


def _ring(outer, inner):
    """One polygon for what lies between two outlines, cut open where they are nearest to the bottom."""
    a, b = int(np.argmax(outer[:, 1])), int(np.argmax(inner[:, 1]))
    outer, inner = np.roll(outer, -a, 0), np.roll(inner, -b, 0)
    if _turn(outer) == _turn(inner):
        inner = np.concatenate([inner[:1], inner[:0:-1]])
    return np.concatenate([outer, outer[:1], inner, inner[:1]])


def _turn(outline):
    following = np.roll(outline, -1, 0)
    return np.sum(outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]) > 0
