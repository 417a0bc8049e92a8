"""Pooling as loops over outputs and taps, in double or Python's integers: what the tests compare with. It knows nothing of Oriel."""

import itertools
import math

import numpy as np


def output_size(n, k, s, lo, hi, d, ceil_mode):
    span = d * (k - 1) + 1
    room = n + lo + hi - span
    if not ceil_mode:
        return room // s + 1
    outputs = -(-room // s) + 1
    return outputs - 1 if (outputs - 1) * s >= n + lo else outputs


def windows(shape, axes, kernel, stride, padding, dilation, ceil_mode):
    """(output index, input indices of the taps, divisor with padding) of each window; taps are row-major over `axes` as given."""
    geometry = {a: g for a, *g in zip(axes, kernel, stride, padding, dilation)}
    sizes = [output_size(n, k, s, lo, hi, d, ceil_mode) if a in geometry else n
             for a, n in enumerate(shape) for k, s, (lo, hi), d in [geometry.get(a, (1, 1, (0, 0), 1))]]
    for o in itertools.product(*map(range, sizes)):
        along, divisor = [], 1
        for a in axes:
            n, (k, s, (lo, hi), d) = shape[a], geometry[a]
            places = [o[a] * s - lo + t * d for t in range(k)]
            along.append([i for i in places if 0 <= i < n])
            divisor *= sum(-lo <= i < n + hi for i in places)
        taps = []
        for places in itertools.product(*along):
            tap = list(o)
            for a, i in zip(axes, places):
                tap[a] = i
            taps.append(tuple(tap))
        yield o, taps, divisor


def pool(op, x, axes, kernel, stride, padding, dilation=None, ceil_mode=False, count_include_pad=True, norm=2.0):
    """The pool as an array of float64 (exact integers where x is of integers), and the flat plane index of each extremum."""
    dilation = dilation or (1,) * len(axes)
    cells = list(windows(x.shape, axes, kernel, stride, padding, dilation, ceil_mode))
    shape = tuple(max(o[a] for o, _, _ in cells) + 1 for a in range(x.ndim))
    y, indices = np.zeros(shape), np.full(shape, -1)
    plane = [x.shape[a] for a in axes]
    for o, taps, divisor in cells:
        values = [float(x[i]) for i in taps]
        if op in ("max", "min"):
            best = -1
            for t, value in enumerate(values):
                better = best < 0 or (value > values[best] if op == "max" else value < values[best])
                if math.isnan(value) or (better and not math.isnan(values[best])):
                    best = t
            y[o] = values[best] if best >= 0 else (-math.inf if op == "max" else math.inf)
            if best >= 0:
                indices[o] = np.ravel_multi_index([taps[best][a] for a in axes], plane)
        elif op == "lp":
            y[o] = sum(abs(v) ** norm for v in values) ** (1 / norm)
        else:
            total = math.fsum(values) if all(map(math.isfinite, values)) else sum(values)
            y[o] = total if op == "sum" else total / (divisor if count_include_pad else len(values)) if values else 0.0
    return y, indices
