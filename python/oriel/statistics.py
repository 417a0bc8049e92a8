"""Medians, quantiles, modes, variances and other pools over the valid elements of each window: `median_pool`,
`quantile_pool`, `mode_pool`, `var_pool` and so on (S13 to S20).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from oriel.array_types import IndexDtype, IndexSpace, Ints, NanPolicy, Operand, Padding
from oriel.statistic_types import Method, Ties, choice, median, mode, quantile, statistic
from oriel.valid_taps import Number, ValidTaps, run

__all__ = [
    "all_pool",
    "any_pool",
    "centre_pool",
    "count_pool",
    "first_pool",
    "geo_pool",
    "harm_pool",
    "lse_pool",
    "median_pool",
    "midrange_pool",
    "mode_pool",
    "nunique_pool",
    "prod_pool",
    "quantile_pool",
    "range_pool",
    "rms_pool",
    "soft_pool",
    "std_pool",
    "var_pool",
]


def _space(return_indices: bool | IndexSpace) -> IndexSpace | None:
    if return_indices is True:
        return "plane"
    return return_indices or None


def _is_list_of_one(q: Any) -> bool:
    """Whether `q` is a sequence of one number: the result then has an axis for it, as for several."""
    return np.ndim(q) == 1 and len(q) == 1


@median
def median_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                dilation: Ints = 1, *, method: Method = "lower", ceil_mode: bool = False, axes: Ints | None = None,
                nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
                index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The median of the valid elements of each window (S16).

    Parameters
    ----------
    x : array of shape (…)
        As for `max_pool`. Of a masked array of NumPy the masked elements are left out, and the result is one, too.
    kernel_size, stride, padding, dilation, ceil_mode, axes, out
        As for `max_pool`; `kernel_size` may be None if a footprint is given.
    method : str
        Which element the median of an even number is: "lower" (the default; one of the elements, as `torch.median`),
        "higher" (`scipy.ndimage`), "mean" or "midpoint" (`numpy.median`), "inverted_cdf" (for weights).
    nan_policy : {"propagate", "omit"}
        Whether a NaN makes the result NaN or is left out.
    return_indices : bool or {"plane", "tensor", "window"}
        Also return the index of each result, as for `max_pool`; not of "mean".
    index_dtype : {"int64", "int32", "uint8"}
        The dtype of indices.
    footprint, mask, weights, nodata, min_count, min_fraction, fill, dtype
        Which elements count, and what the result is (`oriel.valid_taps.ValidTaps`).

    Returns
    -------
    array, or (array, array of index_dtype)
        Of the kind and dtype of `x`.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    See Also
    --------
    quantile_pool, mode_pool : Other selections.
    median_pool_backward : The gradient.
    disk, ball : Footprints.

    Notes
    -----
    The rules are S13 to S20 (`python -m oriel.docs semantics`). The result does not depend on the order of the elements
    of a window, so it has the same bits however the array lies in memory. A window without valid elements has the
    result `fill`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.median_pool(np.array([4, 3, 1, 2]), 4)
    array([2])
    >>> oriel.median_pool(np.array([4.0, 3.0, 1.0, 2.0]), 4, method="mean")
    array([2.5])
    >>> oriel.median_pool(np.array([0, 5, 7, 0], np.uint8), 4, nodata=0)
    array([5], dtype=uint8)
    >>> oriel.median_pool(np.arange(25).reshape(5, 5), None, 1, footprint=oriel.disk(2))
    array([[12]])
    """
    return run("median", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
               _space(return_indices), index_dtype, method=method)


