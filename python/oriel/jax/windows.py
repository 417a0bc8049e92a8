"""`reduce_window` with jax.lax's arguments and results."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, overload

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from oriel.array_types import PaddingWord
from oriel.jax.arguments import POOLED_DTYPES, crop, pooled_sizes
from oriel.jax.primitives import sum_pool_p, wrapped_sum_p
from oriel.jax.selection import select_p
from oriel.jax.spec import make_spec

__all__ = ["reduce_window"]

MOST_POOLED_AXES = 8  # kMaxPooledAxes of include/oriel/types.h
MOST_AXES = 16  # kMaxRank

_OPS = (
    (jax.lax.max, "max"),
    (jnp.maximum, "max"),
    (jax.lax.min, "min"),
    (jnp.minimum, "min"),
    (jax.lax.add, "sum"),
    (jnp.add, "sum"),
)


@overload
def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: PaddingWord | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> jax.Array: ...


@overload
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: PaddingWord | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any: ...


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: PaddingWord | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """A reduction over windows along any axes, as `jax.lax.reduce_window`.

    Maxima, minima and sums of one array are computed by Oriel; everything else is passed to `jax.lax.reduce_window`:
    other computations, several operands, complex numbers, results without elements, more than 8 axes with windows,
    invalid arguments (which raise the same errors as there).

    Parameters
    ----------
    operand : array
        Of any shape; Oriel computes any real dtype of 8 to 64 bits.
    init_value : scalar
        Any value. It is combined with each result once; the result of a window without a tap is `init_value`. The
        identity of the computation (-inf, inf, 0) costs nothing.
    computation : callable
        Oriel computes `jax.lax.max`, `jax.lax.min`, `jax.lax.add` and `jax.numpy.maximum`, `minimum`, `add`.
    window_dimensions, window_strides, window_dilation : sequence of int
        Taps, steps (default 1) and distance between taps (default 1) of the windows, one for each axis.
    padding : "VALID", "SAME", "SAME_LOWER" or a sequence of (before, after)
        Negative padding crops the operand.
    base_dilation : sequence of int, optional
        Distance between the operand's elements, default 1; the gaps have no value. The operand is copied if it is not
        1.

    Returns
    -------
    jax.Array
        Of the dtype of `operand`.

    Raises
    ------
    TypeError, ValueError
        As `jax.lax.reduce_window`.

    Notes
    -----
    Integer sums wrap, as those of XLA do and unlike those of `sum_pool`. Float sums follow S8
    (`python -m oriel.docs semantics`), so they are the same everywhere, and near those of XLA. Differentiable to any
    order where the result is; with an `init_value` that is not the identity the derivative of a maximum is that of
    `jax.lax.max(result, init_value)`.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> x = jnp.arange(6.0).reshape(2, 3)
    >>> oriel.jax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (1, 1), "VALID")
    Array([[4., 5.]], dtype=float32)
    >>> oriel.jax.reduce_window(x, 10.0, jax.lax.add, (1, 2), (1, 1), ((0, 0), (1, 0)))
    Array([[10., 11., 13.],
           [13., 17., 19.]], dtype=float32)
    """
    op = next((op for function, op in _OPS if computation is function), None)
    y = None
    if op is not None and isinstance(operand, (jax.Array, np.ndarray, np.generic)):
        window = _read_window(
            jnp.shape(operand), window_dimensions, window_strides, padding, base_dilation, window_dilation
        )
        if window is not None:
            y = _reduce(jnp.asarray(operand), init_value, op, *window)
    if y is None:
        return jax.lax.reduce_window(
            operand, init_value, computation, window_dimensions, window_strides, padding, base_dilation, window_dilation
        )
    return y


def _is_identity(value: Any, op: str, dtype: np.dtype) -> bool:
    """Whether a number changes no result; a traced one may."""
    if isinstance(value, jax.core.Tracer):
        return False
    value = np.asarray(value)
    if op == "sum":
        return bool(value == 0)
    return bool(value == _identity(op, dtype))


def _identity(op: str, dtype: np.dtype) -> Any:
    """What a place without a value holds."""
    if op == "sum":
        return np.zeros((), dtype)
    if dtype == np.bool_:
        return np.asarray(op == "min")
    if jnp.issubdtype(dtype, jnp.floating):
        return np.asarray(-np.inf if op == "max" else np.inf, dtype)
    limits = jnp.iinfo(dtype)
    return np.asarray(limits.min if op == "max" else limits.max, dtype)


def _read_window(
    shape: tuple[Any, ...], window: Any, strides: Any, padding: Any, base_dilation: Any, window_dilation: Any
) -> Any:
    """The lists as tuples of ints, padding as pairs; None if Oriel does not support them (jax.lax raises the error)."""
    rank = len(shape)
    try:
        lists = [
            tuple(map(operator.index, values)) if values is not None else (1,) * rank
            for values in (window, strides, base_dilation, window_dilation)
        ]
        if any(len(values) != rank or min(values, default=0) < 1 for values in lists):
            return None
        window, strides, base, dilation = lists
        if isinstance(padding, str):
            # As in jax.lax, the words look at the operand without its base dilation.
            padding = jax.lax.padtype_to_pads(
                shape, [d * (k - 1) + 1 for k, d in zip(window, dilation)], strides, padding
            )
        pads = tuple((operator.index(before), operator.index(after)) for before, after in padding)
    except (TypeError, ValueError, RuntimeError):
        return None
    if len(pads) != rank or rank > MOST_AXES:
        return None
    return window, strides, pads, base, dilation


def _reduce(
    x: jax.Array,
    init_value: Any,
    op: str,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
    base: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Any:
    """The reduction by Oriel; None if Oriel does not support it."""
    if x.dtype not in POOLED_DTYPES or (op == "sum" and x.dtype == np.bool_) or jnp.shape(init_value) != ():
        return None
    identity = _is_identity(init_value, op, x.dtype)
    if not identity and jnp.asarray(init_value).dtype != x.dtype:
        return None
    axes = tuple(a - x.ndim for a in range(x.ndim) if (window[a], strides[a], pads[a], base[a]) != (1, 1, (0, 0), 1))
    if len(axes) > MOST_POOLED_AXES or not all(isinstance(x.shape[a], int) and x.shape[a] > 0 for a in axes):
        return None
    if any(base[a] != 1 for a in axes):
        x = jax.lax.pad(x, jnp.asarray(_identity(op, x.dtype)), [(lo, hi, d - 1) for (lo, hi), d in zip(pads, base)])
        pads = ((0, 0),) * x.ndim
    x, positive = crop(x, axes, [pads[a] for a in axes])
    if axes:
        spans = [dilation[a] * (window[a] - 1) + 1 for a in axes]
        if any(x.shape[a] == 0 or x.shape[a] + sum(pad) < span for a, pad, span in zip(axes, positive, spans)):
            return None
        spec = make_spec(
            op,
            *(tuple(values[a] for a in axes) for values in (window, strides)),
            positive,
            tuple(dilation[a] for a in axes),
            None,
            axes,
            pooled_sizes(x, axes),
        )
        x = _primitive(op, x.dtype).bind(x, spec=spec)
    return x if identity else _combined(op, x, init_value)


def _primitive(op: str, dtype: np.dtype) -> Any:
    if op != "sum":
        return select_p
    return sum_pool_p if jnp.issubdtype(dtype, jnp.floating) else wrapped_sum_p


def _combined(op: str, y: jax.Array, init_value: Any) -> jax.Array:
    combine = {"max": jax.lax.max, "min": jax.lax.min, "sum": jax.lax.add}[op]
    return combine(y, jnp.broadcast_to(jnp.asarray(init_value, y.dtype), y.shape))
