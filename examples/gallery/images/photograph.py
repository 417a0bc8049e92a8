"""
Maximum, mean, minimum and norm of a photograph
===============================================

Pool a photograph with each reduction and compare what stays of it. For a first look
at what pooling does.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import oriel

# %%
# Blocks of 12×12 pixels. Height and width are pooled, the colours are not.

photo = data.coffee()
window = dict(kernel_size=12, axes=(0, 1))
largest = oriel.max_pool(photo, **window)
smallest = oriel.min_pool(photo, **window)
mean = oriel.avg_pool(photo, **window)

# %%
# The mean of integers is the exact mean, rounded once. An Lp norm divided by that of
# ones is a mean, too, in which bright pixels count more.

norm = oriel.lp_pool(photo / 255, 8, **window) / 144 ** (1 / 8)
blocks = photo[:396].reshape(33, 12, 50, 12, 3)
assert np.array_equal(largest, blocks.max(axis=(1, 3)))
assert np.array_equal(smallest, blocks.min(axis=(1, 3)))
assert np.array_equal(mean, np.rint(blocks.mean(axis=(1, 3))))
assert np.allclose(norm, ((blocks / 255.0) ** 8).mean(axis=(1, 3)) ** (1 / 8))

figure, panels = plt.subplots(2, 3, figsize=(7.2, 3.7), layout="constrained")
for panel, image, title in zip(
    panels.flat,
    (photo, mean, norm, largest, smallest, largest - smallest),
    ("photograph", "mean", "L8 mean", "maximum", "minimum", "maximum − minimum"),
):
    panel.imshow(image)
    panel.set_title(title, fontsize=11)
    panel.axis("off")
plt.show()
