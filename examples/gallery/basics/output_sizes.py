"""
How many outputs: floor, ceil and same
======================================

Count the outputs of a pool for every input size. For people who convert networks
between frameworks and find that a layer's output is one element larger or smaller.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# Windows of four inputs, three apart. Floor drops a partial window at the end; with
# `ceil_mode` it counts; `padding="same"` pads so that only the stride matters.

KERNEL, STRIDE = 4, 3
sizes = np.arange(4, 20)
inputs = [np.zeros(size) for size in sizes]
counts = {
    "floor": [len(oriel.max_pool(x, KERNEL, STRIDE)) for x in inputs],
    "ceil_mode=True": [
        len(oriel.max_pool(x, KERNEL, STRIDE, ceil_mode=True)) for x in inputs
    ],
    'padding="same"': [
        len(oriel.max_pool(x, KERNEL, STRIDE, padding="same")) for x in inputs
    ],
}
assert np.array_equal(counts["floor"], (sizes - KERNEL) // STRIDE + 1)
assert np.array_equal(counts["ceil_mode=True"], -((KERNEL - sizes) // STRIDE) + 1)
assert np.array_equal(counts['padding="same"'], -(-sizes // STRIDE))

# %%
# Floor and ceil agree only if the windows fit exactly: for 4, 7, 10 … inputs.

figure, panel = plt.subplots(figsize=(7.2, 5.0), layout="constrained")
styles = zip(("#cf222e", "#0969da", "#1a7f37"), "vos", (-0.06, 0, 0.06))
for (name, count), (colour, marker, shift) in zip(counts.items(), styles):
    heights = np.array(count) + shift  # so that equal counts stay visible
    panel.step(sizes, heights, where="mid", color=colour, alpha=0.35, linewidth=3)
    panel.plot(sizes, heights, marker, color=colour, markersize=7, label=name)
for size in sizes[(sizes - KERNEL) % STRIDE == 0]:
    panel.axvline(size, color="#d0d7de", linewidth=8, zorder=0)
panel.set(xlabel="inputs", ylabel="outputs", xticks=sizes[::2])
panel.set_title(f"kernel {KERNEL}, stride {STRIDE}; grey: the windows fit exactly")
panel.legend(frameon=False)
panel.spines[["top", "right"]].set_visible(False)
plt.show()
