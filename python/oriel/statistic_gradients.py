"""Gradients of the pools in statistics.py with respect to their input: `median_pool_backward`, `var_pool_backward` and
so on (S16, S18, S19).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from oriel.array_types import Ints, NanPolicy, Operand, Padding
from oriel.statistic_types import Method, gradient
from oriel.valid_taps import ValidTaps, run_backward

__all__ = [
    "centre_pool_backward",
    "first_pool_backward",
    "geo_pool_backward",
    "harm_pool_backward",
    "lse_pool_backward",
    "median_pool_backward",
    "midrange_pool_backward",
    "pool_backward",
    "prod_pool_backward",
    "quantile_pool_backward",
    "range_pool_backward",
    "rms_pool_backward",
    "soft_pool_backward",
    "std_pool_backward",
    "var_pool_backward",
]


def _without_single(dy: Any, q: Any) -> Any:
    """`dy` without the first axis that a sequence of one quantile gives to results, which the engine's do not have."""
    if np.ndim(q) != 1 or np.size(q) != 1:
        return dy
    return (dy if hasattr(dy, "dtype") else np.asarray(dy))[0]


@gradient
def median_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                         padding: Padding = 0, dilation: Ints = 1, *, method: Method = "lower", ceil_mode: bool = False,
                         axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
                         **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `median_pool`: each `dy` is added to the element that was its window's median (S16).

    Parameters
    ----------
    dy : array of the pool's output shape and dtype
        The gradient with respect to the result.
    x : array of float64, float32, float16 or bfloat16
        The pool's input.
    kernel_size, stride, padding, dilation, method, ceil_mode, axes, nan_policy
        As for the pool. By method "mean", half of `dy` goes to each of the two elements in the middle.
    out : array of x's shape, optional
        Where to write the result.
    footprint, mask, weights, nodata, min_count, min_fraction, fill, dtype
        As for the pool (`oriel.valid_taps.ValidTaps`).

    Returns
    -------
    array
        Of the shape, dtype and kind of `x`; 0 for elements that are not valid. Terms are added in a fixed order (S9):
        the same bits for every number of threads.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.median_pool_backward(np.array([10.0]), np.array([3.0, 1.0, 2.0]), 3)
    array([ 0.,  0., 10.])
    """
    return run_backward("median", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out, method=method)


@gradient
def quantile_pool_backward(dy: Operand, x: Operand, q: float | Sequence[float] | NDArray[Any] | None,
                           kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                           dilation: Ints = 1, *, method: Method = "lower", rank: int | None = None,
                           ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                           out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `quantile_pool`; of several `q`, the sum of theirs (S16). See `median_pool_backward`.

    Parameters
    ----------
    dy : array of the pool's output shape and dtype
        If `q` is a sequence, its first axis is that of the quantiles.
    q, rank, method
        As for the pool. By method "linear", each of two elements has the share of `dy` that it has in the result.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.quantile_pool_backward(np.array([10.0]), np.arange(4.0), 0.25, 4, method="linear")
    array([2.5, 7.5, 0. , 0. ])
    """
    dy = _without_single(dy, q)
    return run_backward("quantile", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out, q=q, rank=rank, method=None if rank is not None and method == "lower" else method)


