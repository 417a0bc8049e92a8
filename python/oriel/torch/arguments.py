"""The arguments of a pool as its operators take them, and the shape of its result for symbolic sizes.

Everywhere in this package `pool` means the thirteen arguments of `oriel._core.Pool`, in its order, as a tuple; the
operators take them resolved: axes counted from the end, lists with one value per pooled axis. No list is empty (an
exporter may write an empty one as None): `windows` says which of them count. These functions also run inside
`torch.compile`, where numbers may be symbolic and nothing may be asked of the extension module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from oriel import _core
from oriel.array_types import Op

__all__ = [
    "ADAPTIVE", "GLOBAL", "PADDED", "WINDOWS_SCHEMA", "core_pool", "function_name", "operator_arguments",
    "output_extent", "output_shape", "with_axes"
]

# `windows` is one of the words below, or "same" or "same_lower": then the padding lists do not count.
WINDOWS_SCHEMA = (
    "str op, int[] axes, SymInt[] kernel_size, SymInt[] stride, SymInt[] pad_lo, SymInt[] pad_hi, SymInt[] dilation, "
    "SymInt[] output_size, str windows, bool ceil_mode, bool count_include_pad, "
    "int? divisor_override, float norm_type, bool omit_nan"
)
PADDED = "padded"  # by pad_lo and pad_hi
ADAPTIVE = "adaptive"  # output_size alone counts
GLOBAL = "global"  # no list counts

_AXES, _NDIM = 6, 12  # places in a `pool`


def function_name(op: str, ndim: int) -> str:
    """`max_pool2d` for ("max", 2), `max_pool` for ("max", 0)."""
    return f"{op}_pool{ndim}d" if ndim else f"{op}_pool"


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool)


def _int_list(function: str, argument: str, value: Any) -> list[Any]:
    """None as an empty list, an int as one value, a sequence as it is."""
    if value is None:
        return []
    if _is_int(value):
        return [value]
    if isinstance(value, (tuple, list)) and all(_is_int(item) for item in value):
        return list(value)
    number: Any = value
    if hasattr(value, "__index__") and not isinstance(value, bool):  # integers of NumPy, tensors with one integer
        return [number.__index__()]
    raise TypeError(f"{function}: {argument} must be an int or a sequence of ints, but is {value!r}")


def _padding_lists(function: str, padding: Any) -> tuple[list[Any], list[Any], str]:
    """Padding before, padding after, and the word for `windows`."""
    if isinstance(padding, str):
        word = padding.lower()
        words = {"valid": PADDED, "same": "same", "same_upper": "same", "same_lower": "same_lower"}
        if word not in words:
            raise ValueError(
                f"{function}: padding must be 'valid', 'same' or 'same_lower' if it is a word, but is {padding!r}")
        return [0], [0], words[word]
    if isinstance(padding, (tuple, list)) and padding and all(isinstance(pair, (tuple, list)) for pair in padding):
        if not all(len(pair) == 2 and _is_int(pair[0]) and _is_int(pair[1]) for pair in padding):
            raise TypeError(
                f"{function}: padding must be an int, a sequence of ints, a sequence of (before, after) pairs, "
                f"'valid', 'same' or 'same_lower', but is {padding!r}")
        return [pair[0] for pair in padding], [pair[1] for pair in padding], PADDED
    both = _int_list(function, "padding", padding) or [0]
    return both, both, PADDED


def _values_of(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") and not isinstance(value, (str, torch.Tensor)) else 1


def with_axes(x: Any, pool: tuple[Any, ...]) -> tuple[Any, ...]:
    """`pool` with the axes that it means on `x` by default: as many last axes as its longest list has values, or for
    single ints all axes but the first two of a tensor of 3 to 5 axes, and all axes of any other."""
    if pool[_AXES] is not None or pool[_NDIM] or not isinstance(x, torch.Tensor):
        return pool
    rank, count = x.dim(), max(map(_values_of, pool[1:_AXES]))
    if rank == 0 or count > rank:
        return pool  # the engine says what is wrong
    return *pool[:_AXES], tuple(range(_first_pooled(rank, count) - rank, 0)), *pool[_AXES + 1:]


def _first_pooled(rank: int, count: int) -> int:
    if count > 1:
        return rank - count
    return 2 if 3 <= rank <= 5 else 0


def _pooled_axes(function: str, rank: int, axes: Any, ndim: int, lists: Sequence[Sequence[Any]]) -> list[int]:
    """The pooled axes, counted from the end, so that leading axes (those of vmap) change nothing."""
    if ndim:
        if rank not in (ndim + 1, ndim + 2):
            raise ValueError(
                f"{function}: the input must have {ndim + 1} axes (channels and {ndim} pooled axes) or {ndim + 2} "
                f"(with a batch), but has {rank}")
        return list(range(-ndim, 0))
    named = _int_list(function, "axes", axes)
    if named:
        for axis in named:
            if not -rank <= axis < rank:
                raise ValueError(
                    f"{function}: axes must be in [{-rank}, {rank - 1}] for an input of rank {rank}, but one is {axis}")
        return [axis if axis < 0 else axis - rank for axis in named]
    count = max([1] + [len(values) for values in lists])
    if count > rank:
        raise ValueError(
            f"{function}: there must be an axis for each of the {count} values, but the input has rank {rank}")
    return list(range(_first_pooled(rank, count) - rank, 0))


def _one_per_axis(function: str, argument: str, values: list[Any], count: int) -> list[Any]:
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise ValueError(f"{function}: {argument} must have 1 or {count} values, but has {len(values)}")
    return values


def operator_arguments(rank: int, op: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any, output_size: Any,
                       axes: Any, ceil_mode: bool, count_include_pad: bool, divisor: int | None, norm: float | None,
                       omit_nan: bool, ndim: int) -> tuple[Any, ...]:
    """The arguments of WINDOWS_SCHEMA for a pool on a tensor of that rank.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong type or length. Values are checked against the tensor by the kernels.
    """
    function = function_name(op, ndim)
    lists = {"kernel_size": [1], "stride": [1], "pad_lo": [0], "pad_hi": [0], "dilation": [1], "output_size": [1]}
    windows = GLOBAL
    if output_size is not None:
        windows = ADAPTIVE
        lists["output_size"] = _int_list(function, "output_size", output_size)
        if not lists["output_size"]:
            raise ValueError(f"{function}: output_size must have at least one value, but is empty")
    elif kernel_size is not None:
        lists["kernel_size"] = _int_list(function, "kernel_size", kernel_size)
        if not lists["kernel_size"]:
            raise ValueError(f"{function}: kernel_size must have at least one value, but is empty")
        lists["stride"] = _int_list(function, "stride", stride) or lists["kernel_size"]
        lists["pad_lo"], lists["pad_hi"], windows = _padding_lists(function, padding)
        lists["dilation"] = _int_list(function, "dilation", dilation) or [1]
    pooled = _pooled_axes(function, rank, axes, ndim, list(lists.values()))
    complete = [_one_per_axis(function, argument, values, len(pooled)) for argument, values in lists.items()]
    for argument, value in (("ceil_mode", ceil_mode), ("count_include_pad", count_include_pad)):
        if not isinstance(value, bool) and value not in (0, 1):
            raise TypeError(f"{function}: {argument} must be True or False, but is {value!r}")
    return (op, pooled, *complete, windows, bool(ceil_mode), bool(count_include_pad), divisor,
            2.0 if norm is None else float(norm), omit_nan)


def core_pool(op: Op, axes: Sequence[int], kernel_size: Sequence[int], stride: Sequence[int], pad_lo: Sequence[int],
              pad_hi: Sequence[int], dilation: Sequence[int], output_size: Sequence[int], windows: str, ceil_mode: bool,
              count_include_pad: bool, divisor_override: int | None, norm_type: float, omit_nan: bool) -> _core.Pool:
    """The pool that an operator's arguments describe, checked as far as no tensor is needed."""
    if windows in (GLOBAL, ADAPTIVE):
        sizes = output_size if windows == ADAPTIVE else None
        return _core.Pool(op, None, None, 0, 1, sizes, axes, ceil_mode, count_include_pad, divisor_override, norm_type,
                          omit_nan, 0)
    padding: Any = list(zip(pad_lo, pad_hi)) if windows == PADDED else windows
    return _core.Pool(op, kernel_size, stride, padding, dilation, None, axes, ceil_mode, count_include_pad,
                      divisor_override, norm_type, omit_nan, 0)


