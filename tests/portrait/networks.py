"""Small networks in files of ONNX and TensorFlow Lite, with the signatures of known ones: each sees one colour.

A network's mask is 1 where the prepared input is within EPS of `colour` in every channel, else 0: so a mask is right only
if the size, the order of channels, mean and deviation are.
"""

import flatbuffers
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EPS, STEEP = 0.12, 200.0
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def prepared(colour, mean=(0, 0, 0), scale=(1, 1, 1), most=255):
    """What a colour of bytes becomes."""
    return (np.array(colour) / most - mean) / scale


def constant(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def sees(picture, colour, out="logits"):
    """Nodes and constants: the logits [n][1][h][w] of `picture` [n][3][h][w]."""
    nodes = [helper.make_node("Sub", [picture, "wanted"], ["difference"]), helper.make_node("Abs", ["difference"], ["distance"]),
             helper.make_node("Conv", ["distance", "kernel", "bias"], [out])]
    constants = [constant("wanted", np.reshape(colour, (1, 3, 1, 1))), constant("kernel", np.full((1, 3, 1, 1), -STEEP)),
                 constant("bias", [STEEP * EPS])]
    return nodes, constants


def save(path, nodes, inputs, outputs, constants, **options):
    """Names and shapes of inputs and outputs; -1 and words are free extents."""
    def ports(named):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None if n == -1 else n for n in shape])
                for name, shape in named.items()]

    graph = helper.make_graph(nodes, "network", ports(inputs), ports(outputs), constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, **options)
    return path.name


def one(path, name, size, colour, outputs=1, sigmoid=True, attention=False, output="out", reshaped=False):
    """A network of one picture: U-2-Net's, IS-Net's, BiRefNet's, MODNet's, by its size and outputs.

    `reshaped`: what follows the sigmoid changes the shape, but no value.
    """
    nodes, constants = sees(name, colour)
    ends = [output, *(f"d{i}" for i in range(1, outputs))]
    bounded = "shares" if reshaped else output
    nodes.append(helper.make_node("Sigmoid" if sigmoid else "Identity", ["logits"], [bounded]))
    if reshaped:
        constants += [constant("flat", [1, size, size], np.int64), constant("axis", [0], np.int64)]
        nodes += [helper.make_node("Reshape", [bounded, "flat"], ["plane"]), helper.make_node("Unsqueeze", ["plane", "axis"], [output])]
    for end in ends[1:]:  # further outputs, which must not be taken
        nodes += [helper.make_node("Neg", ["logits"], [end + "_raw"]), helper.make_node("Sigmoid", [end + "_raw"], [end])]
    if attention:
        nodes.insert(0, helper.make_node("MatMul", [name, "identity"], ["seen"]))
        nodes[1].input[0] = "seen"
        constants.append(constant("identity", np.eye(size)))
    return save(path, nodes, {name: (1, 3, size, size)}, {end: (1, 1, size, size) for end in ends}, constants)


def video_matting(path, colour):
    """Robust Video Matting's signature. The first state counts frames, and the mask is empty in the first two."""
    nodes, constants = sees("src", colour)
    constants += [constant("one", [1.0]), constant("zero", [0.0])]
    nodes += [helper.make_node("Sigmoid", ["logits"], ["seen"]), helper.make_node("Sub", ["r1i", "one"], ["late"]),
              helper.make_node("Clip", ["late", "zero_", "one_"], ["share"]),
              helper.make_node("ReduceMax", ["share"], ["all"], keepdims=1), helper.make_node("Mul", ["seen", "all"], ["product"]),
              helper.make_node("Mul", ["product", "downsample_ratio"], ["scaled"]),
              helper.make_node("Clip", ["scaled", "zero_", "one_"], ["pha"]), helper.make_node("Identity", ["src"], ["fgr"]),
              helper.make_node("Add", ["r1i", "one"], ["r1o"])]
    constants += [constant("zero_", 0.0), constant("one_", 1.0)]
    nodes += [helper.make_node("Identity", [f"r{i}i"], [f"r{i}o"]) for i in (2, 3, 4)]
    states = {f"r{i}i": ("b", f"c{i}", f"h{i}", f"w{i}") for i in (1, 2, 3, 4)}
    return save(path, nodes, {"src": ("b", 3, "h", "w"), **states, "downsample_ratio": (1,)},
                {"fgr": ("b", 3, "h", "w"), "pha": ("b", 1, "h", "w"), **{k.replace("i", "o"): v for k, v in states.items()}}, constants)


