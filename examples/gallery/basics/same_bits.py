"""
The same bits in every memory layout
====================================

Average an array in two memory orders and compare the last bits. For those who need
results that can be reproduced: tests, audits, training on several machines.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# The same numbers, rows first in memory and columns first.

rows_first = np.random.default_rng(0).random((384, 384), np.float32)
columns_first = np.asfortranarray(rows_first)


def numpy_means(x):
    return x.reshape(48, 8, 48, 8).mean(axis=(1, 3))


def oriel_means(x):
    return oriel.avg_pool(x, 8)


# %%
# NumPy adds in an order that suits the memory. Oriel's order of addition is part of
# its definition: neither the layout nor the number of threads changes a bit.

differences = {}
for name, means in {"NumPy": numpy_means, "Oriel": oriel_means}.items():
    one, other = means(rows_first), means(columns_first)
    differences[name] = (one - other) / np.spacing(one)
assert not differences["Oriel"].any()
with oriel.threads(1):
    assert np.array_equal(oriel_means(rows_first), oriel_means(columns_first))
assert np.allclose(numpy_means(rows_first), oriel_means(rows_first))

figure, panels = plt.subplots(1, 2, figsize=(7.2, 4.7), layout="constrained")
for panel, (name, difference) in zip(panels, differences.items()):
    image = panel.imshow(difference, cmap="RdBu", vmin=-3, vmax=3)
    panel.set_title(f"{name}: {np.count_nonzero(difference)} of 2304 means differ")
    panel.set(xticks=[], yticks=[])
bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.6, aspect=40)
bar.set_label("difference in units of the last place")
plt.show()
