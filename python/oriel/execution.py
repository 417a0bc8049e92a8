"""How calls run: threads and instruction set. Results do not depend on either."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager

from oriel import _core

__all__ = ["active_target", "get_threads", "set_target", "set_threads", "supported_targets", "threads"]


def set_threads(n: int) -> None:
    """Let calls from this Python thread use at most `n` threads; 0 means all that the process may use."""
    _core.set_threads(_thread_count("set_threads", n))


def _thread_count(function: str, n: int) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError(f"{function}: n must be an int >= 0 (0: all), but is {n!r}") from None
    if not 0 <= count < 2**31:
        raise ValueError(f"{function}: n must be >= 0 (0: all) and < 2**31, but is {n!r}")
    return count


def get_threads() -> int:
    """The number that `set_threads` set for this Python thread; 0 if none was set."""
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
    count = _thread_count("threads", n)
    before = _core.get_threads()
    _core.set_threads(count)
    try:
        yield
    finally:
        _core.set_threads(before)


def supported_targets() -> list[str]:
    """The instruction sets that this build contains and this machine can run, best first, by Highway's names."""
    return _core.supported_targets()


def active_target() -> str:
    """The instruction set in use: the best, or the one that the environment variable ORIEL_TARGET or `set_target`
    names.

    Examples
    --------
    >>> import oriel
    >>> oriel.active_target() in oriel.supported_targets()
    True
    """
    return _core.active_target()


def set_target(name: str) -> None:
    """Use that instruction set from now on; the empty name means the best. Raises ValueError if it cannot run here."""
    if not isinstance(name, str):
        raise TypeError(f"set_target: name must be a str, but is {name!r}")
    _core.set_target(name)
