"""Signatures of functions for type checkers: the result depends on `return_indices`. A decorator sets a function's
signature and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, cast, overload

from torch import Tensor

from oriel.array_types import NanPolicy, PaddingWord

__all__ = [
    "AdaptiveExtremum",
    "AdaptiveMax",
    "Extremum",
    "FixedExtremum",
    "Ints",
    "OutputSize",
    "Padding",
    "adaptive_extremum",
    "adaptive_max",
    "extremum",
    "fixed_extremum",
]

Ints: TypeAlias = int | Sequence[int]
OutputSize: TypeAlias = int | Sequence[int | None]
Padding: TypeAlias = int | Sequence[int] | Sequence[tuple[int, int]] | PaddingWord
Indexed: TypeAlias = tuple[Tensor, Tensor]


class Extremum(Protocol):
    """Of `max_pool` and `min_pool`."""

    @overload
    def __call__(
        self,
        x: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        *,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
        axes: Ints | None = None,
        nan_policy: NanPolicy = "propagate",
    ) -> Tensor: ...

    @overload
    def __call__(
        self,
        x: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        *,
        ceil_mode: bool = False,
        return_indices: Literal[True],
        axes: Ints | None = None,
        nan_policy: NanPolicy = "propagate",
    ) -> Indexed: ...

    @overload
    def __call__(
        self,
        x: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        *,
        ceil_mode: bool = False,
        return_indices: bool,
        axes: Ints | None = None,
        nan_policy: NanPolicy = "propagate",
    ) -> Tensor | Indexed: ...


class AdaptiveExtremum(Protocol):
    """Of `adaptive_max_pool` and `adaptive_min_pool`."""

    @overload
    def __call__(
        self,
        x: Tensor,
        output_size: OutputSize,
        *,
        return_indices: Literal[False] = False,
        axes: Ints | None = None,
        nan_policy: NanPolicy = "propagate",
    ) -> Tensor: ...

    @overload
    def __call__(
        self,
        x: Tensor,
        output_size: OutputSize,
        *,
        return_indices: Literal[True],
        axes: Ints | None = None,
        nan_policy: NanPolicy = "propagate",
    ) -> Indexed: ...

    @overload
    def __call__(
        self,
        x: Tensor,
        output_size: OutputSize,
        *,
        return_indices: bool,
        axes: Ints | None = None,
        nan_policy: NanPolicy = "propagate",
    ) -> Tensor | Indexed: ...


class FixedExtremum(Protocol):
    """Of `max_pool1d`, `min_pool2d` and the like."""

    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
        *,
        nan_policy: NanPolicy = "propagate",
    ) -> Tensor: ...

    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
        nan_policy: NanPolicy = "propagate",
    ) -> Indexed: ...

    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Padding = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: bool = ...,
        *,
        nan_policy: NanPolicy = "propagate",
    ) -> Tensor | Indexed: ...


class AdaptiveMax(Protocol):
    """Of `adaptive_max_pool1d` and the like."""

    @overload
    def __call__(
        self,
        input: Tensor,
        output_size: OutputSize,
        return_indices: Literal[False] = False,
        *,
        nan_policy: NanPolicy = "propagate",
    ) -> Tensor: ...

    @overload
    def __call__(
        self,
        input: Tensor,
        output_size: OutputSize,
        *,
        return_indices: Literal[True],
        nan_policy: NanPolicy = "propagate",
    ) -> Indexed: ...

    @overload
    def __call__(
        self, input: Tensor, output_size: OutputSize, return_indices: bool = ..., *, nan_policy: NanPolicy = "propagate"
    ) -> Tensor | Indexed: ...


def extremum(function: Callable[..., Any]) -> Extremum:
    return cast(Extremum, function)


def adaptive_extremum(function: Callable[..., Any]) -> AdaptiveExtremum:
    return cast(AdaptiveExtremum, function)


def fixed_extremum(function: Callable[..., Any]) -> FixedExtremum:
    return cast(FixedExtremum, function)


def adaptive_max(function: Callable[..., Any]) -> AdaptiveMax:
    return cast(AdaptiveMax, function)
