"""Resolution pyramids of Dask arrays: `pyramid`, whose levels are Dask arrays that share their tasks."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, SupportsIndex

import dask.array as da
import numpy as np
from dask.base import compute as compute_all
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from oriel.coordinates import placed
from oriel.dask.chunks import Bounds, chunk_bounds, chunked
from oriel.dask.ome import write_levels
from oriel.dask.regions import Regions, block_extents, whole_blocks
from oriel.pyramids import Description, Edge, Method, Pyramid, Source, describe

__all__ = ["LazyPyramid", "pyramid"]


@dataclass(frozen=True)
class LazyPyramid(Pyramid):
    """The levels of a volume as Dask arrays, level 0 first. Computed together, they need level 0 once."""

    chunk: tuple[int, ...] = ()  # of the levels, unless `to_ome` has others
    regions: Any = field(default=None, repr=False)  # level 0 in the chunks that tasks take

    def compute(self, **compute_kwargs: Any) -> Pyramid:
        """The pyramid whose levels above level 0 are NumPy arrays, all computed together.

        Keywords are for `dask.compute`: scheduler, retries …
        """
        made = compute_all(*self.arrays[1:], **compute_kwargs)
        levels = [replace(level, array=array) for level, array in zip(self.levels, [self.levels[0].array, *made])]
        return Pyramid(tuple(levels), self.axes, self.unit, self.method, self.labels)

    def to_ome(self, store: Any, *, chunks: int | Sequence[int] | None = None,
               shards: int | Sequence[int] | None = None, compute: bool = True,
               compute_kwargs: dict[str, Any] | None = None, **options: Any) -> Any:  # fmt: skip
        """Writes the levels as an OME-Zarr 0.5 image, each chunk by one task, and returns the group.

        Parameters
        ----------
        store : str, path or store of zarr-python
            The group to create; one that is there is an error. All workers must see it. A folder has a temporary name
            until it is complete; any other store has the metadata of the image last.
        chunks, shards : int or sequence of int, optional
            Extents of chunks, by default those given to `pyramid`, and of shards, files of several chunks.
        compute : bool
            Whether to write now. If not, the result is a `dask.delayed.Delayed` that writes and returns None.
        compute_kwargs : dict, optional
            For `dask.compute`: scheduler, and for a cluster retries, priority …
        **options
            For `zarr.Group.create_array`: `compressors` …

        Returns
        -------
        zarr.Group, or dask.delayed.Delayed if `compute` is False
        """
        chunks = self.chunk if chunks is None else chunks
        sources = []
        for number, array in enumerate(self.arrays):
            block = block_extents(tuple(array.shape), chunks, shards, self.chunk)
            made = self.regions if number == 0 else array
            cuts = [whole_blocks(chunk_bounds(along), extent) for along, extent in zip(made.chunks, block)]
            if cuts != [chunk_bounds(along) for along in made.chunks]:
                made = _cut(array, cuts)
            sources.append(made)
        return write_levels(self, sources, store, chunks, shards, compute, compute_kwargs or {}, options)


def _same(_: Any, x: Any) -> Any:
    return x


def _cut(x: Any, cuts: Sequence[Sequence[Bounds]]) -> Any:
    """A Dask array in other chunks, each made of the parts that it has of the chunks of `x`."""
    if [list(along) for along in cuts] == [chunk_bounds(along) for along in x.chunks]:
        return x
    name = f"oriel-cut-{tokenize(x, cuts)}"
    return chunked(name, _same, cuts, [x], lambda bounds: (bounds, None), x.dtype)


def _levels_of_region(what: Description, origin: tuple[int, ...], x: Any) -> list[Any]:
    """The levels above level 0 of a region of it."""
    there = what.at(tuple(x.shape), origin)
    arrays = there.empty()
    there.build(x, arrays, 1, 0)  # one thread: the scheduler runs several tasks
    return arrays


def _level_arrays(what: Description, regions: Regions, x: Any) -> list[Any]:
    """The levels above level 0. A task for each region makes all of them, others take one each."""
    token = tokenize(x, what, regions.cuts)
    name = f"oriel-pyramid-{token}"

    def inputs(bounds: Sequence[Bounds]) -> tuple[Sequence[Bounds], Any]:
        return bounds, regions.begin(bounds)

    made = chunked(name, partial(_levels_of_region, what), regions.cuts, [x], inputs, object)
    places = list(itertools.product(*(range(len(along)) for along in regions.cuts)))
    arrays = []
    for number, kind in enumerate(what.levels[1:], 1):
        level = f"oriel-level{number}-{token}"
        tasks: dict[Any, Any] = {(level, *at): (operator.getitem, (name, *at), number - 1) for at in places}
        graph = HighLevelGraph.from_collections(level, tasks, dependencies=[made])
        extents = tuple(tuple(high - low for low, high in along) for along in regions.of_level(number))
        array: Any = da.Array  # for pyright one of Dask's two arrays, which takes an expression
        arrays.append(array(graph, level, extents, dtype=np.dtype(kind.dtype)))
    return arrays


def pyramid(
    x: Any,
    factors: SupportsIndex | Sequence[Any] | Literal["auto"] = "auto",
    *,
    levels: int | None = None,
    method: Method | None = None,
    labels: bool = False,
    axes: str | None = None,
    spacing: float | Sequence[float] | None = None,
    translation: float | Sequence[float] | None = None,
    unit: str | None = None,
    origin: int | Sequence[int] | None = None,
    edge: Edge = "partial",
    source: Source | None = None,
    nan_policy: Literal["propagate", "omit"] = "propagate",
    chunks: int | Sequence[int] = 64,
    shards: int | Sequence[int] | None = None,
    memory: int = 0,
    **options: Any,
) -> LazyPyramid:
    """All levels of resolution of a Dask array, as Dask arrays that share one pass over it (S21).

    Parameters
    ----------
    x : dask.array.Array, or xarray.DataArray of one
        Chunked in any way. A DataArray whose coordinates are regular gives `axes`, `spacing`, `translation` and `unit`
        that are not passed: dimensions called t, c, z, y, x, time, channel, depth, lat and lon name the axes, `units` of
        the coordinates of space the unit. Times and channels that are not regular are counted.
    factors, levels, method, labels, axes, spacing, translation, unit, origin, edge, source, nan_policy, **options
        As for `oriel.pyramid`.
    chunks, shards : int or sequence of int
        Of the levels, as they will be written: the regions that tasks take hold whole ones if that needs little memory.
        `LazyPyramid.to_ome` may have others.
    memory : int
        Largest number of bytes of `x` that a task takes; 0: 128 MiB, or up to 1 GiB for a window of the last level.

    Returns
    -------
    LazyPyramid
        A sequence of `oriel.Level` with Dask arrays, `x` first; `compute` and `to_ome` make all of them at once.

    Raises
    ------
    ValueError
        For factors, axes or options that do not fit, for coordinates of space that are not regular, and if `memory` is less than a window of the last level needs.

    Notes
    -----
    The levels have the bits of `oriel.pyramid` for any chunks, workers and schedulers. A task takes a region of `x` that
    holds whole windows of every level, and makes all levels of it on one thread. Its memory is that of the region and
    an eighth to a half more.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import oriel.dask
    >>> p = oriel.dask.pyramid(da.from_array(np.arange(12.0).reshape(3, 4), chunks=3), 2, levels=2)
    >>> p[1].array.compute(), p[1].translation
    (array([[ 2.5,  4.5],
           [ 8.5, 10.5]]), (0.5, 0.5))
    >>> p.compute()[2].array
    array([[5.5]])
    """
    x, axes, spacing, translation, unit = placed(x, axes, spacing, translation, unit)
    x = da.asarray(x)
    if x.ndim == 0 or any(np.isnan(n) for n in x.shape):
        raise ValueError(f"oriel.dask.pyramid: x must have axes of known lengths, but has shape {x.shape}")
    memory = operator.index(memory)
    what = describe(x, factors, levels=levels, method=method, labels=labels, axes=axes, spacing=spacing,
                    translation=translation, unit=unit, origin=origin, edge=edge, source=source, nan_policy=nan_policy,
                    chunks=chunks, options=options)  # fmt: skip
    regions = Regions.of(what, x.chunks, what.chunk, shards, memory)
    taken = _cut(x, regions.cuts)
    made = what.pyramid([x, *_level_arrays(what, regions, taken)])
    return LazyPyramid(made.levels, made.axes, made.unit, made.method, made.labels, what.chunk, taken)