@quantile
def quantile_pool(x: Operand, q: float | Sequence[float] | NDArray[Any] | None, kernel_size: Ints | None,
                  stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1, *, method: Method = "lower",
                  rank: int | None = None, ceil_mode: bool = False, axes: Ints | None = None,
                  nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
                  index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The quantile `q` of the valid elements of each window, or several (S16). See `median_pool` for the rest.

    Parameters
    ----------
    q : float or sequence of float
        0 to 1. Several share one sort; they are the first axis of the result.
    method : str
        "lower", "higher", "nearest", "midpoint", "linear" (the default of `numpy.quantile`), "inverted_cdf", or "scipy"
        as `scipy.ndimage.percentile_filter`.
    rank : int
        Instead of `q`, which is None then: the place among the sorted elements; negative: from the largest.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    >>> oriel.quantile_pool(x, 0.9, 5, method="linear")
    array([7.6])
    >>> oriel.quantile_pool(x, [0.25, 0.75], 5)
    array([[2.],
           [4.]])
    >>> oriel.quantile_pool(x, None, 5, rank=-1)
    array([10.])
    """
    space = _space(return_indices)
    single = _is_list_of_one(q)
    if single and out is not None:
        result = tuple(part[0] for part in out) if space else out[0]
    else:
        result = out
    y = run("quantile", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, result, space,
            index_dtype, q=q, rank=rank, method=None if rank is not None and method == "lower" else method)
    if not single:
        return y
    if out is not None:
        return out
    return (y[0][None], y[1][None]) if space else y[None]


@mode
def mode_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
              dilation: Ints = 1, *, ties: Ties = "lowest", ignore: Number | None = None, ceil_mode: bool = False,
              axes: Ints | None = None, nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
              index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The most frequent valid value of each window (S17): how to make a label image smaller. See `median_pool`.

    Parameters
    ----------
    ties : {"lowest", "highest", "first"}
        Which of several equally frequent values.
    ignore : number, optional
        A value, such as the background 0, that wins only if there is no other.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> labels = np.array([[0, 0, 7, 7], [0, 5, 7, 3]])
    >>> oriel.mode_pool(labels, 2)
    array([[0, 7]])
    >>> oriel.mode_pool(labels, 2, ignore=0)
    array([[5, 7]])
    """
    return run("mode", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
               _space(return_indices), index_dtype, ties=ties, ignore=ignore)


@statistic
def lse_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
             *, sharpness: float = 1.0, sum: bool = False, ceil_mode: bool = False, axes: Ints | None = None,
             nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """A smooth maximum of each window: log(mean(exp(r x))) / r, with r the `sharpness` (S19). See `median_pool`.

    Parameters
    ----------
    sharpness : float
        Greater than 0. The larger it is, the nearer to the maximum.
    sum : bool
        Take the sum of the exponentials instead of their mean.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.lse_pool(np.array([0.0, 1.0]), 2)
    array([0.62011451])
    """
    return run("lse", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
               sharpness=sharpness, sum=sum)


@statistic
def var_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
             *, ddof: int = 0, ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The variance of the valid elements of each window; float64 for integers, exact (S18). See `median_pool` for the
    rest.

    Parameters
    ----------
    ddof : int
        Subtracted from the divisor, as in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.var_pool(np.array([200, 201, 203, 204], np.uint8), 4)
    array([2.5])
    """
    return run("var", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out, ddof=ddof)


@statistic
def std_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
             *, ddof: int = 0, ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate",
             out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The standard deviation of the valid elements of each window, the root of `var_pool`. See `median_pool`.

    Parameters
    ----------
    ddof : int
        Subtracted from the divisor, as in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.std_pool(np.array([1.0, 3.0, 5.0, 5.0]), 2)
    array([1., 0.])
    """
    return run("std", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out, ddof=ddof)


@statistic
def nunique_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                 dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The number of distinct valid values of each window, as int64 (S17). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.nunique_pool(np.array([7, 3, 3, 7]), 4)
    array([2])
    """
    return run("nunique", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def count_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
               nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The number of valid elements of each window, as int64 (S19). See `median_pool`; a NaN counts unless it
    is left out.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.count_pool(np.array([np.nan, 3.0, np.nan, np.nan]), 2, nan_policy="omit")
    array([1, 0])
    """
    return run("count", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def any_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
             *, ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
             **valid: Unpack[ValidTaps]) -> Any:
    """Whether a valid element of each window is not 0, as bool (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.any_pool(np.array([0, 0, 0, 2]), 2)
    array([False,  True])
    """
    return run("any", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def all_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
             *, ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
             **valid: Unpack[ValidTaps]) -> Any:
    """Whether no valid element of each window is 0, as bool (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.all_pool(np.array([1, 2, 0, 2]), 2)
    array([ True, False])
    """
    return run("all", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def range_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
               nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The largest less the smallest valid element of each window: the morphological gradient (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.range_pool(np.array([1, 5, 2, 2]), 2)
    array([4, 0])
    """
    return run("range", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def midrange_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                  dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                  nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The middle between the largest and the smallest valid element of each window (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.midrange_pool(np.array([1.0, 4.0]), 2)
    array([2.5])
    """
    return run("midrange", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@choice
def first_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
               dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
               nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
               index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The first valid element of each window: striding (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.first_pool(np.arange(6), 2)
    array([0, 2, 4])
    """
    return run("first", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
               _space(return_indices), index_dtype)


@choice
def centre_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
                dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
                nan_policy: NanPolicy = "propagate", return_indices: bool | IndexSpace = False,
                index_dtype: IndexDtype = "int64", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The element in the middle of each window, if it is valid (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.centre_pool(np.arange(6), 3)
    array([1, 4])
    """
    return run("centre", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out,
               _space(return_indices), index_dtype)


@statistic
def rms_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
             *, ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
             **valid: Unpack[ValidTaps]) -> Any:
    """The root of the mean of the squares of the valid elements of each window (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.rms_pool(np.array([3.0, 4.0, 0.0, 0.0]), 4)
    array([2.5])
    """
    return run("rms", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def prod_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
              dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
              nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The product of the valid elements of each window; int64 or uint64 for integers (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.prod_pool(np.array([2, 3, 4, 5], np.uint8), 2)
    array([ 6, 20], dtype=uint64)
    """
    return run("prod", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def geo_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
             *, ceil_mode: bool = False, axes: Ints | None = None, nan_policy: NanPolicy = "propagate", out: Any = None,
             **valid: Unpack[ValidTaps]) -> Any:
    """The geometric mean of the valid elements of each window (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.geo_pool(np.array([1.0, 4.0]), 2).round(12)
    array([2.])
    """
    return run("geo", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def harm_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
              dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
              nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The harmonic mean of the valid elements of each window (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.harm_pool(np.array([1.0, 3.0]), 2)
    array([1.5])
    """
    return run("harm", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)


@statistic
def soft_pool(x: Operand, kernel_size: Ints | None, stride: Ints | None = None, padding: Padding = 0,
              dilation: Ints = 1, *, ceil_mode: bool = False, axes: Ints | None = None,
              nan_policy: NanPolicy = "propagate", out: Any = None, **valid: Unpack[ValidTaps]) -> Any:
    """The mean of the valid elements of each window, weighted by their exponentials: SoftPool (S19). See `median_pool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> oriel.soft_pool(np.array([0.0, 1.0]), 2)
    array([0.73105858])
    """
    return run("soft", x, kernel_size, stride, padding, dilation, ceil_mode, axes, nan_policy, valid, out)
