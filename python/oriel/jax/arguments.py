"""Arguments of the functions for JAX: checked, and in the form that the engine takes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from oriel.array_types import PaddingWord

__all__ = [
    "DataFormat",
    "POOLED_DTYPES",
    "Padding",
    "crop",
    "pooled_sizes",
    "read_array",
    "read_ints",
    "read_norm",
    "read_pairs",
    "read_word",
    "spatial_axes",
]

DataFormat: TypeAlias = Literal["channels_last", "channels_first"]
Padding: TypeAlias = PaddingWord | Sequence[tuple[int, int]]

# Those that XLA and Oriel share.
POOLED_DTYPES = frozenset(
    jnp.dtype(dtype)
    for dtype in (
        jnp.float64,
        jnp.float32,
        jnp.float16,
        jnp.bfloat16,
        jnp.int8,
        jnp.uint8,
        jnp.int16,
        jnp.uint16,
        jnp.int32,
        jnp.uint32,
        jnp.int64,
        jnp.uint64,
        jnp.bool_,
    )
)


def read_array(function: str, inputs: Any) -> jax.Array:
    """`inputs` as an array of a dtype that is pooled."""
    if not isinstance(inputs, jax.Array):
        try:
            inputs = jnp.asarray(inputs)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{function}: inputs must be an array, but is of type {type(inputs).__name__}") from error
    if inputs.dtype not in POOLED_DTYPES:
        raise TypeError(f"{function}: inputs must have a real dtype of 8 to 64 bits, not {inputs.dtype.name}")
    return inputs


def _read_int(function: str, argument: str, value: Any, whole: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {argument} must be ints, but is {whole!r}") from None


def read_norm(function: str, norm_type: Any) -> float:
    """The p of an Lp pool; the engine checks its value."""
    if isinstance(norm_type, bool) or not isinstance(norm_type, (int, float, np.number)):
        raise TypeError(f"{function}: norm_type must be a number, but is {norm_type!r}")
    return float(norm_type)


def read_ints(function: str, argument: str, values: Any, count: int | None = None) -> tuple[int, ...]:
    """A tuple of ints >= 1; if `count` is given, that many values, or one int for all."""
    if count is not None and not isinstance(values, (str, bytes)) and not hasattr(values, "__iter__"):
        values = (_read_int(function, argument, values, values),) * count
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{function}: {argument} must be a sequence of ints, but is {values!r}")
    read = tuple(_read_int(function, argument, value, values) for value in values)
    if count is not None and len(read) != count:
        raise ValueError(
            f"{function}: {argument} must have {count} values, one for each pooled axis, but is {values!r}"
        )
    if not read:
        raise ValueError(f"{function}: {argument} must have at least one value, but is {values!r}")
    if min(read) < 1:
        raise ValueError(f"{function}: {argument} must be >= 1, but is {values!r}")
    return read


def read_word(function: str, padding: str) -> str:
    """A word for padding, in lower case."""
    word = padding.lower()
    if word not in ("valid", "same", "same_lower"):
        raise ValueError(
            f"{function}: padding must be 'VALID', 'SAME' or 'SAME_LOWER' if it is a word, but is {padding!r}"
        )
    return word


def read_pairs(function: str, padding: Any, count: int) -> tuple[tuple[int, int], ...]:
    """Padding as (before, after) for each of `count` axes."""
    try:
        pairs = tuple(
            (_read_int(function, "padding", before, padding), _read_int(function, "padding", after, padding))
            for before, after in padding
        )
    except (TypeError, ValueError):
        raise TypeError(
            f"{function}: padding must be 'VALID', 'SAME', 'SAME_LOWER' or a sequence of (before, after) pairs of "
            f"ints, but is {padding!r}"
        ) from None
    if len(pairs) != count:
        raise ValueError(f"{function}: padding must have {count} pairs, one for each pooled axis, but is {padding!r}")
    return pairs


def spatial_axes(function: str, x: jax.Array, count: int, data_format: DataFormat) -> tuple[int, ...]:
    """The `count` axes that are pooled, counted from the end."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"{function}: data_format must be 'channels_last' or 'channels_first', but is {data_format!r}")
    if x.ndim < count + 1:
        raise ValueError(
            f"{function}: inputs must have {count} pooled axes and one of channels at least, but have shape {x.shape}"
        )
    last = -1 if data_format == "channels_last" else 0
    return tuple(range(last - count, last))


def pooled_sizes(x: jax.Array, axes: Sequence[int]) -> tuple[int, ...]:
    """The shape of x, with 1 for axes that are not pooled: a pool is the same for every batch, also of unknown
    extent."""
    sizes = [1] * x.ndim
    for axis in axes:
        sizes[axis] = x.shape[axis]
    return tuple(sizes)


def crop(
    x: jax.Array, axes: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> tuple[jax.Array, tuple[tuple[int, int], ...]]:
    """x cropped by negative padding, and the rest of the padding."""
    for axis, (before, after) in zip(axes, pairs):
        if before < 0 or after < 0:
            n = x.shape[axis]
            first = min(max(-before, 0), n)
            x = jax.lax.slice_in_dim(x, first, max(n - max(-after, 0), first), axis=axis)
    return x, tuple((max(before, 0), max(after, 0)) for before, after in pairs)
