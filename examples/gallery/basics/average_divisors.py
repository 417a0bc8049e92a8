"""
What an average divides by at the border
========================================

Show the divisor of every window of an average pool. For people whose border values
differ between PyTorch, ONNX and TensorFlow.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# The input is all ones, so an average is the number of inputs in the window divided
# by the divisor. Padding counts in the divisor unless `count_include_pad=False`.

ones = np.ones((5, 5))
window = dict(kernel_size=3, stride=1, padding=1)
results = {
    "count_include_pad=True": oriel.avg_pool(ones, **window),
    "count_include_pad=False": oriel.avg_pool(ones, **window, count_include_pad=False),
}
inputs = oriel.sum_pool(ones, **window)  # how many inputs each window has
assert np.allclose(results["count_include_pad=True"], inputs / 9)
assert np.array_equal(results["count_include_pad=False"], inputs / inputs)

# %%
# PyTorch includes padding by default, as Oriel does; ONNX and Keras exclude it.

figure, panels = plt.subplots(1, 2, figsize=(7.2, 4.1), layout="constrained")
for panel, (name, result) in zip(panels, results.items()):
    panel.imshow(result, cmap="YlGnBu", vmin=0, vmax=1.8)
    for row, column in np.ndindex(result.shape):
        value = Fraction(result[row, column]).limit_denominator(9)
        text = str(value) if value == 1 else f"{inputs[row, column]:.0f}/9"
        panel.text(column, row, text, ha="center", va="center", fontsize=13)
    panel.set_title(name, family="monospace", fontsize=11)
    panel.set(xticks=np.arange(4) + 0.5, yticks=np.arange(4) + 0.5)
    panel.tick_params(length=0, labelbottom=False, labelleft=False)
    panel.grid(color="white", linewidth=2)
    panel.spines[:].set_visible(False)
figure.suptitle("averages of ones, 3×3, padding 1")
plt.show()
