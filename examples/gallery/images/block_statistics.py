"""
Block statistics, as in scikit-image
====================================

Compute the mean, the largest value and the standard deviation of blocks with
`block_reduce`. For users of scikit-image: only the import changes.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data, measure

import oriel

# %%
# Means, sums, maxima and minima are computed by Oriel; other functions, such as
# `np.std` or `np.median`, by NumPy on a view of the blocks.

moon = data.moon()
functions = {"mean": np.mean, "maximum": np.max, "standard deviation": np.std}
maps = {
    name: oriel.block_reduce(moon, (16, 16), function)
    for name, function in functions.items()
}
for name, function in functions.items():
    expected = measure.block_reduce(moon, (16, 16), function)
    assert np.allclose(maps[name], expected), name

# %%
# The standard deviation shows where the ground is rough.

figure, panels = plt.subplots(2, 2, figsize=(6.4, 6.6), layout="constrained")
panels[0, 0].imshow(moon, cmap="gray")
panels[0, 0].set_title("the Moon, 512 × 512")
for panel, (name, values) in zip(panels.flat[1:], maps.items()):
    panel.imshow(values, cmap="inferno" if "deviation" in name else "gray")
    panel.set_title(f"{name}, {values.shape[0]} × {values.shape[1]}")
for panel in panels.flat:
    panel.axis("off")
plt.show()
