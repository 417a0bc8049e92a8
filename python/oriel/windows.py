"""`reduce_window` with the arguments and the meaning of `jax.lax.reduce_window`, for arrays of any kind."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.array_types import AnyArray, ArrayT, Operand

__all__ = ["reduce_window"]

_Op = Literal["max", "min", "sum"]
_OPS: dict[str, _Op] = {"max": "max", "maximum": "max", "min": "min", "minimum": "min", "add": "sum"}
_UFUNCS = {"max": "maximum", "min": "minimum", "sum": "add"}


@overload
def reduce_window(
    operand: ArrayT,
    init_value: float | np.generic | AnyArray,
    computation: Callable[..., Any] | Literal["max", "min", "add"],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Literal["VALID", "SAME", "SAME_LOWER"] | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> ArrayT: ...


@overload
def reduce_window(
    operand: ArrayLike,
    init_value: float | np.generic | AnyArray,
    computation: Callable[..., Any] | Literal["max", "min", "add"],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Literal["VALID", "SAME", "SAME_LOWER"] | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> NDArray[Any]: ...


def reduce_window(
    operand: Operand,
    init_value: float | np.generic | AnyArray,
    computation: Callable[..., Any] | Literal["max", "min", "add"],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Literal["VALID", "SAME", "SAME_LOWER"] | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> AnyArray:
    """The maximum, minimum or sum over windows of all axes, with the arguments of `jax.lax.reduce_window`.

    Parameters
    ----------
    operand : array of shape (…)
        A NumPy array, a CPU tensor of PyTorch or JAX, anything with DLPack or `__array__`.
    init_value : number
        The initial value of each window's reduction. It counts once per window; padding has no value.
    computation : {"max", "min", "add"} or callable
        Or `numpy.maximum`, `numpy.minimum`, `numpy.add`, or the functions of `jax.lax`, `jax.numpy` and `torch` with
        these names.
    window_dimensions : sequence of int, one per axis
        Taps of a window.
    window_strides : sequence of int, optional
        Steps of the window, by default 1.
    padding : {"VALID", "SAME", "SAME_LOWER"} or sequence of (before, after)
        Elements of padding of each axis; negative numbers crop. "SAME" pads for ceil(n / stride) windows, with an odd
        element after the axis, "SAME_LOWER" before it; as in JAX, n is the extent without `base_dilation`.
    base_dilation : sequence of int, optional
        Distance between the operand's elements, by default 1. The gaps have no value; the operand is copied if it is
        not 1.
    window_dilation : sequence of int, optional
        Distance between a window's taps, by default 1.

    Returns
    -------
    array
        Of the operand's kind and dtype. The result has no elements along axes on which no window fits.

    Raises
    ------
    ValueError
        For an argument of the wrong value, named in the text.

    Notes
    -----
    Integer sums wrap, as JAX's do and those of `sum_pool` do not (S7); the operand is converted to a wider type for
    them. The order of floating sums is that of S8, `init_value` last. Under `jax.jit`, use `oriel.jax.reduce_window`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> x = np.arange(6.0).reshape(2, 3)
    >>> oriel.reduce_window(x, -np.inf, np.maximum, (2, 2), (1, 1), "SAME")
    array([[4., 5., 5.],
           [4., 5., 5.]])
    >>> oriel.reduce_window(x, 100.0, "add", (1, 2), (1, 2), ((0, 0), (1, 0)))
    array([[100., 103.],
           [103., 109.]])
    """
    op = _op_of(computation)
    x: Any = operand if hasattr(operand, "shape") and hasattr(operand, "dtype") else np.asarray(operand)
    shape = tuple(x.shape)
    window = _per_axis("window_dimensions", window_dimensions, len(shape))
    stride = _per_axis("window_strides", window_strides, len(shape))
    spread = _per_axis("base_dilation", base_dilation, len(shape))
    dilation = _per_axis("window_dilation", window_dilation, len(shape))
    base = tuple((n - 1) * b + 1 if n else 0 for n, b in zip(shape, spread))
    reach = tuple((k - 1) * d + 1 for k, d in zip(window, dilation))
    pads = _pads(padding, shape, reach, stride)
    result = tuple(max((n + lo + hi - r) // s + 1, 0) for n, (lo, hi), r, s in zip(base, pads, reach, stride))
    initial = _initial(init_value, _dtype_name(x))

    if any(b > 1 for b in spread):
        x = _spread_out(x, base, spread, _identity(op, _dtype_name(x)))
    if any(pad < 0 for pair in pads for pad in pair):
        x = x[tuple(slice(max(-lo, 0), max(n - max(-hi, 0), 0)) for n, (lo, hi) in zip(base, pads))]
        pads = [(max(lo, 0), max(hi, 0)) for lo, hi in pads]
    if 0 in result or 0 in x.shape or not result:
        # The engine takes neither axes without elements nor arrays without axes. Windows over nothing are init_value
        # alone.
        y = _namespace(x).full(result, initial, dtype=x.dtype)
        return y if result else _combine(op, x, y)
    axes = [a for a in range(len(shape)) if (window[a], stride[a], *pads[a]) != (1, 1, 0, 0)] or [0]
    named: tuple[Any, ...] = tuple([values[a] for a in axes] for values in (window, stride, pads, dilation))
    pool = _core.Pool(op, named[0], named[1], named[2], named[3], None, axes)
    if op == "sum" and _dtype_name(x).startswith(("int", "uint")):
        return _integer_sums(pool, x, math.prod(window), int(initial))
    y = _core.forward(pool, x, None)
    if initial == _identity(op, _dtype_name(x)):
        return y
    return _combine(op, y, _namespace(y).asarray(initial, dtype=y.dtype))


def _op_of(computation: Any) -> _Op:
    """The engine's word for a computation, whichever library it is from."""
    if isinstance(computation, str):
        name, known = computation, True
    else:
        name = getattr(computation, "__name__", "")
        # The library matters, too: another function called `add` may compute something else.
        library = (getattr(computation, "__module__", None) or "").partition(".")[0]
        known = isinstance(computation, np.ufunc) or library in ("jax", "torch")
    if not known or name not in _OPS:
        raise ValueError(
            "reduce_window: computation must be 'max', 'min' or 'add', or the function of NumPy, jax.lax, jax.numpy or "
            f"torch that is called maximum, minimum, max, min or add, but is {computation!r}"
        )
    return _OPS[name]


