"""What all pools over valid taps share: their keywords (S13-S15, S20), and the call of the engine."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from oriel import _core
from oriel.array_types import IndexDtype, IndexSpace, Ints, NanPolicy, Operand, Padding
from oriel.pool import check_nan_policy, refuse_kernel

__all__ = ["KEYWORDS", "ValidTaps", "dtype_name", "is_masked", "run", "run_backward"]

Number = int | float | np.number[Any] | np.bool_


class ValidTaps(TypedDict, total=False):
    """Keywords of every pool, which say which elements of a window count (S13 to S15, S20).

    footprint : array of bool with an axis for each pooled one
        The taps of a window, e.g. ``oriel.disk(3)``; `kernel_size` may then be None.
    mask : array of bool or uint8
        Not 0 where `x` is valid. It has x's extents along the pooled axes, and x's or 1 along the others.
    weights : array of float32 or float64, shaped as a mask
        For sums, averages, variances, modes, and medians and quantiles by method "inverted_cdf".
    nodata : number
        Elements of this value are left out; NaN: every NaN.
    min_count : int
        With fewer valid elements the result is `fill`.
    min_fraction : float
        The same as a share of the elements that exist, 0 to 1.
    fill : number
        By default `nodata`, if given and a value of the result's dtype; else NaN, or 0 in integers.
    dtype : dtype
        Of the result (S15).
    """

    footprint: ArrayLike | None
    mask: Operand | None
    weights: Operand | None
    nodata: Number | None
    min_count: int
    min_fraction: float
    fill: Number | None
    dtype: DTypeLike | None


KEYWORDS = frozenset(ValidTaps.__annotations__)


def is_masked(x: object) -> bool:
    """Whether `x` is a masked array of NumPy, told without importing numpy.ma."""
    return type(x).__name__ == "MaskedArray" and isinstance(x, np.ma.MaskedArray)


def dtype_name(dtype: DTypeLike) -> str:
    """NumPy's name of a dtype, of any framework, e.g. "float64"."""
    text = str(dtype)
    if text.startswith("torch."):
        return text.partition(".")[2]
    if text == "bfloat16":
        return text
    return np.dtype(dtype).name


def _split(function: str, valid: ValidTaps, options: dict[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    """The engine's options, the mask and the weights."""
    unknown = sorted(set(valid) - KEYWORDS)
    if unknown:
        raise TypeError(f"{function}: there is no argument {unknown[0]}; keywords of valid elements are "
                        f"{', '.join(sorted(KEYWORDS))}")
    given: dict[str, Any] = {**options, **valid}
    mask, weights = given.pop("mask", None), given.pop("weights", None)
    if given.get("dtype") is not None:
        given["dtype"] = dtype_name(given["dtype"])
    if given.get("footprint") is not None:
        given["footprint"] = np.ascontiguousarray(given["footprint"], dtype=bool)
    return given, mask, weights


def _pool(function: str, op: Any, kernel_size: Ints | None, stride: Ints | None, padding: Padding, dilation: Ints,
          ceil_mode: bool, axes: Ints | None, nan_policy: NanPolicy, options: dict[str, Any],
          more: dict[str, Any]) -> _core.Pool:
    footprint = options.get("footprint")
    if kernel_size is None:
        if footprint is None:
            refuse_kernel(function)
        kernel_size = footprint.shape
    return _core.Pool(op, kernel_size, stride, padding, dilation, None, axes, ceil_mode,
                      more.get("count_include_pad", True), more.get("divisor_override"), more.get("norm_type"),
                      check_nan_policy(nan_policy), 0)


def _with_mask_of(x: Any, mask: Any) -> tuple[Any, Any]:
    """The data of a masked array, and its mask in the sense of S13."""
    valid = ~np.ma.getmaskarray(x)
    if mask is not None:
        valid &= np.asarray(mask, dtype=bool)
    return x.data, valid


def run(op: Any, x: Any, kernel_size: Ints | None, stride: Ints | None, padding: Padding, dilation: Ints,
        ceil_mode: bool, axes: Ints | None, nan_policy: NanPolicy, valid: ValidTaps, out: Any = None,
        space: IndexSpace | None = None, index_dtype: IndexDtype = "int64", more: dict[str, Any] | None = None,
        **options: Any) -> Any:
    """The pool of `x`; options that are None are not given. With a `space`, also the indices."""
    function = f"{op}_pool"
    given, mask, weights = _split(function, valid, options)
    pool = _pool(function, op, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, given, more or {})
    if not is_masked(x):
        return _core.statistic(pool, given, x, mask, weights, out, space, index_dtype)
    x, mask = _with_mask_of(x, mask)
    least = max(int(given.get("min_count") or 0), 1)
    result = _core.statistic(pool, {**given, "min_count": least}, x, mask, weights, out, space, index_dtype)
    counting = _core.Pool("count", kernel_size if kernel_size is not None else given["footprint"].shape, stride, padding,
                          dilation, None, axes, ceil_mode, True, None, None, check_nan_policy(nan_policy), 0)
    kept = {key: given[key] for key in ("footprint", "nodata") if key in given}
    few = _core.statistic(counting, kept, x, mask) < least
    if space is not None:
        return np.ma.array(result[0], mask=np.broadcast_to(few, result[0].shape)), result[1]
    return np.ma.array(result, mask=np.broadcast_to(few, result.shape))


def run_backward(op: Any, dy: Any, x: Any, kernel_size: Ints | None, stride: Ints | None, padding: Padding,
                 dilation: Ints, ceil_mode: bool, axes: Ints | None, nan_policy: NanPolicy, valid: ValidTaps,
                 out: Any = None, more: dict[str, Any] | None = None, **options: Any) -> Any:
    """The gradient of such a pool."""
    function = f"{op}_pool_backward"
    given, mask, weights = _split(function, valid, options)
    pool = _pool(function, op, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, given, more or {})
    return _core.statistic_backward(pool, given, dy, x, mask, weights, out)
