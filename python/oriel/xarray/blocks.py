"""Blocks of a DataArray or Dataset: `Coarsen`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal

import numpy as np
import xarray as xr

from oriel.xarray.statistics import Call, Statistics, keeps_attributes, named_call, pooled, takes

__all__ = ["Boundary", "Coarsen", "Side"]

Boundary = Literal["exact", "trim", "pad", "partial"]
Side = Literal["left", "right"]

# xarray's own, also if they are replaced in its classes later.
_coarsen_of_array: Callable[..., Any] = xr.DataArray.coarsen
_coarsen_of_dataset: Callable[..., Any] = xr.Dataset.coarsen

# Functions of coordinates of several axes that the engine computes; the others are for xarray.
_COORDINATES: dict[str, Call] = {
    "mean": Call("mean", "avg"), "max": Call("max", "max"), "min": Call("min", "min"), "sum": Call("sum", "sum"),
    "median": Call("median", "median", {"method": "midpoint"}),
}


class Coarsen(Statistics):
    """Blocks of a DataArray or Dataset; its methods reduce each to an element. Made by `da.oriel.coarsen`.

    Parameters
    ----------
    obj : DataArray or Dataset
    windows, boundary, side, coord_func, skipna, min_count, weights
        As for `OrielDataArray.coarsen`.
    """

    def __init__(self, obj: Any, windows: Mapping[Hashable, int], boundary: Boundary | Mapping[Hashable, Boundary],
                 side: Side | Mapping[Hashable, Side], coord_func: Any, skipna: bool | None, min_count: int | None,
                 weights: Any) -> None:
        missing = [dim for dim in windows if dim not in obj.dims]
        if missing:
            raise ValueError(f"oriel.coarsen: dim must be one of {tuple(obj.dims)}, but is {missing[0]!r}")
        if not windows:
            raise ValueError("oriel.coarsen: a window must be given, such as x=2, but there is none")
        self._obj, self._coord_func, self._skipna, self._weights = obj, coord_func, skipna, weights
        self._min_count = None if min_count is None else operator.index(min_count)
        self._windows: dict[Hashable, int] = {dim: operator.index(k) for dim, k in windows.items()}
        self._boundary: dict[Hashable, str] = {
            dim: boundary.get(dim, "exact") if isinstance(boundary, Mapping) else boundary for dim in windows
        }
        self._side: dict[Hashable, str] = {
            dim: side.get(dim, "left") if isinstance(side, Mapping) else side for dim in windows
        }
        for dim, k in self._windows.items():
            if k < 1:
                raise ValueError(f"oriel.coarsen: windows must be >= 1, but {dim!r} has {k}")
            if self._side[dim] not in ("left", "right"):
                raise ValueError(f"oriel.coarsen: side must be 'left' or 'right', but is {self._side[dim]!r}")
            word = self._boundary[dim]
            if word not in ("exact", "trim", "pad", "partial"):
                raise ValueError("oriel.coarsen: boundary must be 'exact', 'trim', 'pad' or 'partial', but is "
                                 f"{word!r}")
            if word == "exact" and obj.sizes[dim] % k != 0:
                raise ValueError(f"oriel.coarsen: {dim!r} must be divisible by {k} with boundary 'exact', but has "
                                 f"{obj.sizes[dim]}; 'trim', 'pad' and 'partial' take any number")

    def _theirs(self, obj: Any) -> Any:
        """xarray's blocks of an object; those at its edge are padded if they are partial here."""
        windows = {dim: k for dim, k in self._windows.items() if dim in obj.dims}
        keywords: dict[str, Any] = {
            "boundary": {dim: "pad" if self._boundary[dim] == "partial" else self._boundary[dim] for dim in windows},
            "side": {dim: self._side[dim] for dim in windows},
        }
        if obj is self._obj:
            keywords["coord_func"] = self._coord_func
        return (_coarsen_of_array if isinstance(obj, xr.DataArray) else _coarsen_of_dataset)(obj, windows, **keywords)

    def __getattr__(self, name: str) -> Any:
        """What is not here is that of xarray's object."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._theirs(self._obj), name)

    def __repr__(self) -> str:
        return f"Coarsen {self._windows}, boundary {self._boundary}, side {self._side}"

    def construct(self, window_dim: Any = None, keep_attrs: bool | None = None, **window_dim_kwargs: Any) -> Any:
        """The blocks themselves: each dimension becomes two, as xarray's `Coarsen.construct`."""
        return self._theirs(self._obj).construct(window_dim, keep_attrs, **window_dim_kwargs)

    def any(self, keep_attrs: bool | None = None) -> Any:
        """Whether an element of each block is not 0."""
        return self._apply(Call("any", "any", {}, False), keep_attrs)

    def all(self, keep_attrs: bool | None = None) -> Any:
        """Whether no element of each block is 0."""
        return self._apply(Call("all", "all", {}, False), keep_attrs)

    def reduce(self, func: Callable[..., Any], keep_attrs: bool | None = None, **kwargs: Any) -> Any:
        """The reduction of each block by a function; one of NumPy that is a method here is computed as that.

        Any other function gets the blocks of the whole array at once from xarray, with `axis`.
        """
        call = named_call(func, kwargs)
        if call is None:
            return self._theirs(self._obj).reduce(func, keep_attrs=keep_attrs, **kwargs)
        return self._apply(call, keep_attrs)

    def _blocks(self, variable: Any) -> tuple[Any, list[int], list[tuple[int, int]]]:
        """The data without what is trimmed, the pooled axes, and the padding before and after each."""
        data, axes, padding = variable.data, [], []
        for axis, dim in enumerate(variable.dims):
            if dim not in self._windows:
                continue
            k, n = self._windows[dim], variable.shape[axis]
            rest, left = n % k, self._side[dim] == "left"
            if rest and self._boundary[dim] == "trim":
                data = data[(slice(None),) * axis + (slice(0, n - rest) if left else slice(rest, None),)]
                rest = 0
            extra = (k - rest) % k
            axes.append(axis)
            padding.append((0, extra) if left else (extra, 0))
        return data, axes, padding

    def _reduced(self, variable: Any, call: Call, weights: Any = None) -> Any:
        """The data of a variable with a coarsened dimension, reduced."""
        if not takes(variable.dtype):
            if not hasattr(xr.DataArray, call.name) or call.name == "quantile":
                raise TypeError(f"oriel.coarsen: {call.name} needs numbers or bool, but an array has dtype "
                                f"{variable.dtype}")
            array = xr.DataArray(variable.data, dims=variable.dims)
            return getattr(self._theirs(array), call.name)(**call.keywords()).data
        data, axes, padding = self._blocks(variable)
        kernel = [self._windows[variable.dims[axis]] for axis in axes]
        padded = [i for i, axis in enumerate(axes)
                  if any(padding[i]) and self._boundary[variable.dims[axis]] == "pad"]
        if padded and data.dtype.kind in "iu":  # as xarray, for which padding is NaN
            data = data.astype(np.float32 if data.dtype.itemsize <= 2 else np.float64)
        omit = call.leaves_out_nan(data.dtype) or call.op == "count"
        least = self._least(call, omit)
        if padded and not omit and data.dtype.kind == "f" and call.op not in ("any", "all"):
            least = math.prod(kernel)
        fewest = math.prod(k - max(pad) for k, pad in zip(kernel, padding))
        options = _result_options(call, data.dtype, least, fewest)
        return pooled(data, call.op, kernel, kernel, padding, axes, omit, options, weights)

    def _least(self, call: Call, omit: bool) -> int:
        """How many elements a block needs."""
        if call.op in ("count", "any", "all"):
            return 0
        given = self._min_count if call.min_count is None else operator.index(call.min_count)
        return given if given is not None else int(omit and call.op not in ("sum", "prod"))

    def _coordinate(self, name: Hashable, variable: Any, keep: bool) -> Any:
        """A coordinate of the blocks."""
        given = self._coord_func  # as in xarray one function is for coordinates with the name of a dimension
        own = given if name in self._obj.dims else "mean"
        function = given.get(name, "mean") if isinstance(given, Mapping) else own
        word = function if isinstance(function, str) else ""
        attributes = variable.attrs if keep else None
        if variable.ndim > 1 and word in _COORDINATES and variable.dtype.kind == "f" and takes(variable.dtype):
            means = self._reduced(variable, _COORDINATES[word])
            return xr.Variable(variable.dims, means, attributes, variable.encoding)
        if variable.dtype.kind in "SUT":  # text has no mean: that of each block's first element
            data, axes, padding = self._blocks(variable)
            for axis, (before, _) in zip(axes, padding):
                k, n = self._windows[variable.dims[axis]], data.shape[axis]
                firsts = np.maximum(np.arange(-before, n, k), 0)
                data = data[(slice(None),) * axis + (firsts,)]
            return xr.Variable(variable.dims, data, attributes, variable.encoding)
        windows = {dim: k for dim, k in self._windows.items() if dim in variable.dims}
        boundary = {dim: "pad" if self._boundary[dim] == "partial" else self._boundary[dim] for dim in windows}
        return variable.coarsen(windows, function, boundary, {dim: self._side[dim] for dim in windows}, keep)

    def _coordinates(self, obj: Any, keep: bool) -> dict[Hashable, Any]:
        """All coordinates; of a Dataset those that are not coarsened lose their attributes, too."""
        found: dict[Hashable, Any] = {}
        for name, coordinate in obj.coords.items():
            if any(dim in self._windows for dim in coordinate.dims):
                found[name] = self._coordinate(name, coordinate.variable, keep)
            elif keep or isinstance(obj, xr.DataArray):
                found[name] = coordinate.variable
            else:
                found[name] = coordinate.variable.copy(deep=False)
                found[name].attrs = {}
        return found

    def _variable(self, array: Any, call: Call, keep: bool) -> Any:
        variable = array.variable
        attributes = variable.attrs if keep else None
        if not any(dim in self._windows for dim in variable.dims):
            return xr.Variable(variable.dims, variable.data, attributes, variable.encoding)
        weights = None if self._weights is None else self._weights_of(array)
        return xr.Variable(variable.dims, self._reduced(variable, call, weights), attributes, variable.encoding)

    def _weights_of(self, array: Any) -> Any:
        """The weights of each element that is not trimmed."""
        given = self._weights
        if not isinstance(given, xr.DataArray):
            given = np.asarray(given, np.float64)
            if given.shape != array.shape:
                raise ValueError(f"oriel.coarsen: weights must be a DataArray, or have the shape {array.shape}, but "
                                 f"have {given.shape}")
            weights = xr.Variable(array.dims, given)
        else:
            more = [dim for dim in given.dims if dim not in array.dims]
            if more:
                raise ValueError(f"oriel.coarsen: weights must have dimensions of the array, {array.dims}, but have "
                                 f"{more[0]!r}")
            weights = given.astype(np.float64).variable.set_dims(dict(array.sizes)).transpose(*array.dims)
        return self._blocks(weights)[0]

    def _apply(self, call: Call, keep_attrs: bool | None) -> Any:
        keep = keeps_attributes(keep_attrs)
        if call.skipna is None and self._skipna is not None:
            call = Call(call.name, call.op, call.options, self._skipna, call.min_count)
        obj = self._obj
        coordinates = self._coordinates(obj, keep)
        if not isinstance(obj, xr.DataArray):
            arrays = {name: self._variable(array, call, keep) for name, array in obj.data_vars.items()}
            return xr.Dataset(arrays, coords=coordinates, attrs=obj.attrs if keep else None)
        reduced = self._variable(obj, call, keep)
        if obj.name in coordinates:  # the coordinate itself
            coordinates[obj.name] = reduced
        return xr.DataArray(reduced, dims=obj.dims, coords=coordinates, name=obj.name)


def _result_options(call: Call, dtype: np.dtype[Any], least: int, fewest: int) -> dict[str, Any]:
    """The engine's options: NumPy's dtypes of results, and floats where a block may have too few of its elements."""
    options = dict(call.options)
    if least:
        options["min_count"] = least
    if dtype.kind not in "iub":
        return options
    if call.op in ("avg", "median", "quantile") or (least > fewest and call.op not in ("count", "any", "all")):
        options["dtype"] = "float64"
    elif call.op in ("sum", "prod"):
        options["dtype"] = "uint64" if dtype.kind == "u" else "int64"
    return options
