"""numbagg's moving windows, by `oriel.bottleneck`, which has their results under bottleneck's arguments.

numbagg takes `min_count=0` for 1 and a tuple of one axis or none, makes float32 of float16, and has 1 for `ddof`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from oriel import bottleneck

__all__ = ["move_mean", "move_std", "move_sum", "move_var"]


def _moved(function: Callable[..., Any], a: Any, window: int, min_count: int | None, axis: Any, **keywords: Any) -> Any:
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not axes:
        return np.asarray(a)
    if len(axes) > 1:
        raise ValueError(f"{function.__name__}: only one axis can be passed, but there are {len(axes)}")
    x = np.asarray(a)
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    return function(x, window, 1 if min_count == 0 else min_count, axes[0], **keywords)


def move_mean(a: Any, window: int, min_count: int | None = None, axis: Any = -1) -> Any:
    return _moved(bottleneck.move_mean, a, window, min_count, axis)


def move_sum(a: Any, window: int, min_count: int | None = None, axis: Any = -1) -> Any:
    return _moved(bottleneck.move_sum, a, window, min_count, axis)


def move_std(a: Any, window: int, min_count: int | None = None, axis: Any = -1) -> Any:
    return _moved(bottleneck.move_std, a, window, min_count, axis, ddof=1)


def move_var(a: Any, window: int, min_count: int | None = None, axis: Any = -1) -> Any:
    return _moved(bottleneck.move_var, a, window, min_count, axis, ddof=1)


def after_replacement(table: dict[Any, Any]) -> None:
    """numbagg's tests look up what a function is compared with, and call it by its name there."""
    tests = sys.modules["numbagg.test.conftest"]
    for theirs, ours in table.items():
        if theirs in tests.COMPARISONS:
            tests.COMPARISONS[ours] = tests.COMPARISONS[theirs]
            setattr(tests, theirs.__name__, ours)
