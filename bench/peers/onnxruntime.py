"""onnxruntime: a model of one node, its input and output bound to memory of ours."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from problems import zeros
from timing import Contender

NAME = "onnxruntime"
KINDS = {
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "f16": TensorProto.FLOAT16,
    "u8": TensorProto.UINT8,
    "i8": TensorProto.INT8,
}
options = onnxruntime.SessionOptions()


def load(threads):
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry(
        "session.force_spinning_stop", "1"
    )  # idle threads do not disturb the next contender
    return onnxruntime.__version__


def node(problem):
    """The node and the opset that has it, or None."""
    uniform = problem.uniform()
    names = {"max": "MaxPool", "avg": "AveragePool", "lp": "LpPool"}
    if problem.op not in names or problem.divisor or uniform.kind != "uniform":
        return None
    if problem.kind == "global":
        words = {"p": int(problem.norm)} if problem.op == "lp" else {}
        return helper.make_node("Global" + names[problem.op], ["x"], ["y"], **words), 13
    if problem.op == "lp" and problem.norm != int(problem.norm):
        return None
    words = dict(
        kernel_shape=uniform.kernel,
        strides=uniform.stride,
        pads=[lo for lo, _ in uniform.padding] + [hi for _, hi in uniform.padding],
    )
    dilated = set(uniform.dilation) != {1}
    if problem.op == "max" or dilated:
        words["dilations"] = uniform.dilation
    if problem.op != "lp":
        words["ceil_mode"] = int(problem.ceil)
    if problem.op == "avg":
        words["count_include_pad"] = int(problem.include_pad)
    if problem.op == "lp":
        words["p"] = int(problem.norm)
    outputs = ["y", "indices"] if problem.places else ["y"]
    return helper.make_node(
        names[problem.op], ["x"], outputs, **words
    ), 19 if dilated else 13  # the newer ones are slower


def contenders(problem, x, dy):
    if (
        problem.channels not in ("first", "none")
        or problem.order
        or problem.backward
        or problem.omit
        or problem.same
        or problem.cropped
        or problem.dtype not in KINDS
    ):
        return []
    made = node(problem)
    if made is None:
        return []
    lead = (1, 1) if problem.channels == "none" else ()
    x = x.reshape(lead + x.shape)
    y = zeros(lead + problem.output_shape, x.dtype)
    outputs = [helper.make_tensor_value_info("y", KINDS[problem.dtype], y.shape)]
    if problem.places:
        outputs.append(helper.make_tensor_value_info("indices", TensorProto.INT64, y.shape))
    graph = helper.make_graph(
        [made[0]], "pool", [helper.make_tensor_value_info("x", KINDS[problem.dtype], x.shape)], outputs
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", made[1])], ir_version=8)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding, kept = session.io_binding(), [x, y]
    binding.bind_input("x", "cpu", 0, x.dtype, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, y.dtype, y.shape, y.ctypes.data)
    if problem.places:
        indices = zeros(y.shape, np.int64)
        kept.append(indices)
        binding.bind_output("indices", "cpu", 0, indices.dtype, indices.shape, indices.ctypes.data)
    return [Contender(NAME, lambda: session.run_with_iobinding(binding), lambda: kept[1].reshape(problem.output_shape))]
