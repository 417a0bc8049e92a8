"""Oriel's threads for threadpoolctl: after `oriel.threadpool.register()`, `threadpoolctl.threadpool_limits(n)` limits
them too, and `threadpoolctl.threadpool_info()` lists them.

As everywhere in Oriel, a limit applies to the thread that sets it, not to the process, and results do not depend on it.
"""

from __future__ import annotations

import pathlib
import oriel
from oriel import _core

try:
    import threadpoolctl
except ImportError as _error:
    raise ImportError(
        "oriel.threadpool needs threadpoolctl, which is not installed: python -m pip install 'threadpoolctl>=3.3'"
    ) from _error
if not hasattr(threadpoolctl, "register"):
    raise ImportError(
        f"oriel.threadpool needs threadpoolctl 3.3 or newer, but {threadpoolctl.__version__} is installed"
    )

__all__ = ["OrielController", "register"]


class OrielController(threadpoolctl.LibController):
    """The interface to threadpoolctl."""

    user_api = "oriel"
    internal_api = "oriel"
    # The library beside the module or, in wheels, the module itself; other packages have a _core too.
    filename_prefixes: tuple[str, ...] = (
        "liboriel." if pathlib.Path(_core.__file__).with_name("liboriel.so").exists() else "_core.",
    )
    check_symbols: tuple[str, ...] = ("oriel_pool_interface", "_ZN5oriel15default_threadsEv")

    def get_num_threads(self) -> int:
        return oriel.get_threads() or _core.default_threads()

    def set_num_threads(self, num_threads: int) -> None:
        oriel.set_threads(0 if num_threads == _core.default_threads() else num_threads)

    def get_version(self) -> str:
        return oriel.__version__

    def set_additional_attributes(self) -> None:
        self.instruction_set: str = oriel.active_target()


_registered = False


def register() -> None:
    """Registers Oriel with threadpoolctl. Further calls do nothing."""
    global _registered
    if not _registered:
        threadpoolctl.register(OrielController)
        _registered = True
