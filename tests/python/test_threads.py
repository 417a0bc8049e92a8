"""Threads: the GIL is released, results do not depend on their number, forked children can pool."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

import oriel

X = np.random.default_rng(1).standard_normal((8, 16, 128, 128)).astype(np.float32)


def test_the_bits_do_not_depend_on_threads():
    expected = oriel.avg_pool2d(X, 3, 1, 1)
    for n in (1, 2, 5):
        with oriel.threads(n):
            assert oriel.get_threads() == n
            np.testing.assert_array_equal(oriel.avg_pool2d(X, 3, 1, 1), expected)
    assert oriel.get_threads() == 0


def test_the_number_of_threads_belongs_to_the_python_thread():
    seen = []
    with oriel.threads(1):
        worker = threading.Thread(target=lambda: seen.append(oriel.get_threads()))
        worker.start()
        worker.join()
    assert seen == [0]


def test_threads_are_restored_after_an_error():
    with pytest.raises(ValueError), oriel.threads(1):
        oriel.max_pool(X, 0)
    assert oriel.get_threads() == 0


def test_the_gil_is_released():
    """While one thread pools, this one goes on: it would stand still for the whole call otherwise."""
    x = np.zeros((1, 4096, 4096))
    longest, begun = 0.0, threading.Event()
    elapsed = []

    def work():
        begun.set()
        start = time.perf_counter()
        oriel.lp_pool(x, 2.5, 63, 1, 31, axes=(1, 2))
        elapsed.append(time.perf_counter() - start)

    with oriel.threads(1):
        pass
    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    ticks, last = 0, time.perf_counter()
    while worker.is_alive():
        now = time.perf_counter()
        longest, last, ticks = max(longest, now - last), now, ticks + 1
        time.sleep(0.001)
    worker.join()
    assert elapsed[0] > 0.1, "the call was too short to tell"
    assert ticks > 5 and longest < elapsed[0] / 2, (ticks, longest, elapsed)


def test_many_threads_at_once():
    expected = oriel.max_pool2d(X, 3, 2, 1)
    wrong = []

    def work():
        for _ in range(5):
            if not np.array_equal(oriel.max_pool2d(X, 3, 2, 1), expected):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def _pool_in_child(queue):
    queue.put(oriel.max_pool2d(X, 3, 2, 1).sum())


def test_a_forked_child_can_pool():
    """As workers of a data loader do; the parent's threads exist already and are not in the child."""
    expected = oriel.max_pool2d(X, 3, 2, 1).sum()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_pool_in_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == expected
    finally:
        child.kill()
        child.join()


def _child_pools_as(expected):
    """Forks; the child pools and leaves without running anything else of this process. What the child answered."""
    child = os.fork()
    if child == 0:
        right = 0
        try:
            right = int(np.array_equal(oriel.max_pool2d(X[:2], 3, 2, 1), expected))
        finally:
            os._exit(0 if right else 1)
    return child


def test_two_hundred_children_forked_while_four_threads_pool():
    """What data loaders do: a fork may come while any thread of the parent is anywhere within a pool."""
    expected, whole = oriel.max_pool2d(X[:2], 3, 2, 1), oriel.max_pool2d(X, 3, 2, 1)
    done, wrong, calls = threading.Event(), [], [0] * 4

    def work(number):
        while not done.is_set():
            if not np.array_equal(oriel.max_pool2d(X, 3, 2, 1), whole):
                wrong.append(number)
            calls[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(len(calls))]
    for worker in workers:
        worker.start()
    try:
        for number in range(200):
            child, deadline = _child_pools_as(expected), time.monotonic() + 60
            while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.0005)
            if ended == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                pytest.fail(f"child {number} of 200 had not ended after a minute")
            assert os.waitstatus_to_exitcode(ended[1]) == 0, f"child {number} of 200 pooled wrongly, or died"
    finally:
        done.set()
        for worker in workers:
            worker.join()
    assert not wrong and min(calls) > 0, (wrong, calls)
