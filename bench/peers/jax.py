"""JAX: compiled reduce_window, and its gradient."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from timing import Contender

NAME = "JAX"


def load(threads):
    jax.config.update("jax_enable_x64", True)
    if jax.devices()[0].platform != "cpu":
        raise RuntimeError("JAX does not run on the CPU here")
    return jax.__version__


def pooling(problem):
    """The pool as a function of x and of the divisors of its outputs, or None."""
    uniform = problem.uniform()
    if uniform.kind != "uniform" or problem.op == "lp" or problem.op == "avg" and not problem.floating:
        return None
    rank = len(problem.shape)
    window, steps, apart, pads = [1] * rank, [1] * rank, [1] * rank, [(0, 0)] * rank
    for a, axis in enumerate(uniform.axes):
        window[axis], steps[axis], apart[axis], pads[axis] = (
            uniform.kernel[a],
            uniform.stride[a],
            uniform.dilation[a],
            uniform.padding[a],
        )
    words = dict(window_dilation=apart)
    if problem.op in ("max", "min"):
        lax_op = jax.lax.max if problem.op == "max" else jax.lax.min
        kind = jnp.dtype(problem_dtype(problem))
        ends = (-jnp.inf, jnp.inf) if problem.floating else (jnp.iinfo(kind).min, jnp.iinfo(kind).max)
        nothing = np.asarray(ends[problem.op == "min"], kind)
        return lambda x, divisors: jax.lax.reduce_window(x, nothing, lax_op, window, steps, pads, **words)
    zero = np.zeros((), problem_dtype(problem))
    add = lambda x: jax.lax.reduce_window(x, zero, jax.lax.add, window, steps, pads, **words)  # noqa: E731
    if problem.op == "sum":
        return lambda x, divisors: add(x)
    return lambda x, divisors: add(x) / divisors


def problem_dtype(problem):
    from problems import DTYPES

    return DTYPES[problem.dtype]


def divisors_of(problem):
    """What averages divide by: one number, or an array that broadcasts where padding does not count."""
    uniform = problem.uniform()
    if problem.divisor:
        return np.asarray(problem.divisor, problem_dtype(problem))
    if problem.include_pad or not any(hi or lo for lo, hi in uniform.padding):
        return np.asarray(math.prod(uniform.kernel), problem_dtype(problem))
    counts = np.ones([1] * len(problem.shape))
    for a, axis in enumerate(uniform.axes):
        n, k, s, d, lo = (
            problem.shape[axis],
            uniform.kernel[a],
            uniform.stride[a],
            uniform.dilation[a],
            uniform.padding[a][0],
        )
        along = [sum(0 <= o * s - lo + t * d < n for t in range(k)) for o in range(problem.output_shape[axis])]
        shape = [1] * len(problem.shape)
        shape[axis] = len(along)
        counts = counts * np.reshape(along, shape)
    return counts.astype(problem_dtype(problem))


def contenders(problem, x, dy):
    if problem.places or problem.ceil or problem.omit or problem.same or problem.order or problem.cropped:
        return []
    pool = pooling(problem)
    if pool is None:
        return []
    on_jax, divisors = jnp.asarray(x), jnp.asarray(divisors_of(problem)) if problem.op == "avg" else None
    if problem.backward:
        compiled = jax.jit(lambda x, divisors, dy: jax.vjp(lambda x: pool(x, divisors), x)[1](dy)[0])
        given = (on_jax, divisors, jnp.asarray(dy))
    else:
        compiled, given = jax.jit(pool), (on_jax, divisors)
    kept = {}

    def run():
        kept["y"] = compiled(*given)
        kept["y"].block_until_ready()

    return [Contender(NAME, run, lambda: np.asarray(kept["y"]))]
