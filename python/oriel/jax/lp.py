"""Lp pools as primitives: y = (sum |x|^p)^(1/p), its derivative along t, and the transpose of that.

The derivative is sum_pool(w t) v with w = sign(x) |x|^(p-1) and v = y^(1-p) (0 where y is 0: S9). The transpose is
computed by the engine, so gradients have the bits of `oriel.lp_pool_backward`; derivatives of these two in x follow
from the formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, mlir

from oriel.jax.primitives import (
    binary_batcher,
    call_handler,
    define,
    linear_in_last,
    pooled_aval,
    sum_pool_p,
    sum_pool_transpose_p,
    unpooled_aval,
    varying_alike,
    zero_tangent,
)
from oriel.jax.selection import pick_p, pick_transpose_p
from oriel.jax.spec import PoolSpec

__all__ = ["lp_pool_p"]


def _widened(x: Any) -> Any:
    """x in the type in which its sums are accumulated (S7): powers of 16-bit numbers overflow soon."""
    return x.astype(jnp.float32) if x.dtype.itemsize < 4 else x


def _weights(x: Any, p: float) -> Any:
    """sign(x) |x|^(p-1), whose derivatives are finite wherever they exist."""
    if p == 1:
        return jnp.sign(x)
    if p == 2:
        return x
    zero = x == 0
    return jnp.where(zero, 0, jnp.sign(x) * jnp.abs(jnp.where(zero, 1, x)) ** (p - 1))


def _scales(x: Any, spec: PoolSpec) -> Any:
    """y^(1-p), 0 where y is 0."""
    y = lp_pool_p.bind(x, spec=spec)
    zero = y == 0
    return jnp.where(zero, 0, jnp.where(zero, 1, y) ** (1 - spec.norm))


def _tangent(x: Any, t: Any, *, spec: PoolSpec) -> Any:
    """The derivative of the pool of x along t."""
    dtype = t.dtype
    x, t = _widened(x), _widened(t)
    if math.isinf(spec.norm):
        return pick_p.bind(*varying_alike(*_signed(x, t)), spec=spec.with_op("max")).astype(dtype)
    sums = sum_pool_p.bind(_weights(x, spec.norm) * t, spec=spec.with_op("sum"))
    return (sums if spec.norm == 1 else sums * _scales(x, spec)).astype(dtype)


def _gradient(x: Any, dy: Any, *, spec: PoolSpec) -> Any:
    """The transpose of `_tangent` in t, of which only the derivative is used."""
    dtype = dy.dtype
    x, dy = _widened(x), _widened(dy)
    if math.isinf(spec.norm):
        return (jnp.sign(x) * pick_transpose_p.bind(*varying_alike(jnp.abs(x), dy), spec=spec.with_op("max"))).astype(
            dtype
        )
    shares = dy if spec.norm == 1 else dy * _scales(x, spec)
    return (_weights(x, spec.norm) * sum_pool_transpose_p.bind(shares, spec=spec.with_op("sum"))).astype(dtype)


def _signed(x: Any, t: Any) -> tuple[Any, Any]:
    """Of which the maxima are picked where p is infinite; |x| may stand for a whole batch of t."""
    return jnp.abs(x), jnp.sign(x) * t


def _jvp_in_both(primitive: Primitive, formula: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a function of x and t that is linear in t, and whose derivative in x is that of `formula`."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, spec: PoolSpec) -> Any:
        x, t = primals
        x_dot, t_dot = tangents
        out = primitive.bind(x, t, spec=spec)
        terms = []
        if type(t_dot) is not ad.Zero:
            terms.append(primitive.bind(*varying_alike(x, t_dot), spec=spec))
        if type(x_dot) is not ad.Zero:
            terms.append(jax.jvp(lambda x: formula(*varying_alike(x, t), spec=spec), (x,), (x_dot,))[1])
        return out, sum(terms[1:], terms[0]) if terms else zero_tangent(out)

    return jvp


def _lp_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, spec: PoolSpec) -> Any:
    (x,), (t,) = primals, tangents
    y = lp_pool_p.bind(x, spec=spec)
    return y, zero_tangent(y) if type(t) is ad.Zero else lp_tangent_p.bind(*varying_alike(x, t), spec=spec)


lp_pool_p: Primitive = define("oriel_lp_pool", pooled_aval, call_handler("oriel_pool"))
lp_tangent_p: Primitive = define(
    "oriel_lp_pool_tangent",
    lambda x, t, *, spec: pooled_aval(t, spec=spec),
    mlir.lower_fun(_tangent, multiple_results=False),
    batcher=binary_batcher,
    platforms=None,
)
lp_gradient_p: Primitive = define(
    "oriel_lp_pool_gradient",
    lambda x, dy, *, spec: unpooled_aval(dy, spec=spec),
    call_handler("oriel_pool_backward"),
    batcher=binary_batcher,
)
linear_in_last(lp_tangent_p, lp_gradient_p)
linear_in_last(lp_gradient_p, lp_tangent_p)
ad.primitive_jvps[lp_pool_p] = _lp_jvp
ad.primitive_jvps[lp_tangent_p] = _jvp_in_both(lp_tangent_p, _tangent)
ad.primitive_jvps[lp_gradient_p] = _jvp_in_both(lp_gradient_p, _gradient)
