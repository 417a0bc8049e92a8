"""
Remove an uneven background
===========================

Subtract the haze from a micrograph: a minimum, then a maximum, over windows larger
than the cells. For fluorescence microscopy, gels and astronomy.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# A synthetic micrograph: round cells on a haze that varies, with the noise of counted
# photons.

rng = np.random.default_rng(8)
y, x = np.mgrid[:224, :320]
haze = 400 + 4 * x + 900 * np.exp(-((x - 210) ** 2 + (y - 90) ** 2) / 9000)
cells = np.zeros(haze.shape)
for row, column in rng.uniform((10, 10), (214, 310), (70, 2)):
    cells += 500 * np.exp(-((x - column) ** 2 + (y - row) ** 2) / 25)
image = rng.poisson(haze + cells).astype(np.float32)

# %%
# A running mean calms the noise. The minimum removes what is smaller than its window,
# the maximum restores the rest: in morphology, an opening.

smooth = oriel.uniform_filter(image, 5)
opened = oriel.maximum_filter(oriel.minimum_filter(smooth, 31), 31)
background = oriel.uniform_filter(opened, 31)
clean = smooth - background

# %%
# Between the cells the haze is gone; the cells are what remains.

empty = cells < 1
assert np.ptp(haze[empty]) > 1200 and clean[empty].std() < 100
assert np.corrcoef(clean.ravel(), cells.ravel())[0, 1] > 0.9

figure, panels = plt.subplots(2, 2, figsize=(7.2, 5.6), layout="constrained")
profile = panels[1, 1]
for panel, values, title in zip(
    panels.flat, (image, background, clean), ("micrograph", "background", "cleaned")
):
    panel.imshow(values, cmap="viridis", vmin=0 if values is clean else None)
    panel.axhline(112, color="white", linewidth=1, alpha=0.6)
    panel.set_title(title)
    panel.axis("off")
for values, colour in (
    (smooth, "#57606a"),
    (background, "#cf222e"),
    (clean, "#1a7f37"),
):
    profile.plot(values[112], color=colour)
profile.set(title="along the line", xlim=(0, 320), xticks=[], yticks=[0, 1000, 2000])
profile.spines[["top", "right"]].set_visible(False)
plt.show()
