"""Pools over valid taps (S13 to S20) against their rules, window by window, and against NumPy and SciPy."""

import threading

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import scipy.ndimage
import torch
from random_seeds import seeds

import naive_statistics
import oriel

OPS = ("max min avg sum median mode nunique count any all range midrange first centre var std rms prod geo harm lse "
       "soft").split()
WEIGHTED = ("sum", "avg", "var", "std", "rms", "mode")
EXACT = ("max", "min", "median", "mode", "nunique", "count", "any", "all", "range", "first", "centre")


def function(op):
    return getattr(oriel, f"{op}_pool")


# -- the worked examples of the rules

NAN = np.nan
EXAMPLES = [
    ("median", [4.0, 3, 1, 2], 4, {}, [2.0]),
    ("median", [4.0, 3, 1, 2], 4, {"method": "higher"}, [3.0]),
    ("median", [4.0, 3, 1, 2], 4, {"method": "mean"}, [2.5]),
    ("median", np.array([0, 5, 7, 0], np.uint8), 4, {"nodata": 0}, [5]),
    ("median", np.array([0, 5, 7, 0], np.uint8), 4, {"nodata": 0, "min_count": 3}, [0]),
    ("median", [NAN, 3, NAN, NAN], 2, {}, [NAN, NAN]),
    ("median", [NAN, 3, NAN, NAN], 2, {"nan_policy": "omit"}, [3.0, NAN]),
    ("median", [10.0, 20, 30, 40], 4, {"method": "inverted_cdf", "weights": np.array([1.0, 1, 1, 5])}, [40.0]),
    ("mode", np.array([7, 3, 3, 7], np.uint32), 4, {}, [3]),
    ("mode", np.array([7, 3, 3, 7], np.uint32), 4, {"ties": "first"}, [7]),
    ("mode", np.array([7, 3, 3, 7], np.uint32), 4, {"ties": "highest"}, [7]),
    ("mode", np.array([0, 0, 0, 0, 0, 0, 9, 9], np.uint32), 8, {"ignore": 0}, [9]),
    ("mode", np.zeros(8, np.uint32), 8, {"nodata": 0}, [0]),
    ("mode", np.array([True, False]), 2, {}, [False]),
    ("var", np.array([200, 201, 203, 204], np.uint8), 4, {}, [2.5]),
    ("var", np.array([200, 201, 203, 204], np.uint8), 4, {"ddof": 1}, [10 / 3]),
    ("var", np.array([1, 2, 4], np.float32), 3, {"stride": 1, "padding": 1}, np.array([0.25, 14 / 9, 1], np.float32)),
    ("std", [5.0, 6.0, NAN, 8.0], 2, {"ddof": 1, "nan_policy": "omit"}, [0.5**0.5, NAN]),
    ("count", [NAN, 3, NAN, NAN], 2, {"nan_policy": "omit"}, [1, 0]),
    ("any", [0, 0, 0, 2], 2, {}, [False, True]),
    ("range", np.array([-100, 100], np.int8), 2, {}, [127]),
    ("range", np.array([-100, 100], np.int8), 2, {"dtype": "int32"}, [200]),
    ("soft", [0.0, 1.0], 2, {}, [0.7310585786300049]),
    ("lse", [0.0, 1.0], 2, {}, [0.6201145069582775]),
    ("sum", np.array([200, 100], np.uint8), 2, {"dtype": np.uint64}, [300]),
    ("avg", np.array([1, 2], np.uint8), 2, {"dtype": torch.float64}, [1.5]),
]


@pytest.mark.parametrize(("op", "x", "k", "options", "expected"), EXAMPLES)
def test_worked_examples(op, x, k, options, expected):
    np.testing.assert_array_equal(function(op)(np.asarray(x), k, **options), expected)


@pytest.mark.parametrize(("method", "expected"), list(zip(naive_statistics.QUANTILES, [4, 10, 10, 7, 7.6, 10, 10])))
def test_worked_quantiles(method, expected):
    y = oriel.quantile_pool(np.array([1.0, 2, 3, 4, 10]), 0.9, 5, method=method)
    assert y == pytest.approx(expected, rel=2e-16)


