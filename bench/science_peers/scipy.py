"""SciPy's filters of ndimage: any rank and type; float64 inside."""

import numpy as np
import scipy
from scipy import ndimage

from problems import zeros
from science_peers import Rival, border

NAME = "SciPy"


def load():
    return scipy.__version__


def variance(case, x):
    mean, square = zeros(x.shape, x.dtype), zeros(x.shape, x.dtype)

    def run():
        ndimage.uniform_filter(x, case.kernel, mean)
        ndimage.uniform_filter(x * x, case.kernel, square)
        return square - mean * mean

    return Rival(
        NAME,
        run,
        margin=border(case),
        relative=1e-3,
        absolute=1e-3,
        difference="E[x²] - E[x]², inexact; mirrored border",
    )


def rivals(case, x, mask):
    if case.masked or not case.sliding:
        return []
    there = {"margin": border(case), "difference": "mirrored border instead of fewer elements"}
    y = zeros(x.shape, x.dtype)
    if case.filter == "white_tophat":
        return [Rival(NAME, lambda: ndimage.white_tophat(x, case.kernel, output=y), lambda made: y, **there)]
    if case.filter:
        return []
    if case.omit:
        if case.op != "median":
            return []
        return [
            Rival(
                f"{NAME} vectorized_filter",
                lambda: ndimage.vectorized_filter(x, np.nanmedian, size=case.kernel),
                **there,
            )
        ]
    if case.op == "median":
        return [Rival(NAME, lambda: ndimage.median_filter(x, case.kernel, output=y), lambda made: y, **there)]
    if case.op == "quantile" and case.options.get("method") == "scipy":
        return [
            Rival(
                NAME,
                lambda: ndimage.percentile_filter(x, 100 * case.options["q"], case.kernel, output=y),
                lambda made: y,
                **there,
            )
        ]
    if case.op == "var" and case.floating:
        return [variance(case, x)]
    if case.op in ("max", "min") and "footprint" in case.options:
        function = ndimage.grey_dilation if case.op == "max" else ndimage.grey_erosion
        return [
            Rival(NAME, lambda: function(x, footprint=case.options["footprint"], output=y), lambda made: y, **there)
        ]
    return []
