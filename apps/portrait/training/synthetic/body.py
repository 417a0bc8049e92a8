"""Neck, torso with clothes, arms with hands, legs."""

import numpy as np

from synthetic import shapes, textures


class Body:
    """The clothed body of a figure; the torso's half widths follow from build and turn."""

    def __init__(self, figure):
        self.figure = figure
        rng = figure.rng
        self.turn = 1 - 0.35 * rng.random() ** 2
        self.shoulder = rng.uniform(1.15, 1.7) * self.turn
        self.waist = rng.uniform(0.85, 1.45) * self.turn
        self.drop = rng.uniform(1.05, 1.35)  # from the head's middle to the shoulder line
        self.slope = rng.uniform(0.15, 0.45)
        self.neck = rng.uniform(0.27, 0.4)
        self.hip = rng.uniform(4.3, 5.2)
        unit, size = figure.unit, figure.canvas.size
        self.cloth = textures.pattern(rng, size, unit * 0.25)
        self.folds = 0.12 * rng.uniform(0, 1.5) * (textures.noise(rng, size, size / unit * rng.uniform(1, 4), 2) - 0.5)
        self.sleeve = rng.choice(3, p=[0.6, 0.25, 0.15])  # long, short, none
        self.lower = textures.pattern(rng, size, unit * 0.25)

    def torso(self):
        """Legs, neck and torso; returns the torso's Patch."""
        figure, rng = self.figure, self.figure.rng
        if figure.origin[1] + self.hip * figure.unit < figure.canvas.size * 1.05:
            self._legs()
        figure.draw(shapes.spline([[-self.neck, 0.2], [-self.neck, 0.75], [-self.neck * 1.5, self.drop + 0.25], [self.neck * 1.5, self.drop + 0.25],
                                   [self.neck, 0.75], [self.neck, 0.2]]), figure.skin * rng.uniform(0.7, 0.95))
        s, d, w = self.shoulder, self.drop, self.waist
        tall = rng.normal(0, 0.06, 2)
        half = [[self.neck * 1.05, d - 0.22], [self.neck * 1.7, d - 0.08], [s * 0.8, d + 0.5 * self.slope], [s, d + self.slope + 0.25],
                [s * 0.98, d + 1.3], [w, d + 2.3], [w * 1.08, self.hip]]
        right = np.array(half) + [0, tall[0]] * (np.arange(7)[:, None] < 4)
        left = np.array(half)[::-1] * [-1, 1] + [0, tall[1]] * (np.arange(7)[::-1, None] < 4)
        outline = shapes.spline(np.concatenate([right, left]))
        points = figure.at(outline)
        patch = figure.canvas.patch(points)
        if patch is not None:
            figure.canvas.paint(patch, self.cloth, 1.0, figure.light.shade(patch, 0.2, self.folds))
            self._front(patch)
        return patch

    def _front(self, inside):
        """Neckline, collar, lapels, tie, buttons, straps, badges or a print on the torso."""
        figure, rng, d = self.figure, self.figure.rng, self.drop
        kind = rng.choice(["round", "vee", "collar", "jacket", "high", "dress", "scarf"], p=[0.22, 0.13, 0.2, 0.2, 0.08, 0.09, 0.08])
        middle = 0.2 * figure.yaw * rng.random()
        other = textures.pattern(rng, figure.canvas.size, figure.unit * 0.15)
        low = d + rng.uniform(0.1, 0.4)
        if kind == "round":
            figure.draw(shapes.superellipse(middle, d - 0.2, self.neck * 1.25, low - d + 0.15), figure.skin * 0.92, inside=inside)
        elif kind == "vee":
            figure.draw([[-self.neck * 1.3, d - 0.4], [self.neck * 1.3, d - 0.4], [middle, low + 0.5]], figure.skin * 0.92, inside=inside)
        elif kind == "dress":
            top = d + rng.uniform(0.5, 0.9)
            figure.draw(shapes.spline([[-2, d - 0.6], [2, d - 0.6], [2, top], [0, top + rng.uniform(-0.1, 0.3)], [-2, top]]), figure.skin, inside=inside)
            if rng.random() < 0.6:
                for side in (-1, 1):
                    strap = [[side * 0.55, d - 0.2], [side * 0.6, top + 0.1]]
                    figure.draw(shapes.ribbons(np.array([strap]), np.full((1, 2), 0.06))[0], self.cloth, inside=inside)
        elif kind == "scarf":
            figure.draw(shapes.wobble(shapes.superellipse(middle, d - 0.1, self.neck * 2.1, 0.38), rng, 0.06), other)
        elif kind == "high":
            figure.draw(shapes.box(-self.neck * 1.15, d - 0.45, self.neck * 1.15, d), self.cloth)
        else:
            self._open_collar(kind, middle, other, inside)
        self._badges(inside)

    def _open_collar(self, kind, middle, other, inside):
        """A shirt's collar, or a jacket over a shirt with a tie."""
        figure, rng, d = self.figure, self.figure.rng, self.drop
        deep = d + (rng.uniform(1.2, 2.6) if kind == "jacket" else rng.uniform(0.2, 0.6))
        shirt = np.clip(np.full(3, rng.uniform(0.6, 1.0)) + rng.normal(0, 0.05, 3), 0, 1) if rng.random() < 0.7 else textures.colour(rng)
        opening = [[-self.neck * 1.3, d - 0.4], [self.neck * 1.3, d - 0.4], [middle, deep]]
        figure.draw(opening, shirt if kind == "jacket" else figure.skin * 0.9, inside=inside)
        if kind == "jacket" and rng.random() < 0.6:
            tie = [[-0.1, d - 0.05], [0.1, d - 0.05], [0.08, d + 0.2], [0.2, deep], [-0.2, deep], [-0.08, d + 0.2]]
            figure.draw(np.array(tie) + [middle, 0], other, inside=inside)
        flap = rng.uniform(0.2, 0.55)
        for side in (-1, 1):
            wing = [[side * self.neck * 0.9, d - 0.42], [side * self.neck * 1.35, d - 0.3], [side * (self.neck + flap), d + 0.25], [middle + side * 0.04, d + 0.22]]
            figure.draw(wing, shirt if kind == "jacket" else self.cloth, roundness=0.5)
            if kind == "jacket":
                lapel = [[side * self.neck * 1.4, d - 0.25], [side * (self.neck + flap + 0.15), d + 0.5], [middle, deep]]
                figure.draw(lapel, self.cloth, roundness=0.6, inside=inside)
        for y in np.arange(d + 0.5, self.hip, rng.uniform(0.35, 0.6)) if rng.random() < 0.5 else ():
            figure.draw(shapes.superellipse(middle, y, 0.035, 0.035, points=10), other, inside=inside)

    def _badges(self, inside):
        """Patches, prints, pockets and straps of a bag."""
        figure, rng, d = self.figure, self.figure.rng, self.drop
        for _ in range(int(rng.choice([0, 0, 0, 1, 2, 4, 8]))):
            x, y, r = rng.uniform(-1.2, 1.2), d + rng.uniform(0.4, 3), rng.uniform(0.06, 0.45)
            shape = shapes.superellipse(x, y, r, r * rng.uniform(0.4, 1.2), rng.uniform(1.5, 8))
            figure.draw(shapes.rotate(shape, rng.normal(0, 0.2), (x, y)), textures.colour(rng), inside=inside, lit=False)
            if rng.random() < 0.6:
                figure.draw((shape - [x, y]) * rng.uniform(0.3, 0.8) + [x, y], textures.colour(rng), inside=inside, lit=False)
        if rng.random() < 0.1:
            side = rng.choice([-1, 1])
            strap = [[side * self.neck * 2, d - 0.1], [side * rng.uniform(-1, 1), d + 3.2]]
            figure.draw(shapes.ribbons(np.array([strap]), np.full((1, 2), rng.uniform(0.06, 0.16)))[0], textures.colour(rng), inside=inside)

    def _legs(self):
        figure, rng = self.figure, self.figure.rng
        skirt, seated = rng.random() < 0.2, rng.random() < 0.25
        for side in (-1, 1):
            hip = np.array([side * self.waist * 0.5, self.hip - 0.35])
            spread = rng.normal(0.1, 0.15) * side
            knee = hip + ([side * rng.uniform(0.2, 1.2), rng.uniform(0.3, 1.0)] if seated else [spread, 2.6])
            ankle = knee + [rng.normal(0, 0.25), 2.5]
            figure.draw(shapes.capsules([hip, knee, ankle], [0.6, 0.42, 0.28]), figure.skin if skirt else self.lower)
            foot = ankle + [side * rng.uniform(0.1, 0.4), 0.25]
            figure.draw(shapes.capsules([ankle, foot], [0.25, 0.2]), textures.colour(rng))
        if skirt:
            w, low = self.waist, self.hip + rng.uniform(0.8, 3)
            figure.draw([[-w, self.hip - 0.5], [w, self.hip - 0.5], [w * rng.uniform(1, 1.7), low], [-w * rng.uniform(1, 1.7), low]], self.lower)

    def arms(self):
        """Both arms; each hangs, rests in front, or gestures."""
        for side in (-1, 1):
            if self.figure.rng.random() < 0.93:
                self._arm(side)

    def _arm(self, side):
        figure, rng = self.figure, self.figure.rng
        start = np.array([side * (self.shoulder - 0.22), self.drop + self.slope + 0.3])
        pose = rng.random()
        out, bend = abs(rng.normal(0.1, 0.12)), rng.normal(0.1, 0.2)  # from straight down, outwards; the elbow's turn inwards
        if pose > 0.62:
            out, bend = rng.uniform(0.0, 0.6), rng.uniform(0.8, 2.4)
        if pose > 0.88:
            out, bend = rng.uniform(0.3, 2.6), rng.uniform(-0.5, 2.4)
        elbow = start + 1.85 * self._short(rng) * np.array([side * np.sin(out), np.cos(out)])
        hand = elbow + 1.6 * self._short(rng) * np.array([side * np.sin(out - bend), np.cos(out - bend)])
        upper, lower, wrist = rng.uniform(0.3, 0.44), rng.uniform(0.24, 0.34), rng.uniform(0.15, 0.21)
        if self.sleeve:
            figure.draw(shapes.capsules([start, elbow, hand], [upper * 0.8, lower * 0.85, wrist * 0.85]), figure.skin)
        self._hand(hand, np.arctan2(*(hand - elbow)[::-1]), wrist)
        if self.sleeve == 0:
            joints, radii = [start, elbow, hand - 0.1 * (hand - elbow)], [upper, lower, wrist * 1.2]
        elif self.sleeve == 1:
            joints, radii = [start, start + (elbow - start) * rng.uniform(0.4, 0.8)], [upper, upper * 0.95]
        else:
            return
        points = shapes.capsules(joints, radii)
        patch = figure.canvas.patch(figure.at(points.reshape(-1, 2)).reshape(points.shape))
        if patch is not None:
            figure.canvas.paint(patch, self.cloth, 1.0, figure.light.shade(patch, 0.15, self.folds))

    @staticmethod
    def _short(rng):
        return 1 - 0.5 * rng.random() ** 3  # seen from the front, a limb that points at the camera is short

    def _hand(self, wrist, angle, radius):
        """A palm and five fingers, spread or closed."""
        figure, rng = self.figure, self.figure.rng
        forward = np.array([np.cos(angle), np.sin(angle)])
        palm = wrist + 0.2 * forward
        figure.draw(shapes.capsules([wrist, palm], [radius, 0.2]), figure.skin, roundness=0.3)
        spread, length = rng.uniform(0.02, 0.35), rng.uniform(0.1, 0.45)
        fingers = []
        for i in range(5):
            turn = (i - 1.5) * spread if i < 4 else rng.choice([-1, 1]) * rng.uniform(0.5, 1.2)
            root = palm + shapes.rotate(forward[None] * [0.1, 0.1], (i - 1.5) * 0.8)[0]
            fingers.append(shapes.capsules([root, root + length * shapes.rotate(forward[None], turn)[0]], [0.07, 0.055]))
        figure.draw(np.concatenate(fingers), np.clip(figure.skin * rng.uniform(0.9, 1.05), 0, 1), roundness=0.4)
