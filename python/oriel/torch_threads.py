"""The threads of calls on PyTorch's tensors: PyTorch's own, as many as it uses.

Two sets of threads would wait for each other: OpenMP's go on looking for work for milliseconds after each operation of
PyTorch's, on the processors that oneTBB's need.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from oriel import _core

__all__ = ["ALL_THREADS", "as_many_threads_as_torch", "share_threads_of_torch"]

ALL_THREADS = _core.default_threads()


def share_threads_of_torch() -> bool:
    """Runs calls on CPU tensors on PyTorch's threads from now on, if they are OpenMP's; else they run on oneTBB's."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    return "parallel backend: OpenMP" in torch.__config__.parallel_info() and _core.use_openmp_of(str(library))


share_threads_of_torch()


@contextmanager
def as_many_threads_as_torch() -> Iterator[None]:
    """Calls of the engine from this thread use as many threads as PyTorch does, unless it was given fewer."""
    before = _core.get_threads()
    _core.set_threads(min(torch.get_num_threads(), before or ALL_THREADS))
    try:
        yield
    finally:
        _core.set_threads(before)
