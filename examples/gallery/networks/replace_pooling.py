"""
Replace the pooling layers of a PyTorch network
===============================================

Swap the pooling layers of a model for Oriel's and compare outputs and gradients. For
people who run or train networks in PyTorch on CPUs.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from skimage import data

import oriel.torch

# %%
# A small network with fixed filters for edges of four directions.

angles = np.deg2rad([0, 45, 90, 135])
y, x = np.mgrid[-3:4, -3:4]
waves = [np.sin(x * np.cos(a) + y * np.sin(a)) for a in angles]
filters = torch.tensor(np.exp(-(x**2 + y**2) / 6) * waves, dtype=torch.float32)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 7, bias=False),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(3, stride=2, padding=1),
    torch.nn.AvgPool2d(3, stride=1),
)
model[0].weight.data = filters[:, None]


def run(image):
    """The features of an image, and the gradient of their sum of squares."""
    features = model(image.requires_grad_())
    return features.detach(), torch.autograd.grad(features.square().sum(), image)[0]


# %%
# `replace_pooling` changes the model and reports what it swapped. Maxima are equal to
# the last bit, averages up to the rounding of their sums.

photo = torch.tensor(data.camera()[10:370] / 255, dtype=torch.float32)[None, None]
before, gradient_before = run(photo)
print(oriel.torch.replace_pooling(model))
after, gradient_after = run(photo)
assert isinstance(model[2], oriel.torch.MaxPool2d)
assert torch.allclose(before, after, atol=1e-5)
assert torch.allclose(gradient_before, gradient_after, atol=1e-3)

# %%
# The features as one picture: the colour of the strongest direction.

colours = np.array([[1, 0.25, 0.2], [1, 0.85, 0.1], [0.2, 0.6, 1], [0.3, 1, 0.4]])
strength, direction = (part.numpy() for part in after[0].max(dim=0))
picture = colours[direction] * np.sqrt(strength / strength.max())[..., None]
plt.subplots(figsize=(7.2, 5.04), layout="constrained")
plt.imshow(picture)
plt.axis("off")
plt.show()
