"""Messages over MPI, by mpi4py: persistent requests on a duplicate of the communicator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

__all__ = ["MpiChannel", "MpiLink", "grid_of"]

_MOST_BYTES = 1 << 30  # of one message: MPI 3 counts in ints
_link_of = MPI.Comm.Create_keyval(nopython=False)


def grid_of(communicator: MPI.Comm) -> tuple[int, ...] | None:
    """The grid of a Cartesian communicator, else None."""
    if communicator != MPI.COMM_NULL and communicator.Get_topology() == MPI.CART:
        return tuple(MPI.Cartcomm(communicator).dims)
    return None


class MpiChannel:
    """The messages of one pass, exchanged again and again."""
    def __init__(self, communicator: MPI.Comm, tag: int, send: Sequence[tuple[int, np.ndarray]],
                 receive: Sequence[tuple[int, np.ndarray]]) -> None:
        self._requests = []
        for make, messages in ((communicator.Recv_init, receive), (communicator.Send_init, send)):
            for peer, data in messages:
                for first in range(0, len(data), _MOST_BYTES):
                    self._requests.append(make([data[first:first + _MOST_BYTES], MPI.BYTE], peer, tag))

    def start(self) -> None:
        """What was packed leaves."""
        if self._requests:
            MPI.Prequest.Startall(self._requests)

    def finish(self) -> None:
        """Waits until all has come and gone."""
        if self._requests:
            MPI.Request.Waitall(self._requests)

    def __del__(self) -> None:
        if not MPI.Is_finalized():
            for request in getattr(self, "_requests", ()):
                request.Free()


class MpiLink:
    """A duplicate of a communicator that only Oriel uses; one for each communicator, kept as long as MPI runs."""
    def __init__(self, communicator: MPI.Comm) -> None:
        self._communicator = communicator.Dup()
        self._communicator.Set_errhandler(MPI.ERRORS_RETURN)  # which mpi4py makes exceptions
        self.rank = communicator.rank
        self.size = communicator.size
        self._channels = 0
        self._tags = (communicator.Get_attr(MPI.TAG_UB) or 32767) // 4

    @staticmethod
    def of(communicator: Any) -> MpiLink:
        """The link of a communicator. All ranks call it together."""
        if communicator == MPI.COMM_NULL:
            raise ValueError("P_x must be a communicator that this rank is part of, but is COMM_NULL")
        if communicator.Is_inter():
            raise ValueError("P_x must be an intracommunicator, but is an intercommunicator")
        link = communicator.Get_attr(_link_of)
        if link is None:
            link = MpiLink(communicator)
            communicator.Set_attr(_link_of, link)
        return link

    def largest(self, values: Sequence[int]) -> list[int]:
        """The largest of each value over all ranks."""
        mine, all_ = np.array(values, np.int64), np.empty(len(values), np.int64)
        self._communicator.Allreduce(mine, all_, MPI.MAX)
        return all_.tolist()

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        return self._communicator.allgather(value)

    def new_tag(self) -> int:
        """A number for four channels, the same on all ranks, which ask together."""
        self._channels += 1
        return self._channels % self._tags * 4

    def open(self, tag: int, send: Sequence[tuple[int, np.ndarray]], receive: Sequence[tuple[int, np.ndarray]]) -> Any:
        """A channel of these messages (peer, bytes)."""
        return MpiChannel(self._communicator, tag, send, receive)
