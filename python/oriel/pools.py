"""Pools with windows of one size and stride: `max_pool`, `min_pool`, `avg_pool`, `sum_pool`, `lp_pool`, and their
inverse `max_unpool`.
"""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.array_types import (
    AnyArray,
    ArrayT,
    IndexArray,
    IndexDtype,
    IndexSpace,
    Ints,
    NanPolicy,
    Operand,
    Padding,
    ScalarT,
)
from oriel.pool import check_nan_policy, refuse_kernel
from oriel.valid_taps import ValidTaps, is_masked, run

__all__ = ["avg_pool", "lp_pool", "max_pool", "max_unpool", "min_pool", "sum_pool", "unpooled_shape"]

_Pool = _core.Pool
_forward = _core.forward
_ndarray = np.ndarray  # most inputs are exactly this: they need no look at their class


def index_space(return_indices: Literal[True] | IndexSpace) -> IndexSpace:
    """What returned indices count: True means the plane."""
    return "plane" if return_indices is True else return_indices


@overload
def max_pool(x: ArrayT, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[False] = False, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
             **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def max_pool(x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[False] = False, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: NDArray[Any] | None = None,
             **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


@overload
def max_pool(x: NDArray[ScalarT], kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
             dilation: Ints = 1, *, ceil_mode: bool = False, return_indices: Literal[True] | IndexSpace,
             index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[NDArray[ScalarT], IndexArray] | None = None,
             **valid: Unpack[ValidTaps]) -> tuple[NDArray[ScalarT], IndexArray]: ...


@overload
def max_pool(x: ArrayT, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[True] | IndexSpace, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[ArrayT, ArrayT] | None = None,
             **valid: Unpack[ValidTaps]) -> tuple[ArrayT, ArrayT]: ...


@overload
def max_pool(x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[True] | IndexSpace, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[NDArray[Any], IndexArray] | None = None,
             **valid: Unpack[ValidTaps]) -> tuple[NDArray[Any], IndexArray]: ...


@overload
def max_pool(x: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: bool | IndexSpace, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[AnyArray, AnyArray] | AnyArray | None = None,
             **valid: Unpack[ValidTaps]) -> Any: ...


def max_pool(x: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: bool | IndexSpace = False, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: AnyArray | tuple[AnyArray, AnyArray] | None = None,
             **valid: Unpack[ValidTaps]) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each window; windows are `stride` apart, by default `kernel_size`.

    Parameters
    ----------
    x : array of shape (…)
        A NumPy array, a CPU tensor of PyTorch or JAX, or anything with DLPack or `__array__`; read without copying,
        whatever its strides. (Arrays of the other byte order and fields of packed records are converted.)
    kernel_size : int or sequence of int
        Taps of a window along each pooled axis: one number for all of them, or a sequence of one for each.
    stride : int or sequence of int, optional
        Step of the window; `kernel_size` if not given.
    padding : int, sequence of int, sequence of (before, after), "valid", "same" or "same_lower"
        Elements of padding before and after the input. They have no value: a window with padding has fewer taps.
    dilation : int or sequence of int
        Distance between taps.
    ceil_mode : bool
        Whether to keep a partial last window (S1).
    return_indices : bool or {"plane", "tensor", "window"}
        Also return the index of each result; True: flat in the pooled axes, as in PyTorch (S10).
    index_dtype : {"int64", "int32", "uint8"}
        The dtype of indices; those of the `"window"` may be int32 or, for at most 255 taps, uint8, in which 255 means
        that a window has no tap.
    axes : int or sequence of int, optional
        The pooled axes, negative ones counted from the end; all axes if not given, as in SciPy and scikit-image. Name
        them if others are for a batch or channels, e.g. ``axes=(-2, -1)``, or use `max_pool2d`. At most 8 of 16 axes.
    nan_policy : {"propagate", "omit"}
        Whether a NaN makes the result NaN or is left out (S3).
    out : array, optional
        Where to write the result; with indices a tuple of two arrays. It must not share memory with `x`.
    footprint, mask, weights, nodata, min_count, min_fraction, fill, dtype
        Which elements count, and what the result is (`oriel.valid_taps.ValidTaps`); for NumPy arrays and CPU tensors.

    Returns
    -------
    array, or (array, array of index_dtype)
        Of the kind, dtype and memory order of `x`; the pooled axes have
        floor((n + before + after - dilation*(kernel - 1) - 1) / stride) + 1 elements.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    See Also
    --------
    max_pool1d, max_pool2d, max_pool3d : With PyTorch's arguments.

    Notes
    -----
    The rules are S1-S6 and S10 (`python -m oriel.docs semantics`).

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> x = np.array([[1, 2, 3, 4], [5, 9, 7, 8]])
    >>> oriel.max_pool(x, 2)
    array([[9, 8]])
    >>> oriel.max_pool(x, (1, 3), stride=1, return_indices=True)
    (array([[3, 4],
           [9, 9]]), array([[2, 3],
           [5, 5]]))
    >>> oriel.max_pool(x, 2, return_indices="window", index_dtype="uint8")[1]
    array([[3, 3]], dtype=uint8)
    >>> volume = np.arange(4 * 6 * 6).reshape(4, 6, 6)
    >>> oriel.max_pool(volume, 2).shape, oriel.max_pool(volume, 2, axes=(1, 2)).shape
    ((2, 3, 3), (4, 3, 3))
    """
    if valid or type(x) is not _ndarray and is_masked(x):
        return run("max", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
                   index_space(return_indices) if return_indices else None, index_dtype)
    if kernel_size is None:
        refuse_kernel("max_pool")
    pool = _Pool("max", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
                 nan_policy != "propagate" and check_nan_policy(nan_policy), 0)
    if return_indices:
        return _core.forward_indices(pool, x, index_space(return_indices), out, index_dtype)
    return _forward(pool, x, out)


@overload
def min_pool(x: ArrayT, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[False] = False, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
             **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def min_pool(x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[False] = False, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: NDArray[Any] | None = None,
             **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


@overload
def min_pool(x: NDArray[ScalarT], kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
             dilation: Ints = 1, *, ceil_mode: bool = False, return_indices: Literal[True] | IndexSpace,
             index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[NDArray[ScalarT], IndexArray] | None = None,
             **valid: Unpack[ValidTaps]) -> tuple[NDArray[ScalarT], IndexArray]: ...


@overload
def min_pool(x: ArrayT, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[True] | IndexSpace, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[ArrayT, ArrayT] | None = None,
             **valid: Unpack[ValidTaps]) -> tuple[ArrayT, ArrayT]: ...


@overload
def min_pool(x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: Literal[True] | IndexSpace, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[NDArray[Any], IndexArray] | None = None,
             **valid: Unpack[ValidTaps]) -> tuple[NDArray[Any], IndexArray]: ...


@overload
def min_pool(x: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: bool | IndexSpace, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: tuple[AnyArray, AnyArray] | AnyArray | None = None,
             **valid: Unpack[ValidTaps]) -> Any: ...


def min_pool(x: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, return_indices: bool | IndexSpace = False, index_dtype: IndexDtype = "int64",
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: AnyArray | tuple[AnyArray, AnyArray] | None = None,
             **valid: Unpack[ValidTaps]) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The smallest element of each window. Parameters, result and errors are those of `max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.min_pool(np.array([4.0, 3.0, 2.0, np.nan]), 2, nan_policy="omit")
    array([3., 2.])
    """
    if valid or type(x) is not _ndarray and is_masked(x):
        return run("min", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
                   index_space(return_indices) if return_indices else None, index_dtype)
    if kernel_size is None:
        refuse_kernel("min_pool")
    pool = _Pool("min", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
                 nan_policy != "propagate" and check_nan_policy(nan_policy), 0)
    if return_indices:
        return _core.forward_indices(pool, x, index_space(return_indices), out, index_dtype)
    return _forward(pool, x, out)


@overload
def avg_pool(x: ArrayT, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
             **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def avg_pool(x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: NDArray[Any] | None = None,
             **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def avg_pool(x: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
             axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: AnyArray | None = None,
             **valid: Unpack[ValidTaps]) -> AnyArray:
    """The mean of each window, rounded once to `x`'s dtype. Other parameters, result and errors are those of
    `max_pool`.

    Parameters
    ----------
    count_include_pad : bool
        Whether padding counts in the divisor (S5). The part of a `ceil_mode` window beyond the padding never does.
    divisor_override : int, optional
        Divide by this instead.

    Notes
    -----
    Rules S5, S7 and S8: a fixed order of addition, accumulators of float32 for 16-bit types, exact sums of integers,
    whose mean is rounded half to even.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.avg_pool(np.array([2.0, 4.0, 6.0, 8.0]), 3, 2, padding=1, count_include_pad=False)
    array([3., 6.])
    """
    if valid or type(x) is not _ndarray and is_masked(x):
        return run("avg", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
                   more={"count_include_pad": count_include_pad, "divisor_override": divisor_override})
    if kernel_size is None:
        refuse_kernel("avg_pool")
    pool = _Pool("avg", kernel_size, stride, padding, dilation, None, axes, ceil_mode, count_include_pad,
                 divisor_override, None, nan_policy != "propagate" and check_nan_policy(nan_policy), 0)
    return _forward(pool, x, out)


@overload
def sum_pool(x: ArrayT, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: ArrayT | None = None,
             **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def sum_pool(x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: NDArray[Any] | None = None,
             **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def sum_pool(x: Operand, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *,
             ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: AnyArray | None = None,
             **valid: Unpack[ValidTaps]) -> AnyArray:
    """The sum of each window, in `x`'s dtype; integers that do not fit saturate (S7). See `max_pool` for the rest.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.sum_pool(np.array([200, 100, 3, 4], np.uint8), 2)
    array([255,   7], dtype=uint8)
    """
    if valid or type(x) is not _ndarray and is_masked(x):
        return run("sum", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)
    if kernel_size is None:
        refuse_kernel("sum_pool")
    pool = _Pool("sum", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
                 nan_policy != "propagate" and check_nan_policy(nan_policy), 0)
    return _forward(pool, x, out)


@overload
def lp_pool(x: ArrayT, norm_type: float, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
            dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
            nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
            **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def lp_pool(x: ArrayLike, norm_type: float, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
            dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
            nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None,
            **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def lp_pool(x: Operand, norm_type: float, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
            dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
            nan_policy: NanPolicy = "propagate", out: AnyArray | None = None,
            **valid: Unpack[ValidTaps]) -> AnyArray:
    """The p-norm of each window, ``(|x1|^p + |x2|^p + …)^(1/p)``. See `max_pool` for the rest.

    Parameters
    ----------
    norm_type : float
        p, at least 1 or infinity; integers take 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.lp_pool(np.array([3.0, -4.0, 5.0, 12.0]), 2, 2)
    array([ 5., 13.])
    """
    if valid or type(x) is not _ndarray and is_masked(x):
        return run("lp", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
                   more={"norm_type": norm_type})
    if kernel_size is None:
        refuse_kernel("lp_pool")
    pool = _Pool("lp", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, norm_type,
                 nan_policy != "propagate" and check_nan_policy(nan_policy), 0)
    return _forward(pool, x, out)


def unpooled_shape(function: str, shape: tuple[int, ...], pool: _core.Pool, output_size: Any) -> tuple[int, ...]:
    """The shape of the result of `max_unpool`: `output_size` (of the pooled axes, or of all), or the smallest that the
    windows need.
    """
    axes = pool.resolved_axes(shape)
    if output_size is not None:
        sizes = tuple(output_size) if hasattr(output_size, "__iter__") else (output_size,) * len(axes)
        if len(sizes) == len(shape):
            return sizes
        if len(sizes) != len(axes):
            raise ValueError(f"{function}: output_size must have {len(axes)} or {len(shape)} values, but is "
                             f"{output_size!r}")
    else:
        def per_axis(values: tuple[int, ...], default: int) -> tuple[int, ...]:
            return values * len(axes) if len(values) == 1 else values or (default,) * len(axes)

        kernel = per_axis(pool.kernel_size, 1)
        stride = per_axis(pool.stride, 0)
        before = per_axis(pool.pad_lo, 0)
        after = per_axis(pool.pad_hi, 0) if pool.pad_hi else before
        sizes = tuple((shape[axis] - 1) * (s or k) + k - lo - hi
                      for axis, k, s, lo, hi in zip(axes, kernel, stride, before, after))
    result = list(shape)
    for axis, size in zip(axes, sizes):
        result[axis] = size
    return tuple(result)


def max_unpool(x: ArrayT, indices: AnyArray, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
               output_size: Ints | None = None, *, axes: Ints | None = None,
               space: Literal["plane", "tensor"] = "plane", out: ArrayT | None = None) -> ArrayT:
    """Zeros with each element of `x` put at its index: the partial inverse of `max_pool`.

    Parameters
    ----------
    x : array
        The result of `max_pool`.
    indices : array of int64, of x's shape
        The indices that it returned; -1 is skipped.
    kernel_size, stride, padding : int or sequence of int
        As for the pool; they determine the shape of the result if `output_size` is not given.
    output_size : int or sequence of int, optional
        Extents of the result along the pooled axes, or along all axes.
    axes : int or sequence of int, optional
        The pooled axes, as for `max_pool`.
    space : {"plane", "tensor"}
        What indices count.
    out : array, optional
        Where to write the result.

    Returns
    -------
    array
        Of the kind and dtype of `x`. If two elements have the same index, the later one is kept.

    Raises
    ------
    ValueError
        For an index outside its plane, too.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> y, indices = oriel.max_pool(np.array([1.0, 4.0, 3.0, 2.0]), 2, return_indices=True)
    >>> oriel.max_unpool(y, indices, 2)
    array([0., 4., 3., 0.])
    """
    if kernel_size is None:
        refuse_kernel("max_unpool")
    pool = _Pool("max", kernel_size, stride, padding, 1, None, axes)
    shape = unpooled_shape("max_unpool", tuple(x.shape), pool, output_size)
    return _core.unpool(x, indices, space, pool.resolved_axes(tuple(x.shape)), shape, out)
