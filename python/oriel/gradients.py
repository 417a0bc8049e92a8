"""Gradients of pools with respect to their input, for arrays. Adaptive and global pools: see `oriel.Pool.backward`."""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.array_types import AnyArray, ArrayT, IndexSpace, Ints, NanPolicy, Operand, Padding
from oriel.pool import check_nan_policy, refuse_kernel
from oriel.valid_taps import ValidTaps, is_masked, run_backward

__all__ = ["avg_pool_backward", "lp_pool_backward", "max_pool_backward", "min_pool_backward", "sum_pool_backward"]


def _extremum_backward(op: Literal["max", "min"], dy: Operand, x: Any,
                       window: tuple[Ints, Ints | None, Padding, Ints], ceil_mode: bool, indices: Operand | None,
                       space: IndexSpace, axes: Ints | None, nan_policy: NanPolicy, out: AnyArray | None,
                       valid: ValidTaps) -> AnyArray:
    if valid or is_masked(x):
        if indices is not None:
            other = next(iter(valid), "a masked array")
            raise ValueError(f"{op}_pool_backward: indices cannot be combined with {other}, as they say all that the "
                             "gradient needs")
        return run_backward(op, dy, x, *window, ceil_mode, axes, nan_policy, valid, out)
    if window[0] is None:
        refuse_kernel(f"{op}_pool_backward")
    pool = _core.Pool(op, *window, None, axes, ceil_mode, True, None, None, check_nan_policy(nan_policy), 0)
    if indices is None:
        return _core.backward(pool, dy, x, None, out)
    shape: Any = getattr(x, "shape", x)
    return _core.backward_indices(pool, dy, indices, space, tuple(shape), out)


