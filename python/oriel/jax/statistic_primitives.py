"""JAX's primitives of pools over valid elements, which are lowered to calls of Oriel's handlers on CPUs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from oriel.jax.primitives import binary_batcher, call_handler, define, unary_batcher, varying_alike
from oriel.jax.spec import PoolSpec

__all__ = ["statistic_backward_p", "statistic_p", "statistic_pool"]

_ON = ("cpu",)


def _aval(x: Any, *, spec: PoolSpec) -> Any:
    return x.update(shape=spec.output_shape(x.shape), dtype=jnp.dtype(spec.dtype), weak_type=False)


def _backward_aval(x: Any, dy: Any, *, spec: PoolSpec) -> Any:
    return dy.update(shape=spec.input_shape(dy.shape), dtype=x.dtype, weak_type=False)


statistic_p: Primitive = define("oriel_statistic", _aval, call_handler("oriel_pool"), platforms=_ON)
statistic_backward_p: Primitive = define(
    "oriel_statistic_backward", _backward_aval, call_handler("oriel_pool_backward"), batcher=binary_batcher, platforms=_ON
)
_batch_one, _batch_one_backward = unary_batcher(statistic_p), binary_batcher(statistic_backward_p)


def _batch(args: Sequence[Any], dims: Sequence[Any], *, spec: PoolSpec) -> tuple[Any, Any]:
    y, at = _batch_one(args, dims, spec=spec)
    return y, at + (spec.quantiles > 1)


def _batch_backward(args: Sequence[Any], dims: Sequence[Any], *, spec: PoolSpec) -> tuple[Any, Any]:
    if spec.quantiles == 1:
        return _batch_one_backward(args, dims, spec=spec)
    (x, dy), (x_at, dy_at) = args, dims  # None if there is no batch
    size = dy.shape[dy_at] if x_at is None else x.shape[x_at]
    x = jnp.expand_dims(x, 0) if x_at is None else jnp.moveaxis(x, x_at, 0)
    if dy_at is None:
        dy = jnp.broadcast_to(jnp.expand_dims(dy, 1), (dy.shape[0], size, *dy.shape[1:]))
    else:
        dy = jnp.moveaxis(dy, dy_at, 1)
    return statistic_backward_p.bind(x, dy, spec=spec), 0


batching.primitive_batchers[statistic_p] = _batch
batching.primitive_batchers[statistic_backward_p] = _batch_backward


def _refuse_derivative(primals: Sequence[Any], tangents: Sequence[Any], *, spec: PoolSpec) -> Any:
    raise NotImplementedError(f"{spec.op}_pool: the pools over valid elements of oriel.jax have no second derivatives")


for _primitive in (statistic_p, statistic_backward_p):
    ad.primitive_jvps[_primitive] = _refuse_derivative


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _statistic_pool(x: jax.Array, spec: PoolSpec) -> jax.Array:
    return statistic_p.bind(x, spec=spec)


def _forward(x: jax.Array, spec: PoolSpec) -> tuple[jax.Array, jax.Array]:
    return statistic_p.bind(x, spec=spec), x


def _backward(spec: PoolSpec, x: jax.Array, dy: jax.Array) -> tuple[jax.Array | None]:
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return (None,)
    return (statistic_backward_p.bind(*varying_alike(x, dy), spec=spec),)


_statistic_pool.defvjp(_forward, _backward)


def statistic_pool(x: jax.Array, spec: PoolSpec) -> jax.Array:
    """The pool of x that `spec` describes, with a gradient."""
    return _statistic_pool(x, spec)
