"""threadpoolctl knows Oriel's threads once it is told."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import threadpoolctl

import oriel
import oriel.threadpool

oriel.threadpool.register()
oriel.threadpool.register()


def ours():
    return [library for library in threadpoolctl.threadpool_info() if library["user_api"] == "oriel"]


def test_it_is_listed_once():
    (found,) = ours()
    assert found["internal_api"] == "oriel" and found["version"] == oriel.__version__
    assert found["num_threads"] == oriel._core.default_threads()
    assert found["instruction_set"] == oriel.active_target()


def test_limits_hold_inside_and_are_taken_back():
    x = np.random.default_rng(1).standard_normal((8, 16, 64, 64)).astype(np.float32)
    expected = oriel.avg_pool2d(x, 3, 1, 1)
    with threadpoolctl.threadpool_limits(1):
        assert oriel.get_threads() == 1 and ours()[0]["num_threads"] == 1
        np.testing.assert_array_equal(oriel.avg_pool2d(x, 3, 1, 1), expected)
    assert oriel.get_threads() == 0
    with threadpoolctl.threadpool_limits(3, user_api="oriel"):
        assert oriel.get_threads() == 3
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert oriel.get_threads() == 0
    with oriel.threads(2):
        with threadpoolctl.threadpool_limits(1):
            assert oriel.get_threads() == 1
        assert ours()[0]["num_threads"] == 2


def test_a_limit_belongs_to_its_thread():
    seen = []
    with threadpoolctl.threadpool_limits(1):
        worker = threading.Thread(target=lambda: seen.append(oriel.get_threads()))
        worker.start()
        worker.join()
    assert seen == [0]


@pytest.mark.parametrize(
    "before, expected",
    [
        ("sys.modules['threadpoolctl'] = None", "oriel.threadpool needs threadpoolctl, which is not installed: python -m pip install 'threadpoolctl>=3.3'"),
        ("import types; sys.modules['threadpoolctl'] = types.SimpleNamespace(__version__='2.0')", "oriel.threadpool needs threadpoolctl 3.3 or newer, but 2.0 is installed"),
    ],
)  # fmt: skip
def test_a_missing_or_old_threadpoolctl_is_one_sentence(before, expected):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {before}\nimport oriel.threadpool"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr.splitlines()[-1] == f"ImportError: {expected}"