@overload
def max_pool_backward(dy: AnyArray, x: ArrayT, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      indices: AnyArray | None = None, space: IndexSpace = "plane", axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
                      **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def max_pool_backward(dy: ArrayT, x: Ints, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
                      dilation: Ints = 1, *, ceil_mode: bool = False, indices: AnyArray,
                      space: IndexSpace = "plane", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: ArrayT | None = None, **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def max_pool_backward(dy: ArrayLike, x: ArrayLike, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      indices: ArrayLike | None = None, space: IndexSpace = "plane", axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None,
                      **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def max_pool_backward(dy: Operand, x: Operand | Ints, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      indices: Operand | None = None, space: IndexSpace = "plane", axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: AnyArray | None = None,
                      **valid: Unpack[ValidTaps]) -> AnyArray:
    """The gradient of `max_pool`: each `dy` is added to the input that was its window's maximum.

    Parameters
    ----------
    dy : array of the pool's output shape
        The gradient with respect to the result.
    x : array
        The pool's input; if `indices` are given, its shape is enough.
    indices : array of int64, int32 or uint8, optional
        The indices that `max_pool(..., return_indices=True)` returned; by default they are recomputed from `x`.
    space : {"plane", "tensor", "window"}
        What the indices count, as for `return_indices`.
    kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy
        As for the pool.
    out : array of x's shape, optional
        Where to write the result.
    footprint, mask, weights, nodata, min_count, min_fraction, fill, dtype
        As for the pool (`oriel.valid_taps.ValidTaps`).

    Returns
    -------
    array
        Of the shape, dtype and kind of `x`. Terms are added in a fixed order (S9): the same bits for every number of
        threads.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.max_pool_backward(np.array([10.0, 100.0]), np.array([1.0, 5.0, 2.0, 3.0]), 3, 1)
    array([  0., 110.,   0.,   0.])
    """
    return _extremum_backward("max", dy, x, (kernel_size, stride, padding, dilation), ceil_mode, indices, space, axes,
                              nan_policy, out, valid)


@overload
def min_pool_backward(dy: AnyArray, x: ArrayT, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      indices: AnyArray | None = None, space: IndexSpace = "plane", axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
                      **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def min_pool_backward(dy: ArrayT, x: Ints, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0,
                      dilation: Ints = 1, *, ceil_mode: bool = False, indices: AnyArray,
                      space: IndexSpace = "plane", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: ArrayT | None = None, **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def min_pool_backward(dy: ArrayLike, x: ArrayLike, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      indices: ArrayLike | None = None, space: IndexSpace = "plane", axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None,
                      **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def min_pool_backward(dy: Operand, x: Operand | Ints, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      indices: Operand | None = None, space: IndexSpace = "plane", axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: AnyArray | None = None,
                      **valid: Unpack[ValidTaps]) -> AnyArray:
    """The gradient of `min_pool`; see `max_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.min_pool_backward(np.array([10.0, 100.0]), np.array([1.0, 5.0, 2.0, 3.0]), 3, 1)
    array([ 10.,   0., 100.,   0.])
    """
    return _extremum_backward("min", dy, x, (kernel_size, stride, padding, dilation), ceil_mode, indices, space, axes,
                              nan_policy, out, valid)


def _input(function: str, x: Any) -> Any:
    """The input of the pool itself: which of its elements are valid is not said by its shape."""
    if not hasattr(x, "dtype"):
        raise TypeError(f"{function}: input_shape must be the input itself if elements are left out, but is {x!r}")
    return x


def _linear_backward(pool: _core.Pool, dy: Operand, input_shape: Any, out: AnyArray | None) -> AnyArray:
    if hasattr(input_shape, "dtype"):  # the input itself
        return _core.backward(pool, dy, input_shape, None, out)
    return _core.backward(pool, dy, None, input_shape, out)


@overload
def avg_pool_backward(dy: ArrayT, input_shape: Ints | AnyArray, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      count_include_pad: bool = True, divisor_override: int | None = None,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
                      **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def avg_pool_backward(dy: ArrayLike, input_shape: Ints | AnyArray, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      count_include_pad: bool = True, divisor_override: int | None = None,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: NDArray[Any] | None = None, **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def avg_pool_backward(dy: Operand, input_shape: Ints | AnyArray, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      count_include_pad: bool = True, divisor_override: int | None = None,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: AnyArray | None = None,
                      **valid: Unpack[ValidTaps]) -> AnyArray:
    """The gradient of `avg_pool`: each `dy`, divided, is added to every input of its window.

    Parameters
    ----------
    dy : array of the pool's output shape
        The gradient with respect to the result; a floating dtype.
    input_shape : sequence of int, or the input itself
        With `nan_policy="omit"`, a mask or another of those keywords, the input itself is required.
    kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override, axes, nan_policy
        As for the pool.
    out : array of the input's shape, optional
        Where to write the result.
    footprint, mask, weights, nodata, min_count, min_fraction, fill, dtype
        As for the pool (`oriel.valid_taps.ValidTaps`).

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.avg_pool_backward(np.array([3.0, 30.0]), (4,), 3, 1)
    array([ 1., 11., 11., 10.])
    """
    if valid or is_masked(input_shape):
        return run_backward("avg", dy, _input("avg_pool_backward", input_shape), kernel_size, stride, padding, dilation,
                            ceil_mode, axes, nan_policy, valid, out,
                            {"count_include_pad": count_include_pad, "divisor_override": divisor_override})
    if kernel_size is None:
        refuse_kernel("avg_pool_backward")
    pool = _core.Pool("avg", kernel_size, stride, padding, dilation, None, axes, ceil_mode, count_include_pad,
                      divisor_override, None, check_nan_policy(nan_policy), 0)
    return _linear_backward(pool, dy, input_shape, out)


@overload
def sum_pool_backward(dy: ArrayT, input_shape: Ints | AnyArray, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
                      **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def sum_pool_backward(dy: ArrayLike, input_shape: Ints | AnyArray, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: NDArray[Any] | None = None, **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def sum_pool_backward(dy: Operand, input_shape: Ints | AnyArray, kernel_size: Ints, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: AnyArray | None = None,
                      **valid: Unpack[ValidTaps]) -> AnyArray:
    """The gradient of `sum_pool`: each `dy` is added to every input of its window; see `avg_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.sum_pool_backward(np.array([1.0, 10.0]), (4,), 3, 1)
    array([ 1., 11., 11., 10.])
    """
    if valid or is_masked(input_shape):
        return run_backward("sum", dy, _input("sum_pool_backward", input_shape), kernel_size, stride, padding, dilation,
                            ceil_mode, axes, nan_policy, valid, out)
    if kernel_size is None:
        refuse_kernel("sum_pool_backward")
    pool = _core.Pool("sum", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, None,
                      check_nan_policy(nan_policy), 0)
    return _linear_backward(pool, dy, input_shape, out)


@overload
def lp_pool_backward(dy: AnyArray, x: ArrayT, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
                     padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                     axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: ArrayT | None = None,
                     **valid: Unpack[ValidTaps]) -> ArrayT: ...


@overload
def lp_pool_backward(dy: ArrayLike, x: ArrayLike, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
                     padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                     axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                     out: NDArray[Any] | None = None, **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...


def lp_pool_backward(dy: Operand, x: Operand, norm_type: float, kernel_size: Ints, stride: Ints | None = None,
                     padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                     axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: AnyArray | None = None,
                     **valid: Unpack[ValidTaps]) -> AnyArray:
    """The gradient of `lp_pool`: ``dy * sign(x) |x|^(p-1) / y^(p-1)``, added over the windows of each input; 0 if y
    is 0.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.lp_pool_backward(np.array([10.0]), np.array([3.0, -4.0]), 2, 2)
    array([ 6., -8.])
    """
    if valid or is_masked(x):
        return run_backward("lp", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                            out, {"norm_type": norm_type})
    if kernel_size is None:
        refuse_kernel("lp_pool_backward")
    pool = _core.Pool("lp", kernel_size, stride, padding, dilation, None, axes, ceil_mode, True, None, norm_type,
                      check_nan_policy(nan_policy), 0)
    return _core.backward(pool, dy, x, None, out)
