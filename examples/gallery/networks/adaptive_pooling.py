"""
Images of any size to a fixed size
==================================

Average photographs of three sizes to arrays of one size. For classifiers that take
images of any size but end in layers of a fixed one.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import oriel

# %%
# An adaptive pool is given the number of windows, not their size. The colours are an
# axis that is not pooled.

photos = {"coffee": data.coffee(), "cat": data.chelsea(), "rocket": data.rocket()}
fixed = {
    name: oriel.adaptive_avg_pool(photo / 255, (16, 16), axes=(0, 1))
    for name, photo in photos.items()
}

# %%
# Window `o` of `m` over `n` inputs reaches from `floor(o n / m)` to
# `ceil((o + 1) n / m)`: neighbours share an input if `m` does not divide `n`.

for name, photo in photos.items():
    assert fixed[name].shape == (16, 16, 3)
    rows, columns, _ = photo.shape
    begin, end = 5 * rows // 16, -(-6 * rows // 16)
    left, right = 9 * columns // 16, -(-10 * columns // 16)
    block = photo[begin:end, left:right] / 255
    assert np.allclose(fixed[name][5, 9], block.mean(axis=(0, 1)))

figure, panels = plt.subplots(2, 3, figsize=(7.2, 4.6), layout="constrained")
for (name, photo), (above, below) in zip(photos.items(), panels.T):
    height, width, _ = photo.shape
    sides = (-width / 2, width / 2, height / 2, -height / 2)
    above.imshow(photo, extent=sides)
    above.set_title(f"{height} × {width}")
    above.set(xlim=(-320, 320), ylim=(214, -214))  # one scale for all
    below.imshow(fixed[name])
    below.set_title("16 × 16")
    above.axis("off")
    below.axis("off")
plt.show()
