"""`maximum_filter`, `minimum_filter` and `uniform_filter` with the arguments and edge modes of `scipy.ndimage`."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from oriel import _core
from oriel.array_types import Op
from oriel.block import ENGINE_DTYPES

__all__ = [
    "EdgeMode",
    "WholeNumbers",
    "checked_input",
    "edge_value",
    "filter_parts",
    "filtered_axes",
    "maximum_filter",
    "minimum_filter",
    "output_array",
    "uniform_filter",
    "windows_along",
]

# As in SciPy, 3.0 is a size, too.
WholeNumbers = SupportsIndex | float | Sequence[SupportsIndex] | Sequence[float]
EdgeMode = Literal["reflect", "grid-mirror", "mirror", "nearest", "wrap", "grid-wrap", "constant", "grid-constant"]
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

# Elements of an array that is rather padded as a whole, as nine calls of the engine would take longer than copying it.
_SMALL = 1 << 15


def maximum_filter(
    input: ArrayLike,
    size: WholeNumbers | None = None,
    footprint: ArrayLike | None = None,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: EdgeMode | Sequence[EdgeMode] = "reflect",
    cval: float = 0.0,
    origin: WholeNumbers = 0,
    *,
    axes: SupportsIndex | Sequence[SupportsIndex] | None = None,
) -> NDArray[Any]:
    """The largest element around each element, as `scipy.ndimage.maximum_filter`.

    Parameters
    ----------
    input : array_like of shape (…)
        Read without copying, whatever its strides; converted if it has the other byte order.
    size : int or sequence of int
        Extents of the window, at least 1, whose middle is element ``size // 2``.
    footprint : array_like of bool, optional
        The window's shape, instead of `size` (S20).
    output : array or dtype, optional
        Where to write the result, or its dtype.
    mode : str or sequence of str
        The values beyond the edges: "reflect" (or "grid-mirror"; d c b a | a b c d | d c b a), "mirror" (d c b | a b c
        d | c b a), "nearest" (a a a a | a b c d | d d d d), "wrap" (or "grid-wrap"; a b c d | a b c d | a b c d),
        "constant" (or "grid-constant"): `cval`.
    cval : float
        The value beyond the edges; it is converted to the input's dtype, integers being truncated and kept within the
        dtype's range.
    origin : int or sequence of int
        Number of elements by which the window is moved to the left.
    axes : int or sequence of int, optional
        The filtered axes, all by default. Sequences have one value for each of them.

    Returns
    -------
    numpy.ndarray
        Of the input's shape; `output`, if that is an array.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Notes
    -----
    Large inputs are not padded: only outputs whose windows reach beyond the array, and only in modes whose values
    beyond the edges can change the result, are computed from a copy of their surroundings. Unlike SciPy, which computes
    in float64, 64-bit integers are exact, and a NaN within a window makes the result NaN (S3). Errors are ValueError if
    SciPy raises RuntimeError (a list of the wrong length, an unknown mode, a missing size, an `output` of another
    shape); a size below 1, which SciPy treats as 1, or one that is not a whole number, which SciPy rounds down, is an
    error. SciPy's other filters (ranks, medians, grey morphology) are in `oriel.ndimage`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> x = np.array([2, 8, 0, 4, 1, 9, 9, 0])
    >>> oriel.maximum_filter(x, 3)
    array([8, 8, 8, 4, 9, 9, 9, 9])
    >>> oriel.maximum_filter(x, 3, mode="constant", cval=5, origin=1)
    array([5, 8, 8, 8, 4, 9, 9, 9])
    """
    return _extremum("maximum_filter", "max", input, size, footprint, output, mode, cval, origin, axes)


def minimum_filter(
    input: ArrayLike,
    size: WholeNumbers | None = None,
    footprint: ArrayLike | None = None,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: EdgeMode | Sequence[EdgeMode] = "reflect",
    cval: float = 0.0,
    origin: WholeNumbers = 0,
    *,
    axes: SupportsIndex | Sequence[SupportsIndex] | None = None,
) -> NDArray[Any]:
    """The smallest element around each element, as `scipy.ndimage.minimum_filter`. See `maximum_filter` for the rest.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.minimum_filter(np.array([2, 8, 0, 4, 1, 9, 9, 0]), 3, mode="wrap")
    array([0, 0, 0, 0, 1, 1, 0, 0])
    """
    return _extremum("minimum_filter", "min", input, size, footprint, output, mode, cval, origin, axes)


def uniform_filter(
    input: ArrayLike,
    size: WholeNumbers = 3,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: EdgeMode | Sequence[EdgeMode] = "reflect",
    cval: complex = 0.0,
    origin: WholeNumbers = 0,
    *,
    axes: SupportsIndex | Sequence[SupportsIndex] | None = None,
) -> NDArray[Any]:
    """The mean around each element, as `scipy.ndimage.uniform_filter`. See `maximum_filter` for the rest.

    Notes
    -----
    A floating result is the mean rounded once, of a sum in the order of S8; SciPy keeps a running sum in float64 and
    rounds after every axis. So they agree within rounding, but a NaN or an infinity affects only the windows that
    contain it, not all that follow. If input and result are integers, the exact mean is rounded half to even (S7),
    while SciPy truncates after every axis: it may be up to one less per axis. An integer input with a floating `output`
    is converted first; so is float32 with a float64 `output`. Complex input is filtered by parts.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.uniform_filter(np.array([2.0, 8.0, 0.0, 4.0, 1.0]), 3)
    array([4.        , 3.33333333, 4.        , 1.66666667, 2.        ])
    >>> oriel.uniform_filter(np.array([2, 8, 0, 4, 1]), 3)
    array([4, 3, 4, 2, 2])
    """
    name = "uniform_filter"
    x = np.asarray(input)
    if x.dtype.kind == "c":
        return _complex_means(x, size, output, mode, cval, origin, axes)
    x = checked_input(name, x)
    result = output_array(name, output, x)
    windows = windows_along(name, x, filtered_axes(name, axes, x.ndim), size, mode, origin)
    if result.dtype.kind == "f" and result.dtype != x.dtype:
        x = x.astype(np.result_type(x, result), copy=False)
    _write("avg", x, result, windows, edge_value(name, cval, x.dtype, windows))
    return result


@dataclass(frozen=True)
class _Window:
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
            return at.clip(0, n - 1)
        if self.mode == "wrap":
            return at % n
        if self.mode == "constant":
            return np.where((at < 0) | (at >= n), n, at)
        period = 2 * n if self.mode == "reflect" else max(2 * n - 2, 1)
        at = at % period
        return np.minimum(at, period - at - (self.mode == "reflect"))


def _extremum(
    name: str, op: Op, input: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> NDArray[Any]:
    x = checked_input(name, np.asarray(input))
    filtered = filtered_axes(name, axes, x.ndim)
    if footprint is not None:
        if size is not None:
            warnings.warn(f"{name}: size is ignored because footprint is given", UserWarning, stacklevel=3)
        footprint = np.asarray(footprint, dtype=bool)
        if not footprint.any():
            raise ValueError(f"{name}: footprint must have a true element, but has none")
        if not footprint.all():
            from oriel import ndimage

            filter_of_shape: Any = getattr(ndimage, name)
            return filter_of_shape(
                input, footprint=footprint, output=output, mode=mode, cval=cval, origin=origin, axes=axes
            )
        if footprint.ndim != len(filtered):
            raise ValueError(
                f"{name}: footprint must have one axis for each of the {len(filtered)} filtered axes, "
                f"but has {footprint.ndim}"
            )
        size = footprint.shape
    elif size is None:
        raise ValueError(f"{name}: size or footprint must be given, but both are None")
    result = output_array(name, output, x)
    windows = windows_along(name, x, filtered, size, mode, origin)
    _write(op, x, result, windows, edge_value(name, cval, x.dtype, windows))
    return result


def _complex_means(x: Any, size: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any) -> NDArray[Any]:
    result = output_array("uniform_filter", np.promote_types(x.dtype, np.complex64) if output is None else output, x)
    if result.dtype.kind != "c":
        raise TypeError(f"uniform_filter: output must be complex as the input is, but has dtype {result.dtype}")
    target: Any = np.empty(result.shape, result.dtype) if np.may_share_memory(x, result) else result
    uniform_filter(x.real, size, target.real, mode, np.real(cval), origin, axes=axes)
    uniform_filter(x.imag, size, target.imag, mode, np.imag(cval), origin, axes=axes)
    if target is not result:
        result[...] = target
    return result


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
        raise ValueError(f"{name}: axes must differ, but are {given}")
    return filtered


def _per_axis(name: str, word: str, value: Any, count: int) -> list[Any]:
    if isinstance(value, str) or not np.iterable(value):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise ValueError(
            f"{name}: {word} must have one value for each of the {count} filtered axes, but has {len(values)}"
        )
    return values


def _integer(name: str, word: str, value: Any) -> int:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)  # SciPy takes 3.0
    number: Any = value
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{name}: {word} must be an int or a sequence of ints, but is {value!r}") from None


def windows_along(name: str, x: NDArray[Any], axes: tuple[int, ...], size: Any, mode: Any, origin: Any) -> list[_Window]:
    """The windows of all axes that have more than one tap."""
    windows = []
    sizes, modes, origins = (
        _per_axis(name, word, value, len(axes)) for word, value in (("size", size), ("mode", mode), ("origin", origin))
    )
    taps = 1
    for axis, k, edge, shift in zip(axes, sizes, modes, origins):
        k, shift = _integer(name, "size", k), _integer(name, "origin", shift)
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
            windows.append(_Window(axis, k // 2 + shift, k - 1 - k // 2 - shift, _MODES[edge]))
    return windows


def edge_value(name: str, cval: Any, dtype: np.dtype[Any], windows: list[_Window]) -> Any:
    """`cval` in the input's dtype, 0 if no mode needs it. Truncation is monotone: it commutes with max and min."""
    if all(window.mode != "constant" for window in windows):
        return dtype.type(0)
    if np.size(cval) != 1 or np.iscomplexobj(cval):
        raise ValueError(f"{name}: cval must be one real number, but is {cval!r}")
    value = np.asarray(cval).item()
    if dtype.kind not in "iu":
        return dtype.type(value)
    if value != value:
        raise ValueError(f"{name}: cval must be a number if the input has integers, but is {cval!r}")
    info = np.iinfo(dtype)
    return dtype.type(int(min(max(value, info.min), info.max)))


