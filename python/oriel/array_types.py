"""Types of arguments and results, which you can use in your own annotations.

>>> import numpy as np
>>> import oriel
>>> from oriel.array_types import ArrayT, Ints
>>> def halved(x: ArrayT, axes: Ints) -> ArrayT:
...     return oriel.avg_pool(x, 2, axes=axes)
>>> halved(np.arange(4.0), 0)
array([0.5, 2.5])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AnyArray",
    "Array",
    "ArrayT",
    "IndexArray",
    "IndexDtype",
    "IndexSpace",
    "Ints",
    "NanPolicy",
    "Op",
    "Operand",
    "OutputSize",
    "Padding",
    "PaddingWord",
    "ScalarT",
]


class Array(Protocol):
    """What every array that is read without copying has: a shape, a dtype and DLPack."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents."""
        ...

    @property
    def dtype(self) -> Any:
        """The type of the elements, an object of the array's library."""
        ...

    def __dlpack__(self) -> Any: ...


# An array, and a result of its kind. NumPy's stubs give DLPack to arrays of numbers alone, so its arrays are named.
ArrayT = TypeVar("ArrayT", bound="np.ndarray[Any, np.dtype[Any]] | Array")
ScalarT = TypeVar("ScalarT", bound=np.generic)
AnyArray: TypeAlias = NDArray[Any] | Array
# What is read as an array: lists and numbers, too.
Operand: TypeAlias = AnyArray | ArrayLike

Op: TypeAlias = Literal[
    "max", "min", "avg", "sum", "lp", "count", "any", "all", "range", "midrange", "first", "centre", "median", "quantile",
    "mode", "nunique", "var", "std", "rms", "prod", "geo", "harm", "lse", "soft",
]
NanPolicy: TypeAlias = Literal["propagate", "omit"]
IndexSpace: TypeAlias = Literal["plane", "tensor", "window"]
IndexDtype: TypeAlias = Literal["int64", "int32", "uint8"]
IndexArray: TypeAlias = NDArray[np.integer[Any]]
# One number for all axes, or one for each.
Ints: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | NDArray[np.integer[Any]]
OutputSize: TypeAlias = SupportsIndex | Sequence[SupportsIndex | None] | NDArray[np.integer[Any]]
PaddingWord: TypeAlias = Literal["valid", "same", "same_lower", "VALID", "SAME", "SAME_LOWER"]
Padding: TypeAlias = Ints | Sequence[Sequence[SupportsIndex]] | PaddingWord