def test_a_footprint_spreads_an_impulse():
    x = np.zeros((4, 4), np.uint8)
    x[1, 1] = 9
    expected = np.zeros((4, 4), np.uint8)
    expected[[1, 0, 1, 1, 2], [1, 1, 0, 2, 1]] = 9
    np.testing.assert_array_equal(oriel.max_pool(x, None, 1, 1, footprint=oriel.diamond(1)), expected)


# -- random problems against the rules


def random_problem(rng, dtype):
    rank = int(rng.integers(1, 4))
    axes = tuple(int(a) for a in rng.permutation(rank)[: int(rng.integers(1, rank + 1))])
    shape = tuple(int(n) for n in rng.integers(1, 8, rank))
    window = []
    for a in axes:
        k, d = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        lo, hi = int(rng.integers(0, 2)), int(rng.integers(0, 2))
        if shape[a] + lo + hi < d * (k - 1) + 1:
            k = 1
        window.append((k, int(rng.integers(1, 4)), (lo, hi), d))
    x = rng.integers(0, 6, shape).astype(dtype)
    if x.dtype.kind == "f":
        x = x + rng.integers(0, 4, shape).astype(dtype) / 4
        if rng.random() < 0.4:
            x[rng.random(shape) < 0.2] = NAN
    return x, axes, *zip(*window), bool(rng.integers(0, 2))


def random_options(rng, op, x, kernel):
    """The keywords of a call, and those of the rules, in which masks and weights have x's shape."""
    call, rules = {}, {}
    taps = int(np.prod(kernel))
    if rng.random() < 0.3:
        footprint = rng.random(kernel) < 0.7
        footprint.flat[int(rng.integers(0, footprint.size))] = True
        call["footprint"] = rules["footprint"] = footprint
        taps = int(footprint.sum())
    if rng.random() < 0.4:
        mask = rng.random(x.shape) < 0.7
        call["mask"], rules["mask"] = mask if rng.random() < 0.5 else mask.astype(np.uint8) * 3, mask
    if op in WEIGHTED and rng.random() < 0.4:
        call["weights"] = rules["weights"] = rng.integers(0, 3, x.shape).astype(rng.choice(["float32", "float64"]))
    if rng.random() < 0.3:
        call["nodata"] = rules["nodata"] = 2 if x.dtype.kind != "f" or rng.random() < 0.5 else NAN
    if rng.random() < 0.3:
        call["min_count"] = rules["min_count"] = int(rng.integers(0, taps + 1))
    if rng.random() < 0.2:
        call["min_fraction"] = rules["min_fraction"] = float(rng.choice([0.25, 0.5, 1.0]))
    if rng.random() < 0.3 and op not in ("any", "all"):
        call["fill"] = rules["fill"] = 7
    if rng.random() < 0.4:
        call["nan_policy"], rules["omit"] = "omit", True
    if op in ("var", "std") and "weights" not in call and taps > 1 and rng.random() < 0.5:
        call["ddof"] = rules["ddof"] = 1
    if op == "lse":
        call["sharpness"] = rules["sharpness"] = float(rng.choice([0.5, 1, 3]))
        call["sum"] = rules["sum"] = bool(rng.integers(0, 2))
    if op == "mode":
        call["ties"] = rules["ties"] = str(rng.choice(["lowest", "highest", "first"]))
        if rng.random() < 0.5:
            call["ignore"] = rules["ignore"] = 1
    if op in ("median", "quantile"):
        methods = ("lower", "higher", "nearest", "inverted_cdf") if x.dtype.kind != "f" else naive_statistics.QUANTILES
        call["method"] = rules["method"] = str(rng.choice(methods))
    return call, rules


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("op", [*OPS, "quantile"])
def test_random_problems(op, seed):
    rng = np.random.default_rng(seed)
    for trial in range(60):
        dtype = rng.choice(["float64", "float64", "float32", "uint8", "int32", "int64"])
        if op in ("avg", "midrange", "sum") and not dtype.startswith("float"):
            dtype = "float64"  # S7 of integers has tests of its own
        x, axes, kernel, stride, padding, dilation, ceil_mode = random_problem(rng, dtype)
        call, rules = random_options(rng, op, x, kernel)
        if op == "avg":
            call["count_include_pad"] = False
        first = ()
        if op == "quantile":
            rules["q"] = float(rng.choice([0, 0.1, 0.25, 0.5, 0.8, 1]))
            first = (rules["q"],)
        expected, _ = naive_statistics.pool(op, x, axes, kernel, stride, padding, dilation, ceil_mode, **rules)
        y = function(op)(x, *first, kernel, stride, padding, dilation, axes=axes, ceil_mode=ceil_mode, **call)
        assert y.dtype == expected.dtype and y.shape == expected.shape, (trial, call)
        if op in EXACT or y.dtype.kind != "f":
            np.testing.assert_array_equal(y, expected, err_msg=f"{trial} {call}")
        else:
            near = 1e-5 if y.dtype == np.float32 else 1e-13
            np.testing.assert_allclose(y, expected, rtol=near, atol=near, err_msg=f"{trial} {call}")


