"""OpenCV's filters: dilate, erode, blur and resize on images, plane by plane where there are few."""

import math

import cv2
import numpy as np

from peers import blocks, same_size
from problems import zeros
from timing import Contender

NAME = "OpenCV"
MOST_PLANES = 16  # more of them would measure Python


def load(threads):
    cv2.setNumThreads(threads if threads > 1 else 0)
    return cv2.__version__


def images(problem, array):
    """The array as images (rows, columns[, channels]), or None."""
    n = len(problem.axes)
    if problem.order or n > 2:
        return None
    if problem.channels == "none":
        return [array] if n == 2 else [array[None]]
    if problem.channels == "first":
        if math.prod(array.shape[:2]) > MOST_PLANES:
            return [array[0]] if n == 1 and array.shape[0] == 1 else None
        planes = array.reshape(-1, *array.shape[2:])
        return list(planes) if n == 2 else [planes]
    if problem.channels == "last" and n == 2 and array.shape[0] <= MOST_PLANES and array.shape[-1] <= 4:
        return list(array)
    return None


def filtering(problem):
    """A function of (image, output), or None."""
    size = problem.kernel[::-1] if len(problem.kernel) == 2 else (*problem.kernel, 1)
    if problem.op in ("max", "min"):
        function = cv2.dilate if problem.op == "max" else cv2.erode
        apart = problem.dilation[::-1] if len(problem.kernel) == 2 else (*problem.dilation, 1)
        shape = [(k - 1) * d + 1 for k, d in zip(size, apart)]
        element = np.zeros(shape[::-1], np.uint8)
        element[:: apart[1], :: apart[0]] = 1
        return lambda x, y: function(x, element, y)
    if problem.op == "avg" and problem.include_pad and not problem.divisor and set(problem.dilation) == {1}:
        return lambda x, y: cv2.blur(x, size, y, borderType=cv2.BORDER_CONSTANT)
    if problem.op == "sum" and set(problem.dilation) == {1}:
        return lambda x, y: cv2.boxFilter(x, -1, size, y, normalize=False, borderType=cv2.BORDER_CONSTANT)
    return None


def contenders(problem, x, dy):
    if (
        problem.dtype not in ("f32", "f64", "u8", "i16", "u16")
        or problem.omit
        or problem.same
        or not x.flags.c_contiguous
        and not problem.cropped
    ):
        return []
    call = None
    if same_size(problem):
        call = filtering(problem)
    elif blocks(problem) and problem.op == "avg" and len(problem.axes) == 2 and not problem.divisor:
        call = lambda x, y: cv2.resize(x, y.shape[1::-1], y, interpolation=cv2.INTER_AREA)  # noqa: E731
    if call is None:
        return []
    y = zeros(problem.output_shape, x.dtype)
    pairs = list(zip(images(problem, x) or [], images(problem, y) or []))
    if not pairs:
        return []

    def run():
        for image, output in pairs:
            call(image, output)

    return [Contender(NAME, run, lambda: y)]
