"""Writes MediaPipe's selfie model as an ONNX file that rembg and oriel-portrait take for a U-2-Net.

    python bench/selfie_onnx.py selfie_segmentation.tflite selfie.onnx [IMAGE...]

The input is that of a U-2-Net, 1x3x320x320 with ImageNet's mean and deviation. The graph undoes them, reduces the image to the network's
256x256, and ends with the network's own mask, 1x1x256x256. Prints the largest difference between masks of the images by ONNX Runtime
and by MediaPipe, both of which get the image in 256x256. Needs the packages onnx and tflite; for images onnxruntime, mediapipe, Pillow.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import tflite
from onnx import TensorProto, helper, numpy_helper

MEAN, SCALE = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE = 320
OPERATORS = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}
TYPES = {tflite.TensorType.FLOAT32: np.float32, tflite.TensorType.FLOAT16: np.float16, tflite.TensorType.INT32: np.int32}


class Lite:
    """The operators and constants of a TFLite file with one graph."""

    def __init__(self, path):
        self.model = tflite.Model.GetRootAsModel(Path(path).read_bytes(), 0)
        self.graph = self.model.Subgraphs(0)

    def shape(self, tensor):
        return [int(n) for n in self.graph.Tensors(tensor).ShapeAsNumpy()]

    def constant(self, tensor):
        """The values of a tensor that is stored in the file; None of one that is computed."""
        about = self.graph.Tensors(tensor)
        buffer = self.model.Buffers(about.Buffer())
        if buffer.DataLength() == 0:
            return None
        if about.Type() not in TYPES:
            raise ValueError(f"selfie_onnx: {about.Name().decode()} has type {about.Type()}; allowed: float32, float16, int32")
        return buffer.DataAsNumpy().view(TYPES[about.Type()]).reshape(self.shape(tensor))

    def operators(self):
        """(name, options or None, inputs, outputs) of each, in order."""
        for i in range(self.graph.OperatorsLength()):
            operator = self.graph.Operators(i)
            code = self.model.OperatorCodes(operator.OpcodeIndex())
            name = OPERATORS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            name = code.CustomCode().decode() if name == "CUSTOM" else name
            yield name, operator.BuiltinOptions(), list(operator.InputsAsNumpy()), list(operator.OutputsAsNumpy())


def options(table, kind):
    """A table of the file as the options of an operator."""
    found = kind()
    found.Init(table.Bytes, table.Pos)
    return found


class Writer:
    """Nodes and constants of an ONNX graph. Tensors of the file are NHWC, those here NCHW."""

    def __init__(self, lite):
        self.lite, self.nodes, self.constants, self.values = lite, [], [], {}

    def store(self, name, values):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))

    def value(self, tensor):
        """A constant's values, also one that was stored as float16."""
        values = self.values.get(tensor)
        return self.lite.constant(tensor) if values is None else values

    def convert(self, name, given, inputs, outputs):
        if name == "DEQUANTIZE":
            self.values[outputs[0]] = self.lite.constant(inputs[0]).astype(np.float32)
            return
        y = f"t{outputs[0]}"
        activation = self.layer(name, given, inputs, outputs[0], y)
        if activation == tflite.ActivationFunctionType.RELU:
            self.nodes[-1].output[0] = f"{y}_linear"
            self.add("Relu", [f"{y}_linear"], y)
        elif activation != tflite.ActivationFunctionType.NONE:
            raise ValueError(f"selfie_onnx: {name} has activation {activation}; allowed: none, ReLU")

    def layer(self, name, given, inputs, output, y):
        """Adds an operator; returns the activation that follows it."""
        x = f"t{inputs[0]}"
        simple = {"HARD_SWISH": "HardSwish", "RELU": "Relu", "LOGISTIC": "Sigmoid"}
        if name in simple:
            self.add(simple[name], [x], y)
        elif name in ("ADD", "MUL"):
            about = options(given, tflite.AddOptions if name == "ADD" else tflite.MulOptions)
            if any(self.value(tensor) is not None for tensor in inputs):
                raise ValueError(f"selfie_onnx: {name} has a constant input; allowed: two computed ones")
            self.add(name.capitalize(), [x, f"t{inputs[1]}"], y)
            return about.FusedActivationFunction()
        elif name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            return self.convolution(name, given, inputs, output, y)
        elif name == "AVERAGE_POOL_2D":
            about = options(given, tflite.Pool2DOptions)
            window = [about.FilterHeight(), about.FilterWidth()]
            self.add("AveragePool", [x], y, kernel_shape=window, strides=[about.StrideH(), about.StrideW()],
                     pads=self.pads(about, inputs[0], window, [1, 1]))
            return about.FusedActivationFunction()
        elif name == "RESIZE_BILINEAR":
            about = options(given, tflite.ResizeBilinearOptions)
            mode = "align_corners" if about.AlignCorners() else "half_pixel" if about.HalfPixelCenters() else "asymmetric"
            self.resize(x, y, self.lite.shape(inputs[0])[3], self.value(inputs[1]), mode)
        elif name == "Convolution2DTransposeBias":
            weights = self.value(inputs[1])
            if weights.shape[1:3] != (2, 2):
                raise ValueError(f"selfie_onnx: {name} has a window of {weights.shape[1:3]}; allowed: 2x2, with stride 2")
            self.add("ConvTranspose", [x, self.store(f"{y}_w", weights.transpose(3, 0, 1, 2)), self.store(f"{y}_b", self.value(inputs[2]))], y,
                     strides=[2, 2])
        else:
            raise ValueError(f"selfie_onnx: the file has the operator {name}, which is not known")
        return tflite.ActivationFunctionType.NONE

    def convolution(self, name, given, inputs, output, y):
        deep = name == "DEPTHWISE_CONV_2D"
        about = options(given, tflite.DepthwiseConv2DOptions if deep else tflite.Conv2DOptions)
        weights = self.value(inputs[1])
        weights = weights.transpose(3, 0, 1, 2) if deep else weights.transpose(0, 3, 1, 2)
        dilations = [about.DilationHFactor(), about.DilationWFactor()]
        self.add("Conv", [f"t{inputs[0]}", self.store(f"{y}_w", weights), self.store(f"{y}_b", self.value(inputs[2]))], y,
                 group=self.lite.shape(inputs[0])[3] if deep else 1, strides=[about.StrideH(), about.StrideW()], dilations=dilations,
                 pads=self.pads(about, inputs[0], weights.shape[2:], dilations))
        return about.FusedActivationFunction()

    def pads(self, about, tensor, window, dilations):
        """Top, left, bottom, right. Of an odd number, the last side gets more."""
        if about.Padding() == tflite.Padding.VALID:
            return [0, 0, 0, 0]
        extents, strides = self.lite.shape(tensor)[1:3], (about.StrideH(), about.StrideW())
        total = [max((-(-n // s) - 1) * s + (w - 1) * d + 1 - n, 0) for n, s, w, d in zip(extents, strides, window, dilations, strict=True)]
        return [*(n // 2 for n in total), *(n - n // 2 for n in total)]

    def resize(self, x, y, channels, size, mode):
        sizes = self.store(f"{y}_sizes", np.array([1, channels, *size], np.int64))
        self.add("Resize", [x, "", "", sizes], y, mode="linear", coordinate_transformation_mode=mode)


def put_before(writer, source):
    """Makes the network's input `source` from the image that programs make for a U-2-Net."""
    _, height, width, channels = writer.lite.shape(source)
    writer.add("Mul", ["image", writer.store("scale", np.array(SCALE, np.float32).reshape(1, 3, 1, 1))], "scaled")
    writer.add("Add", ["scaled", writer.store("mean", np.array(MEAN, np.float32).reshape(1, 3, 1, 1))], "colours")
    writer.resize("colours", f"t{source}", channels, (height, width), "half_pixel")


def converted(path, as_u2net=True):
    """The ONNX model of a TFLite file: with the input of a U-2-Net, or with the file's own, as planes, for comparisons."""
    lite = Lite(path)
    source, target = lite.graph.Inputs(0), lite.graph.Outputs(0)
    writer = Writer(lite)
    if as_u2net:
        put_before(writer, source)
    for operator in lite.operators():
        writer.convert(*operator)
    writer.nodes[-1].output[0] = "mask"

    def planes(name, tensor):
        _, height, width, channels = lite.shape(tensor)
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, height, width])

    given = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE]) if as_u2net else planes(f"t{source}", source)
    graph = helper.make_graph(writer.nodes, "selfie", [given], [planes("mask", target)], writer.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


def difference(path, images):
    """The largest difference between masks by ONNX Runtime of the model converted from `path`, and by MediaPipe, which has the same file."""
    import mediapipe
    import onnxruntime
    from PIL import Image

    session = onnxruntime.InferenceSession(converted(path, as_u2net=False).SerializeToString())
    given = session.get_inputs()[0]
    solution, found = mediapipe.solutions.selfie_segmentation.SelfieSegmentation(model_selection=0), 0.0
    for image in images:
        small = np.ascontiguousarray(Image.open(image).convert("RGB").resize(given.shape[:1:-1], Image.Resampling.BILINEAR))
        mask = session.run(None, {given.name: (small.astype(np.float32) / 255).transpose(2, 0, 1)[None]})[0][0, 0]
        found = max(found, float(np.abs(mask - solution.process(small).segmentation_mask).max()))
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    onnx.save(converted(sys.argv[1]), sys.argv[2])
    if sys.argv[3:]:
        print(difference(sys.argv[1], sys.argv[3:]))


if __name__ == "__main__":
    main()
