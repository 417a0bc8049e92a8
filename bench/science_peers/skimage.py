"""scikit-image: rank filters of bytes and 12 bits, morphology, means of blocks, Sauvola's threshold. It knows one thread."""

import warnings

import numpy as np
import skimage
from skimage import filters, measure, morphology
from skimage.filters import rank

from science_peers import Rival, border

NAME = "scikit-image"
MIRRORED = {"difference": "mirrored border instead of fewer elements"}


def load():
    warnings.filterwarnings("ignore", message="Bad rank filter performance")  # of 12 bits
    return skimage.__version__


def rank_filters(case, x):
    footprint, y = np.ones(case.kernel, np.uint8), np.empty_like(x)
    if case.rank != 2 or not (x.dtype == np.uint8 or x.dtype == np.uint16 and case.content == "12bits"):
        return []
    function = {"median": rank.median, "mode": rank.majority}[case.op]
    # Of an even number of elements, which only borders have, it takes the larger one in the middle.
    margin = border(case) if case.op == "median" else ()
    return [Rival(f"{NAME} rank", lambda: function(x, footprint, out=y), margin=margin)]


def rivals(case, x, mask):
    if case.filter == "sauvola":
        return [
            Rival(
                NAME,
                lambda: filters.threshold_sauvola(x, case.kernel[0]),
                margin=border(case),
                relative=1e-4,
                absolute=1e-4,
            )
        ]
    if case.filter == "white_tophat":
        return [
            Rival(
                NAME,
                lambda: morphology.white_tophat(x, np.ones(case.kernel, np.uint8)),
                margin=border(case),
                **MIRRORED,
            )
        ]
    if case.masked or case.omit:
        return []
    if case.sliding and case.op in ("median", "mode"):
        return rank_filters(case, x)
    if case.sliding and case.op in ("max", "min") and "footprint" in case.options:
        function = morphology.dilation if case.op == "max" else morphology.erosion
        footprint = case.options["footprint"].astype(np.uint8)
        return [Rival(NAME, lambda: function(x, footprint), margin=border(case), **MIRRORED)]
    if case.whole_blocks and case.op == "avg":
        return [
            Rival(
                NAME,
                lambda: measure.block_reduce(x, case.kernel, np.mean),
                changes={"dtype": "float64"},
                relative=1e-6,
                absolute=1e-6,
                difference="a mean in f64",
            )
        ]
    return []
