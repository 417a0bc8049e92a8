"""2,000 random problems against the rules, window by window, and against two peers each: NumPy, SciPy, scikit-image,
bottleneck, pandas and xarray. Half of them never change, half are fresh; ORIEL_SEED repeats these.
"""

import warnings

import bottleneck
import numpy as np
import pandas as pd
import pytest
import scipy.ndimage
import scipy.stats
import xarray as xr
from numpy.lib.stride_tricks import sliding_window_view
from random_seeds import seeds
from skimage.filters import rank
from skimage.measure import block_reduce

import naive_statistics
import oriel
import oriel.bottleneck
import oriel.ndimage
import oriel.xarray  # noqa: F401 registers the accessor

PROBLEMS = 250  # of each kind and seed
NEAR = {"float32": 2e-6, "float64": 1e-12}


def number(rng, low, high):
    return int(rng.integers(low, high))


def numbers(rng, low, high, count):
    return tuple(int(n) for n in rng.integers(low, high, count))


def agree(ours, theirs, what, near=0.0, scale=1.0):
    """Equal, or near in units of the size of what was added up; NaN are equal."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    assert ours.shape == theirs.shape, what
    np.testing.assert_allclose(ours, theirs, rtol=near, atol=near * scale, err_msg=str(what))


def windows_of(x, kernel, before, footprint=None, mask=None, edge="constant"):
    """NumPy's windows of x in float64, flat along the last axis, NaN where an element is absent or invalid."""
    values = x.astype(np.float64)
    if mask is not None:
        values[~mask] = np.nan
    pads = [(b, k - 1 - b) for k, b in zip(kernel, before)]
    padded = np.pad(values, pads, edge, **({"constant_values": np.nan} if edge == "constant" else {}))
    taps = sliding_window_view(padded, kernel)
    if footprint is not None:
        taps = np.where(footprint, taps, np.nan)
    return taps.reshape(*x.shape, -1)


