"""Pooling layers as objects: callable, comparable, and nodes without leaves of JAX's trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
from jax.typing import ArrayLike

from oriel.jax.arguments import Padding, read_ints, read_pairs
from oriel.jax.pools import avg_pool, max_pool, min_pool

__all__ = ["AvgPool2D", "MaxPool2D", "MinPool2D"]


@dataclasses.dataclass(frozen=True)
class _Pool2D:
    pool_shape: int | Sequence[int] = (2, 2)
    strides: int | Sequence[int] = (1, 1)
    padding: Padding = "valid"

    def __post_init__(self) -> None:
        name = type(self).__name__
        for field in ("pool_shape", "strides"):
            object.__setattr__(self, field, read_ints(name, field, getattr(self, field), 2))
        if isinstance(self.padding, str):
            if self.padding.lower() not in ("valid", "same", "same_lower"):
                raise ValueError(
                    f"{name}: padding must be 'valid', 'same' or 'same_lower' if it is a word, "
                    f"but is {self.padding!r}"
                )
            object.__setattr__(self, "padding", self.padding.lower())
        else:
            object.__setattr__(self, "padding", read_pairs(name, self.padding, 2))

    def _arguments(self) -> tuple[Any, Any, Any]:
        return self.pool_shape, self.strides, self.padding


# Static nodes: all of a layer is configuration, so tree_map leaves it as it is and jit compiles once for equal layers.
# Each class is registered where it is made, so importing or reloading this module never registers one twice.
@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class MaxPool2D(_Pool2D):
    """The largest element of each window of height x width.

    Parameters
    ----------
    pool_shape : int or (int, int)
        Height and width of a window.
    strides : int or (int, int)
        Steps of the window, by default 1.
    padding : "valid", "same", "same_lower" or ((int, int), (int, int))
        In any letter case; or the padding before and after the height and the width.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Notes
    -----
    Instances are immutable, equal if their arguments are, and registered as nodes of JAX's trees: they may be among
    parameters, be arguments of jitted functions, or be jitted themselves.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> layer = oriel.jax.MaxPool2D(pool_shape=(4, 4), strides=(2, 2))
    >>> jax.jit(layer)(jnp.ones((32, 28, 28, 3))).shape
    (32, 13, 13, 3)
    >>> jax.tree.map(lambda w: 2 * w, {"pool": layer, "w": 1.5})
    {'pool': MaxPool2D(pool_shape=(4, 4), strides=(2, 2), padding='valid'), 'w': 3.0}
    """

    def __call__(self, batch: ArrayLike) -> jax.Array:
        """The pool of images of shape (…, height, width, channels)."""
        return max_pool(batch, *self._arguments())


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class MinPool2D(_Pool2D):
    """The smallest element of each window of height x width. Parameters and errors are those of `MaxPool2D`."""

    def __call__(self, batch: ArrayLike) -> jax.Array:
        """The pool of images of shape (…, height, width, channels)."""
        return min_pool(batch, *self._arguments())


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class AvgPool2D(_Pool2D):
    """The mean of each window of height x width. Other parameters and errors are those of `MaxPool2D`.

    Parameters
    ----------
    count_include_pad : bool
        Whether padding counts in the divisor.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import oriel.jax
    >>> oriel.jax.AvgPool2D(2, 2)(jnp.arange(4.0).reshape(1, 2, 2, 1)).ravel()
    Array([1.5], dtype=float32)
    """

    count_include_pad: bool = True

    def __call__(self, batch: ArrayLike) -> jax.Array:
        """The pool of images of shape (…, height, width, channels)."""
        return avg_pool(batch, *self._arguments(), self.count_include_pad)
