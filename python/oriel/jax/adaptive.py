"""Pools without a window size: global ones, and adaptive ones whose windows split the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from oriel.array_types import Op
from oriel.jax.arguments import DataFormat, pooled_sizes, read_array, read_ints, read_norm, spatial_axes
from oriel.jax.pools import pool_as
from oriel.jax.spec import make_spec

__all__ = [
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "global_avg_pool",
    "global_lp_pool",
    "global_max_pool",
    "global_min_pool",
    "global_sum_pool",
]


def _read_axes(
    function: str, x: jax.Array, axes: int | Sequence[int] | None, data_format: DataFormat
) -> tuple[int, ...]:
    if axes is None:
        if x.ndim < 3:
            raise ValueError(
                f"{function}: inputs of shape {x.shape} have no axis beside batch and channels: name the axes"
            )
        return spatial_axes(function, x, x.ndim - 2, data_format)
    given: Any = axes
    read: tuple[Any, ...] = tuple(given) if hasattr(given, "__iter__") else (given,)
    for axis in read:
        if not isinstance(axis, int) or isinstance(axis, bool):
            raise TypeError(f"{function}: axes must be ints, but are {axes!r}")
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"{function}: axes must be axes of inputs of shape {x.shape}, but are {axes!r}")
    read = tuple(axis - x.ndim if axis >= 0 else axis for axis in read)
    if not read or len(set(read)) != len(read):
        raise ValueError(f"{function}: axes must be at least one axis, each once, but are {axes!r}")
    return read


def _global_pool(
    function: str,
    op: Op,
    inputs: ArrayLike,
    axes: int | Sequence[int] | None,
    keepdims: bool,
    data_format: DataFormat,
    norm_type: float | None = None,
) -> jax.Array:
    x = read_array(function, inputs)
    pooled = _read_axes(function, x, axes, data_format)
    y = pool_as(x, make_spec(op, None, None, 0, 1, None, pooled, pooled_sizes(x, pooled), True, norm_type))
    return y if keepdims else jnp.squeeze(y, pooled)


def global_max_pool(
    inputs: ArrayLike,
    *,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = True,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The largest of all elements.

    Parameters
    ----------
    inputs : array of shape (batch, …, channels)
        Of any real dtype of 8 to 64 bits.
    axes : int or sequence of int, optional
        The pooled axes; by default all but the first (batch) and the channels.
    keepdims : bool
        Whether to keep the pooled axes, with extent 1.
    data_format : {"channels_last", "channels_first"}
        The axis of the channels if `axes` are not given: the last or the second.

    Returns
    -------
    jax.Array
        Of the dtype of `inputs`.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text; for a pooled axis without elements.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.global_max_pool(jnp.arange(12.0).reshape(1, 2, 3, 2), keepdims=False)
    Array([[10., 11.]], dtype=float32)
    """
    return _global_pool("global_max_pool", "max", inputs, axes, keepdims, data_format)


def global_min_pool(
    inputs: ArrayLike,
    *,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = True,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The smallest of all elements; see `global_max_pool`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.global_min_pool(jnp.arange(12.0).reshape(1, 2, 3, 2), keepdims=False)
    Array([[0., 1.]], dtype=float32)
    """
    return _global_pool("global_min_pool", "min", inputs, axes, keepdims, data_format)


def global_avg_pool(
    inputs: ArrayLike,
    *,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = True,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The mean of all elements, in the order of S8, rounded once; see `global_max_pool`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.global_avg_pool(jnp.arange(12.0).reshape(1, 2, 3, 2), keepdims=False)
    Array([[5., 6.]], dtype=float32)
    """
    return _global_pool("global_avg_pool", "avg", inputs, axes, keepdims, data_format)


def global_sum_pool(
    inputs: ArrayLike,
    *,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = True,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The sum of all elements, in the order of S8; see `global_max_pool`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.global_sum_pool(jnp.arange(12.0).reshape(1, 2, 3, 2), keepdims=False)
    Array([[30., 36.]], dtype=float32)
    """
    return _global_pool("global_sum_pool", "sum", inputs, axes, keepdims, data_format)


def global_lp_pool(
    inputs: ArrayLike,
    norm_type: float,
    *,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = True,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The p-norm of all elements, p = `norm_type`; see `global_max_pool`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.global_lp_pool(jnp.array([3.0, -4.0]).reshape(1, 2, 1), 2, keepdims=False)
    Array([[5.]], dtype=float32)
    """
    return _global_pool(
        "global_lp_pool", "lp", inputs, axes, keepdims, data_format, read_norm("global_lp_pool", norm_type)
    )


def _adaptive_pool(
    function: str, op: Op, inputs: ArrayLike, output_size: Sequence[int], data_format: DataFormat
) -> jax.Array:
    x = read_array(function, inputs)
    outputs = read_ints(function, "output_size", output_size)
    axes = spatial_axes(function, x, len(outputs), data_format)
    return pool_as(x, make_spec(op, None, None, 0, 1, outputs, axes, pooled_sizes(x, axes)))


def adaptive_avg_pool(
    inputs: ArrayLike, output_size: Sequence[int], *, data_format: DataFormat = "channels_last"
) -> jax.Array:
    """The mean of each of `output_size` windows that split the input evenly.

    Parameters
    ----------
    inputs : array of shape (…, window dims…, channels)
        Any number of batch axes, or none.
    output_size : sequence of int
        Outputs along each pooled axis; output o of m along n inputs reads those from floor(o n / m) to ceil((o + 1) n /
        m) (S1).
    data_format : {"channels_last", "channels_first"}
        Whether the channels are the last axis, or before the pooled axes.

    Returns
    -------
    jax.Array
        Of the dtype of `inputs`.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.adaptive_avg_pool(jnp.arange(1.0, 6.0).reshape(5, 1), (3,)).ravel()
    Array([1.5, 3. , 4.5], dtype=float32)
    """
    return _adaptive_pool("adaptive_avg_pool", "avg", inputs, output_size, data_format)


def adaptive_max_pool(
    inputs: ArrayLike, output_size: Sequence[int], *, data_format: DataFormat = "channels_last"
) -> jax.Array:
    """The largest element of each of `output_size` windows that split the input evenly; see `adaptive_avg_pool`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.adaptive_max_pool(jnp.arange(1.0, 6.0).reshape(5, 1), (3,)).ravel()
    Array([2., 4., 5.], dtype=float32)
    """
    return _adaptive_pool("adaptive_max_pool", "max", inputs, output_size, data_format)
