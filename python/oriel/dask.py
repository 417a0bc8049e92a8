"""Pools of Dask arrays: each chunk of a result reads just the inputs that it needs, and nothing is rechunked.

>>> import dask.array as da
>>> import numpy as np
>>> import oriel.dask
>>> x = da.from_array(np.arange(12.0).reshape(3, 4), chunks=(2, 2))
>>> oriel.dask.pool(x, "max", 2, ceil_mode=True).compute()
array([[ 5.,  7.],
       [ 9., 11.]])
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

try:
    import dask.array as da
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph
except ImportError as _error:
    raise ImportError("oriel.dask: needs dask; install it with `pip install dask[array]`", name=_error.name) from _error

from oriel import _core
from oriel.pool import check_nan_policy
from oriel.valid_taps import dtype_name

__all__ = ["coarsen", "inputs_of", "pool"]

_REDUCTIONS: dict[Any, tuple[str, dict[str, Any], bool]] = {
    np.max: ("max", {}, False), np.amax: ("max", {}, False), np.nanmax: ("max", {"min_count": 1}, True),
    np.min: ("min", {}, False), np.amin: ("min", {}, False), np.nanmin: ("min", {"min_count": 1}, True),
    np.mean: ("avg", {}, False), np.average: ("avg", {}, False), np.nanmean: ("avg", {"min_count": 1}, True),
    np.sum: ("sum", {}, False), np.nansum: ("sum", {}, True),
    np.median: ("median", {"method": "midpoint"}, False), np.nanmedian: ("median", {"method": "midpoint"}, True),
    np.std: ("std", {}, False), np.nanstd: ("std", {}, True), np.var: ("var", {}, False), np.nanvar: ("var", {}, True),
    np.prod: ("prod", {}, False), np.any: ("any", {}, False), np.all: ("all", {}, False), np.ptp: ("range", {}, False),
}


def inputs_of(begin: int, end: int, n: int, kernel: int, stride: int, before: int, dilation: int) -> tuple[int, int, int, int]:
    """(first input, end of the inputs, padding before, padding after) of the outputs `begin` to `end` of an axis.

    The inputs are those of `n` that the outputs read, from the first to the last. A pool of these inputs alone, with
    these paddings, begins with just these outputs.
    """
    first = begin * stride - before
    last = (end - 1) * stride - before + (kernel - 1) * dilation + 1
    if last <= 0 or first >= n:  # windows of padding alone: one input keeps the place behind them
        return 0, 1, last - first, 0
    low, high = max(first, 0), min(last, n)
    return low, high, low - first, last - high


def _per_axis(word: str, value: Any, count: int) -> list[int]:
    if np.iterable(value):
        values = [operator.index(v) for v in value]
        if len(values) != count:
            raise ValueError(f"oriel.dask.pool: {word} must have 1 value or one per pooled axis ({count}), but has "
                             f"{len(values)}")
        return values
    return [operator.index(value)] * count


def _cuts(chunks: Sequence[int], n: int, out: int, kernel: int, stride: int, before: int,
          dilation: int) -> list[tuple[int, int]]:
    """The outputs of each chunk: those whose windows have their middle in it."""
    ends, place = [], 0
    for chunk in chunks:
        place += chunk
        middle = (kernel - 1) * dilation // 2
        ends.append(min(max(-((before - middle - place) // stride), 0), out))
    ends[-1] = out
    begins = [0, *ends[:-1]]
    return [(b, e) for b, e in zip(begins, ends) if e > b]


def _pool_part(x: Any, mask: Any, op: str, window: tuple[Any, ...], axes: tuple[int, ...], rules: tuple[Any, ...],
               options: dict[str, Any], places: tuple[slice, ...]) -> Any:
    """The pool of the inputs of one chunk, which is at these places."""
    core = _core.Pool(op, *window, None, axes, False, *rules[:3], rules[3])
    native = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    return _core.statistic(core, options, native, mask)[places]


def pool(a: Any, op: str, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, *,
         ceil_mode: bool = False, axes: Any = None, nan_policy: Any = "propagate", count_include_pad: bool = True,
         divisor_override: int | None = None, norm_type: float | None = None, mask: Any = None,
         **options: Any) -> Any:
    """The pool of a Dask array, as a Dask array.

    Parameters
    ----------
    a : dask.array.Array
        Chunked in any way.
    op : str
        Any op of `oriel.Pool` or of `oriel.statistics`, without its quantiles along a new axis.
    kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, count_include_pad, divisor_override, norm_type
        As for `oriel.avg_pool`; padding is a number or a (before, after) for each axis.
    mask : dask.array.Array, optional
        Of a's shape, not 0 where `a` is valid.
    **options
        Of the op and of `oriel.valid_taps.ValidTaps`: nodata, min_count, method, q, ddof …

    Returns
    -------
    dask.array.Array
        Its chunks are those of `a` that windows have their middles in.

    Notes
    -----
    A chunk of the result slices the inputs that it needs from at most the neighbouring chunks, so the memory of a
    worker does not depend on the array, and the result has the bits of `oriel` on the whole array.
    """
    x = da.asarray(a)
    if x.ndim == 0 or any(np.isnan(n) for n in x.shape):
        raise ValueError(f"oriel.dask.pool: a must have axes of known lengths, but has shape {x.shape}")
    given = range(x.ndim) if axes is None else axes if np.iterable(axes) else (axes,)
    pooled = tuple(operator.index(axis) % x.ndim for axis in given)
    count = len(pooled)
    kernel = _per_axis("kernel_size", kernel_size, count)
    step = kernel if stride is None else _per_axis("stride", stride, count)
    spread = _per_axis("dilation", dilation, count)
    pads = [tuple(p) if np.iterable(p) else (p, p) for p in (padding if np.iterable(padding) else [padding] * count)]
    if options.get("dtype") is not None:
        options["dtype"] = dtype_name(options["dtype"])
    rules = (count_include_pad, divisor_override, norm_type, check_nan_policy(nan_policy))
    whole = _core.Pool(op, kernel, step, pads, spread, None, pooled, ceil_mode, *rules[:3], rules[3])  # type: ignore[arg-type]
    if op == "avg" and ceil_mode and count_include_pad and divisor_override is None:
        raise ValueError("oriel.dask.pool: count_include_pad must be False for averages in ceil mode, but is True")
    shape, dtype = _core.statistic_result(whole, options, x.shape, x.dtype.name)
    if len(shape) != x.ndim:
        raise ValueError(f"oriel.dask.pool: q must be 1 value, but has {shape[0]}")
    cuts: list[list[Any]] = []
    for axis in range(x.ndim):
        if axis not in pooled:
            ends = list(itertools.accumulate(x.chunks[axis]))
            cuts.append(list(zip([0, *ends[:-1]], ends)))
            continue
        i = pooled.index(axis)
        cuts.append(_cuts(x.chunks[axis], x.shape[axis], shape[axis], kernel[i], step[i], pads[i][0], spread[i]))
    name = f"oriel-{op}-{tokenize(x, op, kernel, step, pads, spread, ceil_mode, pooled, rules, options, mask)}"
    tasks, sources = {}, []
    masks = None if mask is None else da.asarray(mask)
    for place in itertools.product(*(range(len(c)) for c in cuts)):
        bounds = [cuts[axis][number] for axis, number in enumerate(place)]
        slices = [slice(*b) for b in bounds]
        own_pads = []
        for i, axis in enumerate(pooled):
            low, high, *around = inputs_of(*bounds[axis], x.shape[axis], kernel[i], step[i], pads[i][0], spread[i])
            slices[axis] = slice(low, high)
            own_pads.append(tuple(around))
        part = x[tuple(slices)].rechunk(-1)
        run = partial(_pool_part, op=op, window=(kernel, step, own_pads, spread), axes=pooled, rules=rules,
                      options=options, places=tuple(slice(e - b) for b, e in bounds))
        sources.append(part)
        key, mask_key = (part.name, *(0,) * x.ndim), None
        if masks is not None:
            mask_part = masks[tuple(slices)].rechunk(-1)
            sources.append(mask_part)
            mask_key = (mask_part.name, *(0,) * x.ndim)
        tasks[(name, *place)] = (run, key, mask_key)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=sources)
    chunks = tuple(tuple(e - b for b, e in c) for c in cuts)
    return da.Array(graph, name, chunks, dtype=np.dtype(dtype))


def coarsen(reduction: Callable[..., Any], x: Any, axes: dict[int, int], trim_excess: bool = False,
            **kwargs: Any) -> Any:
    """Blocks of a Dask array reduced, as `dask.array.coarsen`, whatever the chunks are.

    Parameters
    ----------
    reduction : callable
        NumPy's max, min, mean, sum, median, std, var, prod, any, all, ptp, or those that leave NaN out.
    x : dask.array.Array
    axes : dict of int to int
        The extent of a block along each axis.
    trim_excess : bool
        Whether to leave out what is more than whole blocks; otherwise it is an error.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import oriel.dask
    >>> oriel.dask.coarsen(np.sum, da.arange(6, chunks=4), {0: 2}).compute()
    array([1, 5, 9])
    """
    known = _REDUCTIONS.get(reduction)
    if known is None or kwargs:
        word = getattr(reduction, "__name__", repr(reduction))
        raise ValueError(f"oriel.dask.coarsen: reduction must be NumPy's max, min, mean, sum, median, std, var, prod, any, "
                         f"all, ptp or one of these that leaves NaN out, without further arguments, but is {word}")
    a = da.asarray(x)
    named = sorted((axis % a.ndim, operator.index(k)) for axis, k in axes.items())
    for axis, k in named:
        if a.shape[axis] % k != 0 and not trim_excess:
            raise ValueError(f"oriel.dask.coarsen: axis {axis} must be divisible by {k}, but has {a.shape[axis]}; "
                             "trim_excess leaves the rest out")
    op, options, omit = known
    options = dict(options)
    if op in ("sum", "prod") and a.dtype.kind in "ui":
        options["dtype"] = "uint64" if a.dtype.kind == "u" else "int64"
    if op == "avg" and a.dtype.kind in "uib":
        options["dtype"] = "float64"
    if op == "median" and a.dtype.kind in "uib":
        options["dtype"] = "float64"
    return pool(a, op, [k for _, k in named], axes=[axis for axis, _ in named],
                nan_policy="omit" if omit else "propagate", **options)
