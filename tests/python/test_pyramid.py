"""`oriel.pyramid`: levels against pools of level 0, sources and destinations of others, OME-Zarr, napari's arguments."""

import h5py
import numpy as np
import pytest
import tensorstore
import zarr

import oriel

X = np.random.default_rng(0).integers(0, 60000, (37, 41, 50)).astype("u2")


def direct(x, factor):
    return oriel.avg_pool(x, factor, ceil_mode=True, count_include_pad=False)


@pytest.mark.parametrize("threads", [1, 3])
def test_levels_are_pools_of_level_0(threads):
    with oriel.threads(threads):
        p = oriel.pyramid(X, [(1, 2, 2), (2, 2, 2)], spacing=(2, 1, 1), translation=(0, 5, 0))
    assert len(p) == 3 and p[0].array is X and p.axes == "zyx"
    assert (p[1].array == direct(X, (1, 2, 2))).all() and (p[2].array == direct(X, (2, 4, 4))).all()
    assert (p[2].factor, p[2].scale, p[2].translation) == ((2, 4, 4), (4, 4, 4), (1, 6.5, 1.5))


def test_automatic_factors():
    p = oriel.pyramid(X, spacing=(3, 1, 1), chunks=16)
    assert [level.factor for level in p] == [(1, 1, 1), (1, 2, 2), (2, 4, 4), (4, 8, 8)]
    assert [level.factor for level in oriel.pyramid(X, levels=1)] == [(1, 1, 1), (2, 2, 2)]
    assert [level.factor for level in oriel.pyramid(X, 3, levels=2)] == [(1, 1, 1), (3, 3, 3), (9, 9, 9)]
    assert [level.factor for level in oriel.pyramid(X[None], 2, levels=1)] == [(1, 1, 1, 1), (1, 2, 2, 2)]  # channels stay


@pytest.mark.parametrize("method", ["max", "min", "median", "mode"])
def test_methods(method):
    x = X % 7
    p = oriel.pyramid(x, 2, levels=1, method=method)
    pool = getattr(oriel, method + "_pool")
    assert (p[1].array == pool(x, 2, ceil_mode=True)).all()


def test_options_and_labels():
    x = np.zeros((8, 8), "u4")
    x[:, 3] = 9
    assert (oriel.pyramid(x, 4, levels=1, labels=True, ignore=0)[1].array == [[9, 0], [9, 0]]).all()
    assert (oriel.pyramid(x, 4, levels=1, labels=True)[1].array == 0).all()
    y = np.array([[1.0, np.nan], [3.0, -9.0]])
    assert oriel.pyramid(y, 2, levels=1, nodata=-9, nan_policy="omit")[1].array == [[2.0]]


@pytest.mark.parametrize("method", ["mean", "max", "min", "sum", "std", "median"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_windows_without_data(method, dtype):
    """They are `nodata` by default, else what the pool makes of them, bit for bit."""
    x = np.random.default_rng(1).integers(1, 9, (9, 14)).astype(dtype)
    x[np.random.default_rng(2).random(x.shape) < 0.7] = 100
    pool = getattr(oriel, {"mean": "avg"}.get(method, method) + "_pool")
    cases = [{"nodata": 100, **more} for more in ({}, {"min_count": 0}, {"min_count": 2}, {"fill": 7}, {"fill": 7, "min_count": 0}, {"min_fraction": 0.5})]
    if dtype[0] == "f":
        cases += [{"nan_policy": "omit"}, {"nan_policy": "omit", "min_count": 0}]
    for given in cases:
        y = np.where(x == 100, np.nan, x).astype(dtype) if "nan_policy" in given else x
        p = oriel.pyramid(y, 2, levels=2, method=method, source="base", **given)
        for level, factor in zip(p[1:], (2, 4)):
            wanted = pool(y, factor, ceil_mode=True, **{"min_count": 1, **given})
            assert level.array.dtype == wanted.dtype and level.array.tobytes() == wanted.tobytes(), given
    assert (oriel.pyramid(np.full((2, 2), 100, dtype), 2, levels=1, method=method, nodata=100)[1].array == 100).all()


def test_numbers_of_factors_are_for_the_axes_of_space():
    x = X[:3, :8, :8]
    assert [level.factor for level in oriel.pyramid(x, [2, 3], axes="cyx")] == [(1, 1, 1), (1, 2, 2), (1, 6, 6)]
    assert [level.factor for level in oriel.pyramid(x, [2, (3, 1, 1)])] == [(1, 1, 1), (2, 2, 2), (6, 2, 2)]


@pytest.mark.parametrize("axes", ["yxc", "xyt", "yyx", "cyz", "tcx"])
def test_axes_that_ome_zarr_does_not_allow(tmp_path, axes):
    p = oriel.pyramid(X, 2, levels=1, axes=axes)
    if axes == "cyz":
        p.to_ome(tmp_path / "image.zarr")
        return
    with pytest.raises(ValueError, match=f"must be 2 to 5 of different names.*but are '{axes}'"):
        p.to_ome(tmp_path / "image.zarr")
    assert not (tmp_path / "image.zarr").exists()


def test_sources_of_others(tmp_path):
    wanted = direct(X, 2)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        assert (oriel.pyramid(file.create_dataset("x", data=X, chunks=(8, 8, 8)), 2, levels=1)[1].array == wanted).all()
    array = zarr.create_array(str(tmp_path / "x.zarr"), data=X, chunks=(10, 10, 10))
    assert (oriel.pyramid(array, 2, levels=1)[1].array == wanted).all()
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "x.zarr")}}
    assert (oriel.pyramid(tensorstore.open(spec).result(), 2, levels=1)[1].array == wanted).all()
    dask = pytest.importorskip("dask.array")
    assert (oriel.pyramid(dask.from_array(X, chunks=20), 2, levels=1)[1].array == wanted).all()
    assert (oriel.pyramid(X.astype(">u2"), 2, levels=1)[1].array == wanted).all()


