"""block_reduce and downscale_local_mean against scikit-image."""

import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from random_seeds import seeds
from skimage import measure, transform

import oriel
from oriel.block import block_reduce, downscale_local_mean

FUNCTIONS = [np.sum, np.mean, np.max, np.min, np.amax, np.amin, np.average, np.median]
DTYPES = [
    np.float64,
    np.float32,
    np.float16,
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.bool_,
]


def same(ours, theirs, scale=1.0):
    """Equal dtype and shape; integers and extrema to the bit, floats within what orders of addition differ by."""
    assert type(ours) is np.ndarray and ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if ours.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(
            ours, theirs, rtol=4 * np.finfo(ours.dtype).eps, atol=8 * scale * np.finfo(ours.dtype).eps
        )


def random_image(rng, dtype):
    rank = int(rng.integers(1, 5))
    shape = tuple(rng.integers(1, 9, rank))
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype is np.bool_:
        return rng.random(shape) < 0.5
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("func", FUNCTIONS, ids=lambda f: f.__name__)
def test_random_images(func, seed):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        for _ in range(6):
            image = random_image(rng, dtype)
            block = (
                int(rng.integers(1, 6)) if rng.random() < 0.3 else tuple(int(k) for k in rng.integers(1, 6, image.ndim))
            )
            cval = float(rng.standard_normal()) if image.dtype.kind == "f" else image.dtype.type(rng.integers(0, 100))
            largest = max(float(np.abs(image.astype(np.float64)).max()), abs(float(cval)))  # a block may be mostly cval
            taps = np.prod(np.broadcast_to(block, image.ndim))
            same(
                block_reduce(image, block, func, cval),
                measure.block_reduce(image, block, func, cval),
                scale=largest * (taps if func is np.sum else 1),
            )


@pytest.mark.parametrize("func", [np.sum, np.mean, np.max, np.min], ids=lambda f: f.__name__)
def test_large_images_in_slabs(func):
    """Images whose conversion takes many slabs, the last of them partial, with blocks that do not divide them."""
    rng = np.random.default_rng(1)
    for dtype, block in (
        (np.uint8, (3, 7)),
        (np.int16, (200, 300)),
        (np.int64, (3, 4)),
        (np.bool_, (3, 5)),
        (np.bool_, (30, 50)),
    ):
        image = random_image(rng, dtype)
        image = np.resize(image, (2011, 1013))
        for cval in (0, 1, 100):
            ours, theirs = block_reduce(image, block, func, cval), measure.block_reduce(image, block, func, cval)
            if func is np.mean and dtype is np.int64:
                # Ours is the exact sum, rounded; theirs is rounded at each step: every number, every sum, the quotient.
                terms = measure.block_reduce(np.abs(image.astype(float)), block, func, cval)
                assert (np.abs(ours - theirs) <= (np.prod(block) + 3) * 2.0**-53 * terms).all()
            else:
                same(ours, theirs)


def test_sums_of_narrow_integers_at_their_limits():
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        for value in (np.iinfo(dtype).min, np.iinfo(dtype).max):
            for block in (2, 16, 17):  # 256 and 289 taps: on both sides of what 16 bits hold of 8
                image = np.full((33, 34), value, dtype)
                same(block_reduce(image, block), measure.block_reduce(image, block))
                same(block_reduce(image, block, np.mean, 3), measure.block_reduce(image, block, np.mean, 3))


def test_function_names():
    image = np.arange(30, dtype=np.uint8).reshape(5, 6)
    for name, func in (
        ("max", np.max),
        ("min", np.min),
        ("mean", np.mean),
        ("sum", np.sum),
        ("median", np.median),
        ("std", np.std),
    ):
        same(block_reduce(image, 2, name, 5), measure.block_reduce(image, 2, func, 5))
    for func in (np.add.reduce, np.maximum.reduce, np.minimum.reduce):
        same(block_reduce(image, 2, func, 5), measure.block_reduce(image, 2, func, 5))


