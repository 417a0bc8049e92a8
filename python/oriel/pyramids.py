"""Resolution pyramids: `pyramid` makes every level of a volume in one pass over it (S21, S22)."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np

from oriel import _core
from oriel.execution import get_threads

__all__ = ["Level", "Pyramid", "pyramid"]

Method = Literal["mean", "max", "min", "mode", "median", "first", "sum", "any", "all", "var", "std"]
Edge = Literal["partial", "trim", "exact"]
Source = Literal["base", "previous"]
_TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
_OPS = {"mean": "avg"}


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
        """The `ome` attribute of an OME-Zarr 0.5 image with these levels at the paths 0, 1, 2 …"""
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

    def to_ome(self, store: Any, *, chunks: int | Sequence[int] | None = None, **options: Any) -> Any:
        """Writes the levels as an OME-Zarr 0.5 image by zarr-python, and returns the group.

        Parameters
        ----------
        store : str, path or store of zarr-python
            The group to create; one that is there is an error.
        chunks : int or sequence of int, optional
            Extents of chunks; by default zarr-python's own.
        **options
            For `zarr.Group.create_array`: `shards`, `compressors` …
        """
        try:
            import zarr
        except ImportError as error:
            raise ImportError("oriel.pyramid: to_ome needs zarr-python 3: pip install zarr") from error
        group = zarr.create_group(store, zarr_format=3)
        for number, level in enumerate(self.levels):
            x = np.asarray(level.array)
            extents = tuple([chunks] * x.ndim if isinstance(chunks, int) else chunks or ())
            array = group.create_array(
                str(number), shape=x.shape, dtype=x.dtype, dimension_names=tuple(self.axes),
                chunks=tuple(min(c, max(n, 1)) for c, n in zip(extents, x.shape)) if extents else "auto", **options,
            )  # fmt: skip
            array[...] = x
        name = Path(str(store)).stem if isinstance(store, (str, Path)) else "image"
        group.attrs["ome"] = self.metadata(name)
        return group


def _tuple(values: Any, count: int, argument: str, fill: float, space: Sequence[bool]) -> tuple[float, ...]:
    """One number for the axes of space, or one for each axis."""
    if values is None:
        return (fill,) * count
    if np.ndim(values) == 0:
        return tuple(float(values) if is_space else fill for is_space in space)
    if len(values) != count:
        raise ValueError(f"pyramid: {argument} must have 1 value or {count}, one for each axis, but has {len(values)}")
    return tuple(float(value) for value in values)


def _factors(factors: Any, levels: int | None, shape: Any, spacing: Any, pooled: list[int], chunks: Any) -> list[Any]:
    if isinstance(factors, str):
        if factors != "auto":
            raise ValueError(f"pyramid: factors must be 'auto', an int or a sequence, but is {factors!r}")
        most = chunks if levels is None else (1,) * len(shape)
        return list(_core.pyramid_factors(shape, list(spacing), pooled, most))[:levels]
    if np.ndim(factors) == 0:
        step = tuple(operator.index(factors) if axis in pooled else 1 for axis in range(len(shape)))
        if levels is None:
            raise ValueError("pyramid: levels must be given if factors is one number, but is None")
        return [step] * levels
    steps = [tuple([operator.index(s)] * len(shape)) if np.ndim(s) == 0 else tuple(s) for s in factors]
    return steps if levels is None else (steps + [steps[-1]] * levels)[:levels]


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
        of it are read once, as they are needed.
    factors : "auto", int, or sequence
        Of each level to the one before it. "auto" halves the axes of space whose elements are closest together until the
        last level fits into a chunk. A number is for the axes of space, and needs `levels`; a sequence has a number or a
        tuple, one for each axis, for each level.
    levels : int, optional
        Levels above `x`.
    method : str, optional
        "mean" (the default), "max", "min", "mode" (of labels), "median", "first", "sum", "any", "all", "var", "std".
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
        `nodata`, `min_count`, `min_fraction`, `fill`, `ignore`, `ties` … as of the pools.

    Returns
    -------
    Pyramid
        A sequence of `Level` with `array`, `factor`, `scale` and `translation`, `x` first.

    Raises
    ------
    ValueError
        For factors, axes or options that do not fit.

    Examples
    --------
    >>> import numpy as np, oriel
    >>> p = oriel.pyramid(np.arange(12.0).reshape(3, 4), 2, levels=2)
    >>> p[1].array, p[1].translation
    (array([[2.5, 4.5],
           [8.5, 10.5]]), (0.5, 0.5))
    >>> p[2].array
    array([[5.5]])
    """
    if not (hasattr(x, "shape") and hasattr(x, "dtype") and hasattr(x, "__getitem__")):
        x = np.asarray(x)
    shape = tuple(int(n) for n in x.shape)
    rank = len(shape)
    dtype = np.dtype(getattr(x.dtype, "numpy_dtype", x.dtype))
    names = axes if axes is not None else "abcdefghij"[: max(rank - 5, 0)] + "tczyx"[max(5 - rank, 0) :]
    if len(names) != rank:
        raise ValueError(f"pyramid: axes must have a letter for each of {rank} axes, but is {names!r}")
    space = [_TYPES.get(name) == "space" for name in names]
    chunk = tuple(int(chunks) if is_space else 1 for is_space in space) if np.ndim(chunks) == 0 else tuple(chunks)
    scale = _tuple(spacing, rank, "spacing", 1.0, space)
    shift = _tuple(translation, rank, "translation", 0.0, space)
    chosen = method or ("mode" if labels else "mean")
    given = {
        "op": _OPS.get(chosen, chosen),
        "omit_nan": nan_policy == "omit",
        "options": options or None,
        "factors": _factors(factors, levels, shape, scale, [d for d in range(rank) if space[d]], chunk),
        "origin": origin,
        "edge": edge,
        "source": source,
    }
    kind = dtype.newbyteorder("=").name
    found = _core.pyramid_levels(given, kind, shape, list(scale), list(shift))
    arrays = list(out) if out is not None else [np.empty(one[1], one[0]) for one in found[1:]]
    if len(arrays) != len(found) - 1:
        raise ValueError(f"pyramid: out must have {len(found) - 1} arrays, one for each level, but has {len(arrays)}")
    for number, (array, one) in enumerate(zip(arrays, found[1:]), 1):
        if tuple(array.shape) != one[1]:
            raise ValueError(f"pyramid: out of level {number} must have shape {one[1]}, but has {tuple(array.shape)}")

    def read(begin: tuple[int, ...], end: tuple[int, ...]) -> Any:
        box = x[tuple(map(slice, begin, end))]
        box = box.read().result() if hasattr(box, "read") and hasattr(box, "spec") else box  # TensorStore
        return np.asarray(box).astype(kind, copy=False)

    def write(level: int, begin: tuple[int, ...], values: Any) -> None:
        place = tuple(slice(b, b + n) for b, n in zip(begin, values.shape))
        arrays[level - 1][place] = values

    source_chunk = getattr(x, "chunks", None)
    if not (isinstance(source_chunk, tuple) and all(isinstance(c, int) for c in source_chunk)):
        source_chunk = None
    _core.build_pyramid(given, kind, shape, read, write, [chunk], source_chunk, False, get_threads(), memory)
    made = [x, *arrays]
    return Pyramid(
        tuple(Level(array, one[2], tuple(one[3]), tuple(one[4])) for array, one in zip(made, found)),
        names, unit, chosen, labels,
    )  # fmt: skip
