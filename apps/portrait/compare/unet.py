"""The source's U-Net and the common public one in PyTorch, of any depth and widths, made for a file of weights."""

import re

import torch
from torch import nn


def double_conv(inputs, outputs, bias):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=bias), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Blocks down_1 …, up_1 …, out; `skip_first` and `bias` are what the two sets of key names differ in."""

    def __init__(self, inputs, widths, classes, skip_first=False, bias=True):
        super().__init__()
        self.skip_first = skip_first
        self.down = nn.ModuleList(double_conv(a, b, bias) for a, b in zip([inputs, *widths], widths))
        pairs = list(zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(below, own, 2, stride=2) for below, own in pairs)
        self.joined = nn.ModuleList(double_conv(2 * own, own, bias) for _, own in pairs)
        self.out = nn.Conv2d(widths[0], classes, 1)

    def blocks(self, x):
        """Name and value of each block, in order."""
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else nn.functional.max_pool2d(x, 2))
            skips.append(x)
            yield f"down_{level + 1}", x
        skips.pop()
        for number, (up, block) in enumerate(zip(self.up, self.joined)):
            parts = [up(x), skips.pop()]
            x = block(torch.cat(parts[::-1] if self.skip_first else parts, 1))
            yield f"up_{number + 1}", x
        yield "out", self.out(x)

    def forward(self, x):
        for _, value in self.blocks(x):
            x = value
        return x


# Keys of a file -> keys of the class above.
SOURCE = [
    (r"down_1\.double_conv\.(.*)", lambda m: f"down.0.{m[1]}"),
    (r"down_(\d+)\.max_pooling_and_conv\.1\.double_conv\.(.*)", lambda m: f"down.{int(m[1]) - 1}.{m[2]}"),
    (r"up_(\d+)\.up\.(.*)", lambda m: f"up.{int(m[1]) - 1}.{m[2]}"),
    (r"up_(\d+)\.double_conv\.double_conv\.(.*)", lambda m: f"joined.{int(m[1]) - 1}.{m[2]}"),
    (r"out\.(.*)", lambda m: f"out.{m[1]}"),
]
MILESIAL = [
    (r"inc\.double_conv\.(.*)", lambda m: f"down.0.{m[1]}"),
    (r"down(\d+)\.maxpool_conv\.1\.double_conv\.(.*)", lambda m: f"down.{m[1]}.{m[2]}"),
    (r"up(\d+)\.up\.(.*)", lambda m: f"up.{int(m[1]) - 1}.{m[2]}"),
    (r"up(\d+)\.conv\.double_conv\.(.*)", lambda m: f"joined.{int(m[1]) - 1}.{m[2]}"),
    (r"outc\.conv\.(.*)", lambda m: f"out.{m[1]}"),
]


def rename(state, rules):
    out = {}
    for key, value in state.items():
        for pattern, name in rules:
            if match := re.fullmatch(pattern, key):
                out[name(match)] = value
    return out


def network_for(state):
    """The network, in evaluation mode, that a state dictionary is of."""
    milesial = any(key.startswith("inc.") for key in state)
    own = rename(state, MILESIAL if milesial else SOURCE)
    levels = sum(bool(re.fullmatch(r"down\.\d+\.3\.weight", key)) for key in own)
    widths = [own[f"down.{level}.3.weight"].shape[0] for level in range(levels)]
    net = UNet(own["down.0.0.weight"].shape[1], widths, own["out.weight"].shape[0], milesial, "down.0.0.bias" in own)
    for key, value in net.state_dict().items():
        if key.endswith("num_batches_tracked"):
            own.setdefault(key, value)
    net.load_state_dict(own)
    return net.eval()
