"""
A projection with depth as colour
=================================

Project a volume to its brightest voxels and colour each by its depth. For vessels in
MRI and CT, neurons in light-sheet microscopy.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# A synthetic volume of 64 slices: vessels that wander and branch, and noise.

rng = np.random.default_rng(21)
shape = np.array([64, 200, 280])
volume = np.zeros(shape, np.float32)
vessels = [(np.array([10.0, 100, 2]), np.array([0.1, 0, 1]))]
vessels += [(np.array([60.0, 150, 2]), np.array([-0.2, -0.2, 1]))]
while vessels:
    place, direction = vessels.pop()
    while ((place >= 1) & (place < shape - 1)).all():
        volume[tuple(place.astype(int))] = 1
        direction = direction + rng.normal(0, (0.03, 0.06, 0.06))
        direction /= np.linalg.norm(direction)
        place = place + direction
        if rng.random() < 0.012:
            vessels.append((place, direction + rng.normal(0, (0.2, 0.6, 0.6))))
volume = oriel.uniform_filter(oriel.maximum_filter(volume, 3), 3)
volume += rng.normal(0, 0.05, shape).astype(np.float32)

# %%
# One window over all slices. Indices that count in the window are the depth; a window
# of at most 255 taps has indices of one byte.

window = dict(kernel_size=len(volume), axes=0)
brightest, depth = oriel.max_pool(
    volume, **window, return_indices="window", index_dtype="uint8"
)
assert np.array_equal(brightest[0], volume.max(axis=0))
assert np.array_equal(depth[0], volume.argmax(axis=0))
assert depth.dtype == np.uint8

figure, panel = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
colours = plt.get_cmap("turbo")(depth[0] / len(volume))[..., :3]
panel.imshow(colours * brightest[0, ..., None].clip(0, 1) ** 1.5)
panel.axis("off")
scale = plt.cm.ScalarMappable(plt.Normalize(0, len(volume)), "turbo")
figure.colorbar(scale, ax=panel, label="depth in slices", shrink=0.7, pad=0.02)
plt.show()
