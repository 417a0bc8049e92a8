"""numbagg: reductions of several axes, compiled when they are first called."""

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numbagg  # noqa: E402
import numpy as np  # noqa: E402

from science_peers import Rival, split, within  # noqa: E402

NAME = "numbagg"


def load():
    return numbagg.__version__


def rivals(case, x, mask):
    if case.filter or case.masked or not case.floating or not case.whole_blocks:
        return []
    close = {"relative": 1e-6, "absolute": 1e-6}
    if case.op == "avg" and case.omit:
        return [
            Rival(
                NAME,
                lambda: numbagg.nanmean(split(case, x), axis=within(case)),
                changes={"min_count": 1, "fill": np.nan},
                **close,
            )
        ]
    if case.op == "median":
        return [
            Rival(
                NAME,
                lambda: numbagg.nanmedian(split(case, x), axis=within(case)),
                changes={"method": "mean"},
                difference="the mean of the two in the middle",
                **close,
            )
        ]
    return []
