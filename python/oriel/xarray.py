"""An accessor for xarray: `da.oriel.coarsen(...)` and `da.oriel.rolling(...)`, with coordinates and attributes kept.

>>> import numpy as np
>>> import xarray as xr
>>> import oriel.xarray
>>> da = xr.DataArray(np.array([1.0, np.nan, 3.0, 5.0, 9.0]), dims="x", coords={"x": np.arange(5.0)})
>>> da.oriel.coarsen(x=2, boundary="partial").mean().values
array([1., 4., 9.])
>>> da.oriel.coarsen(x=2, boundary="partial").mean().x.values
array([0.5, 2.5, 4. ])
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal

import numpy as np

try:
    import xarray as xr
except ImportError as _error:
    raise ImportError("oriel.xarray: needs xarray; install it with `pip install xarray`", name=_error.name) from _error

from oriel import _core

__all__ = ["Coarsen", "OrielDataArray", "OrielDataset", "Rolling"]

Boundary = Literal["exact", "trim", "pad", "partial"]
Side = Literal["left", "right"]


def _is_lazy(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "dask"


def _pooled(data: Any, op: Any, kernel: list[int], stride: list[int], padding: list[tuple[int, int]], axes: list[int],
            ceil: bool, omit: bool, weights: Any, options: dict[str, Any]) -> Any:
    """The pool of a NumPy array, or of a Dask array."""
    include = op != "avg"
    if _is_lazy(data):
        from oriel import dask

        if weights is not None:
            raise ValueError("oriel.coarsen: weights must be None for Dask arrays")
        return dask.pool(data, op, kernel, stride, padding, ceil_mode=ceil, axes=axes,
                         nan_policy="omit" if omit else "propagate", count_include_pad=include, **options)
    x = np.asarray(data)
    pool = _core.Pool(op, kernel, stride, padding, 1, None, axes, ceil, include, None, None, omit)
    if x.size == 0:  # nothing is left, or was there
        whole = list(x.shape)
        for axis, k in zip(axes, kernel):
            whole[axis] = max(whole[axis], k)
        shape, dtype = _core.statistic_result(pool, options, whole, x.dtype.name)
        return np.empty([0 if n == 0 else m for n, m in zip(x.shape, shape)], dtype)
    return _core.statistic(pool, options, x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("=")), None, weights)


class _Statistics:
    """What coarsened and rolling objects have in common: the statistics, by name."""

    _skipna_default = True

    def _apply(self, name: str, op: Any, options: dict[str, Any], skipna: bool | None, keep_attrs: bool | None) -> Any:
        raise NotImplementedError

    def mean(self, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The mean of each window."""
        return self._apply("mean", "avg", {}, skipna, keep_attrs)

    def sum(self, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The sum of each window."""
        return self._apply("sum", "sum", {}, skipna, keep_attrs)

    def min(self, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The smallest element of each window."""
        return self._apply("min", "min", {}, skipna, keep_attrs)

    def max(self, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The largest element of each window."""
        return self._apply("max", "max", {}, skipna, keep_attrs)

    def median(self, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The median of each window; of an even number the mean of two, as NumPy's."""
        return self._apply("median", "median", {"method": "midpoint"}, skipna, keep_attrs)

    def quantile(self, q: float, method: str = "linear", skipna: bool | None = None,
                 keep_attrs: bool | None = None) -> Any:
        """The quantile `q` of each window, by one of the methods of `oriel.quantile_pool`."""
        return self._apply("quantile", "quantile", {"q": float(q), "method": method}, skipna, keep_attrs)

    def var(self, ddof: int = 0, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The variance of each window."""
        return self._apply("var", "var", {"ddof": ddof}, skipna, keep_attrs)

    def std(self, ddof: int = 0, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The standard deviation of each window."""
        return self._apply("std", "std", {"ddof": ddof}, skipna, keep_attrs)

    def prod(self, skipna: bool | None = None, keep_attrs: bool | None = None) -> Any:
        """The product of each window."""
        return self._apply("prod", "prod", {}, skipna, keep_attrs)

    def count(self, keep_attrs: bool | None = None) -> Any:
        """The number of elements of each window that are not NaN."""
        return self._apply("count", "count", {"min_count": 0}, True, keep_attrs)

    def any(self, keep_attrs: bool | None = None) -> Any:
        """Whether an element of each window is not 0."""
        return self._apply("any", "any", {"min_count": 0}, False, keep_attrs)

    def all(self, keep_attrs: bool | None = None) -> Any:
        """Whether no element of each window is 0."""
        return self._apply("all", "all", {"min_count": 0}, False, keep_attrs)

    def mode(self, ties: str = "lowest", ignore: Any = None, keep_attrs: bool | None = None) -> Any:
        """The most frequent value of each window (S17)."""
        return self._apply("mode", "mode", {"ties": ties, "ignore": ignore}, None, keep_attrs)

    def nunique(self, keep_attrs: bool | None = None) -> Any:
        """The number of distinct values of each window."""
        return self._apply("nunique", "nunique", {}, None, keep_attrs)


def _options_of(op: str, dtype: np.dtype[Any], options: dict[str, Any], skipna: bool | None,
                min_count: int | None) -> tuple[dict[str, Any], bool]:
    """The engine's options, and whether NaN are left out: those of floats, unless `skipna` is False."""
    omit = dtype.kind == "f" if skipna is None else bool(skipna)
    given = dict(options)
    if op in ("avg", "median", "quantile") and dtype.kind in "iub":
        given["dtype"] = "float64"
    if op in ("sum", "prod") and dtype.kind in "iub":
        given["dtype"] = "uint64" if dtype.kind == "u" else "int64"
    if min_count is not None:
        given.setdefault("min_count", operator.index(min_count))
    elif omit and op in ("avg", "max", "min", "median", "quantile"):
        given.setdefault("min_count", 1)
    return given, omit


class Coarsen(_Statistics):
    """Blocks of a DataArray or Dataset; its methods reduce each to an element. Made by `da.oriel.coarsen`."""

    def __init__(self, obj: Any, windows: Mapping[Hashable, int], boundary: Boundary | Mapping[Hashable, Boundary],
                 side: Side | Mapping[Hashable, Side], coord_func: Any, skipna: bool | None, min_count: int | None,
                 weights: Any) -> None:
        missing = [dim for dim in windows if dim not in obj.dims]
        if missing:
            raise ValueError(f"oriel.coarsen: dim must be one of {tuple(obj.dims)}, but is {missing[0]!r}")
        if not windows:
            raise ValueError("oriel.coarsen: a window must be given, such as x=2, but there is none")
        self._obj, self._skipna, self._min_count, self._weights = obj, skipna, min_count, weights
        self._windows = {dim: operator.index(k) for dim, k in windows.items()}
        for dim, k in self._windows.items():
            if k < 1:
                raise ValueError(f"oriel.coarsen: windows must be >= 1, but {dim!r} has {k}")
        self._boundary = {dim: boundary[dim] if isinstance(boundary, Mapping) else boundary for dim in windows}
        self._side = {dim: side.get(dim, "left") if isinstance(side, Mapping) else side for dim in windows}
        self._coord_func = coord_func
        for dim, word in self._boundary.items():
            if word not in ("exact", "trim", "pad", "partial"):
                raise ValueError(f"oriel.coarsen: boundary must be 'exact', 'trim', 'pad' or 'partial', but is {word!r}")
            if word == "exact" and obj.sizes[dim] % self._windows[dim] != 0:
                raise ValueError(f"oriel.coarsen: {dim!r} must be divisible by {self._windows[dim]} with boundary 'exact', "
                                 f"but has {obj.sizes[dim]}; 'trim', 'pad' and 'partial' take any number")

    def _blocks(self, variable: Any) -> tuple[Any, list[int], list[tuple[int, int]]]:
        """The data without what is trimmed, the pooled axes, and the padding before and after each."""
        data, axes, padding = variable.data, [], []
        for axis, dim in enumerate(variable.dims):
            if dim not in self._windows:
                continue
            k, n = self._windows[dim], variable.shape[axis]
            rest, left = n % k, self._side[dim] == "left"
            if rest and self._boundary[dim] == "trim":
                keep = slice(0, n - rest) if left else slice(rest, None)
                data = data[(slice(None),) * axis + (keep,)]
                rest = 0
            extra = (k - rest) % k
            axes.append(axis)
            padding.append((0, extra) if left else (extra, 0))
        return data, axes, padding

    def _reduce(self, variable: Any, op: Any, options: dict[str, Any], skipna: bool | None, min_count: int | None,
                weights: Any = None) -> Any:
        data, axes, padding = self._blocks(variable)
        if not axes:
            return variable.data
        kernel = [self._windows[variable.dims[axis]] for axis in axes]
        given, omit = _options_of(op, data.dtype, options, skipna, min_count)
        if weights is not None:
            weights = np.broadcast_to(np.asarray(weights, np.float64), data.shape)
        return _pooled(data, op, kernel, kernel, padding, axes, False, omit, weights, given)

    def _coordinate(self, name: Hashable, variable: Any) -> Any:
        function = self._coord_func.get(name, np.mean) if isinstance(self._coord_func, Mapping) else self._coord_func
        word = function if isinstance(function, str) else getattr(function, "__name__", "mean")
        ops: dict[str, tuple[str, dict[str, Any]]] = {
            "mean": ("avg", {}), "sum": ("sum", {}), "min": ("min", {}), "max": ("max", {}), "amin": ("min", {}),
            "amax": ("max", {}), "median": ("median", {"method": "midpoint"}), "first": ("first", {}),
        }
        if word not in ops:
            raise ValueError(f"oriel.coarsen: coord_func must be {', '.join(sorted(ops))}, but is {word!r}")
        values = variable.copy(deep=False)
        kind = values.dtype.kind
        if kind in "mM":  # times are whole numbers of a unit
            whole = np.asarray(values.data).astype("int64")
            least = whole.min(initial=0) if whole.size == 0 else whole.min()
            op, options = ops["first" if word == "sum" else word]
            reduced = np.asarray(self._reduce(xr.Variable(values.dims, whole - least), op, options, False, None))
            return (np.rint(reduced).astype("int64") + least).astype(values.dtype)
        if kind not in "iufb":
            op, options = "first", {}
            data, axes, padding = self._blocks(values)
            steps = [slice(None)] * data.ndim
            for axis in axes:
                steps[axis] = slice(None, None, self._windows[values.dims[axis]])
            return data[tuple(steps)]
        return self._reduce(values, *ops[word], True, None)

    def _array(self, array: Any, op: Any, options: dict[str, Any], skipna: bool | None, keep_attrs: bool) -> Any:
        if not any(dim in self._windows for dim in array.dims):
            return array if keep_attrs else array.drop_attrs(deep=False)
        weights = self._weights
        if weights is not None and hasattr(weights, "dims"):
            weights = weights.broadcast_like(array).transpose(*array.dims).data
            weights = self._blocks(xr.Variable(array.dims, weights))[0]
        data = self._reduce(array.variable, op, options, skipna, self._min_count, weights)
        coords = {}
        for name, coordinate in array.coords.items():
            if any(dim in self._windows for dim in coordinate.dims):
                coords[name] = (coordinate.dims, self._coordinate(name, coordinate.variable), coordinate.attrs)
            else:
                coords[name] = coordinate.variable
        return xr.DataArray(data, dims=array.dims, coords=coords, name=array.name,
                            attrs=array.attrs if keep_attrs else None)

    def _apply(self, name: str, op: Any, options: dict[str, Any], skipna: bool | None, keep_attrs: bool | None) -> Any:
        keep = xr.get_options()["keep_attrs"] if keep_attrs is None else keep_attrs
        keep = True if keep == "default" else bool(keep)
        chosen = self._skipna if skipna is None else skipna
        if isinstance(self._obj, xr.DataArray):
            return self._array(self._obj, op, options, chosen, keep)
        arrays = {key: self._array(array, op, options, chosen, keep) for key, array in self._obj.data_vars.items()}
        return xr.Dataset(arrays, attrs=self._obj.attrs if keep else None)

    def reduce(self, func: Callable[..., Any], keep_attrs: bool | None = None, **kwargs: Any) -> Any:
        """The reduction of each block by a function of NumPy that has a method here."""
        word = getattr(func, "__name__", "").removeprefix("nan").replace("amax", "max").replace("amin", "min")
        method = getattr(self, word, None) if word in ("mean", "sum", "min", "max", "median", "var", "std", "prod", "any",
                                                       "all") else None
        if method is None or kwargs:
            raise ValueError(f"oriel.coarsen: func must be a function of NumPy that is a method here, without further "
                             f"arguments, but is {word or func!r}")
        return method(keep_attrs=keep_attrs)


class Rolling(_Statistics):
    """Moving windows of a DataArray. Made by `da.oriel.rolling`."""

    def __init__(self, obj: Any, windows: Mapping[Hashable, int], min_periods: int | None,
                 center: bool | Mapping[Hashable, bool]) -> None:
        missing = [dim for dim in windows if dim not in obj.dims]
        if missing or not windows:
            raise ValueError(f"oriel.rolling: dim must be one of {tuple(obj.dims)}, but is {missing[:1] or 'not given'}")
        self._obj = obj
        self._windows = {dim: operator.index(k) for dim, k in windows.items()}
        for dim, k in self._windows.items():
            if k < 1:
                raise ValueError(f"oriel.rolling: windows must be >= 1, but {dim!r} has {k}")
        self._center = {dim: center.get(dim, False) if isinstance(center, Mapping) else bool(center) for dim in windows}
        taps = int(np.prod(list(self._windows.values())))
        if min_periods is not None and not 1 <= min_periods <= taps:
            raise ValueError(f"oriel.rolling: min_periods must be in 1 to {taps}, but is {min_periods}")
        self._min_periods = taps if min_periods is None else operator.index(min_periods)

    def _apply(self, name: str, op: Any, options: dict[str, Any], skipna: bool | None, keep_attrs: bool | None) -> Any:
        array = self._obj
        keep = xr.get_options()["keep_attrs"] if keep_attrs is None else keep_attrs
        axes = [array.dims.index(dim) for dim in self._windows]
        kernel = list(self._windows.values())
        # As xarray: a centred window of even extent has one element more before than after its own.
        padding = [(k // 2, k - 1 - k // 2) if self._center[dim] else (k - 1, 0) for dim, k in self._windows.items()]
        data = array.data
        if data.dtype.kind in "iub" and op != "count":
            data = data.astype(np.float64)
        given = dict(options)
        given.setdefault("min_count", self._min_periods)
        if op == "count":
            given["min_count"] = 0
        result = _pooled(data, op, kernel, [1] * len(kernel), padding, axes, False, True, None, given)
        if op == "count":
            result = result.astype(np.float64)
            result = np.where(result >= self._min_periods, result, np.nan)
        return xr.DataArray(result, dims=array.dims, coords=array.coords, name=array.name,
                            attrs=array.attrs if keep in (True, "default") else None)


@xr.register_dataarray_accessor("oriel")
class OrielDataArray:
    """`DataArray.oriel`: pools of a labelled array."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def coarsen(self, dim: Mapping[Hashable, int] | None = None, boundary: Any = "exact", side: Any = "left",
                coord_func: Any = "mean", skipna: bool | None = None, min_count: int | None = None, weights: Any = None,
                **windows: int) -> Coarsen:
        """Blocks to be reduced, as `DataArray.coarsen`.

        Parameters
        ----------
        dim : mapping of name to int
            The extent of a block along each dimension; or as keywords.
        boundary : {"exact", "trim", "pad", "partial"}
            What happens to elements that make no whole block: an error; left out; completed with NaN ("pad"), or
            reduced as they are ("partial"), which is the same except for the coordinates of integers.
        side : {"left", "right"}
            Where blocks begin.
        coord_func : str, callable, or mapping of name to these
            The reduction of coordinates.
        skipna : bool, optional
            Whether NaN are left out; by default those of floats are.
        min_count : int, optional
            With fewer elements in a block the result is NaN.
        weights : DataArray, optional
            For means, sums, variances and modes.
        """
        return Coarsen(self._obj, {**(dim or {}), **windows}, boundary, side, coord_func, skipna, min_count, weights)

    def rolling(self, dim: Mapping[Hashable, int] | None = None, min_periods: int | None = None, center: Any = False,
                **windows: int) -> Rolling:
        """Moving windows to be reduced, as `DataArray.rolling`.

        Parameters
        ----------
        dim : mapping of name to int
            The extent of a window along each dimension; or as keywords.
        min_periods : int, optional
            With fewer elements that are not NaN the result is NaN; by default all are needed.
        center : bool
            Whether a window lies around its element, or ends with it.
        """
        return Rolling(self._obj, {**(dim or {}), **windows}, min_periods, center)


@xr.register_dataset_accessor("oriel")
class OrielDataset:
    """`Dataset.oriel`: pools of all variables."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def coarsen(self, dim: Mapping[Hashable, int] | None = None, boundary: Any = "exact", side: Any = "left",
                coord_func: Any = "mean", skipna: bool | None = None, min_count: int | None = None, weights: Any = None,
                **windows: int) -> Coarsen:
        """Blocks to be reduced, as `DataArray.oriel.coarsen`; variables without the dimensions stay as they are."""
        return Coarsen(self._obj, {**(dim or {}), **windows}, boundary, side, coord_func, skipna, min_count, weights)
