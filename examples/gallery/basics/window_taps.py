"""
What a window reads
===================

Draw which inputs each output reads, for a kernel, a stride, padding and a
dilation. For everyone who chooses or checks the arguments of a pool.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# Sums over the rows of an identity matrix show the window: row `o` of the result
# has a one for each input that output `o` reads.

INPUTS = 8
windows = {
    "kernel 3": dict(kernel_size=3, stride=1),
    "kernel 3, stride 2": dict(kernel_size=3, stride=2),
    "kernel 3, padding 1": dict(kernel_size=3, stride=1, padding=1),
    "kernel 3, dilation 2": dict(kernel_size=3, stride=1, dilation=2),
}
reads = {
    name: oriel.sum_pool(np.eye(INPUTS), axes=0, **window)
    for name, window in windows.items()
}

# %%
# Tap `t` of output `o` is at place `o * stride - padding + t * dilation`. It is read
# if it is an input; places in the padding hold no value.

figure, panels = plt.subplots(2, 2, figsize=(7.2, 5.0), layout="constrained")
for (name, window), panel in zip(windows.items(), panels.flat):
    step, pad = window["stride"], window.get("padding", 0)
    distance = window.get("dilation", 1)
    for output, row in enumerate(reads[name]):
        places = output * step - pad + distance * np.arange(window["kernel_size"])
        inside = places[(places >= 0) & (places < INPUTS)]
        assert np.array_equal(np.flatnonzero(row), inside)
        panel.scatter(
            places, np.full(3, output), 130, "white", marker="s", ec="#8c959f"
        )
        panel.scatter(inside, np.full(len(inside), output), 130, "#0969da", marker="s")
    panel.set(title=name, xlim=(-1.7, INPUTS + 0.7), ylim=(INPUTS - 0.3, -0.7))
    panel.set(xticks=range(INPUTS), yticks=range(len(reads[name])))
    panel.axvspan(-0.5, INPUTS - 0.5, color="#e9f4ff", zorder=0)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)
figure.supxlabel("input")
figure.supylabel("output")
plt.show()
