"""Layers over windows whose results are no sums or extrema: medians, variances, standard deviations, means of
exponentials and soft pools.
"""

from __future__ import annotations

from typing import Any

import keras

from oriel.keras.backends import DataFormat, LayerPool
from oriel.keras.windows import PaddingWord, WindowPooling

__all__ = [
    "LSEPooling1D",
    "LSEPooling2D",
    "LSEPooling3D",
    "MedianPooling1D",
    "MedianPooling2D",
    "MedianPooling3D",
    "SoftPooling1D",
    "SoftPooling2D",
    "SoftPooling3D",
    "StdPooling1D",
    "StdPooling2D",
    "StdPooling3D",
    "VarPooling1D",
    "VarPooling2D",
    "VarPooling3D",
]


class StatisticPooling(WindowPooling):
    """Pools with a window and keywords of their own."""

    _own: tuple[str, ...] = ()

    @property
    def pool(self) -> LayerPool:
        """What this layer computes."""
        return LayerPool(self._op, self._ndim, self.data_format, self.pool_size, self.strides, self.padding,
                         options=tuple((name, getattr(self, name)) for name in self._own))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), **{name: getattr(self, name) for name in self._own}}


class MedianPooling(StatisticPooling):
    """Pools whose results are elements of the windows, or means of two."""

    _op = "median"
    _own = ("method",)

    def __init__(self, pool_size: int | tuple[int, ...] = 2, strides: int | tuple[int, ...] | None = None,
                 padding: PaddingWord = "valid", data_format: DataFormat | None = None, name: str | None = None,
                 method: str = "lower", **kwargs: Any) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)
        if method not in ("lower", "higher", "mean"):
            raise ValueError(f"{type(self).__name__}: method must be 'lower', 'higher' or 'mean', but is {method!r}")
        self.method: str = method


class SpreadPooling(StatisticPooling):
    """Pools that measure how far the elements of a window are from their mean."""

    _own = ("ddof",)

    def __init__(self, pool_size: int | tuple[int, ...] = 2, strides: int | tuple[int, ...] | None = None,
                 padding: PaddingWord = "valid", data_format: DataFormat | None = None, name: str | None = None,
                 ddof: int = 0, **kwargs: Any) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)
        if type(ddof) is not int or ddof < 0:
            raise ValueError(f"{type(self).__name__}: ddof must be an int >= 0, but is {ddof!r}")
        self.ddof: int = ddof


class LSEPooling(StatisticPooling):
    """Pools between the mean and the maximum."""

    _op = "lse"
    _own = ("sharpness", "sum")

    def __init__(self, pool_size: int | tuple[int, ...] = 2, strides: int | tuple[int, ...] | None = None,
                 padding: PaddingWord = "valid", data_format: DataFormat | None = None, name: str | None = None,
                 sharpness: float = 1.0, sum: bool = False, **kwargs: Any) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)
        if not isinstance(sharpness, (int, float)) or not 0 < sharpness < float("inf"):
            raise ValueError(f"{type(self).__name__}: sharpness must be a number > 0, but is {sharpness!r}")
        if not isinstance(sum, bool):
            raise ValueError(f"{type(self).__name__}: sum must be True or False, but is {sum!r}")
        self.sharpness: float = float(sharpness)
        self.sum: bool = sum


@keras.saving.register_keras_serializable(package="oriel")
class LSEPooling1D(LSEPooling):
    """log(mean(exp(r x))) / r of each window over the steps; see `LSEPooling2D`."""

    _ndim = 1


@keras.saving.register_keras_serializable(package="oriel")
class LSEPooling2D(LSEPooling):
    """log(mean(exp(r x))) / r of each window over the height and width, r being the sharpness (S19); other arguments
    are those of `MaxPooling2D`.

    Parameters
    ----------
    sharpness : float
        r, more than 0: results are between the mean (small r) and the maximum (large r).
    sum : bool
        Whether the sum of the exponentials takes the place of their mean.

    Examples
    --------
    >>> import oriel.keras
    >>> oriel.keras.LSEPooling2D(2, sharpness=4.0).compute_output_shape((None, 8, 8, 3))
    (None, 4, 4, 3)
    """

    _ndim = 2