@gradient
def first_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                        padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                        nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `first_pool`: each `dy` is added to the first valid element of its window (S19).
    See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.first_pool_backward(np.array([10.0, 20.0]), np.arange(4.0), 2)
    array([10.,  0., 20.,  0.])
    """
    return run_backward("first", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def centre_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                         padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                         nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `centre_pool`: each `dy` is added to the element in the middle of its window (S19).
    See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.centre_pool_backward(np.array([10.0]), np.arange(3.0), 3)
    array([ 0., 10.,  0.])
    """
    return run_backward("centre", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def range_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                        padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                        nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `range_pool`: each `dy` is added to the largest element of its window and subtracted
    from the smallest (S19). See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.range_pool_backward(np.array([10.0]), np.array([1.0, 5.0, 2.0]), 3)
    array([-10.,  10.,   0.])
    """
    return run_backward("range", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def midrange_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                           padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False,
                           axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
                           **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `midrange_pool`: half of each `dy` is added to the largest and to the smallest element of
    its window (S19). See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.midrange_pool_backward(np.array([10.0]), np.array([1.0, 5.0, 2.0]), 3)
    array([5., 5., 0.])
    """
    return run_backward("midrange", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def var_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ddof: int = 0, ceil_mode: bool = False,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
                      **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `var_pool`: ``2 dy (x - mean) / (n - ddof)`` (S18). See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.var_pool_backward(np.array([10.0]), np.array([1.0, 3.0]), 2)
    array([-10.,  10.])
    """
    return run_backward("var", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out, ddof=ddof)


@gradient
def std_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ddof: int = 0, ceil_mode: bool = False,
                      axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
                      **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `std_pool`: ``dy (x - mean) / (std (n - ddof))``, 0 if that is 0 (S18). See
    `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.std_pool_backward(np.array([10.0]), np.array([1.0, 3.0]), 2)
    array([-5.,  5.])
    """
    return run_backward("std", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out, ddof=ddof)


@gradient
def rms_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `rms_pool`: ``dy * x / (n y)`` (S19). See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.rms_pool_backward(np.array([10.0]), np.array([3.0, 4.0, 0.0, 0.0]), 4)
    array([3., 4., 0., 0.])
    """
    return run_backward("rms", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def prod_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                       padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                       nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `prod_pool`: ``dy`` times the product of the window's other elements (S19).
    See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.prod_pool_backward(np.array([10.0]), np.array([2.0, 3.0, 4.0]), 3)
    array([120.,  80.,  60.])
    """
    return run_backward("prod", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def geo_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                      nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `geo_pool`: ``dy * y / (n x)`` (S19). See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.geo_pool_backward(np.array([10.0]), np.array([1.0, 4.0]), 2).round(12)
    array([10. ,  2.5])
    """
    return run_backward("geo", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def harm_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                       padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                       nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `harm_pool`: ``dy * y^2 / (n x^2)`` (S19). See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.harm_pool_backward(np.array([16.0]), np.array([1.0, 3.0]), 2)
    array([18.,  2.])
    """
    return run_backward("harm", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


@gradient
def lse_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                      padding: Padding = 0, dilation: Ints = 1, *, sharpness: float = 1.0, sum: bool = False,
                      ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
                      out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `lse_pool`: each `dy`, shared by the exponentials of the window (S19). See
    `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.lse_pool_backward(np.array([10.0]), np.array([2.0, 2.0]), 2)
    array([5., 5.])
    """
    return run_backward("lse", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out, sharpness=sharpness, sum=sum)


@gradient
def soft_pool_backward(dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                       padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                       nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of `soft_pool`: ``dy * p (1 + x - y)``, with p an element's share of the exponentials (S19).
    See `median_pool_backward`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.soft_pool_backward(np.array([1.0]), np.array([2.0, 2.0]), 2)
    array([0.5, 0.5])
    """
    return run_backward("soft", dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid,
                        out)


def pool_backward(op: str, dy: Operand, x: Operand, kernel_size: Ints | None, stride: Ints | None = None,
                  padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                  nan_policy: NanPolicy = "propagate", q: float | Sequence[float] | None = None,
                  method: Method | None = None, ddof: int = 0, sharpness: float = 1.0, sum: bool = False,
                  count_include_pad: bool = True, norm_type: float | None = None, out: Any = None,
                  **valid: Unpack[ValidTaps]) -> Any:
    """The gradient of any of these pools, or of max, min, avg, sum and lp with a mask, with respect to `x`.

    Parameters
    ----------
    op : str
        "median", "quantile", "var", "std", "rms", "prod", "geo", "harm", "lse", "soft", "range", "midrange", "first",
        "centre", "max", "min", "avg", "sum" or "lp".
    dy : array of the result's shape and dtype
        The gradient with respect to the result.
    x : array of float64, float32, float16 or bfloat16
        The pool's input.
    kernel_size, stride, padding, dilation, and the keywords
        As for the pool.

    Returns
    -------
    array
        Of the shape, dtype and kind of `x`; 0 for elements that are not valid. What each op gives: S16, S18, S19.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.pool_backward("median", np.array([10.0]), np.array([3.0, 1.0, 2.0]), 3)
    array([ 0.,  0., 10.])
    """
    dy = _without_single(dy, q)
    more = {"count_include_pad": count_include_pad, "norm_type": norm_type}
    options: dict[str, Any] = {"q": q, "method": method}
    if op in ("var", "std"):
        options["ddof"] = ddof
    if op == "lse":
        options.update(sharpness=sharpness, sum=sum)
    return run_backward(op, dy, x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
                        more, **options)
