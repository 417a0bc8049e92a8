"""Derivatives: testReduceWindowGrad of lax_autodiff_test.py, testReduceWindowCustomSameAsMonoid of lax_test.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax_run  # before jax: it chooses the platform
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.test_util import check_grads

import oriel.jax
from jax_lists import IDENTITIES, WINDOWS, Window, differentiated
from jax_run import COMPUTATIONS, ReduceWindow, arguments
from tally import Tallies, Tally

# Relative to the largest element of the same derivative: a gradient adds as many terms as windows overlap.
TOLERANCE = {"float64": 2.0**-46, "float32": 2.0**-18}


def operand(op: str, window: Window, dtype: Any, seed: int = 1) -> np.ndarray:
    """Normally distributed numbers for sums; for maxima and minima integers that differ, as JAX's test has."""
    rng = np.random.default_rng(seed)
    if op == "add":
        return rng.standard_normal(window.shape).astype(dtype)
    return rng.permutation(np.arange(np.prod(window.shape))).reshape(window.shape).astype(dtype)


def derivatives(f: Callable[[Any], Any], x: Any, tangent: Any, cotangent: Any) -> dict[str, Any]:
    """All first derivatives and, of the sum of squares, the second one both ways round."""
    y, along = jax.jvp(f, (x,), (tangent,))
    (back,) = jax.vjp(f, x)[1](cotangent)

    def squares(x: Any) -> Any:
        y = f(x)
        return (jnp.where(jnp.isfinite(y), y, 0) ** 2).sum()

    return {
        "values": y,
        "jvp": along,
        "vjp": back,
        "grad": jax.grad(squares)(x),
        "forward over reverse": jax.jvp(jax.grad(squares), (x,), (tangent,))[1],
        "reverse over reverse": jax.grad(lambda x: (jax.grad(squares)(x) * tangent).sum())(x),
    }


def run_gradients(
    op: str,
    ours: ReduceWindow = oriel.jax.reduce_window,
    dtypes: tuple[str, ...] = ("float32",),
    windows: list[Window] | None = None,
) -> list[Tally]:
    """Derivatives of orders 1 and 2 beside those of jax.lax."""
    tallies = Tallies(jax_run.PART)
    for dtype in dtypes:
        with jax.enable_x64(dtype == "float64"):
            init = np.asarray(IDENTITIES[op], dtype)
            for window in differentiated(op) if windows is None else windows:

                def of(reduce_window: ReduceWindow, window: Window = window, init: Any = init) -> Callable[[Any], Any]:
                    return lambda x: reduce_window(x, init, COMPUTATIONS[op], *arguments(window))

                x, tangent = operand(op, window, dtype), operand("add", window, dtype, 2)
                cotangent = (
                    np.random.default_rng(3)
                    .standard_normal(jax.eval_shape(of(lax.reduce_window), x).shape)
                    .astype(dtype)
                )
                theirs = jax.jit(lambda *a: derivatives(of(lax.reduce_window), *a))(x, tangent, cotangent)
                failures = []
                try:
                    results = jax.jit(lambda *a: derivatives(of(ours), *a))(x, tangent, cotangent)
                    failures = [f"{name}: {text}" for name in theirs if (text := _unlike(theirs[name], results[name]))]
                except Exception as error:
                    failures = [f"raises {type(error).__name__}: {str(error)[:200]}"]
                tallies.of(
                    f"testReduceWindowGrad ({op})", f"jvp, vjp, second derivatives, {len(window.shape)} axes"
                ).add(f"{dtype} {window}", set(), failures)
    return tallies.all()


def _unlike(theirs: Any, ours: Any) -> str:
    theirs, ours = np.asarray(theirs), np.asarray(ours)
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return f"{theirs.dtype}{theirs.shape} there, {ours.dtype}{ours.shape} here"
    finite = np.isfinite(theirs)
    if not np.array_equal(theirs[~finite], ours[~finite]):
        return "other infinities"
    far = np.abs(theirs[finite] - ours[finite]).max(initial=0.0)
    size = np.abs(theirs[finite]).max(initial=0.0)
    return "" if far <= TOLERANCE[theirs.dtype.name] * size else f"{far} apart where the largest element is {size}"


def run_differences(
    op: str, ours: ReduceWindow = oriel.jax.reduce_window, windows: list[Window] | None = None
) -> list[Tally]:
    """JAX's check_grads, order 2, forward and reverse, in float64, with the test's own steps and tolerances."""
    tallies = Tallies(jax_run.PART)
    step, tolerance = (1.0, None) if op == "add" else (1e-2, 6e-2)
    with jax.enable_x64(True):
        init = np.asarray(IDENTITIES[op], "float64")
        for window in differentiated(op) if windows is None else windows:
            x = operand(op, window, "float64")

            def finite(x: Any, window: Window = window, init: Any = init) -> Any:
                # A window without a tap gives an infinity, of which finite differences are NaN.
                y = ours(x, init, COMPUTATIONS[op], *arguments(window))
                return jnp.where(jnp.isfinite(y), y, 0)

            failures = []
            try:
                check_grads(jax.jit(finite), (x,), 2, ["fwd", "rev"], tolerance, tolerance, step)
            except Exception as error:
                failures = [f"{type(error).__name__}: {str(error)[:200]}"]
            tallies.of(f"testReduceWindowGrad ({op})", "check_grads, order 2").add(str(window), set(), failures)
    return tallies.all()


def run_custom(op: str, ours: ReduceWindow = oriel.jax.reduce_window, windows: list[Window] = WINDOWS) -> list[Tally]:
    """Oriel's values and jvp beside those of jax.lax for the same computation as a plain function."""
    plain = {
        "add": lambda a, b: a + b,
        "max": lambda a, b: jnp.where(a >= b, a, b),
        "min": lambda a, b: jnp.where(a <= b, a, b),
    }[op]
    tallies = Tallies(jax_run.PART)
    init = np.asarray(IDENTITIES[op], np.float32)
    for window in windows:
        x, tangent = operand("add", window, np.float32), operand("add", window, np.float32, 2)

        def along(reduce_window: ReduceWindow, computation: Any, window: Window = window) -> Callable[..., Any]:
            return jax.jit(
                lambda x, t: jax.jvp(lambda x: reduce_window(x, init, computation, *arguments(window)), (x,), (t,))
            )

        theirs = along(lax.reduce_window, plain)(x, tangent)
        failures = []
        try:
            results = along(ours, COMPUTATIONS[op])(x, tangent)
            failures = [
                f"{name}: {text}" for name, a, b in zip(("values", "jvp"), theirs, results) if (text := _unlike(a, b))
            ]
        except Exception as error:
            failures = [f"raises {type(error).__name__}: {str(error)[:200]}"]
        tallies.of("testReduceWindowCustomSameAsMonoid", f"values and jvp ({op})").add(str(window), set(), failures)
    return tallies.all()
