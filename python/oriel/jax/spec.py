"""What a pool does to an array of one shape, as the static parameter of JAX's primitives."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oriel import _core
from oriel.array_types import Op

__all__ = ["PoolSpec", "make_spec"]


@dataclasses.dataclass(frozen=True, slots=True)
class PoolSpec:
    """A pool whose pooled axes and their sizes are known; other axes are left open, so batches of any size share one.

    Parameters
    ----------
    op : {"max", "min", "avg", "sum", "lp"}
    words : tuple of int
        `_core.Pool.words` but for its last list, the axes.
    axes : tuple of int
        The pooled axes, counted from the end.
    inputs, outputs : tuple of int
        Extents along those axes before and after pooling.
    norm : float
        The p of Lp pooling.
    text : str
        How the pool is printed in a jaxpr.
    """

    op: Op
    words: tuple[int, ...]
    axes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    norm: float = dataclasses.field(default=2.0)
    text: str = dataclasses.field(default="", compare=False)

    def __repr__(self) -> str:
        return f"{self.text}@{self.axes}"

    def all_words(self) -> NDArray[np.int64]:
        """What the handlers decode (python/src/pool_words.h: a list is its length and its values, axes are last)."""
        return np.array((*self.words, len(self.axes), *self.axes), np.int64)

    def output_shape(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """The shape of the result on an input of that shape."""
        return self._replaced(shape, self.outputs)

    def input_shape(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """The shape of the input of a result of that shape."""
        return self._replaced(shape, self.inputs)

    def _replaced(self, shape: tuple[Any, ...], sizes: tuple[int, ...]) -> tuple[Any, ...]:
        extents = list(shape)
        for axis, size in zip(self.axes, sizes):
            extents[axis] = size
        return tuple(extents)

    def with_batch_axis(self, rank: int, at: int) -> PoolSpec:
        """The same pool on arrays of `rank` axes, of which axis `at` was inserted: a batch may lie anywhere."""
        axes = tuple(axis if rank - 1 + axis >= at else axis - 1 for axis in self.axes)
        return self if axes == self.axes else dataclasses.replace(self, axes=axes)

    def with_op(self, op: Op) -> PoolSpec:
        """The same windows with another reduction."""
        plain = _core.Pool(op, None).words  # second is the op, ninth the norm, which is refused where the op is not Lp
        words = (self.words[0], plain[1], *self.words[2:8], plain[8], *self.words[9:])
        return dataclasses.replace(self, op=op, words=words, text=self.text.replace(f"'{self.op}'", f"'{op}'"))


@functools.lru_cache(maxsize=4096)
def make_spec(
    op: Op,
    kernel_size: tuple[int, ...] | None,
    stride: tuple[int, ...] | None,
    padding: Any,
    dilation: Any,
    output_size: tuple[int, ...] | None,
    axes: tuple[int, ...],
    shape: tuple[int, ...],
    count_include_pad: bool = True,
    norm_type: float | None = None,
) -> PoolSpec:
    """The pool of those arguments (`_core.Pool`'s) on an array of that shape, whose extents along `axes` matter.

    Raises
    ------
    ValueError, TypeError
        As the array functions do, e.g. for a window that does not fit.
    """
    pool = _core.Pool(
        op,
        kernel_size,
        stride,
        padding,
        dilation,
        output_size,
        axes,
        False,
        count_include_pad,
        None,
        norm_type,
        False,
        0,
    )
    result = pool.output_shape(shape)
    return PoolSpec(
        op,
        pool.words[: -1 - len(axes)],
        axes,
        tuple(shape[a] for a in axes),
        tuple(result[a] for a in axes),
        pool.norm,
        repr(pool).split(", axes=")[0] + ")",
    )
