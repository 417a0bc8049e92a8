"""
Find the brightest spots of an image
====================================

Find local maxima, as `skimage.feature.peak_local_max` does. For counting stars, cells
or particles, and for reading key points off the heat maps of a network.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage
from skimage import data

import oriel

# %%
# A part of the Hubble Deep Field, smoothed by a running mean of 5×5 pixels.

sky = data.hubble_deep_field()[330:680, 380:880]
light = oriel.uniform_filter(sky.mean(axis=2), 5)

# %%
# A pixel is a local maximum if it equals the maximum of its neighbourhood, and
# bright enough.

highest = oriel.maximum_filter(light, 21)
assert np.array_equal(highest, ndimage.maximum_filter(light, 21))
peaks = np.argwhere((light == highest) & (light > 75))

# %%
# No brighter pixel is within 10 pixels of a peak.

for row, column in peaks:
    around = light[max(row - 10, 0) : row + 11, max(column - 10, 0) : column + 11]
    assert light[row, column] == around.max()
print(len(peaks), "peaks")

figure, panel = plt.subplots(figsize=(7.2, 5.04), layout="constrained")
panel.imshow(sky)
panel.scatter(peaks[:, 1], peaks[:, 0], 250, "none", edgecolors="#7ee787", lw=2)
panel.axis("off")
plt.show()