def _per_axis(name: str, values: Any, rank: int) -> tuple[int, ...]:
    """One positive int per axis; ones where nothing was given."""
    if values is None:
        return (1,) * rank
    try:
        numbers = tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"reduce_window: {name} must be a sequence of ints, but is {values!r}") from None
    if len(numbers) != rank:
        raise ValueError(
            f"reduce_window: {name} must have one value for each of the operand's {rank} axes, but has {len(numbers)}"
        )
    for axis, number in enumerate(numbers):
        if number < 1:
            raise ValueError(f"reduce_window: {name} must be >= 1, but axis {axis} has {number}")
    return numbers


def _pads(
    padding: Any, shape: tuple[int, ...], reach: tuple[int, ...], stride: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Places (before, after) of each axis."""
    if isinstance(padding, str):
        word = padding.upper()
        if word not in ("VALID", "SAME", "SAME_LOWER"):
            raise ValueError(
                f"reduce_window: padding must be 'VALID', 'SAME', 'SAME_LOWER' or pairs, but is {padding!r}"
            )
        if word == "VALID":
            return [(0, 0)] * len(shape)
        needed = [max((math.ceil(n / s) - 1) * s + r - n, 0) for n, r, s in zip(shape, reach, stride)]
        if word == "SAME":
            return [(pad // 2, pad - pad // 2) for pad in needed]
        return [(pad - pad // 2, pad // 2) for pad in needed]
    try:
        pairs = [(operator.index(lo), operator.index(hi)) for lo, hi in padding]
    except (TypeError, ValueError):
        raise TypeError(
            f"reduce_window: padding must be a word or a sequence of (before, after) ints, but is {padding!r}"
        ) from None
    if len(pairs) != len(shape):
        raise ValueError(
            f"reduce_window: padding must have one pair for each of the operand's {len(shape)} axes, "
            f"but has {len(pairs)}"
        )
    return pairs


def _dtype_name(x: Any) -> str:
    return str(x.dtype).removeprefix("torch.")


def _initial(init_value: Any, dtype: str) -> int | float | bool:
    """`init_value` as a Python number that the dtype can represent."""
    value = init_value.item() if hasattr(init_value, "item") and getattr(init_value, "shape", ()) == () else init_value
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"reduce_window: init_value must be a real number, but is {init_value!r}")
    if dtype == "bool":
        return bool(value)
    if "float" in dtype:
        return float(value)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        if not (math.isfinite(value) and value == int(value) and info.min <= value <= info.max):
            raise ValueError(
                f"reduce_window: init_value must be a value of the operand's dtype {dtype}, but is {init_value!r}"
            )
        return int(value)
    raise TypeError(
        "reduce_window: operand must have dtype float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 "
        f"or bool, but has {dtype}"
    )


def _identity(op: _Op, dtype: str) -> int | float | bool:
    """The value that changes no result of the op."""
    if op == "sum":
        return 0
    if dtype == "bool":
        return op == "min"
    if "float" in dtype:
        return -math.inf if op == "max" else math.inf
    return int(np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max)


def _namespace(x: Any) -> Any:
    """The module whose functions make arrays of x's kind."""
    if (
        type(x).__module__.partition(".")[0] == "torch"
        or "torch" in sys.modules
        and isinstance(x, sys.modules["torch"].Tensor)
    ):
        return sys.modules["torch"]
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np


def _spread_out(x: Any, shape: tuple[int, ...], spread: tuple[int, ...], hole: int | float | bool) -> Any:
    """x with its elements `spread` apart; a hole holds the identity, which is as good as no value."""
    # Adding +0 would turn a sum of negative zeros positive; -0.0 is the exact identity of addition (S8).
    filler = -0.0 if hole == 0 and "float" in _dtype_name(x) else hole
    wide = _namespace(x).full(shape, filler, dtype=x.dtype)
    places = tuple(slice(None, None, b) for b in spread)
    if hasattr(wide, "at"):  # JAX's arrays cannot be written
        return wide.at[places].set(x)
    wide[places] = x
    return wide


def _combine(op: _Op, y: Any, initial: Any) -> Any:
    return getattr(_namespace(y), _UFUNCS[op])(y, initial)


def _integer_sums(pool: _core.Pool, x: Any, taps: int, initial: int) -> Any:
    """Sums modulo 2^bits, as XLA has them. The engine's saturate (S7), so they are made in a type that holds them."""
    values = np.asarray(x)
    kind, bits = values.dtype.kind, 8 * values.dtype.itemsize
    largest = taps * (2**bits if kind == "u" else 2 ** (bits - 1))
    wide = next(
        np.dtype(f"{kind}{b // 8}")
        for b in (8, 16, 32, 64)
        if b == 64 or b >= bits and largest <= np.iinfo(f"{kind}{b // 8}").max
    )
    sums = _core.forward(pool, values.astype(wide, copy=False), None)
    return _namespace(x).asarray((sums + wide.type(initial)).astype(values.dtype, copy=False))
