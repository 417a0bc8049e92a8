"""Compiled programs pool on XLA's threads: no second set of threads is started."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("jax")

PROGRAM = """
import os, jax, jax.numpy as jnp, oriel.jax
x = jnp.ones((8, 112, 112, 64), jnp.float32)
pool = jax.jit(jax.grad(lambda x: oriel.jax.max_pool(x, (3, 3), (2, 2), "SAME").sum()))
other = jax.jit(lambda x: jnp.tanh(x) @ jnp.ones((64, 64)))
for _ in range(5):
    other(x).block_until_ready()
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
for _ in range(100):
    pool(x).block_until_ready()
print(threads() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor: no call has a second thread")
def test_no_second_set_of_threads_is_started():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) <= 0, "threads that 100 pools started"
