"""Pools over the valid elements of each window: medians, quantiles, variances, standard deviations, means of
exponentials and soft pools, with flax.linen's arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import jax
import jax.core
import numpy as np
from jax.typing import ArrayLike

from oriel.array_types import NanPolicy
from oriel.jax.arguments import (
    DataFormat,
    Padding,
    crop,
    pooled_sizes,
    read_array,
    read_ints,
    read_pairs,
    read_word,
    spatial_axes,
)
from oriel.jax.spec import make_statistic_spec
from oriel.jax.statistic_primitives import statistic_pool
from oriel.pool import check_nan_policy
from oriel.valid_taps import footprint_array

__all__ = ["ValidTaps", "lse_pool", "median_pool", "quantile_pool", "soft_pool", "std_pool", "var_pool"]

Method: TypeAlias = Literal["lower", "higher", "nearest", "midpoint", "mean", "linear", "inverted_cdf", "scipy"]


class ValidTaps(TypedDict, total=False):
    """Keywords of the pools over valid elements of `oriel.jax`, which say which elements of a window count.

    footprint : array of bool of the window's shape
        The taps of a window.
    nan_policy : {"propagate", "omit"}
        Whether a NaN makes the result NaN or is left out. What a mask excludes may be made NaN by `jax.numpy.where`.
    min_count : int
        With fewer valid elements the result is `fill`, and their gradient 0.
    min_fraction : float
        The same as a share of the elements that exist, 0 to 1.
    fill : float
        By default NaN, or 0 in integers.
    """

    footprint: Any
    nan_policy: NanPolicy
    min_count: int
    min_fraction: float
    fill: float | None


_KEYWORDS = frozenset(ValidTaps.__annotations__)


def _options(function: str, window: tuple[int, ...], valid: Any, own: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The engine's options as pairs that can be hashed."""
    unknown = sorted(set(valid) - _KEYWORDS)
    if unknown:
        raise TypeError(
            f"{function}: there is no argument {unknown[0]}; keywords of valid elements are "
            f"{', '.join(sorted(_KEYWORDS))}"
        )
    given = {**own, **{name: value for name, value in valid.items() if name != "nan_policy" and value is not None}}
    if "footprint" in given:
        taps = footprint_array(function, given["footprint"])
        if taps.shape != window:
            raise ValueError(f"{function}: footprint must have the window's shape {window}, but has {taps.shape}")
        given["footprint"] = taps.tobytes()
    for name, value in given.items():
        if isinstance(value, (jax.core.Tracer, jax.Array)):
            raise TypeError(f"{function}: {name} must be a number of Python, but is {value!r}")
    return tuple(sorted(given.items()))


def _pool(
    op: str,
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    dilation: int | Sequence[int],
    data_format: DataFormat,
    valid: ValidTaps,
    **own: Any,
) -> jax.Array:
    function = f"{op}_pool"
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
    omits_nan = check_nan_policy(valid.get("nan_policy", "propagate"))
    options = _options(function, window, valid, own)
    has_float64 = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
    spec = make_statistic_spec(
        op, window, stride, pads, dilation, axes, pooled_sizes(x, axes), x.dtype.name, omits_nan, options, has_float64
    )
    return statistic_pool(x, spec)


def median_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    method: Method = "lower",
    **valid: Unpack[ValidTaps],
) -> jax.Array:
    """The median of the valid elements of each window (S16); the gradient goes to the element that it is.

    Parameters
    ----------
    inputs, window_shape, strides, padding, dilation, data_format
        As for `max_pool`; elements of padding are absent.
    method : str
        Which element the median of an even number is: "lower" (the default), "higher", "mean" or "midpoint"
        (`numpy.median`; half of the gradient goes to each of two elements).
    footprint, nan_policy, min_count, min_fraction, fill
        Which elements count: `oriel.jax.ValidTaps`.

    Returns
    -------
    jax.Array
        Of the dtype of `inputs`.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Notes
    -----
    The results are those of `oriel.median_pool`, bit for bit. `jit`, `vmap`, `grad`, `jax.checkpoint`, `shard_map` and
    `export` work, on CPU devices; forward mode and second derivatives do not.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> x = jnp.array([4.0, 3.0, 1.0, 2.0]).reshape(4, 1)
    >>> jax.jit(lambda x: oriel.jax.median_pool(x, (4,)))(x)
    Array([[2.]], dtype=float32)
    >>> jax.grad(lambda x: oriel.jax.median_pool(x, (4,)).sum())(x).ravel()
    Array([0., 0., 0., 1.], dtype=float32)
    """
    return _pool("median", inputs, window_shape, strides, padding, dilation, data_format, valid, method=method)


