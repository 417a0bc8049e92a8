"""The U-Net in PyTorch, with Oriel's max pooling, and its safetensors file."""

import json
import struct
from pathlib import Path

import numpy as np
import oriel.torch
import torch
from torch import nn

BATCH_NORM_EPS = 1e-5


class DoubleConv(nn.Module):
    """(3x3 convolution, batch norm, ReLU) twice."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.BatchNorm2d(channels_out, BATCH_NORM_EPS), nn.ReLU(inplace=True),
            nn.Conv2d(channels_out, channels_out, 3, padding=1), nn.BatchNorm2d(channels_out, BATCH_NORM_EPS), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    """2x2 max pooling, then DoubleConv."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.max_pooling_and_conv = nn.Sequential(oriel.torch.MaxPool2d(2), DoubleConv(channels_in, channels_out))

    def forward(self, x):
        return self.max_pooling_and_conv(x)


class Up(nn.Module):
    """2x2 transposed convolution, the skip connection's channels appended, then DoubleConv."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels_in, channels_out, 2, stride=2)
        self.double_conv = DoubleConv(2 * channels_out, channels_out)

    def forward(self, x, skip):
        return self.double_conv(torch.cat([self.up(x), skip], dim=1))


class UNet(nn.Module):
    """Pictures [n][3][h][w], RGB 0 to 1, h and w multiples of 2^(levels-1), to logits [n][1][h][w].

    Names of parameters: down_1.double_conv.*, down_N.max_pooling_and_conv.1.double_conv.*, up_N.up.*, up_N.double_conv.double_conv.*, out.*.
    """

    def __init__(self, width=8, levels=5):
        super().__init__()
        if width < 1 or levels < 2:
            raise ValueError(f"UNet: width must be >= 1 and levels >= 2, but they are {width} and {levels}")
        self.width, self.levels = width, levels
        channels = [width << level for level in range(levels)]
        self.down_1 = DoubleConv(3, width)
        for level in range(1, levels):
            self.add_module(f"down_{level + 1}", Down(channels[level - 1], channels[level]))
        for level in range(1, levels):
            self.add_module(f"up_{level}", Up(channels[-level], channels[-level - 1]))
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skips = [self.down_1(x)]
        for level in range(2, self.levels + 1):
            skips.append(getattr(self, f"down_{level}")(skips[-1]))
        x = skips.pop()
        for level in range(1, self.levels):
            x = getattr(self, f"up_{level}")(x, skips.pop())
        return self.out(x)


DTYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "I64": np.dtype("<i8")}


def save(path, network, metadata):
    """Writes parameters and running statistics in float32 with text metadata as safetensors, whole or not at all."""
    arrays = {key: value.detach().cpu().numpy() for key, value in network.state_dict().items() if not key.endswith("num_batches_tracked")}
    header, begin = {"__metadata__": {key: str(value) for key, value in metadata.items()}}, 0
    for key, array in arrays.items():
        size = array.size * 4
        header[key] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, "<f4").tobytes())
    beside.replace(path)


def input_size(metadata):
    """Pixels of a side of the square that a network wants, from its file's metadata ("256x256")."""
    return int(metadata["input_size"].split("x")[0])


def load(path):
    """(network in evaluation mode, metadata) of a safetensors file; width and levels follow from its shapes."""
    path = Path(path)
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 1 << 62
    if length > len(data) - 8:
        raise ValueError(f"load: {path} is not a whole safetensors file: its header needs {length} bytes of {max(0, len(data) - 8)}")
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    state = {}
    for key, about in header.items():
        begin, end = (8 + length + offset for offset in about["data_offsets"])
        state[key] = torch.from_numpy(np.frombuffer(data[begin:end], DTYPES[about["dtype"]]).reshape(about["shape"]).astype(np.float32))
    levels = 1 + sum(key.startswith("up_") and key.endswith(".up.weight") for key in state)
    network = UNet(state["out.weight"].shape[1], levels)
    missing, unknown = network.load_state_dict(state, strict=False)
    missing = [key for key in missing if not key.endswith("num_batches_tracked")]
    if missing or unknown:
        raise ValueError(f"load: {path} is another network's: missing {missing}, unknown {unknown}")
    return network.eval(), metadata
