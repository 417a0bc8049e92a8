"""
Voxels that are not cubes
=========================

Downsample a volume with thick slices to voxels that are cubes. For CT, MRI and
light-sheet microscopy.
"""

import matplotlib.pyplot as plt
import numpy as np

import oriel

# %%
# A synthetic scan of nested ellipsoids: 40 slices of 2 mm, pixels of 0.5 mm.

SPACING = np.array([2.0, 0.5, 0.5])
z, y, x = ((np.arange(n) + 0.5) / n * 2 - 1 for n in (40, 160, 160))
z, y, x = np.meshgrid(z, y, x, indexing="ij", sparse=True)
scan = np.zeros((40, 160, 160), np.float32)
for centre, radii, value in (
    ((0, 0, 0), (0.9, 0.9, 0.75), 600),
    ((0, 0, 0), (0.8, 0.8, 0.65), -350),
    ((0.1, -0.1, 0.25), (0.4, 0.45, 0.2), 300),
    ((-0.2, 0.1, -0.3), (0.5, 0.3, 0.18), 500),
):
    places = zip((z, y, x), centre, radii)
    scan[sum(((a - c) / r) ** 2 for a, c, r in places) < 1] += value
scan += np.random.default_rng(0).normal(0, 120, scan.shape).astype(np.float32)

# %%
# Windows of 1×4×4 voxels make cubes of 2 mm. One number would pool all axes alike.

cubes = oriel.avg_pool(scan, (1, 4, 4))
spacing = SPACING * (1, 4, 4)
assert cubes.shape == (40, 40, 40) and (spacing == 2).all()
assert np.allclose(cubes, scan.reshape(40, 40, 4, 40, 4).mean(axis=(2, 4)), atol=1e-2)
noise = [values[1, : len(values[1]) // 8].std() for values in (scan, cubes)]
assert 3 < noise[0] / noise[1] < 5  # the mean of 16 voxels has a quarter of the noise

# %%
# The same slices of both, across and along the stack, in millimetres.

figure, panels = plt.subplots(2, 2, figsize=(6.4, 6.8), layout="constrained")
for row, values, step in zip(panels, (scan, cubes), (SPACING, spacing)):
    across, along = values[22], values[:, values.shape[1] // 2]
    depth, height, width = np.array(values.shape) * step
    row[0].imshow(
        across, cmap="bone", extent=(0, width, height, 0), vmin=-200, vmax=900
    )
    row[1].imshow(along, cmap="bone", extent=(0, width, depth, 0), vmin=-200, vmax=900)
    row[0].set_title("{} × {} × {} voxels".format(*values.shape))
    row[1].set_title("of {:g} × {:g} × {:g} mm".format(*step))
for panel in panels.flat:
    panel.axis("off")
plt.show()
