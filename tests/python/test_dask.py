"""oriel.dask against oriel on the whole array: random pools and chunks, the schedulers, dask.distributed."""

import dask.array as da
import numpy as np
import pytest
from dask.core import get_dependencies
from random_seeds import seeds

import oriel
import oriel.dask


@pytest.mark.parametrize("seed", seeds())
def test_pools_have_the_bits_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    checked = 0
    for _ in range(200):
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 20, rank))
        x = (rng.random(shape) * 50).astype(rng.choice(["float32", "uint8"]))
        lazy = da.from_array(x, chunks=tuple(int(rng.integers(1, n + 1)) for n in shape))
        kernel, stride, dilation = ([int(v) for v in rng.integers(1, most, rank)] for most in (5, 4, 3))
        padding = [tuple(int(v) for v in rng.integers(0, 3, 2)) for _ in range(rank)]
        op = str(rng.choice(["max", "avg", "sum", "median", "var"]))
        ceil = bool(rng.random() < 0.3) and op != "avg"
        try:
            expected = getattr(oriel, f"{op}_pool")(x, kernel, stride, padding, dilation, ceil_mode=ceil)
        except ValueError:  # the window does not fit
            continue
        got = oriel.dask.pool(lazy, op, kernel, stride, padding, dilation, ceil_mode=ceil)
        result = got.compute(scheduler="synchronous")
        assert got.shape == result.shape == expected.shape and got.dtype == result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
        checked += 1
    assert checked > 100


def test_inputs_of_exhaustively():
    """The inputs are all that outputs read, and no chunk reads more than the window's reach beyond them."""
    for n in range(1, 9):
        for kernel in range(1, 4):
            for stride in range(1, 4):
                for before in range(3):
                    out = (n + 2 * before - kernel) // stride + 1
                    for begin in range(max(out, 0)):
                        for end in range(begin + 1, out + 1):
                            low, high, lo, hi = oriel.dask.inputs_of(begin, end, n, kernel, stride, before, 1)
                            read = {o * stride - before + t for o in range(begin, end) for t in range(kernel)} & set(range(n))
                            assert 0 <= low < high <= n and lo >= 0 and hi >= 0
                            assert not read or low <= min(read) and max(read) < high <= (end - 1) * stride - before + kernel
                            assert (high - low + lo + hi - kernel) // stride + 1 >= end - begin


def test_masks_travel_with_the_chunks():
    x, mask = np.arange(30.0).reshape(5, 6), np.random.default_rng(1).random((5, 6)) > 0.4
    lazy, lazy_mask = da.from_array(x, chunks=(2, 4)), da.from_array(mask, chunks=(3, 3))
    got = oriel.dask.pool(lazy, "avg", 3, 1, 1, mask=lazy_mask, min_count=1, count_include_pad=False)
    np.testing.assert_array_equal(got.compute(), oriel.avg_pool(x, 3, 1, 1, mask=mask, min_count=1, count_include_pad=False))


@pytest.mark.parametrize("reduction", [np.max, np.min, np.mean, np.sum, np.median, np.std, np.var, np.prod, np.any, np.all, np.ptp])
def test_coarsen_as_dask(reduction):
    for dtype in ("float64", "int32"):
        x = da.from_array((np.random.default_rng(2).random((9, 10)) * 4).astype(dtype), chunks=(4, 3))
        got = oriel.dask.coarsen(reduction, x, {0: 2, 1: 3}, trim_excess=True)
        expected = da.coarsen(reduction, x, {0: 2, 1: 3}, trim_excess=True)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.compute(), expected.compute())


def test_nothing_is_rechunked():
    """A chunk of the result depends on at most the chunks that its windows reach."""
    x = da.from_array(np.zeros((100, 100)), chunks=(10, 10), inline_array=True)
    y = oriel.dask.pool(x, "max", 3, 1, 1)
    assert y.chunks == x.chunks
    keys, graph, waiting = set(), dict(y.__dask_graph__()), [(y.name, 4, 4)]
    while waiting:
        key = waiting.pop()
        if key in keys or key not in graph:
            continue
        keys.add(key)
        waiting += get_dependencies(graph, key)
    read = {key for key in keys if isinstance(key, tuple) and key[0] == x.name}
    assert read == {(x.name, i, j) for i in (3, 4, 5) for j in (3, 4, 5)}, sorted(read)


def test_on_a_cluster():
    from dask.distributed import Client

    x = da.from_array(np.random.default_rng(3).random((120, 90)), chunks=(50, 40))
    with Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        got = client.compute(oriel.dask.pool(x, "median", 5, 1, 2)).result(timeout=120)
    np.testing.assert_array_equal(got, oriel.median_pool(x.compute(), 5, 1, 2))


@pytest.mark.parametrize("call, text", [
    (lambda x: oriel.dask.coarsen(np.sort, x, {0: 2}), "oriel.dask.coarsen: reduction must be NumPy's max, min"),
    (lambda x: oriel.dask.coarsen(np.sum, x, {0: 2}), "oriel.dask.coarsen: axis 0 must be divisible by 2, but has 5; trim_excess leaves the rest out"),
    (lambda x: oriel.dask.pool(x, "avg", 2, ceil_mode=True), "oriel.dask.pool: count_include_pad must be False for averages in ceil mode, but is True"),
    (lambda x: oriel.dask.pool(x, "quantile", 2, q=[0.1, 0.2]), "oriel.dask.pool: q must be 1 value, but has 2"),
    (lambda x: oriel.dask.pool(x, "max", [1, 2, 3]), "oriel.dask.pool: kernel_size must have 1 value or one per pooled axis (2), but has 3"),
])
def test_errors(call, text):
    with pytest.raises(ValueError) as error:
        call(da.zeros((5, 5), chunks=3))
    assert str(error.value).startswith(text)
