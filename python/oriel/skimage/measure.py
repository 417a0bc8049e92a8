"""`skimage.measure.block_reduce`, as `oriel.block_reduce`."""

from oriel.block import block_reduce

__all__ = ["block_reduce"]
