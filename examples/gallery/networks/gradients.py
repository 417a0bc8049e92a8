"""
Where gradients go
==================

Send a gradient of one back through a maximum, an average and an Lp norm. For people
who choose between pooling layers, or write one for a framework of their own.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# Windows of 3×3, two apart, overlap by a row and a column.

rng = np.random.default_rng(5)
x = oriel.uniform_filter(rng.random((13, 13)), 3, mode="wrap")
window = dict(kernel_size=3, stride=2)
y, indices = oriel.max_pool(x, **window, return_indices=True)
dy = np.ones_like(y)

# %%
# A maximum sends its gradient to one input, an average to all inputs of its window in
# equal shares, an Lp norm to all of them, and more to the large ones.

gradients = {
    "maximum": oriel.max_pool_backward(dy, x, **window),
    "average": oriel.avg_pool_backward(dy, x.shape, **window),
    "L8 norm": oriel.lp_pool_backward(dy, x, 8, **window),
}
wins = np.bincount(indices.ravel(), minlength=x.size).reshape(x.shape)
assert np.array_equal(gradients["maximum"], wins)
assert np.isclose(gradients["average"].sum(), dy.sum())

# %%
# The slope of the sum of all outputs, measured at one input, agrees.

step = np.zeros_like(x)
step[6, 4] = 1e-6
change = oriel.lp_pool(x + step, 8, **window) - oriel.lp_pool(x - step, 8, **window)
assert np.isclose(change.sum() / 2e-6, gradients["L8 norm"][6, 4], rtol=1e-4)

figure, panels = plt.subplots(2, 2, figsize=(6.4, 6.6), layout="constrained")
panels[0, 0].imshow(x, cmap="viridis")
panels[0, 0].set_title("input")
for panel, (name, gradient) in zip(panels.flat[1:], gradients.items()):
    panel.imshow(gradient, cmap="Reds")
    panel.set_title(f"gradient of the {name}")
for panel in panels.flat:
    panel.set(xticks=[], yticks=[])
plt.show()
