"""maximum_filter, minimum_filter and uniform_filter against scipy.ndimage."""

import inspect
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from random_seeds import seeds
from scipy import ndimage

import oriel
from oriel import edges, filters
from oriel.filters import maximum_filter, minimum_filter, uniform_filter

MODES = ["reflect", "nearest", "mirror", "constant", "wrap", "grid-mirror", "grid-wrap", "grid-constant"]
EXTREMA = [(maximum_filter, ndimage.maximum_filter), (minimum_filter, ndimage.minimum_filter)]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]


def random_problem(rng, rank=None):
    """A shape, and a filter on some of its axes, with windows that may be larger than the array."""
    rank = rank or int(rng.integers(1, 5))
    shape = tuple(int(n) for n in rng.integers(1, 10 if rank < 4 else 5, rank))
    axes = tuple(int(a) for a in rng.permutation(rank)[: rng.integers(1, rank + 1)]) if rng.random() < 0.5 else None
    count = len(axes) if axes else rank
    size = [int(k) for k in rng.integers(1, 14, count)]
    origin = [int(rng.integers(-(k // 2), (k - 1) // 2 + 1)) if rng.random() < 0.5 else 0 for k in size]
    return shape, dict(
        size=size,
        mode=[str(m) for m in rng.choice(MODES, count)],
        origin=origin,
        axes=axes,
        cval=float(rng.integers(-9, 10)),
    )


@pytest.fixture(params=["padded", "in parts"])
def treatment(request, monkeypatch):
    """Small arrays are padded, large ones filtered in parts; here both are done with small ones."""
    if request.param == "in parts":
        monkeypatch.setattr(edges, "_SMALL", 0)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize(("ours", "theirs"), EXTREMA, ids=["maximum", "minimum"])
@pytest.mark.usefixtures("treatment")
def test_extrema(ours, theirs, seed):
    rng = np.random.default_rng(seed)
    for i in range(250):
        shape, arguments = random_problem(rng)
        dtype = [np.float64, np.float32, *INTEGERS][i % 8]
        x = rng.integers(0, 120, shape).astype(dtype)
        y = ours(x, **arguments)
        assert y.dtype == dtype
        if np.dtype(dtype).kind == "u" and arguments["cval"] < 0 and theirs is ndimage.minimum_filter:
            arguments["cval"] = 0  # kept within the dtype's range, where a cast there may give anything
        np.testing.assert_array_equal(y, theirs(x, **arguments), err_msg=str((shape, arguments)))


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.usefixtures("treatment")
def test_means_of_floats(seed):
    rng = np.random.default_rng(seed)
    for i in range(250):
        shape, arguments = random_problem(rng)
        dtype = (np.float64, np.float32)[i % 2]
        x = rng.standard_normal(shape).astype(dtype)
        y = uniform_filter(x, **arguments)
        assert y.dtype == dtype
        bound = (1 + abs(arguments["cval"]) + np.abs(x).max()) * 40 * np.finfo(dtype).eps
        np.testing.assert_allclose(
            y, ndimage.uniform_filter(x, **arguments), rtol=0, atol=bound, err_msg=str((shape, arguments))
        )


@pytest.mark.usefixtures("treatment")
def test_means_have_the_bits_of_the_pool():
    """Whichever axes need values beyond their edges, sums are added along the first axis first (S8)."""
    x = np.random.default_rng(1).standard_normal((40, 50)).astype(np.float32)
    expected = oriel.avg_pool(x, (5, 7), 1, axes=(0, 1))
    for mode in (("reflect", "constant"), ("constant", "reflect"), "constant", "wrap"):
        np.testing.assert_array_equal(uniform_filter(x, (5, 7), mode=mode)[2:-2, 3:-3], expected)


def exact_mean(x, arguments):
    """The mean that SciPy computes in float64, nearly exactly for small integers, rounded half to even."""
    return np.rint(np.round(ndimage.uniform_filter(x.astype(np.float64), **arguments), 9))


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.usefixtures("treatment")
def test_means_of_integers_are_rounded_once(seed):
    rng = np.random.default_rng(seed)
    for i in range(150):
        shape, arguments = random_problem(rng)
        dtype = INTEGERS[i % len(INTEGERS)]
        arguments["cval"] = abs(arguments["cval"])
        x = rng.integers(0, 120, shape).astype(dtype)
        y = uniform_filter(x, **arguments)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, exact_mean(x, arguments), err_msg=str((shape, arguments)))
        axes = len(arguments["size"])
        gap = y.astype(int) - ndimage.uniform_filter(x, **arguments)
        assert 0 <= gap.min() and gap.max() <= axes, (shape, arguments)


def test_the_modes_by_hand():
    x = np.array([1, 2, 3, 4])
    expected = {
        "reflect": [2, 2, 3, 4],
        "mirror": [3, 2, 3, 4],
        "nearest": [1, 2, 3, 4],
        "wrap": [4, 4, 3, 4],
        "constant": [9, 9, 3, 4],
    }
    for mode, y in expected.items():  # the window is [i - 2, i]
        assert maximum_filter(x, 3, mode=mode, cval=9, origin=1).tolist() == y, mode
        assert ndimage.maximum_filter(x, 3, mode=mode, cval=9, origin=1).tolist() == y, mode


@pytest.mark.usefixtures("treatment")
def test_every_small_window_in_every_mode():
    """Size, origin and mode decide whether absent places do (the proof is in filters.py): all, on all small arrays."""
    rng = np.random.default_rng(1)
    for n in range(1, 7):
        x = rng.permutation(n).astype(np.float64)
        for size in range(1, 2 * n + 3):
            for origin in range(-(size // 2), (size - 1) // 2 + 1):
                for mode in MODES[:5]:
                    arguments = dict(mode=mode, origin=origin, cval=2.5)
                    for ours, theirs in EXTREMA:
                        np.testing.assert_array_equal(
                            ours(x, size, **arguments), theirs(x, size, **arguments), err_msg=f"{n} {size} {arguments}"
                        )


def test_which_windows_need_no_padding():
    def absent(size, mode, origin=0, op="max"):
        (window,) = edges.windows_along("", np.zeros(9), (0,), size, mode, origin)
        return window.needs_no_values(op, True)

    for size in (2, 3, 4, 5, 31):
        assert (
            absent(size, "reflect") and absent(size, "nearest", size // 2 - size + 1) and absent(size, "constant", -1)
        )
        assert absent(size, "mirror") == (size % 2 == 1) and not absent(size, "wrap")
        assert absent(size, "constant", op="avg") and not absent(size, "reflect", op="avg")
    assert not absent(5, "reflect", 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", ["maximum_filter", "uniform_filter"])
def test_the_interior_is_not_copied(function, mode):
    x = np.random.default_rng(1).standard_normal((900, 700))
    result = np.empty_like(x)
    getattr(filters, function)(x, 5, output=result, mode=mode, cval=1.0)
    tracemalloc.start()
    getattr(filters, function)(x, 5, output=result, mode=mode, cval=1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 20


def test_output_arrays_and_dtypes():
    x = np.random.default_rng(1).integers(0, 200, (7, 9)).astype(np.uint8)
    for ours, theirs in (*EXTREMA, (uniform_filter, ndimage.uniform_filter)):
        for dtype in (np.float64, "float32", np.dtype(np.int32), float):
            y, expected = ours(x, 3, output=dtype), theirs(x, 3, output=dtype)
            assert y.dtype == expected.dtype
            if ours is uniform_filter and np.dtype(dtype).kind == "i":
                expected = exact_mean(x, dict(size=3))
            np.testing.assert_allclose(y, expected, rtol=1e-6)
        for out in (np.zeros((7, 9)), np.zeros((7, 9), np.uint8), np.zeros((9, 7)).T, np.zeros((14, 18))[::2, ::2]):
            y = ours(x, (3, 4), output=out)
            assert y is out
            np.testing.assert_array_equal(out, ours(x, (3, 4), output=out.dtype))
    y = uniform_filter(x, 3, np.float64, "constant", 0.5)  # 0.5 is not truncated, as the input becomes float64
    np.testing.assert_allclose(y, ndimage.uniform_filter(x, 3, np.float64, "constant", 0.5), rtol=1e-12)
    y = uniform_filter(x.astype(np.float32), 3, np.float64)
    np.testing.assert_allclose(y, ndimage.uniform_filter(x.astype(np.float32), 3, np.float64), rtol=1e-14)


def test_output_may_be_the_input():
    x = np.random.default_rng(1).standard_normal((8, 9))
    for ours, theirs in (*EXTREMA, (uniform_filter, ndimage.uniform_filter)):
        for place in (lambda a: a, lambda a: a[::-1], lambda a: a[:, ::-1]):
            mine = x.copy()
            ours(mine, 3, output=place(mine))
            np.testing.assert_allclose(place(mine), theirs(x, 3), rtol=1e-12, atol=1e-12)


def test_inputs():
    x = np.random.default_rng(1).standard_normal((6, 7, 3))
    for view in (
        x.T,
        x[::-1, ::2],
        np.asfortranarray(x),
        x.astype(">f8"),
        x.tolist(),
        np.broadcast_to(x[:1], x.shape),
        x[:0],
    ):
        for mode in ("wrap", "reflect"):
            np.testing.assert_array_equal(
                maximum_filter(view, 3, mode=mode), ndimage.maximum_filter(view, 3, mode=mode)
            )
    x.flags.writeable = False
    np.testing.assert_array_equal(minimum_filter(x, 4, mode="mirror"), ndimage.minimum_filter(x, 4, mode="mirror"))
    assert maximum_filter(np.float64(3), ()).tolist() == 3
    bits = np.random.default_rng(1).random((9, 9)) < 0.2
    np.testing.assert_array_equal(maximum_filter(bits, 3), ndimage.maximum_filter(bits, 3))
    half = np.random.default_rng(1).standard_normal((5, 6))
    for dtype in (np.float16, ml_dtypes.bfloat16):
        y = maximum_filter(half.astype(dtype), 3, mode="constant", cval=0.5)
        assert y.dtype == dtype
        expected = ndimage.maximum_filter(half.astype(dtype).astype(np.float64), 3, mode="constant", cval=0.5)
        np.testing.assert_array_equal(y.astype(np.float64), expected)


def test_complex_means():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((6, 7)) + 1j * rng.standard_normal((6, 7))
    for mode in MODES:
        ours, theirs = (f(x, 3, mode=mode, cval=1 - 2j) for f in (uniform_filter, ndimage.uniform_filter))
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, atol=1e-13)
    expected = ndimage.uniform_filter(x, 3)
    np.testing.assert_allclose(uniform_filter(x, 3, x), expected, atol=1e-13)
    x = rng.standard_normal((6, 7)) + 1j * rng.standard_normal((6, 7))
    with pytest.raises(TypeError, match="maximum_filter: input must have dtype float64"):
        maximum_filter(x, 3)
    with pytest.raises(
        TypeError, match="uniform_filter: output must be complex as the input is, but has dtype float64"
    ):
        uniform_filter(x, 3, np.float64)


def test_footprints():
    x = np.random.default_rng(1).standard_normal((8, 9))
    cross = ndimage.generate_binary_structure(2, 1)
    for ours, theirs in EXTREMA:
        for footprint in (np.ones((3, 4)), np.ones((2, 5), bool), cross, [[0, 1], [1, 1]]):
            arguments = dict(footprint=footprint, mode="wrap", origin=(0, -1))
            np.testing.assert_array_equal(ours(x, **arguments), theirs(x, **arguments))
        with pytest.warns(UserWarning, match="size is ignored because footprint is given"):
            np.testing.assert_array_equal(ours(x, 7, np.ones((3, 3))), theirs(x, 3))


def test_other_footprints_without_scipy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    x = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(maximum_filter(x, footprint=[[0, 1]]), x)


def test_differs_nan_infinities_and_64_bits():
    x = np.array([1.0, np.nan, 2.0, 3.0, 5.0, 4.0])
    np.testing.assert_array_equal(maximum_filter(x, 3), [np.nan, np.nan, np.nan, 5, 5, 5])
    assert np.isnan(uniform_filter(x, 3)).tolist() == [True, True, True, False, False, False]
    assert np.isnan(ndimage.uniform_filter(x, 3)).sum() > 3  # the running sum stays NaN
    big = np.array([2**62, 2**62 + 1, 2**62])
    assert maximum_filter(big, 3).max() == 2**62 + 1
    assert ndimage.maximum_filter(big, 3).max() == 2**62


def test_cval_of_integers():
    x = np.array([3, 1, 2], np.uint8)
    assert (
        maximum_filter(x, 3, mode="constant", cval=2.9).tolist()
        == ndimage.maximum_filter(x, 3, mode="constant", cval=2.9).tolist()
    )
    assert (
        maximum_filter(x, 3, mode="constant", cval=-1).tolist()
        == ndimage.maximum_filter(x, 3, mode="constant", cval=-1).tolist()
    )
    assert maximum_filter(x, 3, mode="constant", cval=-np.inf).tolist() == [3, 3, 2]
    assert minimum_filter(x, 3, mode="constant", cval=1000).tolist() == [1, 1, 1]
    assert maximum_filter(x, 3, mode="constant", cval=1000).tolist() == [255, 3, 255]
    signed = np.array([-3, -1, -2], np.int8)
    for cval in (-1.5, -2.5, 0.5, -0.5):
        for ours, theirs in EXTREMA:
            np.testing.assert_array_equal(
                ours(signed, 3, mode="constant", cval=cval), theirs(signed, 3, mode="constant", cval=cval)
            )
    assert maximum_filter(x, 3, cval=np.nan).tolist() == [3, 3, 2]  # no mode reads it
    with pytest.raises(
        ValueError, match="maximum_filter: cval must be a number if the input has integers, but is nan"
    ):
        maximum_filter(x, 3, mode="constant", cval=np.nan)


def test_signatures_are_those_of_scipy():
    for ours, theirs in (*EXTREMA, (uniform_filter, ndimage.uniform_filter)):
        parameters = [
            [(p.name, p.default, p.kind) for p in inspect.signature(f).parameters.values()] for f in (ours, theirs)
        ]
        if parameters[1][0][0] != "input":  # SciPy may wrap them in a dispatcher that hides the signature
            pytest.skip("this SciPy hides its signatures")
        assert parameters[0] == parameters[1]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (dict(), ValueError, "size or footprint must be given, but both are None"),
        (dict(size=0), ValueError, "size must be >= 1, but axis 0 has 0"),
        (dict(size=(3, -2)), ValueError, "size must be >= 1, but axis 1 has -2"),
        (dict(size=(3, 3, 3)), ValueError, "size must have one value for each of the 2 filtered axes, but has 3"),
        (dict(size=2.5), TypeError, "size must be an int or a sequence of ints, but is 2.5"),
        (dict(size=3, mode="edge"), ValueError, "mode must be one of reflect, .*, but is 'edge'"),
        (
            dict(size=3, mode=("wrap",)),
            ValueError,
            "mode must have one value for each of the 2 filtered axes, but has 1",
        ),
        (dict(size=10**12), ValueError, r"a window must have less than 2\*\*62 elements, but size is 1000000000000"),
        (dict(size=(2**61, 2)), ValueError, r"a window must have less than 2\*\*62 elements, but size is \(2305843"),
        (dict(size=[0, 3]), ValueError, "size must be >= 1, but axis 0 has 0"),
        (dict(size=2.5), TypeError, "size must be an int or a sequence of ints, but is 2.5"),
        (dict(size=3, origin=2), ValueError, "origin must be from -1 to 1 for size 3, but axis 0 has 2"),
        (dict(size=4, origin=(0, 2)), ValueError, "origin must be from -2 to 1 for size 4, but axis 1 has 2"),
        (dict(size=3, axes=2), ValueError, "axes must be from -2 to 1, but one is 2"),
        (dict(size=3, axes=(0, -2)), ValueError, r"axes must be unique, but are \(0, -2\)"),
        (dict(size=3, axes="x"), TypeError, "axes must be an int or a sequence of ints, but is 'x'"),
        (
            dict(size=3, output=np.zeros((5, 4))),
            ValueError,
            r"output must have the input's shape \(4, 5\), but has \(5, 4\)",
        ),
        (dict(size=3, output=[1]), TypeError, "output must be an array or a dtype, but is list"),
        (dict(size=3, output="picture"), TypeError, "output must be an array or a dtype, but is 'picture'"),
        (dict(size=3, output=np.broadcast_to(0.0, (4, 5))), ValueError, "output must be writable, but is read-only"),
        (dict(size=3, mode="constant", cval=(1, 2)), ValueError, r"cval must be one real number, but is \(1, 2\)"),
        (dict(footprint=np.zeros((3, 3))), ValueError, "footprint must have a true element, but has none"),
        (
            dict(footprint=np.ones(3)),
            ValueError,
            "footprint must have one axis for each of the 2 filtered axes, but has 1",
        ),
        (dict(input=np.zeros((4, 5), object), size=3), TypeError, "input must have dtype float64, .* but has object"),
        (
            dict(input=np.zeros((4, 5), np.longdouble), size=3),
            TypeError,
            "input must have dtype float64, .* but has float128",
        ),
        (dict(input=np.zeros((1,) * 17), size=3), ValueError, "input must have at most 16 axes, but has 17"),
    ],
)
def test_bad_input(arguments, error, text):
    for function in (maximum_filter, minimum_filter, uniform_filter):
        given = {"input": np.zeros((4, 5))} | arguments
        if function is uniform_filter and ("footprint" in given or "size" not in given):
            continue
        with pytest.raises(error, match=f"{function.__name__}: {text}"):
            function(**given)
