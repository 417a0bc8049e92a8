"""
Which element wins: ties and NaN
================================

Show which input a maximum comes from if several are equal or some are NaN. For those
who use indices or gradients, which depend on it.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# The first of equal elements wins. A NaN makes its window NaN, and the index is that
# of the last NaN; with `nan_policy="omit"` NaN is left out.

nan = np.nan
x = np.array([3, 7, 7, nan, 5, nan, 2, nan, 2, nan, nan, nan])
policies = ("propagate", "omit")
results = {
    policy: oriel.max_pool(x, 3, return_indices=True, nan_policy=policy)
    for policy in policies
}
assert results["propagate"][1].tolist() == [1, 5, 7, 11]
assert results["omit"][1].tolist() == [1, 4, 6, -1]
assert np.array_equal(results["omit"][0], [7, 5, 2, -np.inf])

# %%
# A window without a number has no winner: its maximum is minus infinity, the lowest
# value of the type, and its index is -1.


def draw_cells(panel, values, centres, width, y):
    for value, centre in zip(values, centres):
        fill = "#ffebe9" if np.isnan(value) else "#e9f4ff"
        corner = (centre - width / 2, y - 0.22)
        panel.add_patch(plt.Rectangle(corner, width, 0.44, fc=fill, ec="#8c959f"))
        text = "−∞" if value == -np.inf else f"{value:g}"
        panel.text(centre, y, text, ha="center", va="center", fontsize=12)


figure, panels = plt.subplots(2, 1, figsize=(7.2, 5.0), layout="constrained")
for panel, policy in zip(panels, policies):
    largest, places = results[policy]
    draw_cells(panel, x, np.arange(12), 0.94, 0)
    draw_cells(panel, largest, np.arange(1, 12, 3), 1.6, 1)
    for output, place in zip(np.arange(1, 12, 3), places):
        if place >= 0:
            arrow = dict(arrowstyle="-|>", color="#cf222e", lw=2)
            panel.annotate("", (output, 0.77), (place, 0.23), arrowprops=arrow)
    panel.set(xlim=(-0.6, 11.6), ylim=(-0.3, 1.3))
    panel.set_title(f'nan_policy="{policy}"', family="monospace", fontsize=11)
    panel.axis("off")
plt.show()
