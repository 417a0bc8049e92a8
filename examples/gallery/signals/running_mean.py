"""
A running mean with missing values
==================================

Smooth a series of measurements that has gaps. For weather stations, sensors and
finance.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# Two years of daily temperatures. Missing days are NaN: some single ones, and 40 days
# without a station.

rng = np.random.default_rng(2)
days = np.arange(730)
season = 9 - 10 * np.cos(2 * np.pi * days / 365)
noise = oriel.avg_pool(rng.normal(0, 7, len(days) + 4), 5, stride=1)
measured = season + noise
measured[rng.random(len(days)) < 0.15] = np.nan
measured[420:460] = np.nan

# %%
# Windows of 29 days, centred: padding of 14 keeps the length. NaN is left out, and
# padding does not count in the divisor. By default one NaN makes a window NaN.

window = dict(kernel_size=29, stride=1, padding=14)
mean = oriel.avg_pool(measured, **window, nan_policy="omit", count_include_pad=False)
strict = oriel.avg_pool(measured, **window, count_include_pad=False)

# %%
# A window without any value gives 0. Count the values, and put NaN back.

present = (~np.isnan(measured)).astype(np.int32)
count = oriel.sum_pool(present, **window)
mean[count == 0] = np.nan
assert np.isnan(strict).sum() > 600 and np.isnan(mean).sum() == 12
for day in (0, 100, 425, 729):
    assert np.isclose(mean[day], np.nanmean(measured[max(day - 14, 0) : day + 15]))

figure, panel = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
panel.axvspan(420, 460, color="#fff1c2", label="no station")
panel.plot(days, measured, ".", color="#8c959f", markersize=3, label="measured")
panel.plot(days, mean, color="#cf222e", linewidth=2.5, label="mean of 29 days")
panel.set(xlabel="day", ylabel="°C", xlim=(0, 730))
panel.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.12))
panel.spines[["top", "right"]].set_visible(False)
plt.show()
