"""Many Python threads at once: what they share inside the module is safe, with a GIL and on free-threaded Python."""

import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import oriel
import pytest
from oriel import _core

# Each thread begins with calls that fill what the module keeps: types, names, the allocator of large arrays, programs.
FIRST_CALLS = """
import sys, threading
import numpy as np
import oriel, oriel.tile
try:
    import ml_dtypes
    bfloat16 = ml_dtypes.bfloat16
except ImportError:
    bfloat16 = None
try:
    import torch, oriel.torch
except ImportError:
    torch = None

x = np.random.default_rng(1).integers(0, 100, (2, 8, 300, 300)).astype(np.float32)
expected = x[:, :, ::2, ::2]
expected = np.maximum(np.maximum(expected, x[:, :, 1::2, ::2]), np.maximum(x[:, :, ::2, 1::2], x[:, :, 1::2, 1::2]))
barrier, right = threading.Barrier(8), []

def work(number):
    barrier.wait()
    for turn in range(4):
        kind = (number + turn) % 4
        if kind == 0 and torch is not None:
            y = oriel.torch.max_pool2d(torch.from_numpy(x), 2).numpy()
        elif kind == 1 and bfloat16 is not None:
            y = oriel.max_pool(x.astype(bfloat16), [2, 2], axes=[2, 3]).astype(np.float32)
        elif kind == 2:
            y = oriel.max_pool2d(x, 2, ceil_mode=np.True_)
            tiled = oriel.tile.max_pool2d(x[0, :, :16, :16], 2)
            assert (tiled == expected[0, :, :8, :8]).all()
        else:
            y = oriel.max_pool2d(x, 2)
        right.append(np.array_equal(y, expected))

threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert right == [True] * 32, right
"""


def test_first_calls_of_many_threads():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


def test_a_list_may_change_while_it_is_read():
    x = np.arange(64.0).reshape(8, 8)
    kernel, done = [2, 2], threading.Event()
    expected = oriel.max_pool(x, 2)

    def change():
        while not done.is_set():
            kernel.clear()
            kernel.extend([2, 2])

    changer = threading.Thread(target=change)
    changer.start()
    counts = {"pooled": 0, "refused": 0}
    try:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            try:
                y = oriel.max_pool(x, kernel)
            except ValueError as error:
                assert str(error) == "max_pool: kernel_size must have at least one value, but is empty"
                counts["refused"] += 1
            else:
                assert np.array_equal(y, expected)
                counts["pooled"] += 1
    finally:
        done.set()
        changer.join()
    assert counts["pooled"] > 0, counts


def test_a_part_of_a_divided_pool_has_one_thread_at_a_time():
    x = np.zeros((1, 2048, 2048), np.float32)
    y = np.empty((1, 2048, 2048), np.float32)
    pool = _core.Pool("lp", (63, 63), 1, 31, axes=(1, 2), norm=2.5)
    local = _core.LocalPool(pool, "f32", [[0, n] for n in x.shape], None, 0)
    local.begin("forward", x=x, y=y)

    def work():
        with oriel.threads(1):
            local.interior("forward")

    worker = threading.Thread(target=work)
    worker.start()
    refused = ""
    while worker.is_alive() and not refused:
        try:
            local.traffic("forward")
        except ValueError as error:
            refused = str(error)
        time.sleep(0.001)
    worker.join()
    assert refused == "distributed pool: a LocalPool must be used by one thread at a time, but another is using it"
    local.finish("forward")
    assert (y == 0).all()


def test_importing_leaves_the_gil_off():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("NOT CHECKED: this Python has a GIL, so nothing says that importing oriel leaves it off elsewhere")
    code = "import sys, oriel, oriel.tile; assert not sys._is_gil_enabled()"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
