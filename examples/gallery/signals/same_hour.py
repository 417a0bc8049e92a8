"""
The mean of the same hour on seven days
=======================================

Average hours that are a day apart with a dilated window. For loads of power grids,
traffic and everything with a daily course.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# Six weeks of hourly measurements with a daily course that fades in and out.

rng = np.random.default_rng(4)
hours = np.arange(42 * 24)
strength = 1 + 0.6 * np.sin(2 * np.pi * hours / (28 * 24))
load = (
    3 + strength * np.sin(2 * np.pi * (hours - 8) / 24) + rng.normal(0, 0.6, hours.size)
)

# %%
# Seven taps with a dilation of 24 read the same hour of seven days. A plain mean of
# seven days would remove the daily course; this one keeps it.

typical = oriel.avg_pool(load, 7, stride=1, dilation=24)
plain = oriel.avg_pool(load, 7 * 24, stride=1)

by_day = load.reshape(42, 24)
assert np.allclose(typical[:24], by_day[:7].mean(axis=0))
assert np.allclose(typical[-24:], by_day[-7:].mean(axis=0))
assert typical.size == load.size - 6 * 24

# %%
# Days and hours as an image.

figure, panels = plt.subplots(1, 2, figsize=(7.2, 4.8), layout="constrained")
for panel, values, title in (
    (panels[0], by_day, "measured"),
    (panels[1], typical.reshape(36, 24), "mean of seven days"),
):
    image = panel.imshow(values, cmap="YlOrRd", aspect="auto", vmin=1, vmax=5)
    panel.set(title=title, xlabel="hour", xticks=[0, 6, 12, 18])
panels[0].set_ylabel("day")
figure.colorbar(image, ax=panels, label="load", shrink=0.8, pad=0.02)
plt.show()
