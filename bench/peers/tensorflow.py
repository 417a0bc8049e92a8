"""TensorFlow's kernels, called eagerly as raw operations; its pools on the CPU know channels-last tensors alone."""

import numpy as np
import tensorflow as tf

from timing import Contender

NAME = "TensorFlow"


def load(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.set_visible_devices([], "GPU")
    return tf.__version__


def padding_of(problem, uniform):
    """TensorFlow's words for the padding: VALID, SAME, EXPLICIT with its list; or None."""
    if set(uniform.padding) == {(0, 0)}:
        return {"padding": "VALID"}
    if problem.op == "avg" and problem.include_pad:
        return None
    same = all(
        (hi + lo, lo) == (total, total // 2)
        for n, k, s, (lo, hi) in zip(problem.spatial, uniform.kernel, uniform.stride, uniform.padding)
        for total in [max((-(-n // s) - 1) * s + k - n, 0)]
    )
    if same:
        return {"padding": "SAME"}
    if problem.op == "max" and len(problem.axes) == 2 and not problem.backward:
        return {
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, *(v for pair in uniform.padding for v in pair), 0, 0],
        }
    return None


def operation(problem, x, dy):
    """A function without arguments, or None."""
    raw, n = tf.raw_ops, len(problem.axes)
    uniform = problem.uniform()
    if problem.kind == "global" and not problem.backward:
        functions = {"max": raw.Max, "min": raw.Min, "avg": raw.Mean, "sum": raw.Sum}
        function, axes = functions.get(problem.op), tf.constant(list(range(1, n + 1)))
        return function and (lambda: function(input=x, axis=axes, keep_dims=True))
    if (
        uniform.kind != "uniform"
        or problem.op not in ("max", "avg")
        or set(uniform.dilation) != {1}
        or problem.divisor
        or n not in (2, 3)
    ):
        return None
    words = padding_of(problem, uniform)
    if words is None:
        return None
    words |= dict(
        ksize=[1, *uniform.kernel, 1], strides=[1, *uniform.stride, 1], data_format="NHWC" if n == 2 else "NDHWC"
    )
    if not problem.backward:
        function = {
            ("max", 2): raw.MaxPool,
            ("avg", 2): raw.AvgPool,
            ("max", 3): raw.MaxPool3D,
            ("avg", 3): raw.AvgPool3D,
        }[problem.op, n]
        word = "input" if function is not raw.AvgPool and function is not raw.AvgPool3D else "value"
        word = "input" if n == 3 else word
        return lambda: function(**{word: x}, **words)
    if problem.op == "max":
        y = (raw.MaxPool if n == 2 else raw.MaxPool3D)(input=x, **words)
        function = raw.MaxPoolGrad if n == 2 else raw.MaxPool3DGrad
        return lambda: function(orig_input=x, orig_output=y, grad=dy, **words)
    shape = tf.constant(x.shape.as_list())
    function = raw.AvgPoolGrad if n == 2 else raw.AvgPool3DGrad
    return lambda: function(orig_input_shape=shape, grad=dy, **words)


def contenders(problem, x, dy):
    if problem.channels != "last" or problem.places or problem.ceil or problem.omit or problem.same or problem.cropped:
        return []
    with tf.device("/CPU:0"):
        call = operation(problem, tf.constant(x), None if dy is None else tf.constant(dy))
    if call is None:
        return []
    kept = {}

    def run():
        kept["y"] = call()

    return [Contender(NAME, run, lambda: np.asarray(kept["y"]))]
