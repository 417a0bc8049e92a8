"""Messages over MPI, by mpi4py: persistent requests on a duplicate of the communicator."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

__all__ = ["MpiChannel", "MpiLink", "grid_of"]

_MOST_BYTES = 1 << 30  # of one message: MPI 3 counts in ints
_SPINS = 64  # looks without giving way: most messages are almost there
_link_of = MPI.Comm.Create_keyval(nopython=False)


def grid_of(communicator: MPI.Comm) -> tuple[int, ...] | None:
    """The grid of a Cartesian communicator, else None."""
    if communicator != MPI.COMM_NULL and communicator.Get_topology() == MPI.CART:
        return tuple(MPI.Cartcomm(communicator).dims)
    return None


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    """Whether it was done in time. Yields the processor, unlike MPI's own waiting: ranks may share few cores."""
    for _ in range(_SPINS):
        if done():
            return True
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(_SPINS):
            os.sched_yield()
            if done():
                return True
    return False


class MpiChannel:
    """The messages of one pass, exchanged any number of times."""
    def __init__(self, link: MpiLink, communicator: MPI.Comm, tag: int, send: Sequence[tuple[int, NDArray[Any]]],
                 receive: Sequence[tuple[int, NDArray[Any]]]) -> None:
        self._link = link
        self._requests: list[Any] = []
        self._duties: list[str] = []
        for make, messages, duty in ((communicator.Recv_init, receive, "send its message"),
                                     (communicator.Send_init, send, "receive its message")):
            for peer, data in messages:
                for first in range(0, len(data), _MOST_BYTES):
                    self._requests.append(make([data[first:first + _MOST_BYTES], MPI.BYTE], peer, tag))
                    self._duties.append(f"rank {peer} must {duty}")

    def start(self) -> None:
        """Sends what was packed."""
        self._link.check()
        if self._requests:
            MPI.Prequest.Startall(self._requests)

    def finish(self) -> None:
        """Waits until everything was received and sent."""
        if self._requests:
            self._link.complete(self._requests, self._missing)

    def _missing(self) -> str:
        return next((duty for request, duty in zip(self._requests, self._duties) if not request.Test()),
                    "all ranks must exchange their messages")

    def __del__(self) -> None:
        if not MPI.Is_finalized() and not self._link.failed:  # else MPI may yet write where these point
            for request in self._requests:
                request.Free()


class MpiLink:
    """A duplicate of a communicator that only Oriel uses; one for each communicator, kept as long as MPI runs."""
    def __init__(self, communicator: MPI.Comm) -> None:
        self.deadline: float = 600.0
        self.failed: str = ""
        self.rank: int = communicator.rank
        self.size: int = communicator.size
        self._lost: list[Any] = []
        self._communicator, request = communicator.Idup()
        self.complete([request], lambda: "all ranks must join in duplicating the communicator")
        self._communicator.Set_errhandler(MPI.ERRORS_RETURN)  # which mpi4py makes exceptions
        self._channels = 0
        self._tags = (communicator.Get_attr(MPI.TAG_UB) or 32767) // 4

    @staticmethod
    def of(communicator: MPI.Comm) -> MpiLink:
        """The link of a communicator. All ranks call it together."""
        if communicator == MPI.COMM_NULL:
            raise ValueError("P_x must be a communicator that this rank is part of, but is COMM_NULL")
        if communicator.Is_inter():
            raise ValueError("P_x must be an intracommunicator, but is an intercommunicator")
        link: Any = communicator.Get_attr(_link_of)
        if link is None:
            link = MpiLink(communicator)
            communicator.Set_attr(_link_of, link)
        return link

    def check(self) -> None:
        """RuntimeError if the ranks have lost contact with one another before."""
        if self.failed:
            raise RuntimeError(f"the ranks of this communicator have lost contact with one another: {self.failed}")

    def complete(self, requests: Sequence[Any], missing: Callable[[], str], *memory: Any) -> None:
        """Waits for requests that use this memory. TimeoutError at the deadline; what is under way then is kept."""
        done = False
        try:
            done = _wait(lambda: MPI.Request.Testall(requests), self.deadline)
            if not done:
                self.failed = f"{missing()} within {self.deadline:g} s, but not all have"
                raise TimeoutError(self.failed)
        finally:
            if not done:
                self.failed = self.failed or "an exchange was left unfinished"
                self._lost.append((requests, memory))

    def largest(self, values: Sequence[int]) -> list[int]:
        """The largest of each value over all ranks."""
        if self.size == 1:
            return list(values)
        self.check()
        mine, all_ = np.array(values, np.int64), np.empty(len(values), np.int64)
        request = self._communicator.Iallreduce(mine, all_, MPI.MAX)
        self.complete([request], lambda: "all ranks must come to the same call", mine, all_)
        return all_.tolist()

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        self.check()
        missing = lambda: "all ranks must tell what they have"  # noqa: E731
        mine = np.frombuffer(pickle.dumps(value), np.uint8)
        length, lengths = np.array([len(mine)], np.int64), np.empty(self.size, np.int64)
        self.complete([self._communicator.Iallgather(length, lengths)], missing, length, lengths)
        ends = np.cumsum(lengths)
        all_ = np.empty(ends[-1], np.uint8)
        counts, places = lengths.tolist(), (ends - lengths).tolist()
        request = self._communicator.Iallgatherv(mine, [all_, counts, places, MPI.BYTE])
        self.complete([request], missing, mine, all_)
        return [pickle.loads(part.tobytes()) for part in np.split(all_, ends[:-1])]

    def new_tag(self) -> int:
        """A number for four channels, the same on all ranks, which ask together."""
        self._channels += 1
        return self._channels % self._tags * 4

    def open(self, tag: int, send: Sequence[tuple[int, NDArray[Any]]], receive: Sequence[tuple[int, NDArray[Any]]]
             ) -> MpiChannel:
        """A channel of these messages (peer, bytes)."""
        return MpiChannel(self, self._communicator, tag, send, receive)
