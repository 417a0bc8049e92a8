"""One pool on a tensor of the backend that Keras uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

import keras

import oriel
from oriel.array_types import Op

__all__ = ["DataFormat", "LayerPool", "Statistic", "apply"]

DataFormat: TypeAlias = Literal["channels_last", "channels_first"]
Statistic: TypeAlias = Literal["median", "var", "std", "lse", "soft"]
STATISTICS = get_args(Statistic)


@dataclass(frozen=True)
class LayerPool:
    """What a layer computes: windows of `pool_size`, `output_size` windows, or one window over everything."""

    op: Op | Statistic
    ndim: int
    data_format: DataFormat
    pool_size: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    padding: Literal["valid", "same"] = "valid"
    output_size: tuple[int, ...] | None = None
    norm_type: float | None = None
    #: Keywords of a pool over valid elements, e.g. ("ddof", 1).
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def is_statistic(self) -> bool:
        """Whether it is one of those over valid elements (S13 to S19)."""
        return self.op in STATISTICS

    @property
    def axes(self) -> tuple[int, ...]:
        """The pooled axes, counted from the end."""
        last = 1 if self.data_format == "channels_last" else 0
        return tuple(range(-self.ndim - last, -last))

    @property
    def count_include_pad(self) -> bool:
        """Keras leaves padding out of the divisors of averages; nothing else has the option."""
        return self.op != "avg" or self.pool_size is None


def apply(pool: LayerPool, x: Any) -> Any:
    """The pool of `x`; the pooled axes are kept, with one element each if the pool is global."""
    backend = keras.config.backend()
    if backend not in _BACKENDS:
        raise ValueError(f"oriel.keras: the backend must be torch, jax, tensorflow or numpy, but is {backend}")
    return _BACKENDS[backend](pool, x)


def _on_torch(pool: LayerPool, x: Any) -> Any:
    if pool.is_statistic:
        import oriel.torch as functions

        return getattr(functions, f"{pool.op}_pool")(x, pool.pool_size, pool.strides, pool.padding, axes=pool.axes,
                                                     **dict(pool.options))
    from oriel.torch import run

    return run.pool(x, pool.op, pool.pool_size, pool.strides, pool.padding, 1, pool.output_size, pool.axes, False,
                    pool.count_include_pad, None, pool.norm_type, False, 0)


def _on_jax(pool: LayerPool, x: Any) -> Any:
    import oriel.jax as functions

    norm = () if pool.norm_type is None else (pool.norm_type,)
    if pool.output_size is not None:
        return getattr(functions, f"adaptive_{pool.op}_pool")(x, pool.output_size, data_format=pool.data_format)
    if pool.pool_size is None:
        return getattr(functions, f"global_{pool.op}_pool")(x, *norm, axes=pool.axes)
    words = dict(pool.options) if pool.count_include_pad else {"count_include_pad": False}
    return getattr(functions, f"{pool.op}_pool")(x, *norm, pool.pool_size, pool.strides, pool.padding.upper(),
                                                 data_format=pool.data_format, **words)


class _Statistic:
    """A pool over valid elements of arrays, with the methods of `oriel.Pool`."""
    def __init__(self, pool: LayerPool) -> None:
        self._op = pool.op
        self._windows: Any = (pool.pool_size, pool.strides, pool.padding)
        self._words: dict[str, Any] = {"axes": pool.axes, **dict(pool.options)}

    def __call__(self, x: Any) -> Any:
        """The pool of `x`."""
        return getattr(oriel, f"{self._op}_pool")(x, *self._windows, **self._words)

    def backward(self, dy: Any, x: Any) -> Any:
        """The gradient with respect to `x`."""
        return oriel.pool_backward(self._op, dy, x, *self._windows, **self._words)


def _array_pool(pool: LayerPool) -> oriel.Pool | _Statistic:
    if pool.is_statistic:
        return _Statistic(pool)
    words: dict[str, Any] = {} if pool.norm_type is None else {"norm_type": pool.norm_type}
    if pool.pool_size is not None:
        words |= {"stride": pool.strides, "padding": pool.padding, "count_include_pad": pool.count_include_pad}
        words["kernel_size"] = pool.pool_size
    return oriel.Pool(cast("Op", pool.op), output_size=pool.output_size, axes=pool.axes, **words)


def _on_numpy(pool: LayerPool, x: Any) -> Any:
    return _array_pool(pool)(x)


def _on_tensorflow(pool: LayerPool, x: Any) -> Any:
    """Calls out of TensorFlow's graph into Python; the shape is known to the graph as far as x's is."""
    import tensorflow as tf  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    arrays = _array_pool(pool)
    shape = output_shape(pool, tuple(x.shape))

    @tf.custom_gradient
    def pooled(x: Any) -> Any:
        y = tf.numpy_function(arrays, [x], x.dtype, stateful=False)
        y.set_shape(shape)

        def gradient(dy: Any) -> Any:
            dx = tf.numpy_function(arrays.backward, [dy, x], x.dtype, stateful=False)
            dx.set_shape(x.shape)
            return dx

        return y, gradient

    return pooled(x)


_BACKENDS = {"torch": _on_torch, "jax": _on_jax, "numpy": _on_numpy, "tensorflow": _on_tensorflow}


def output_shape(pool: LayerPool, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The shape of the result; None for an extent that is not known."""
    result = list(shape)
    for i, axis in enumerate(pool.axes):
        n = shape[axis]
        if pool.output_size is not None:
            result[axis] = pool.output_size[i]
        elif pool.pool_size is None:
            result[axis] = 1
        elif n is not None:
            strides = pool.pool_size if pool.strides is None else pool.strides
            single = oriel.Pool("max", pool.pool_size[i], strides[i], pool.padding, axes=0)
            result[axis] = single.output_shape((n,))[0]
    return tuple(result)
