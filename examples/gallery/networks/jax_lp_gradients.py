"""
Between average and maximum, in JAX
===================================

Differentiate Lp norms of a signal with `jax.grad`. For people who look for a pooling
layer between the average, which uses all inputs, and the maximum, which uses one.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import oriel.jax

# %%
# Arrays have a batch, a length and channels, as in flax. `jax.jit` and
# `jax.grad` work as for any function of JAX.

place = jnp.linspace(0, 1, 80)
bumps = ((0.15, 0.05, 0.5), (0.42, 0.07, 1.0), (0.66, 0.05, 0.85), (0.88, 0.04, 0.6))
signal = sum(high * jnp.exp(-(((place - at) / wide) ** 2)) for at, wide, high in bumps)


def norm(x, p):
    """The p-norm of a whole signal."""
    return oriel.jax.global_lp_pool(x[None, :, None], p).sum()


powers = (1, 2, 4, 16, np.inf)
gradients = {p: jax.jit(jax.grad(norm), static_argnums=1)(signal, p) for p in powers}

# %%
# The gradient is `(x / y) ** (p - 1)`: with a larger `p`, more of it goes to the highest
# bump; with `p = inf` all of it goes to one sample, as for a maximum.

for p in powers[:-1]:
    expected = (signal / norm(signal, p)) ** (p - 1)
    assert jnp.allclose(gradients[p], expected, rtol=1e-3, atol=1e-6)
assert jnp.count_nonzero(gradients[np.inf]) == 1
assert jnp.argmax(gradients[np.inf]) == jnp.argmax(signal)

figure, (above, below) = plt.subplots(
    2, 1, figsize=(7.2, 5.0), sharex=True, height_ratios=(1, 2), layout="constrained"
)
above.fill_between(place, signal, color="#57606a", alpha=0.35)
above.set(title="signal", yticks=[0, 1], xticks=[])
colours = plt.get_cmap("plasma")(np.linspace(0, 0.85, len(powers)))
for (p, gradient), colour in zip(gradients.items(), colours):
    name = "∞" if p == np.inf else p
    shape = gradient / gradient.max()
    below.plot(place, shape, color=colour, linewidth=2.5, label=f"p = {name}")
below.set(title="gradient of its p-norm, relative to the largest value", yticks=[0, 1])
below.legend(frameon=False, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 0))
for panel in (above, below):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
