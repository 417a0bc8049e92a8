"""Which parts of a volume the tasks of a pyramid take: regions that hold whole windows of every level."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oriel.dask.chunks import Bounds
from oriel.pyramids import Description, chunk_extents

__all__ = ["Regions", "whole_blocks"]

_USUAL = 128 << 20  # bytes of level 0 in a region, for the chunks of level 0 and 1 to be whole
_DEEPER = 32 << 20  # for those of further levels, which are an eighth and less
_LEAST = 16 << 20  # so that a task takes longer than the scheduler needs for it
_MOST = 1 << 30  # unless more is allowed


@dataclass(frozen=True)
class Regions:
    """A division of level 0 along each axis at multiples of the factors of the last level, on the grid of windows.

    What a region has of a level is then made of what it has of level 0, with the same bits as in the whole: it is the
    pyramid of the region, whose origin is that of the volume plus the place where the region begins.
    """

    what: Description
    origin: tuple[int, ...]
    cuts: tuple[tuple[Bounds, ...], ...]

    @staticmethod
    def of(what: Description, source: Sequence[Sequence[int]], chunks: object, shards: object, memory: int) -> Regions:
        """Regions of at most `memory` bytes (0: as many as is usual) that hold whole chunks of many levels.

        `source` has the chunks of level 0 along each axis; `chunks` and `shards` are those of the levels.
        """
        origin = _origin(what)
        blocks = [[f * b for f, b in zip(level.factor, block_extents(level.shape, chunks, shards, what.chunk))]
                  for level in what.levels]  # fmt: skip
        extents = _Growth(what, origin).extents(blocks, [max(along) for along in source], memory)
        cuts = []
        for axis, (n, extent, start) in enumerate(zip(what.shape, extents, origin)):
            inner = [at for at in range(extent - start % extent, n, extent)]
            if what.given["edge"] == "trim" and inner and n - inner[-1] < what.levels[-1].factor[axis]:
                inner.pop()  # each region has whole windows of the last level
            cuts.append(tuple(zip([0, *inner], [*inner, n])))
        return Regions(what, origin, tuple(cuts))

    def begin(self, bounds: Sequence[Bounds]) -> tuple[int, ...]:
        """The origin of the pyramid of a region."""
        return tuple(start + low for start, (low, _) in zip(self.origin, bounds))

    def of_level(self, level: int) -> list[list[Bounds]]:
        """What the regions have of a level, along each axis."""
        kind = self.what.levels[level]
        found = []
        for axis, along in enumerate(self.cuts):
            factor, n = kind.factor[axis], kind.shape[axis]
            inner = [(low + self.origin[axis] % factor) // factor for low, _ in along[1:]]
            found.append(list(zip([0, *inner], [*inner, n])))
        return found


def block_extents(shape: tuple[int, ...], chunks: object, shards: object, usual: tuple[int, ...]) -> tuple[int, ...]:
    """What of a level is written as one: a shard, or a chunk."""
    chunk, shard = chunk_extents(shape, usual if chunks is None else chunks, shards)
    return shard or chunk


def whole_blocks(along: Sequence[Bounds], extent: int) -> list[Bounds]:
    """Bounds close to those given that are multiples of the extent of a block."""
    n = along[-1][1]
    inner = sorted({-(-low // extent) * extent for low, _ in along[1:]} - {0})
    inner = [at for at in inner if at < n]
    return list(zip([0, *inner], [*inner, n]))


def _origin(what: Description) -> tuple[int, ...]:
    origin, rank = what.given["origin"], len(what.shape)
    if origin is None:
        return (0,) * rank
    values = [operator.index(v) for v in np.atleast_1d(np.asarray(origin, object))]
    return tuple(values * rank if len(values) == 1 else values)


class _Growth:
    """Extents of regions: the factors of the last level, and multiples of them."""

    def __init__(self, what: Description, origin: tuple[int, ...]) -> None:
        self._what = what
        self._ends = [n + start % f for n, start, f in zip(what.shape, origin, what.levels[-1].factor)]
        self._size = np.dtype(what.dtype).itemsize

    def _bytes(self, extents: Sequence[int]) -> int:
        return math.prod(map(min, extents, self._what.shape)) * self._size

    def extents(self, blocks: Sequence[Sequence[int]], source: Sequence[int], memory: int) -> list[int]:
        factors = self._what.levels[-1].factor
        least = self._bytes(factors)
        if memory < 0 or least > (memory or _MOST):
            held = f"{'x'.join(map(str, factors))} elements, a window of level {len(blocks) - 1}"
            raise ValueError(f"oriel.dask.pyramid: memory must be at least {least} bytes, so that a task can take {held}, "
                             f"but is {memory}" + ("" if memory else f" (at most {_MOST})"))
        most, region = memory or _USUAL, list(factors)
        for level, block in enumerate(blocks):
            larger = self._common(region, block)
            if self._bytes(larger) <= (most if level < 2 else min(most, _DEEPER)):
                region = larger
        for axis, extent in enumerate(source):
            if extent % region[axis] == 0:
                continue  # chunks of level 0 hold whole regions
            wanted = [1] * len(region)
            wanted[axis] = extent
            larger = self._common(region, wanted)
            if self._bytes(larger) <= most:
                region = larger
        return self._doubled(region, min(most, _LEAST))

    def _common(self, extents: Sequence[int], wanted: Sequence[int]) -> list[int]:
        """The least multiples of both, or of `extents` alone if the axis ends before."""
        return [min(math.lcm(e, w), -(-end // e) * e) for e, w, end in zip(extents, wanted, self._ends)]

    def _doubled(self, region: list[int], most: int) -> list[int]:
        last = self._what.levels[-1].factor
        for axes in ([d for d, f in enumerate(last) if f > 1], [d for d, f in enumerate(last) if f == 1]):
            left = set(axes)
            while left:
                axis = min(left, key=lambda d: region[d])
                larger = list(region)
                larger[axis] *= 2
                if region[axis] >= self._ends[axis] or self._bytes(larger) > most:
                    left.remove(axis)
                else:
                    region = larger
        return region