@pytest.mark.parametrize("op", OPS)
def test_a_mask_of_ones_changes_no_bit(op):
    rng = np.random.default_rng(5)
    for dtype in (np.float32, np.float64, np.int16, np.uint8):
        x = rng.uniform(0 if dtype == np.uint8 else -9, 9, (9, 11)).astype(dtype)
        window = {"stride": 2, "padding": 1}
        if op == "avg":
            window["count_include_pad"] = False
        plain = function(op)(x, 3, **window)
        for mask in (np.ones_like(x, bool), np.full((9, 11), 255, np.uint8), torch.ones(9, 11, dtype=torch.bool)):
            np.testing.assert_array_equal(function(op)(x, 3, mask=mask, **window), plain)


def test_masks_and_weights_are_broadcast_along_other_axes():
    rng = np.random.default_rng(6)
    x = rng.standard_normal((3, 4, 6)).astype(np.float32)
    mask, weights = rng.random((1, 4, 6)) < 0.6, rng.random((3, 1, 6))
    whole = np.broadcast_to(mask, x.shape)
    np.testing.assert_array_equal(oriel.median_pool(x, 2, axes=(1, 2), mask=mask),
                                  oriel.median_pool(x, 2, axes=(1, 2), mask=whole))
    np.testing.assert_array_equal(
        oriel.sum_pool(x, 2, axes=2, weights=weights),
        oriel.sum_pool(x, 2, axes=2, weights=np.ascontiguousarray(np.broadcast_to(weights, x.shape))))
    with pytest.raises(ValueError, match="median_pool: mask must have 4 along axis 1, as x, but has 1"):
        oriel.median_pool(x, 2, axes=(1, 2), mask=mask[:, :1])


# -- NumPy's and SciPy's


def test_several_quantiles_share_a_new_first_axis():
    x = np.random.default_rng(7).standard_normal((8, 6))
    q = [0.0, 0.25, 0.5, 0.9, 1.0]
    blocks = x.reshape(4, 2, 3, 2).transpose(0, 2, 1, 3)
    for method in ("lower", "higher", "nearest", "midpoint", "linear", "inverted_cdf"):
        y = oriel.quantile_pool(x, q, 2, method=method)
        near = 1e-14 if method in ("linear", "midpoint") else 0  # NumPy rounds twice
        np.testing.assert_allclose(y, np.quantile(blocks, q, axis=(2, 3), method=method), rtol=near)
        for i, one in enumerate(q):
            np.testing.assert_array_equal(oriel.quantile_pool(x, one, 2, method=method), y[i])
            np.testing.assert_array_equal(oriel.quantile_pool(x, (one,), 2, method=method), y[i : i + 1])
    np.testing.assert_array_equal(oriel.quantile_pool(x, np.array(q), 2), oriel.quantile_pool(x, q, 2))
    assert oriel.quantile_pool(torch.tensor(x), [0.5], 2).shape == (1, 4, 3)
    y, indices = oriel.quantile_pool(x, [0.5], 2, return_indices=True)
    assert y.shape == indices.shape == (1, 4, 3)
    np.testing.assert_array_equal(x.ravel()[indices], y)
    out = np.empty((1, 4, 3))
    assert oriel.quantile_pool(x, [0.5], 2, out=out) is out
    np.testing.assert_array_equal(out, y)


