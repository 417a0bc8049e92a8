"""`skimage.measure.block_reduce`, as `oriel.block_reduce`."""

from typing import Any

from oriel.block import block_reduce
from oriel.others import attribute_of

__all__ = ["block_reduce"]


def __getattr__(name: str) -> Any:
    return attribute_of("skimage.measure", "oriel.skimage.measure", name)
