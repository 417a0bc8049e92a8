"""oriel.dask against oriel on the whole array: random pools and chunks, the schedulers, dask.distributed."""

import dask.array as da
import numpy as np
import pytest
import scipy.ndimage
import xarray as xr
from dask.core import get_dependencies
from random_seeds import seeds

import oriel
import oriel.dask
import oriel.ndimage
import oriel.xarray  # noqa: F401 registers the accessor


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


def test_weights_and_footprints_travel_with_the_chunks():
    rng = np.random.default_rng(4)
    x, weights = rng.random((3, 9, 11)), rng.random((1, 9, 11))
    lazy, lazy_weights = da.from_array(x, chunks=(2, 4, 5)), da.from_array(weights, chunks=(1, 3, 6))
    keywords = {"axes": (1, 2), "count_include_pad": False}
    got = oriel.dask.pool(lazy, "avg", 3, 2, 1, weights=lazy_weights, **keywords)
    np.testing.assert_array_equal(got.compute(), oriel.avg_pool(x, 3, 2, 1, weights=weights, **keywords))
    footprint = oriel.disk(2)
    got = oriel.dask.pool(lazy, "quantile", None, 1, 2, axes=(1, 2), footprint=footprint, q=0.3, method="linear")
    np.testing.assert_array_equal(got.compute(), oriel.quantile_pool(x, 0.3, None, 1, 2, axes=(1, 2), footprint=footprint,
                                                                    method="linear"))


def test_the_other_byte_order_and_empty_arrays():
    x = np.arange(20, dtype=">i2").reshape(4, 5)
    got = oriel.dask.pool(da.from_array(x, chunks=2), "median", 2, ceil_mode=True, nodata=3, fill=-1)
    np.testing.assert_array_equal(got.compute(), oriel.median_pool(x.astype(np.int16), 2, ceil_mode=True, nodata=3, fill=-1))
    assert oriel.dask.pool(da.zeros((0, 4), chunks=2), "max", 2, axes=1).compute().shape == (0, 2)
    assert oriel.dask.coarsen(np.sum, da.zeros((3, 4), chunks=2), {0: 5}, trim_excess=True).compute().shape == (0, 4)


def test_averages_of_partial_windows_without_padding():
    x = np.random.default_rng(5).random((7, 8))
    got = oriel.dask.pool(da.from_array(x, chunks=3), "avg", 3, ceil_mode=True)
    np.testing.assert_array_equal(got.compute(), oriel.avg_pool(x, 3, ceil_mode=True))


FILTERS = {"maximum_filter": (), "minimum_filter": (), "median_filter": (), "rank_filter": (1,), "percentile_filter": (30,),
           "uniform_filter": ()}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("seed", seeds())
