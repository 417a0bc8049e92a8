"""DIPlib: medians, percentiles, variances and morphology of any shape, type and rank."""

import diplib as dip
import numpy as np

from science_peers import Rival, border

NAME = "DIPlib"
MIRRORED = "mirrored border instead of fewer elements"


def load():
    dip.SetNumberOfThreads(1)
    return dip.__version__


def rivals(case, x, mask):
    if case.masked or case.omit or not case.sliding:
        return []
    there = {"margin": border(case), "difference": MIRRORED}
    size = list(reversed(case.kernel))
    box = dip.Kernel(size, "rectangular")
    if case.filter == "white_tophat":
        element = dip.SE(size, "rectangular")
        return [Rival(NAME, lambda: dip.Tophat(x, element, edgeType="texture", polarity="white"), **there)]
    if case.filter:
        return []
    if case.op == "median":
        return [Rival(NAME, lambda: dip.MedianFilter(x, box), **there)]
    if case.op == "quantile":
        return [Rival(NAME, lambda: dip.PercentileFilter(x, 100 * case.options["q"], box), **there)]
    if case.op == "var" and case.floating:
        return [
            Rival(
                NAME,
                lambda: dip.VarianceFilter(x, box),
                changes={"ddof": 1},
                margin=border(case),
                relative=1e-4,
                absolute=1e-4,
                difference=f"ddof 1; {MIRRORED}",
            )
        ]
    if case.op in ("max", "min") and "footprint" in case.options:
        element = dip.SE(dip.Image(np.asarray(case.options["footprint"])))
        function = dip.Dilation if case.op == "max" else dip.Erosion
        return [Rival(NAME, lambda: function(x, element), **there)]
    return []
