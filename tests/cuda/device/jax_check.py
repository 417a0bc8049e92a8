"""The handlers that XLA calls, as JAX calls them, compared with JAX's own functions. Needs no package but JAX.

Usage: jax_check.py LIBRARY PLATFORM; PLATFORM is cuda (liboriel_xla_cuda.so) or cpu (oriel_xla.so).
"""

import ctypes
import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np

FORMAT, OPS = 1, ("max", "min", "avg", "sum", "lp")


def words(op, kernel, stride, padding):
    """A pool of the last two axes as python/src/pool_words.h writes it."""
    norm = struct.unpack("<q", struct.pack("<d", 2.0))[0]
    lists = [kernel, stride, padding, padding, (1, 1), (), (-2, -1)]
    return np.array([FORMAT, OPS.index(op), 0, 0, 0, 1, 0, 0, norm, *(v for one in lists for v in (len(one), *one))],
                    np.int64)


def reduce_window(op, x, kernel, stride, padding):
    full = [(1, 1, *values) for values in (kernel, stride)]
    pads = ((0, 0), (0, 0), *((p, p) for p in padding))
    if op == "max":
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, *full, pads)
    total = jax.lax.reduce_window(x, np.zeros((), x.dtype)[()], jax.lax.add, *full, pads)
    return total / np.prod(kernel) if op == "avg" else total


def main():
    library, platform = ctypes.CDLL(sys.argv[1]), sys.argv[2]
    suffix = {"cpu": "", "cuda": "_cuda"}[platform]
    for name in ("oriel_pool", "oriel_pool_wrapped", "oriel_pool_indices", "oriel_pool_pick",
                 "oriel_pool_backward_linear", "oriel_pool_backward"):  # fmt: skip
        target = platform if platform == "cpu" else platform.upper()
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name + suffix)), platform=target)
    device = jax.devices(platform)[0]
    random, wrong, done = np.random.default_rng(1), [], 0

    def check(what, got, expected, limit):
        nonlocal done
        done += 1
        worst = np.max(np.abs(np.asarray(got, np.float64) - np.asarray(expected, np.float64)), initial=0)
        if not worst <= limit:
            wrong.append(f"{what}: differs by {worst}")

    for kernel, stride, padding in (((2, 2), (2, 2), (0, 0)), ((3, 3), (2, 2), (1, 1)), ((3, 3), (1, 1), (1, 1))):
        x = jax.device_put(random.permutation(2 * 3 * 16 * 32).reshape(2, 3, 16, 32).astype(np.float32), device)
        for op in ("max", "avg"):
            said = words(op, kernel, stride, padding)
            what = f"{op} {kernel} {stride} {padding}"
            reference = lambda x, op=op: reduce_window(op, x, kernel, stride, padding)  # noqa: E731
            expected, pull = jax.vjp(reference, x)
            y_type = jax.ShapeDtypeStruct(expected.shape, x.dtype)
            forward = jax.jit(lambda x, y=y_type, w=said: jax.ffi.ffi_call("oriel_pool", y)(x, words=w) + 0)
            check(what, forward(x), expected, 0 if op == "max" else 1e-3)
            dy = jax.device_put(random.integers(0, 9, expected.shape).astype(np.float32), device)
            names = {"max": ("oriel_pool_backward", (x, dy)), "avg": ("oriel_pool_backward_linear", (dy,))}
            target, arguments = names[op]
            backward = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(x.shape, x.dtype))
            check(f"{what}, gradient", jax.jit(lambda *a, f=backward, w=said: f(*a, words=w))(*arguments), pull(dy)[0], 1e-4)
        said = words("max", kernel, stride, padding)
        y_type = jax.ShapeDtypeStruct(expected.shape, x.dtype)
        places_type = jax.ShapeDtypeStruct(expected.shape, jnp.int32)
        call = jax.ffi.ffi_call("oriel_pool_indices", (y_type, places_type))
        y, places = jax.jit(lambda x, w=said: call(x, words=w, space=np.int32(0)))(x)
        planes, at = np.asarray(x).reshape(6, -1), np.asarray(places).reshape(6, -1)
        check("indices", np.take_along_axis(planes, at, 1).reshape(y.shape), y, 0)
        t = jax.device_put(random.standard_normal(x.shape).astype(np.float32), device)
        picked = jax.jit(lambda x, t, w=said: jax.ffi.ffi_call("oriel_pool_pick", y_type)(x, t, words=w))(x, t)
        check("pick", picked, np.take_along_axis(np.asarray(t).reshape(6, -1), at, 1).reshape(y.shape), 0)
        integers = jax.device_put(random.integers(-128, 128, x.shape).astype(np.int8), device)
        sums = jax.ffi.ffi_call("oriel_pool_wrapped", jax.ShapeDtypeStruct(expected.shape, jnp.int8))
        total = jax.jit(lambda x, w=words("sum", kernel, stride, padding): sums(x, words=w))(integers)
        check("wrapped sums", total, reduce_window("sum", integers, kernel, stride, padding), 0)
    print(f"jax on {device}: {done} cases, {len(wrong)} wrong", *wrong, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
