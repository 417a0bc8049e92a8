"""Pools with flax.linen's arguments: `max_pool`, `min_pool`, `avg_pool`, `sum_pool`, `lp_pool`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

import jax
import numpy as np
from jax.typing import ArrayLike

from oriel.array_types import Op
from oriel.jax.arguments import (
    DataFormat,
    Padding,
    crop,
    pooled_sizes,
    read_array,
    read_ints,
    read_norm,
    read_pairs,
    read_word,
    spatial_axes,
)
from oriel.jax.lp import lp_pool_p
from oriel.jax.primitives import sum_pool_p
from oriel.jax.selection import select_indices_p, select_p
from oriel.jax.spec import PoolSpec, make_spec

__all__ = ["avg_pool", "lp_pool", "max_pool", "min_pool", "sum_pool"]

#: What indices count: a plane of the pooled axes or the taps of a window.
IndexSpace: TypeAlias = Literal["plane", "window"]

_PRIMITIVES = {"max": select_p, "min": select_p, "avg": sum_pool_p, "sum": sum_pool_p, "lp": lp_pool_p}


def pool_as(x: jax.Array, spec: PoolSpec) -> jax.Array:
    """The pool of x that `spec` describes."""
    return _PRIMITIVES[spec.op].bind(x, spec=spec)


def pool_with_indices(function: str, x: jax.Array, spec: PoolSpec, space: IndexSpace) -> tuple[jax.Array, jax.Array]:
    """The same for a maximum or minimum, and where each came from, as JAX's widest enabled int."""
    dtype = jax.dtypes.canonicalize_dtype(np.int64)
    if math.prod(spec.inputs) > np.iinfo(dtype).max:
        raise ValueError(f"{function}: indices of a plane of shape {spec.inputs} need 64 bits: enable jax_enable_x64")
    y, indices = select_indices_p.bind(x, spec=spec, space=space, index_dtype=dtype)
    return y, indices


def _read_pool(
    function: str,
    op: Op,
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    dilation: int | Sequence[int],
    data_format: DataFormat,
    count_include_pad: bool = True,
    norm_type: float | None = None,
) -> tuple[jax.Array, PoolSpec]:
    """The inputs as an array, cropped where padding is negative, and the pool."""
    x = read_array(function, inputs)
    window = read_ints(function, "window_shape", window_shape)
    k = len(window)
    stride = (1,) * k if strides is None else read_ints(function, "strides", strides, k)
    dilation = read_ints(function, "dilation", dilation, k)
    axes = spatial_axes(function, x, k, data_format)
    if isinstance(padding, str):
        pads: Any = read_word(function, padding)
    else:
        x, pads = crop(x, axes, read_pairs(function, padding, k))
    if type(count_include_pad) is not bool:
        raise TypeError(f"{function}: count_include_pad must be True or False, but is {count_include_pad!r}")
    return x, make_spec(
        op, window, stride, pads, dilation, None, axes, pooled_sizes(x, axes), count_include_pad, norm_type
    )


def _read_indices(function: str, return_indices: bool | IndexSpace) -> IndexSpace:
    if return_indices is True:
        return "plane"
    if return_indices in ("plane", "window"):
        return return_indices
    raise ValueError(f"{function}: return_indices must be True, False, 'plane' or 'window', but is {return_indices!r}")


@overload
def max_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: Literal[False] = False,
) -> jax.Array: ...


@overload
def max_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: Literal[True] | IndexSpace,
) -> tuple[jax.Array, jax.Array]: ...


@overload
def max_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: bool | IndexSpace,
) -> jax.Array | tuple[jax.Array, jax.Array]: ...


