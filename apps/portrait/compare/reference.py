"""An engine that oriel-portrait compare talks to: reference.py ENGINE THREADS WEIGHTS IMAGE.safetensors DEVICE

DEVICE is cpu, or cuda: PyTorch then runs there where it has one, without TF32; the image comes from the host and the result goes
back in what is timed. Other engines run on the CPU, and their names say so.

Lines in, lines out: `open` answers with the engine's name and version, `blocks FILE` writes the blocks' values (torch
only), `time` runs once and answers with the seconds. Anything that fails answers `error: ` and why.
"""

import os
import sys
import time
from pathlib import Path

THREADS = int(sys.argv[2])
os.environ["OMP_NUM_THREADS"] = str(THREADS)


def read_weights(path):
    """A state dictionary; nothing of the file is executed."""
    import torch
    from safetensors.torch import load_file

    if Path(path).open("rb").read(2) != b"PK":
        return load_file(path)
    state = torch.load(path, map_location="cpu", weights_only=True)
    for key in ("state_dict", "model_state_dict", "model"):
        state = state.get(key, state)
    state = {key: value for key, value in state.items() if torch.is_tensor(value)}
    if all(key.startswith("module.") for key in state):
        state = {key[7:]: value for key, value in state.items()}
    return state


def named(asked, own):
    """What a name needs beside other devices' engines."""
    return "" if asked == "cpu" else f" ({own.upper()})"


class Torch:
    def __init__(self, weights, image, device):
        import torch
        from safetensors.torch import load_file

        from unet import network_for

        torch.set_num_threads(THREADS)
        torch.set_grad_enabled(False)
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
        self.device = "cuda" if device == "cuda" and torch.cuda.is_available() else "cpu"
        self.name = f"PyTorch {torch.__version__}" + named(device, self.device)
        self.net = network_for({key: value.float() for key, value in read_weights(weights).items()}).to(self.device)
        self.image = load_file(image)["image"]

    def run(self):
        self.net(self.image.to(self.device)).cpu()

    def blocks(self, path):
        from safetensors.torch import save_file

        blocks = self.net.blocks(self.image.to(self.device))
        save_file({name: value[0].cpu().contiguous() for name, value in blocks}, path)


def onnx_file(weights, image, folder):
    """The network as an ONNX file: what torch's exporter writes for it, without needing the exporter's packages."""
    import onnx
    from onnx import helper, numpy_helper

    from unet import network_for

    net = network_for({key: value.float() for key, value in read_weights(weights).items()})
    nodes, constants = [], []

    def node(kind, inputs, **attributes):
        output = f"v{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(tensor):
        constants.append(numpy_helper.from_array(tensor.detach().numpy(), f"c{len(constants)}"))
        return constants[-1].name

    def convolution(x, layer, kind="Conv", **attributes):
        inputs = [x, constant(layer.weight)] + ([] if layer.bias is None else [constant(layer.bias)])
        return node(kind, inputs, kernel_shape=list(layer.kernel_size), **attributes)

    def double(x, layers):
        for at in (0, 3):
            x = convolution(x, layers[at], pads=[1, 1, 1, 1])
            norm = layers[at + 1]
            values = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
            x = node("Relu", [node("BatchNormalization", [x, *map(constant, values)], epsilon=norm.eps)])
        return x

    x, skips = "image", []
    for level, layers in enumerate(net.down):
        if level:
            x = node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
        x = double(x, layers)
        skips.append(x)
    skips.pop()
    for up, layers in zip(net.up, net.joined):
        parts = [convolution(x, up, "ConvTranspose", strides=[2, 2]), skips.pop()]
        x = double(node("Concat", parts[::-1] if net.skip_first else parts, axis=1), layers)
    x = convolution(x, net.out)
    shape = list(image.shape)
    graph = helper.make_graph(
        nodes, "unet", [helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, [1, net.out.out_channels, *shape[2:]])], constants)
    path = Path(folder) / "unet.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


class OnnxRuntime:
    def __init__(self, weights, image, device):
        import onnxruntime
        from safetensors.numpy import load_file

        self.name = f"ONNX Runtime {onnxruntime.__version__}" + named(device, "cpu")
        self.image = load_file(image)["image"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        path = onnx_file(weights, self.image, Path(image).parent)
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(self):
        self.session.run(None, {"image": self.image})


class OpenVino:
    def __init__(self, weights, image, device):
        import openvino
        from safetensors.numpy import load_file

        self.name = f"OpenVINO {openvino.__version__.split('-')[0]}" + named(device, "cpu")
        self.image = load_file(image)["image"]
        core = openvino.Core()
        hints = {"INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
        self.request = core.compile_model(onnx_file(weights, self.image, Path(image).parent), "CPU",
                                          hints).create_infer_request()

    def run(self):
        self.request.infer({0: self.image})


ENGINES = {"torch": Torch, "onnxruntime": OnnxRuntime, "openvino": OpenVino}


def answer(engine, line):
    command, _, rest = line.partition(" ")
    if command == "open":
        return engine.name
    if command == "blocks":
        engine.blocks(rest)
        return "done"
    if command == "time":
        begin = time.perf_counter()
        engine.run()
        return repr(time.perf_counter() - begin)
    raise ValueError(f"no command {command}")


def main():
    # Libraries print where they like; the answers have the first standard output alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.insert(0, str(Path(__file__).parent))
    engine = None
    for line in sys.stdin:
        try:
            engine = engine or ENGINES[sys.argv[1]](*sys.argv[3:6])
            text = answer(engine, line.rstrip("\n"))
        except Exception as error:  # whatever it is, the asker wants to know
            text = "error: " + " ".join(f"{type(error).__name__}: {error}".split())
        print(text, file=answers, flush=True)


main()
