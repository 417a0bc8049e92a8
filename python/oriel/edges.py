"""What filters do at the edges of an array: the modes of `scipy.ndimage`, by copies of the borders alone."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from oriel import _core
from oriel.array_types import Op
from oriel.block import ENGINE_DTYPES

__all__ = [
    "EdgeMode",
    "Modes",
    "Window",
    "WholeNumbers",
    "along",
    "checked_input",
    "edge_value",
    "filter_parts",
    "filtered_axes",
    "output_array",
    "per_axis",
    "whole_number",
    "window_shape",
    "windows_along",
    "write_statistic",
]

# As in SciPy, 3.0 is a size, too.
WholeNumbers = SupportsIndex | float | Sequence[SupportsIndex] | Sequence[float]
EdgeMode = Literal["reflect", "grid-mirror", "mirror", "nearest", "wrap", "grid-wrap", "constant", "grid-constant"]
Modes = EdgeMode | Sequence[EdgeMode]
_MODES = {
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "mirror": "mirror",
    "nearest": "nearest",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}

# Bytes with its borders of an array that is rather copied as a whole: of 512x512 bytes nine calls of the engine for its
# parts took 40 us longer, the copy takes 5 us.
_SMALL = 1 << 20


@dataclass(frozen=True)
class Window:
    """The window along one axis: `before` and `after` elements around the output's own."""

    axis: int
    before: int
    after: int
    mode: str

    def needs_no_values(self, op: Op, zero_edge: bool) -> bool:
        """Whether absent places give what the mode's values give.

        Let a window be [i - before, i + after]; it holds i, which is inside. For a maximum or minimum a place beyond
        the edge changes nothing when its value is also that of a place in the window. "nearest": that of the edge,
        which lies between i and the place. "reflect": place -p has the value of p - 1 <= before - i - 1, which is in
        the window for every i >= 0 if before - 1 <= after; likewise after - 1 <= before at the other edge. "mirror":
        place -p has that of p <= before - i, in the window if before <= after; likewise after <= before. A place that
        is reflected several times stays in the window every time. "constant": the value is combined with the result
        afterwards. For a mean, places of value 0 are absent ones, which count in the divisor.
        """
        if op == "avg":
            return self.mode == "constant" and zero_edge
        if self.mode in ("nearest", "constant"):
            return True
        return abs(self.before - self.after) <= {"reflect": 1, "mirror": 0}.get(self.mode, -1)

    def places(self, begin: int, end: int, n: int) -> NDArray[Any]:
        """The inputs whose values places begin to end of an axis of n have; n for the constant."""
        at = np.arange(begin, end)
        if self.mode == "nearest":
            return np.minimum(np.maximum(at, 0), n - 1)
        if self.mode == "wrap":
            return at % n
        if self.mode == "constant":
            return np.where((at < 0) | (at >= n), n, at)
        period = 2 * n if self.mode == "reflect" else max(2 * n - 2, 1)
        at = at % period
        return np.minimum(at, period - at - (self.mode == "reflect"))


def checked_input(name: str, x: NDArray[Any]) -> NDArray[Any]:
    """The input of a filter as the engine takes it."""
    if x.dtype.name not in ENGINE_DTYPES:
        raise TypeError(
            f"{name}: input must have dtype float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 "
            f"or bool, but has {x.dtype}"
        )
    if x.ndim > 16:
        raise ValueError(f"{name}: input must have at most 16 axes, but has {x.ndim}")
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def output_array(name: str, output: Any, x: NDArray[Any]) -> NDArray[Any]:
    """The array to write to: `output`, or a new one of its dtype or the input's."""
    if output is None:
        return np.empty(x.shape, x.dtype)
    if isinstance(output, (type, np.dtype, str)):
        try:
            return np.empty(x.shape, np.dtype(output))
        except TypeError:
            raise TypeError(f"{name}: output must be an array or a dtype, but is {output!r}") from None
    if not isinstance(output, np.ndarray):
        raise TypeError(f"{name}: output must be an array or a dtype, but is {type(output).__name__}")
    if output.shape != x.shape:
        raise ValueError(f"{name}: output must have the input's shape {x.shape}, but has {output.shape}")
    if not output.flags.writeable:
        raise ValueError(f"{name}: output must be writable, but is read-only")
    return output