def test_destinations_of_others(tmp_path):
    out = zarr.create_array(str(tmp_path / "y.zarr"), shape=(19, 21, 25), dtype="u2", chunks=(8, 8, 8))
    p = oriel.pyramid(X, 2, levels=1, out=[out], chunks=8)
    assert p[1].array is out and (out[...] == direct(X, 2)).all()


def test_ome_zarr(tmp_path):
    models = pytest.importorskip("ome_zarr_models")
    p = oriel.pyramid(X, 2, levels=2, spacing=0.5, unit="micrometer")
    group = p.to_ome(tmp_path / "image.zarr", chunks=16)
    assert type(models.open_ome_zarr(zarr.open_group(str(tmp_path / "image.zarr"), mode="r"))).__name__ == "Image"
    assert group["1"].chunks == (16, 16, 16) and (group["2"][...] == p[2].array).all()
    assert group["1"].metadata.dimension_names == ("z", "y", "x")
    transformations = group.attrs["ome"]["multiscales"][0]["datasets"][1]["coordinateTransformations"]
    assert transformations == [{"type": "scale", "scale": [1, 1, 1]}, {"type": "translation", "translation": [0.25] * 3}]


def test_napari():
    data, arguments, kind = oriel.pyramid(X, 2, levels=2, spacing=(2, 1, 1)).napari()
    assert [one.shape for one in data] == [(37, 41, 50), (19, 21, 25), (10, 11, 13)]
    assert arguments == {"multiscale": True, "scale": [2, 1, 1], "translate": [0, 0, 0]} and kind == "image"
    assert oriel.pyramid(X, 2, levels=1, labels=True).napari()[2] == "labels"


def test_what_a_source_raises_reaches_the_caller():
    class Broken:
        shape, dtype = (100, 100), np.dtype("u1")

        def __getitem__(self, place):
            raise OSError("the tape is torn")

    for threads in (1, 2):
        with oriel.threads(threads), pytest.raises(OSError, match="the tape is torn"):
            oriel.pyramid(Broken(), 2, levels=1)


@pytest.mark.parametrize(("arguments", "text"), [
    ({"factors": "none"}, "factors must be 'auto', an int or a sequence, but is 'none'"),
    ({"factors": 2}, "levels must be given if factors is one number, but is None"),
    ({"factors": [], "levels": 2}, "factors must be given for 1 level or more, but are none"),
    ({"levels": -1}, "levels must be >= 1, but is -1"),
    ({"factors": 2, "levels": 1, "labels": True, "method": "mean"}, "method must be 'mode' for labels, but is 'mean'"),
    ({"factors": [(2, 2)]}, "factors of level 1 must have 1 value or 3, one for each axis, but has 2x2"),
    ({"factors": [(1, 1, 1)]}, "factors of level 1 must be > 1 for some axis, but are 1x1x1"),
    ({"axes": "yx"}, "axes must have a letter for each of 3 axes, but is 'yx'"),
    ({"spacing": (1, 2)}, "spacing must have 1 value or 3, one for each axis, but has 2"),
    ({"factors": 2, "levels": 1, "out": []}, "out must have 1 arrays, one for each level, but has 0"),
    ({"factors": 2, "levels": 1, "out": [np.empty((2, 2, 2), "u2")]}, "out of level 1 must have shape (19, 21, 25), but has (2, 2, 2)"),
    ({"factors": 2, "levels": 1, "memory": 10}, "memory must be at least"),
    ({"factors": 2, "levels": 1, "method": "avg"}, "method must be 'mean', 'max'"),
    ({"factors": 2, "levels": 1, "method": 3}, "'soft', but is 3"),
    ({"chunks": 0}, "chunks must be 1 int >= 1 or 3, one for each axis, but is 0"),
    ({"chunks": (8,)}, "chunks must be 1 int >= 1 or 3, one for each axis, but is (8,)"),
    ({"spacing": 0}, "spacing must not be 0, but is 0"),
    ({"spacing": (1, 2, float("nan"))}, "spacing must be finite, but is (1, 2, nan)"),
    ({"translation": float("inf")}, "translation must be finite, but is inf"),
])  # fmt: skip
def test_wrong_arguments(arguments, text):
    with pytest.raises(ValueError, match="pyramid: ") as raised:
        oriel.pyramid(X, **arguments)
    assert text in str(raised.value)


@pytest.mark.parametrize(("arguments", "text"), [
    ({"chunks": 2.5}, "chunks must be ints, but is 2.5"),
    ({"chunks": "8"}, "chunks must be ints, but is '8'"),
    ({"spacing": "2"}, "spacing must be a number or one for each axis, but is '2'"),
    ({"translation": ("1", "2", "3")}, "translation must be a number or one for each axis, but is ('1', '2', '3')"),
])  # fmt: skip
def test_arguments_that_are_no_numbers(arguments, text):
    with pytest.raises(TypeError, match="pyramid: ") as raised:
        oriel.pyramid(X, **arguments)
    assert text in str(raised.value)


def test_booleans_are_pooled_by_any():
    x = X > np.median(X)
    made = oriel.pyramid(x, 2, levels=1)
    assert made.method == "any"
    np.testing.assert_array_equal(made[1].array, oriel.any_pool(x, 2, ceil_mode=True))
