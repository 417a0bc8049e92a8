"""Functions of oriel.skimage against scikit-image."""

import inspect
import warnings

import numpy as np
import pytest
from random_seeds import seeds
from scipy import ndimage

from oriel import footprints, skimage as ours

theirs = pytest.importorskip("skimage", reason="scikit-image is not installed")
filters, measure, morphology = (
    pytest.importorskip(f"skimage.{name}") for name in ("filters", "measure", "morphology")
)

RANKS = ["gradient", "majority", "maximum", "mean", "median", "minimum", "modal", "percentile", "pop", "sum"]
FLAT = ["erosion", "dilation", "opening", "closing", "white_tophat", "black_tophat"]
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "max", "min", "ignore"]


def same(mine, other, about=""):
    assert mine.dtype == other.dtype and mine.shape == other.shape, about
    np.testing.assert_array_equal(mine, other, err_msg=str(about))


def random_footprint(rng, rank):
    footprint = rng.random(tuple(rng.integers(1, 6, rank))) < rng.choice([0.6, 1])
    footprint.flat[rng.integers(footprint.size)] = True
    return footprint


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("name", RANKS)
def test_ranks(name, seed):
    rng = np.random.default_rng(seed)
    for i in range(60):
        rank = 2 if name == "percentile" else 2 + i % 2
        shape = tuple(rng.integers(1, 9, rank))
        x = rng.integers(0, rng.choice([3, 250]), shape).astype((np.uint8, np.uint16)[i // 2 % 2])
        footprint = random_footprint(rng, rank)
        arguments = dict(zip(("shift_x", "shift_y", "shift_z"), (0, 0, 0)[:rank]))
        of = (1, 0) if rank == 2 else (0, 1, 2)
        for word, axis in zip(list(arguments), of):
            k = footprint.shape[axis]
            arguments[word] = int(rng.integers(-(k // 2), (k - 1) // 2 + 1))
        if rng.random() < 0.5:
            arguments["mask"] = rng.random(shape) < 0.5
        if name == "percentile":
            arguments["p0"] = float(rng.choice([0, 0.1, 0.25, 0.5, 0.75, 1]))
        mine = getattr(ours.filters.rank, name)(x, footprint, **arguments)
        same(mine, getattr(filters.rank, name)(x, footprint, **arguments), (shape, footprint, arguments))


def test_outputs_of_ranks():
    x = np.random.default_rng(1).integers(0, 250, (9, 8)).astype(np.uint8)
    disk = footprints.disk(2)
    for name in ("mean", "sum", "pop", "median"):
        for dtype in (np.uint8, np.uint16, np.float64):
            out, expected = np.zeros(x.shape, dtype), np.zeros(x.shape, dtype)
            assert getattr(ours.filters.rank, name)(x, disk, out=out) is out
            getattr(filters.rank, name)(x, disk, out=expected)
            np.testing.assert_allclose(out, expected, rtol=1e-14, err_msg=f"{name} {dtype}")
    same(ours.filters.rank.median(x), filters.rank.median(x))


def test_footprints_without_a_pixel():
    x = np.full((4, 5), 7, np.uint8)
    for name in RANKS:
        same(getattr(ours.filters.rank, name)(x, np.zeros((3, 3))), np.zeros_like(x))
        out = x.copy()
        getattr(ours.filters.rank, name)(x, np.zeros((3, 3)), out=out)
        assert not out.any()


def test_differs_ranks_of_any_dtype():
    """scikit-image converts these to uint8."""
    x = np.random.default_rng(1).standard_normal((7, 8, 2))
    cube = np.ones((3, 3, 1))
    same(ours.filters.rank.median(x, cube)[1:-1, 1:-1], ndimage.median_filter(x, (3, 3, 1))[1:-1, 1:-1])
    wide = (x * 1e9).astype(np.int64)
    same(ours.filters.rank.gradient(wide, cube)[2, 2, 0], np.ptp(wide[1:4, 1:4, 0]))
    assert ours.filters.rank.mean(x, cube).dtype == np.float64
    with pytest.raises(TypeError, match="median: image must be of numbers, but has dtype bool"):
        ours.filters.rank.median(x > 0)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("name", FLAT)
def test_morphology(name, seed):
    rng = np.random.default_rng(seed)
    for i in range(100):
        rank = int(rng.integers(1, 4))
        dtype = (np.uint8, np.int16, np.float32, np.float64, bool, np.uint32)[i % 6]
        x = rng.integers(0, 2 if dtype is bool else 100, tuple(rng.integers(1, 9, rank))).astype(dtype)
        footprint = None
        if i % 3:
            footprint = random_footprint(rng, rank)
        if i % 5 == 0:
            footprint = ((random_footprint(rng, rank), 1), (random_footprint(rng, rank), 2))
        arguments = dict(mode=str(rng.choice(MODES)), cval=float(rng.integers(0, 2)))
        mine = getattr(ours.morphology, name)(x, footprint, **arguments)
        same(mine, getattr(morphology, name)(x, footprint, **arguments), (x.shape, dtype, footprint, arguments))


@pytest.mark.parametrize("name", FLAT)
def test_outputs_of_morphology(name):
    x = np.random.default_rng(1).integers(0, 250, (9, 8)).astype(np.uint8)
    out = np.zeros_like(x)
    function, expected = getattr(ours.morphology, name), getattr(morphology, name)(x, footprints.disk(2))
    assert function(x, footprints.disk(2), out=out) is out
    same(out, expected)
    place = x.copy()
    assert function(place, footprints.disk(2), out=place) is place
    same(place, expected)


def test_decomposed_footprints():
    x = np.random.default_rng(1).integers(0, 250, (40, 30)).astype(np.uint8)
    sequence = morphology.disk(4, decomposition="sequence")
    same(ours.morphology.opening(x, sequence), morphology.opening(x, sequence))
    same(ours.morphology.dilation(x, list(sequence)), morphology.dilation(x, sequence))


@pytest.mark.parametrize("name", ["ball", "diamond", "disk", "octahedron", "ellipse", "octagon"])
def test_footprints(name):
    mine, other = getattr(ours.morphology, name), getattr(morphology, name)
    for radius in range(1, 6):
        arguments = (radius, 3) if name in ("ellipse", "octagon") else (radius,)
        same(mine(*arguments), other(*arguments))
        same(mine(*arguments, bool), other(*arguments, bool))
    if name in ("disk", "ball"):
        same(mine(4, strict_radius=False), other(4, strict_radius=False))
    if name in ("disk", "octagon"):
        arguments = (3, 2) if name == "octagon" else (4,)
        parts = [f(*arguments, decomposition="sequence") for f in (mine, other)]
        assert len(parts[0]) == len(parts[1]) > 1


def test_medians():
    rng = np.random.default_rng(1)
    for x in (rng.integers(0, 250, (9, 8)).astype(np.uint8), rng.standard_normal((5, 6, 4)), rng.standard_normal(7)):
        for mode in ("nearest", "reflect", "wrap"):
            same(ours.filters.median(x, mode=mode), filters.median(x, mode=mode))
    x = rng.integers(0, 250, (9, 8)).astype(np.uint8)
    same(ours.filters.median(x, footprints.disk(2)), filters.median(x, footprints.disk(2)))
    same(ours.filters.median(x, behavior="rank"), filters.median(x, behavior="rank"))
    with pytest.warns(UserWarning, match="median: mode and cval are ignored because behavior is 'rank'") as caught:
        ours.filters.median(x, mode="wrap", behavior="rank")
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="median: behavior must be 'ndimage' or 'rank', but is 'fast'"):
        ours.filters.median(x, behavior="fast")


@pytest.mark.parametrize("name", ["threshold_niblack", "threshold_sauvola"])
def test_thresholds(name):
    rng = np.random.default_rng(1)
    for dtype in (np.uint8, np.int16, np.float64, np.float32, np.float16, bool):
        x = (rng.random((23, 17)) * (2 if dtype is bool else 100)).astype(dtype)
        for arguments in ({}, dict(window_size=5, k=-0.3), dict(window_size=(3, 7))):
            mine, other = getattr(ours.filters, name)(x, **arguments), getattr(filters, name)(x, **arguments)
            assert mine.dtype == other.dtype
            # Its variances are differences of large sums: the root of what is left of them is less exact.
            bound = 1e-9 if other.dtype == np.float64 else 0.02
            np.testing.assert_allclose(mine, other, rtol=bound, atol=bound, err_msg=str((dtype, arguments)))
    volume = rng.random((6, 7, 8))
    np.testing.assert_allclose(getattr(ours.filters, name)(volume, 3), getattr(filters, name)(volume, 3), rtol=1e-9)
    with pytest.raises(ValueError, match=f"{name}: window_size must be odd, but is 4"):
        getattr(ours.filters, name)(volume, 4)


def test_differs_deviations_of_large_means():
    """Deviations of 1 around 1e5: scikit-image's are up to 50 times too large."""
    x = (1e5 + np.random.default_rng(1).standard_normal((64, 64))).astype(np.float32)
    exact = ndimage.generic_filter(x.astype(np.float64), np.std, 15, mode="mirror")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        means = [module.threshold_niblack(x, 15, 0.0).astype(np.float64) for module in (ours.filters, filters)]
        mine, other = (mean - module.threshold_niblack(x, 15, 1.0)
                       for mean, module in zip(means, (ours.filters, filters)))
    ulp = np.spacing(np.float32(1e5))  # thresholds are float32
    assert np.abs(mine - exact).max() <= ulp and np.abs(other - exact).max() > 5


@pytest.mark.parametrize("method", ["mean", "median", "gaussian", "generic"])
def test_local_thresholds(method):
    rng = np.random.default_rng(1)
    for dtype in (np.uint8, np.float64, np.float32):
        x = (rng.random((13, 17)) * 100).astype(dtype)
        for arguments in ({}, dict(block_size=(5, 3), offset=2, mode="wrap"), dict(mode="constant", cval=7)):
            if method == "generic":
                arguments = arguments | dict(param=np.ptp)
            mine = ours.filters.threshold_local(x, method=method, **arguments)
            other = filters.threshold_local(x, method=method, **arguments)
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, rtol=1e-12 if mine.dtype == np.float64 else 1e-5, atol=1e-4)
    with pytest.raises(ValueError, match="threshold_local: block_size must be odd, but is 2"):
        ours.filters.threshold_local(np.ones((4, 4)), 2, "mean")
    with pytest.raises(ValueError, match="threshold_local: method must be 'gaussian', 'mean', 'median' or 'generic'"):
        ours.filters.threshold_local(np.ones((4, 4)), 3, "mode")


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (ours.filters, filters),
        (ours.filters.rank, filters.rank),
        (ours.morphology, morphology),
        (ours.measure, measure),
    ],
    ids=["filters", "rank", "morphology", "measure"],
)
def test_signatures_are_those_of_scikit_image(mine, other):
    names = [name for name in mine.__all__ if name != "rank"]
    assert names
    for name in names:
        parameters = [
            [(p.name, p.default, p.kind) for p in inspect.signature(getattr(module, name)).parameters.values()]
            for module in (mine, other)
        ]
        assert parameters[0][: len(parameters[1])] == parameters[1], name
        assert len(parameters[0]) == len(parameters[1]) or name == "block_reduce"  # which has more


def test_other_names_are_those_of_scikit_image():
    x = np.random.default_rng(1).random((6, 7))
    same(ours.filters.gaussian(x), filters.gaussian(x))
    same(ours.measure.label(x > 0.5), measure.label(x > 0.5))
    assert ours.morphology.rectangle is morphology.rectangle if hasattr(morphology, "rectangle") else True
    assert ours.filters.rank.entropy is filters.rank.entropy
    with pytest.raises(AttributeError, match="oriel.skimage.filters has no blurred"):
        ours.filters.blurred(x)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: ours.filters.rank.median(x, np.ones(3)), ValueError, "median: footprint must have 2 axes"),
        (lambda x: ours.filters.rank.pop(x, np.ones((3, 3)), shift_x=2), ValueError, "must keep the centre in"),
        (lambda x: ours.filters.rank.percentile(x, np.ones((3, 3)), p0=2), ValueError, "p0 must be in 0 to 1"),
        (lambda x: ours.morphology.erosion(x, np.ones(3)), ValueError, "erosion: footprint must have 2 axes"),
        (lambda x: ours.morphology.opening(x, mode="edge"), ValueError, "opening: mode must be one of reflect"),
        (lambda x: ours.morphology.closing(x, ()), ValueError, "closing: footprint must have a part, but has none"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call(np.zeros((4, 5), np.uint8))
