"""Layers with a given number of windows that split the input evenly: `AdaptiveMaxPooling2D` and similar ones."""

from __future__ import annotations

from typing import Any

import keras

from oriel.keras.backends import DataFormat, LayerPool
from oriel.keras.windows import PoolingLayer, ints

__all__ = [
    "AdaptiveAveragePooling1D",
    "AdaptiveAveragePooling2D",
    "AdaptiveAveragePooling3D",
    "AdaptiveMaxPooling1D",
    "AdaptiveMaxPooling2D",
    "AdaptiveMaxPooling3D",
]


class AdaptivePooling(PoolingLayer):
    """Pools with windows that follow from the extents of input and output."""
    def __init__(self, output_size: int | tuple[int, ...], data_format: DataFormat | None = None,
                 **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.output_size: tuple[int, ...] = ints(type(self).__name__, "output_size", output_size, self._ndim)

    @property
    def pool(self) -> LayerPool:
        """What this layer computes."""
        return LayerPool(self._op, self._ndim, self.data_format, output_size=self.output_size)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "output_size": self.output_size}


@keras.saving.register_keras_serializable(package="oriel")
class AdaptiveMaxPooling1D(AdaptivePooling):
    """The largest element of each of `output_size` windows over the steps, as `AdaptiveMaxPooling1D` of Keras."""

    _op, _ndim = "max", 1


@keras.saving.register_keras_serializable(package="oriel")
class AdaptiveMaxPooling2D(AdaptivePooling):
    """The largest element of each of `output_size` windows over the height and width, as
    `keras.layers.AdaptiveMaxPooling2D`.

    Parameters
    ----------
    output_size : int or tuple of int
        Number of windows along each axis: window o of m over n elements contains those from floor(o n / m) to ceil((o +
        1) n / m).
    data_format : {"channels_last", "channels_first"}, optional
        Inputs are (batch, height, width, channels) or (batch, channels, height, width); the default is that of Keras.

    Examples
    --------
    >>> import oriel.keras
    >>> oriel.keras.AdaptiveMaxPooling2D((3, 4)).compute_output_shape((None, 7, 7, 64))
    (None, 3, 4, 64)
    """

    _op, _ndim = "max", 2


@keras.saving.register_keras_serializable(package="oriel")
class AdaptiveMaxPooling3D(AdaptivePooling):
    """The largest element of each of `output_size` windows over three axes, as `AdaptiveMaxPooling3D` of Keras."""

    _op, _ndim = "max", 3


@keras.saving.register_keras_serializable(package="oriel")
class AdaptiveAveragePooling1D(AdaptivePooling):
    """The mean of each of `output_size` windows over the steps, as `AdaptiveAveragePooling1D` of Keras."""

    _op, _ndim = "avg", 1


@keras.saving.register_keras_serializable(package="oriel")
class AdaptiveAveragePooling2D(AdaptivePooling):
    """The mean of each of `output_size` windows over the height and width, as `AdaptiveAveragePooling2D` of Keras."""

    _op, _ndim = "avg", 2


@keras.saving.register_keras_serializable(package="oriel")
class AdaptiveAveragePooling3D(AdaptivePooling):
    """The mean of each of `output_size` windows over the three spatial axes, as `AdaptiveAveragePooling3D` of Keras."""

    _op, _ndim = "avg", 3
