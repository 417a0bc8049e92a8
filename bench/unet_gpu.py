"""A network on a CUDA device beside PyTorch there: every block compared, then times, the engines in turns, from an image in the
host's memory to its logits there. Needs PyTorch alone; the network's C functions are in the library that it is given.

Usage: unet_gpu.py LIBRARY [--size 512] [--widths 64 128 256 512 1024] [--runs 15] [--page FILE]
"""

import argparse
import ctypes
import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps/portrait/compare"))
from unet import UNet  # noqa: E402

MOST_APART = 1e-5  # of a block's greatest value
SHOW = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_float))


def source_key(key):
    """The key that the source project's network has for one of UNet's."""
    kind, rest = key.split(".", 1)
    if kind == "out":
        return key
    number, rest = rest.split(".", 1)
    level = int(number) + 1
    first = f"down_{level}.double_conv" if level == 1 else f"down_{level}.max_pooling_and_conv.1.double_conv"
    return {"down": first, "up": f"up_{level}.up", "joined": f"up_{level}.double_conv.double_conv"}[kind] + "." + rest


def random_network(widths):
    """With He's initialisation, and batch norms whose statistics are not those of a new network."""
    torch.manual_seed(1)
    net = UNet(3, widths, 1)
    for key, value in net.state_dict().items():
        if key.endswith("running_var"):
            value.uniform_(0.5, 2)
        elif key.endswith("running_mean"):
            value.normal_(0, 0.3)
        elif value.dim() == 4:
            torch.nn.init.kaiming_normal_(value)
    return net.eval()


class Network:
    """Oriel's engine, with the weights of a network of PyTorch."""

    def __init__(self, path, net, side, trial=True):
        """With `trial` cuDNN carries out the convolutions at which it is found and faster."""
        self.library = ctypes.CDLL(path)
        self.library.oriel_unet_new.restype = ctypes.c_void_p
        self.error = ctypes.create_string_buffer(1000)
        self.handle = ctypes.c_void_p(self.library.oriel_unet_new())
        self.weights = {source_key(key): value.contiguous() for key, value in net.state_dict().items()
                        if not key.endswith("num_batches_tracked")}  # fmt: skip
        for key, value in self.weights.items():
            shape = (ctypes.c_int64 * value.dim())(*value.shape)
            self.call("weight", key.encode(), ctypes.c_void_p(value.data_ptr()), shape, value.dim())
        self.memory = (ctypes.c_int64 * 3)()  # activations, their lower bound, weights
        library = ctypes.create_string_buffer(1000)
        self.call("prepare", ctypes.c_int64(side), ctypes.c_int64(side), int(trial), self.memory, library, len(library))
        self.convolutions = library.value.decode()

    def call(self, name, *arguments):
        code = getattr(self.library, f"oriel_unet_{name}")(self.handle, *arguments, self.error, len(self.error))
        if code:
            raise RuntimeError(self.error.value.decode())

    def run(self, image, logits, show=None):
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (image, logits)]
        self.call("run", *pointers, SHOW(show) if show else ctypes.cast(None, SHOW))

    def blocks(self, image, logits):
        found = []

        def show(name, shape, values):
            extents = list(shape[0:3])
            count = extents[0] * extents[1] * extents[2]
            array = (ctypes.c_float * count).from_address(ctypes.addressof(values.contents))
            found.append((name.decode(), torch.frombuffer(array, dtype=torch.float32).clone().reshape(extents)))

        self.run(image, logits, show)
        return found


def compare(network, net, image, logits, device):
    """The worst difference of a block, as a share of its greatest value."""
    worst = 0
    for (name, own), (wanted, value) in zip(network.blocks(image, logits), net.blocks(image.to(device)), strict=True):
        value = value[0].cpu()
        apart = ((own - value).abs().max() / value.abs().max()).item()
        if name != wanted or not apart <= MOST_APART:
            raise AssertionError(f"{name}: differs from PyTorch's {wanted} by {apart:.1e} of its greatest value")
        worst = max(worst, apart)
    return worst


def engines(network, own, net, image, logits, device):
    """[(name, what one run does)]; each ends when the logits are in the host's memory."""

    def exactly(tf32):
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        net(image.to(device)).cpu()

    found = [("Oriel fp32", lambda: network.run(image, logits)), ("Oriel fp32, its own kernels", lambda: own.run(image, logits)),
             ("PyTorch fp32", lambda: exactly(False))]  # fmt: skip
    if device == "cuda":
        half = random_network(network.widths).to(device).half().to(memory_format=torch.channels_last)
        found.append(("PyTorch TF32", lambda: exactly(True)))
        found.append(("PyTorch f16, channels last",
                      lambda: half(image.to(device).half().contiguous(memory_format=torch.channels_last)).float().cpu()))
    return found


def take_times(found, runs):
    times = {name: [] for name, _ in found}
    for turn in range(-3, runs):  # the first ones warm up: cuDNN picks its algorithms
        for name, run in found:
            begin = time.perf_counter()
            run()
            if turn >= 0:
                times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in times.items() if values}


def page(title, worst, network, times, parameters):
    lines = ["", "## A network", "",
             f"U-Net, {parameters:,} parameters, {title}, from the host's memory and back, median, engines in turns. Blocks are within "
             f"{worst:.1e} of PyTorch's greatest values in fp32. Device memory: {network.memory[0] / 2**20:.0f} MiB of activations (bound "
             f"{network.memory[1] / 2**20:.0f}), {network.memory[2] / 2**20:.0f} MiB of weights. Convolutions: {network.convolutions}.", "",
             "| engine | ms | times Oriel's |", "|---|---|---|"]  # fmt: skip
    for name, seconds in times.items():
        lines.append(f"| {name} | {1000 * seconds:.2f} | {seconds / times['Oriel fp32']:.2f} |")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 128, 256, 512, 1024])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--page", type=Path, help="a file to which the table is added")
    asked = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = random_network(asked.widths)
    network, own = Network(asked.library, net, asked.size), Network(asked.library, net, asked.size, trial=False)
    network.widths = asked.widths
    net = net.to(device)
    image = torch.rand(1, 3, asked.size, asked.size, generator=torch.Generator().manual_seed(2))
    logits = torch.empty(1, 1, asked.size, asked.size)
    worst = max(compare(n, net, image, logits, device) for n in (network, own))
    times = take_times(engines(network, own, net, image, logits, device), asked.runs)
    text = page(f"1x3x{asked.size}x{asked.size}, PyTorch {torch.__version__} on {device}", worst, network, times,
                sum(p.numel() for p in net.parameters()))  # fmt: skip
    print(text)
    if asked.page:
        with asked.page.open("a") as out:
            out.write(text)


if __name__ == "__main__":
    main()
