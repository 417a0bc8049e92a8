"""Moving windows of a DataArray or Dataset: `Rolling`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from oriel import _core
from oriel.array_types import Op
from oriel.xarray.statistics import Call, Statistics, is_lazy, keeps_attributes, named_call, pooled, takes

__all__ = ["Rolling"]

# xarray's own, also if they are replaced in its classes later.
_rolling_of_array: Callable[..., Any] = xr.DataArray.rolling
_rolling_of_dataset: Callable[..., Any] = xr.Dataset.rolling


def _places(op: Op, kernel: list[int], axes: list[int], least: int, x: Any, padding: list[tuple[int, int]]) -> Any:
    """The place in each window of the extremum, NaN where fewer than `least` elements are not."""
    if x.size == 0:
        return np.empty(x.shape)
    pool = _core.Pool(op, kernel, [1], padding, 1, None, axes, False, True, None, None, True)
    native = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    _, taps = _core.statistic(pool, {}, native, None, None, None, "window")
    counts = pooled(native, "count", kernel, [1], padding, axes, True, {})
    places = taps.astype(np.float64)
    places[counts < least] = np.nan
    return places


class Rolling(Statistics):
    """Moving windows of a DataArray or Dataset. Made by `da.oriel.rolling`.

    Parameters
    ----------
    obj : DataArray or Dataset
    windows, min_periods, center
        As for `OrielDataArray.rolling`.
    """

    def __init__(self, obj: Any, windows: Mapping[Hashable, int], min_periods: int | None,
                 center: bool | Mapping[Hashable, bool]) -> None:
        missing = [dim for dim in windows if dim not in obj.dims]
        if missing or not windows:
            found = repr(missing[0]) if missing else "not given"
            raise ValueError(f"oriel.rolling: dim must be one of {tuple(obj.dims)}, but is {found}")
        self._obj = obj
        self._windows: dict[Hashable, int] = {dim: operator.index(k) for dim, k in windows.items()}
        for dim, k in self._windows.items():
            if k < 1:
                raise ValueError(f"oriel.rolling: windows must be >= 1, but {dim!r} has {k}")
        self._center: dict[Hashable, bool] = {
            dim: bool(center.get(dim, False) if isinstance(center, Mapping) else center) for dim in windows
        }
        taps = math.prod(self._windows.values())
        if min_periods is not None and not 1 <= min_periods <= taps:
            raise ValueError(f"oriel.rolling: min_periods must be in 1 to {taps}, but is {min_periods}")
        self._min_periods = None if min_periods is None else operator.index(min_periods)

    def _theirs(self, obj: Any) -> Any:
        """xarray's windows of an object."""
        windows = {dim: k for dim, k in self._windows.items() if dim in obj.dims}
        center = {dim: self._center[dim] for dim in windows}
        rolling = _rolling_of_array if isinstance(obj, xr.DataArray) else _rolling_of_dataset
        return rolling(obj, windows, min_periods=self._min_periods, center=center)

    def __getattr__(self, name: str) -> Any:
        """What is not here is that of xarray's object."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._theirs(self._obj), name)

    def __repr__(self) -> str:
        return repr(self._theirs(self._obj))

    def __len__(self) -> int:
        return math.prod(self._obj.sizes[dim] for dim in self._windows)

    def __iter__(self) -> Iterator[Any]:
        """(label, window) of each element, of windows along one dimension."""
        return iter(self._theirs(self._obj))

    def construct(self, window_dim: Any = None, **keywords: Any) -> Any:
        """The windows themselves, as xarray's `Rolling.construct`."""
        return self._theirs(self._obj).construct(window_dim, **keywords)

    def argmax(self, keep_attrs: bool | None = None) -> Any:
        """The place in each window, from its beginning, of the largest element; of several the first."""
        return self._apply(Call("argmax", "max"), keep_attrs)

    def argmin(self, keep_attrs: bool | None = None) -> Any:
        """The place in each window, from its beginning, of the smallest element; of several the first."""
        return self._apply(Call("argmin", "min"), keep_attrs)

    def reduce(self, func: Callable[..., Any], keep_attrs: bool | None = None, **kwargs: Any) -> Any:
        """The reduction of each window by a function; one of NumPy that is a method here is computed as that.

        Any other function gets all windows at once from xarray, with `axis`.
        """
        call = named_call(func, kwargs)
        if call is None or call.op in ("any", "all"):
            return self._theirs(self._obj).reduce(func, keep_attrs=keep_attrs, **kwargs)
        return self._apply(call, keep_attrs)

    def _reduced(self, variable: Any, call: Call) -> Any:
        """The data of a variable with a dimension of the windows, reduced."""
        axes = [axis for axis, dim in enumerate(variable.dims) if dim in self._windows]
        kernel = [self._windows[variable.dims[axis]] for axis in axes]
        # As xarray: a centred window of even extent has one element more before than after its own.
        padding = [(k // 2, k - 1 - k // 2) if self._center[variable.dims[axis]] else (k - 1, 0)
                   for axis, k in zip(axes, kernel)]
        data, all_of_them = variable.data, math.prod(kernel)
        least = all_of_them if self._min_periods is None else self._min_periods
        if call.skipna is False:  # a NaN, or an element that is not there, makes the result NaN
            least = all_of_them
        if call.min_count is not None:
            least = max(least, operator.index(call.min_count))
        options: dict[str, Any] = {**call.options, "min_count": least}
        if data.dtype.kind in "iub" or call.op in ("count", "nunique"):
            options["dtype"] = "float64"
        if call.name.startswith("arg"):
            if len(axes) > 1:
                raise ValueError(f"oriel.rolling: {call.name} needs windows along one dimension, but they are along "
                                 f"{len(axes)}")
            places = partial(_places, call.op, kernel, axes, least)
            if not is_lazy(data):
                return places(np.asarray(data), padding)
            from oriel.dask.pools import map_windows

            return map_windows(places, data, kernel, padding, axes, np.float64)
        return pooled(data, call.op, kernel, [1] * len(kernel), padding, axes, True, options)

    def _variable(self, array: Any, call: Call, keep: bool) -> Any:
        variable = array.variable
        attributes = variable.attrs if keep else None
        if not any(dim in self._windows for dim in variable.dims):
            return xr.Variable(variable.dims, variable.data, attributes, variable.encoding)
        if takes(variable.dtype):
            return xr.Variable(variable.dims, self._reduced(variable, call), attributes, variable.encoding)
        theirs = self._theirs(array)
        if not hasattr(theirs, call.name):
            raise TypeError(f"oriel.rolling: {call.name} needs numbers or bool, but an array has dtype "
                            f"{variable.dtype}")
        return getattr(theirs, call.name)(keep_attrs=keep, **call.keywords()).variable

    def _apply(self, call: Call, keep_attrs: bool | None) -> Any:
        keep, obj = keeps_attributes(keep_attrs), self._obj
        if isinstance(obj, xr.DataArray):
            return xr.DataArray(self._variable(obj, call, keep), dims=obj.dims, coords=obj.coords, name=obj.name)
        arrays = {name: self._variable(array, call, keep) for name, array in obj.data_vars.items()}
        return xr.Dataset(arrays, coords=obj.coords, attrs=obj.attrs if keep else None)
