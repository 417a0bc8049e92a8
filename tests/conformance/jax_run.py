"""JAX's lists of reduce_window, run with Oriel's functions: values, vmap, shapes, failures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# The mesh of pjit_test.py has eight devices. Hundreds of small programs are compiled and run once: not worth optimising.
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    " --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import oriel
import oriel.jax
import window_oracle
from jax_lists import IDENTITIES, SHAPES, WINDOWS, Window, mapped_axes
from tally import Tallies, Tally

PART = "JAX: reduce_window"
COMPUTATIONS = {"add": lax.add, "max": lax.max, "min": lax.min}
# How far a sum may be from another order of additions, relative to the sum of absolute values (S8).
TOLERANCE = {"float64": 2.0**-48, "float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7}

ReduceWindow = Callable[..., Any]


def operand(window: Window, dtype: Any = np.float32, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, window.shape).astype(dtype)
    return rng.standard_normal(window.shape).astype(dtype)


def arguments(window: Window) -> tuple[Any, ...]:
    """What follows the computation."""
    return window[1:]


def unlike(op: str, x: np.ndarray, window: Window, expected: Any, ours: Any) -> str:
    """In what Oriel's result differs from the expected one; nothing if it does not."""
    expected, ours = np.asarray(expected), np.asarray(ours)
    if expected.dtype != ours.dtype or expected.shape != ours.shape:
        return f"{expected.dtype}{expected.shape} there, {ours.dtype}{ours.shape} here"
    if op != "add" or expected.dtype.kind in "iub":
        return "" if np.array_equal(expected, ours) else f"{expected.ravel()[:8]} there, {ours.ravel()[:8]} here"
    size = window_oracle.reduce_window(np.abs(x).astype(np.float64), 0.0, "add", *arguments(window))
    limit = TOLERANCE[expected.dtype.name] * size + 1e-37
    far = np.abs(expected.astype(np.float64) - ours.astype(np.float64))
    return "" if (far <= limit).all() else f"further than the bound by {float((far / limit).max())}"


def run_values(
    ours: ReduceWindow = oriel.jax.reduce_window,
    arrays: ReduceWindow = oriel.reduce_window,
    ops: tuple[str, ...] = ("add", "max", "min"),
    windows: list[Window] = WINDOWS,
) -> list[Tally]:
    """testReduceWindow: called at once and compiled, with init_value traced and not, beside jax.lax and NumPy."""
    tallies = Tallies(PART)
    for op in ops:
        init = np.asarray(IDENTITIES[op], np.float32)
        for window in windows:
            x, rest = operand(window), arguments(window)
            judge = window_oracle.reduce_window(x, init, op, *rest)
            with_init = jax.jit(lambda f, x, init: f(x, init, COMPUTATIONS[op], *rest), static_argnums=0)
            theirs = with_init(lax.reduce_window, x, init)
            results = {
                "values, compiled": lambda: with_init(ours, x, init),
                "values, compiled, init_value constant": lambda: jax.jit(
                    lambda x: ours(x, init, COMPUTATIONS[op], *rest)
                )(x),
                "values, called at once": lambda: ours(x, init, COMPUTATIONS[op], *rest),
                "values, oriel.reduce_window": lambda: arrays(x, init, op, *rest),
            }
            for group, run in results.items():
                _count(
                    tallies.of(f"testReduceWindow ({op})", group),
                    window,
                    run,
                    {"jax.lax": theirs, "NumPy": judge},
                    partial(unlike, op, x, window),
                )
            tally = tallies.of(f"testReduceWindow ({op})", "computed by Oriel, not handed to jax.lax")
            tally.add(
                str(window),
                set(),
                ["handed to jax.lax"] if is_handed_on(lambda x: ours(x, init, COMPUTATIONS[op], *rest), x) else [],
            )
    return tallies.all()


def is_handed_on(function: Callable[[Any], Any], x: Any) -> bool:
    """Whether XLA's own windows are in what the function computes: then nothing would be said about Oriel."""
    return "reduce_window" in str(jax.make_jaxpr(function)(x))


def run_dtypes(arrays: ReduceWindow = oriel.reduce_window, windows: list[Window] = WINDOWS) -> list[Tally]:
    """The same lists for other dtypes, on NumPy arrays beside NumPy; sums of integers wrap, as in JAX."""
    tallies = Tallies(PART)
    for dtype in ("float64", "float16", "int8", "uint8", "int16", "int32", "int64"):
        for op in ("add", "max", "min"):
            limits = np.iinfo(dtype) if "int" in dtype else None
            init = {"add": 0, "max": limits.min, "min": limits.max}[op] if limits else IDENTITIES[op]
            for window in windows:
                x = operand(window, dtype)
                with np.errstate(over="ignore"):
                    judge = window_oracle.reduce_window(x, init, op, *arguments(window))
                _count(
                    tallies.of(f"testReduceWindow ({op})", "other dtypes, oriel.reduce_window"),
                    window,
                    lambda: arrays(x, np.asarray(init, dtype)[()], op, *arguments(window)),
                    {"NumPy": judge},
                    partial(unlike, op, x, window),
                )
    return tallies.all()


def _count(
    tally: Tally, case: Any, run: Callable[[], Any], expected: dict[str, Any], unlike: Callable[[Any, Any], str]
) -> None:
    try:
        result = run()
        failures = [f"{name}: {text}" for name, value in expected.items() if (text := unlike(value, result))]
    except Exception as error:  # a case that raises has failed, whatever it raises
        failures = [f"raises {type(error).__name__}: {str(error)[:200]}"]
    tally.add(str(case), set(), failures)


