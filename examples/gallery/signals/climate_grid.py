"""
Coarsen a climate grid with missing values
==========================================

Average a map of the sea's temperature to larger cells, with land as missing values.
For climate models, satellite images and maps.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# A synthetic map, 1° × 1°: warm at the equator, currents, and continents of NaN.

rng = np.random.default_rng(11)
latitude, longitude = np.mgrid[89.5:-90:-1, 0.5:360:1]


def smooth_noise(size):
    noise = rng.standard_normal(latitude.shape)
    for _ in range(3):
        noise = oriel.uniform_filter(noise, size, mode=("nearest", "wrap"))
    return noise / noise.std()


sea = 29 * np.cos(np.deg2rad(latitude)) ** 2 - 1 + 1.5 * smooth_noise(9)
sea[smooth_noise(25) > 0.6] = np.nan

# %%
# Cells of 9° × 9°. By default a cell with any land is NaN. `"omit"` averages the sea
# of each cell; cells of land alone are NaN again after counting.

strict = oriel.avg_pool(sea, 9)
coarse = oriel.avg_pool(sea, 9, nan_policy="omit")
count = oriel.sum_pool((~np.isnan(sea)).astype(np.int32), 9)
coarse[count == 0] = np.nan

cells = sea.reshape(20, 9, 40, 9)
assert np.allclose(strict, cells.mean(axis=(1, 3)), equal_nan=True)
some = count > 0
assert np.allclose(coarse[some], np.nansum(cells, axis=(1, 3))[some] / count[some])
assert np.isnan(coarse[~some]).all() and 0 < some.sum() < some.size

figure = plt.figure(figsize=(7.2, 5.6), layout="constrained")
places = [["sea", "sea"], ["strict", "coarse"]]
panels = figure.subplot_mosaic(places, height_ratios=(2, 1))
colours = plt.get_cmap("turbo").with_extremes(bad="#d0d7de")
for panel, values, title in (
    (panels["sea"], sea, "sea surface, 1° × 1°"),
    (panels["strict"], strict, 'nan_policy="propagate"'),
    (panels["coarse"], coarse, 'nan_policy="omit"'),
):
    sides = (0, 360, -90, 90)
    image = panel.imshow(values, cmap=colours, extent=sides, vmin=-2, vmax=30)
    panel.set(title=title, xticks=[], yticks=[])
figure.colorbar(image, ax=list(panels.values()), label="°C", shrink=0.6, pad=0.02)
plt.show()