def test_other_functions_and_their_arguments():
    image = np.arange(35.0).reshape(5, 7)
    percentile = {"q": 30}
    same(
        block_reduce(image, (2, 3), np.percentile, func_kwargs=percentile),
        measure.block_reduce(image, (2, 3), np.percentile, func_kwargs=percentile),
    )
    dtype = {"dtype": np.float16}
    same(block_reduce(image, 2, np.mean, func_kwargs=dtype), measure.block_reduce(image, 2, np.mean, func_kwargs=dtype))

    class Unhashable:
        __hash__ = None

        def __call__(self, blocks, axis):
            return blocks.max(axis) - blocks.min(axis)

    same(block_reduce(image, 2, Unhashable()), measure.block_reduce(image, 2, Unhashable()))


def test_special_values():
    image = np.array([[1.0, np.nan, 3.0, -0.0, np.inf], [2.0, 5.0, -np.inf, 7.0, 1.0]])
    for func in (np.max, np.min, np.mean, np.sum):
        for cval in (0.0, np.inf, -np.inf, np.nan):
            np.testing.assert_array_equal(
                block_reduce(image, 2, func, cval), measure.block_reduce(image, 2, func, cval)
            )


def test_cval_beyond_the_dtype():
    image = np.arange(5, dtype=np.uint8)
    for cval in (-1, np.int64(-1), 1.75, 300):
        for func in (np.max, np.sum):
            same(block_reduce(image, 2, func, cval), measure.block_reduce(image, 2, func, cval))
    assert block_reduce(image, 2, np.max, -1)[-1] == 255
    for size, func in ((5, np.max), (5, np.mean), (4, np.max)):
        same(block_reduce(image[:size], 2, func, -1), measure.block_reduce(image[:size], 2, func, -1))
    with pytest.raises(ValueError, match=f"cval must be a value of the image's dtype uint8, but is {2**70}"):
        block_reduce(image, 2, np.max, 2**70)


def test_blocks_larger_than_the_image():
    image = np.arange(6.0).reshape(2, 3)
    for func in (np.max, np.min, np.mean, np.sum):
        same(block_reduce(image, (5, 7), func, 2.5), measure.block_reduce(image, (5, 7), func, 2.5))


def test_layouts_and_kinds():
    image = np.random.default_rng(1).integers(0, 99, (6, 9, 4)).astype(np.float32)
    for view in (
        image.T,
        image[::-1, ::2],
        np.asfortranarray(image),
        np.broadcast_to(image[:1], image.shape),
        image.astype(">f4"),
    ):
        for func in (np.max, np.sum, np.mean):
            same(
                block_reduce(view, 2, func, 1.0),
                np.asarray(measure.block_reduce(view, 2, func, 1.0)).astype(np.float32),
            )
    image.flags.writeable = False
    same(block_reduce(image, 3), measure.block_reduce(image, 3))
    same(block_reduce(image.tolist(), 3), measure.block_reduce(image.astype(np.float64), 3))
    for odd in (image.astype(np.longdouble), image.astype(complex), image.astype(object)):
        ours, theirs = block_reduce(odd, 2, np.sum), measure.block_reduce(odd, 2, np.sum)
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    half = image.astype(ml_dtypes.bfloat16)
    y = block_reduce(half, 2, np.mean)
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(y.astype(np.float32), measure.block_reduce(image, 2, np.mean), rtol=2**-8)


def test_empty_images():
    same(block_reduce(np.zeros((0, 4)), 2), measure.block_reduce(np.zeros((0, 4)), 2))
    same(block_reduce(np.zeros((4, 0), np.uint8), (1, 2)), measure.block_reduce(np.zeros((4, 0), np.uint8), (1, 2)))


def test_defaults_are_those_of_scikit_image():
    import inspect

    for ours, theirs in ((block_reduce, measure.block_reduce), (downscale_local_mean, transform.downscale_local_mean)):
        parameters = [
            [(p.name, p.default, p.kind) for p in inspect.signature(f).parameters.values()] for f in (ours, theirs)
        ]
        assert [p for p in parameters[0] if p[0] != "edge"] == parameters[1]
    image = np.arange(20, dtype=np.uint8).reshape(4, 5)
    same(block_reduce(image), measure.block_reduce(image))


