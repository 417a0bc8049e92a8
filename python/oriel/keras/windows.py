"""Layers whose windows have one size and stride: `MaxPooling2D` and similar ones."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import keras

from oriel.array_types import Op
from oriel.keras.backends import DataFormat, LayerPool, Statistic, apply, output_shape

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "LpPooling1D",
    "LpPooling2D",
    "LpPooling3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "MinPooling1D",
    "MinPooling2D",
    "MinPooling3D",
    "SumPooling1D",
    "SumPooling2D",
    "SumPooling3D",
]


PaddingWord: TypeAlias = Literal["valid", "same", "VALID", "SAME"]


def ints(layer: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """One int per axis, all >= 1, from an int or a sequence of ints."""
    values = (value,) * count if isinstance(value, int) else value
    if not isinstance(values, (tuple, list)) or len(values) != count or not all(type(item) is int for item in values):
        raise ValueError(f"{layer}: {argument} must be an int or {count} ints, but is {value!r}")
    if min(values) < 1:
        raise ValueError(f"{layer}: {argument} must be >= 1, but is {value!r}")
    return tuple(values)


def standard_data_format(layer: str, data_format: DataFormat | None) -> DataFormat:
    """`data_format`, by default the one that Keras is set to."""
    word: Any = keras.config.image_data_format() if data_format is None else data_format
    if word not in ("channels_last", "channels_first"):
        raise ValueError(f"{layer}: data_format must be 'channels_last' or 'channels_first', but is {data_format!r}")
    return word


class PoolingLayer(keras.layers.Layer):
    """Base of all layers. `pool` is what one computes."""

    _op: Op | Statistic
    _ndim: int = 0
    data_format: DataFormat

    def __init__(self, data_format: DataFormat | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = standard_data_format(type(self).__name__, data_format)
        self.input_spec: Any = keras.InputSpec(ndim=self._ndim + 2)
        self.built = True  # as Keras's own are from the start: there are no weights
        if keras.config.backend() == "tensorflow":
            self.supports_jit = False  # XLA has no Python calls

    @property
    def pool(self) -> LayerPool:
        """What this layer computes."""
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        """The pool of the inputs."""
        return apply(self.pool, inputs)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """The shape of the result (S1); None if the input's is not known."""
        return output_shape(self.pool, tuple(input_shape))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "data_format": self.data_format}


class WindowPooling(PoolingLayer):
    """Pools with a window."""
    def __init__(self, pool_size: int | tuple[int, ...] = 2, strides: int | tuple[int, ...] | None = None,
                 padding: PaddingWord = "valid", data_format: DataFormat | None = None, name: str | None = None,
                 **kwargs: Any) -> None:
        super().__init__(data_format, name=name, **kwargs)
        layer = type(self).__name__
        self.pool_size: tuple[int, ...] = ints(layer, "pool_size", pool_size, self._ndim)
        strides = self.pool_size if strides is None else strides
        self.strides: tuple[int, ...] = ints(layer, "strides", strides, self._ndim)
        if not isinstance(padding, str) or padding.lower() not in ("valid", "same"):
            raise ValueError(f"{layer}: padding must be 'valid' or 'same', but is {padding!r}")
        self.padding: Literal["valid", "same"] = "valid" if padding.lower() == "valid" else "same"

    @property
    def pool(self) -> LayerPool:
        """What this layer computes."""
        return LayerPool(self._op, self._ndim, self.data_format, self.pool_size, self.strides, self.padding)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "pool_size": self.pool_size, "strides": self.strides, "padding": self.padding}


class LpWindowPooling(WindowPooling):
    """Pools with a window and a norm."""

    _op = "lp"

    def __init__(self, norm_type: float, pool_size: int | tuple[int, ...] = 2,
                 strides: int | tuple[int, ...] | None = None, padding: PaddingWord = "valid",
                 data_format: DataFormat | None = None, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)
        if not isinstance(norm_type, (int, float)) or not norm_type >= 1:
            raise ValueError(f"{type(self).__name__}: norm_type must be a number >= 1, but is {norm_type!r}")
        self.norm_type: float = float(norm_type)

    @property
    def pool(self) -> LayerPool:
        """What this layer computes."""
        return LayerPool(self._op, self._ndim, self.data_format, self.pool_size, self.strides, self.padding,
                         norm_type=self.norm_type)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "norm_type": self.norm_type}


@keras.saving.register_keras_serializable(package="oriel")
class MaxPooling1D(WindowPooling):
    """The largest element of each window over the steps, as `keras.layers.MaxPooling1D`; see `MaxPooling2D`."""

    _op, _ndim = "max", 1


