"""xarray's coarsen: means that leave NaNs out, and medians, of blocks."""

import numpy as np
import xarray as xr

from science_peers import Rival

NAME = "xarray"


def load():
    return xr.__version__


def rivals(case, x, mask):
    if case.filter or not case.whole_blocks or case.op not in ("avg", "median"):
        return []
    names = [f"axis{axis}" for axis in range(case.rank)]
    windows = dict(zip(names, case.kernel))
    array = xr.DataArray(x, dims=names)
    close = {"relative": 1e-6, "absolute": 1e-6}
    if case.op == "median":
        changes = {"method": "mean"} if case.floating else {"method": "mean", "dtype": "float64"}
        return [
            Rival(
                NAME,
                lambda: array.coarsen(windows).median(),
                changes=changes,
                difference="the mean of the two in the middle",
                **close,
            )
        ]
    if case.masked:
        valid = xr.DataArray(mask, dims=names)
        return [
            Rival(
                NAME,
                lambda: array.where(valid).coarsen(windows).mean(),
                changes={"min_count": 1, "fill": np.nan},
                **close,
            )
        ]
    changes = {"min_count": 1, "fill": np.nan} if case.floating else {"dtype": "float64"}
    return [
        Rival(
            NAME,
            lambda: array.coarsen(windows).mean(),
            changes=changes,
            difference="" if case.floating else "a mean in f64",
            **close,
        )
    ]
