"""The description of a pool as an object: built once, applied to many arrays, forward and backward."""

from __future__ import annotations

from typing import Any

from oriel import _core

__all__ = ["Pool", "check_nan_policy", "refuse_kernel"]


class _Whole:
    """The kernel of a global pool: that of a `Pool` which is given none. None itself is a mistake."""

    def __repr__(self) -> str:
        return "<everything>"


_WHOLE = _Whole()


def refuse_kernel(function: str) -> None:
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
    """What a pool does to any array: its reduction, its windows, its axes.

    The functions of this package (`max_pool`, `adaptive_avg_pool`, …) make such an object for each call. Making it once
    is quicker, and it also has the gradients of adaptive and global pools. Instances are immutable, hashable and equal
    where they say the same.

    Parameters
    ----------
    op : {"max", "min", "avg", "sum", "lp"}
        The reduction.
    kernel_size, stride, padding, dilation
        As for `max_pool`. If neither `kernel_size` nor `output_size` is given, the pool is global: one window over
        everything.
    output_size : int or sequence of int, optional
        Makes the pool adaptive: that many windows share each axis evenly.
    axes : int or sequence of int, optional
        The pooled axes, negative ones counted from the end; all axes if not given.
    ceil_mode : bool
        Whether a partial last window counts (S1).
    count_include_pad, divisor_override
        What averages divide by (S5).
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

    def __init__(self, op: str, kernel_size: Any = _WHOLE, stride: Any = None, padding: Any = 0, dilation: Any = 1, *,
                 output_size: Any = None, axes: Any = None, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None, norm_type: float = 2.0, nan_policy: str = "propagate") -> None:
        if kernel_size is None and output_size is None:
            refuse_kernel("Pool")
        if kernel_size is _WHOLE:
            kernel_size = None
        object.__setattr__(self, "_core", _core.Pool(op, kernel_size, stride, padding, dilation, output_size, axes,
                                                     ceil_mode,
                                                     count_include_pad, divisor_override, norm_type,
                                                     check_nan_policy(nan_policy), 0))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Pool: instances are immutable, but {name} was to be set")

    def __call__(self, x: Any, *, out: Any = None) -> Any:
        """The pool of `x`, an array of `x`'s kind and dtype; written into `out` where one is given."""
        return _core.forward(self._core, x, out)

    def with_indices(self, x: Any, *, space: str = "plane", index_dtype: str = "int64",
                     out: Any = None) -> tuple[Any, Any]:
        """The pool of `x` and indices of where each maximum or minimum came from.

        `space` says what indices count (S10): places of the pooled `"plane"` (PyTorch), of the whole `"tensor"` (ONNX),
        or taps of the `"window"`. They are of `"int64"`; those of the window may also be of `"int32"` or, where it has at
        most 255 taps, `"uint8"`. `out` is a tuple of two arrays.
        """
        return _core.forward_indices(self._core, x, space, out, index_dtype)

    def backward(self, dy: Any, x: Any = None, *, input_shape: Any = None, indices: Any = None, space: str = "plane",
                 out: Any = None) -> Any:
        """The gradient with respect to the input, given `dy`, that of the result (S9).

        Sums and averages need `input_shape` alone; max and min need `x`, or `indices` and `input_shape`; Lp needs `x`.
        """
        if indices is not None:
            return _core.backward_indices(self._core, dy, indices, space,
                                          x.shape if input_shape is None else input_shape,
                                          out)
        if x is None and input_shape is None:
            raise ValueError(f"{self._core.op}_pool_backward: x or input_shape must be given, but both are None")
        return _core.backward(self._core, dy, x, input_shape, out)

    def output_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the result for an input of shape `shape` (S1)."""
        return self._core.output_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pool) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __repr__(self) -> str:
        return f"oriel.{self._core!r}"
