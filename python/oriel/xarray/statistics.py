"""What coarsened and rolling objects have in common: the statistics by name, and the pool of a variable's data."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import xarray as xr

from oriel import _core
from oriel.array_types import Op
from oriel.block import ENGINE_DTYPES

__all__ = ["Call", "Statistics", "is_lazy", "keeps_attributes", "named_call", "pooled", "takes"]

Ties = Literal["lowest", "highest", "first"]


@dataclass(frozen=True)
class Call:
    """A statistic that is asked for: its name, which is xarray's where xarray has it, and the options of the engine."""

    name: str
    op: Op
    options: dict[str, Any] = field(default_factory=dict)
    skipna: bool | None = None
    min_count: int | None = None

    def leaves_out_nan(self, dtype: np.dtype[Any]) -> bool:
        """By default NaN of floats are left out."""
        return dtype.kind == "f" and self.skipna is not False

    def keywords(self) -> dict[str, Any]:
        """The options of xarray's method of this name."""
        given: dict[str, Any] = {}
        if self.name not in ("any", "all", "count"):
            given = {"skipna": self.skipna, "min_count": self.min_count, "ddof": self.options.get("ddof")}
        return {key: value for key, value in given.items() if value is not None}


def takes(dtype: np.dtype[Any]) -> bool:
    """Whether the engine has the dtype; times, complex numbers, text and objects it has not."""
    return dtype.name in ENGINE_DTYPES


def is_lazy(data: Any) -> bool:
    """Whether data are a Dask array, told without importing Dask."""
    return type(data).__module__.split(".")[0] == "dask"


def keeps_attributes(keep_attrs: bool | None) -> bool:
    """xarray's rule: the argument, else its option, else yes."""
    keep = xr.get_options()["keep_attrs"] if keep_attrs is None else keep_attrs
    return True if keep == "default" else bool(keep)


def pooled(data: Any, op: Op, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[tuple[int, int]],
           axes: Sequence[int], omit: bool, options: dict[str, Any], weights: Any = None) -> Any:
    """The pool of a NumPy array, or of a Dask array, which stays one."""
    include = op != "avg"
    if is_lazy(data):
        from oriel import dask

        return dask.pool(data, op, kernel, stride, padding, axes=axes, nan_policy="omit" if omit else "propagate",
                         count_include_pad=include, weights=weights, **options)
    x = np.asarray(data)
    pool = _core.Pool(op, kernel, stride, padding, 1, None, axes, False, include, None, None, omit)
    if x.size == 0:  # nothing is left, or was there
        whole = list(x.shape)
        for axis, k in zip(axes, kernel):
            whole[axis] = max(whole[axis], k)
        shape, dtype = _core.statistic_result(pool, options, whole, x.dtype.name)
        return np.empty([0 if n == 0 else m for n, m in zip(x.shape, shape)], dtype)
    native = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    return _core.statistic(pool, options, native, None, weights)


# Methods that a function of NumPy, with or without "nan" before its name, is.
_NUMPY: dict[str, str] = {
    "mean": "avg", "average": "avg", "sum": "sum", "max": "max", "amax": "max", "min": "min", "amin": "min",
    "median": "median", "std": "std", "var": "var", "prod": "prod", "any": "any", "all": "all",
}


def named_call(func: Callable[..., Any], keywords: dict[str, Any]) -> Call | None:
    """The statistic that a function of NumPy is, if it is one."""
    word = getattr(func, "__name__", "")
    plain = word.removeprefix("nan")
    op = _NUMPY.get(plain)
    if op is None or getattr(np, word, None) is not func:
        return None
    if not set(keywords) <= ({"ddof"} if op in ("std", "var") else set()):
        return None
    name = {"average": "mean", "amax": "max", "amin": "min"}.get(plain, plain)
    options: dict[str, Any] = {"method": "midpoint"} if op == "median" else dict(keywords)
    return Call(name, op, options, word != plain)  # type: ignore[arg-type]


class Statistics:
    """The statistics, by name. Their first argument is whether attributes are kept, as in xarray."""

    def _apply(self, call: Call, keep_attrs: bool | None) -> Any:
        raise NotImplementedError

    def mean(self, keep_attrs: bool | None = None, *, skipna: bool | None = None, min_count: int | None = None) -> Any:
        """The mean of each window."""
        return self._apply(Call("mean", "avg", {}, skipna, min_count), keep_attrs)

    def sum(self, keep_attrs: bool | None = None, *, skipna: bool | None = None, min_count: int | None = None) -> Any:
        """The sum of each window."""
        return self._apply(Call("sum", "sum", {}, skipna, min_count), keep_attrs)

    def min(self, keep_attrs: bool | None = None, *, skipna: bool | None = None, min_count: int | None = None) -> Any:
        """The smallest element of each window."""
        return self._apply(Call("min", "min", {}, skipna, min_count), keep_attrs)

    def max(self, keep_attrs: bool | None = None, *, skipna: bool | None = None, min_count: int | None = None) -> Any:
        """The largest element of each window."""
        return self._apply(Call("max", "max", {}, skipna, min_count), keep_attrs)

    def median(self, keep_attrs: bool | None = None, *, skipna: bool | None = None, method: str = "midpoint",
               min_count: int | None = None) -> Any:
        """The median of each window; of an even number the mean of two, as NumPy's, or by another method (S16).

        With weights the method is "inverted_cdf".
        """
        return self._apply(Call("median", "median", {"method": method}, skipna, min_count), keep_attrs)

    def quantile(self, q: float, method: str = "linear", keep_attrs: bool | None = None, *, skipna: bool | None = None,
                 min_count: int | None = None) -> Any:
        """The quantile `q` of each window, by one of the methods of `oriel.quantile_pool`."""
        options = {"q": [float(q)], "method": method}
        return self._apply(Call("quantile", "quantile", options, skipna, min_count), keep_attrs)

    def var(self, keep_attrs: bool | None = None, *, ddof: int = 0, skipna: bool | None = None,
            min_count: int | None = None) -> Any:
        """The variance of each window."""
        return self._apply(Call("var", "var", {"ddof": operator.index(ddof)}, skipna, min_count), keep_attrs)

    def std(self, keep_attrs: bool | None = None, *, ddof: int = 0, skipna: bool | None = None,
            min_count: int | None = None) -> Any:
        """The standard deviation of each window."""
        return self._apply(Call("std", "std", {"ddof": operator.index(ddof)}, skipna, min_count), keep_attrs)

    def prod(self, keep_attrs: bool | None = None, *, skipna: bool | None = None, min_count: int | None = None) -> Any:
        """The product of each window."""
        return self._apply(Call("prod", "prod", {}, skipna, min_count), keep_attrs)

    def count(self, keep_attrs: bool | None = None) -> Any:
        """The number of elements of each window that are not NaN."""
        return self._apply(Call("count", "count"), keep_attrs)

    def mode(self, keep_attrs: bool | None = None, *, ties: Ties = "lowest", ignore: Any = None,
             skipna: bool | None = None, min_count: int | None = None) -> Any:
        """The most frequent value of each window (S17)."""
        options = {"ties": ties} if ignore is None else {"ties": ties, "ignore": ignore}
        return self._apply(Call("mode", "mode", options, skipna, min_count), keep_attrs)

    def nunique(self, keep_attrs: bool | None = None, *, skipna: bool | None = None) -> Any:
        """The number of distinct values of each window; with `skipna=False` all NaN are one."""
        return self._apply(Call("nunique", "nunique", {}, skipna), keep_attrs)
