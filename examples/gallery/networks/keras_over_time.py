"""
Max pooling over time, in Keras
===============================

Find out which patterns a text contains, wherever they are. For people who classify
text or audio of any length with convolutions and a maximum over time.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import matplotlib.pyplot as plt
import numpy as np

import oriel.keras

# %%
# Letters become one-hot vectors. The filters of the convolution are patterns of three
# letters: a filter's score is the number of letters that agree.

LETTERS = " abcdefghijklmnopqrstuvwxyz"
text = "an oriel is a window that projects from a wall"
patterns = ["ori", "win", "map", "jec"]


def one_hot(letters):
    return np.eye(len(LETTERS), dtype=np.float32)[[LETTERS.index(c) for c in letters]]


convolution = keras.layers.Conv1D(len(patterns), 3, use_bias=False)
model = keras.Sequential(
    [keras.Input((None, len(LETTERS))), convolution, oriel.keras.GlobalMaxPooling1D()]
)
convolution.set_weights([np.stack([one_hot(p) for p in patterns], axis=-1)])

# %%
# The maximum over time has one number for each pattern, however long the text is.

batch = one_hot(text)[None]
scores = keras.ops.convert_to_numpy(convolution(batch))[0]
found = keras.ops.convert_to_numpy(model(batch))[0]
assert [score == 3 for score in found] == [pattern in text for pattern in patterns]
assert np.array_equal(found, scores.max(axis=0))

figure, panel = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
panel.imshow(scores.T, cmap="YlGnBu", aspect="auto", vmin=0, vmax=3)
for row, pattern in enumerate(patterns):
    place = scores[:, row].argmax()
    panel.plot(
        place, row, "o", color="#cf222e", markersize=13, fillstyle="none", mew=2.5
    )
    panel.text(len(text), row, f"{found[row]:.0f} of 3", va="center", fontsize=12)
panel.set(xlim=(-0.5, len(text) - 0.5), facecolor="#ffffd9")
panel.set_xticks(range(len(text)), text, family="monospace")
panel.set_yticks(range(len(patterns)), patterns, family="monospace", fontsize=13)
panel.set_title("letters that agree; circles: the maximum over time")
panel.spines[:].set_visible(False)
plt.show()