def _write(op: Op, x: NDArray[Any], result: NDArray[Any], windows: list[_Window], edge: Any) -> None:
    if x.size == 0 or not windows:
        result[...] = x
        return
    direct = result.dtype == x.dtype and not np.may_share_memory(x, result)
    y = result if direct else np.empty(x.shape, x.dtype)
    absent, filled = [], []
    for window in windows:
        (absent if window.needs_no_values(op, not edge) else filled).append(window)
    for x_part, y_part in filter_parts(x, y, filled, edge):
        _pool_part(op, x_part, y_part, absent, filled)
    if op != "avg":
        combine = np.maximum if op == "max" else np.minimum
        for border in _borders(y, absent):
            combine(border, edge, out=border)
    if not direct:
        result[...] = y


def filter_parts(
    x: NDArray[Any], y: NDArray[Any], filled: list[_Window], edge: Any
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """(inputs, outputs) of parts of the result; the inputs of the interior are a view, those of the borders copies."""
    if not filled:
        yield x, y
        return
    window, *others = filled
    axis, n = window.axis, x.shape[window.axis]
    low = min(window.before, n)
    high = max(n - window.after, low)
    for begin, end in ((0, n),) if x.size <= _SMALL else ((0, low), (low, high), (high, n)):
        if begin == end:
            continue
        if window.before <= begin and end + window.after <= n:
            x_part = x[_along(axis, slice(begin - window.before, end + window.after))]
        else:
            at = window.places(begin - window.before, end + window.after, n)
            x_part = x.take(at.clip(max=n - 1), axis)
            x_part[_along(axis, at == n)] = edge
        yield from filter_parts(x_part, y[_along(axis, slice(begin, end))], others, edge)


def _along(axis: int, place: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + (place,)


def _pool_part(op: Op, x: NDArray[Any], y: NDArray[Any], absent: list[_Window], filled: list[_Window]) -> None:
    windows = sorted(absent + filled, key=lambda window: window.axis)  # S8: the order of a sum is that of the axes
    padding = [(w.before, w.after) if w in absent else (0, 0) for w in windows]
    pool = _core.Pool(
        op, [w.before + 1 + w.after for w in windows], [1] * len(windows), padding, 1, None, [w.axis for w in windows]
    )
    _core.forward(pool, x, y)


def _borders(y: NDArray[Any], absent: list[_Window]) -> Iterator[NDArray[Any]]:
    """Views of the outputs whose windows reach beyond an edge of constant value; some outputs may be in several."""
    for window in absent:
        if window.mode == "constant":
            n = y.shape[window.axis]
            yield y[_along(window.axis, slice(0, min(window.before, n)))]
            yield y[_along(window.axis, slice(max(n - window.after, 0), n))]