def test_ranks_are_those_of_scipy():
    x = np.random.default_rng(8).integers(0, 99, (9, 10))
    inner = (slice(1, -1),) * 2
    for rank in (0, 2, 4, 8, -1, -9):
        np.testing.assert_array_equal(oriel.quantile_pool(x, None, 3, 1, rank=rank),
                                      scipy.ndimage.rank_filter(x, rank, 3)[inner])
    for percentile in (0, 10, 50, 77, 100):
        np.testing.assert_array_equal(oriel.quantile_pool(x, percentile / 100, 3, 1, method="scipy"),
                                      scipy.ndimage.percentile_filter(x, percentile, 3)[inner])
    footprint = oriel.disk(1)
    np.testing.assert_array_equal(oriel.median_pool(x, None, 1, footprint=footprint),
                                  scipy.ndimage.median_filter(x, footprint=footprint)[inner])


# -- kinds of arrays


def test_results_are_of_the_inputs_kind():
    x = np.arange(12.0).reshape(3, 4)
    t = oriel.var_pool(torch.tensor(x), 2, axes=-1)
    assert isinstance(t, torch.Tensor) and t.dtype == torch.float64
    assert oriel.var_pool(torch.tensor(x, dtype=torch.bfloat16), 2, axes=-1).dtype == torch.bfloat16
    assert oriel.count_pool(torch.tensor(x), 2).dtype == torch.int64
    assert type(oriel.mode_pool(jnp.arange(4), 2)).__module__.startswith("jax")
    y = oriel.median_pool(x.astype(">f8"), 2)
    assert y.dtype == np.float64 and y.tolist() == [[1.0, 3.0]]
    assert oriel.median_pool(x.tolist(), 2).tolist() == [[1.0, 3.0]]
    assert oriel.median_pool(x.astype(ml_dtypes.bfloat16), 2).dtype == ml_dtypes.bfloat16
    assert oriel.sum_pool(x.astype(">f4"), 2, weights=np.ones((3, 4), ">f8")).tolist() == [[10.0, 18.0]]
    for view in (x.T, x[::-1, ::2], np.asfortranarray(x), np.broadcast_to(x[:1], (3, 4))):
        np.testing.assert_array_equal(oriel.median_pool(view, 2), oriel.median_pool(view.copy(), 2))
    assert oriel.median_pool(np.zeros((0, 4)), 2, axes=1).shape == (0, 2)


@pytest.mark.parametrize("op", ["median", "mode", "max", "first", "centre"])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_indices_find_the_results(op, kind):
    rng = np.random.default_rng(9)
    x, mask = rng.integers(0, 5, (6, 8)), rng.random((6, 8)) < 0.8
    y, indices = function(op)(kind(x), 3, 1, 1, mask=mask, return_indices=True)
    y, indices = np.asarray(y), np.asarray(indices)
    assert indices.dtype == np.int64
    found = indices >= 0
    assert found.any() and mask.ravel()[indices[found]].all()
    np.testing.assert_array_equal(x.ravel()[indices[found]], y[found])
    _, few = naive_statistics.pool(op, x, (0, 1), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), mask=mask)
    np.testing.assert_array_equal(found, ~few if op != "max" else oriel.any_pool(mask, 3, 1, 1))
    codes = function(op)(kind(x), 3, 1, 1, mask=mask, return_indices="window", index_dtype="uint8")[1]
    np.testing.assert_array_equal(np.asarray(codes) == 255, ~found)


def test_results_are_written_where_asked():
    x = np.arange(8, dtype=np.uint8).reshape(2, 4)
    out = np.empty((1, 2))
    assert oriel.var_pool(x, 2, out=out) is out and out.tolist() == [[4.25, 4.25]]
    both = (np.empty((1, 2), np.uint8), np.empty((1, 2), np.int64))
    y, indices = oriel.median_pool(x, 2, return_indices=True, out=both)
    assert y is both[0] and indices is both[1] and y.tolist() == [[1, 3]] and indices.tolist() == [[1, 3]]


