"""The accessor of oriel.xarray against xarray's own coarsen and rolling; tests/conformance runs xarray's own tests."""

import warnings

import dask
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from random_seeds import seeds

import oriel.xarray  # noqa: F401 registers the accessor

METHODS = ("mean", "sum", "min", "max", "median", "std", "var", "count", "prod")


def random_array(rng, dtype):
    shape = tuple(rng.integers(4, 9, 2))
    values = (rng.random(shape) * 9).round().astype(dtype)
    if values.dtype.kind == "f":
        values[rng.random(shape) < 0.2] = np.nan
    coords = {"x": np.arange(shape[0]) * 1.5, "t": ("y", pd.date_range("2000", periods=shape[1]))}
    return xr.DataArray(values, dims=("x", "y"), coords=coords, attrs={"units": "K"}, name="n")


def outcome(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except ValueError:
            return ValueError


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", seeds())
def test_coarsen_as_xarray(method, seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        array = random_array(rng, rng.choice(["float64", "float32", "int32"]))
        windows = {"x": int(rng.integers(1, 4))}
        if rng.random() < 0.6:
            windows["y"] = int(rng.integers(1, 4))
        keywords = {"boundary": str(rng.choice(["exact", "trim", "pad"])), "side": str(rng.choice(["left", "right"]))}
        expected = outcome(lambda: getattr(array.coarsen(windows, **keywords), method)())
        got = outcome(lambda: getattr(array.oriel.coarsen(windows, **keywords), method)())
        if expected is ValueError:
            assert got is ValueError
            continue
        xr.testing.assert_allclose(got, expected)
        assert got.attrs == expected.attrs and got.name == expected.name
        if method != "median":  # theirs is float64 of float32
            assert got.dtype == expected.dtype


@pytest.mark.parametrize("method", METHODS[:-1])
@pytest.mark.parametrize("seed", seeds())
def test_rolling_as_xarray(method, seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        array = random_array(rng, rng.choice(["float64", "float32", "int32", "bool"]))
        windows = {"x": int(rng.integers(1, min(4, array.sizes["x"] + 1)))}
        if rng.random() < 0.4:
            windows["y"] = int(rng.integers(1, min(4, array.sizes["y"] + 1)))
        most = int(np.prod(list(windows.values())))
        keywords = {"min_periods": None if rng.random() < 0.5 else int(rng.integers(1, most + 1)), "center": bool(rng.random() < 0.5)}
        theirs = array.astype("float64") if array.dtype == bool else array  # xarray has no median of bool, for one
        expected = outcome(lambda: getattr(theirs.rolling(windows, **keywords), method)())
        got = getattr(array.oriel.rolling(windows, **keywords), method)()
        xr.testing.assert_allclose(got, expected, atol=1e-7 if array.dtype != np.float32 else 2e-3)  # running sums
        assert array.dtype.kind != "f" or method in ("median", "count") or got.dtype == expected.dtype


def test_partial_blocks_keep_every_element():
    array = xr.DataArray(np.arange(5), dims="x", coords={"x": np.arange(5.0)})
    got = array.oriel.coarsen(x=2, boundary="partial").sum()
    assert got.values.tolist() == [1, 5, 4] and got.x.values.tolist() == [0.5, 2.5, 4.0] and got.dtype == np.int64


def test_weights_and_min_count():
    array = xr.DataArray([[1.0, 2.0], [np.nan, 6.0]], dims=("lat", "lon"))
    weights = xr.DataArray([1.0, 3.0], dims="lat")
    assert array.oriel.coarsen(lat=2, lon=2, weights=weights).mean().item() == (1 + 2 + 18) / 5
    assert np.isnan(array.oriel.coarsen(lat=2, lon=2, min_count=4).mean().item())


def test_labels_and_quantiles():
    labels = xr.DataArray(np.array([[0, 0, 7, 7], [0, 5, 7, 3]]), dims=("y", "x"))
    assert labels.oriel.coarsen(y=2, x=2).mode(ignore=0).values.tolist() == [[5, 7]]
    assert labels.oriel.coarsen(y=2, x=2).nunique().values.tolist() == [[2, 2]]
    assert labels.oriel.coarsen(y=2, x=2).quantile(1.0).values.tolist() == [[5.0, 7.0]]


def test_datasets_and_dask():
    array = xr.DataArray(np.arange(24.0).reshape(4, 6), dims=("y", "x"))
    data = xr.Dataset({"a": array, "b": ("z", [1, 2])}, attrs={"k": 1})
    got = data.oriel.coarsen(x=2).mean()
    xr.testing.assert_allclose(got, data.coarsen(x=2).mean())
    lazy = array.chunk({"x": 4, "y": 3}).oriel.coarsen(x=2, y=2).mean()
    assert lazy.chunks is not None
    xr.testing.assert_allclose(lazy.compute(), array.coarsen(x=2, y=2).mean())


def test_datasets_keep_what_is_not_coarsened():
    data = xr.Dataset(
        {"a": (("y", "x"), np.arange(24.0).reshape(4, 6), {"units": "m"}), "b": ("z", [1, 2], {"k": 2})},
        coords={"x": ("x", np.arange(6), {"axis": "X"}), "z": [3.0, 4.0], "lone": 7, "w": ("y", list("abcd"))},
        attrs={"title": "t"})
    got = data.oriel.coarsen(x=2, y=2).mean()
    expected = data.drop_vars("w").coarsen(x=2, y=2).mean()
    xr.testing.assert_identical(got.drop_vars("w"), expected)
    assert got.w.values.tolist() == ["a", "c"]  # xarray has no mean of text, and no result
    xr.testing.assert_identical(data.drop_vars("w").oriel.coarsen(x=2).mean(keep_attrs=False),
                                data.drop_vars("w").coarsen(x=2).mean(keep_attrs=False))
    xr.testing.assert_identical(data.oriel.rolling(x=3).sum(), data.rolling(x=3).sum())


@pytest.mark.parametrize(("side", "boundary", "firsts"), [
    ("left", "partial", ["a", "c", "e"]), ("right", "partial", ["a", "b", "d"]),
    ("left", "trim", ["a", "c"]), ("right", "trim", ["b", "d"])])
def test_text_has_the_first_of_each_block(side, boundary, firsts):
    array = xr.DataArray(np.arange(5.0), dims="x", coords={"name": ("x", list("abcde"))})
    assert array.oriel.coarsen(x=2, boundary=boundary, side=side).mean()["name"].values.tolist() == firsts


def test_coordinates_of_two_axes():
    rng = np.random.default_rng(3)
    array = xr.DataArray(rng.random((5, 7)), dims=("y", "x"),
                         coords={"lat": (("y", "x"), rng.random((5, 7)), {"u": 1}), "lon": (("y", "x"), rng.random((5, 7)))})
    for function in ("mean", "max", {"lat": "min"}, {"lat": np.median, "lon": "max"}):
        for boundary in ("trim", "pad"):
            keywords = {"x": 2, "y": 3, "boundary": boundary, "coord_func": function}
            xr.testing.assert_allclose(array.oriel.coarsen(**keywords).mean(), array.coarsen(**keywords).mean())


def test_reduce_by_functions():
    array = xr.DataArray([1.0, np.nan, 3.0, 6.0], dims="x")
    blocks, theirs = array.oriel.coarsen(x=2), array.coarsen(x=2)
    for function in (np.mean, np.nanmean, np.max, np.nansum, np.median, np.nanmedian, np.any, np.ptp, np.linalg.norm):
        keywords = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            xr.testing.assert_allclose(blocks.reduce(function, **keywords), theirs.reduce(function, **keywords))
    xr.testing.assert_allclose(blocks.reduce(np.nanvar, ddof=0), theirs.reduce(np.nanvar, ddof=0))
    assert np.isnan(blocks.reduce(np.mean).values).tolist() == [True, False]
    moving, theirs = array.oriel.rolling(x=2, min_periods=1), array.rolling(x=2, min_periods=1)
    for function in (np.mean, np.nanmean, np.nanmax, np.sum, np.ptp):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            xr.testing.assert_allclose(moving.reduce(function), theirs.reduce(function))


def test_other_dtypes_are_for_xarray():
    times = xr.DataArray(pd.date_range("2000", periods=6), dims="x")
    xr.testing.assert_identical(times.oriel.coarsen(x=3).max(), times.coarsen(x=3).max())
    xr.testing.assert_identical(times.oriel.coarsen(x=4, boundary="partial").count(), times.coarsen(x=4, boundary="pad").count())
    numbers = xr.DataArray(np.arange(6) * 1j, dims="x")
    xr.testing.assert_identical(numbers.oriel.coarsen(x=3).sum(), numbers.coarsen(x=3).sum())
    with pytest.raises(TypeError, match="oriel.coarsen: mode needs numbers or bool, but an array has dtype complex128"):
        numbers.oriel.coarsen(x=3).mode()
    with pytest.raises(TypeError, match="oriel.rolling: nunique needs numbers or bool, but an array has dtype complex128"):
        numbers.oriel.rolling(x=3).nunique()


def test_too_few_of_integers_is_a_nan():
    array = xr.DataArray(np.arange(5), dims="x")
    for method in ("sum", "max", "mode", "median", "mean"):
        got = getattr(array.oriel.coarsen(x=2, boundary="partial", min_count=2), method)()
        assert got.dtype == np.float64 and np.isnan(got.values).tolist() == [False, False, True]
        assert getattr(array.oriel.coarsen(x=2, boundary="trim", min_count=2), method)().dtype.kind == (
            "f" if method in ("mean", "median") else "i")
    assert np.isnan(array.oriel.coarsen(x=2, boundary="pad", skipna=False).sum().values).tolist() == [False, False, True]


def test_weights_of_each_kind():
    rng = np.random.default_rng(4)
    array = xr.DataArray(rng.random((6, 8)), dims=("y", "x"))
    weights = xr.DataArray(rng.random(6), dims="y")
    blocks = array.oriel.coarsen(y=3, x=2, weights=weights)
    shares = np.broadcast_to(weights.values[:, None], (6, 8)).reshape(2, 3, 4, 2)
    values = array.values.reshape(2, 3, 4, 2)
    mean = (values * shares).sum((1, 3)) / shares.sum((1, 3))
    np.testing.assert_allclose(blocks.mean(), mean)
    np.testing.assert_allclose(blocks.sum(), (values * shares).sum((1, 3)))
    np.testing.assert_allclose(blocks.var(), (shares * (values - mean[:, None, :, None]) ** 2).sum((1, 3)) / shares.sum((1, 3)))
    whole = array.oriel.coarsen(y=3, x=2, weights=np.broadcast_to(weights.values[:, None], (6, 8)))
    np.testing.assert_array_equal(whole.mean(), blocks.mean())
    for lazy in (array.chunk({"x": 3, "y": 4}).oriel.coarsen(y=3, x=2, weights=weights),
                 array.chunk({"x": 5}).oriel.coarsen(y=3, x=2, weights=weights.chunk({"y": 2}))):
        assert lazy.mean().chunks is not None
        np.testing.assert_array_equal(lazy.mean(), blocks.mean())
    with pytest.raises(ValueError, match="oriel.coarsen: weights must have dimensions of the array, .* but have 'z'"):
        array.oriel.coarsen(y=3, weights=xr.DataArray([1.0], dims="z")).mean()
    with pytest.raises(ValueError, match="oriel.coarsen: weights must be a DataArray, or have the shape"):
        array.oriel.coarsen(y=3, weights=[1.0]).mean()


@pytest.mark.parametrize("method", [*METHODS, "mode", "nunique", "any", "all", "argmax", "argmin"])
def test_dask_stays_lazy_and_has_the_same_bits(method):
    rng = np.random.default_rng(5)
    array = xr.DataArray(rng.integers(0, 5, (9, 10)).astype(float), dims=("y", "x"), coords={"x": np.arange(10)})
    array.values[rng.random(array.shape) < 0.2] = np.nan

    def forbidden(*arguments, **keywords):
        raise AssertionError("computed")

    def both(call):
        with dask.config.set(scheduler=forbidden):
            lazy = call(array.chunk({"y": 4, "x": 3}))
        assert lazy.chunks is not None
        xr.testing.assert_identical(lazy.compute(), call(array))

    if not method.startswith("arg"):
        both(lambda a: getattr(a.oriel.coarsen(y=2, x=4, boundary="partial"), method)())
        both(lambda a: getattr(a.oriel.coarsen(y=2, x=4, boundary="trim", side="right"), method)())
    if method not in ("any", "all"):
        windows = {"x": 4} if method.startswith("arg") else {"y": 3, "x": 4}
        both(lambda a: getattr(a.oriel.rolling(windows, min_periods=2, center=True), method)())


def test_what_is_not_here_is_xarrays():
    array = xr.DataArray(np.arange(6.0), dims="x", coords={"x": np.arange(6)})
    moving = array.oriel.rolling(x=3)
    assert repr(moving) == repr(array.rolling(x=3)) and len(moving) == 6 and moving.obj is array
    for (label, window), (their_label, their_window) in zip(moving, array.rolling(x=3), strict=True):
        xr.testing.assert_identical(label, their_label)
        xr.testing.assert_identical(window, their_window)
    xr.testing.assert_identical(moving.construct("w"), array.rolling(x=3).construct("w"))
    blocks = array.oriel.coarsen(x=4, boundary="partial")
    assert blocks.construct(x=("x", "w")).shape == (2, 4) and repr(blocks).startswith("Coarsen {'x': 4}")
    assert not hasattr(blocks, "absent") and not hasattr(moving, "absent")


@pytest.mark.parametrize("call, text", [
    (lambda a: a.oriel.coarsen(z=2), "oriel.coarsen: dim must be one of ('x',), but is 'z'"),
    (lambda a: a.oriel.coarsen(x=2), "oriel.coarsen: 'x' must be divisible by 2 with boundary 'exact', but has 5; 'trim', 'pad' and 'partial' take any number"),
    (lambda a: a.oriel.coarsen(x=0), "oriel.coarsen: windows must be >= 1, but 'x' has 0"),
    (lambda a: a.oriel.coarsen(x=2, boundary="cut"), "oriel.coarsen: boundary must be 'exact', 'trim', 'pad' or 'partial', but is 'cut'"),
    (lambda a: a.oriel.coarsen(x=5, side="up"), "oriel.coarsen: side must be 'left' or 'right', but is 'up'"),
    (lambda a: a.oriel.coarsen(), "oriel.coarsen: a window must be given, such as x=2, but there is none"),
    (lambda a: a.oriel.rolling(z=2), "oriel.rolling: dim must be one of ('x',), but is 'z'"),
    (lambda a: a.oriel.rolling(x=-1), "oriel.rolling: windows must be >= 1, but 'x' has -1"),
    (lambda a: a.expand_dims("y").oriel.rolling(x=2, y=1).argmax(),
     "oriel.rolling: argmax needs windows along one dimension, but they are along 2"),
    (lambda a: a.oriel.rolling(x=2, min_periods=3), "oriel.rolling: min_periods must be in 1 to 2, but is 3"),
])
def test_errors(call, text):
    with pytest.raises(ValueError) as error:
        call(xr.DataArray(np.zeros(5), dims="x"))
    assert str(error.value) == text
