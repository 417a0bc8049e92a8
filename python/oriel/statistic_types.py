"""Signatures of the pools in statistics.py and of their gradients for type checkers: the result depends on the kind of
the input and on `return_indices`. A decorator sets a function's signature and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from oriel.array_types import AnyArray, ArrayT, IndexArray, IndexDtype, IndexSpace, Ints, NanPolicy, Padding
from oriel.valid_taps import Number, ValidTaps

__all__ = [
    "Choice",
    "Gradient",
    "Median",
    "Method",
    "Mode",
    "Quantile",
    "Statistic",
    "Ties",
    "choice",
    "gradient",
    "median",
    "mode",
    "quantile",
    "statistic",
]

Method: TypeAlias = Literal["lower", "higher", "nearest", "midpoint", "mean", "linear", "inverted_cdf", "scipy"]
Ties: TypeAlias = Literal["lowest", "highest", "first"]
# Indices of the plane, or of what the word says.
Indexed: TypeAlias = Literal[True] | IndexSpace
# What becomes an array of NumPy, whose dtype is not always that of the input (S15).
Plain: TypeAlias = NDArray[Any] | Sequence[Any] | float | np.generic
P = ParamSpec("P")


class Statistic(Protocol[P]):
    """Of var_pool, count_pool …: an array of the input's kind."""

    @overload
    def __call__(self, x: Plain, *args: P.args, **kwargs: P.kwargs) -> NDArray[Any]: ...

    @overload
    def __call__(self, x: ArrayT, *args: P.args, **kwargs: P.kwargs) -> ArrayT: ...

    @overload
    def __call__(self, x: Any, *args: P.args, **kwargs: P.kwargs) -> Any: ...


def statistic(function: Callable[Concatenate[Any, P], Any]) -> Statistic[P]:
    """The function with the signature of a `Statistic`."""
    return cast("Statistic[P]", function)


class Gradient(Protocol[P]):
    """Of median_pool_backward, var_pool_backward …: an array of the kind of `x`."""

    @overload
    def __call__(self, dy: AnyArray, x: ArrayT, *args: P.args, **kwargs: P.kwargs) -> ArrayT: ...

    @overload
    def __call__(self, dy: Any, x: Plain, *args: P.args, **kwargs: P.kwargs) -> NDArray[Any]: ...


def gradient(function: Callable[Concatenate[Any, Any, P], Any]) -> Gradient[P]:
    """The function with the signature of a `Gradient`."""
    return cast("Gradient[P]", function)