def filtered_axes(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """The filtered axes, counted from the first."""
    if axes is None:
        return tuple(range(rank))
    try:
        given = tuple(map(operator.index, axes)) if isinstance(axes, Iterable) else (operator.index(axes),)
    except TypeError:
        raise TypeError(f"{name}: axes must be an int or a sequence of ints, but is {axes!r}") from None
    for axis in given:
        if not -rank <= axis < rank:
            raise ValueError(f"{name}: axes must be from {-rank} to {rank - 1}, but one is {axis}")
    filtered = tuple(axis % rank for axis in given)
    if len(set(filtered)) < len(filtered):
        raise ValueError(f"{name}: axes must be unique, but are {given}")
    return filtered


def per_axis(name: str, word: str, value: Any, count: int) -> list[Any]:
    """One value for each filtered axis."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise ValueError(
            f"{name}: {word} must have one value for each of the {count} filtered axes, but has {len(values)}"
        )
    return values


def whole_number(name: str, word: str, value: Any) -> int:
    """The int that `value` is."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)  # SciPy takes 3.0
    number: Any = value
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{name}: {word} must be an int or a sequence of ints, but is {value!r}") from None


def windows_along(name: str, x: NDArray[Any], axes: tuple[int, ...], size: Any, mode: Any, origin: Any) -> list[Window]:
    """The windows of all axes that have more than one tap."""
    windows = []
    sizes, modes, origins = (
        per_axis(name, word, value, len(axes)) for word, value in (("size", size), ("mode", mode), ("origin", origin))
    )
    taps = 1
    for axis, k, edge, shift in zip(axes, sizes, modes, origins):
        k, shift = whole_number(name, "size", k), whole_number(name, "origin", shift)
        if edge not in _MODES:
            raise ValueError(f"{name}: mode must be one of {', '.join(_MODES)}, but is {edge!r}")
        if k < 1:
            raise ValueError(f"{name}: size must be >= 1, but axis {axis} has {k}")
        taps *= k
        if taps >= 2**62:
            raise ValueError(f"{name}: a window must have less than 2**62 elements, but size is {size!r}")
        if k > 1:
            if not 0 <= k // 2 + shift < k:
                raise ValueError(
                    f"{name}: origin must be from {-(k // 2)} to {(k - 1) // 2} for size {k}, "
                    f"but axis {axis} has {shift}"
                )
            windows.append(Window(axis, k // 2 + shift, k - 1 - k // 2 - shift, _MODES[edge]))
    return windows


def edge_value(name: str, cval: Any, dtype: np.dtype[Any], windows: list[Window]) -> Any:
    """`cval` in the input's dtype, 0 if no mode needs it. Truncation is monotone: it commutes with max and min."""
    if all(window.mode != "constant" for window in windows):
        return dtype.type(0)
    if np.size(cval) != 1 or np.asarray(cval).dtype.kind not in "fiub":
        raise ValueError(f"{name}: cval must be one real number, but is {cval!r}")
    value = np.asarray(cval).item()
    if dtype.kind not in "iu":
        return dtype.type(value)
    if value != value:
        raise ValueError(f"{name}: cval must be a number if the input has integers, but is {cval!r}")
    info = np.iinfo(dtype)
    return dtype.type(int(min(max(value, info.min), info.max)))


def filter_parts(
    x: NDArray[Any], y: NDArray[Any], filled: list[Window], edge: Any
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """(inputs, outputs) of parts of the result; the inputs of the interior are a view, those of the borders copies."""
    if not filled:
        yield x, y
        return
    if math.prod(padded_shape(x, filled)) * x.itemsize <= _SMALL:
        yield padded(x, filled, edge), y
        return
    window, *others = filled
    axis, n = window.axis, x.shape[window.axis]
    low = min(window.before, n)
    high = max(n - window.after, low)
    for begin, end in ((0, low), (low, high), (high, n)):
        if begin == end:
            continue
        if window.before <= begin and end + window.after <= n:
            x_part = x[along(axis, slice(begin - window.before, end + window.after))]
        else:
            at = window.places(begin - window.before, end + window.after, n)
            if window.mode == "constant":
                x_part = x.take(at.clip(max=n - 1), axis)
                x_part[along(axis, at == n)] = edge
            else:
                x_part = x.take(at, axis)
        yield from filter_parts(x_part, y[along(axis, slice(begin, end))], others, edge)


def padded_shape(x: NDArray[Any], windows: list[Window]) -> list[int]:
    """The extents of x and what lies beyond its edges in windows."""
    shape = list(x.shape)
    for window in windows:
        shape[window.axis] += window.before + window.after
    return shape


def padded(x: NDArray[Any], windows: list[Window], edge: Any) -> NDArray[Any]:
    """x and the values beyond its edges: axis by axis, so that corners come from borders that are there already."""
    result = np.empty(padded_shape(x, windows), x.dtype)
    inner = [slice(None)] * x.ndim
    for window in windows:
        inner[window.axis] = slice(window.before, window.before + x.shape[window.axis])
    result[tuple(inner)] = x
    for window in windows:
        axis, before, n = window.axis, window.before, x.shape[window.axis]
        for begin, end in ((-before, 0), (n, n + window.after)):
            if begin == end:
                continue
            border = result[along(axis, slice(before + begin, before + end))]
            if window.mode == "constant":
                border[...] = edge
            elif window.mode == "nearest":
                first = before if begin < 0 else before + n - 1
                border[...] = result[along(axis, slice(first, first + 1))]
            else:
                border[...] = result.take(window.places(begin, end, n) + before, axis)
    return result


def along(axis: int, place: Any) -> tuple[Any, ...]:
    """The index of `place` along an axis and of everything along those before it."""
    return (slice(None),) * axis + (place,)


def window_shape(
    name: str, size: Any, footprint: Any, filtered: tuple[int, ...], stacklevel: int = 4
) -> tuple[Any, NDArray[np.bool_] | None]:
    """The sizes along the filtered axes, and the footprint if it is no box. `stacklevel`: of the user's call.

    Sizes are in the order of `filtered`, but the footprint's axes in that of the array's, as SciPy's tests have it.
    """
    if footprint is None:
        if size is None:
            raise ValueError(f"{name}: size or footprint must be given, but both are None")
        return size, None
    if size is not None:
        warnings.warn(f"{name}: size is ignored because footprint is given", UserWarning, stacklevel=stacklevel)
    taps = np.asarray(footprint, dtype=bool)
    if not taps.any():
        raise ValueError(f"{name}: footprint must have a true element, but has none")
    if taps.ndim != len(filtered):
        raise ValueError(
            f"{name}: footprint must have one axis for each of the {len(filtered)} filtered axes, but has {taps.ndim}"
        )
    extents = dict(zip(sorted(filtered), taps.shape))
    return tuple(extents[axis] for axis in filtered), None if taps.all() else taps


def write_statistic(
    op: Any,
    options: dict[str, Any],
    x: NDArray[Any],
    result: NDArray[Any],
    windows: list[Window],
    edge: Any,
    taps: NDArray[np.bool_] | None = None,
    omit: bool = False,
    dtype: str | None = None,
    whole: bool = False,
) -> None:
    """Write the statistic `op` around each element, a value of `dtype` or the input's, to `result`.

    The windows, in any order, are those of the footprint `taps` without those of one tap.
    `whole`: of whole windows only, so that nothing beyond the edges is needed.
    """
    if x.size == 0:
        return
    if x.ndim == 0:
        x, result = x.reshape(1), result.reshape(1)
    ordered = sorted(windows, key=lambda window: window.axis)  # S8: the order of a sum is that of the axes
    given = dict(options)
    if taps is not None:
        given["footprint"] = np.ascontiguousarray(taps.reshape([k for k in taps.shape if k > 1] or [1]))
    if dtype is not None:
        given["dtype"] = dtype
    kernel = [w.before + 1 + w.after for w in ordered] or [1]
    pool = _core.Pool(
        op, kernel, [1] * len(kernel), 0, 1, None, [w.axis for w in ordered] or [0], False, True, None, None, omit
    )
    same = result.dtype == x.dtype if dtype is None else result.dtype.name == dtype and result.dtype.isnative
    direct = same and not np.may_share_memory(x, result)
    y = result if direct else np.empty(result.shape, x.dtype if dtype is None else dtype)
    for x_part, y_part in [(x, y)] if whole else filter_parts(x, y, windows, edge):
        _core.statistic(pool, given, x_part, None, None, y_part)
    if not direct:
        with np.errstate(invalid="ignore"):  # a NaN as an integer
            result[...] = y.astype(result.dtype, copy=False)
