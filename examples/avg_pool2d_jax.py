"""Two-dimensional average pooling of (channels, height, width) in JAX, compared with a mean over a reshaped array.

Run it with `python examples/avg_pool2d_jax.py`; it needs JAX and oriel.
"""

import jax
import jax.numpy as jnp

import oriel.jax


def reference(in_tensor: jax.Array, pool_size: int) -> jax.Array:
    """The mean of each block: both axes are split into (blocks, places in the block)."""
    c, h_in, w_in = in_tensor.shape
    blocks = in_tensor.reshape(c, h_in // pool_size, pool_size, w_in // pool_size, pool_size)
    return jnp.nanmean(blocks, axis=(2, 4))


@jax.jit
def average_pool2d(in_tensor: jax.Array) -> jax.Array:
    """The same by Oriel, in one pass over the array where it lies."""
    window = (POOL_SIZE, POOL_SIZE)
    return oriel.jax.avg_pool(in_tensor, window, strides=window, data_format="channels_first")


POOL_SIZE = 2
CHANNELS, HEIGHT, WIDTH = 2, 6, 6

if __name__ == "__main__":
    in_array = jnp.arange(CHANNELS * HEIGHT * WIDTH, dtype=jnp.float32).reshape(CHANNELS, HEIGHT, WIDTH)
    out_oriel = average_pool2d(in_array)
    out_jax = reference(in_array, POOL_SIZE)
    print(in_array, out_oriel, out_jax, sep="\n\n")
    if jnp.array_equal(out_oriel, out_jax):
        print("\nOriel and JAX match")
    else:
        raise SystemExit("\nOriel and JAX differ")
