"""OpenVINO: a compiled model of one operation, its tensors in memory of ours."""

import sys

import numpy as np

sys.modules["openvino_telemetry"] = None  # importing OpenVINO would send usage data, from a process that it forks
import openvino  # noqa: E402
from openvino import opset8, opset14  # noqa: E402

from problems import zeros  # noqa: E402
from timing import Contender  # noqa: E402

NAME = "OpenVINO"
KINDS = {word: getattr(openvino.Type, word) for word in ("f32", "f16", "bf16", "u8", "i8", "i32")}
core = openvino.Core()
settings = {}


def load(threads):
    settings.update(
        {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,
            "INFERENCE_PRECISION_HINT": "f32",
        }
    )
    return openvino.__version__.split("-")[0]


def operation(problem, x):
    uniform = problem.uniform()
    axes = np.arange(2, 2 + len(problem.axes))
    if problem.kind == "global":
        reduce = {
            "max": opset8.reduce_max,
            "min": opset8.reduce_min,
            "avg": opset8.reduce_mean,
            "sum": opset8.reduce_sum,
        }
        return reduce[problem.op](x, axes, True) if problem.op in reduce else None
    if uniform.kind == "adaptive":
        if problem.op == "avg":
            return opset8.adaptive_avg_pool(x, np.array(problem.output_size))
        return (
            opset8.adaptive_max_pool(x, np.array(problem.output_size), "i32").output(0) if problem.op == "max" else None
        )
    k, s = list(uniform.kernel), list(uniform.stride)
    begin, end = [lo for lo, _ in uniform.padding], [hi for _, hi in uniform.padding]
    rounding = "ceil_torch" if problem.ceil else "floor"
    if problem.op == "max":
        return opset14.max_pool(x, s, list(uniform.dilation), begin, end, k, rounding, "explicit", "i32").output(0)
    if problem.op == "avg" and set(uniform.dilation) == {1} and not problem.divisor:
        return opset14.avg_pool(x, s, begin, end, k, not problem.include_pad, rounding, "explicit")
    return None


def contenders(problem, x, dy):
    if (
        problem.channels not in ("first", "none")
        or problem.order
        or problem.backward
        or problem.places
        or problem.omit
        or problem.same
        or problem.cropped
        or problem.dtype not in KINDS
        or problem.op == "lp"
    ):
        return []
    lead = (1, 1) if problem.channels == "none" else ()
    kind = KINDS[problem.dtype]
    parameter = opset8.parameter(list(lead + x.shape), kind)
    made = operation(problem, parameter)
    if made is None:
        return []
    model = openvino.Model([made], [parameter], "pool")
    precision = {"f16": {"INFERENCE_PRECISION_HINT": "f16"}, "bf16": {"INFERENCE_PRECISION_HINT": "bf16"}}.get(
        problem.dtype, {}
    )
    request = core.compile_model(model, "CPU", settings | precision).create_infer_request()
    y = zeros(lead + problem.output_shape, x.dtype)
    into, out = tensor(x.reshape(lead + x.shape), kind), tensor(y, kind)
    request.set_input_tensor(0, into)
    request.set_output_tensor(0, out)
    return [Contender(NAME, lambda: request.infer(), lambda: y.reshape(problem.output_shape))]


def tensor(array, kind):
    if array.dtype.name == "bfloat16":
        return openvino.Tensor(array.view(np.int16), list(array.shape), kind)
    return openvino.Tensor(array, shared_memory=True)