def reduced(op, taps, q=None, method=None, ddof=0):
    """NumPy's statistic of the elements that are not NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if op == "quantile" and method == "scipy":
            n = np.count_nonzero(~np.isnan(taps), -1)[..., None]
            place = np.clip(np.minimum(np.floor(n * q), n - 1), 0, None).astype(int)
            return np.take_along_axis(np.sort(taps, -1), place, -1)[..., 0]
        if op == "quantile":
            return np.nanquantile(taps, q, axis=-1, method=method)
        if op == "mode":
            return scipy.stats.mode(taps, axis=-1, nan_policy="omit").mode
        if op in ("var", "std"):
            return (np.nanvar if op == "var" else np.nanstd)(taps, axis=-1, ddof=ddof)
        functions = {"median": np.nanmedian, "avg": np.nanmean, "mean": np.nanmean, "sum": np.nansum, "max": np.nanmax,
                     "min": np.nanmin, "prod": np.nanprod}
        return functions[op](taps, axis=-1)


def naive(op, x, kernel, stride, padding, **rules):
    axes, ones = tuple(range(x.ndim)), (1,) * x.ndim
    return naive_statistics.pool(op, x, axes, kernel, stride, padding, ones, **rules)


# -- images: footprints, masks, partial windows at the borders; scikit-image and NumPy

IMAGES = {
    "median": ("median", {"method": "higher"}, rank.median),
    "percentile": ("quantile", {"method": "scipy"}, rank.percentile),
    "mode": ("mode", {}, rank.modal),
    "majority": ("mode", {}, rank.majority),
    "mean": ("avg", {"dtype": "float64", "count_include_pad": False}, rank.mean),
    "max": ("max", {}, rank.maximum),
    "min": ("min", {}, rank.minimum),
}


@pytest.mark.parametrize("seed", seeds())
def test_images(seed):
    rng = np.random.default_rng(seed)
    for trial in range(PROBLEMS):
        name = str(rng.choice(list(IMAGES)))
        op, options, theirs = IMAGES[name]
        x = rng.integers(0, number(rng, 3, 256), numbers(rng, 5, 12, 2)).astype(np.uint8)
        kernel = numbers(rng, 1, 6, 2)
        footprint, mask = rng.random(kernel) < 0.7, rng.random(x.shape) < 0.8
        footprint.flat[number(rng, 0, footprint.size)] = True
        before = tuple(k // 2 for k in kernel)
        padding = [(b, k - 1 - b) for k, b in zip(kernel, before)]
        q = float(rng.choice([0, 0.1, 0.5, 0.75, 1]))
        first, rules = (q,) if op == "quantile" else (), {k: v for k, v in options.items() if k == "method"}
        if op == "quantile":
            rules["q"] = q
        ours = getattr(oriel, f"{op}_pool")(x, *first, kernel, 1, padding, footprint=footprint, mask=mask, min_count=1,
                                            fill=0, **options)
        what = (trial, name, x.shape, kernel, q)
        expected, _ = naive(op, x if op != "avg" else x.astype(np.float64), kernel, (1, 1), padding, footprint=footprint,
                            mask=mask, min_count=1, fill=0, **rules)
        near = 1e-15 if op == "avg" else 0  # the naive sum is rounded as it goes
        agree(ours, expected, what, near)
        keywords = {"p0": q} if op == "quantile" else {}
        skimage = theirs(x, footprint.astype(np.uint8), mask=mask.astype(np.uint8), **keywords)
        agree(np.floor(ours), skimage, what)
        taps = windows_of(x, kernel, before, footprint, mask)
        filled = ~np.isnan(taps).all(-1)
        word, place, rule = ("quantile", 0.5, "higher") if op == "median" else (op, q, "scipy")
        agree(ours[filled], reduced(word, taps[filled], place, rule), what, near)


# -- series: NaN, minimal counts; bottleneck and pandas

SERIES = ("median", "mean", "sum", "var", "std", "min", "max")


@pytest.mark.parametrize("seed", seeds())
def test_series(seed):
    rng = np.random.default_rng(seed)
    for trial in range(PROBLEMS):
        name, dtype = str(rng.choice(SERIES)), str(rng.choice(["float64", "float32"]))
        x = (rng.random((3, number(rng, 4, 30))) * 20 - 10).astype(dtype)
        x[rng.random(x.shape) < rng.choice([0, 0.2, 0.5])] = np.nan
        window = number(rng, 1, x.shape[1] + 1)
        least = number(rng, 1, window + 1)
        ddof = number(rng, 0, 2) if name in ("var", "std") else 0
        keywords = {"ddof": ddof} if name in ("var", "std") else {}
        ours = getattr(oriel.bottleneck, f"move_{name}")(x, window, least, **keywords)
        what = (trial, name, dtype, x.shape, window, least, ddof)
        near = NEAR[dtype] if name not in ("min", "max") else 0
        op = "avg" if name == "mean" else name
        method = {"method": "midpoint"} if op == "median" else keywords
        expected, _ = naive(op, x, (1, window), (1, 1), [(0, 0), (window - 1, 0)], omit=True, min_count=least,
                            fill=np.nan, **method)
        scale = {"var": 100, "sum": 10 * window}.get(name, 10)
        agree(ours, expected, what, near, scale)
        # Running sums lose a few digits more; of a standard deviation near 0 the half.
        loose = {"std": 1e-3 if dtype == "float32" else 1e-6}.get(name, near * 30)
        moved = getattr(bottleneck, f"move_{name}")(x, window, least, **keywords)
        moved[~np.isnan(moved) & (bottleneck.move_sum(x == x, window, 1) <= ddof)] = np.nan  # inf for single numbers
        agree(ours, moved, what, loose if near else 0, scale)
        frame = getattr(pd.DataFrame(x.T.astype(np.float64)).rolling(window, min_periods=least), name)(**keywords)
        agree(ours, frame.to_numpy().T, what, loose if near else 0, scale)


# -- filters: what lies beyond the edge; SciPy and NumPy

EDGES = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}


@pytest.mark.parametrize("seed", seeds())
def test_filters(seed):
    rng = np.random.default_rng(seed)
    for trial in range(PROBLEMS):
        name = str(rng.choice(["median", "percentile", "rank", "maximum", "minimum", "uniform"]))
        dtype = "float64" if name == "uniform" else str(rng.choice(["uint8", "int16", "int32", "float32", "float64"]))
        x = rng.integers(0, 100, numbers(rng, 3, 8, number(rng, 1, 4))).astype(dtype)
        kernel = numbers(rng, 1, 4, x.ndim)
        footprint = None if name == "uniform" or rng.random() < 0.5 else rng.random(kernel) < 0.7
        if footprint is not None:
            footprint.flat[number(rng, 0, footprint.size)] = True
        mode = str(rng.choice(list(EDGES)))
        taps = int(np.prod(kernel)) if footprint is None else int(footprint.sum())
        place, first = taps // 2, ()
        if name == "percentile":
            percent = float(rng.choice([0, 20, 50, 90, 100]))
            first, place = (percent,), min(int(taps * percent / 100), taps - 1)
        elif name == "rank":
            place = number(rng, 0, taps)
            first = (place,)
        shape = {"size": kernel} if footprint is None else {"footprint": footprint}
        what = (trial, name, dtype, x.shape, kernel, mode, first)
        ours = getattr(oriel.ndimage, f"{name}_filter")(x, *first, **shape, mode=mode)
        near = 1e-13 if name == "uniform" else 0
        agree(ours, getattr(scipy.ndimage, f"{name}_filter")(x, *first, **shape, mode=mode), what, near, 100)
        around = windows_of(x, kernel, tuple(k // 2 for k in kernel), footprint, edge=EDGES[mode])
        if name == "uniform":
            agree(ours, around.mean(-1), what, near, 100)
        else:
            place = {"maximum": taps - 1, "minimum": 0}.get(name, place)
            agree(ours, np.sort(around, -1)[..., place], what)
        padded = np.pad(x, [(k // 2, k - 1 - k // 2) for k in kernel], EDGES[mode])
        if name in ("maximum", "minimum", "uniform", "median"):
            op = {"maximum": "max", "minimum": "min", "uniform": "avg"}.get(name, name)
            rules = {"method": "higher"} if op == "median" else {}
            expected, _ = naive(op, padded, kernel, (1,) * x.ndim, [(0, 0)] * x.ndim, footprint=footprint, **rules)
        else:
            q = (place + 0.5) / taps  # the quantile that "scipy" takes this place for
            expected, _ = naive("quantile", padded, kernel, (1,) * x.ndim, [(0, 0)] * x.ndim, footprint=footprint, q=q,
                                method="scipy")
        agree(ours, expected, what, near, 100)


# -- blocks: NaN, partial blocks; xarray and NumPy or scikit-image

BLOCKS = ("median", "quantile", "mean", "sum", "prod", "var", "std", "max", "min")


@pytest.mark.parametrize("seed", seeds())
def test_blocks(seed):
    rng = np.random.default_rng(seed)
    for trial in range(PROBLEMS):
        name, dtype = str(rng.choice(BLOCKS)), str(rng.choice(["float64", "float32"]))
        x = (rng.random(numbers(rng, 1, 9, 2)) * 4 - 2).astype(dtype)
        x[rng.random(x.shape) < rng.choice([0, 0.2])] = np.nan
        kernel = numbers(rng, 1, 4, 2)
        q, method = float(rng.choice([0, 0.3, 0.5, 1])), str(rng.choice(["linear", "lower", "higher", "midpoint"]))
        padding = [(0, -n % k) for n, k in zip(x.shape, kernel)]
        op = "avg" if name == "mean" else name
        rules = {"median": {"method": "midpoint"}, "quantile": {"q": q, "method": method}}.get(name, {})
        least = {"min_count": 1} if name not in ("sum", "prod") else {}
        what = (trial, name, dtype, x.shape, kernel, rules)
        array = xr.DataArray(x, dims=("y", "x"))
        asked = (q, method) if name == "quantile" else ()
        ours = getattr(array.oriel.coarsen(y=kernel[0], x=kernel[1], boundary="partial"), name)(*asked).values
        expected, _ = naive(op, x, kernel, kernel, padding, omit=True, fill=np.nan, **rules, **least)
        exact = name in ("max", "min") or method in ("lower", "higher") and name == "quantile"
        near = 0 if exact else NEAR[dtype] * 4
        agree(ours, expected, what, near)
        padded = np.pad(x.astype(np.float64), padding, constant_values=np.nan)
        shape = [m for n, k in zip(padded.shape, kernel) for m in (n // k, k)]
        taps = padded.reshape(shape).transpose(0, 2, 1, 3).reshape(*ours.shape, -1)
        agree(ours, reduced(op, taps, q, method), what, near)
        if name == "quantile":

            def function(block, axis):
                return np.nanquantile(block, q, axis=axis, method=method)
        else:
            function = getattr(np, f"nan{name}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            agree(ours, block_reduce(x.astype(np.float64), kernel, function, cval=np.nan), what, near)
            if name != "quantile":
                theirs = getattr(array.astype(np.float64).coarsen(y=kernel[0], x=kernel[1], boundary="pad"), name)()
                agree(ours, theirs.values, what, near)
