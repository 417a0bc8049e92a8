"""Resolution pyramids: `pyramid` makes every level of a volume in one pass over it (S21, S22)."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, SupportsIndex, get_args

import numpy as np

from oriel import _core
from oriel.array_types import Op
from oriel.coordinates import placed
from oriel.execution import get_threads
from oriel.pool import check_nan_policy

__all__ = ["Level", "Pyramid", "pyramid"]

Method = Literal["mean", "max", "min", "mode", "median", "first", "sum", "any", "all", "var", "std"]
Edge = Literal["partial", "trim", "exact"]
Source = Literal["base", "previous"]
_TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
_OPS = {"mean": "avg"}
_EDGES = ("partial", "trim", "exact")


@dataclass(frozen=True)
class Level:
    """A level of a pyramid: its array, and where its elements are.

    Element `i` of an axis lies at `scale * i + translation`.
    """

    array: Any
    factor: tuple[int, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]


@dataclass(frozen=True)
class Pyramid(Sequence[Level]):
    """The levels of a volume, level 0 first: a sequence of `Level`."""

    levels: tuple[Level, ...]
    axes: str
    unit: str | None
    method: str
    labels: bool

    def __getitem__(self, index: Any) -> Any:
        return self.levels[index]

    def __len__(self) -> int:
        return len(self.levels)

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    @property
    def arrays(self) -> list[Any]:
        """The arrays of all levels, level 0 first."""
        return [level.array for level in self.levels]

    def napari(self) -> tuple[list[Any], dict[str, Any], str]:
        """(data, arguments, kind) of a napari layer: `viewer._add_layer_from_data(*p.napari())`, or
        `viewer.add_image(p.napari()[0], **p.napari()[1])`.
        """
        first = self.levels[0]
        arguments = {"multiscale": True, "scale": list(first.scale), "translate": list(first.translation)}
        return self.arrays, arguments, "labels" if self.labels else "image"

    def metadata(self, name: str = "image") -> dict[str, Any]:
        """The `ome` attribute of an OME-Zarr 0.5 image with these levels at the paths 0, 1, 2 …

        ValueError if OME-Zarr does not allow the axes: it has 2 to 5 of different names, of time, channel and 2 or 3 of
        space, in this order.
        """
        check_ome_axes(self.axes)
        axes = [
            {"name": axis, **({"type": _TYPES[axis]} if axis in _TYPES else {}),
             **({"unit": self.unit} if self.unit and _TYPES.get(axis) == "space" else {})}
            for axis in self.axes
        ]  # fmt: skip
        datasets = [
            {
                "path": str(number),
                "coordinateTransformations": [
                    {"type": "scale", "scale": list(level.scale)},
                    {"type": "translation", "translation": list(level.translation)},
                ],
            }
            for number, level in enumerate(self.levels)
        ]
        image = {"name": name, "axes": axes, "datasets": datasets, "type": self.method}
        return {"version": "0.5", "multiscales": [image], **({"image-label": {"version": "0.5"}} if self.labels else {})}

    def to_ome(self, store: Any, *, chunks: int | Sequence[int] | None = None,
               shards: int | Sequence[int] | None = None, **options: Any) -> Any:
        """Writes the levels as an OME-Zarr 0.5 image by zarr-python, and returns the group.

        Parameters
        ----------
        store : str, path or store of zarr-python
            The group to create; one that is there is an error.
        chunks : int or sequence of int, optional
            Extents of chunks; by default zarr-python's own.
        shards : int or sequence of int, optional
            Extents of shards, files of several chunks: multiples of the chunks'.
        **options
            For `zarr.Group.create_array`: `compressors` …
        """
        metadata = self.metadata(image_name(store))
        group = create_group(store)
        for array, level in zip(self.create_arrays(group, chunks, shards, options), self.levels):
            array[...] = np.asarray(level.array)
        group.attrs["ome"] = metadata
        return group

    def create_arrays(self, group: Any, chunks: Any, shards: Any, options: dict[str, Any]) -> list[Any]:
        """Empty arrays of a group of zarr-python for all levels: see `to_ome`."""
        arrays = []
        for number, level in enumerate(self.levels):
            x = level.array
            chunk, shard = chunk_extents(tuple(x.shape), chunks, shards)
            dtype = np.dtype(getattr(x.dtype, "numpy_dtype", x.dtype))
            arrays.append(group.create_array(str(number), shape=tuple(x.shape), dtype=dtype, chunks=chunk or "auto",
                                             shards=shard, dimension_names=tuple(self.axes), **options))  # fmt: skip
        return arrays


def check_ome_axes(axes: Sequence[str]) -> None:
    """Raises ValueError for axes that OME-Zarr does not allow."""
    order = {"time": 0, "channel": 1, "space": 2}
    places = [order.get(_TYPES.get(axis, "channel"), 1) for axis in axes]
    is_allowed = len(set(axes)) == len(axes) and places == sorted(places)
    if not (is_allowed and 2 <= len(axes) <= 5 and 2 <= places.count(2) <= 3):
        raise ValueError(f"pyramid: axes of an OME-Zarr image must be 2 to 5 of different names, of time, channel and 2 or 3 "
                         f"of space, in this order, but are {''.join(axes)!r}; transpose x")  # fmt: skip


def create_group(store: Any) -> Any:
    """A new group of zarr-python."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError("oriel.pyramid: to_ome needs zarr-python 3: pip install zarr") from error
    return zarr.create_group(store, zarr_format=3)