class Median(Protocol):
    """Of median_pool."""

    @overload
    def __call__(self, x: Plain, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, method: Method = "lower", ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: NDArray[Any] | None = None,
                 **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...

    @overload
    def __call__(self, x: ArrayT, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, method: Method = "lower", ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: ArrayT | None = None,
                 **valid: Unpack[ValidTaps]) -> ArrayT: ...

    @overload
    def __call__(self, x: Plain, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, method: Method = "lower", ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Indexed, index_dtype: IndexDtype = "int64",
                 out: tuple[NDArray[Any], IndexArray] | None = None,
                 **valid: Unpack[ValidTaps]) -> tuple[NDArray[Any], IndexArray]: ...

    @overload
    def __call__(self, x: ArrayT, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, method: Method = "lower", ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Indexed, index_dtype: IndexDtype = "int64",
                 out: tuple[ArrayT, ArrayT] | None = None, **valid: Unpack[ValidTaps]) -> tuple[ArrayT, ArrayT]: ...

    @overload
    def __call__(self, x: Any, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, method: Method = "lower", ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
                 index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any: ...


def median(function: Callable[..., Any]) -> Median:
    """The function with the signature of a `Median`."""
    return cast("Median", function)


class Quantile(Protocol):
    """Of quantile_pool."""

    @overload
    def __call__(self, x: Plain, q: float | Sequence[float] | NDArray[Any] | None, kernel_size: Ints | None,
                 stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *, method: Method = "lower",
                 rank: int | None = None, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: NDArray[Any] | None = None,
                 **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...

    @overload
    def __call__(self, x: ArrayT, q: float | Sequence[float] | NDArray[Any] | None, kernel_size: Ints | None,
                 stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *, method: Method = "lower",
                 rank: int | None = None, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: ArrayT | None = None,
                 **valid: Unpack[ValidTaps]) -> ArrayT: ...

    @overload
    def __call__(self, x: Plain, q: float | Sequence[float] | NDArray[Any] | None, kernel_size: Ints | None,
                 stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *, method: Method = "lower",
                 rank: int | None = None, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Indexed, index_dtype: IndexDtype = "int64",
                 out: tuple[NDArray[Any], IndexArray] | None = None,
                 **valid: Unpack[ValidTaps]) -> tuple[NDArray[Any], IndexArray]: ...

    @overload
    def __call__(self, x: ArrayT, q: float | Sequence[float] | NDArray[Any] | None, kernel_size: Ints | None,
                 stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *, method: Method = "lower",
                 rank: int | None = None, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Indexed, index_dtype: IndexDtype = "int64",
                 out: tuple[ArrayT, ArrayT] | None = None, **valid: Unpack[ValidTaps]) -> tuple[ArrayT, ArrayT]: ...

    @overload
    def __call__(self, x: Any, q: float | Sequence[float] | NDArray[Any] | None, kernel_size: Ints | None,
                 stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *, method: Method = "lower",
                 rank: int | None = None, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
                 index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any: ...


def quantile(function: Callable[..., Any]) -> Quantile:
    """The function with the signature of a `Quantile`."""
    return cast("Quantile", function)


class Mode(Protocol):
    """Of mode_pool."""

    @overload
    def __call__(self, x: Plain, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ties: Ties = "lowest", ignore: Number | None = None, ceil_mode: bool = False,
                 axes: Ints | None = None, nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: NDArray[Any] | None = None,
                 **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...

    @overload
    def __call__(self, x: ArrayT, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ties: Ties = "lowest", ignore: Number | None = None, ceil_mode: bool = False,
                 axes: Ints | None = None, nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: ArrayT | None = None,
                 **valid: Unpack[ValidTaps]) -> ArrayT: ...

    @overload
    def __call__(self, x: Plain, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ties: Ties = "lowest", ignore: Number | None = None, ceil_mode: bool = False,
                 axes: Ints | None = None, nan_policy: NanPolicy = "propagate", return_indices: Indexed,
                 index_dtype: IndexDtype = "int64", out: tuple[NDArray[Any], IndexArray] | None = None,
                 **valid: Unpack[ValidTaps]) -> tuple[NDArray[Any], IndexArray]: ...

    @overload
    def __call__(self, x: ArrayT, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ties: Ties = "lowest", ignore: Number | None = None, ceil_mode: bool = False,
                 axes: Ints | None = None, nan_policy: NanPolicy = "propagate", return_indices: Indexed,
                 index_dtype: IndexDtype = "int64", out: tuple[ArrayT, ArrayT] | None = None,
                 **valid: Unpack[ValidTaps]) -> tuple[ArrayT, ArrayT]: ...

    @overload
    def __call__(self, x: Any, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ties: Ties = "lowest", ignore: Number | None = None, ceil_mode: bool = False,
                 axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                 return_indices: bool | IndexSpace = False, index_dtype: IndexDtype = "int64", out: Any = None,
                 **valid: Unpack[ValidTaps]) -> Any: ...


def mode(function: Callable[..., Any]) -> Mode:
    """The function with the signature of a `Mode`."""
    return cast("Mode", function)


class Choice(Protocol):
    """Of first_pool and centre_pool."""

    @overload
    def __call__(self, x: Plain, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: NDArray[Any] | None = None,
                 **valid: Unpack[ValidTaps]) -> NDArray[Any]: ...

    @overload
    def __call__(self, x: ArrayT, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Literal[False] = False,
                 index_dtype: IndexDtype = "int64", out: ArrayT | None = None,
                 **valid: Unpack[ValidTaps]) -> ArrayT: ...

    @overload
    def __call__(self, x: Plain, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Indexed, index_dtype: IndexDtype = "int64",
                 out: tuple[NDArray[Any], IndexArray] | None = None,
                 **valid: Unpack[ValidTaps]) -> tuple[NDArray[Any], IndexArray]: ...

    @overload
    def __call__(self, x: ArrayT, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: Indexed, index_dtype: IndexDtype = "int64",
                 out: tuple[ArrayT, ArrayT] | None = None, **valid: Unpack[ValidTaps]) -> tuple[ArrayT, ArrayT]: ...

    @overload
    def __call__(self, x: Any, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
                 index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any: ...


def choice(function: Callable[..., Any]) -> Choice:
    """The function with the signature of a `Choice`."""
    return cast("Choice", function)