def run_vmap(
    ours: ReduceWindow = oriel.jax.reduce_window,
    ops: tuple[str, ...] = ("add", "max", "min"),
    windows: list[Window] = WINDOWS,
) -> list[Tally]:
    """testReduceWindow of lax_vmap_test.py: three operands along each possible axis, beside NumPy on each."""
    tallies = Tallies(PART)
    for op in ops:
        init = np.asarray(IDENTITIES[op], np.float32)
        for window in windows:
            operands = [operand(window, seed=seed) for seed in range(3)]
            judges = [window_oracle.reduce_window(x, init, op, *arguments(window)) for x in operands]
            for axis in mapped_axes(window):
                mapped = jax.vmap(lambda x: ours(x, init, COMPUTATIONS[op], *arguments(window)), in_axes=axis)

                def differing(
                    judges: list[np.ndarray],
                    results: Any,
                    op: str = op,
                    window: Window = window,
                    operands: Any = operands,
                ) -> str:
                    texts = [
                        unlike(op, x, window, judge, result)
                        for x, judge, result in zip(operands, judges, results, strict=True)
                    ]
                    return "; ".join(filter(None, texts))

                _count(
                    tallies.of(f"testReduceWindow ({op})", "vmap"),
                    f"axis {axis} of {window}",
                    lambda: mapped(np.stack(operands, axis)),
                    {"NumPy": judges},
                    differing,
                )
    return tallies.all()


def run_shapes(ours: ReduceWindow = oriel.jax.reduce_window, arrays: ReduceWindow = oriel.reduce_window) -> list[Tally]:
    """testReduceWindowShapeDilation, with the dilations that its list has, and testReduceWindowWithEmptyOutput."""
    tallies = Tallies(PART)
    for window in SHAPES:
        x = jnp.ones(window.shape)
        expected = jax.eval_shape(lambda x: lax.reduce_window(x, 0.0, lax.add, *arguments(window)), x).shape
        for group, run in {
            "shapes": lambda: jax.eval_shape(lambda x: ours(x, 0.0, lax.add, *arguments(window)), x),
            "shapes, oriel.reduce_window": lambda: arrays(
                np.ones(window.shape, np.float32), 0.0, "add", *arguments(window)
            ),
        }.items():
            _count(
                tallies.of("testReduceWindowShapeDilation", group),
                window,
                run,
                {"jax.lax": expected},
                lambda shape, y: "" if shape == tuple(y.shape) else f"{shape} there, {tuple(y.shape)} here",
            )
    window = Window((5, 3, 2), (3, 1, 1), (1, 1, 1), "VALID", (1, 1, 1), (3, 1, 1))
    for group, run in {
        "shapes": lambda: jax.eval_shape(lambda x: ours(x, 0.0, lax.add, *arguments(window)), jnp.ones(window.shape)),
        "shapes, oriel.reduce_window": lambda: arrays(np.ones(window.shape), 0.0, "add", *arguments(window)),
    }.items():
        _count(
            tallies.of("testReduceWindowWithEmptyOutput", group),
            window,
            run,
            {"its expectation": (0, 3, 2)},
            lambda shape, y: "" if shape == tuple(y.shape) else f"{shape} there, {tuple(y.shape)} here",
        )
    return tallies.all()


def failing_calls() -> Iterator[tuple[str, Callable[[ReduceWindow], Any], type[Exception], str]]:
    """testReduceWindowFailures, test_reduce_window_scalar_init_value_shape_rule: the call, the error and its words."""
    ones = np.ones((1,), np.float32)
    yield "empty window", lambda f: f(ones, 0.0, lax.add, (0,), (1,), "VALID"), TypeError, "must have every element be"
    yield "stride 0", lambda f: f(ones, 0.0, lax.add, (1,), (0,), "VALID"), TypeError, "must have every element be"
    yield (
        "a computation that returns a list",
        lambda f: f(ones, 0.0, lambda x, y: [x + y], (1,), (1,), "VALID"),
        ValueError,
        "must have the same tree structure as the operands",
    )
    yield (
        "init_value of shape (1,)",
        lambda f: f(
            np.ones((4, 4), np.int32), np.zeros((1,), np.int32), lax.max, (2, 2), (2, 2), "VALID", (1, 1), (1, 1)
        ),
        TypeError,
        "expected init_values to be scalars but init_values have shapes",
    )


def run_failures(
    ours: ReduceWindow = oriel.jax.reduce_window, arrays: ReduceWindow = oriel.reduce_window
) -> list[Tally]:
    """oriel.jax must raise what JAX's tests expect, in their words; for arrays any TypeError or ValueError does."""
    tallies = Tallies("JAX: calls that must fail")
    for case, call, kind, words in failing_calls():
        for group, function, expected in (
            ("oriel.jax", ours, kind),
            ("oriel.reduce_window", arrays, (TypeError, ValueError)),
        ):
            failures = ["accepted"]
            try:
                call(function)
            except expected as error:
                failures = [] if group == "oriel.reduce_window" or words in str(error) else [f"says {error}"]
            except Exception as error:
                failures = [f"raises {type(error).__name__}: {error}"]
            tallies.of("reduce_window", group).add(case, set(), failures)
    return tallies.all()
