"""`oriel pyramid --check` of levels of volumes with NaN."""

import json

import numpy as np
import pytest
import zarr


@pytest.mark.parametrize(("method", "rule"), [
    *((method, rule) for method in ("mean", "max", "min", "median") for rule in ("propagate", "omit")),
    ("first", "propagate"),  # the first that is valid is no method of --check
])  # fmt: skip
def test_the_check_of_volumes_with_nan(oriel, tmp_path, method, rule):
    x = np.random.default_rng(1).standard_normal((20, 22, 24)).astype("f4")
    x[np.random.default_rng(2).random(x.shape) < 0.2] = np.nan
    x[:8, :8, :8] = np.nan
    np.save(tmp_path / "x.npy", x)
    oriel("pyramid", "x.npy", "y.zarr", "--method", method, "--nan", rule, "--levels", "1", "--chunk", "8")
    found = json.loads(oriel("pyramid", "--check", "y.zarr", "--json").stdout)["levels"][1]
    assert found["method"] == f"{method} of level 0"
    array = zarr.open_array(str(tmp_path / "y.zarr/1"), mode="r+")
    array[:4, :4, :4] = 7  # which no method makes of nothing but NaN
    assert not json.loads(oriel("pyramid", "--check", "y.zarr", "--json", code=1).stdout)["good"]
