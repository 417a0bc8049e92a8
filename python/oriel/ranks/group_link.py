"""Messages over a process group of `torch.distributed` that carries CPU tensors (gloo)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from numpy.typing import NDArray

__all__ = ["GroupChannel", "GroupLink"]

_links: dict[Any, GroupLink] = {}


class GroupChannel:
    """The messages of one pass, exchanged any number of times."""
    def __init__(self, link: GroupLink, group: dist.ProcessGroup, tag: int, send: Sequence[tuple[int, NDArray[Any]]],
                 receive: Sequence[tuple[int, NDArray[Any]]]) -> None:
        self._link = link
        self._group = group
        self._tag = tag
        self._send, self._receive = ([(peer, dist.get_global_rank(group, peer), torch.from_numpy(data))
                                      for peer, data in messages] for messages in (send, receive))
        self._works: list[tuple[str, Any]] = []

    def start(self) -> None:
        """Sends what was packed."""
        self._link.check()
        self._works = [(f"rank {peer} must send its message",
                        dist.irecv(data, process, group=self._group, tag=self._tag))
                       for peer, process, data in self._receive]
        self._works += [(f"rank {peer} must receive its message",
                         dist.isend(data, process, group=self._group, tag=self._tag))
                        for peer, process, data in self._send]

    def finish(self) -> None:
        """Waits until everything was received and sent."""
        works, self._works = self._works, []
        for duty, work in works:
            self._link.complete(work.wait, duty)


class GroupLink:
    """A group of the same processes that only Oriel uses; one for each group, kept as long as the process runs."""
    def __init__(self, group: dist.ProcessGroup) -> None:
        ranks = dist.get_process_group_ranks(group)
        self.deadline: float = 600.0
        self.failed: str = ""
        self._group: Any = dist.new_group(ranks, timedelta(seconds=self.deadline), backend="gloo",
                                     use_local_synchronization=True)
        self.rank: int = dist.get_rank(group)
        self.size: int = len(ranks)
        self._channels = 0

    @staticmethod
    def of(group: dist.ProcessGroup) -> GroupLink:
        """The link of a process group. All its ranks call it together."""
        if dist.get_rank(group) < 0:
            raise ValueError("P_x must be a process group that this rank is part of, but it is not")
        if group not in _links:
            _links[group] = GroupLink(group)
        return _links[group]

    def check(self) -> None:
        """RuntimeError if the ranks have lost contact with one another before."""
        if self.failed:
            raise RuntimeError(f"the ranks of this group have lost contact with one another: {self.failed}")

    def complete(self, wait: Callable[[timedelta], Any], duty: str) -> None:
        """Waits by `wait`, which gloo ends by a RuntimeError: TimeoutError at the deadline, or ConnectionError."""
        try:
            wait(timedelta(seconds=self.deadline))
        except RuntimeError as error:
            late = "imed out" in str(error)
            self.failed = f"{duty} within {self.deadline:g} s, but not all have" if late else f"{duty}, but: {error}"
            raise (TimeoutError if late else ConnectionError)(self.failed) from error

    def largest(self, values: Sequence[int]) -> list[int]:
        """The largest of each value over all ranks."""
        if self.size == 1:
            return list(values)
        self.check()
        all_ = torch.tensor(list(values), dtype=torch.int64)
        work: Any = dist.all_reduce(all_, dist.ReduceOp.MAX, group=self._group, async_op=True)
        self.complete(work.wait, "all ranks must come to the same call")
        return all_.tolist()

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        self.check()
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self._group)
        return values

    def new_tag(self) -> int:
        """A number for four channels, the same on all ranks, which ask together."""
        self._channels += 1
        return self._channels % (1 << 28) * 4

    def open(self, tag: int, send: Sequence[tuple[int, NDArray[Any]]], receive: Sequence[tuple[int, NDArray[Any]]]
             ) -> GroupChannel:
        """A channel of these messages (peer, bytes)."""
        return GroupChannel(self, self._group, tag, send, receive)
