"""The number of threads of calls on PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from oriel import _core

__all__ = ["ALL_THREADS", "as_many_threads_as_torch"]

ALL_THREADS = _core.default_threads()


@contextmanager
def as_many_threads_as_torch() -> Iterator[None]:
    """Calls of the engine from this thread use as many threads as PyTorch does, unless it was given fewer."""
    before = _core.get_threads()
    _core.set_threads(min(torch.get_num_threads(), before or ALL_THREADS))
    try:
        yield
    finally:
        _core.set_threads(before)