def quantile_pool(
    inputs: ArrayLike,
    q: float | Sequence[float],
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    method: Method = "lower",
    **valid: Unpack[ValidTaps],
) -> jax.Array:
    """The quantile `q` of the valid elements of each window, or several (S16). See `median_pool` for the rest.

    Parameters
    ----------
    q : float or sequence of float
        0 to 1. Several share one sort; they are the first axis of the result.
    method : str
        "lower", "higher", "nearest", "midpoint", "linear" (the default of `jax.numpy.quantile`), "inverted_cdf",
        "scipy".

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> x = jnp.array([1.0, 2.0, 3.0, 4.0, 10.0]).reshape(5, 1)
    >>> oriel.jax.quantile_pool(x, [0.25, 0.75], (5,), method="linear").ravel()
    Array([2., 4.], dtype=float32)
    """
    shares = np.asarray(q)
    if shares.dtype.kind not in "iuf" or shares.ndim > 1 or shares.size == 0:
        raise TypeError(f"quantile_pool: q must be a number or a sequence of numbers, but is {q!r}")
    y = _pool(
        "quantile",
        inputs,
        window_shape,
        strides,
        padding,
        dilation,
        data_format,
        valid,
        q=tuple(float(share) for share in shares.ravel()),
        method=method,
    )
    return y[None] if shares.shape == (1,) else y


def var_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    ddof: int = 0,
    **valid: Unpack[ValidTaps],
) -> jax.Array:
    """The variance of the valid elements of each window, with divisor n - ddof (S18). See `median_pool` for the rest.

    It is computed from differences in float64, so it is right for a mean of any size. That of integers is float64, or
    float32 without `jax_enable_x64`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.var_pool(jnp.array([100001.0, 100002.0, 100004.0]).reshape(3, 1), (3,))
    Array([[1.5555556]], dtype=float32)
    """
    return _pool("var", inputs, window_shape, strides, padding, dilation, data_format, valid, ddof=ddof)


def std_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    ddof: int = 0,
    **valid: Unpack[ValidTaps],
) -> jax.Array:
    """The standard deviation of each window, the root of `var_pool`; its gradient is 0 where it is 0 (S18).

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.std_pool(jnp.array([1.0, 3.0, 5.0, 5.0]).reshape(4, 1), (2,), (2,)).ravel()
    Array([1., 0.], dtype=float32)
    """
    return _pool("std", inputs, window_shape, strides, padding, dilation, data_format, valid, ddof=ddof)


def lse_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    sharpness: float = 1.0,
    sum: bool = False,
    **valid: Unpack[ValidTaps],
) -> jax.Array:
    """log(mean(exp(r x))) / r of each window, r being the sharpness (S19): between the mean and the maximum.

    With ``sum=True`` the sum of the exponentials takes the place of their mean. See `median_pool` for the rest.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.lse_pool(jnp.array([0.0, 1.0]).reshape(2, 1), (2,))
    Array([[0.6201145]], dtype=float32)
    """
    return _pool(
        "lse", inputs, window_shape, strides, padding, dilation, data_format, valid, sharpness=sharpness, sum=sum
    )


def soft_pool(
    inputs: ArrayLike,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    *,
    dilation: int | Sequence[int] = 1,
    data_format: DataFormat = "channels_last",
    **valid: Unpack[ValidTaps],
) -> jax.Array:
    """The mean of each window weighted by the exponentials of its elements, SoftPool (S19). See `median_pool`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.soft_pool(jnp.array([0.0, 1.0]).reshape(2, 1), (2,))
    Array([[0.7310586]], dtype=float32)
    """
    return _pool("soft", inputs, window_shape, strides, padding, dilation, data_format, valid)
