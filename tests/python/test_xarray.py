"""The accessor of oriel.xarray against xarray's own coarsen and rolling."""

import warnings

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
        # Theirs makes floats of padded integers, and float64 of medians of float32.
        if method != "median" and (keywords["boundary"] != "pad" or array.dtype.kind == "f"):
            assert got.dtype == expected.dtype


@pytest.mark.parametrize("method", METHODS[:-1])
@pytest.mark.parametrize("seed", seeds())
def test_rolling_as_xarray(method, seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        array = random_array(rng, "float64")
        windows = {"x": int(rng.integers(1, min(4, array.sizes["x"] + 1)))}
        if rng.random() < 0.4:
            windows["y"] = int(rng.integers(1, min(4, array.sizes["y"] + 1)))
        most = int(np.prod(list(windows.values())))
        keywords = {"min_periods": None if rng.random() < 0.5 else int(rng.integers(1, most + 1)), "center": bool(rng.random() < 0.5)}
        expected = outcome(lambda: getattr(array.rolling(windows, **keywords), method)())
        xr.testing.assert_allclose(getattr(array.oriel.rolling(windows, **keywords), method)(), expected, atol=1e-7)


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


@pytest.mark.parametrize("call, text", [
    (lambda a: a.oriel.coarsen(z=2), "oriel.coarsen: dim must be one of ('x',), but is 'z'"),
    (lambda a: a.oriel.coarsen(x=2), "oriel.coarsen: 'x' must be divisible by 2 with boundary 'exact', but has 5; 'trim', 'pad' and 'partial' take any number"),
    (lambda a: a.oriel.coarsen(x=0), "oriel.coarsen: windows must be >= 1, but 'x' has 0"),
    (lambda a: a.oriel.coarsen(x=2, boundary="cut"), "oriel.coarsen: boundary must be 'exact', 'trim', 'pad' or 'partial', but is 'cut'"),
    (lambda a: a.oriel.rolling(x=2, min_periods=3), "oriel.rolling: min_periods must be in 1 to 2, but is 3"),
])
def test_errors(call, text):
    with pytest.raises(ValueError) as error:
        call(xr.DataArray(np.zeros(5), dims="x"))
    assert str(error.value) == text
