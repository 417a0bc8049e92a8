"""Layers with one window over everything: `GlobalMaxPooling2D` and similar ones."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from oriel.keras.backends import DataFormat, LayerPool, apply
from oriel.keras.windows import PoolingLayer

__all__ = [
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
]


class GlobalPooling(PoolingLayer):
    """Pools over all axes but batch and channels, which are dropped unless `keepdims` is true."""
    def __init__(self, data_format: DataFormat | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        if not isinstance(keepdims, bool):
            raise ValueError(f"{type(self).__name__}: keepdims must be True or False, but is {keepdims!r}")
        self.keepdims: bool = keepdims

    @property
    def pool(self) -> LayerPool:
        """What this layer computes."""
        return LayerPool(self._op, self._ndim, self.data_format)

    def call(self, inputs: Any) -> Any:
        """The pool of the inputs."""
        y = apply(self.pool, inputs)
        return y if self.keepdims else ops.squeeze(y, self.pool.axes)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """The shape of the result."""
        shape = super().compute_output_shape(input_shape)
        pooled = {axis % len(shape) for axis in self.pool.axes}
        return shape if self.keepdims else tuple(n for axis, n in enumerate(shape) if axis not in pooled)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "keepdims": self.keepdims}


@keras.saving.register_keras_serializable(package="oriel")
class GlobalMaxPooling1D(GlobalPooling):
    """The largest element over the steps, as `keras.layers.GlobalMaxPooling1D`; see `GlobalMaxPooling2D`."""

    _op, _ndim = "max", 1


@keras.saving.register_keras_serializable(package="oriel")
class GlobalMaxPooling2D(GlobalPooling):
    """The largest element over the height and width, as `keras.layers.GlobalMaxPooling2D`.

    Parameters
    ----------
    data_format : {"channels_last", "channels_first"}, optional
        Inputs are (batch, height, width, channels) or (batch, channels, height, width); the default is that of Keras.
    keepdims : bool
        Whether to keep the pooled axes, with one element each.

    Examples
    --------
    >>> import oriel.keras
    >>> oriel.keras.GlobalMaxPooling2D().compute_output_shape((None, 7, 7, 64))
    (None, 64)
    """

    _op, _ndim = "max", 2


@keras.saving.register_keras_serializable(package="oriel")
class GlobalMaxPooling3D(GlobalPooling):
    """The largest element over the three spatial axes, as `keras.layers.GlobalMaxPooling3D`; see `GlobalMaxPooling2D`.
    """

    _op, _ndim = "max", 3


@keras.saving.register_keras_serializable(package="oriel")
class GlobalAveragePooling1D(GlobalPooling):
    """The mean over the steps, as `keras.layers.GlobalAveragePooling1D`; steps that a mask excludes do not count."""

    _op, _ndim = "avg", 1

    def __init__(self, data_format: DataFormat | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """The mean of the inputs, (batch, steps, channels) or (batch, channels, steps); `mask` is (batch, steps)."""
        if mask is None:
            return super().call(inputs)
        steps, channels = (1, 2) if self.data_format == "channels_last" else (2, 1)
        weight = ops.expand_dims(ops.cast(mask, inputs.dtype), channels)
        total = apply(LayerPool("sum", 1, self.data_format), inputs * weight)
        y = total / ops.sum(weight, axis=steps, keepdims=True)
        return y if self.keepdims else ops.squeeze(y, steps)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: the result has no steps that a mask could apply to."""
        return None


@keras.saving.register_keras_serializable(package="oriel")
class GlobalAveragePooling2D(GlobalPooling):
    """The mean over the height and width, as `keras.layers.GlobalAveragePooling2D`; see `GlobalMaxPooling2D`."""

    _op, _ndim = "avg", 2


@keras.saving.register_keras_serializable(package="oriel")
class GlobalAveragePooling3D(GlobalPooling):
    """The mean over the three spatial axes, as `keras.layers.GlobalAveragePooling3D`; see `GlobalMaxPooling2D`."""

    _op, _ndim = "avg", 3
