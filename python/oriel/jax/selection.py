"""Maxima and minima, which pick elements, and their derivatives.

The derivative along t is `pick_p(x, t)`, t at the places of the maxima of x, which is linear in t; the transpose of that
is `pick_transpose_p(x, ct)`, and the transpose of this `pick_p` again. So the set is closed under differentiation of any
order.

If forward and gradient are faster together with stored codes (S10), the derivative is `pick_coded_p(x, codes, t)`, with the
codes of one byte that `select_codes_p` returns beside the maxima. Its transpose goes by the codes alone, so that a training
step looks at each window once and x need not be kept for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad

from oriel import _core
from oriel.jax.primitives import (
    PLATFORMS,
    binary_batcher,
    call_handler,
    define,
    indexed_avals,
    linear_in_last,
    pooled_aval,
    unpooled_aval,
    varying_alike,
    zero_tangent,
)
from oriel.jax.spec import PoolSpec

__all__ = ["pick_p", "pick_transpose_p", "select_indices_p", "select_p"]

_CODES_ON = ("cpu",)


def _picks(primitive: Primitive, transposed: Primitive) -> None:
    """Gives `primitive(*kept, t)` the rules of a function that is linear in t and, where it has a derivative in what is
    kept, constant in that."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, spec: PoolSpec) -> Any:
        out = primitive.bind(*primals, spec=spec)
        t = tangents[-1]
        if type(t) is ad.Zero:
            return out, zero_tangent(out)
        return out, primitive.bind(*varying_alike(*primals[:-1], t), spec=spec)

    ad.primitive_jvps[primitive] = jvp
    linear_in_last(primitive, transposed)


select_p: Primitive = define("oriel_select_pool", pooled_aval, call_handler("oriel_pool"))
select_indices_p: Primitive = define(
    "oriel_select_pool_indices", indexed_avals, call_handler("oriel_pool_indices"), multiple_results=True
)
pick_p: Primitive = define(
    "oriel_pick",
    lambda x, t, *, spec: pooled_aval(t, spec=spec),
    call_handler("oriel_pool_pick"),
    batcher=binary_batcher,
)
pick_transpose_p: Primitive = define(
    "oriel_pick_transpose",
    lambda x, dy, *, spec: unpooled_aval(dy, spec=spec),
    call_handler("oriel_pool_backward"),
    batcher=binary_batcher,
)
_picks(pick_p, pick_transpose_p)
_picks(pick_transpose_p, pick_p)


# -- By codes


def _call_with(target: str, *places: int) -> Callable[..., Any]:
    """The lowering to a handler that takes only the operands of those places."""
    call = call_handler(target)

    def lowering(ctx: Any, *operands: Any, **parameters: Any) -> Any:
        taken = ctx.replace(avals_in=[ctx.avals_in[place] for place in places])
        return call(taken, *(operands[place] for place in places), **parameters)

    return lowering


def _coded_batcher(primitive: Primitive) -> Callable[..., Any]:
    """How a primitive of an input, its codes and a tangent or gradient is mapped over an axis of some of them."""

    def batch(args: Sequence[Any], dims: Sequence[Any], *, spec: PoolSpec) -> Any:
        size = next(x.shape[at] for x, at in zip(args, dims) if at is not None)
        to = next(at for at in reversed(dims) if at is not None)

        def placed(x: Any, at: int | None) -> Any:
            if at is not None:
                return jnp.moveaxis(x, at, to)
            return jnp.broadcast_to(jnp.expand_dims(x, to), (*x.shape[:to], size, *x.shape[to:]))

        x, x_at = args[0], dims[0]
        x = jnp.expand_dims(x, to) if x_at is None else jnp.moveaxis(x, x_at, to)  # extent 1 serves the whole batch
        mapped = [placed(x, at) for x, at in zip(args[1:], dims[1:])]
        return primitive.bind(x, *mapped, spec=spec.with_batch_axis(x.ndim, to)), to

    return batch


select_codes_p: Primitive = define(
    "oriel_select_pool_codes",
    functools.partial(indexed_avals, space="window", index_dtype=np.dtype(np.uint8)),
    call_handler("oriel_pool_codes"),
    platforms=_CODES_ON,
    multiple_results=True,
)
pick_coded_p: Primitive = define(
    "oriel_pick_coded",
    lambda x, codes, t, *, spec: pooled_aval(t, spec=spec),
    _call_with("oriel_pool_pick", 0, 2),
    batcher=_coded_batcher,
    platforms=_CODES_ON,
)
pick_coded_transpose_p: Primitive = define(
    "oriel_pick_coded_transpose",
    lambda x, codes, dy, *, spec: unpooled_aval(dy, spec=spec),
    _call_with("oriel_pool_backward_codes", 1, 2),
    batcher=_coded_batcher,
    platforms=_CODES_ON,
)
_picks(pick_coded_p, pick_coded_transpose_p)
_picks(pick_coded_transpose_p, pick_coded_p)


@functools.lru_cache(maxsize=4096)
def _codes_pay_for(words: tuple[int, ...], shape: tuple[int, ...], dtype: str) -> bool:
    return _core.codes_pay(words, shape, dtype)


def _codes_pay(x: Any, spec: PoolSpec) -> bool:
    """Whether max and gradient are faster together by codes, which programs for CUDA devices do not have: a build for
    both never uses them."""
    if PLATFORMS != _CODES_ON or not all(isinstance(n, int) for n in x.shape):
        return False
    return _codes_pay_for(tuple(spec.all_words().tolist()), tuple(x.shape), x.dtype.name)


# -- Derivatives of select


def _pick(x: Any, t: Any, spec: PoolSpec) -> Any:
    return pick_p.bind(*varying_alike(x, t), spec=spec)


def _pick_coded(x: Any, codes: Any, t: Any, spec: PoolSpec) -> Any:
    return pick_coded_p.bind(*varying_alike(x, codes, t), spec=spec)


def _select_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, spec: PoolSpec) -> Any:
    (x,), (t,) = primals, tangents
    if type(t) is ad.Zero:
        y = select_p.bind(x, spec=spec)
        return y, zero_tangent(y)
    if _codes_pay(x, spec):
        y, codes = select_codes_p.bind(x, spec=spec)
        return y, _pick_coded(x, codes, t, spec)
    return select_p.bind(x, spec=spec), _pick(x, t, spec)


def _select_indices_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, spec: PoolSpec, **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    y, indices = select_indices_p.bind(x, spec=spec, **params)
    y_t = zero_tangent(y) if type(t) is ad.Zero else _pick(x, t, spec)
    return [y, indices], [y_t, zero_tangent(indices)]


def _select_codes_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, spec: PoolSpec) -> Any:
    (x,), (t,) = primals, tangents
    y, codes = select_codes_p.bind(x, spec=spec)
    y_t = zero_tangent(y) if type(t) is ad.Zero else _pick_coded(x, codes, t, spec)
    return [y, codes], [y_t, zero_tangent(codes)]


ad.primitive_jvps[select_p] = _select_jvp
ad.primitive_jvps[select_indices_p] = _select_indices_jvp
ad.primitive_jvps[select_codes_p] = _select_codes_jvp
