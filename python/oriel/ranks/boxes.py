"""Boxes of divided tensors, as (begin, end) along each axis, and how they are sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from oriel.ranks.grid import Link
from oriel.ranks.tensors import as_was, as_words

__all__ = ["Box", "Fetch", "crop", "extents", "hull", "intersection", "is_empty", "whole", "within"]

Box = tuple[tuple[int, int], ...]


def is_empty(box: Box) -> bool:
    return any(begin >= end for begin, end in box)


def hull(a: Box, b: Box) -> Box:
    if is_empty(a) or is_empty(b):
        return b if is_empty(a) else a
    return tuple((min(p[0], q[0]), max(p[1], q[1])) for p, q in zip(a, b))


def intersection(a: Box, b: Box) -> Box:
    return tuple((max(p[0], q[0]), min(p[1], q[1])) for p, q in zip(a, b))


def within(box: Box, outer: Box) -> tuple[slice, ...]:
    """The position of `box`, which is not empty, in an array that contains `outer`."""
    return tuple(slice(begin - o[0], end - o[0]) for (begin, end), o in zip(box, outer))


def extents(box: Box) -> list[int]:
    return [end - begin for begin, end in box]


def crop(x: Tensor, box: Box, outer: Box) -> Tensor:
    """The part `box` of `x`, which holds `outer`."""
    return x.new_empty(extents(box)) if is_empty(box) else x[within(box, outer)]


def whole(shape: Sequence[int]) -> Box:
    return tuple((0, n) for n in shape)


class Fetch:
    """Copies a box of a divided tensor to each rank that needs it, with at most one message for each pair of ranks."""
    def __init__(self, link: Link, owned: Box, wanted: Box, send: Sequence[tuple[int, Box]],
                 receive: Sequence[tuple[int, Box]], item_bytes: int) -> None:
        self._owned, self._wanted = owned, wanted

        def messages(pieces: Sequence[tuple[int, Box]]) -> list[tuple[int, Box, NDArray[Any]]]:
            return [(peer, box, np.empty(math.prod(extents(box)) * item_bytes, np.uint8)) for peer, box in pieces]

        self._send, self._receive = messages(send), messages(receive)
        self._channel = link.open(link.new_tag(), [(peer, data) for peer, _, data in self._send],
                                  [(peer, data) for peer, _, data in self._receive])

    @staticmethod
    def of_all(link: Link, owned: Sequence[Box], wanted: Sequence[Box], item_bytes: int) -> Fetch:
        """From what each rank owns and wants."""
        me = link.rank

        def pieces(boxes: Sequence[Box]) -> list[tuple[int, Box]]:
            return [(peer, box) for peer, box in enumerate(boxes) if peer != me and not is_empty(box)]

        return Fetch(link, owned[me], wanted[me], pieces([intersection(owned[me], box) for box in wanted]),
                     pieces([intersection(box, wanted[me]) for box in owned]), item_bytes)

    @property
    def traffic(self) -> tuple[int, int, int, int]:
        """Messages sent and received, bytes sent and received."""
        return (len(self._send), len(self._receive), sum(len(data) for *_, data in self._send),
                sum(len(data) for *_, data in self._receive))

    def run(self, part: Tensor) -> Tensor:
        """The wanted box, of which this rank gives its part."""
        words, kind = as_words("gradient", part)
        for _, box, data in self._send:
            data.view(words.dtype).reshape(extents(box))[...] = words[within(box, self._owned)]
        self._channel.start()
        result = np.empty(extents(self._wanted), words.dtype)
        own = intersection(self._owned, self._wanted)
        if not is_empty(own):
            result[within(own, self._wanted)] = words[within(own, self._owned)]
        self._channel.finish()
        for _, box, data in self._receive:
            result[within(box, self._wanted)] = data.view(words.dtype).reshape(extents(box))
        return as_was(result, kind)
