"""JAX's primitives over the handlers that XLA calls, and their rules.

Sums and averages are linear: `sum_pool_p` and `sum_pool_transpose_p` are each other's transpose. Maxima and minima are in
selection.py, Lp pools, smooth functions of such sums, in lp.py.

A batch stays where it is: the pooled axes are renumbered instead.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

import oriel
from oriel import _core
from oriel.jax.spec import PoolSpec

__all__ = [
    "EXPORTED_CALLS",
    "PLATFORMS",
    "binary_batcher",
    "call_handler",
    "define",
    "indexed_avals",
    "linear_in_last",
    "pooled_aval",
    "sum_pool_p",
    "sum_pool_transpose_p",
    "unary_batcher",
    "unpooled_aval",
    "varying_alike",
    "wrapped_sum_p",
    "zero_tangent",
]

# The symbols of python/src/xla.cc, which are also the names of the custom calls in a program.
EXPORTED_CALLS = (
    "oriel_pool",
    "oriel_pool_wrapped",
    "oriel_pool_indices",
    "oriel_pool_pick",
    "oriel_pool_backward_linear",
    "oriel_pool_backward",
    "oriel_pool_codes",
    "oriel_pool_backward_codes",
)
# The suffix of the same handlers for CUDA devices (xla_cuda.cc), in a build that has the backend.
CUDA_SUFFIX = "_cuda"
CPU_CALLS = ("oriel_pool_codes", "oriel_pool_backward_codes")  # which CUDA devices do not have
INDEX_SPACES = {"plane": 0, "tensor": 1, "window": 2}  # IndexSpace of include/oriel/problem.h


def _interface_of_jaxlib() -> tuple[int, int]:
    """The version of XLA's foreign function interface that the installed jaxlib has, from the header that it brings."""
    header = pathlib.Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    major, minor = (re.findall(rf"#define XLA_FFI_API_{word} (\d+)", header) for word in ("MAJOR", "MINOR"))
    return int(major[0]), int(minor[0])


def handlers_by_platform(library: Any) -> dict[str, dict[str, Any]]:
    """{platform of JAX: {name of a custom call: its handler}} of a library that has those for CPUs, or for both."""
    suffixes = {"cpu": "", "cuda": CUDA_SUFFIX}
    return {
        platform: {name: getattr(library, name + suffix) for name in EXPORTED_CALLS if not suffix or name not in CPU_CALLS}
        for platform, suffix in suffixes.items()
        if hasattr(library, EXPORTED_CALLS[0] + suffix)
    }


def _register_targets() -> tuple[str, ...]:
    """Makes the handlers known to XLA; the platforms that there are."""
    library = pathlib.Path(oriel.__file__).with_name("oriel_xla.so")
    try:
        # Where there is no such library, the module has the handlers too: wheels are one library.
        handlers = ctypes.CDLL(str(library) if library.exists() else _core.__file__)
        oldest = tuple((ctypes.c_int * 2).in_dll(handlers, "oriel_pool_interface"))
    except (OSError, ValueError) as error:
        raise ImportError(
            f"oriel.jax needs {library.name}, which this build of oriel lacks: install oriel again ({error})"
        ) from error
    installed = _interface_of_jaxlib()
    if oldest[0] != installed[0] or oldest[1] > installed[1]:
        newer = "oriel" if installed > oldest else "jaxlib"
        raise ImportError(
            f"oriel.jax needs version {oldest[0]}.{oldest[1]} of XLA's interface, or a later {oldest[0]}, but the "
            f"installed jaxlib {jaxlib.version.__version__} has {installed[0]}.{installed[1]}: install a newer {newer}"
        )
    found = handlers_by_platform(handlers)
    for platform, functions in found.items():
        for name, function in functions.items():
            # XLA's own name of a platform is in capitals where it is no CPU.
            target = platform if platform == "cpu" else platform.upper()
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform=target)
    for name in EXPORTED_CALLS:
        jax.ffi.register_ffi_target_as_batch_partitionable(name)
    return tuple(found)


PLATFORMS = _register_targets()


def _varying(x: Any) -> frozenset[Any]:
    """The axes of shard_map's mesh along which x varies, where that is tracked (check_vma)."""
    aval = jax.typeof(x)
    if hasattr(aval, "mat"):  # JAX 0.10
        return aval.mat.varying
    return getattr(aval, "vma", frozenset())


