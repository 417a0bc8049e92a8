"""Signatures of the pools in fixed_rank.py for type checkers: the result depends on the kind of the input and on
`return_indices`. A decorator sets a function's signature and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, cast, overload

from numpy.typing import ArrayLike, NDArray

from oriel.array_types import ArrayT, IndexArray, Ints, Operand, OutputSize, Padding, ScalarT

__all__ = [
    "FixedAdaptiveAverage",
    "FixedAdaptiveMax",
    "FixedAverage",
    "FixedExtremum",
    "FixedNorm",
    "FixedSum",
    "FixedWideAverage",
    "fixed_adaptive_average",
    "fixed_adaptive_max",
    "fixed_average",
    "fixed_extremum",
    "fixed_norm",
    "fixed_sum",
    "fixed_wide_average",
]


class FixedExtremum(Protocol):
    """Of max_pool1d, min_pool2d …"""

    @overload
    def __call__(
        self,
        input: ArrayT,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> ArrayT: ...

    @overload
    def __call__(
        self,
        input: ArrayLike,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> NDArray[Any]: ...

    @overload
    def __call__(
        self,
        input: NDArray[ScalarT],
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[NDArray[ScalarT], IndexArray]: ...

    @overload
    def __call__(
        self,
        input: ArrayT,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[ArrayT, ArrayT]: ...

    @overload
    def __call__(
        self,
        input: ArrayLike,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[NDArray[Any], IndexArray]: ...

    @overload
    def __call__(
        self,
        input: Operand,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: bool = ...,
    ) -> Any: ...


class FixedAdaptiveMax(Protocol):
    """Of adaptive_max_pool1d …"""

    @overload
    def __call__(self, input: ArrayT, output_size: OutputSize, return_indices: Literal[False] = False) -> ArrayT: ...

    @overload
    def __call__(
        self, input: ArrayLike, output_size: OutputSize, return_indices: Literal[False] = False
    ) -> NDArray[Any]: ...

    @overload
    def __call__(
        self, input: NDArray[ScalarT], output_size: OutputSize, *, return_indices: Literal[True]
    ) -> tuple[NDArray[ScalarT], IndexArray]: ...

    @overload
    def __call__(
        self, input: ArrayT, output_size: OutputSize, *, return_indices: Literal[True]
    ) -> tuple[ArrayT, ArrayT]: ...

    @overload
    def __call__(
        self, input: ArrayLike, output_size: OutputSize, *, return_indices: Literal[True]
    ) -> tuple[NDArray[Any], IndexArray]: ...

    @overload
    def __call__(self, input: Operand, output_size: OutputSize, return_indices: bool = ...) -> Any: ...


class FixedAverage(Protocol):
    """Of avg_pool1d"""

    @overload
    def __call__(
        self,
        input: ArrayT,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> ArrayT: ...

    @overload
    def __call__(
        self,
        input: ArrayLike,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> NDArray[Any]: ...


class FixedWideAverage(Protocol):
    """Of avg_pool2d, avg_pool3d"""

    @overload
    def __call__(
        self,
        input: ArrayT,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> ArrayT: ...

    @overload
    def __call__(
        self,
        input: ArrayLike,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> NDArray[Any]: ...


class FixedSum(Protocol):
    """Of sum_pool1d …"""

    @overload
    def __call__(
        self,
        input: ArrayT,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> ArrayT: ...

    @overload
    def __call__(
        self,
        input: ArrayLike,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> NDArray[Any]: ...


class FixedNorm(Protocol):
    """Of lp_pool1d …"""

    @overload
    def __call__(
        self, input: ArrayT, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
    ) -> ArrayT: ...

    @overload
    def __call__(
        self, input: ArrayLike, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
    ) -> NDArray[Any]: ...


class FixedAdaptiveAverage(Protocol):
    """Of adaptive_avg_pool1d …"""

    @overload
    def __call__(self, input: ArrayT, output_size: OutputSize) -> ArrayT: ...

    @overload
    def __call__(self, input: ArrayLike, output_size: OutputSize) -> NDArray[Any]: ...


def fixed_extremum(function: Callable[..., Any]) -> FixedExtremum:
    return cast(FixedExtremum, function)


def fixed_adaptive_max(function: Callable[..., Any]) -> FixedAdaptiveMax:
    return cast(FixedAdaptiveMax, function)


def fixed_average(function: Callable[..., Any]) -> FixedAverage:
    return cast(FixedAverage, function)


def fixed_wide_average(function: Callable[..., Any]) -> FixedWideAverage:
    return cast(FixedWideAverage, function)


def fixed_sum(function: Callable[..., Any]) -> FixedSum:
    return cast(FixedSum, function)


def fixed_norm(function: Callable[..., Any]) -> FixedNorm:
    return cast(FixedNorm, function)


def fixed_adaptive_average(function: Callable[..., Any]) -> FixedAdaptiveAverage:
    return cast(FixedAdaptiveAverage, function)