class Lite:
    """A model of TensorFlow Lite, written as its schema's tables: numbers are the fields' places in them."""

    BUILTIN = {"CONV_2D": 3, "LOGISTIC": 14, "CUSTOM": 32, "SUB": 41, "ABS": 101}

    def __init__(self):
        self.builder = flatbuffers.Builder(1 << 16)
        self.buffers, self.tensors, self.codes, self.operators = [b""], [], [], []

    def tensor(self, name, shape, values=None):
        """Its number; with values a constant."""
        if values is not None:
            self.buffers.append(np.ascontiguousarray(values, np.float32).tobytes())
        self.tensors.append((name, shape, len(self.buffers) - 1 if values is not None else 0))
        return len(self.tensors) - 1

    def run(self, operation, inputs, output, stride=None):
        code = (self.BUILTIN.get(operation, 32), None if operation in self.BUILTIN else operation)
        if code not in self.codes:
            self.codes.append(code)
        self.operators.append((self.codes.index(code), inputs, [output], stride))
        return output

    def numbers(self, values):
        return self.builder.CreateNumpyVector(np.array(values, np.int32))

    def table(self, count, **fields):
        """A table of `count` fields: `f3=("Int32", value, 0)`, or `f3=offset`."""
        self.builder.StartObject(count)
        for name, value in fields.items():
            slot = int(name[1:])
            if isinstance(value, tuple):
                getattr(self.builder, f"Prepend{value[0]}Slot")(slot, value[1], 0)
            else:
                self.builder.PrependUOffsetTRelativeSlot(slot, value, 0)
        return self.builder.EndObject()

    def vector(self, offsets):
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return self.builder.EndVector()

    def operator(self, code, inputs, outputs, stride):
        options = {}
        if self.codes[code][0] == self.BUILTIN["SUB"]:
            options = {"f3": ("Uint8", 28, 0), "f4": self.table(1)}
        if stride:
            options = {"f3": ("Uint8", 1, 0), "f4": self.table(6, f1=("Int32", stride, 0), f2=("Int32", stride, 0),
                                                               f4=("Int32", 1, 0), f5=("Int32", 1, 0))}
        return self.table(7, f0=("Uint32", code, 0), f1=self.numbers(inputs), f2=self.numbers(outputs), **options)

    def save(self, path, inputs, outputs):
        b = self.builder
        buffers = self.vector([self.table(1, f0=b.CreateByteVector(data)) if data else self.table(1) for data in self.buffers])
        tensors = self.vector([self.table(4, f0=self.numbers(shape), f2=("Uint32", buffer, 0), f3=b.CreateString(name))
                               for name, shape, buffer in self.tensors])
        operators = self.vector([self.operator(*each) for each in self.operators])
        graph = self.vector([self.table(4, f0=tensors, f1=self.numbers(inputs), f2=self.numbers(outputs), f3=operators)])
        codes = []
        for code, custom in self.codes:
            extra = {"f1": b.CreateString(custom)} if custom else {}
            codes.append(self.table(4, f0=("Int8", code, 0), f2=("Int32", 1, 0), f3=("Int32", code, 0), **extra))
        model = self.table(5, f0=("Uint32", 3, 0), f1=self.vector(codes), f2=graph, f4=buffers)
        b.Finish(model, b"TFL3")
        path.write_bytes(bytes(b.Output()))
        return path.name


def selfie(path, colour, height=256, width=256, operation="Convolution2DTransposeBias"):
    """MediaPipe's selfie signature. Its logits go through two transposed convolutions: the first puts them into one of
    four pixels, which alone is taken on; the second spreads it over four."""
    net, half = Lite(), (1, height // 2, width // 2)
    x = net.tensor("input_1", (1, height, width, 3))
    wanted = net.tensor("wanted", (1, 1, 1, 3), np.reshape(colour, (1, 1, 1, 3)))
    difference = net.run("SUB", [x, wanted], net.tensor("difference", (1, height, width, 3)))
    distance = net.run("ABS", [difference], net.tensor("distance", (1, height, width, 3)))
    first = np.zeros((2, 2, 2, 3), np.float32)  # [o][y][x][i]
    first[:, 0, 0, :] = np.reshape([-STEEP, -STEEP, -STEEP, 0, 0, 0], (2, 3))
    weights = net.tensor("first", first.shape, first)
    seen = net.run("CONV_2D", [distance, weights, net.tensor("b1", (2,), [STEEP * EPS, 1])], net.tensor("seen", (*half, 2)), stride=2)
    apart = np.zeros((3, 2, 2, 2), np.float32)
    apart[2, 0, 1, 0] = 1  # one of three channels, upper right
    kernel = net.tensor("apart", apart.shape, apart)
    large = net.run(operation, [seen, kernel, net.tensor("b2", (3,), [-STEEP, 0, 0])], net.tensor("large", (1, height, width, 3)))
    taken = np.zeros((1, 2, 2, 3), np.float32)
    taken[0, 0, 1, 2] = 1
    weights = net.tensor("taken", taken.shape, taken)
    again = net.run("CONV_2D", [large, weights, net.tensor("b3", (1,), [0])], net.tensor("again", (*half, 1)), stride=2)
    kernel = net.tensor("spread", (1, 2, 2, 1), np.ones((1, 2, 2, 1)))
    logits = net.run(operation, [again, kernel, net.tensor("b4", (1,), [0])], net.tensor("logits", (1, height, width, 1)))
    return net.save(path, [x], [net.run("LOGISTIC", [logits], net.tensor("activation_10", (1, height, width, 1)))])
