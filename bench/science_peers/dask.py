"""Dask's coarsen, in one chunk and without its threads."""

import warnings

import dask
import dask.array as da
import numpy as np

from science_peers import Rival

NAME = "Dask"


def load():
    warnings.filterwarnings("ignore", message="Mean of empty slice")  # blocks of NaNs
    return dask.__version__


def rivals(case, x, mask):
    if case.filter or case.masked or not case.whole_blocks or case.op not in ("avg", "median"):
        return []
    axes = dict(enumerate(case.kernel))
    array = da.from_array(x, chunks=x.shape)
    function = np.median if case.op == "median" else np.nanmean if case.omit else np.mean
    changes = {} if case.floating else {"dtype": "float64"}
    if case.op == "median":
        changes["method"] = "mean"
    if case.omit:
        changes |= {"min_count": 1, "fill": np.nan}
    coarse = da.coarsen(function, array, axes)
    return [
        Rival(
            NAME,
            lambda: coarse.compute(scheduler="synchronous"),
            changes=changes,
            relative=1e-6,
            absolute=1e-6,
            difference="the mean of the two in the middle"
            if case.op == "median"
            else ""
            if case.floating
            else "a mean in f64",
        )
    ]
