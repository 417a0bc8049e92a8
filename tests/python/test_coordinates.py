"""Pyramids of xarray DataArrays: axes, spacing, translation and unit of their coordinates."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import oriel
import oriel.dask
import oriel.xarray  # noqa: F401 registers the accessor

X = np.arange(6 * 8 * 10, dtype="f4").reshape(6, 8, 10)


def array(coords, dims="zyx", x=X):
    return xr.DataArray(x, dims=tuple(dims), coords=coords)


def line(name, first, step, n, **attrs):
    return {name: (name, first + step * np.arange(n), attrs)}


REGULAR = {**line("z", 5, 2, 6, units="um"), **line("y", -1, 0.25, 8, units="micron"), **line("x", 100, 0.5, 10, units="µm")}


def pyramids(x, *arguments, **keywords):
    """By all functions that take a DataArray."""
    lazy = x.chunk(dict.fromkeys(x.dims, 4))
    return [oriel.pyramid(x, *arguments, **keywords), x.oriel.pyramid(*arguments, **keywords),
            oriel.dask.pyramid(lazy, *arguments, **keywords), lazy.oriel.pyramid(*arguments, **keywords)]  # fmt: skip


def test_coordinates_say_where_elements_are():
    for p in pyramids(array(REGULAR), 2, levels=1):
        assert (p.axes, p.unit) == ("zyx", "micrometer")
        assert (p[0].scale, p[0].translation) == ((2, 0.25, 0.5), (5, -1, 100))
        assert (p[1].scale, p[1].translation) == ((4, 0.5, 1), (6, -0.875, 100.25))
        np.testing.assert_array_equal(p[1].array, oriel.pyramid(X, 2, levels=1)[1].array)
    assert isinstance(pyramids(array(REGULAR), 2, levels=1)[3][0].array, da.Array)


def test_automatic_factors_know_the_spacing():
    for p in pyramids(array(REGULAR), chunks=4):
        assert p[1].factor == (1, 2, 1)


def test_what_is_passed_is_taken():
    for p in pyramids(array(REGULAR), 2, levels=1, spacing=3, translation=(0, 0, 7), unit="meter", axes="tyx"):
        assert (p.axes, p.unit, p[0].scale, p[0].translation) == ("tyx", "meter", (1, 3, 3), (0, 0, 7))


def test_descending_and_coarse_coordinates():
    """Latitudes from north to south, in float32; of one element, and of none that has coordinates."""
    lat = (60 - 0.1 * np.arange(8)).astype("f4")
    x = xr.DataArray(X[:1], dims=("band", "lat", "lon"), coords={"lat": ("lat", lat, {"units": "degrees_north"})})
    for p in pyramids(x.rename(band="channel"), 2, levels=1):
        assert (p.axes, p.unit) == ("cyx", "degree")
        np.testing.assert_allclose(p[0].scale, (1, -0.1, 1), rtol=1e-5)
        np.testing.assert_allclose(p[1].translation, (0, 60 - 0.05, 0.5), rtol=1e-6)
    for p in pyramids(array({"z": [7.5]}, x=X[:1]), 2, levels=1):
        assert (p[0].scale, p[0].translation) == ((1, 1, 1), (7.5, 0, 0))


def test_times_and_channels_may_be_irregular():
    times = pd.date_range("2020-01-01", periods=6, freq="10min")
    for coords, step in (({"t": times}, 600), ({"t": pd.to_datetime(["2020-01-31", "2020-02-29", *times[:4]])}, 1),
                         ({"t": np.arange(6) * np.timedelta64(1500, "ms")}, 1.5), ({"t": list("abcdef")}, 1)):  # fmt: skip
        for p in pyramids(array(coords, "tyx"), 2, levels=1):
            assert (p[0].scale, p[0].translation, p.axes) == ((step, 1, 1), (0, 0, 0), "tyx")


def test_dimensions_without_letters_have_the_usual_ones():
    for dims in (("a_thing", "y", "x"), ("y", "lat", "x")):
        for p in pyramids(xr.DataArray(X, dims=dims), 2, levels=1):
            assert p.axes == "zyx"
    assert pyramids(array({}, "ZYX"), 2, levels=1)[0].axes == "zyx"


@pytest.mark.parametrize("values", [[0, 1, 2, 4, 5, 6, 7, 8], [0, 1, 2, np.nan, 4, 5, 6, 7], [3] * 8])
def test_coordinates_that_are_not_regular(values):
    x = array({"y": np.asarray(values, "f8")})
    for call in (oriel.pyramid, oriel.dask.pyramid):
        with pytest.raises(ValueError, match=r"pyramid: coordinate 'y' must be regular, but has steps from .* to .*; pass spacing and translation"):
            call(x, 2, levels=1)
        assert call(x, 2, levels=1, spacing=1, translation=0)[0].scale == (1, 1, 1)


def test_units_that_differ_are_none():
    for p in pyramids(array({**line("y", 0, 1, 8, units="mm"), **line("x", 0, 1, 10, units="um")}), 2, levels=1):
        assert p.unit is None


def test_what_is_written_has_the_coordinates(tmp_path):
    zarr = pytest.importorskip("zarr")
    array(REGULAR).chunk(z=3).oriel.pyramid(2, levels=1).to_ome(tmp_path / "image.zarr", compute_kwargs={"scheduler": "threads"})
    image = zarr.open_group(str(tmp_path / "image.zarr"), mode="r").attrs["ome"]["multiscales"][0]
    assert image["axes"][2] == {"name": "x", "type": "space", "unit": "micrometer"}
    assert image["datasets"][1]["coordinateTransformations"][1]["translation"] == [6, -0.875, 100.25]


def test_a_single_coordinate_that_is_no_number():
    with pytest.raises(ValueError, match="coordinate 'z' must be a finite number, but is nan; pass spacing and translation"):
        oriel.pyramid(array({"z": [np.nan]}, x=X[:1]), 2, levels=1)
