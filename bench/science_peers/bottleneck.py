"""bottleneck: reductions along one axis, so blocks are gathered first."""

import bottleneck as bn
import numpy as np

from science_peers import Rival, gathered

NAME = "bottleneck"


def load():
    return bn.__version__


def rivals(case, x, mask):
    if case.filter or case.masked or not case.floating or not case.whole_blocks:
        return []
    close = {"relative": 1e-6, "absolute": 1e-6}
    if case.op == "avg" and case.omit:
        return [
            Rival(
                NAME, lambda: bn.nanmean(gathered(case, x), axis=-1), changes={"min_count": 1, "fill": np.nan}, **close
            )
        ]
    if case.op == "median":
        return [
            Rival(
                NAME,
                lambda: bn.median(gathered(case, x), axis=-1),
                changes={"method": "mean"},
                difference="the mean of the two in the middle",
                **close,
            )
        ]
    return []