def varying_alike(*arrays: Any) -> list[Any]:
    """The arrays, marked as varying along all mesh axes along which one of them varies: JAX wants operands to agree."""
    axes = [_varying(x) for x in arrays]
    wanted = frozenset().union(*axes)
    if all(have == wanted for have in axes):
        return list(arrays)
    lax: Any = jax.lax  # pcast came with JAX 0.8, and pvary goes
    cast = functools.partial(lax.pcast, to="varying") if hasattr(lax, "pcast") else lax.pvary
    return [cast(x, tuple(sorted(wanted - have))) if have != wanted else x for x, have in zip(arrays, axes)]


def zero_tangent(y: Any) -> ad.Zero:
    """The derivative of a result that depends on nothing differentiable."""
    return ad.Zero(jax.typeof(y).to_tangent_aval())


def unary_batcher(primitive: Primitive) -> Callable[..., Any]:
    """How a primitive of one array is mapped over an axis."""

    def batch(args: Sequence[Any], dims: Sequence[int], *, spec: PoolSpec, **params: Any) -> Any:
        (x,), (at,) = args, dims
        out = primitive.bind(x, spec=spec.with_batch_axis(x.ndim, at), **params)
        return (out, [at] * len(out)) if primitive.multiple_results else (out, at)

    return batch


def binary_batcher(primitive: Primitive) -> Callable[..., Any]:
    """How a primitive of an input and a tangent or gradient is mapped over an axis of either or both."""

    def batch(args: Sequence[Any], dims: Sequence[Any], *, spec: PoolSpec) -> Any:
        (x, t), (x_at, t_at) = args, dims  # None if there is no batch
        if t_at is None:
            t_at = x_at
            t = jnp.broadcast_to(jnp.expand_dims(t, t_at), (*t.shape[:t_at], x.shape[x_at], *t.shape[t_at:]))
        if x_at is None:
            x = jnp.expand_dims(x, t_at)  # extent 1 serves the whole batch
        elif x_at != t_at:
            x = jnp.moveaxis(x, x_at, t_at)
        return primitive.bind(x, t, spec=spec.with_batch_axis(t.ndim, t_at)), t_at

    return batch


def _refusal(known: Sequence[str]) -> Callable[..., Any]:
    """The lowering for all but the known platforms: an error."""

    def refuse(ctx: Any, *_: Any, **__: Any) -> Any:
        platforms = ctx.platforms or ctx.module_context.platforms
        what = "this pool of oriel.jax" if "cuda" in PLATFORMS and "cuda" not in known else "oriel.jax"
        here = "CPU and CUDA devices" if "cuda" in known else "CPU devices"
        why = "; this build of oriel has no CUDA backend" if "cuda" in platforms and "cuda" not in PLATFORMS else ""
        raise NotImplementedError(
            f"{what} runs on {here}, but this program is for {' and '.join(platforms)}: put the arrays on "
            f"jax.devices('cpu')[0]{why}"
        )

    return refuse


def define(
    name: str,
    abstract: Callable[..., Any],
    lowering: Callable[..., Any],
    *,
    batcher: Callable[[Primitive], Callable[..., Any]] = unary_batcher,
    platforms: Sequence[str] | None = PLATFORMS,
    multiple_results: bool = False,
) -> Primitive:
    """A primitive with its shape rule, lowering and batching; outside of jit it is compiled once per shape.

    `platforms`: those that the lowering is for, or None: for all."""
    primitive = Primitive(name)
    primitive.multiple_results = multiple_results
    primitive.def_abstract_eval(abstract)
    primitive.def_impl(functools.partial(xla.apply_primitive, primitive))
    for platform in platforms or (None,):
        mlir.register_lowering(primitive, lowering, platform=platform)
    if platforms is not None:
        mlir.register_lowering(primitive, _refusal(platforms))  # of the others
    batching.primitive_batchers[primitive] = batcher(primitive)
    return primitive


