"""Pools whose windows follow from the input: adaptive ones (a given number of outputs) and global ones (one output)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, overload

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
    Op,
    Operand,
    OutputSize,
    ScalarT,
)
from oriel.pool import check_nan_policy
from oriel.pools import index_space

__all__ = [
    "adaptive_avg_pool", "adaptive_lp_pool", "adaptive_max_pool", "adaptive_min_pool", "adaptive_sum_pool",
    "global_avg_pool", "global_lp_pool", "global_max_pool", "global_min_pool", "global_sum_pool",
]


def complete_sizes(x: Any, output_size: Any, axes: Any = None) -> Any:
    """`output_size` with each None replaced by the extent of its axis: of `axes`, or of the last ones, as in PyTorch."""
    if output_size is None:
        raise TypeError("adaptive pool: output_size must be an int or a sequence of ints, but is None")
    if isinstance(output_size, (tuple, list)) and any(size is None for size in output_size):
        shape = tuple(x.shape)
        named = range(-len(output_size), 0) if axes is None else axes if isinstance(axes, Iterable) else (axes,)
        places = [axis for axis in named if -len(shape) <= axis < len(shape)]
        if len(places) == len(output_size):  # else the engine says what is wrong
            return tuple(shape[axis] if size is None else size for axis, size in zip(places, output_size))
    return output_size


def _adaptive(op: Op, x: Operand, output_size: OutputSize, axes: Ints | None, nan_policy: NanPolicy,
              norm: float | None = None) -> _core.Pool:
    return _core.Pool(op, None, None, 0, 1, complete_sizes(x, output_size, axes), axes, False, True, None, norm,
                      check_nan_policy(nan_policy), 0)


def _global(op: Op, x: Operand, axes: Ints | None, keepdims: bool, nan_policy: NanPolicy, out: AnyArray | None,
            norm: float | None = None) -> Any:
    pool = _core.Pool(op, None, None, 0, 1, None, axes, False, True, None, norm, check_nan_policy(nan_policy), 0)
    y = _core.forward(pool, x, out)
    if keepdims:
        return y
    if out is not None:
        raise ValueError(f"global_{op}_pool: out must be None if keepdims is False, but is {type(out).__name__}")
    pooled = pool.resolved_axes(tuple(y.shape))
    return y[tuple(0 if axis in pooled else slice(None) for axis in range(len(y.shape)))]


@overload
def adaptive_max_pool(x: ArrayT, output_size: OutputSize, *, return_indices: Literal[False] = False,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: ArrayT | None = None) -> ArrayT: ...


@overload
def adaptive_max_pool(x: ArrayLike, output_size: OutputSize, *, return_indices: Literal[False] = False,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: NDArray[Any] | None = None) -> NDArray[Any]: ...


@overload
def adaptive_max_pool(
        x: NDArray[ScalarT], output_size: OutputSize, *, return_indices: Literal[True] | IndexSpace,
        index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
        out: tuple[NDArray[ScalarT], IndexArray] | None = None) -> tuple[NDArray[ScalarT], IndexArray]: ...


@overload
def adaptive_max_pool(x: ArrayT, output_size: OutputSize, *, return_indices: Literal[True] | IndexSpace,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: tuple[ArrayT, ArrayT] | None = None) -> tuple[ArrayT, ArrayT]: ...


@overload
def adaptive_max_pool(x: ArrayLike, output_size: OutputSize, *, return_indices: Literal[True] | IndexSpace,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: tuple[NDArray[Any], IndexArray] | None = None) -> tuple[NDArray[Any], IndexArray]: ...


@overload
def adaptive_max_pool(x: Operand, output_size: OutputSize, *, return_indices: bool | IndexSpace,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: tuple[AnyArray, AnyArray] | AnyArray | None = None) -> Any: ...


def adaptive_max_pool(x: Operand, output_size: OutputSize, *, return_indices: bool | IndexSpace = False,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: AnyArray | tuple[AnyArray, AnyArray] | None = None) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The largest element of each of `output_size` windows that split the input evenly.

    Parameters
    ----------
    x : array of shape (…)
        As for `max_pool`.
    output_size : int or sequence of int
        Number of windows along each pooled axis: window o of m over n elements contains those from floor(o n / m) to
        ceil((o + 1) n / m). None within a sequence keeps the extent of its axis.
    return_indices, index_dtype, axes, nan_policy, out
        As for `max_pool`; small codes count the taps of the largest window.

    Returns
    -------
    array, or (array, array of index_dtype)
        Of the kind, dtype and memory order of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_max_pool(np.array([1.0, 5.0, 2.0, 4.0, 3.0]), 2)
    array([5., 4.])
    """
    pool = _adaptive("max", x, output_size, axes, nan_policy)
    if return_indices:
        return _core.forward_indices(pool, x, index_space(return_indices), out, index_dtype)
    return _core.forward(pool, x, out)


