"""Which inputs each chunk of a result reads, and the tasks that bring them together."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

__all__ = ["Bounds", "chunk_bounds", "chunked", "inputs_of", "output_cuts"]

Bounds = tuple[int, int]


def inputs_of(begin: int, end: int, n: int, kernel: int, stride: int, before: int,
              dilation: int) -> tuple[int, int, int, int]:
    """(first input, end of the inputs, padding before, padding after) of the outputs `begin` to `end` of an axis.

    The inputs are those of `n` that the outputs read, from the first to the last. A pool of these inputs alone, with
    these paddings, begins with just these outputs.

    >>> inputs_of(2, 4, n=10, kernel=3, stride=2, before=1, dilation=1)
    (3, 8, 0, 0)
    """
    first = begin * stride - before
    last = (end - 1) * stride - before + (kernel - 1) * dilation + 1
    if last <= 0 or first >= n:  # windows of padding alone: one input keeps the place behind them
        return 0, 1, last - first, 0
    low, high = max(first, 0), min(last, n)
    return low, high, low - first, last - high


def chunk_bounds(chunks: Sequence[int]) -> list[Bounds]:
    """Where each chunk of an axis begins and ends."""
    ends = list(itertools.accumulate(chunks))
    return list(zip([0, *ends[:-1]], ends))


def output_cuts(chunks: Sequence[int], out: int, kernel: int, stride: int, before: int, dilation: int) -> list[Bounds]:
    """The outputs of each chunk: those whose windows have their middle in it."""
    middle = (kernel - 1) * dilation // 2
    ends = [min(max(-((before - middle - end) // stride), 0), out) for _, end in chunk_bounds(chunks)]
    ends[-1] = out
    return [(b, e) for b, e in zip([0, *ends[:-1]], ends) if e > b]


def _joined(pieces: Any, axis: int = 0) -> NDArray[Any]:
    """One array of pieces that are nested in lists, one list for each axis."""
    if not isinstance(pieces, list):
        return np.asarray(pieces)
    parts = [_joined(piece, axis + 1) for piece in pieces]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis)


def _run(function: Callable[..., Any], argument: Any, *nested: Any) -> Any:
    parts = [None if pieces is None else _joined(pieces) for pieces in nested]
    return function(argument, *parts)


class _Reader:
    """The tasks that read boxes of one array, each part of a chunk where the chunk is."""

    def __init__(self, name: str, array: Any) -> None:
        self._name, self._array = name, array
        self._bounds = [chunk_bounds(chunks) for chunks in array.chunks]
        self._found: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}

    def _along(self, axis: int, low: int, high: int) -> list[tuple[int, int, int]]:
        """(chunk, first and end within it) of those that a range meets; an extent of 1 stands for any."""
        if self._array.shape[axis] == 1:
            low, high = 0, 1
        if (axis, low, high) not in self._found:  # once for all chunks of the other axes
            self._found[axis, low, high] = [
                (number, max(low, begin) - begin, min(high, end) - begin)
                for number, (begin, end) in enumerate(self._bounds[axis])
                if begin < high and low < end
            ]
        return self._found[axis, low, high]

    def read(self, box: Sequence[Bounds], tasks: dict[Any, Any]) -> Any:
        """Names of the parts of a box, in nested lists; tasks that cut them out are added."""
        along = [self._along(axis, *bounds) for axis, bounds in enumerate(box)]

        def nested(chosen: tuple[tuple[int, int, int], ...]) -> Any:
            if len(chosen) < len(along):
                return [nested((*chosen, part)) for part in along[len(chosen)]]
            block = (self._array.name, *(number for number, _, _ in chosen))
            extents = [self._array.chunks[axis][number] for axis, (number, _, _) in enumerate(chosen)]
            if all(end - begin == n for (_, begin, end), n in zip(chosen, extents)):
                return block
            key = (self._name, *itertools.chain(*chosen))
            tasks[key] = (operator.getitem, block, tuple(slice(begin, end) for _, begin, end in chosen))
            return key

        return nested(())


def chunked(name: str, function: Callable[..., Any], cuts: Sequence[Sequence[Bounds]], arrays: Sequence[Any],
            inputs: Callable[[Sequence[Bounds]], tuple[Sequence[Bounds], Any]], dtype: Any) -> Any:
    """A Dask array whose chunk at `cuts` is `function(argument, part of each array)`.

    `inputs` says of the outputs of a chunk which inputs they read, and the argument. An array may be None.
    """
    tasks: dict[Any, Any] = {}
    readers = [None if array is None else _Reader(f"{name}-part{number}", array) for number, array in enumerate(arrays)]
    for place in itertools.product(*(range(len(axis_cuts)) for axis_cuts in cuts)):
        box, argument = inputs([axis_cuts[number] for axis_cuts, number in zip(cuts, place)])
        pieces = [None if reader is None else reader.read(box, tasks) for reader in readers]
        tasks[(name,) + place] = (partial(_run, function, argument),) + tuple(pieces)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[a for a in arrays if a is not None])
    array: Any = da.Array  # for pyright one of Dask's two arrays, which takes an expression
    return array(graph, name, tuple(tuple(e - b for b, e in c) for c in cuts), dtype=np.dtype(dtype))
