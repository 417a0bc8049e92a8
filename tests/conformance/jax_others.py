"""Other tests of JAX that pool (computations that are handed on, batching, stax, export, sharding), and flax's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax_run  # before jax: it chooses the platform
import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import oriel.jax
from jax_lists import STAX, STAX_SHAPE, WINDOWS
from jax_run import ReduceWindow, arguments, operand
from tally import Tallies, Tally

HANDED_ON = WINDOWS[::7]  # computations that are not Oriel's go to jax.lax as they are


def close(theirs: Any, ours: Any) -> str:
    """In what two trees of arrays differ by more than other orders of float32 sums make."""
    a, b = jax.tree.leaves(theirs), jax.tree.leaves(ours)
    if len(a) != len(b):
        return f"{len(a)} arrays there, {len(b)} here"
    for p, q in zip(map(np.asarray, a), map(np.asarray, b)):
        if p.shape != q.shape or p.dtype != q.dtype:
            return f"{p.dtype}{p.shape} there, {q.dtype}{q.shape} here"
        if not np.allclose(p, q, rtol=1e-5, atol=1e-5):
            return f"{np.abs(p - q).max()} apart"
    return ""


def _count(tally: Tally, case: str, theirs: Callable[[], Any], ours: Callable[[], Any]) -> None:
    expected = theirs()
    try:
        text = close(expected, ours())
    except Exception as error:
        text = f"raises {type(error).__name__}: {str(error)[:200]}"
    tally.add(case, set(), [text] if text else [])


def run_handed_on(ours: ReduceWindow = oriel.jax.reduce_window) -> list[Tally]:
    """testReduceWindowGeneralJVP and testReduceWindowVariadic on every seventh window; testReduceWindowScalar."""
    tallies = Tallies(jax_run.PART)

    def both(sums: Any, maxima: Any) -> Any:
        return sums[0] + maxima[0], lax.max(sums[1], maxima[1])

    for window in HANDED_ON:
        x, t = operand(window), operand(window, seed=2)
        general = lambda f: jax.jvp(lambda x: f(x, np.float32(0), lambda a, b: a * b, *arguments(window)), (x,), (t,))
        variadic = lambda f: f((x, t), (np.float32(0), np.float32(-np.inf)), both, *arguments(window))
        for subject, call in (("testReduceWindowGeneralJVP", general), ("testReduceWindowVariadic", variadic)):
            _count(
                tallies.of(subject, "handed to jax.lax"),
                str(window),
                lambda: call(lax.reduce_window),
                lambda: call(ours),
            )
    for name, call in {
        "at once": lambda f: f(np.float32(3), np.float32(0), lax.add, (), (), (), (), ()),
        "compiled": lambda f: jax.jit(lambda x: f(x, np.float32(0), lax.add, (), (), (), (), ()))(np.float32(3)),
    }.items():
        _count(
            tallies.of("testReduceWindowScalar", "values"), name, lambda: call(lax.reduce_window), lambda: call(ours)
        )
    return tallies.all()


def run_batching(ours: ReduceWindow = oriel.jax.reduce_window) -> list[Tally]:
    """testMinMaxPool and testSumPool of batching_test.py: convolution and pool, per example by vmap and vmap(grad)."""
    tallies = Tallies(jax_run.PART)
    rng = np.random.default_rng(1)
    weights, images = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 3, 1, 5), (10, 5, 5, 1)))
    for subject, op in (("testMinMaxPool", "max"), ("testMinMaxPool", "min"), ("testSumPool", "add")):

        def pooled(f: ReduceWindow, weights: Any, image: Any, op: str = op) -> Any:
            y = lax.conv_general_dilated(
                image[None], weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            return f(y, jax_run.IDENTITIES[op], jax_run.COMPUTATIONS[op], (1, 2, 2, 1), (1, 1, 1, 1), "SAME")

        def loss(f: ReduceWindow, weights: Any, image: Any) -> Any:
            return (pooled(f, weights, image) ** 2).mean()

        one_by_one = lambda g: jnp.stack([g(lax.reduce_window, weights, image) for image in images])
        mapped = lambda g: jax.vmap(lambda image: g(ours, weights, image))(images)
        for case, g in (("vmap", pooled), ("vmap(grad)", jax.grad(loss, argnums=1))):
            _count(tallies.of(subject, "vmap, vmap(grad)"), f"{op} {case}", lambda: one_by_one(g), lambda: mapped(g))
    return tallies.all()


def run_stax(ours: ReduceWindow = oriel.jax.reduce_window) -> list[Tally]:
    """testPoolingShape of stax_test.py, with values: pools over the axes H and W, wherever they are."""
    tallies = Tallies(jax_run.PART)
    x = np.random.default_rng(1).standard_normal(STAX_SHAPE).astype(np.float32)
    for shape, strides, op, spec in STAX:
        window, steps = [1] * 4, [1] * 4
        for axis, letter in enumerate(spec):
            if letter in "HW":
                window[axis], steps[axis] = shape["HW".index(letter)], (strides or (1, 1))["HW".index(letter)]

        def pooled(f: ReduceWindow, op: str = op, window: Any = tuple(window), steps: Any = tuple(steps)) -> Any:
            if op == "max":
                return f(x, -np.inf, lax.max, window, steps, "VALID")
            return f(x, 0.0, lax.add, window, steps, "VALID") / np.prod(window).astype(np.float32)

        _count(
            tallies.of("testPoolingShape", "values"),
            f"{op} {spec} window {shape} strides {strides}",
            lambda: pooled(lax.reduce_window),
            lambda: pooled(ours),
        )
    return tallies.all()


def run_export(ours: ReduceWindow = oriel.jax.reduce_window) -> list[Tally]:
    """The reduce_window programs of shape_poly_test.py: exported with sizes that are not known, then called."""
    rows = lambda op, init: lambda f: lambda x: f(
        x, np.float32(init), jax_run.COMPUTATIONS[op], (2, 2), (1, 1), "VALID"
    )
    whole = lambda op, init: lambda f: lambda x: f(
        x, np.float32(init), jax_run.COMPUTATIONS[op], (2, x.shape[0]), (1, 1), "VALID"
    )
    line = lambda init: lambda f: lambda x: f(
        jnp.reshape(x, (1, -1, 1)), np.float32(init), lax.add, (1, 4, 1), (1, 2, 1), "SAME"
    )
    plane, cube = ((3, 8), "b, ..."), ((1, 128, 16), "_, b1, ...")
    programs = {
        "min": (rows("min", 1), plane),
        "min, window of unknown size": (whole("min", 1), plane),
        "min and max": (lambda f: lambda x: rows("min", 1)(f)(x) + rows("max", 1)(f)(x), plane),
        "min and max, window of unknown size": (
            lambda f: lambda x: whole("min", 1)(f)(x) + whole("max", 1)(f)(x),
            plane,
        ),
        "add": (rows("add", 0), plane),
        "add, window of unknown size": (whole("add", 0), plane),
        "add, strides": (line(0), cube),
        "add, init_value 1": (line(1), cube),
    }
    tallies = Tallies(jax_run.PART)
    for case, (program, (shape, sizes)) in programs.items():
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)

        def exported(f: ReduceWindow, program: Any = program, x: Any = x, sizes: str = sizes) -> Any:
            checks = [export.DisabledSafetyCheck.custom_call(name) for name in oriel.jax.EXPORTED_CALLS]
            unknown = export.symbolic_args_specs((jax.ShapeDtypeStruct(x.shape, x.dtype),), (sizes,))
            return export.export(jax.jit(program(f)), disabled_checks=checks)(*unknown).call(x)

        _count(
            tallies.of("shape_poly_test, reduce_window", "export"),
            case,
            lambda: program(lax.reduce_window)(x),
            lambda: exported(ours),
        )
    return tallies.all()


def run_sharding(ours: ReduceWindow = oriel.jax.reduce_window) -> list[Tally]:
    """test_reduce_window of pjit_test.py: on a mesh of 4 x 2 devices the result lies as the operand does."""
    tallies = Tallies(jax_run.PART)
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    pooled = lambda f, x: f(x, -np.inf, lax.max, (1, 2, 1), (1, 2, 1), "SAME")
    for spec in (("x", "y", None), ("x", None, "y"), (None, "x", "y"), (("x", "y"), None, None)):
        failures = []
        try:
            with jax.set_mesh(mesh):
                x = np.random.default_rng(1).standard_normal((16, 128, 8)).astype(np.float32)
                placed = jax.device_put(x, PartitionSpec(*spec))
                y = jax.jit(lambda x: pooled(ours, x))(placed)
                back = jax.jit(jax.grad(lambda x: pooled(ours, x).sum()))(placed)
            if y.sharding != NamedSharding(mesh, PartitionSpec(*spec)):
                failures.append(f"lies as {y.sharding.spec}")
            failures += filter(
                None,
                [
                    close(pooled(lax.reduce_window, x), np.asarray(y)),
                    close(jax.grad(lambda x: pooled(lax.reduce_window, x).sum())(x), np.asarray(back)),
                ],
            )
        except Exception as error:
            failures.append(f"raises {type(error).__name__}: {str(error)[:200]}")
        tallies.of("test_reduce_window (pjit_test)", "explicit sharding").add(str(spec), set(), failures)
    return tallies.all()


def _flax_cases() -> Iterator[tuple[str, np.ndarray, str, tuple[Any, ...], dict[str, Any]]]:
    """PoolTest of flax's linen_test.py: name, input, function, its arguments."""
    for include in (True, False):
        for shape in ((1, 3, 3, 1), (3, 3, 1)):
            yield "test_avg_pool" + ("" if shape[0] == 1 else "_no_batch"), np.full(
                shape, 2.0, np.float32
            ), "avg_pool", ((2, 2),), {"count_include_pad": include}
        yield "test_avg_pool_padding_same", np.arange(1, 5, dtype=np.float32).reshape(1, 2, 2, 1), "avg_pool", (
            (2, 2),
        ), {"padding": "SAME", "count_include_pad": include}
    yield "test_max_pool", np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1), "max_pool", ((2, 2),), {}
    yield "test_pooling_variable_batch_dims", np.zeros((1, 8, 32, 32, 3), np.float32), "max_pool", ((2, 2), (2, 2)), {}
    yield "test_pooling_no_batch_dims", np.zeros((32, 32, 3), np.float32), "max_pool", ((2, 2), (2, 2)), {}


def run_flax(ours: Any = oriel.jax) -> list[Tally]:
    """flax.linen's functions and their gradients; of several largest elements the first has all of it on both sides."""
    tallies = Tallies("flax: PoolTest")
    for name, x, function, args, kwargs in _flax_cases():

        def results(module: Any, x: Any = x, function: str = function, args: Any = args, kwargs: Any = kwargs) -> Any:
            pool = lambda x: getattr(module, function)(x, *args, **kwargs)
            return pool(x), jax.grad(lambda x: pool(x).sum())(x)

        _count(
            tallies.of(name, function), f"{x.shape} {args} {kwargs}", lambda: results(flax.linen), lambda: results(ours)
        )
    return tallies.all()