def max_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: bool | IndexSpace = False,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """The largest element of each window, as `flax.linen.max_pool`.

    Parameters
    ----------
    inputs : array of shape (…, window dims…, channels)
        Any number of batch axes, or none; any real dtype of 8 to 64 bits.
    window_shape : sequence of int
        Taps of a window along each pooled axis; the pooled axes are the last ones before the channels, as many as there
        are values.
    strides : sequence of int, optional
        Step of the window, by default 1 along each axis.
    padding : "VALID", "SAME", "SAME_LOWER" or a sequence of (before, after)
        Elements of padding before and after the input, which have no value; negative padding crops the input.
    dilation : int or sequence of int
        Distance between taps.
    data_format : {"channels_last", "channels_first"}
        Whether the channels are the last axis, or before the pooled axes.
    return_indices : bool or {"plane", "window"}
        Also return the index of each maximum; True: flat in the pooled axes (S10). Their dtype is int32, or int64 with
        `jax_enable_x64`.

    Returns
    -------
    jax.Array, or (jax.Array, jax.Array)
        Of the dtype of `inputs`; along a pooled axis of n elements
        floor((n + before + after - dilation (window - 1) - 1) / stride) + 1.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text. A window that does not fit is an error, while
        flax returns an empty array.

    Notes
    -----
    The rules are S1-S4, S6, S9 and S10 (`python -m oriel.docs semantics`); the results are those of `oriel.max_pool`,
    bit for bit.
    `jit`, `vmap`, `jvp`, `grad` of any order, `shard_map` and `export` work. The derivative belongs to the first of
    equal maxima.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> x = jnp.arange(16.0).reshape(1, 4, 4, 1)
    >>> oriel.jax.max_pool(x, (2, 2), (2, 2)).reshape(2, 2)
    Array([[ 5.,  7.],
           [13., 15.]], dtype=float32)
    >>> jax.grad(lambda x: oriel.jax.max_pool(x, (2, 2), (2, 2)).sum())(x).reshape(4, 4)
    Array([[0., 0., 0., 0.],
           [0., 1., 0., 1.],
           [0., 0., 0., 0.],
           [0., 1., 0., 1.]], dtype=float32)
    """
    x, spec = _read_pool("max_pool", "max", inputs, window_shape, strides, padding, dilation, data_format)
    if return_indices is False:
        return select_p.bind(x, spec=spec)
    return pool_with_indices("max_pool", x, spec, _read_indices("max_pool", return_indices))


@overload
def min_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: Literal[False] = False,
) -> jax.Array: ...


@overload
def min_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: Literal[True] | IndexSpace,
) -> tuple[jax.Array, jax.Array]: ...


@overload
def min_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: bool | IndexSpace,
) -> jax.Array | tuple[jax.Array, jax.Array]: ...


def min_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    return_indices: bool | IndexSpace = False,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """The smallest element of each window, as `flax.linen.min_pool`. Parameters, result and errors are those of
    `max_pool`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.min_pool(jnp.array([4.0, 3.0, 5.0, 2.0]).reshape(4, 1), (2,)).ravel()
    Array([3., 3., 2.], dtype=float32)
    """
    x, spec = _read_pool("min_pool", "min", inputs, window_shape, strides, padding, dilation, data_format)
    if return_indices is False:
        return select_p.bind(x, spec=spec)
    return pool_with_indices("min_pool", x, spec, _read_indices("min_pool", return_indices))


def avg_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    count_include_pad: bool = True,
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The mean of each window, as `flax.linen.avg_pool`. Other parameters, result and errors are those of `max_pool`.

    Parameters
    ----------
    count_include_pad : bool
        Whether padding counts in the divisor. If not, the result of a window without any tap is 0 (S6), while flax
        returns NaN.

    Notes
    -----
    Rules S5, S7 and S8: a fixed order of addition, float32 accumulators for 16-bit types, one rounding; means of
    integers are rounded half to even.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> x = jnp.array([2.0, 4.0, 6.0, 8.0]).reshape(4, 1)
    >>> oriel.jax.avg_pool(x, (3,), (2,), "SAME", count_include_pad=False).ravel()
    Array([4., 7.], dtype=float32)
    """
    x, spec = _read_pool(
        "avg_pool", "avg", inputs, window_shape, strides, padding, dilation, data_format, count_include_pad
    )
    return sum_pool_p.bind(x, spec=spec)


def sum_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The sum of each window; integers of 8 to 32 bits that do not fit saturate (S7). See `max_pool` for the rest.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.sum_pool(jnp.array([[200], [100], [3]], jnp.uint8), (2,)).ravel()
    Array([255, 103], dtype=uint8)
    """
    x, spec = _read_pool("sum_pool", "sum", inputs, window_shape, strides, padding, dilation, data_format)
    return sum_pool_p.bind(x, spec=spec)


def lp_pool(
    inputs: ArrayLike,
    norm_type: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
) -> jax.Array:
    """The p-norm of each window, ``(|x1|^p + |x2|^p + …)^(1/p)``. See `max_pool` for the rest.

    Parameters
    ----------
    norm_type : float
        p, at least 1 or infinity.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.lp_pool(jnp.array([3.0, -4.0, 5.0, 12.0]).reshape(4, 1), 2, (2,), (2,)).ravel()
    Array([ 5., 13.], dtype=float32)
    """
    p = read_norm("lp_pool", norm_type)
    x, spec = _read_pool("lp_pool", "lp", inputs, window_shape, strides, padding, dilation, data_format, norm_type=p)
    return lp_pool_p.bind(x, spec=spec)
