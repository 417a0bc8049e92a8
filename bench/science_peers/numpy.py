"""What NumPy's users write: reductions of reshaped arrays and of views of windows."""

import warnings

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from science_peers import Rival, border, gathered, split, within

NAME = "NumPy"


def load():
    warnings.filterwarnings("ignore", message="Mean of empty slice")  # blocks of NaNs
    return np.__version__


def masked_mean(case, x, mask):
    blocks, valid, axes = split(case, x), split(case, mask), within(case)

    def run():
        with np.errstate(invalid="ignore"):
            return np.where(valid, blocks, 0).sum(axes) / valid.sum(axes).astype(x.dtype)

    return run


def rivals(case, x, mask):
    if case.filter:
        return []
    if case.sliding and case.omit and case.op == "median":
        padded = np.pad(x, [(k // 2, k // 2) for k in case.kernel], constant_values=np.nan)
        windows = sliding_window_view(padded, case.kernel)
        axes = tuple(range(case.rank, 2 * case.rank))
        return [Rival(NAME, lambda: np.nanmedian(windows, axis=axes), margin=border(case))]
    if not case.whole_blocks:
        return []
    close = {"relative": 1e-6, "absolute": 1e-6}
    if case.op == "median" and case.plain:
        middle = (case.taps - 1) // 2
        return [Rival(f"{NAME} partition", lambda: np.partition(gathered(case, x), middle, -1)[..., middle])]
    if case.op == "avg" and case.masked:
        return [Rival(NAME, masked_mean(case, x, mask), changes={"min_count": 1, "fill": np.nan}, **close)]
    if case.op == "avg" and case.omit:
        return [
            Rival(
                NAME,
                lambda: np.nanmean(split(case, x), within(case)),
                changes={"min_count": 1, "fill": np.nan},
                **close,
            )
        ]
    if case.op == "avg":
        return [
            Rival(
                NAME,
                lambda: split(case, x).mean(within(case)),
                changes={"dtype": "float64"},
                difference="a mean in f64",
                **close,
            )
        ]
    return []
