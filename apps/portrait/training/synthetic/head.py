"""The head: skull and jaw, ears, face, beard, glasses."""

import numpy as np

from synthetic import shapes


class Head:
    """The outline of one head and the widths that hair and hats follow."""

    def __init__(self, figure):
        rng = figure.rng
        self.figure = figure
        self.rx = rng.uniform(0.46, 0.53) * (1 + 0.16 * abs(figure.yaw))
        self.top = rng.uniform(0.66, 0.76)
        self.chin = rng.uniform(0.66, 0.8)
        jaw = rng.uniform(0.1, 0.38)
        t = np.linspace(0, 2 * np.pi, 56, endpoint=False)
        x, y = np.cos(t), np.sin(t)
        y = np.where(y > 0, y * self.chin, y * self.top)
        x = x * self.rx * (1 - jaw * np.clip(y / self.chin, 0, 1) ** 2)
        x = x + 0.06 * figure.yaw * np.clip(y / self.chin, -0.3, 1)
        self.outline = np.stack([x, y], axis=1)

    def draw(self):
        """Ears, then the head; returns the head's Patch for what stays within it."""
        figure, rng = self.figure, self.figure.rng
        for side in (-1, 1):
            if side * figure.yaw < 0.45 and rng.random() < 0.95:
                ear = shapes.superellipse(side * self.rx * 0.98, rng.uniform(-0.02, 0.12), 0.09, rng.uniform(0.14, 0.2), points=20)
                figure.draw(ear, figure.skin * 0.92, head=True)
        if abs(figure.yaw) > 0.75:  # the nose beyond the cheek
            s, y = np.sign(figure.yaw), rng.uniform(0.05, 0.2)
            figure.draw([[s * self.rx * 0.9, y - 0.3], [s * (self.rx + rng.uniform(0.06, 0.18)), y + 0.08], [s * self.rx * 0.85, y + 0.2]],
                        figure.skin, head=True)
        return figure.draw(self.outline, figure.skin, roundness=0.22, head=True)

    def features(self, inside):
        """Eyes, brows, nose, mouth and shadows, moved sideways by the yaw."""
        figure, rng = self.figure, self.figure.rng
        if abs(figure.yaw) > 0.97 and rng.random() < 0.5:
            return  # seen from behind
        shift, squeeze = 0.24 * figure.yaw, 1 - 0.35 * abs(figure.yaw)
        eye_y, gap = rng.uniform(-0.1, 0.02), rng.uniform(0.18, 0.24) * squeeze
        iris = np.clip(np.array([0.2, 0.15, 0.1]) * rng.uniform(0.3, 2.5) + rng.normal(0, 0.06, 3), 0, 1)
        dark = np.clip(figure.skin * rng.uniform(0.45, 0.75), 0, 1)

        def put(outline, colour, opacity=1.0):
            figure.draw(outline, colour, opacity, head=True, inside=inside, lit=False)

        for side in (-1, 1):
            x = shift + side * gap
            width = rng.uniform(0.08, 0.11) * squeeze
            put(shapes.superellipse(x, eye_y - 0.01, width * 1.6, 0.12, points=20), dark, 0.35)
            height = rng.uniform(0.015, 0.05)
            put(shapes.superellipse(x, eye_y, width, height, points=16), (0.9, 0.88, 0.86))
            put(shapes.superellipse(x + rng.normal(0, 0.01), eye_y, 0.042 * squeeze, min(height, 0.042), points=12), iris)
            lift = rng.uniform(0.1, 0.16)
            brow = [[x - 1.3 * width, eye_y - lift + 0.02], [x, eye_y - lift - 0.03], [x + 1.3 * width, eye_y - lift + 0.02]]
            put(shapes.ribbons(np.array([brow]), np.full((1, 3), rng.uniform(0.012, 0.035)))[0], figure.hair * 0.8, rng.uniform(0.3, 1))
        tip, length = shift * 1.25, rng.uniform(0.2, 0.3)
        put([[shift - 0.03, eye_y], [tip + 0.1 * squeeze, eye_y + length], [tip - 0.1 * squeeze, eye_y + length]], dark, rng.uniform(0.1, 0.4))
        put(shapes.superellipse(tip, eye_y + length, 0.09 * squeeze, 0.025, points=12), dark * 0.8, 0.6)
        self._mouth(put, shift, eye_y + length + rng.uniform(0.13, 0.2), squeeze)

    def _mouth(self, put, shift, y, squeeze):
        figure, rng = self.figure, self.figure.rng
        lips = np.clip(figure.skin * np.array([0.95, 0.62, 0.62]) * rng.uniform(0.7, 1.1), 0, 1)
        width, smile = rng.uniform(0.13, 0.22) * squeeze, rng.uniform(-0.02, 0.07)
        upper = [[shift - width, y - smile], [shift, y - 0.03], [shift + width, y - smile]]
        lower = [[shift + width, y - smile], [shift, y + rng.uniform(0.03, 0.09)], [shift - width, y - smile]]
        mouth = np.concatenate([shapes.spline(upper, 4, False), shapes.spline(lower, 4, False)])
        put(mouth, lips)
        if rng.random() < 0.45:  # teeth
            put((mouth - mouth.mean(0)) * [0.8, 0.5] + mouth.mean(0), (0.92, 0.9, 0.87))

    def beard(self, inside):
        """Hair on the lower face: stubble to full beard, or a moustache."""
        figure, rng = self.figure, self.figure.rng
        kind = rng.random()
        if kind > 0.3:
            return
        shift = 0.24 * figure.yaw
        if kind < 0.2:
            low = self.chin + rng.choice([0.0, rng.uniform(0, 0.3)])
            outline = shapes.spline([[-self.rx * 1.0, 0.05], [-self.rx * 0.92, 0.35], [-0.24, low], [shift, low + 0.06], [0.24, low],
                                     [self.rx * 0.92, 0.35], [self.rx * 1.0, 0.05], [shift + 0.26, 0.32], [shift, 0.3], [shift - 0.26, 0.32]])
            solid = rng.uniform(0.35, 1.0)
            figure.draw(shapes.wobble(outline, rng, 0.03), figure.hair, solid, head=True, inside=inside if low <= self.chin else None)
            self._mouth(lambda o, c, a=1.0: figure.draw(o, c, a, head=True, inside=inside, lit=False), shift, 0.42, 1)
        else:
            figure.draw(shapes.superellipse(shift, 0.34, 0.2, 0.05, 2.5, 20), figure.hair, rng.uniform(0.6, 1), head=True, inside=inside)

    def glasses(self):
        figure, rng = self.figure, self.figure.rng
        if rng.random() > 0.25:
            return
        shift, squeeze = 0.22 * figure.yaw, 1 - 0.3 * abs(figure.yaw)
        rim, y = rng.uniform(0.012, 0.045), rng.uniform(-0.08, 0.02)
        rx, ry, power = rng.uniform(0.15, 0.21) * squeeze, rng.uniform(0.1, 0.17), rng.uniform(1.8, 4)
        colour = np.full(3, rng.uniform(0, 0.25)) if rng.random() < 0.7 else rng.random(3)
        tint = rng.uniform(0.6, 1.0) if rng.random() < 0.3 else rng.uniform(0, 0.15)
        for side in (-1, 1):
            x = shift + side * 0.22 * squeeze
            lens = shapes.superellipse(x, y, rx, ry, power, 28)
            figure.draw(lens, np.full(3, rng.uniform(0.02, 0.2)), tint, head=True, lit=False)
            ring = np.concatenate([lens, lens[:1]])
            figure.draw(shapes.ribbons(ring[None], np.full((1, len(ring)), rim))[0], colour, head=True, lit=False)
            arm = [[x + side * rx, y - 0.03], [side * self.rx, y - 0.02]]
            figure.draw(shapes.ribbons(np.array([arm]), np.full((1, 2), rim))[0], colour, head=True, lit=False)
        bridge = [[shift - 0.08, y - 0.02], [shift + 0.08, y - 0.02]]
        figure.draw(shapes.ribbons(np.array([bridge]), np.full((1, 2), rim))[0], colour, head=True, lit=False)
