"""How many threads calls use. It never changes a result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oriel import _core

__all__ = ["get_threads", "set_threads", "threads"]


def set_threads(n: int) -> None:
    """Let calls from this Python thread use at most `n` threads; 0 means all that the process may use."""
    _core.set_threads(n)


def get_threads() -> int:
    """What `set_threads` set for this Python thread; 0 if nothing."""
    return _core.get_threads()


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Within this context, calls from this Python thread use at most `n` threads.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel
    >>> with oriel.threads(1):
    ...     oriel.max_pool(np.array([1, 2, 3, 4]), 2)
    array([2, 4])
    """
    before = _core.get_threads()
    _core.set_threads(n)
    try:
        yield
    finally:
        _core.set_threads(before)