@keras.saving.register_keras_serializable(package="oriel")
class MaxPooling2D(WindowPooling):
    """The largest element of each window over the height and width, as `keras.layers.MaxPooling2D`.

    Parameters
    ----------
    pool_size : int or tuple of int
        Size of the window along each axis.
    strides : int or tuple of int, optional
        Step of the window; `pool_size` if not given.
    padding : {"valid", "same"}
        No padding, or as much as gives ceil(n / stride) windows, with an odd element after the input. Padding has no
        value: averages do not count it.
    data_format : {"channels_last", "channels_first"}, optional
        Inputs are (batch, height, width, channels) or (batch, channels, height, width); the default is that of Keras.
    name : str, optional
        The layer's name.

    Raises
    ------
    ValueError
        For an argument of the wrong value, named in the text.

    Notes
    -----
    The rules are S1-S4 (`python -m oriel.docs semantics`). A gradient goes to the first of equal maxima.

    Examples
    --------
    >>> import keras
    >>> import oriel.keras
    >>> layer = oriel.keras.MaxPooling2D(3, strides=2, padding="same")
    >>> layer.compute_output_shape((None, 15, 15, 3))
    (None, 8, 8, 3)
    >>> layer(keras.ops.ones((2, 15, 15, 3))).shape == (2, 8, 8, 3)
    True
    """

    _op, _ndim = "max", 2


@keras.saving.register_keras_serializable(package="oriel")
class MaxPooling3D(WindowPooling):
    """The largest element of each window over the three spatial axes, as `keras.layers.MaxPooling3D`; see
    `MaxPooling2D`.
    """

    _op, _ndim = "max", 3


@keras.saving.register_keras_serializable(package="oriel")
class AveragePooling1D(WindowPooling):
    """The mean of each window over the steps, as `keras.layers.AveragePooling1D`; see `MaxPooling2D`."""

    _op, _ndim = "avg", 1


@keras.saving.register_keras_serializable(package="oriel")
class AveragePooling2D(WindowPooling):
    """The mean of each window over the height and width, as `keras.layers.AveragePooling2D`; see `MaxPooling2D`."""

    _op, _ndim = "avg", 2


@keras.saving.register_keras_serializable(package="oriel")
class AveragePooling3D(WindowPooling):
    """The mean of each window over the three spatial axes, as `keras.layers.AveragePooling3D`; see `MaxPooling2D`."""

    _op, _ndim = "avg", 3


@keras.saving.register_keras_serializable(package="oriel")
class MinPooling1D(WindowPooling):
    """The smallest element of each window over the steps, with the arguments of `MaxPooling1D`."""

    _op, _ndim = "min", 1


@keras.saving.register_keras_serializable(package="oriel")
class MinPooling2D(WindowPooling):
    """The smallest element of each window over the height and width, with the arguments of `MaxPooling2D`."""

    _op, _ndim = "min", 2


@keras.saving.register_keras_serializable(package="oriel")
class MinPooling3D(WindowPooling):
    """The smallest element of each window over the three spatial axes, with the arguments of `MaxPooling3D`."""

    _op, _ndim = "min", 3


@keras.saving.register_keras_serializable(package="oriel")
class SumPooling1D(WindowPooling):
    """The sum of each window over the steps, with the arguments of `MaxPooling1D`."""

    _op, _ndim = "sum", 1


@keras.saving.register_keras_serializable(package="oriel")
class SumPooling2D(WindowPooling):
    """The sum of each window over the height and width, with the arguments of `MaxPooling2D`."""

    _op, _ndim = "sum", 2


@keras.saving.register_keras_serializable(package="oriel")
class SumPooling3D(WindowPooling):
    """The sum of each window over the three spatial axes, with the arguments of `MaxPooling3D`."""

    _op, _ndim = "sum", 3


@keras.saving.register_keras_serializable(package="oriel")
class LpPooling1D(LpWindowPooling):
    """The p-norm of each window over the steps: `norm_type` is the p, 1 or more; see `MaxPooling2D`."""

    _ndim = 1


@keras.saving.register_keras_serializable(package="oriel")
class LpPooling2D(LpWindowPooling):
    """The p-norm of each window over the height and width: `norm_type` is the p, 1 or more; see `MaxPooling2D`."""

    _ndim = 2


@keras.saving.register_keras_serializable(package="oriel")
class LpPooling3D(LpWindowPooling):
    """The p-norm of each window over the three spatial axes: `norm_type` is the p, 1 or more; see `MaxPooling2D`."""

    _ndim = 3
