"""Filters of oriel.ndimage against scipy.ndimage."""

import functools
import inspect
import tracemalloc
import warnings

import numpy as np
import pytest
from random_seeds import seeds
from scipy import ndimage as theirs

import oriel
from oriel import edges, filters
from oriel import ndimage as ours

MODES = ["reflect", "nearest", "mirror", "constant", "wrap", "grid-mirror", "grid-wrap", "grid-constant"]
DTYPES = [np.float64, np.float32, np.uint8, np.int8, np.uint16, np.int16, np.int32, np.uint32, np.int64, bool]


def same(mine, other, about=""):
    assert mine.dtype == other.dtype and mine.shape == other.shape, about
    np.testing.assert_array_equal(mine, other, err_msg=str(about))


def random_problem(rng, rank=None, largest=7):
    """An array, and a filter on some of its axes, with windows that may be larger than the array."""
    rank = rank or int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, 12 if rank < 3 else 6, rank))
    axes = tuple(int(a) for a in rng.permutation(rank)[: rng.integers(1, rank + 1)]) if rng.random() < 0.4 else None
    count = len(axes) if axes else rank
    size = [int(k) for k in rng.integers(1, largest, count)]
    arguments = dict(mode=str(rng.choice(MODES)), axes=axes, cval=float(rng.integers(0, 90)))
    arguments["origin"] = [int(rng.integers(-(k // 2), (k - 1) // 2 + 1)) if rng.random() < 0.4 else 0 for k in size]
    if rng.random() < 0.5:
        footprint = rng.random([size[i] for i in np.argsort(axes or range(rank))]) < 0.6  # in the order of the array
        footprint.flat[rng.integers(footprint.size)] = True
        return shape, arguments | dict(footprint=footprint)
    return shape, arguments | dict(size=size)


def in_order(arguments, rank):
    """The same with axes in ascending order: for others SciPy's functions do not agree on which size is whose."""
    axes = arguments["axes"] or tuple(range(rank))
    order = np.argsort(axes)
    result = dict(arguments, axes=tuple(axes[i] for i in order))
    for name in {"origin", "size"} & set(arguments):
        result[name] = [arguments[name][i] for i in order]
    return result


def random_array(rng, shape, i):
    dtype = DTYPES[i % len(DTYPES)]
    return rng.integers(0, 2 if dtype is bool else rng.choice([3, 120]), shape).astype(dtype)


@pytest.fixture(params=["padded", "in parts"])
def treatment(request, monkeypatch):
    """Small arrays are padded, large ones filtered in parts; here both are done with small ones."""
    if request.param == "in parts":
        monkeypatch.setattr(edges, "_SMALL", 0)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.usefixtures("treatment")
def test_ranks(seed):
    rng = np.random.default_rng(seed)
    for i in range(200):
        shape, arguments = random_problem(rng)
        x = random_array(rng, shape, i)
        about = (shape, x.dtype, arguments)
        taps = arguments["footprint"].sum() if "footprint" in arguments else np.prod(arguments["size"])
        rank = int(rng.integers(-taps, taps))
        percentile = float(rng.choice([0, 10, 33.3, 50, 75, 99, 100, -20, -100]))
        reference = in_order(arguments, len(shape))
        line = len(shape) == 1  # there SciPy takes no sequences, and holes of a footprint count
        plane = x[None] if line else x
        reference["axes"] = (1,) if line else reference["axes"]
        for name, words in (("median_filter", ()), ("rank_filter", (rank,)), ("percentile_filter", (percentile,))):
            expected = getattr(theirs, name)(plane, *words, **reference)
            same(getattr(ours, name)(x, *words, **arguments), expected[0] if line else expected, (name, words, about))


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.usefixtures("treatment")
def test_extrema_by_footprints(seed):
    rng = np.random.default_rng(seed)
    for i in range(200):
        shape, arguments = random_problem(rng)
        x = random_array(rng, shape, i)
        for name in ("maximum_filter", "minimum_filter"):
            expected = getattr(theirs, name)(x, **in_order(arguments, len(shape)))
            same(getattr(ours, name)(x, **arguments), expected, (shape, arguments))


MORPHOLOGY = ["grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "morphological_gradient",
              "morphological_laplace", "white_tophat", "black_tophat"]


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.usefixtures("treatment")
def test_morphology(seed):
    rng = np.random.default_rng(seed)
    for i in range(120):
        shape, arguments = random_problem(rng, largest=5)
        x = random_array(rng, shape, i)
        kind = rng.integers(3)
        if kind == 1 and "size" in arguments:
            arguments["structure"] = np.zeros(in_order(arguments, len(shape))["size"])
            del arguments["size"]
        elif kind == 2 and "size" in arguments and arguments["axes"] is None:
            arguments["structure"] = rng.integers(0, 3, arguments.pop("size"))
        for name in MORPHOLOGY:
            if x.dtype == bool and (name.startswith("morpho") or "structure" in arguments):
                continue
            expected = getattr(theirs, name)(x, **in_order(arguments, len(shape)))
            given = arguments
            same(getattr(ours, name)(x, **given), expected, (name, shape, arguments))


@pytest.mark.parametrize("name", MORPHOLOGY)
def test_outputs_of_morphology(name):
    x = np.random.default_rng(1).integers(0, 250, (9, 8)).astype(np.uint8)
    mine, other = getattr(ours, name), getattr(theirs, name)
    for dtype in (np.uint8, np.int16, np.float64):
        out, expected = np.zeros(x.shape, dtype), np.zeros(x.shape, dtype)
        assert mine(x, (3, 2), output=out) is out
        other(x, (3, 2), output=expected)
        same(out, expected, dtype)
    place = x.copy()
    assert mine(place, 3, output=place) is place
    if name not in ("morphological_laplace", "white_tophat", "black_tophat"):  # SciPy reads what it has overwritten
        same(place, other(x, 3))
    assert mine(x, 3, output=np.float32).dtype == np.float32


FUNCTIONS = [np.median, np.nanmedian, np.mean, np.average, np.nanmean, np.sum, np.nansum, np.prod, np.nanprod, np.std,
             np.nanstd, np.var, np.nanvar, np.max, np.nanmax, np.min, np.nanmin, np.ptp, np.any, np.all]


def close(mine, other, about):
    assert mine.dtype == other.dtype and mine.shape == other.shape, (about, mine.dtype, other.dtype)
    if mine.dtype.kind == "f":
        scale = np.finfo(mine.dtype).eps * 100
        np.testing.assert_allclose(mine, other, rtol=scale, atol=scale, err_msg=str(about))
    elif mine.dtype.kind == "b":
        np.testing.assert_array_equal(mine, other, err_msg=str(about))
    else:  # truncated results of float64: a mean that is nearly whole may be one less there
        assert np.abs(mine.astype(float) - other).max(initial=0) <= 1, about


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("treatment")
def test_functions(function, seed):
    rng = np.random.default_rng(seed)
    for i in range(40):
        shape, arguments = random_problem(rng, largest=4)
        x = random_array(rng, shape, i % 8) % 10
        if x.dtype.kind == "f":
            x[rng.random(shape) < 0.15] = np.nan
            arguments["cval"] = 0.3
        arguments["output"] = [None, np.float64][i % 2] if x.dtype.kind != "f" else None
        about = (function.__name__, shape, x.dtype, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = theirs.generic_filter(x, function, **in_order(arguments, len(shape)))
        close(ours.generic_filter(x, function, **arguments), expected, about)


def no_scipy(*arguments, **keywords):
    raise AssertionError("SciPy was asked")


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("treatment")
def test_vectorized(function, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    reference = theirs.vectorized_filter
    monkeypatch.setattr(theirs, "vectorized_filter", no_scipy)
    for i in range(40):
        shape, arguments = random_problem(rng, largest=4)
        x = random_array(rng, shape, i % 8) % 10
        if x.dtype.kind == "f":
            x[rng.random(shape) < 0.15] = np.nan
        if arguments["mode"] == "grid-mirror":  # SciPy's vectorized_filter takes it for mirror, its documentation not
            arguments["mode"] = "reflect"
        if "constant" not in arguments["mode"]:
            del arguments["cval"]
        if "footprint" in arguments and arguments["axes"]:  # here in the order of axes
            arguments["footprint"] = arguments["footprint"].transpose(np.argsort(np.argsort(arguments["axes"])))
        if i % 4 == 0 and max(arguments.get("size", (9,))) <= min(shape):
            del arguments["origin"]
            arguments.update(mode="valid", cval=None)
        about = (function.__name__, shape, x.dtype, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.asarray(reference(x, function, **arguments))
        close(ours.vectorized_filter(x, function, **arguments), expected, about)


QUANTILES = [(np.quantile, 0.3), (np.nanquantile, 0.75), (np.percentile, 30), (np.nanpercentile, 90.0)]


@pytest.mark.parametrize(("function", "q"), QUANTILES, ids=lambda value: getattr(value, "__name__", None))
def test_quantiles(function, q, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((7, 6))
    x[rng.random(x.shape) < 0.1] = np.nan
    references = theirs.generic_filter, theirs.vectorized_filter
    monkeypatch.setattr(theirs, "generic_filter", no_scipy)
    monkeypatch.setattr(theirs, "vectorized_filter", no_scipy)
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        keywords = dict(q=q, method=method)
        call = functools.partial(function, **keywords)
        for mine, other in zip((ours.generic_filter, ours.vectorized_filter), references):
            close(mine(x, call, size=3), other(x, call, size=3), method)
        expected = references[0](x, call, 3)
        close(ours.generic_filter(x, function, 3, extra_arguments=(q,), extra_keywords=dict(method=method)), expected,
              method)
        close(ours.generic_filter(x, function, 3, extra_keywords=keywords), expected, method)


def test_degrees_of_freedom(monkeypatch):
    x = np.random.default_rng(1).standard_normal((6, 7))
    expected = theirs.generic_filter(x, np.std, 3, extra_keywords=dict(ddof=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        too_many = ours.generic_filter(x, np.var, 2, extra_keywords=dict(ddof=4))  # SciPy's, which divides by 0
    assert not np.isfinite(too_many).any()
    monkeypatch.setattr(theirs, "generic_filter", no_scipy)
    np.testing.assert_allclose(ours.generic_filter(x, np.std, 3, extra_keywords=dict(ddof=1)), expected)


def test_functions_that_are_no_pools_are_left_to_scipy():
    x = np.random.default_rng(1).standard_normal((5, 6))

    def spread(values, weight=1.0):
        return weight * (np.max(values) - np.mean(values))

    same(ours.generic_filter(x, spread, 3), theirs.generic_filter(x, spread, 3))
    arguments = dict(footprint=[[1, 0], [1, 1]], extra_arguments=(2.0,), mode="wrap", axes=(1, 0))
    same(ours.generic_filter(x, spread, **arguments), theirs.generic_filter(x, spread, **arguments))
    norm = np.linalg.norm
    same(ours.vectorized_filter(x, norm, size=(2, 3)), theirs.vectorized_filter(x, norm, size=(2, 3)))
    same(ours.gaussian_filter(x, 1.5), theirs.gaussian_filter(x, 1.5))
    with pytest.raises(AttributeError, match="oriel.ndimage has no blur_filter"):
        ours.blur_filter(x)


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    monkeypatch.setitem(__import__("sys").modules, "scipy.ndimage", None)
    x = np.arange(9.0).reshape(3, 3)
    assert ours.median_filter(x, 3)[1, 1] == 4 and ours.generic_filter(x, np.mean, 3)[1, 1] == 4
    for call, text in (
        (lambda: ours.generic_filter(x, sum, 3), "generic_filter: function must be one that is a pool"),
        (lambda: ours.grey_erosion(x, structure=np.eye(3)), "grey_erosion: structure must be all zero, but scipy.ndim"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(AttributeError, match="oriel.ndimage has no gaussian_filter, and scipy.ndimage is not install"):
        ours.gaussian_filter(x, 1)


@pytest.mark.parametrize("name", ["maximum_filter1d", "minimum_filter1d"])
def test_lines(name):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 99, (5, 8)).astype(np.int16)
    for axis in (0, 1, -1):
        for size in (1, 2, 5, 9):
            arguments = dict(axis=axis, mode="mirror", origin=int(size > 2))
            same(getattr(ours, name)(x, size, **arguments), getattr(theirs, name)(x, size, **arguments), arguments)


def test_means_along_lines():
    x = np.random.default_rng(1).standard_normal((5, 8))
    for values in (x, x + 1j):
        mine, other = (f.uniform_filter1d(values, 4, 0, mode="constant", cval=2, origin=-1) for f in (ours, theirs))
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


def test_even_medians_are_the_upper_ones():
    x = np.array([4, 3, 1, 2])
    assert ours.median_filter(x, 4, mode="constant", cval=9).tolist() == [9, 4, 3, 3]
    same(ours.median_filter(x, 4, mode="constant", cval=9), theirs.median_filter(x, 4, mode="constant", cval=9))


def test_differs_holes_count_in_scipys_medians_along_one_axis():
    x = np.array([9, 1, 2, 8, 3, 7])
    footprint = [1, 0, 1]
    assert ours.median_filter(x, footprint=footprint).tolist() == [9, 9, 8, 3, 8, 7]
    same(ours.median_filter(x, footprint=footprint), theirs.median_filter(x[None], footprint=[footprint])[0])


def test_differs_the_order_of_axes():
    """The i-th size is that of the i-th of `axes`, as SciPy's documentation has it."""
    x = np.random.default_rng(1).integers(0, 99, (6, 7))
    mine = ours.median_filter(x, (3, 1), axes=(1, 0))
    same(mine, theirs.median_filter(x, (1, 3)))
    same(ours.maximum_filter(x, (3, 1), axes=(1, 0)), theirs.maximum_filter(x, (3, 1), axes=(1, 0)))
    footprint = [[1, 1, 0]]  # but those of a footprint are the array's
    same(ours.median_filter(x, footprint=footprint, axes=(1, 0)), theirs.median_filter(x, footprint=footprint))
    swapped = ours.vectorized_filter(x, np.median, footprint=footprint, axes=(1, 0))
    same(swapped, theirs.vectorized_filter(x, np.median, footprint=np.transpose(footprint)))
    same(swapped, theirs.vectorized_filter(x, np.median, footprint=footprint, axes=(1, 0)))


@pytest.mark.usefixtures("treatment")
def test_nan_propagates():
    x = np.arange(30.0).reshape(5, 6)
    x[2, 3] = np.nan
    cross = theirs.generate_binary_structure(2, 1)
    near = theirs.maximum_filter(np.isnan(x), 3)
    for result in (ours.median_filter(x, 3), ours.rank_filter(x, 1, 3), ours.percentile_filter(x, 100, 3),
                   ours.grey_erosion(x, 3)):
        np.testing.assert_array_equal(np.isnan(result), near)
    near = theirs.maximum_filter(np.isnan(x), footprint=cross)
    for result in (ours.median_filter(x, footprint=cross), ours.maximum_filter(x, footprint=cross)):
        np.testing.assert_array_equal(np.isnan(result), near)


def test_64_bits_are_exact():
    big = 2**62 + np.arange(9).reshape(3, 3)
    assert ours.median_filter(big, 3)[1, 1] == 2**62 + 4
    assert ours.generic_filter(big, np.max, 3, output=np.int64)[1, 1] == 2**62 + 8


def test_float16():
    x = np.random.default_rng(1).standard_normal((6, 7)).astype(np.float16)
    y = ours.median_filter(x, (3, 2))  # SciPy has none
    assert y.dtype == np.float16
    np.testing.assert_array_equal(y, theirs.median_filter(x.astype(np.float32), (3, 2)))


def test_outputs():
    x = np.random.default_rng(1).integers(0, 200, (7, 9)).astype(np.uint8)
    for call in (lambda f, **k: f.median_filter(x, 3, **k), lambda f, **k: f.rank_filter(x, 2, (3, 2), **k),
                 lambda f, **k: f.generic_filter(x, np.std, 3, **k),
                 lambda f, **k: f.maximum_filter(x, footprint=[[0, 1], [1, 1]], **k)):
        for dtype in (np.float64, "float32", np.dtype(np.int32), float):
            close(call(ours, output=dtype), call(theirs, output=dtype), dtype)
        for out in (np.zeros((7, 9)), np.zeros((7, 9), np.uint8), np.zeros((9, 7)).T, np.zeros((14, 18))[::2, ::2],
                    np.zeros((7, 9), ">i4")):
            assert call(ours, output=out) is out
            close(out, call(theirs, output=out.dtype).astype(out.dtype), out.dtype)
    for place in (lambda a: a, lambda a: a[::-1]):
        mine = x.copy()
        ours.median_filter(mine, 3, output=place(mine))
        same(place(mine), theirs.median_filter(x, 3))


def test_inputs():
    x = np.random.default_rng(1).standard_normal((6, 7, 3))
    for view in (x.T, x[::-1, ::2], np.asfortranarray(x), x.astype(">f8"), x.tolist(), x[:0]):
        if np.size(view):
            same(ours.median_filter(view, 3, mode="wrap"), theirs.median_filter(view, 3, mode="wrap"))
        else:
            assert ours.median_filter(view, 3).shape == view.shape
    assert ours.median_filter(np.float64(3), ()).tolist() == 3
    assert ours.generic_filter(np.float64(3), np.std, ()).tolist() == 0
    with pytest.raises(TypeError, match="median_filter: input must have dtype float64"):
        ours.median_filter(x + 1j, 3)


@pytest.mark.parametrize("name", ["median_filter", "grey_dilation"])
def test_the_interior_is_not_copied(name):
    x = np.random.default_rng(1).standard_normal((900, 700)).astype(np.float32)
    result = np.empty_like(x)
    function = getattr(ours, name)
    function(x, 3, output=result)
    tracemalloc.start()
    function(x, 3, output=result)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 20


@pytest.mark.parametrize("name", [name for name in ours.__all__])
def test_signatures_are_those_of_scipy(name):
    parameters = [
        [(p.name, p.default, p.kind) for p in inspect.signature(getattr(module, name)).parameters.values()]
        for module in (ours, theirs)
    ]
    if parameters[1][0][0] != "input":  # SciPy may wrap them in a dispatcher that hides the signature
        pytest.skip("this SciPy hides its signatures")
    assert parameters[0] == parameters[1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: ours.median_filter(x), ValueError, "median_filter: size or footprint must be given, but both are N"),
        (lambda x: ours.rank_filter(x, 9, 3), ValueError, "rank_filter: rank must be in -9 to 8, but is 9"),
        (lambda x: ours.rank_filter(x, -10, 3), ValueError, "rank_filter: rank must be in -9 to 8, but is -10"),
        (lambda x: ours.rank_filter(x, 1.5, 3), TypeError, "rank_filter: rank must be an int, but is 1.5"),
        (lambda x: ours.percentile_filter(x, 101, 3), ValueError, "percentile must be in -100 to 100, but is 101"),
        (lambda x: ours.percentile_filter(x, -101, 3), ValueError, "percentile must be in -100 to 100, but is -101"),
        (lambda x: ours.median_filter(x, footprint=np.zeros((3, 3))), ValueError, "footprint must have a true el"),
        (lambda x: ours.median_filter(x, footprint=np.ones(3)), ValueError, "must have one axis for each of"),
        (lambda x: ours.grey_erosion(x), ValueError, "grey_erosion: size, footprint or structure must be given, but a"),
        (lambda x: ours.grey_dilation(x, 3, origin=2), ValueError, "grey_dilation: origin must be from -1 t"),
        (lambda x: ours.maximum_filter1d(x, 0), ValueError, "maximum_filter1d: size must be >= 1, but axis 1 has 0"),
        (lambda x: ours.vectorized_filter(x, np.max, size=3, footprint=[[1]]), ValueError, "size and footprint ex"),
        (lambda x: ours.generic_filter(x, np.max, 3, mode="edge"), ValueError, "generic_filter: mode must be one of"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call(np.zeros((4, 5)))


def test_a_size_beside_a_footprint_is_ignored():
    x = np.random.default_rng(1).standard_normal((6, 7))
    cross = theirs.generate_binary_structure(2, 1)
    for name in ("median_filter", "maximum_filter", "grey_erosion", "grey_dilation"):
        with pytest.warns(UserWarning, match=f"{name}: size is ignored because footprint is given") as caught:
            y = getattr(ours, name)(x, 7, cross)
        assert caught[0].filename == __file__
        same(y, getattr(theirs, name)(x, footprint=cross))


def test_the_pools_have_the_same_medians():
    x = np.random.default_rng(1).integers(0, 99, (30, 40)).astype(np.uint8)
    inner = oriel.median_pool(x, (5, 4), 1, method="higher")
    same(ours.median_filter(x, (5, 4))[2:-2, 2:-1], inner)
    assert filters.maximum_filter is ours.maximum_filter
