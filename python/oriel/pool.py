"""The description of a pool as an object: built once, applied to many arrays, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel._core import Pool as CorePool
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
    Padding,
    ScalarT,
)

__all__ = ["Pool", "check_nan_policy", "refuse_kernel"]


class _Whole:
    """The kernel of a global pool, i.e. of a `Pool` without a kernel. None itself is an error."""

    def __repr__(self) -> str:
        return "<everything>"


_WHOLE = _Whole()


def refuse_kernel(function: str) -> NoReturn:
    """Raise the error for a `kernel_size` of None."""
    raise TypeError(f"{function}: kernel_size must be an int or a sequence of ints, but is None; "
                    "global pools are functions of their own, such as global_max_pool")


def check_nan_policy(nan_policy: str) -> bool:
    """True if NaN taps are left out (`"omit"`), False if they make the result NaN (`"propagate"`)."""
    if nan_policy == "propagate":
        return False
    if nan_policy == "omit":
        return True
    raise ValueError(f"pool: nan_policy must be 'propagate' or 'omit', but is {nan_policy!r}")


class Pool:
    """A pool for any array: its reduction, its windows, its axes.

    The functions of this package (`max_pool`, `adaptive_avg_pool`, …) make such an object for each call. Making it once
    is faster, and it also has the gradients of adaptive and global pools. Instances are immutable and hashable, and
    equal if their arguments mean the same.

    Parameters
    ----------
    op : {"max", "min", "avg", "sum", "lp"}, or "median", "mode", "var" and so on
        The reduction. Those of `median_pool`, `mode_pool`, `var_pool` … have the options that are their functions'
        defaults here, and their results the dtypes that those have; "quantile" needs its function, for its `q`.
    kernel_size, stride, padding, dilation
        As for `max_pool`. If neither `kernel_size` nor `output_size` is given, the pool is global: one window over
        everything.
    output_size : int or sequence of int, optional
        Makes the pool adaptive: this number of windows splits each axis evenly.
    axes : int or sequence of int, optional
        The pooled axes, negative ones counted from the end; all axes if not given.
    ceil_mode : bool
        Whether to keep a partial last window (S1).
    count_include_pad, divisor_override
        The divisor of averages (S5).
    norm_type : float
        The p of Lp pooling, at least 1 or infinity.
    nan_policy : {"propagate", "omit"}
        What a NaN does (S3).

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or value, named in the text.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> pool = oriel.Pool("avg", output_size=2)
    >>> x = np.arange(5.0)
    >>> pool(x)
    array([1., 3.])
    >>> pool.backward(np.array([3.0, 30.0]), input_shape=x.shape)
    array([ 1.,  1., 11., 10., 10.])
    """

    __slots__ = ("_core",)

    _core: CorePool

    def __init__(self, op: Op, kernel_size: Ints | None | _Whole = _WHOLE, stride: Ints | None = None,
                 padding: Padding = 0, dilation: Ints = 1, *, output_size: Ints | None = None, axes: Ints | None = None,
                 ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
                 norm_type: float = 2.0, nan_policy: NanPolicy = "propagate") -> None:
        if kernel_size is None and output_size is None:
            refuse_kernel("Pool")
        if isinstance(kernel_size, _Whole):
            kernel_size = None
        object.__setattr__(self, "_core", _core.Pool(op, kernel_size, stride, padding, dilation, output_size, axes,
                                                     ceil_mode,
                                                     count_include_pad, divisor_override, norm_type,
                                                     check_nan_policy(nan_policy), 0))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Pool: instances are immutable, but {name} was assigned")

    @overload
    def __call__(self, x: ArrayT, *, out: ArrayT | None = None) -> ArrayT: ...

    @overload
    def __call__(self, x: ArrayLike, *, out: NDArray[Any] | None = None) -> NDArray[Any]: ...

    def __call__(self, x: Operand, *, out: AnyArray | None = None) -> AnyArray:
        """The pool of `x`, an array of `x`'s kind and dtype; written into `out` if given."""
        return _core.forward(self._core, x, out)

    @overload
    def with_indices(self, x: NDArray[ScalarT], *, space: IndexSpace = "plane", index_dtype: IndexDtype = "int64",
                     out: tuple[NDArray[ScalarT], IndexArray] | None = None) -> tuple[NDArray[ScalarT], IndexArray]: ...

    @overload
    def with_indices(self, x: ArrayT, *, space: IndexSpace = "plane", index_dtype: IndexDtype = "int64",
                     out: tuple[ArrayT, ArrayT] | None = None) -> tuple[ArrayT, ArrayT]: ...

    @overload
    def with_indices(self, x: ArrayLike, *, space: IndexSpace = "plane", index_dtype: IndexDtype = "int64",
                     out: tuple[NDArray[Any], IndexArray] | None = None) -> tuple[NDArray[Any], IndexArray]: ...

    def with_indices(self, x: Operand, *, space: IndexSpace = "plane", index_dtype: IndexDtype = "int64",
                     out: tuple[AnyArray, AnyArray] | None = None) -> tuple[AnyArray, AnyArray]:
        """The pool of `x`, and the index of each maximum or minimum.

        `space` selects what indices count (S10): elements of the pooled `"plane"` (PyTorch), of the whole `"tensor"`
        (ONNX), or taps of the `"window"`. Their dtype is `"int64"`; for the window it may also be `"int32"` or, for at
        most 255 taps, `"uint8"`. `out` is a tuple of two arrays.
        """
        return _core.forward_indices(self._core, x, space, out, index_dtype)

    @overload
    def backward(self, dy: ArrayT, x: AnyArray | None = None, *, input_shape: Ints | None = None,
                 indices: AnyArray | None = None, space: IndexSpace = "plane", out: ArrayT | None = None) -> ArrayT: ...

    @overload
    def backward(self, dy: ArrayLike, x: ArrayLike | None = None, *, input_shape: Ints | None = None,
                 indices: ArrayLike | None = None, space: IndexSpace = "plane",
                 out: NDArray[Any] | None = None) -> NDArray[Any]: ...

    def backward(self, dy: Operand, x: Operand | None = None, *, input_shape: Ints | None = None,
                 indices: Operand | None = None, space: IndexSpace = "plane", out: AnyArray | None = None) -> AnyArray:
        """The gradient with respect to the input, given `dy`, that of the result (S9).

        Sums and averages need only `input_shape`; max and min need `x`, or `indices` and `input_shape`; Lp needs `x`.
        """
        if indices is not None:
            like: Any = x
            shape = like.shape if input_shape is None else input_shape
            return _core.backward_indices(self._core, dy, indices, space, shape, out)
        if x is None and input_shape is None:
            raise ValueError(f"{self._core.op}_pool_backward: x or input_shape must be given, but both are None")
        return _core.backward(self._core, dy, x, input_shape, out)

    @overload
    def vjp(self, x: ArrayT) -> tuple[ArrayT, Callable[[ArrayT], ArrayT]]: ...

    @overload
    def vjp(self, x: ArrayLike) -> tuple[NDArray[Any], Callable[[ArrayLike], NDArray[Any]]]: ...

    def vjp(self, x: Operand) -> tuple[Any, Callable[[Any], Any]]:
        """The pool of `x`, and a function that returns the gradient of `x` given that of the result (S9).

        The function keeps what makes the gradient fastest, so use it rather than `backward` if you need both: for many
        maxima and minima one byte for each result, instead of `x`. Otherwise it keeps `x`, which must not change until
        then, or for sums and averages only its shape. It may be called any number of times.

        Examples
        --------
        >>> import numpy as np
        >>> import oriel
        >>> y, gradient = oriel.Pool("max", 2).vjp(np.array([1.0, 5.0, 2.0, 4.0]))
        >>> y
        array([5., 4.])
        >>> gradient(np.array([1.0, 10.0]))
        array([ 0.,  1.,  0., 10.])
        """
        core = self._core
        kept: Any = x if hasattr(x, "shape") else np.asarray(x)
        shape = kept.shape
        if core.op in ("sum", "avg"):
            return _core.forward(core, kept), lambda dy: _core.backward(core, dy, None, shape)
        if core.op in ("max", "min"):
            y, codes = _core.forward_codes(core, kept)
            if codes is not None:
                return y, lambda dy: _core.backward_indices(core, dy, codes, "window", shape)
            return y, lambda dy: _core.backward(core, dy, kept, None)
        return _core.forward(core, kept), lambda dy: _core.backward(core, dy, kept, None)

    def output_shape(self, shape: Ints) -> tuple[int, ...]:
        """The shape of the result for an input of shape `shape` (S1)."""
        return self._core.output_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pool) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __repr__(self) -> str:
        return f"oriel.{self._core!r}"
