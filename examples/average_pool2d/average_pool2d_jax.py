"""NKI's AveragePool2D tutorial in JAX: its kernel, written in C++, on JAX's own arrays.

    python examples/average_pool2d/average_pool2d_jax.py

The tutorial's program runs float32 on an accelerator; this one runs float16, bfloat16 and float32 on the CPU. The
kernel is in baremetal.cc beside this file, to be read line by line.
"""

import jax
import jax.numpy as jnp

from oriel.tile import tensor_avgpool as tensor_avgpool_kernel

POOL_SIZE = 2
C, HIN, WIN = 2, 6, 6


def jax_average_pool_2d(in_tensor: jax.Array, pool_size: int) -> jax.Array:
    """The reference: each axis is split into windows and places in a window, and the mean is taken over the places."""
    c, h_in, w_in = in_tensor.shape
    windows = in_tensor.reshape(c, h_in // pool_size, pool_size, w_in // pool_size, pool_size)
    return jnp.nanmean(windows, axis=(2, 4))


def matches(dtype: jnp.dtype) -> bool:
    in_array = jnp.arange(C * HIN * WIN, dtype=dtype).reshape(C, HIN, WIN)

    out_tile = tensor_avgpool_kernel(in_array, pool_size=POOL_SIZE)
    out_jax = jax_average_pool_2d(in_array, pool_size=POOL_SIZE)

    print(in_array, out_tile, out_jax, sep="\n")
    match = out_tile.dtype == in_array.dtype and bool(jnp.allclose(out_tile, out_jax))
    print("the tile kernel and JAX match" if match else "the tile kernel and JAX differ")
    return match


if __name__ == "__main__":
    raise SystemExit(0 if all([matches(dtype) for dtype in (jnp.float16, jnp.bfloat16, jnp.float32)]) else 1)
