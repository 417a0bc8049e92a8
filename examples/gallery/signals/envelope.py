"""
The envelope of a sound
=======================

Draw a waveform as audio editors do: the largest and the smallest sample of each
block. For players, editors and quick looks at long recordings.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# Three seconds of a melody at 48,000 samples per second.

RATE, BLOCK = 48000, 240
note = np.arange(RATE // 2) / RATE
fade = np.exp(-5 * note) * np.minimum(1, 60 * note)
sound = np.concatenate(
    [fade * np.sin(2 * np.pi * tone * note) for tone in (262, 330, 392, 523, 392, 262)]
).astype(np.float32)

# %%
# A block of 240 samples is 5 ms. The root of the mean square is the L2 norm divided by
# the root of the block's size: the loudness.

high = oriel.max_pool(sound, BLOCK)
low = oriel.min_pool(sound, BLOCK)
loudness = oriel.lp_pool(sound, 2, BLOCK) / np.sqrt(BLOCK)

blocks = sound.reshape(-1, BLOCK)
assert np.array_equal(high, blocks.max(axis=1))
assert np.array_equal(low, blocks.min(axis=1))
assert np.allclose(loudness, np.sqrt(np.square(blocks, dtype=float).mean(axis=1)))
assert (np.abs(sound) <= np.repeat(np.maximum(high, -low), BLOCK)).all()

time = np.arange(len(high)) * BLOCK / RATE
figure, panel = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
panel.fill_between(time, low, high, color="#54aeff", label="smallest to largest sample")
panel.fill_between(time, -loudness, loudness, color="#0969da", label="root mean square")
panel.set(xlabel="seconds", xlim=(0, time[-1]), yticks=[-1, 0, 1], ylim=(-1.05, 1.4))
panel.legend(frameon=False, ncols=2, loc="upper center")
panel.spines[["top", "right"]].set_visible(False)
plt.show()
