"""Messages over a process group of `torch.distributed` that carries CPU tensors (gloo)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

__all__ = ["GroupChannel", "GroupLink"]

_links: dict[Any, GroupLink] = {}


class GroupChannel:
    """The messages of one pass, exchanged again and again."""
    def __init__(self, group: Any, tag: int, send: Sequence[tuple[int, np.ndarray]],
                 receive: Sequence[tuple[int, np.ndarray]]) -> None:
        self._group = group
        self._tag = tag
        self._send, self._receive = ([(dist.get_global_rank(group, peer), torch.from_numpy(data))
                                      for peer, data in messages] for messages in (send, receive))
        self._works: list[Any] = []

    def start(self) -> None:
        """What was packed leaves."""
        self._works = [dist.irecv(data, peer, group=self._group, tag=self._tag) for peer, data in self._receive]
        self._works += [dist.isend(data, peer, group=self._group, tag=self._tag) for peer, data in self._send]

    def finish(self) -> None:
        """Waits until all has come and gone."""
        works, self._works = self._works, []
        for work in works:
            work.wait()


class GroupLink:
    """A group of the same processes that only Oriel uses; one for each group, kept as long as the process runs."""
    def __init__(self, group: Any) -> None:
        ranks = dist.get_process_group_ranks(group)
        self._group = dist.new_group(ranks, backend="gloo", use_local_synchronization=True)
        self.rank = dist.get_rank(group)
        self.size = len(ranks)
        self._channels = 0

    @staticmethod
    def of(group: Any) -> GroupLink:
        """The link of a process group. All its ranks call it together."""
        if dist.get_rank(group) < 0:
            raise ValueError("P_x must be a process group that this rank is part of, but it is not")
        if group not in _links:
            _links[group] = GroupLink(group)
        return _links[group]

    def largest(self, values: Sequence[int]) -> list[int]:
        """The largest of each value over all ranks."""
        all_ = torch.tensor(list(values), dtype=torch.int64)
        dist.all_reduce(all_, dist.ReduceOp.MAX, group=self._group)
        return all_.tolist()

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self._group)
        return values

    def new_tag(self) -> int:
        """A number for four channels, the same on all ranks, which ask together."""
        self._channels += 1
        return self._channels % (1 << 28) * 4

    def open(self, tag: int, send: Sequence[tuple[int, np.ndarray]], receive: Sequence[tuple[int, np.ndarray]]) -> Any:
        """A channel of these messages (peer, bytes)."""
        return GroupChannel(self._group, tag, send, receive)
