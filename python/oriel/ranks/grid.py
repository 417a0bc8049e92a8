"""Ranks in a Cartesian grid, and how they check that they agree.

A link carries messages: it has `rank`, `size`, `largest(ints)`, `gathered(value)` and `new_tag()`, which all ranks call
together, `open(tag, send, receive)`, whose channels have `start` and `finish`, and `deadline`, the seconds that a rank
waits for others. Any such object can be used as a communicator.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, Union

from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpi4py import MPI
    from torch.distributed import ProcessGroup

__all__ = ["Channel", "Communicator", "Grid", "GridLike", "Link", "agree", "meet", "same_on_all"]

_T = TypeVar("_T")


class Channel(Protocol):
    """The messages of one pass, exchanged any number of times."""

    def start(self) -> None:
        """Sends what was packed."""
        ...

    def finish(self) -> None:
        """Waits until everything was received and sent."""
        ...


class Link(Protocol):
    """What carries messages; see the top of this file."""

    rank: int
    size: int
    deadline: float

    def largest(self, values: Sequence[int]) -> list[int]:
        """The largest of each value over all ranks."""
        ...

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        ...

    def new_tag(self) -> int:
        """A number for four channels, the same on all ranks."""
        ...

    def open(
        self, tag: int, send: Sequence[tuple[int, NDArray[Any]]], receive: Sequence[tuple[int, NDArray[Any]]]
    ) -> Channel:
        """A channel of these messages (peer, bytes)."""
        ...


Communicator: TypeAlias = "MPI.Comm | ProcessGroup | Link"
#: What says which ranks there are along each axis: a Cartesian communicator, a communicator and a shape, or a Grid.
GridLike: TypeAlias = Union["Grid", "MPI.Cartcomm", tuple["Communicator", Sequence[int]]]


def _is_mpi(communicator: Any) -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and isinstance(communicator, mpi.Comm)


def _is_group(communicator: Any) -> bool:
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and isinstance(communicator, getattr(distributed, "ProcessGroup", ()))


def _connect(communicator: Any) -> tuple[Link, tuple[int, ...] | None]:
    if _is_mpi(communicator):
        from oriel.ranks import mpi_link
        return mpi_link.MpiLink.of(communicator), mpi_link.grid_of(communicator)
    if _is_group(communicator):
        from oriel.ranks import group_link
        return group_link.GroupLink.of(communicator), None
    if all(hasattr(communicator, name) for name in ("rank", "size", "largest", "gathered", "new_tag", "open")):
        return communicator, None
    raise TypeError("P_x must be a communicator of mpi4py, a process group of torch.distributed, a pair of either and "
                    f"a grid, or a Grid, but is {type(communicator).__name__}")


class Grid:
    """The ranks of a communicator in a Cartesian grid, numbered in row-major order. All ranks create it together.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm or torch.distributed.ProcessGroup
        It is duplicated once and not used otherwise.
    shape : sequence of int, optional
        Ranks along each axis of the tensor. Optional for a Cartesian communicator of MPI.
    deadline : float, optional
        Seconds that a rank waits for another one before it raises TimeoutError, for everything on this communicator
        from now on. 600 if it was never given.

    Attributes
    ----------
    rank, size, shape, index
        This rank, the number of ranks, the grid, this rank's coordinates in it.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank: for a shape whose product is not the number of ranks, or that differs between
        ranks.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> from oriel.mpi import Grid
    >>> Grid(MPI.COMM_SELF, (1, 1, 1, 1)).index
    (0, 0, 0, 0)
    """
    def __init__(self, communicator: Communicator, shape: Sequence[int] | None = None,
                 deadline: float | None = None) -> None:
        self.link: Link
        self.link, found = _connect(communicator)
        self.rank: int = self.link.rank
        self.size: int = self.link.size
        self.shape: tuple[int, ...] = same_on_all(self.link, "Grid", lambda: self._read(shape, found, deadline))
        if deadline is not None:
            self.link.deadline = float(deadline)
        self.index: tuple[int, ...] = self.place(self.rank)

    @staticmethod
    def of(P_x: GridLike) -> Grid:
        """The grid of `P_x`: a Grid, a Cartesian communicator, or a communicator and a shape."""
        if isinstance(P_x, Grid):
            return P_x
        given: Any = P_x
        if isinstance(P_x, (tuple, list)) and len(P_x) == 2:
            return Grid(*given)
        return Grid(given)

    def _read(self, shape: Any, found: tuple[int, ...] | None, deadline: Any) -> tuple[int, ...]:
        if deadline is not None and (type(deadline) not in (int, float) or not 0 < deadline < math.inf):
            raise ValueError(f"Grid: deadline must be a number of seconds > 0, but is {deadline!r}")
        if shape is None:
            if found is None:
                raise ValueError("Grid: shape must be given unless the communicator is a Cartesian one, but is None")
            shape = found
        if not isinstance(shape, (tuple, list)) or not all(type(n) is int for n in shape):
            raise TypeError(f"Grid: shape must be a sequence of ints, but is {shape!r}")
        if not shape or min(shape) < 1 or math.prod(shape) != self.size:
            raise ValueError(f"Grid: shape must have extents >= 1 whose product is the number of ranks, {self.size}, "
                             f"but is {tuple(shape)}")
        return tuple(shape)

    def place(self, rank: int) -> tuple[int, ...]:
        """The coordinates of a rank in the grid."""
        place: list[int] = []
        for n in reversed(self.shape):
            place.insert(0, rank % n)
            rank //= n
        return tuple(place)

    def __repr__(self) -> str:
        return f"Grid(shape={self.shape}, rank={self.rank})"


def _digest(value: Any) -> int:
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=7).digest(), "big")


_PLACES = 4  # numbers of each reduction: of one length, so that those of different calls meet and can be told apart


def meet(link: Link, occasion: str, values: Sequence[int]) -> list[int]:
    """The largest of each of at most 4 values over all ranks. RuntimeError on all ranks if they are not at the same
    step: one is at another step, or skipped this one."""
    code = _digest(occasion)
    padding = [0] * (_PLACES - len(values))
    high, low, *most = link.largest([code, -code, *values, *padding])
    if high != -low:
        occasions = link.gathered(occasion)
        other = next(rank for rank, found in enumerate(occasions) if found != occasions[0])
        raise RuntimeError(f"all ranks must do the same together, but rank 0 is at the {occasions[0]} and rank {other} "
                           f"at the {occasions[other]}")
    return most[:len(values)]


def agree(link: Link, function: str, value: Any, error: Exception | None = None) -> None:
    """Raise the same on all ranks when their values differ, or one of them has an error; one reduction otherwise."""
    code = _digest(value)
    high, low, failed = meet(link, f"arguments of {function}", [code, -code, error is not None])
    if not failed and high == -low:
        return
    texts = link.gathered((None if error is None else (isinstance(error, TypeError), str(error)), repr(value)))
    for rank, (found, _) in enumerate(texts):
        if found is not None:
            raise (TypeError if found[0] else ValueError)(f"{found[1]} (rank {rank})")
    for rank, (_, text) in enumerate(texts):
        if text != texts[0][1]:
            raise ValueError(f"{function}: all ranks must give the same, but rank 0 gives {texts[0][1]} and rank "
                             f"{rank} gives {text}")
    raise ValueError(f"{function}: all ranks must give the same, but they do not")


def same_on_all(link: Link, function: str, make: Callable[[], _T]) -> _T:
    """The result of `make`, which must be the same on all ranks; an error on one of them is raised on all."""
    value: Any = None
    error = None
    try:
        value = make()
    except (TypeError, ValueError) as caught:
        error = caught
    agree(link, function, value, error)
    return value
