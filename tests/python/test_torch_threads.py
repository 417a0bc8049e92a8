"""Calls on PyTorch's tensors run on PyTorch's threads: the same bits, no second set of threads, forked children too."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import oriel
import oriel.torch
from oriel import _core
from oriel.torch_threads import share_threads_of_torch

pytestmark = pytest.mark.skipif("parallel backend: OpenMP" not in torch.__config__.parallel_info() or sys.platform != "linux",
                                reason="PyTorch's threads are not OpenMP's here")
two_processors = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor: no call has a second thread")
X = torch.randn(8, 16, 128, 128, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def threads():
    """Sets PyTorch's number of threads, until the test ends."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_pytorch_shares_its_threads():
    assert share_threads_of_torch()


def test_a_library_that_is_not_loaded_or_has_no_openmp_is_refused():
    try:
        assert not _core.use_openmp_of("/nowhere/libtorch_cpu.so")
        assert not _core.use_openmp_of(_core.__file__)
        assert not _core.use_openmp_of("")
        assert oriel.torch.max_pool2d(X, 3, 2, 1).equal(torch.nn.functional.max_pool2d(X, 3, 2, 1))
    finally:
        assert share_threads_of_torch()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_bits_do_not_depend_on_whose_threads(threads, count):
    expected = oriel.avg_pool2d(X.numpy(), 3, 1, 1)
    threads(count)
    for _ in range(20):  # the first calls are timed, the later ones shared
        np.testing.assert_array_equal(oriel.torch.avg_pool2d(X, 3, 1, 1).numpy(), expected)
        leaf = X.clone().requires_grad_()
        oriel.torch.max_pool2d(leaf, 3, 2, 1).sum().backward()
        np.testing.assert_array_equal(leaf.grad.numpy(), 
                                      oriel.max_pool_backward(np.ones((8, 16, 64, 64), np.float32), X.numpy(), 3, 2, 1, axes=(2, 3)))


THREADS_OF_A_PROCESS = """
import os, torch, oriel.torch
from oriel import _core
torch.set_num_threads(2)
x = torch.randn(8, 32, 112, 112, requires_grad=True)
for _ in range(20):
    (x.detach() * 2).relu()
before = len(os.listdir("/proc/self/task"))
if {apart}:
    _core.use_openmp_of("")
for _ in range(200):
    oriel.torch.max_pool2d(x, 3, 2, 1).sum().backward()
print(len(os.listdir("/proc/self/task")) - before)
"""


@two_processors
@pytest.mark.parametrize("apart", [False, True])
def test_no_second_set_of_threads_is_started(apart):
    done = subprocess.run([sys.executable, "-c", THREADS_OF_A_PROCESS.format(apart=apart)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == (1 if apart else 0), "threads that 200 pools started"  # oneTBB's one worker, if apart


def test_an_error_within_a_shared_call_reaches_the_caller(threads):
    threads(2)
    indices = torch.full((8, 16, 64, 64), 128 * 128, dtype=torch.int64)
    for _ in range(5):
        with pytest.raises(ValueError, match="16384"):
            oriel.torch.max_unpool2d(torch.ones(8, 16, 64, 64), indices, 2)


def test_a_forked_child_can_pool(threads):
    """PyTorch's threads are not in the child, and libgomp would wait for them."""
    threads(2)
    expected = oriel.torch.max_pool2d(X, 3, 2, 1)
    (X * 2).relu()
    for _ in range(20):
        oriel.torch.max_pool2d(X, 3, 2, 1)
    child = os.fork()
    if child == 0:
        right = 0
        try:
            right = int(np.array_equal(oriel.torch.max_pool2d(X, 3, 2, 1).numpy(), expected.numpy()))
        finally:
            os._exit(0 if right else 1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.001)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child had not ended after a minute")
    assert os.waitstatus_to_exitcode(ended[1]) == 0