@overload
def adaptive_min_pool(x: ArrayT, output_size: OutputSize, *, return_indices: Literal[False] = False,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: ArrayT | None = None) -> ArrayT: ...


@overload
def adaptive_min_pool(x: ArrayLike, output_size: OutputSize, *, return_indices: Literal[False] = False,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: NDArray[Any] | None = None) -> NDArray[Any]: ...


@overload
def adaptive_min_pool(
        x: NDArray[ScalarT], output_size: OutputSize, *, return_indices: Literal[True] | IndexSpace,
        index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
        out: tuple[NDArray[ScalarT], IndexArray] | None = None) -> tuple[NDArray[ScalarT], IndexArray]: ...


@overload
def adaptive_min_pool(x: ArrayT, output_size: OutputSize, *, return_indices: Literal[True] | IndexSpace,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: tuple[ArrayT, ArrayT] | None = None) -> tuple[ArrayT, ArrayT]: ...


@overload
def adaptive_min_pool(x: ArrayLike, output_size: OutputSize, *, return_indices: Literal[True] | IndexSpace,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: tuple[NDArray[Any], IndexArray] | None = None) -> tuple[NDArray[Any], IndexArray]: ...


@overload
def adaptive_min_pool(x: Operand, output_size: OutputSize, *, return_indices: bool | IndexSpace,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: tuple[AnyArray, AnyArray] | AnyArray | None = None) -> Any: ...