@keras.saving.register_keras_serializable(package="oriel")
class LSEPooling3D(LSEPooling):
    """log(mean(exp(r x))) / r of each window over the three spatial axes; see `LSEPooling2D`."""

    _ndim = 3


@keras.saving.register_keras_serializable(package="oriel")
class MedianPooling1D(MedianPooling):
    """The median of each window over the steps; see `MedianPooling2D`."""

    _ndim = 1


@keras.saving.register_keras_serializable(package="oriel")
class MedianPooling2D(MedianPooling):
    """The median of each window over the height and width (S16).

    Parameters
    ----------
    pool_size, strides, padding, data_format, name
        As for `MaxPooling2D`.
    method : {"lower", "higher", "mean"}
        Which element the median of an even number is, or the mean of the two in the middle.

    Raises
    ------
    ValueError
        For an argument of the wrong value, named in the text.

    Notes
    -----
    The gradient goes to the element that is the median, half of it to each of two for "mean".

    Examples
    --------
    >>> import keras
    >>> import oriel.keras
    >>> layer = oriel.keras.MedianPooling2D(3, strides=2, padding="same")
    >>> layer(keras.ops.ones((2, 15, 15, 3))).shape == (2, 8, 8, 3)
    True
    """

    _ndim = 2


@keras.saving.register_keras_serializable(package="oriel")
class MedianPooling3D(MedianPooling):
    """The median of each window over the three spatial axes; see `MedianPooling2D`."""

    _ndim = 3


@keras.saving.register_keras_serializable(package="oriel")
class SoftPooling1D(StatisticPooling):
    """The mean of each window over the steps, weighted by the exponentials of its elements (S19);
    arguments are those of `MaxPooling2D`.
    """

    _op, _ndim = "soft", 1


@keras.saving.register_keras_serializable(package="oriel")
class SoftPooling2D(StatisticPooling):
    """The mean of each window over the height and width, weighted by the exponentials of its elements (S19);
    arguments are those of `MaxPooling2D`.
    """

    _op, _ndim = "soft", 2


@keras.saving.register_keras_serializable(package="oriel")
class SoftPooling3D(StatisticPooling):
    """The mean of each window over the three spatial axes, weighted by the exponentials of its elements (S19);
    arguments are those of `MaxPooling2D`.
    """

    _op, _ndim = "soft", 3


@keras.saving.register_keras_serializable(package="oriel")
class StdPooling1D(SpreadPooling):
    """The standard deviation of each window over the steps; see `VarPooling2D`."""

    _op, _ndim = "std", 1


@keras.saving.register_keras_serializable(package="oriel")
class StdPooling2D(SpreadPooling):
    """The standard deviation of each window over the height and width; see `VarPooling2D`."""

    _op, _ndim = "std", 2


@keras.saving.register_keras_serializable(package="oriel")
class StdPooling3D(SpreadPooling):
    """The standard deviation of each window over the three spatial axes; see `VarPooling2D`."""

    _op, _ndim = "std", 3


@keras.saving.register_keras_serializable(package="oriel")
class VarPooling1D(SpreadPooling):
    """The variance of each window over the steps; see `VarPooling2D`."""

    _op, _ndim = "var", 1


@keras.saving.register_keras_serializable(package="oriel")
class VarPooling2D(SpreadPooling):
    """The variance of each window over the height and width, with divisor n - ddof (S18); other arguments are those of
    `MaxPooling2D`.

    Parameters
    ----------
    ddof : int
        What is subtracted from the number of elements, 0 or more.

    Examples
    --------
    >>> import oriel.keras
    >>> oriel.keras.VarPooling2D(2).compute_output_shape((None, 8, 8, 3))
    (None, 4, 4, 3)
    """

    _op, _ndim = "var", 2


@keras.saving.register_keras_serializable(package="oriel")
class VarPooling3D(SpreadPooling):
    """The variance of each window over the three spatial axes; see `VarPooling2D`."""

    _op, _ndim = "var", 3