def image_name(store: Any) -> str:
    """The name of an image in a store: that of its file."""
    return Path(str(store)).stem if isinstance(store, (str, Path)) else "image"


def _extents(argument: str, values: Any, rank: int) -> tuple[int, ...]:
    try:
        extents = tuple(operator.index(v) for v in ([values] * rank if np.ndim(values) == 0 else values))
    except TypeError:
        raise TypeError(f"pyramid: {argument} must be ints, but is {values!r}") from None
    if len(extents) != rank or min(extents, default=1) < 1:
        raise ValueError(f"pyramid: {argument} must be 1 int >= 1 or {rank}, one for each axis, but is {values!r}")
    return extents


def chunk_extents(shape: tuple[int, ...], chunks: Any, shards: Any) -> tuple[Any, Any]:
    """Extents of the chunks and shards of a level, no larger than it needs; None for those that are not given."""
    if chunks is None and shards is None:
        return None, None
    if chunks is None:
        raise ValueError("pyramid: chunks must be given if shards are, but is None")
    chunk = _extents("chunks", chunks, len(shape))
    shard = None if shards is None else _extents("shards", shards, len(shape))
    if shard is not None and any(s % c != 0 for s, c in zip(shard, chunk)):
        raise ValueError(f"pyramid: shards must be multiples of chunks, {chunk}, but are {shard}")
    fitted = tuple(min(c, max(n, 1)) for c, n in zip(chunk, shape))
    if shard is None:
        return fitted, None
    return fitted, tuple(min(s, -(-n // c) * c) if n > c else max(n, 1) for s, c, n in zip(shard, chunk, shape))


def _either(words: Sequence[Any]) -> str:
    return ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"


def _tuple(values: Any, count: int, argument: str, fill: float, space: Sequence[bool]) -> tuple[float, ...]:
    """One number for the axes of space, or one for each axis."""
    if values is None:
        return (fill,) * count
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf" or numbers.ndim > 1:
        raise TypeError(f"pyramid: {argument} must be a number or one for each axis, but is {values!r}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"pyramid: {argument} must be finite, but is {values!r}")
    if numbers.ndim == 0:
        return tuple(float(numbers) if is_space else fill for is_space in space)
    if len(numbers) != count:
        raise ValueError(f"pyramid: {argument} must have 1 value or {count}, one for each axis, but has {len(numbers)}")
    return tuple(float(number) for number in numbers)


def _method(method: Any, labels: bool, dtype: str) -> str:
    if method is None:
        return "mode" if labels else "any" if dtype == "bool" else "mean"
    known = ("mean", *(op for op in get_args(Op) if op != "avg"))
    if method not in known:
        raise ValueError(f"pyramid: method must be {_either(known)}, but is {method!r}")
    if labels and method != "mode":
        raise ValueError(f"pyramid: method must be 'mode' for labels, but is {method!r}")
    return str(method)


def _factors(factors: Any, levels: int | None, shape: Any, spacing: Any, pooled: list[int], chunks: Any) -> list[Any]:
    if levels is not None:
        try:
            count = operator.index(levels)
        except TypeError:
            raise TypeError(f"pyramid: levels must be an int >= 1, but is {levels!r}") from None
        if count < 1:
            raise ValueError(f"pyramid: levels must be >= 1, but is {levels!r}")

    def of_space(step: Any) -> tuple[int, ...]:
        try:
            number = operator.index(step)
        except TypeError:
            raise TypeError(f"pyramid: factors must be 'auto', an int or a sequence, but is {factors!r}") from None
        return tuple(number if axis in pooled else 1 for axis in range(len(shape)))

    if isinstance(factors, str):
        if factors != "auto":
            raise ValueError(f"pyramid: factors must be 'auto', an int or a sequence, but is {factors!r}")
        most = chunks if levels is None else (1,) * len(shape)
        return list(_core.pyramid_factors(shape, list(spacing), pooled, most))[:levels]
    if not np.iterable(factors):
        step = of_space(factors)
        if levels is None:
            raise ValueError("pyramid: levels must be given if factors is one number, but is None")
        return [step] * levels
    steps = [of_space(s) if not np.iterable(s) else tuple(s) for s in factors]
    if not steps:
        raise ValueError("pyramid: factors must be given for 1 level or more, but are none")
    return steps if levels is None else (steps + [steps[-1]] * levels)[:levels]


class LevelKind(NamedTuple):
    """What a level of a pyramid will be."""

    dtype: str
    shape: tuple[int, ...]
    factor: tuple[int, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]


@dataclass(frozen=True)
class Description:
    """A pyramid as the arguments of `pyramid` describe it; `given` is for the engine."""

    given: dict[str, Any]
    dtype: str
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    levels: tuple[LevelKind, ...]
    axes: str
    unit: str | None
    method: str
    labels: bool

    def empty(self) -> list[Any]:
        """New arrays for the levels above level 0."""
        return [np.empty(level.shape, level.dtype) for level in self.levels[1:]]

    def at(self, shape: tuple[int, ...], origin: tuple[int, ...]) -> Description:
        """The same for a part of the volume."""
        given = {**self.given, "origin": origin}
        ones, zeros = [1.0] * len(shape), [0.0] * len(shape)
        return replace(self, given=given, shape=shape, levels=_levels(given, self.dtype, shape, ones, zeros))

    def pyramid(self, arrays: Sequence[Any]) -> Pyramid:
        """The pyramid that has these arrays."""
        made = [Level(array, one.factor, one.scale, one.translation) for array, one in zip(arrays, self.levels)]
        return Pyramid(tuple(made), self.axes, self.unit, self.method, self.labels)

    def build(self, x: Any, arrays: Sequence[Any], threads: int, memory: int) -> None:
        """Fills the arrays of the levels above level 0."""

        def read(begin: tuple[int, ...], end: tuple[int, ...]) -> Any:
            box = x[tuple(map(slice, begin, end))]
            box = box.read().result() if hasattr(box, "read") and hasattr(box, "spec") else box  # TensorStore
            return np.asarray(box).astype(self.dtype, copy=False)

        def write(level: int, begin: tuple[int, ...], values: Any) -> None:
            place = tuple(slice(b, b + n) for b, n in zip(begin, values.shape))
            arrays[level - 1][place] = values

        source_chunk = getattr(x, "chunksize", getattr(x, "chunks", None))  # the first is Dask's
        if not (isinstance(source_chunk, tuple) and all(isinstance(c, int) for c in source_chunk)):
            source_chunk = None
        _core.build_pyramid(self.given, self.dtype, self.shape, read, write, [self.chunk], source_chunk, False, threads,
                            memory)  # fmt: skip


def _levels(given: dict[str, Any], dtype: str, shape: tuple[int, ...], scale: list[float],
            translation: list[float]) -> tuple[LevelKind, ...]:  # fmt: skip
    found = _core.pyramid_levels(given, dtype, shape, scale, translation)
    return tuple(LevelKind(one[0], tuple(one[1]), tuple(one[2]), tuple(one[3]), tuple(one[4])) for one in found)


def describe(x: Any, factors: Any, *, levels: Any, method: Any, labels: bool, axes: Any, spacing: Any, translation: Any,
             unit: Any, origin: Any, edge: Any, source: Any, nan_policy: Any, chunks: Any,
             options: dict[str, Any]) -> Description:  # fmt: skip
    """What the arguments of `pyramid` mean for an array."""
    shape = tuple(int(n) for n in x.shape)
    rank = len(shape)
    dtype = np.dtype(getattr(x.dtype, "numpy_dtype", x.dtype)).newbyteorder("=").name
    names = axes if axes is not None else "abcdefghij"[: max(rank - 5, 0)] + "tczyx"[max(5 - rank, 0) :]
    if len(names) != rank:
        raise ValueError(f"pyramid: axes must have a letter for each of {rank} axes, but is {names!r}")
    space = [_TYPES.get(name) == "space" for name in names]
    chunk = _extents("chunks", chunks, rank)
    if np.ndim(chunks) == 0:
        chunk = tuple(c if is_space else 1 for c, is_space in zip(chunk, space))
    scale = _tuple(spacing, rank, "spacing", 1.0, space)
    if 0 in scale:
        raise ValueError(f"pyramid: spacing must not be 0, but is {spacing!r}")
    shift = _tuple(translation, rank, "translation", 0.0, space)
    chosen = _method(method, labels, dtype)
    if labels and np.dtype(dtype).kind == "f":
        raise ValueError(f"pyramid: labels must be integers, but x is of {dtype}")
    for argument, value, allowed in (("edge", edge, _EDGES), ("source", source, (None, "base", "previous"))):
        if value not in allowed:
            raise ValueError(f"pyramid: {argument} must be {_either(allowed)}, but is {value!r}")
    if options.get("nodata") is not None or (nan_policy == "omit" and np.dtype(dtype).kind == "f"):
        options = {"min_count": 1, **options}
    given = {
        "op": _OPS.get(chosen, chosen),
        "omit_nan": check_nan_policy(nan_policy),
        "options": options or None,
        "factors": _factors(factors, levels, shape, [abs(step) for step in scale], [d for d in range(rank) if space[d]], chunk),
        "origin": origin,
        "edge": edge,
        "source": source,
    }
    made = _levels(given, dtype, shape, list(scale), list(shift))
    return Description(given, dtype, shape, chunk, made, names, unit, chosen, labels)


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
    out: Sequence[Any] | None = None,
    memory: int = 0,
    **options: Any,
) -> Pyramid:
    """All levels of resolution of a volume, made in one pass: every level is the pool of `x` (S21).

    Parameters
    ----------
    x : array of shape (…)
        A NumPy array, or anything with `shape`, `dtype` and slices: zarr, tensorstore, h5py, Dask, a memory map. Boxes
        of it are read once, as they are needed. An xarray DataArray whose coordinates are regular gives `axes`, `spacing`,
        `translation` and `unit` that are not passed.
    factors : "auto", int, or sequence
        Of each level to the one before it. "auto" halves the axes of space whose elements are closest together until the
        last level fits into a chunk. A number is for the axes of space, and needs `levels`; a sequence has such a number, or
        a tuple with one for each axis, for each level.
    levels : int, optional
        Levels above `x`.
    method : str, optional
        "mean" (the default), "max", "min", "mode" (the default of labels), "median", "first", "sum", "any" (the default of
        booleans), "all", "var", "std", or the name of another pool.
    labels : bool
        Whether elements are numbers of segments: their mode is taken.
    axes : str, optional
        A letter for each axis, by default the last of "tczyx"; z, y and x are axes of space.
    spacing, translation : float or sequence, optional
        Distance of neighbours and place of the first element: one number for the axes of space, or one for each axis.
    unit : str, optional
        Of space, for `Pyramid.to_ome`.
    origin : int or sequence of int, optional
        The place of the first element on a grid that windows start from.
    edge : {"partial", "trim", "exact"}
        Windows that the end cuts are pooled as they are, left out, or an error.
    source : {"base", "previous"}, optional
        What levels are pools of: `x`, or the level before (the default of medians).
    nan_policy : {"propagate", "omit"}
        Whether a NaN makes its windows NaN or is left out.
    chunks : int or sequence of int
        Extents of what is written at once to `out`.
    out : sequence of arrays, optional
        One for each level above `x`, with `__setitem__`; by default new NumPy arrays.
    memory : int
        Largest number of bytes of buffers; 0: no bound.
    **options
        `nodata`, `min_count`, `min_fraction`, `fill`, `ignore`, `ties` … as of the pools, but `min_count` is 1 by default
        if elements may have no data, by `nodata` or "omit".

    Returns
    -------
    Pyramid
        A sequence of `Level` with `array`, `factor`, `scale` and `translation`, `x` first.

    Raises
    ------
    ValueError
        For factors, axes, spacings, methods or options that do not fit, and for coordinates of space that are not regular.
    TypeError
        For levels, factors, chunks, spacings and translations that are no numbers.

    Examples
    --------
    >>> import numpy as np, oriel
    >>> p = oriel.pyramid(np.arange(12.0).reshape(3, 4), 2, levels=2)
    >>> p[1].array, p[1].translation
    (array([[ 2.5,  4.5],
           [ 8.5, 10.5]]), (0.5, 0.5))
    >>> p[2].array
    array([[5.5]])
    """
    if not (hasattr(x, "shape") and hasattr(x, "dtype") and hasattr(x, "__getitem__")):
        x = np.asarray(x)
    x, axes, spacing, translation, unit = placed(x, axes, spacing, translation, unit)
    what = describe(x, factors, levels=levels, method=method, labels=labels, axes=axes, spacing=spacing,
                    translation=translation, unit=unit, origin=origin, edge=edge, source=source, nan_policy=nan_policy,
                    chunks=chunks, options=options)  # fmt: skip
    arrays = what.empty() if out is None else list(out)
    if len(arrays) != len(what.levels) - 1:
        raise ValueError(f"pyramid: out must have {len(what.levels) - 1} arrays, one for each level, but has {len(arrays)}")
    for number, (array, one) in enumerate(zip(arrays, what.levels[1:]), 1):
        if tuple(array.shape) != one.shape:
            raise ValueError(f"pyramid: out of level {number} must have shape {one.shape}, but has {tuple(array.shape)}")
    what.build(x, arrays, get_threads(), memory)
    return what.pyramid([x, *arrays])
