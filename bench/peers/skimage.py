"""scikit-image's block_reduce: windows that lie side by side."""

import numpy as np
import skimage
from skimage.measure import block_reduce

from peers import blocks
from timing import Contender

NAME = "scikit-image"


def load(threads):
    return skimage.__version__


def contenders(problem, x, dy):
    functions = {"max": np.max, "min": np.min, "avg": np.mean, "sum": np.sum}
    if (
        not blocks(problem)
        or problem.op not in functions
        or problem.dtype in ("f16", "bf16")
        or problem.omit
        or problem.divisor
    ):
        return []
    if problem.op in ("avg", "sum") and not problem.floating:
        return []
    size = [1] * x.ndim
    for axis, k in zip(problem.axes, problem.kernel):
        size[axis] = k
    kept = {}

    def run():
        kept["y"] = block_reduce(x, tuple(size), functions[problem.op])

    return [Contender(NAME, run, lambda: kept["y"].astype(x.dtype, copy=False))]
