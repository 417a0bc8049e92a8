"""`reduce_window` by its definition, in NumPy, sharing nothing with Oriel: the judge between Oriel and XLA."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

OPS = {"add": np.add, "max": np.maximum, "min": np.minimum}


def resolve(
    padding: Any, shape: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """Padding words as pairs; like JAX's they look at the operand before its base dilation."""
    if not isinstance(padding, str):
        return [tuple(pair) for pair in padding]
    if padding == "VALID":
        return [(0, 0)] * len(shape)
    needed = [
        max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in zip(shape, window, strides, dilation)
    ]
    return [(pad // 2, pad - pad // 2) for pad in needed]


def reduce_window(
    x: np.ndarray,
    init: Any,
    op: str,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> np.ndarray:
    """Each result starts as `init` and takes in one tap after another; taps on padding and on holes are skipped."""
    pads = resolve(padding, x.shape, window, strides, window_dilation)
    wide = [(n - 1) * b + 1 for n, b in zip(x.shape, base_dilation)]
    sizes = [
        max((n + lo + hi - (k - 1) * d - 1) // s + 1, 0)
        for n, (lo, hi), k, s, d in zip(wide, pads, window, strides, window_dilation)
    ]
    y = np.full(sizes, init, x.dtype)
    for tap in itertools.product(*map(range, window)):
        places = [
            np.arange(m) * s + t * d - lo for m, s, t, d, (lo, _) in zip(sizes, strides, tap, window_dilation, pads)
        ]
        held = [(p >= 0) & (p < n) & (p % b == 0) for p, n, b in zip(places, wide, base_dilation)]
        outputs = np.ix_(*map(np.flatnonzero, held))
        inputs = np.ix_(*(p[h] // b for p, h, b in zip(places, held, base_dilation)))
        y[outputs] = OPS[op](y[outputs], x[inputs])
    return y
