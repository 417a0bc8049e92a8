"""Outlines as [points][2] arrays: ellipses, splines, ribbons, capsule chains."""

import numpy as np


def superellipse(cx, cy, rx, ry, power=2.0, points=48):
    """|x/rx|^power + |y/ry|^power = 1; power 2 is an ellipse, larger is squarer."""
    t = np.linspace(0, 2 * np.pi, points, endpoint=False)
    c, s = np.cos(t), np.sin(t)
    bend = 2.0 / power
    return np.stack([cx + rx * np.sign(c) * np.abs(c) ** bend, cy + ry * np.sign(s) * np.abs(s) ** bend], axis=1)


def box(x0, y0, x1, y1):
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float64)


def rotate(points, angle, centre=(0.0, 0.0)):
    c, s = np.cos(angle), np.sin(angle)
    return (np.asarray(points) - centre) @ np.array([[c, s], [-s, c]]) + centre


def spline(controls, steps=6, closed=True):
    """A Catmull-Rom curve through the control points."""
    p = np.asarray(controls, np.float64)
    if closed:
        before, after, far = np.roll(p, 1, 0), np.roll(p, -1, 0), np.roll(p, -2, 0)
    else:
        padded = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
        before, p, after, far = padded[:-3], padded[1:-2], padded[2:-1], padded[3:]
    t = np.linspace(0, 1, steps, endpoint=False)[None, :, None]
    b, m, a, f = (v[:, None, :] for v in (before, p, after, far))
    curve = 0.5 * (2 * m + (a - b) * t + (2 * b - 5 * m + 4 * a - f) * t**2 + (3 * m - b - 3 * a + f) * t**3)
    curve = curve.reshape(-1, 2)
    return curve if closed else np.concatenate([curve, after[-1:]])


def wobble(outline, rng, amount, waves=9):
    """The outline with its distance from its middle changed by smooth noise of the given amplitude (a part of the distance)."""
    middle = outline.mean(axis=0)
    t = np.linspace(0, 2 * np.pi, len(outline), endpoint=False)
    k = np.arange(2, 2 + waves)
    noise = (rng.normal(size=waves) / np.sqrt(k)) @ np.sin(k[:, None] * t + rng.uniform(0, 2 * np.pi, (waves, 1)))
    return middle + (outline - middle) * (1 + amount * noise / 2)[:, None]


def ribbons(curves, widths):
    """Polygons around curves [curves][points][2] with half widths [curves][points]."""
    along = np.gradient(curves, axis=1)
    normal = np.stack([-along[..., 1], along[..., 0]], axis=2)
    normal /= np.maximum(np.linalg.norm(normal, axis=2, keepdims=True), 1e-9)
    side = normal * np.asarray(widths)[..., None]
    return np.concatenate([curves + side, (curves - side)[:, ::-1]], axis=1)


def capsules(joints, radii, points=20):
    """Polygons, all of one length, that together cover the chain of capsules through the joints."""
    joints, radii = np.asarray(joints, np.float64), np.asarray(radii, np.float64)
    found = [superellipse(x, y, r, r, points=points) for (x, y), r in zip(joints, radii)]
    for i in range(len(joints) - 1):
        quad = ribbons(joints[None, i:i + 2], radii[None, i:i + 2])[0]
        found.append(np.concatenate([quad, np.repeat(quad[-1:], points - 4, axis=0)]))
    return np.stack(found)