def test_downscale_local_mean():
    for image in (
        np.arange(35).reshape(5, 7),
        np.arange(35.0).reshape(5, 7),
        np.arange(35, dtype=np.float32).reshape(5, 7),
    ):
        for factors in ((2, 3), (1, 7), (5, 1)):
            same(downscale_local_mean(image, factors, 1.0), transform.downscale_local_mean(image, factors, 1.0))


def test_the_image_is_neither_padded_nor_copied():
    image = np.zeros((2001, 2001), np.uint16)
    block_reduce(image, 2, np.max)
    for func, allowed in (
        (np.max, 100_000),
        (np.sum, 1001 * 1001 * 4 + 1_500_000),
    ):  # the sums before they become uint64, and a slab
        tracemalloc.start()
        y = block_reduce(image, 2, func)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < y.nbytes + allowed, func


@pytest.mark.parametrize("name", ["median", "std", "var", "prod", "any", "all"])
def test_functions_of_numpy_by_name(name):
    """Those that the docstring lists beside the four that Oriel computes."""
    image = np.random.default_rng(3).integers(0, 3, (5, 7)).astype(float)
    np.testing.assert_array_equal(block_reduce(image, (2, 3), name), block_reduce(image, (2, 3), getattr(np, name)))
    assert f'"{name}"' in block_reduce.__doc__


def test_means_of_partial_blocks():
    """`block_reduce` completes them with cval; the recipe that its docstring names divides by what is there."""
    image = np.arange(35, dtype=float).reshape(5, 7)
    means = oriel.avg_pool(image, (2, 3), ceil_mode=True)
    for place in np.ndindex(3, 3):
        block = image[2 * place[0] : 2 * place[0] + 2, 3 * place[1] : 3 * place[1] + 3]
        assert means[place] == pytest.approx(block.mean(), rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (((2, 2, 2),), ValueError, "block_size must be an int or have 2 values, one per axis of the image, but has 3"),
        (((2, 0),), ValueError, "block_size must be >= 1, but axis 1 has 0"),
        ((-3,), ValueError, "block_size must be >= 1, but axis 0 has -3"),
        ((10**12,), ValueError, r"a block must have less than 2\*\*62 elements, but block_size is 1000000000000"),
        ((2.5,), TypeError, "block_size must be an int or a sequence of ints, but is 2.5"),
        ((2, "mode"), ValueError, "func must be a callable or one of all, .*, var, but is 'mode'"),
        ((2, 7), TypeError, "func must be a callable, but is 7"),
        ((2, np.max, (1, 2)), ValueError, r"cval must be one number, but is \(1, 2\)"),
        ((2, np.max, "dark"), ValueError, "cval must be a value of the image's dtype float64, but is 'dark'"),
    ],
)
def test_bad_input(arguments, error, text):
    with pytest.raises(error, match="block_reduce: " + text):
        block_reduce(np.zeros((5, 6)), *arguments)