@pytest.mark.parametrize("op", OPS)
def test_masked_arrays(op):
    """Their masked elements are left out; the result is masked where too few are left."""
    rng = np.random.default_rng(10)
    data, masked = rng.integers(1, 5, (5, 8)).astype(np.float64), rng.random((5, 8)) < 0.5
    masked[:2, :2] = True
    x = np.ma.array(data, mask=masked)
    more = {"count_include_pad": False} if op == "avg" else {}
    options = [{}, {"min_count": 2}, {"min_fraction": 0.75}, {"nodata": 3.0}, {"mask": np.arange(8)[None] != 2},
               {"footprint": np.array([[1, 0], [1, 1]])}]
    if op in WEIGHTED:
        options.append({"weights": rng.integers(0, 2, (5, 8)).astype(np.float32)})
    if op in ("var", "std"):
        options.append({"ddof": 1})
    for given in options:
        valid = ~masked & np.broadcast_to(given.get("mask", True), data.shape)
        rules = {**given, "mask": valid, "min_count": max(given.get("min_count", 0), 1)}
        expected, few = naive_statistics.pool(op, data, (0, 1), (2, 2), (2, 2), ((0, 0),) * 2, (1, 1), **rules)
        y = function(op)(x, 2, **more, **given)
        assert isinstance(y, np.ma.MaskedArray) and few.any() and not few.all(), given
        np.testing.assert_array_equal(np.ma.getmaskarray(y), few, err_msg=str(given))
        np.testing.assert_allclose(y.compressed(), expected[~few], rtol=1e-13, err_msg=str(given))
    if op in ("median", "mode", "max"):
        y, indices = function(op)(x, 2, return_indices=True)
        np.testing.assert_array_equal(indices >= 0, ~np.ma.getmaskarray(y))


def test_masked_arrays_without_a_mask():
    y = oriel.max_pool(np.ma.array([1.0, 2, 3, 4]), 2)
    assert isinstance(y, np.ma.MaskedArray) and y.tolist() == [2.0, 4.0]


