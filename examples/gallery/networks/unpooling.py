"""
Unpooling: maxima back at their places
======================================

Pool with indices, then put each maximum back where it came from. For people who build
decoders (SegNet and others) or keep only the strongest features of an image.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import oriel

# %%
# Edges around the eye of a cat: the largest minus the smallest value around each pixel.

photo = data.chelsea()[75:171, 122:218].mean(axis=2)
edges = oriel.maximum_filter(photo, 3) - oriel.minimum_filter(photo, 3)

# %%
# One maximum is kept of each window of 3×3. `max_unpool` writes it at its index, and
# zeros elsewhere.

strongest, indices = oriel.max_pool(edges, 3, return_indices=True)
sparse = oriel.max_unpool(strongest, indices, 3, output_size=edges.shape)

kept = sparse != 0
assert np.array_equal(sparse[kept], edges[kept])
assert np.array_equal(oriel.max_pool(sparse, 3), strongest)
assert np.count_nonzero(kept) <= edges.size // 9

# %%
# One value of nine is left, and the strong edges still show.

figure, panels = plt.subplots(1, 2, figsize=(7.2, 4.0), layout="constrained")
for panel, image, title in (
    (panels[0], edges, "edges"),
    (panels[1], sparse, f"unpooled: {kept.mean():.0%} of the values"),
):
    panel.imshow(image, cmap="magma", vmax=90)
    panel.set_title(title)
    panel.axis("off")
plt.show()