def test_filters_have_the_bits_of_the_whole(name, seed):
    rng = np.random.default_rng(seed)
    for trial in range(40):
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 9, rank))
        x = (rng.random(shape) * 50).astype(rng.choice(["float32", "float64", "uint8", "int32"]))
        lazy = da.from_array(x, chunks=tuple(int(rng.integers(1, n + 1)) for n in shape))
        size = tuple(int(k) for k in rng.integers(1, 6, rank))
        origin = tuple(int(rng.integers(-(k // 2), (k - 1) // 2 + 1)) for k in size)
        keywords = {"size": size, "origin": origin, "cval": 7.0,
                    "mode": str(rng.choice(["reflect", "mirror", "nearest", "wrap", "constant"]))}
        if name != "uniform_filter" and rng.random() < 0.5:
            footprint = rng.random(size) < 0.7
            footprint.flat[int(rng.integers(0, footprint.size))] = True
            del keywords["size"]
            keywords["footprint"] = footprint
        first = FILTERS[name] if name != "rank_filter" else (0,)
        expected = getattr(oriel.ndimage, name)(x, *first, **keywords)
        got = getattr(oriel.dask, name)(lazy, *first, **keywords)
        assert got.chunks == lazy.chunks and got.dtype == expected.dtype
        np.testing.assert_array_equal(got.compute(scheduler="synchronous"), expected, err_msg=f"{trial} {x.shape} {keywords}")


def test_local_thresholds():
    x = np.random.default_rng(6).random((20, 30))
    lazy = da.from_array(x, chunks=(7, 11))
    for method, function in (("mean", scipy.ndimage.uniform_filter), ("median", scipy.ndimage.median_filter)):
        got = oriel.dask.threshold_local(lazy, 5, method, offset=0.1, mode="nearest")
        np.testing.assert_allclose(got.compute(), function(x, 5, mode="nearest") - 0.1, rtol=1e-12)


@pytest.mark.parametrize("keywords", [{"dtype": "float32"}, {"dtype": np.float64}])
def test_coarsen_with_a_dtype(keywords):
    x = da.arange(12, chunks=5)
    for reduction in (np.mean, da.mean, np.sum, da.sum):
        got = oriel.dask.coarsen(reduction, x, {0: 4}, **keywords)
        expected = da.coarsen(reduction, x, {0: 4}, **keywords)
        assert got.dtype == expected.compute().dtype
        np.testing.assert_array_equal(got.compute(), expected.compute())
    spread = oriel.dask.coarsen(np.std, x, {0: 4}, ddof=1).compute()
    np.testing.assert_allclose(spread, np.arange(12).reshape(3, 4).std(1, ddof=1))


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
    array = xr.DataArray(x, dims=("y", "x"))
    with Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        results = client.compute([
            oriel.dask.pool(x, "median", 5, 1, 2),
            oriel.dask.median_filter(x, 7),
            oriel.dask.coarsen(np.std, x, {0: 7, 1: 9}, trim_excess=True),
            array.oriel.coarsen(y=7, boundary="partial", weights=array * 2).mean().data,
            array.oriel.rolling(x=5, y=3, min_periods=2).max().data,
            array.oriel.rolling(x=5).argmax().data,
        ])
        pooled, filtered, spread, means, moved, places = [result.result(timeout=120) for result in results]
    here = x.compute()
    array = array.compute()
    np.testing.assert_array_equal(pooled, oriel.median_pool(here, 5, 1, 2))
    np.testing.assert_array_equal(filtered, oriel.ndimage.median_filter(here, 7))
    np.testing.assert_array_equal(spread, oriel.std_pool(here, (7, 9)))
    np.testing.assert_array_equal(means, array.oriel.coarsen(y=7, boundary="partial", weights=array * 2).mean())
    np.testing.assert_array_equal(moved, array.oriel.rolling(x=5, y=3, min_periods=2).max())
    np.testing.assert_array_equal(places, array.oriel.rolling(x=5).argmax())


@pytest.mark.parametrize("call, text", [
    (lambda x: oriel.dask.coarsen(np.sort, x, {0: 2}), "oriel.dask.coarsen: reduction must be NumPy's or Dask's max, min"),
    (lambda x: oriel.dask.coarsen(np.sum, x, {0: 2}), "oriel.dask.coarsen: axis 0 must be divisible by 2, but has 5; trim_excess leaves the rest out"),
    (lambda x: oriel.dask.pool(x, "avg", 2, 2, 1, ceil_mode=True), "oriel.dask.pool: count_include_pad must be False for padded averages in ceil mode, but is True"),
    (lambda x: oriel.dask.coarsen(np.max, x, {0: 5}, initial=0),
     "oriel.dask.coarsen: reduction must be NumPy's or Dask's max, min"),
    (lambda x: oriel.dask.coarsen(np.sum, x, {0: 0}), "oriel.dask.coarsen: blocks must be >= 1, but axis 0 has 0"),
    (lambda x: oriel.dask.pool(x, "max", 2, mask=x[:3]), "oriel.dask.pool: mask must have the shape of a, (5, 5), but has (3, 5)"),
    (lambda x: oriel.dask.pool(x, "max", 2, 2, [(1, 2, 3), 0]), "oriel.dask.pool: padding must be an int, or an int or two for"),
    (lambda x: oriel.dask.pool(x[x > 0], "max", 2), "oriel.dask.pool: a must have axes of known lengths, but has shape (nan,)"),
    (lambda x: oriel.dask.median_filter(x, 0), "median_filter: size must be >= 1, but axis 0 has 0"),
    (lambda x: oriel.dask.maximum_filter(x, 3, mode="up"), "maximum_filter: mode must be one of"),
    (lambda x: oriel.dask.rank_filter(x, 9, 3), "rank_filter: "),
    (lambda x: oriel.dask.threshold_local(x, 4), "threshold_local: block_size must be odd, but is 4"),
    (lambda x: oriel.dask.threshold_local(x, 3, "gaussian"), "threshold_local: method must be 'mean' or 'median', but is"),
    (lambda x: oriel.dask.pool(x, "quantile", 2, q=[0.1, 0.2]), "oriel.dask.pool: q must be 1 value, but has 2"),
    (lambda x: oriel.dask.pool(x, "max", [1, 2, 3]), "oriel.dask.pool: kernel_size must have 1 value or one per pooled axis (2), but has 3"),
])
def test_errors(call, text):
    with pytest.raises(ValueError) as error:
        call(da.zeros((5, 5), chunks=3))
    assert str(error.value).startswith(text)


def test_unknown_arguments():
    with pytest.raises(TypeError, match="oriel.dask.pool: there is no argument kernel"):
        oriel.dask.pool(da.zeros(5, chunks=2), "max", 2, kernel=3)
