"""
An image pyramid
================

Halve an image again and again by means of 2×2 pixels. For viewers of large images,
searches from coarse to fine, and thumbnails.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import oriel

# %%
# Each level is the mean of the one before. `ceil_mode=True` would keep the last row
# and column of levels with an odd size.

levels = [data.astronaut() / 255]
while min(levels[-1].shape[:2]) > 8:
    levels.append(oriel.avg_pool(levels[-1], 2, axes=(0, 1)))

# %%
# The last level is the mean of blocks of 64×64 pixels of the first.

direct = oriel.avg_pool(levels[0], 64, axes=(0, 1))
assert len(levels) == 7 and levels[-1].shape == (8, 8, 3)
assert np.allclose(levels[-1], direct)
assert np.isclose(levels[-1].mean(), levels[0].mean())

# %%
# The levels beside the image, one below the other.

rows, columns, _ = levels[0].shape
page = np.ones((rows, columns + columns // 2, 3))
page[:, :columns] = levels[0]
top = 0
for level in levels[1:]:
    page[top : top + len(level), columns : columns + level.shape[1]] = level
    top += len(level)

figure, panel = plt.subplots(figsize=(7.2, 4.9), layout="constrained")
panel.imshow(page)
panel.axis("off")
plt.show()
