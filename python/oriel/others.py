"""What Oriel does not compute itself, taken from the library whose names a module has, if that is installed."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["attribute_of", "function_of"]


def function_of(library: str, function: str, why: str) -> Any:
    """A function of a library that computes what is asked; the error names the reason."""
    try:
        return getattr(importlib.import_module(library), function)
    except (ImportError, AttributeError):
        raise ValueError(f"{function}: {why}, but {library}, which computes the rest, is not installed or has no "
                         f"{function}") from None


def attribute_of(library: str, module: str, name: str) -> Any:
    """A name that a module of Oriel lacks, from the library."""
    if not name.startswith("_"):
        try:
            return getattr(importlib.import_module(library), name)
        except (ImportError, AttributeError):
            pass
    raise AttributeError(f"{module} has no {name}, and {library} is not installed or has none, too")