def adaptive_min_pool(x: Operand, output_size: OutputSize, *, return_indices: bool | IndexSpace = False,
                      index_dtype: IndexDtype = "int64", axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: AnyArray | tuple[AnyArray, AnyArray] | None = None) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The smallest element of each of `output_size` windows; see `adaptive_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_min_pool(np.array([1.0, 5.0, 2.0, 4.0, 3.0]), 2)
    array([1., 2.])
    """
    pool = _adaptive("min", x, output_size, axes, nan_policy)
    if return_indices:
        return _core.forward_indices(pool, x, index_space(return_indices), out, index_dtype)
    return _core.forward(pool, x, out)


@overload
def adaptive_avg_pool(x: ArrayT, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def adaptive_avg_pool(x: ArrayLike, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


def adaptive_avg_pool(x: Operand, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: AnyArray | None = None) -> AnyArray:
    """The mean of each of `output_size` windows; see `adaptive_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_avg_pool(np.array([1.0, 5.0, 2.0, 4.0, 3.0]), 2)
    array([2.66666667, 3.        ])
    """
    return _core.forward(_adaptive("avg", x, output_size, axes, nan_policy), x, out)


@overload
def adaptive_sum_pool(x: ArrayT, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def adaptive_sum_pool(x: ArrayLike, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


def adaptive_sum_pool(x: Operand, output_size: OutputSize, *, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: AnyArray | None = None) -> AnyArray:
    """The sum of each of `output_size` windows; see `adaptive_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_sum_pool(np.array([1.0, 5.0, 2.0, 4.0, 3.0]), 2)
    array([8., 9.])
    """
    return _core.forward(_adaptive("sum", x, output_size, axes, nan_policy), x, out)


@overload
def adaptive_lp_pool(x: ArrayT, norm_type: float, output_size: OutputSize, *, axes: Ints | None = None,
                     nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def adaptive_lp_pool(x: ArrayLike, norm_type: float, output_size: OutputSize, *, axes: Ints | None = None,
                     nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


def adaptive_lp_pool(x: Operand, norm_type: float, output_size: OutputSize, *, axes: Ints | None = None,
                     nan_policy: NanPolicy = "propagate", out: AnyArray | None = None) -> AnyArray:
    """The p-norm of each of `output_size` windows; see `adaptive_max_pool` and `lp_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.adaptive_lp_pool(np.array([3.0, -4.0, 5.0, 12.0]), 2, 2)
    array([ 5., 13.])
    """
    return _core.forward(_adaptive("lp", x, output_size, axes, nan_policy, norm_type), x, out)


@overload
def global_max_pool(x: ArrayT, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def global_max_pool(x: ArrayLike, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


@overload
def global_max_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool, nan_policy: NanPolicy = "propagate",
                    out: None = None) -> Any: ...


def global_max_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool = True, nan_policy: NanPolicy = "propagate",
                    out: AnyArray | None = None) -> Any:
    """The largest element over the pooled axes, with one window over everything.

    Parameters
    ----------
    x : array of shape (…)
        As for `max_pool`.
    axes : int or sequence of int, optional
        The pooled axes; all if not given. ``axes=(-2, -1)`` keeps batch and channels.
    keepdims : bool
        Whether to keep the pooled axes, with one element each.
    nan_policy, out
        As for `max_pool`.

    Returns
    -------
    array
        Of the kind and dtype of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.global_max_pool(np.arange(8).reshape(1, 2, 2, 2), axes=(-2, -1), keepdims=False)
    array([[3, 7]])
    >>> oriel.global_max_pool(np.arange(8).reshape(1, 2, 2, 2))
    array([[[[7]]]])
    """
    return _global("max", x, axes, keepdims, nan_policy, out)


@overload
def global_min_pool(x: ArrayT, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def global_min_pool(x: ArrayLike, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


@overload
def global_min_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool, nan_policy: NanPolicy = "propagate",
                    out: None = None) -> Any: ...


def global_min_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool = True, nan_policy: NanPolicy = "propagate",
                    out: AnyArray | None = None) -> Any:
    """The smallest element over the pooled axes; see `global_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.global_min_pool(np.arange(8).reshape(1, 2, 2, 2), axes=(-2, -1), keepdims=False)
    array([[0, 4]])
    """
    return _global("min", x, axes, keepdims, nan_policy, out)


@overload
def global_avg_pool(x: ArrayT, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def global_avg_pool(x: ArrayLike, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


@overload
def global_avg_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool, nan_policy: NanPolicy = "propagate",
                    out: None = None) -> Any: ...


def global_avg_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool = True, nan_policy: NanPolicy = "propagate",
                    out: AnyArray | None = None) -> Any:
    """The mean over the pooled axes; see `global_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.global_avg_pool(np.arange(8).reshape(1, 2, 2, 2), axes=(-2, -1), keepdims=False)
    array([[2, 6]])
    """
    return _global("avg", x, axes, keepdims, nan_policy, out)


@overload
def global_sum_pool(x: ArrayT, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def global_sum_pool(x: ArrayLike, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                    nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


@overload
def global_sum_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool, nan_policy: NanPolicy = "propagate",
                    out: None = None) -> Any: ...


def global_sum_pool(x: Operand, *, axes: Ints | None = None, keepdims: bool = True, nan_policy: NanPolicy = "propagate",
                    out: AnyArray | None = None) -> Any:
    """The sum over the pooled axes; see `global_max_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.global_sum_pool(np.arange(8).reshape(1, 2, 2, 2), axes=(-2, -1), keepdims=False)
    array([[ 6, 22]])
    """
    return _global("sum", x, axes, keepdims, nan_policy, out)


@overload
def global_lp_pool(x: ArrayT, norm_type: float, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                   nan_policy: NanPolicy = "propagate", out: ArrayT | None = None) -> ArrayT: ...


@overload
def global_lp_pool(x: ArrayLike, norm_type: float, *, axes: Ints | None = None, keepdims: Literal[True] = True,
                   nan_policy: NanPolicy = "propagate", out: NDArray[Any] | None = None) -> NDArray[Any]: ...


@overload
def global_lp_pool(x: Operand, norm_type: float, *, axes: Ints | None = None, keepdims: bool,
                   nan_policy: NanPolicy = "propagate", out: None = None) -> Any: ...


def global_lp_pool(x: Operand, norm_type: float, *, axes: Ints | None = None, keepdims: bool = True,
                   nan_policy: NanPolicy = "propagate", out: AnyArray | None = None) -> Any:
    """The p-norm over the pooled axes; see `global_max_pool` and `lp_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.global_lp_pool(np.array([3.0, -4.0]), 2)
    array([5.])
    """
    return _global("lp", x, axes, keepdims, nan_policy, out, norm_type)
