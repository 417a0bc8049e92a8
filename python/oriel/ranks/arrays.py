"""Pools of divided NumPy arrays: `DistributedPool`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel import _core
from oriel.array_types import Ints, NanPolicy, Op, Padding, ScalarT
from oriel.ranks.divided import NOTHING, Beside, Bound, DividedPool, OutputPartition, Ranges
from oriel.ranks.grid import GridLike, meet
from oriel.statistic_types import Method, Ties
from oriel.valid_taps import Number, dtype_name, footprint_array, is_masked

__all__ = ["DistributedPool", "PoolOptions"]

_WITHOUT_GRADIENT = ("count", "any", "all", "mode", "nunique")


class PoolOptions(TypedDict, total=False):
    """Options of a divided pool over valid elements (S13 to S20).

    footprint, nodata, min_count, min_fraction, fill, dtype
        Which elements count, and what the result is (`oriel.valid_taps.ValidTaps`).
    q : float
        Of 'quantile': 0 to 1.
    rank : int
        Of 'quantile', instead of q: a place among the sorted elements.
    method : str
        Of 'median' and 'quantile'; see `oriel.quantile_pool`.
    ties, ignore
        Of 'mode'; see `oriel.mode_pool`.
    ddof : int
        Of 'var' and 'std'.
    sharpness, sum
        Of 'lse'; see `oriel.lse_pool`.
    """

    footprint: ArrayLike | None
    nodata: Number | None
    min_count: int
    min_fraction: float
    fill: Number | None
    dtype: Any
    q: float | None
    rank: int | None
    method: Method
    ties: Ties
    ignore: Number | None
    ddof: int
    sharpness: float
    sum: bool


def _checked_options(options: PoolOptions) -> dict[str, Any] | None:
    """What the engine takes; None if there are no options."""
    unknown = sorted(set(options) - set(PoolOptions.__annotations__))
    if unknown:
        raise TypeError(f"DistributedPool: there is no argument {unknown[0]}")
    given: dict[str, Any] = dict(options)
    if given.get("dtype") is not None:
        given["dtype"] = dtype_name(given["dtype"], "DistributedPool")
    if given.get("footprint") is not None:
        given["footprint"] = footprint_array("DistributedPool", given["footprint"])
    return given or None


class DistributedPool:
    """A pool of NumPy arrays that are divided over a grid of ranks, and its gradient. All ranks call it together.

    Parameters
    ----------
    P_x : mpi4py.MPI.Cartcomm, (communicator, shape) or Grid
        Ranks along each axis of the array; leading 1s may be left out.
    op : str
        'max', 'min', 'avg', 'sum', 'lp', or one of the pools over valid elements: 'median', 'quantile', 'mode',
        'nunique', 'var', 'std', 'count', 'any', 'all', 'range', 'midrange', 'rms', 'prod', 'geo', 'harm', 'lse', 'soft',
        'first', 'centre'.
    kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override, axes, nan_policy
        As for `oriel.max_pool` and `oriel.avg_pool`.
    norm_type : float
        The p of 'lp'.
    output_partition : None, 'centred', 'balanced' or sequence of sequences of int
        Which rank computes which outputs; see `DistributedMaxPool2d`.
    **options
        Of pools over valid elements: footprint, nodata, min_count, min_fraction, fill and dtype as for
        `oriel.median_pool`; q (one value), rank and method of quantiles, ties and ignore of modes, ddof of variances,
        sharpness and sum of 'lse' as for those functions.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank: for invalid arguments of one rank, or arguments that differ between ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> from oriel.mpi import DistributedPool
    >>> pool = DistributedPool((MPI.COMM_SELF, (1,)), "max", 3, stride=2, padding=1)
    >>> x = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    >>> pool.forward(x)
    array([3., 4., 5.])
    >>> pool.backward(np.ones(3), x)
    array([1., 0., 1., 0., 1.])
    >>> pool = DistributedPool((MPI.COMM_SELF, (1,)), "median", 3, stride=2, padding=1, nodata=4)
    >>> pool.forward(x, mask=np.array([True, True, True, False, True]))
    array([1., 1., 5.])
    """
    def __init__(self, P_x: GridLike, op: Op, kernel_size: Ints | None, stride: Ints | None = None,
                 padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None, norm_type: float | None = None, axes: Ints | None = None,
                 nan_policy: NanPolicy = "propagate", output_partition: OutputPartition = None,
                 **options: Unpack[PoolOptions]) -> None:
        self._divided = DividedPool(
            "DistributedPool", P_x,
            (op, kernel_size, stride, padding, dilation, None, axes, ceil_mode, count_include_pad, divisor_override,
             norm_type), nan_policy, 0, output_partition, lambda: _checked_options(options))

    def _bind(self, x: Any, mask: Any, weights: Any) -> Bound:
        shape, dtype, error, beside = (), None, None, NOTHING
        try:
            if not isinstance(x, np.ndarray):
                raise TypeError(f"DistributedPool: x must be a numpy.ndarray, but is {type(x).__name__}")
            if is_masked(x):
                raise TypeError("DistributedPool: x must be a plain array, but is a masked one; give mask=~x.mask")
            shape, dtype = x.shape, _core.dtype_of(x)
            beside = self._beside(mask, weights)
        except (TypeError, ValueError) as caught:
            error = caught
        return self._divided.bind(shape, dtype, error, beside=beside)[0]

    def _beside(self, mask: Any, weights: Any) -> Beside:
        for what, array, dtypes in (("mask", mask, ("bool", "uint8")), ("weights", weights, ("float32", "float64"))):
            if array is None:
                continue
            if not isinstance(array, np.ndarray) or array.dtype.name not in dtypes:
                raise TypeError(f"DistributedPool: {what} must be a numpy.ndarray of dtype {dtypes[0]} or {dtypes[1]}, "
                                f"but is {getattr(array, 'dtype', type(array).__name__)}")
        if weights is None:
            return (None if mask is None else mask.shape), None, None
        least = 0 if self._divided.op in ("median", "quantile", "mode") else -np.inf
        if not (np.isfinite(weights) & (weights >= least)).all():
            raise ValueError(f"DistributedPool: weights must be finite{' and >= 0' if least == 0 else ''}, but some are "
                             "not")
        return (None if mask is None else mask.shape), weights.shape, _core.dtype_of(weights)

    @overload
    def forward(self, x: NDArray[Any], *, return_indices: Literal[False] = False, mask: NDArray[Any] | None = None,
                weights: NDArray[Any] | None = None) -> NDArray[Any]: ...

    @overload
    def forward(self, x: NDArray[Any], *, return_indices: Literal[True], mask: NDArray[Any] | None = None,
                weights: NDArray[Any] | None = None) -> tuple[NDArray[Any], NDArray[np.int64]]: ...

    def forward(self, x: NDArray[Any], *, return_indices: bool = False, mask: NDArray[Any] | None = None,
                weights: NDArray[Any] | None = None) -> Any:
        """This rank's outputs, given its inputs x; optionally with int64 indices in the undivided plane, for pools
        whose results are elements of x (max, min, median, mode …).

        Parameters
        ----------
        x : numpy.ndarray
            The rank's part.
        return_indices : bool
            The same on all ranks.
        mask, weights : numpy.ndarray
            The rank's parts of the mask (bool or uint8) and of the weights (float32 or float64), which all ranks give or
            none; of x's shape, or with extent 1 on all ranks along axes that are not pooled.

        Raises
        ------
        TypeError, ValueError
            The same error on every rank: for parts that do not fit together, or that are invalid on one rank.
        """
        bound = self._bind(x, mask, weights)
        wants = meet(self._divided.grid.link, "forward of DistributedPool", [return_indices, not return_indices])
        if wants == [1, 1]:
            raise ValueError("DistributedPool: return_indices must be the same on all ranks, but differs")
        y = np.empty(bound.output_shape, bound.local.result_dtype or x.dtype)
        arrays = {"x": x, "y": y, "mask": mask, "weights": weights}
        if not return_indices:
            bound.run("forward", **arrays)
            return y
        if not bound.local.has_indices:
            raise ValueError("DistributedPool: return_indices must be False but for max, min and other pools that select "
                             "an element")
        places = np.empty(bound.output_shape, np.int64)
        bound.run("forward", **arrays, indices=places)
        bound.local.globalise(places, "plane")
        return y, places

    def backward(self, dy: NDArray[Any], x: NDArray[ScalarT], *, mask: NDArray[Any] | None = None,
                 weights: NDArray[Any] | None = None) -> NDArray[ScalarT]:
        """The gradient at this rank's inputs `x`, from that of its outputs `dy`; with the mask and weights of `forward`.

        Raises
        ------
        TypeError, ValueError
            The same error on every rank: also for a `dy` without the shape and dtype of the rank's outputs.
        """
        bound = self._bind(x, mask, weights)
        error: Exception | None = None
        dtype = np.dtype(bound.local.result_dtype or x.dtype)
        as_what = "as x is" if bound.local.result_dtype is None else "as the result is"
        if not isinstance(dy, np.ndarray) or dy.dtype != dtype:
            error = TypeError(f"DistributedPool: dy must be a numpy.ndarray of dtype {dtype}, {as_what}, but is "
                              f"{getattr(dy, 'dtype', type(dy).__name__)}")
        elif dy.shape != bound.output_shape:
            error = ValueError(f"DistributedPool: dy must have the shape of the rank's outputs, {bound.output_shape}, "
                               f"but has {dy.shape}")
        elif not bound.local.has("backward") and not bound.local.has("backward_inputs"):
            error = TypeError(f"DistributedPool: x must have a floating dtype for this gradient, but has {x.dtype}"
                              if self._divided.op not in _WITHOUT_GRADIENT else
                              f"DistributedPool: {self._divided.op} has no gradient")
        self._divided.check(error)
        dx = np.empty(x.shape, x.dtype)
        if bound.local.has("backward"):
            bound.run("backward", dy=dy, dx=dx)
        else:
            bound.run("backward_inputs", x=x, dy=dy, dx=dx, mask=mask, weights=weights)
        return dx

    @property
    def ranges(self) -> Ranges | None:
        """After a call: the inputs that this rank owns and the outputs that it computes, as (begin, end) along each
        axis of the whole arrays."""
        return self._divided.ranges

    @property
    def traffic(self) -> dict[str, tuple[int, int, int, int]]:
        """For each pass that was run on parts like the last ones: messages sent, received, bytes sent, received."""
        return self._divided.traffic