def test_pools_without_these_keywords_take_the_short_way(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("max_pool went through the options of valid taps")

    monkeypatch.setattr(oriel._core, "statistic", refuse)
    for x in (np.ones((2, 2)), torch.ones(2, 2), [[1.0, 1.0], [1.0, 1.0]]):
        for pool in (oriel.max_pool, oriel.min_pool, oriel.avg_pool):
            assert np.asarray(pool(x, 2)).tolist() == [[1.0]]
    with pytest.raises(AssertionError):
        oriel.max_pool(np.ones((2, 2)), 2, nodata=0)


@pytest.mark.parametrize("op", OPS)
def test_descriptions_of_these_pools(op):
    """`oriel.Pool` has them with the defaults of their functions, and adaptive and global ones."""
    x = np.random.default_rng(14).uniform(0.5, 9, (6, 8))
    np.testing.assert_array_equal(oriel.Pool(op, 2)(x), function(op)(x, 2))
    np.testing.assert_array_equal(oriel.Pool(op)(x), function(op)(x, x.shape))
    np.testing.assert_array_equal(oriel.Pool(op, output_size=(3, 2))(x), function(op)(x, (2, 4)))
    assert oriel.Pool(op, 2) == oriel.Pool(op, 2) != oriel.Pool(op, 3)


def test_other_threads_run_meanwhile():
    """The GIL is released: while one thread pools for long, another one counts."""
    x = np.random.default_rng(11).standard_normal((400, 400))
    begun, done, ticks = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        with oriel.threads(1):
            oriel.mode_pool(x, 15, 1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    while not done.wait(0.001):
        ticks.append(1)
    thread.join()
    assert len(ticks) > 3


@pytest.mark.parametrize("op", ["median", "mode", "var", "soft", "sum"])
def test_the_same_bits_for_any_threads_and_layout(op):
    rng = np.random.default_rng(12)
    x, mask = rng.standard_normal((40, 60)).astype(np.float32), rng.random((40, 60)) < 0.8
    with oriel.threads(1):
        one = function(op)(x, 5, 2, 2, mask=mask)
    with oriel.threads(2):
        np.testing.assert_array_equal(function(op)(x, 5, 2, 2, mask=mask), one)
    np.testing.assert_array_equal(function(op)(np.asfortranarray(x), 5, 2, 2, mask=mask), one)


# -- errors

X = np.arange(16.0).reshape(4, 4)
U = X.astype(np.uint8)
LARGE = 2**64
BAD = [
    (lambda: oriel.median_pool(U, 2, nodata=300),
     "median_pool: nodata must be a value of dtype uint8, x's, but is 300"),
    (lambda: oriel.median_pool(U, 2, nodata=1.5),
     "median_pool: nodata must be a value of dtype uint8, x's, but is 1.5"),
    (lambda: oriel.median_pool(U, 2, nodata=NAN),
     "median_pool: nodata must be a value of dtype uint8, x's, but is nan"),
    (lambda: oriel.median_pool(U, 2, nodata="a"), "median_pool: nodata must be a number, but is 'a'"),
    (lambda: oriel.median_pool(U, 2, nodata=LARGE), f"median_pool: nodata must fit 64 bits, but is {LARGE}"),
    (lambda: oriel.quantile_pool(X, 1.5, 2), "quantile_pool: q must be in 0 to 1, but is 1.5"),
    (lambda: oriel.quantile_pool(X, [0.5, NAN], 2), "quantile_pool: q must be in 0 to 1, but is nan"),
    (lambda: oriel.quantile_pool(X, "a", 2), "quantile_pool: q must be a number, but is 'a'"),
    (lambda: oriel.quantile_pool(X, None, 2), "quantile_pool: q or rank must be given, one of them"),
    (lambda: oriel.quantile_pool(X, [], 2), "quantile_pool: q or rank must be given, one of them"),
    (lambda: oriel.quantile_pool(X, None, 2, rank=4), "quantile_pool: rank must be in -4 to 3, but is 4"),
    (lambda: oriel.quantile_pool(X, None, 2, rank=2.0), "quantile_pool: rank must be an int, but is 2.0"),
    (lambda: oriel.quantile_pool(X, None, 2, rank=1, method="linear"),
     "quantile_pool: method cannot be combined with rank"),
    (lambda: oriel.mode_pool(X, 2, ties="any"), "mode_pool: ties must be 'lowest', 'highest' or 'first', but is 'any'"),
    (lambda: oriel.median_pool(X, 2, method="avg"), "median_pool: method must be 'lower', 'higher', 'nearest', "
     "'midpoint', 'linear', 'inverted_cdf' or 'scipy', but is 'avg'"),
    (lambda: oriel.var_pool(X, 2, ddof=-1), "var_pool: ddof must be >= 0, but is -1"),
    (lambda: oriel.var_pool(X, 2, ddof=4), "var_pool: ddof must be less than the 4 taps of a window, but is 4"),
    (lambda: oriel.lse_pool(X, 2, sharpness=0), "lse_pool: sharpness must be > 0 and finite, but is 0"),
    (lambda: oriel.median_pool(X, 2, mask=X), "median_pool: mask must have dtype bool or uint8, but has float64"),
    (lambda: oriel.median_pool(X, 2, mask=np.ones(4, bool)), "median_pool: mask must have the rank of x, 2, but has 1"),
    (lambda: oriel.median_pool(np.ma.array(X), 2, mask=X), "median_pool: mask must have dtype bool or uint8, but has "
     "float64"),
    (lambda: oriel.median_pool(np.ma.array(X), 2, mask=np.ones(4, bool)),
     "median_pool: mask must have the shape of x, (4, 4), but has (4,)"),
    (lambda: oriel.sum_pool(X, 2, weights=U), "sum_pool: weights must have dtype float32 or float64, but has uint8"),
    (lambda: oriel.mode_pool(X, 2, weights=-X),
     "mode_pool: weights must be finite and >= 0, but that at (0, 1) is not"),
    (lambda: oriel.avg_pool(X, 2, padding=1, weights=X),
     "avg_pool: weights need count_include_pad to be false if there is padding"),
    (lambda: oriel.max_pool(X, 2, min_count=5), "max_pool: min_count must be at most the 4 taps of a window, but is 5"),
    (lambda: oriel.max_pool(X, 2, min_count=1.5), "max_pool: min_count must be an int, but is 1.5"),
    (lambda: oriel.max_pool(X, 2, min_fraction=2), "max_pool: min_fraction must be in 0 to 1, but is 2"),
    (lambda: oriel.max_pool(U, 2, fill=-1), "max_pool: fill must be a value of dtype uint8, the result's, but is -1"),
    (lambda: oriel.sum_pool(U, 2, dtype="foo"),
     "sum_pool: dtype must be a dtype or its name, such as 'float64', but is 'foo'"),
    (lambda: oriel.sum_pool(U, 2, dtype=complex),
     "sum_pool: dtype must be the name of a dtype such as 'float64' or 'int64', but is 'complex128'"),
    (lambda: oriel.sum_pool(U, 2, dtype=np.int8), "sum_pool: dtype must be float64, float32, that of x or, for "
     "integers, int64, uint64, int32 or uint32, but is int8"),
    (lambda: oriel.max_pool(X, None, footprint=np.zeros((2, 2))), "max_pool: footprint must have a tap, but all are "
     "false"),
    (lambda: oriel.max_pool(X, None, footprint="disk"), "max_pool: footprint must be an array of bool, but has dtype "
     "<U4"),
    (lambda: oriel.max_pool(X, 2, footprint=oriel.disk(1)),
     "max_pool: footprint must have the shape of the kernel, but has 3 where the kernel has 2"),
    (lambda: oriel.max_pool(X, 2, foo=1), "max_pool: there is no argument foo; keywords of valid elements are dtype, "
     "fill, footprint, mask, min_count, min_fraction, nodata, weights"),
    (lambda: oriel.median_pool(X, None), "median_pool: kernel_size must be an int or a sequence of ints, but is None, "
     "which needs a footprint"),
    (lambda: oriel.median_pool(X, 2, return_indices=True, method="mean"), "median_pool: indices exist for methods that "
     "select a tap only, not midpoint and linear"),
    (lambda: oriel.var_pool(U, 2, out=np.zeros((2, 2), np.float32)), "var_pool: out must have dtype float64, but has "
     "float32"),
    (lambda: oriel.median_pool(X.astype(complex), 2), "median_pool: x must have dtype float64, float32, float16, "
     "bfloat16, int8 to int64, uint8 to uint64 or bool, but has complex128"),
    (lambda: oriel.pool_backward("mode", np.ones((2, 2)), X, 2),
     "mode_pool_backward: a gradient of mode does not exist"),
    (lambda: oriel.max_pool_backward(np.ones((2, 2)), X, 2, mask=X > 1, indices=np.zeros((2, 2), int)),
     "max_pool_backward: indices cannot be combined with mask, as they say all that the gradient needs"),
    (lambda: oriel.sum_pool_backward(np.ones((2, 2)), (4, 4), 2, mask=X > 1),
     "sum_pool_backward: input_shape must be the input itself if elements are left out, but is (4, 4)"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_bad_input(call, text):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value) == text


def test_numbers_are_kept_exactly():
    """Not through floats, which have no 2**53 + 1."""
    large = 2**53 + 1
    x = np.array([large, large - 1, large - 1, 5], np.int64)
    assert oriel.mode_pool(x, 4, nodata=large - 1).tolist() == [5]
    assert oriel.mode_pool(x, 4, ignore=np.int64(large - 1)).tolist() == [5]
    x = np.array([LARGE - 1, LARGE - 2, 5], np.uint64)
    assert oriel.max_pool(x, 3, nodata=LARGE - 1).tolist() == [LARGE - 2]
    assert oriel.max_pool(x, 3, min_count=3, nodata=np.uint64(5), fill=LARGE - 3).tolist() == [LARGE - 3]
    for one in (True, np.bool_(True), 1, 1.0, np.float16(1), np.array(1), np.array(1.0), torch.tensor(1.0)):
        assert oriel.max_pool(np.array([1, 0], np.int8), 2, nodata=one).tolist() == [0]
