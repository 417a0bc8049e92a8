"""SciPy's filters of ndimage, which take as long for any window size. They know one thread."""

import numpy as np
import scipy
from scipy import ndimage

from peers import same_size
from problems import zeros
from timing import Contender

NAME = "SciPy"


def load(threads):
    return scipy.__version__


def contenders(problem, x, dy):
    if (
        not same_size(problem)
        or problem.omit
        or problem.dtype in ("f16", "bf16")
        or set(problem.dilation) != {1}
        or problem.divisor
        or not problem.include_pad
    ):
        return []
    if problem.op in ("max", "min"):
        function = ndimage.maximum_filter if problem.op == "max" else ndimage.minimum_filter
        edge = np.inf if problem.floating else float(np.iinfo(x.dtype).max)
        lowest = -np.inf if problem.floating else float(np.iinfo(x.dtype).min)
        outside = lowest if problem.op == "max" else edge
    elif problem.op == "avg" and problem.floating:
        function, outside = ndimage.uniform_filter, 0.0
    else:
        return []
    y = zeros(x.shape, x.dtype)
    size = list(problem.kernel)
    return [
        Contender(
            NAME, lambda: function(x, size, output=y, mode="constant", cval=outside, axes=problem.axes), lambda: y
        )
    ]
