"""OpenCV: medians of bytes and small windows, means of blocks, variances from two box filters, and dilation by any element."""

import cv2
import numpy as np

from problems import zeros
from science_peers import Rival, border
from science_problems import output_shape

NAME = "OpenCV"
REPLICATED = "copies of the border instead of fewer elements"


def load():
    cv2.setNumThreads(0)
    return cv2.__version__


def variance(case, x):
    """E[x²] - E[x]², which loses digits where the mean is large; these inputs have none."""
    size, wide = case.kernel[::-1], cv2.CV_64F if x.dtype == np.float64 else cv2.CV_32F
    mean, square, y = (zeros(x.shape, x.dtype) for _ in range(3))

    def run():
        cv2.boxFilter(x, wide, size, mean)
        cv2.sqrBoxFilter(x, wide, size, square)
        cv2.multiply(mean, mean, y)
        return cv2.subtract(square, y, y)

    return Rival(
        NAME, run, margin=border(case), relative=1e-3, absolute=1e-3, difference=f"E[x²] - E[x]², inexact; {REPLICATED}"
    )


def medians(case, x):
    k = case.kernel[0]
    if len(set(case.kernel)) > 1 or not (
        x.dtype == np.uint8 or k in (3, 5) and x.dtype in (np.uint16, np.int16, np.float32)
    ):
        return []
    y = zeros(x.shape, x.dtype)
    return [Rival(NAME, lambda: cv2.medianBlur(x, k, y), margin=border(case), difference=REPLICATED)]


def rivals(case, x, mask):
    if case.rank == 2 and case.filter == "white_tophat":
        element, y = np.ones(case.kernel, np.uint8), zeros(x.shape, x.dtype)
        return [Rival(NAME, lambda: cv2.morphologyEx(x, cv2.MORPH_TOPHAT, element, y), margin=border(case))]
    if case.filter or case.masked or case.omit:
        return []
    if case.rank == 2 and case.sliding and case.op == "median":
        return medians(case, x)
    if case.rank == 2 and case.sliding and case.op == "var" and case.floating:
        return [variance(case, x)]
    if case.rank == 2 and case.sliding and case.op in ("max", "min"):
        function = cv2.dilate if case.op == "max" else cv2.erode
        element = np.asarray(case.options.get("footprint", np.ones(case.kernel)), np.uint8)
        y = zeros(x.shape, x.dtype)
        return [Rival(NAME, lambda: function(x, element, y))]
    if case.op == "avg" and case.whole_blocks and case.rank == 3 and case.kernel[0] == 1:
        y = zeros(output_shape(case), x.dtype)

        def run():
            for plane, to in zip(x, y):
                cv2.resize(plane, to.shape[::-1], to, interpolation=cv2.INTER_AREA)
            return y

        return [Rival(NAME, run, absolute=1.0 if x.dtype.kind in "iu" else 1e-6, difference="halves are rounded up")]
    return []