def _sharding_rule(
    operands: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]], batch: int
) -> mlir.ir.Attribute:
    """Shardy's rule that the first `batch` axes may be spread over devices, each part being pooled where it is."""
    names = itertools.chain(
        "ijklmnopqrstuvwxyz", (f"z_{n}" for n in itertools.count(1))
    )  # in the order that Shardy wants
    sizes = {next(names): size for size in operands[0][:batch]}
    shared = list(sizes)

    def mapped(shape: tuple[int, ...]) -> str:
        others = {next(names): size for size in shape[batch:]}
        sizes.update(others)
        return f"[{', '.join([*shared, *others])}]"

    sides = [", ".join(map(mapped, shapes)) for shapes in (operands, results)]
    extents = ", ".join(f"{factor}={size}" for factor, size in sizes.items())
    return mlir.ir.Attribute.parse(f"#sdy.op_sharding_rule<({sides[0]})->({sides[1]}) {{{extents}}}, custom>")


def _partitioning(ctx: Any, spec: PoolSpec) -> dict[str, Any]:
    """Tells XLA that a call may be split along the axes before the first pooled one: else it gathers a spread batch."""
    operands, results = ([aval.shape for aval in avals] for avals in (ctx.avals_in, ctx.avals_out))
    batch = len(operands[0]) + min(spec.axes)
    shapes = [*operands, *results]
    if (
        batch == 0
        or spec.quantiles > 1  # their axis is before those of the batch
        or len({shape[:batch] for shape in shapes}) > 1
        or not all(isinstance(n, int) for shape in shapes for n in shape)
    ):
        return {}
    attributes: dict[str, Any] = {
        "mhlo.frontend_attributes": mlir.ir.DictAttr.get({"num_batch_dims": mlir.ir.StringAttr.get(str(batch))})
    }
    if getattr(jax.config, "jax_use_shardy_partitioner", False):
        attributes["sdy.sharding_rule"] = _sharding_rule(operands, results, batch)
    return {"extra_attributes": attributes}


def call_handler(target: str) -> Callable[..., Any]:
    """The lowering to a handler of oriel_xla.so."""

    def lowering(ctx: Any, *operands: Any, spec: PoolSpec, space: str | None = None, **_: Any) -> Any:
        attributes: dict[str, Any] = {"words": spec.all_words()}
        if space is not None:
            attributes["space"] = np.int32(INDEX_SPACES[space])
        return jax.ffi.ffi_lowering(target, **_partitioning(ctx, spec))(ctx, *operands, **attributes)

    return lowering


def pooled_aval(x: Any, *, spec: PoolSpec) -> Any:
    return x.update(shape=spec.output_shape(x.shape), weak_type=False)


def unpooled_aval(dy: Any, *, spec: PoolSpec) -> Any:
    return dy.update(shape=spec.input_shape(dy.shape), weak_type=False)


def indexed_avals(x: Any, *, spec: PoolSpec, space: str, index_dtype: Any) -> Any:
    y = pooled_aval(x, spec=spec)
    return [y, y.update(dtype=index_dtype)]


def linear_in_last(primitive: Primitive, transposed: Primitive) -> None:
    """Gives `primitive(*kept, t)` the rule of a function that is linear in t and has the transpose
    `transposed(*kept, ct)`."""

    def transpose(ct: Any, *operands: Any, spec: PoolSpec) -> list[Any]:
        *kept, t = operands
        nothing = [None] * len(kept)
        if type(ct) is ad.Zero:
            return [*nothing, ad.Zero(t.aval)]
        return [*nothing, transposed.bind(*varying_alike(*kept, ct), spec=spec)]

    ad.primitive_transposes[primitive] = transpose


sum_pool_p: Primitive = define("oriel_sum_pool", pooled_aval, call_handler("oriel_pool"))
sum_pool_transpose_p: Primitive = define(
    "oriel_sum_pool_transpose", unpooled_aval, call_handler("oriel_pool_backward_linear")
)
ad.deflinear2(sum_pool_p, lambda ct, _, *, spec: [sum_pool_transpose_p.bind(ct, spec=spec)])
ad.deflinear2(sum_pool_transpose_p, lambda ct, _, *, spec: [sum_pool_p.bind(ct, spec=spec)])

wrapped_sum_p: Primitive = define("oriel_wrapped_sum_pool", pooled_aval, call_handler("oriel_pool_wrapped"))

ad.primitive_jvps[wrapped_sum_p] = lambda primals, tangents, *, spec: (
    (y := wrapped_sum_p.bind(*primals, spec=spec)),
    zero_tangent(y),
)