def output_extent(n: Any, kernel: Any, stride: Any, before: Any, after: Any, dilation: Any, same: bool,
                  ceil_mode: bool) -> Any:
    """Windows along an axis of `n` inputs (S1); any of the sizes may be symbolic, and no branch depends on one."""
    if same:
        return (n + stride - 1) // stride
    if not ceil_mode:
        return (n + before + after - dilation * (kernel - 1) - 1) // stride + 1
    # ceil(room / stride) + 1, less one where the last window would start at n + before or later. Both counts are
    # quotients by the stride, whose numerators differ by a number without n: which of them holds does not depend on n.
    beyond = after - dilation * (kernel - 1) - 1
    return (n + before + stride - 1 + torch.sym_max(beyond, torch.sym_min(beyond + stride, 0))) // stride


def output_shape(shape: Sequence[Any], *arguments: Any) -> list[Any]:
    """The shape of the result for an input of that shape; numbers may be symbolic.

    Raises
    ------
    ValueError
        As the engine does, if all numbers are plain; if some are symbolic, only for windows that do not fit.
    """
    op, axes, kernel_size, stride, pad_lo, pad_hi, dilation, output_size, windows, ceil_mode, *_ = arguments
    lists = (shape, kernel_size, stride, pad_lo, pad_hi, dilation, output_size)
    if all(isinstance(value, int) for values in lists for value in values):
        return list(core_pool(*arguments).output_shape(list(shape)))
    result = list(shape)
    for i, axis in enumerate(axes):
        n = shape[axis]
        if windows in (GLOBAL, ADAPTIVE):
            result[axis] = output_size[i] if windows == ADAPTIVE else 1
            continue
        kernel, before, after = kernel_size[i], pad_lo[i], pad_hi[i]
        if windows == PADDED:
            torch._check(n + before + after >= dilation[i] * (kernel - 1) + 1,
                         lambda: f"{op}_pool: the window must fit the padded input, but is larger on axis {axis}")
        result[axis] = output_extent(n, kernel, stride[i], before, after, dilation[i], windows != PADDED, ceil_mode)
    return result
