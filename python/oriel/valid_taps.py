"""What all pools over valid taps share: their keywords (S13-S15, S20), and the call of the engine."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.array_types import IndexDtype, IndexSpace, Ints, NanPolicy, Operand, Padding
from oriel.pool import check_nan_policy

__all__ = ["KEYWORDS", "Number", "ValidTaps", "dtype_name", "footprint_array", "is_masked", "run", "run_backward"]

Number = int | float | np.number[Any] | np.bool_
# The arguments of a pool of the engine from its kernel to its ceil mode; the fifth is that of adaptive pools.
_Windows: TypeAlias = tuple[Ints | None, Ints | None, Padding, Ints, None, Ints | None, bool]


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
    dtype: Any


KEYWORDS = frozenset(ValidTaps.__annotations__)


def is_masked(x: object) -> bool:
    """Whether `x` is a masked array of NumPy, told without importing numpy.ma."""
    return type(x).__name__ == "MaskedArray" and isinstance(x, np.ma.MaskedArray)


def dtype_name(dtype: Any, function: str = "pool") -> str:
    """NumPy's name of a dtype, of any framework, e.g. "float64"."""
    text = str(dtype)
    if text.startswith("torch."):
        return text.partition(".")[2]
    if text == "bfloat16":
        return text
    try:
        return np.dtype(dtype).name
    except TypeError:
        raise TypeError(f"{function}: dtype must be a dtype or its name, such as 'float64', but is {dtype!r}") from None


def footprint_array(function: str, footprint: Any) -> NDArray[np.bool_]:
    """A footprint as an array of bool; it may be one of numbers, not 0 where there is a tap."""
    try:
        taps = np.asarray(footprint)
    except ValueError:
        raise TypeError(f"{function}: footprint must be an array of bool, but is {footprint!r}") from None
    if taps.dtype.kind not in "biuf":
        raise TypeError(f"{function}: footprint must be an array of bool, but has dtype {taps.dtype}")
    return taps != 0


def _split(function: str, valid: ValidTaps, options: dict[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    """The engine's options, the mask and the weights."""
    unknown = sorted(set(valid) - KEYWORDS)
    if unknown:
        raise TypeError(f"{function}: there is no argument {unknown[0]}; keywords of valid elements are "
                        f"{', '.join(sorted(KEYWORDS))}")
    given: dict[str, Any] = {**options, **valid}
    mask, weights = given.pop("mask", None), given.pop("weights", None)
    if given.get("dtype") is not None:
        given["dtype"] = dtype_name(given["dtype"], function)
    if given.get("footprint") is not None:
        given["footprint"] = footprint_array(function, given["footprint"])
    return given, mask, weights


def _pool(function: str, op: Any, kernel_size: Ints | None, stride: Ints | None, padding: Padding, dilation: Ints,
          ceil_mode: bool, axes: Ints | None, nan_policy: NanPolicy, options: dict[str, Any],
          more: dict[str, Any]) -> _core.Pool:
    footprint = options.get("footprint")
    if kernel_size is None:
        if footprint is None:
            raise TypeError(f"{function}: kernel_size must be an int or a sequence of ints, but is None, which needs a "
                            "footprint")
        kernel_size = footprint.shape
    return _core.Pool(op, kernel_size, stride, padding, dilation, None, axes, ceil_mode,
                      more.get("count_include_pad", True), more.get("divisor_override"), more.get("norm_type"),
                      check_nan_policy(nan_policy), 0)


def _with_mask_of(function: str, x: Any, mask: Any) -> tuple[Any, Any]:
    """The data of a masked array, and its mask in the sense of S13."""
    valid = ~np.ma.getmaskarray(x)
    if mask is not None:
        given = np.asarray(mask)
        if given.dtype not in (np.dtype(np.bool_), np.dtype(np.uint8)):
            raise ValueError(f"{function}: mask must have dtype bool or uint8, but has {given.dtype}")
        if given.ndim != x.ndim or any(m not in (1, n) for m, n in zip(given.shape, x.shape)):
            raise ValueError(f"{function}: mask must have the shape of x, {x.shape}, but has {given.shape}")
        valid = valid & (given != 0)
    return x.data, valid


def _too_few(windows: _Windows, omit: bool, op: str, given: dict[str, Any], x: Any, valid: NDArray[np.bool_],
             weights: Any) -> Any:
    """Where the result is `fill`: an array of bool of the shape of the result of one quantile."""
    if weights is not None:
        valid = valid & (np.asarray(weights) != 0)
    geometry = {key: given[key] for key in ("footprint", "nodata") if given.get(key) is not None}
    rules = {"min_count": given["min_count"], "min_fraction": given.get("min_fraction"), "fill": -1}
    count = _core.Pool("count", *windows, True, None, None, omit)
    few = _core.statistic(count, {**geometry, **rules}, x, valid) < 0
    if op == "centre":  # too few are also other elements than the middle one
        centre = _core.Pool("centre", *windows, True, None, None, omit)
        few |= _core.statistic(centre, geometry, x, valid, None, None, "window")[1] < 0
    return few


def run(op: Any, x: Any, kernel_size: Ints | None, stride: Ints | None, padding: Padding, dilation: Ints,
        ceil_mode: bool, axes: Ints | None, nan_policy: NanPolicy, valid: ValidTaps, out: Any = None,
        space: IndexSpace | None = None, index_dtype: IndexDtype = "int64", more: dict[str, Any] | None = None,
        **options: Any) -> Any:
    """The pool of `x`; options that are None are not given. With a `space`, also the indices."""
    function = f"{op}_pool"
    given, mask, weights = _split(function, valid, options)
    pool = _pool(function, op, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, given, more or {})
    if type(x) is np.ndarray or not is_masked(x):
        return _core.statistic(pool, given, x, mask, weights, out, space, index_dtype)
    x, mask = _with_mask_of(function, x, mask)
    need = int(given.get("ddof") or 0) + 1 if op in ("var", "std") else 1
    given["min_count"] = max(int(given.get("min_count") or 0), need)
    result = _core.statistic(pool, given, x, mask, weights, out, space, index_dtype)
    kernel = kernel_size if kernel_size is not None else given["footprint"].shape
    windows = (kernel, stride, padding, dilation, None, axes, ceil_mode)
    few = _too_few(windows, check_nan_policy(nan_policy), op, given, x, mask, weights)
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
    if is_masked(x):
        x, mask = _with_mask_of(function, x, mask)
    if is_masked(dy):  # there is no gradient where there is no result
        dy = dy.filled(0)
    return _core.statistic_backward(pool, given, dy, x, mask, weights, out)
