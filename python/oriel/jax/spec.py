"""What a pool does to an array of one shape, as the static parameter of JAX's primitives."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oriel import _core
from oriel.array_types import Op

__all__ = ["PoolSpec", "make_spec", "make_statistic_spec"]


@dataclasses.dataclass(frozen=True, slots=True)
class PoolSpec:
    """A pool whose pooled axes and their sizes are known; other axes are left open, so batches of any size share one.

    Parameters
    ----------
    op : str
        "max", "min", "avg", "sum", "lp" or one over valid elements, as "median".
    words : tuple of int
        `_core.Pool.words` but for its last list, the axes.
    axes : tuple of int
        The pooled axes, counted from the end.
    inputs, outputs : tuple of int
        Extents along those axes before and after pooling.
    norm : float
        The p of Lp pooling.
    dtype : str
        The name of the result's dtype; empty: that of the input.
    quantiles : int
        How many quantiles there are; if several, they are the first axis of the result.
    text : str
        How the pool is printed in a jaxpr.
    """

    op: str
    words: tuple[int, ...]
    axes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    norm: float = dataclasses.field(default=2.0)
    dtype: str = ""
    quantiles: int = 1
    text: str = dataclasses.field(default="", compare=False)

    def __repr__(self) -> str:
        return f"{self.text}@{self.axes}"

    def all_words(self) -> NDArray[np.int64]:
        """What the handlers decode (python/src/pool_words.h: a list is its length and its values, axes are last)."""
        return np.array((*self.words, len(self.axes), *self.axes), np.int64)

    def output_shape(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """The shape of the result on an input of that shape."""
        result = self._replaced(shape, self.outputs)
        return result if self.quantiles == 1 else (self.quantiles, *result)

    def input_shape(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """The shape of the input of a result of that shape."""
        return self._replaced(shape if self.quantiles == 1 else shape[1:], self.inputs)

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
        text=repr(pool).split(", axes=")[0] + ")",
    )


@functools.lru_cache(maxsize=4096)
def make_statistic_spec(
    op: Any,
    kernel_size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: Any,
    dilation: tuple[int, ...],
    axes: tuple[int, ...],
    shape: tuple[int, ...],
    dtype: str,
    omits_nan: bool,
    options: tuple[tuple[str, Any], ...],
    has_float64: bool,
) -> PoolSpec:
    """The pool over valid elements (S13 to S19) of an array of that shape and dtype, with those options of the engine;
    the footprint among them is its taps as bytes. Without float64 its results are float32.

    Raises
    ------
    ValueError, TypeError
        As the array functions do.
    """
    pool = _core.Pool(op, kernel_size, stride, padding, dilation, None, axes, False, True, None, None, omits_nan, 0)
    given = dict(options)
    if "footprint" in given:
        given["footprint"] = np.frombuffer(given["footprint"], np.bool_).reshape(kernel_size)
    result, result_dtype = _core.statistic_result(pool, given, shape, dtype)
    if result_dtype == "float64" and not has_float64:
        given["dtype"] = result_dtype = "float32"
    quantiles = len(given.get("q", (0.5,)))
    return PoolSpec(
        op,
        _core.statistic_words(pool, given)[: -1 - len(axes)],
        axes,
        tuple(shape[a] for a in axes),
        tuple(result[a] for a in axes),
        dtype=result_dtype,
        quantiles=quantiles,
        text=repr(pool).split(", axes=")[0] + ")",
    )
