"""
Downsample without false patterns
=================================

Compare taking every fourth pixel with averaging blocks of four by four. For everyone
who makes images smaller: measurements, thumbnails, inputs of networks.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# Rings that get finer with the distance from the centre, down to two pixels each.

y, x = np.mgrid[-400:400, -400:400] / 400
rings = 0.5 + 0.5 * np.cos(200 * np.pi * (x**2 + y**2))

# %%
# Every fourth pixel shows rings that are not there. The mean of a block is grey if the
# block cannot show the rings.

plain = rings[::4, ::4]
averaged = oriel.avg_pool(rings, 4)

assert plain.shape == averaged.shape
fine = oriel.avg_pool(np.hypot(x, y), 4) > 0.75
assert np.allclose(averaged, rings.reshape(200, 4, 200, 4).mean(axis=(1, 3)))
assert np.abs(averaged[fine] - 0.5).mean() < 0.2 * np.abs(plain[fine] - 0.5).mean()

figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.85), layout="constrained")
for panel, image, title in (
    (panels[0], plain, "every fourth pixel"),
    (panels[1], averaged, "means of 4 × 4 pixels"),
):
    panel.imshow(image, cmap="gray", vmin=0, vmax=1)
    panel.set_title(title)
    panel.axis("off")
plt.show()
