"""The configurations of JAX 0.10.2's tests of reduce_window: lax_test.py, lax_vmap_test.py, lax_autodiff_test.py."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

IDENTITIES = {"add": 0.0, "max": -np.inf, "min": np.inf}


class Window(NamedTuple):
    """The arguments of reduce_window after the computation, and the operand's shape."""

    shape: tuple[int, ...]
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    padding: Any
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    def __str__(self) -> str:
        return (
            f"shape {self.shape} window {self.dims} strides {self.strides} padding {self.padding} "
            f"base_dilation {self.base_dilation} window_dilation {self.window_dilation}"
        )


def _products(*lists: Any) -> list[Window]:
    return [Window(*values) for values in itertools.product(*lists)]


# testReduceWindow of lax_test.py and lax_vmap_test.py, and the other tests of lax_test.py that go through computations.
WINDOWS = _products(
    [(4, 6)],
    [(2, 1), (1, 2)],
    [(1, 1), (2, 1), (1, 2)],
    ["VALID", "SAME", ((0, 3), (1, 2))],
    [(1, 1), (2, 3)],
    [(1, 1), (1, 2)],
) + _products(
    [(3, 2, 4, 6)],
    [(1, 1, 2, 1), (2, 1, 2, 1)],
    [(1, 2, 2, 1), (1, 1, 1, 1)],
    ["VALID", "SAME", ((0, 1), (1, 0), (2, 3), (0, 2))],
    [(1, 1, 1, 1), (2, 1, 3, 2)],
    [(1, 1, 1, 1), (1, 2, 2, 1)],
)

# testReduceWindowShapeDilation: padding "SAME" and strides 1.
SHAPES = _products(
    [(4, 6)],
    [(1, 1), (3, 4)],
    [(1, 1)],
    ["SAME"],
    [(1, 1), (1, 2), (2, 13), (40, 60)],
    [(1, 1), (1, 2), (2, 13), (40, 60)],
) + _products(
    [(3, 2, 4, 6)],
    [(1, 1, 1, 1), (2, 1, 2, 1)],
    [(1, 1, 1, 1)],
    ["SAME"],
    [(1, 1, 1, 1), (1, 2, 2, 1), (30, 40, 3, 2)],
    [(1, 1, 1, 1), (1, 2, 2, 1), (30, 40, 3, 2)],
)


def differentiated(op: str) -> list[Window]:
    """testReduceWindowGrad: maxima and minima without window dilation, of which JAX has no gradient."""
    return [w for w in WINDOWS if op == "add" or set(w.window_dilation) == {1}]


def mapped_axes(window: Window) -> range:
    """The places of the batch axis that lax_vmap_test.py maps over."""
    return range(len(window.shape) + 1)


# stax_test.py, testPoolingShape.
STAX = list(itertools.product([(1, 1), (2, 3)], [None, (2, 1)], ["max", "avg"], ["NHWC", "NCHW", "WHNC", "WHCN"]))
STAX_SHAPE = (2, 5, 6, 4)
