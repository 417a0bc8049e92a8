"""Ranks that are threads of one process, with messages carried by hand: what a link is, in the smallest form."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

SECONDS = 60


class _Group:
    def __init__(self, size):
        self.barrier = threading.Barrier(size)
        self.values = [None] * size
        self._mail = {}

    def box(self, *key):
        return self._mail.setdefault(key, queue.Queue())  # one step, unlike a defaultdict's


class _Channel:
    def __init__(self, group, rank, tag, send, receive):
        self.group, self.rank, self.tag, self.send, self.receive = group, rank, tag, send, receive

    def start(self):
        for peer, data in self.send:
            self.group.box(self.rank, peer, self.tag).put(data.copy())

    def finish(self):
        for peer, data in self.receive:
            data[:] = self.group.box(peer, self.rank, self.tag).get(timeout=SECONDS)


class ThreadLink:
    """A communicator whose ranks are threads."""
    def __init__(self, group, rank, size):
        self.group, self.rank, self.size = group, rank, size
        self.tags = 0
        self.collectives = 0

    def gathered(self, value):
        self.collectives += 1
        self.group.values[self.rank] = value
        self.group.barrier.wait(SECONDS)
        values = list(self.group.values)
        self.group.barrier.wait(SECONDS)
        return values

    def largest(self, values):
        return [max(column) for column in zip(*self.gathered([int(value) for value in values]))]

    def new_tag(self):
        self.tags += 4
        return self.tags

    def open(self, tag, send, receive):
        return _Channel(self.group, self.rank, tag, send, receive)


def on_ranks(size, function):
    """function(link) on that many ranks; their results, by rank. An exception of one is raised."""
    group = _Group(size)

    def run(rank):
        try:
            return function(ThreadLink(group, rank, size))
        except BaseException:
            group.barrier.abort()  # the others would wait
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(run, rank) for rank in range(size)]
    errors = [e for f in futures if (e := f.exception()) is not None]
    for error in sorted(errors, key=lambda e: isinstance(e, (threading.BrokenBarrierError, queue.Empty))):
        raise error
    return [f.result() for f in futures]
