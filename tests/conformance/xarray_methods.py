"""The methods of DataArray and Dataset in whose places those of Oriel's accessor are put."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oriel.xarray


class Methods:
    """`array.coarsen(…)` is `array.oriel.coarsen(…)`, and so on."""

    __all__ = ("coarsen", "rolling")

    @staticmethod
    def coarsen(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return self.oriel.coarsen(*arguments, **keywords)

    @staticmethod
    def rolling(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return self.oriel.rolling(*arguments, **keywords)


def count_handed_on(note: Callable[[], Any]) -> None:
    """Notes every use of the object of xarray that Oriel leaves some calls to."""

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def theirs(self: Any, obj: Any) -> Any:
            note()
            return method(self, obj)

        return theirs

    for kind in (oriel.xarray.Coarsen, oriel.xarray.Rolling):
        kind._theirs = noting(kind._theirs)  # type: ignore[method-assign]