STATISTICS = [
    np.median,
    np.nanmedian,
    np.std,
    np.nanstd,
    np.var,
    np.nanvar,
    np.prod,
    np.any,
    np.all,
    np.ptp,
    np.nanmean,
    np.nansum,
    np.nanmax,
    np.nanmin,
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of blocks without a number and of products
@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("func", STATISTICS, ids=lambda f: f.__name__)
def test_statistics_as_numpy(func, seed):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        if func is np.ptp and dtype is np.bool_:
            continue
        for _ in range(4):
            image = random_image(rng, dtype)
            if image.dtype.kind == "f" and rng.random() < 0.5:
                image[rng.random(image.shape) < 0.4] = np.nan
            block = tuple(int(rng.choice([k for k in range(1, n + 1) if n % k == 0])) for n in image.shape)
            expected = measure.block_reduce(image, block, func)
            ours = block_reduce(image, block, func)
            assert ours.dtype == expected.dtype and ours.shape == expected.shape
            if ours.dtype.kind in "iub":
                np.testing.assert_array_equal(ours, expected)
                continue
            wide = image.astype(np.float64)
            near = np.abs(wide[np.isfinite(wide)]).max(initial=0.0) ** (2 if "var" in func.__name__ else 1)
            if func is np.prod:
                if dtype is np.float16:  # whose partial products NumPy rounds to few bits below 6e-5
                    expected = measure.block_reduce(wide, block, func).astype(dtype)
                near = np.abs(expected[np.isfinite(expected)].astype(np.float64)).max(initial=0.0)
            # NumPy rounds each step to the image's dtype; Oriel rounds once. Large 64-bit integers are rounded by both.
            eps = np.finfo(ours.dtype).eps * np.prod(block)
            np.testing.assert_allclose(ours, expected, rtol=4 * eps, atol=4 * eps * near)


def test_numpy_refuses_a_range_of_bools():
    with pytest.raises(TypeError):
        measure.block_reduce(np.ones((4, 4), bool), 2, np.ptp)
    with pytest.raises(TypeError):
        block_reduce(np.ones((4, 4), bool), 2, np.ptp)


def test_ranges_wrap_as_numpy():
    image = np.array([-100, 100, 5, 7], np.int8)
    assert block_reduce(image, 2, np.ptp).tolist() == measure.block_reduce(image, 2, np.ptp).tolist() == [-56, 2]


def test_statistics_are_computed_by_the_engine(monkeypatch):
    """Not by NumPy, whose functions are much slower on a view of blocks."""
    calls = []
    statistic = oriel._core.statistic
    monkeypatch.setattr(oriel._core, "statistic", lambda *a, **k: calls.append(a[0].op) or statistic(*a, **k))
    for func in STATISTICS:
        calls.clear()
        block_reduce(np.arange(16.0).reshape(4, 4), 2, func)
        assert len(calls) == 1, func
    for name in ("median", "std", "var", "prod", "any", "all"):
        calls.clear()
        block_reduce(np.arange(16.0).reshape(4, 4), 2, name)
        assert len(calls) == 1, name
    calls.clear()
    block_reduce(np.arange(16).reshape(4, 4), 2, np.median, func_kwargs={"keepdims": True})
    assert not calls


def test_sums_of_small_blocks_are_not_converted_before():
    image = np.zeros((2000, 2000), np.uint16)
    for func in (np.sum, np.mean):
        tracemalloc.start()
        y = block_reduce(image, 2, func)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < y.nbytes + 100_000, func


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "func",
    [np.mean, np.average, np.sum, np.max, np.min, *STATISTICS, "mean", "median"],
    ids=lambda f: getattr(f, "__name__", f),
)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "bool"])
def test_partial_blocks_are_reduced_as_they_are(func, dtype):
    image = (np.random.default_rng(4).random((5, 7)) * 9).astype(dtype)
    if func is np.ptp and dtype == "bool":
        with pytest.raises(ValueError, match="edge must be 'pad', 'trim' or 'error' for functions that NumPy computes"):
            block_reduce(image, (2, 3), func, edge="partial")
        return
    function = getattr(np, func) if isinstance(func, str) else func
    ours = block_reduce(image, (2, 3), func, edge="partial")
    expected = np.array([[function(image[i : i + 2, j : j + 3]) for j in range(0, 7, 3)] for i in range(0, 5, 2)])
    assert ours.dtype == expected.dtype
    near = 1e-5 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(ours, expected, rtol=near, atol=near)


def test_other_edges():
    image = np.arange(15).reshape(3, 5)
    assert oriel.block_reduce(image, 2, np.sum, edge="trim").tolist() == [[12, 20]]
    assert oriel.block_reduce(image, 2, np.median, edge="trim").tolist() == [[3.0, 5.0]]
    assert oriel.block_reduce(image, (3, 5), np.max, edge="error").tolist() == [[14]]
    assert oriel.block_reduce(image, (4, 2), edge="trim").shape == (0, 2)
    for call, text in (
        (
            lambda: oriel.block_reduce(image, 2, edge="error"),
            "the image must be divisible by the blocks (2, 2), but has shape (3, 5)",
        ),
        (
            lambda: oriel.block_reduce(image, 2, edge="cut"),
            "edge must be 'pad', 'partial', 'trim' or 'error', but is 'cut'",
        ),
        (lambda: oriel.block_reduce(image, 2, lambda x, axis: x.sum(axis), edge="partial"),
         "edge must be 'pad', 'trim' or 'error' for functions that NumPy computes, but is 'partial'"),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == f"block_reduce: {text}"
