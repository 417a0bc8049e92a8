"""tinybrain: modes and means of 2x2 and 2x2x2 blocks of volumes in Fortran's order."""

from importlib import metadata

import numpy as np
import tinybrain

from science_peers import Rival, as_frequent

NAME = "tinybrain"


def load():
    return metadata.version("tinybrain")


def rivals(case, x, mask):
    if (
        case.masked
        or case.omit
        or case.rank != 3
        or not case.whole_blocks
        or case.kernel not in ((1, 2, 2), (2, 2, 2))
        or case.options
    ):
        return []
    factors, volume = tuple(reversed(case.kernel)), x.T  # the same memory, its fastest axis first
    if case.op == "mode":
        return [
            Rival(
                NAME,
                lambda: tinybrain.downsample_segmentation(volume, factors, num_mips=1),
                lambda made: made[0].T,
                accepts=as_frequent(case, x),
                difference="of equally frequent labels it takes another one",
            )
        ]
    if case.op == "avg" and x.dtype in (np.uint8, np.uint16, np.float32):
        return [
            Rival(
                NAME,
                lambda: tinybrain.downsample_with_averaging(volume, factors, num_mips=1),
                lambda made: made[0].T,
                absolute=1.0 if x.dtype.kind == "u" else 1e-6,
                difference="means are cut off, not rounded",
            )
        ]
    return []
