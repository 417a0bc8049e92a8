"""
Padding: same, same_lower and uneven pairs
==========================================

Draw where windows lie for each kind of padding. For those who move a model between
TensorFlow, ONNX and PyTorch, which place the odd element of "same" padding
differently or do not have it.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

import oriel

# %%
# Five inputs in windows of two need one more element: `"same"` adds it after the input,
# `"same_lower"` before it. Pairs say how much to add before and after each axis.

x = np.random.default_rng(3).permutation(25).reshape(5, 5)
paddings = {
    "valid": ("valid", ((0, 0), (0, 0))),
    "same": ("same", ((0, 1), (0, 1))),
    "same_lower": ("same_lower", ((1, 0), (1, 0))),
    "((1, 0), (0, 1))": (((1, 0), (0, 1)), ((1, 0), (0, 1))),
}

# %%
# Padding holds no value: the maximum of a window at the border is that of the inputs
# that it has. Each window is a frame with its maximum marked.

figure, panels = plt.subplots(2, 2, figsize=(6.4, 6.2), layout="constrained")
for (name, (padding, pairs)), panel in zip(paddings.items(), panels.flat):
    largest, places = oriel.max_pool(x, 2, padding=padding, return_indices=True)
    assert np.array_equal(largest, oriel.max_pool(x, 2, padding=pairs))
    padded = np.pad(x, pairs, constant_values=-1)
    (top, _), (left, _) = pairs
    panel.pcolormesh(
        np.arange(padded.shape[1] + 1) - left,
        np.arange(padded.shape[0] + 1) - top,
        np.ma.masked_less(padded, 0),
        cmap="Blues",
        vmax=32,
    )
    for row, column in np.ndindex(padded.shape):
        corner = (column - left, row - top)
        if padded[row, column] < 0:
            panel.add_patch(
                Rectangle(corner, 1, 1, fc="none", ec="#d0d7de", hatch="//")
            )
    for row, column in np.ndindex(largest.shape):
        corner = (2 * column - left + 0.06, 2 * row - top + 0.06)
        panel.add_patch(Rectangle(corner, 1.88, 1.88, fc="none", ec="#cf222e", lw=2))
    for value, place in zip(largest.flat, places.flat):
        place = (place % 5 + 0.5, place // 5 + 0.5)
        panel.annotate(value, place, ha="center", va="center", weight="bold")
    panel.set(xlim=(-1.1, 6.1), ylim=(6.1, -1.1), aspect="equal", title=name)
    panel.axis("off")
plt.show()
