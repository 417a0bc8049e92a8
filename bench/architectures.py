"""The networks that bench/networks.py times: definitions of pytorchcv, and small ones that it does not have."""

import importlib
from typing import NamedTuple

import torch
from torch import nn


class SPPF(nn.Module):
    """The pyramid of YOLOv5's head: three maxima of 5x5 windows, one after the other, between convolutions of 1x1."""

    def __init__(self, channels):
        super().__init__()
        self.before, self.after = nn.Conv2d(channels, channels // 2, 1), nn.Conv2d(2 * channels, channels, 1)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.before(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.after(torch.cat(parts, 1))


class SPP(nn.Module):
    """The pyramid of YOLOv3-SPP and YOLOv4: maxima of 5x5, 9x9 and 13x13 windows side by side, between convolutions of 1x1."""

    def __init__(self, channels):
        super().__init__()
        self.before, self.after = nn.Conv2d(channels, channels // 2, 1), nn.Conv2d(2 * channels, channels, 1)
        self.pools = nn.ModuleList(nn.MaxPool2d(k, 1, k // 2) for k in (5, 9, 13))

    def forward(self, x):
        x = self.before(x)
        return self.after(torch.cat([x, *(pool(x) for pool in self.pools)], 1))


class UNet3D(nn.Module):
    """The first three levels of Çiçek et al.'s 3-D U-Net (2016), a quarter as wide: two convolutions of 3x3x3 a level, maxima of 2x2x2 between."""

    def __init__(self, width=8, levels=3):
        super().__init__()
        self.pool = nn.MaxPool3d(2)
        self.down = nn.ModuleList(self.convolutions(width << (level - 1) if level else 1, width << level) for level in range(levels))
        self.rise = nn.ModuleList(nn.ConvTranspose3d(width << (level + 1), width << level, 2, 2) for level in range(levels - 1))
        self.up = nn.ModuleList(self.convolutions(2 * width << level, width << level) for level in range(levels - 1))
        self.head = nn.Conv3d(width, 2, 1)

    @staticmethod
    def convolutions(inputs, outputs):
        layers = []
        for channels in (inputs, outputs):
            layers += [nn.Conv3d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm3d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for level, down in enumerate(self.down):
            x = down(self.pool(x) if level else x)
            kept.append(x)
        for level in reversed(range(len(self.up))):
            x = self.up[level](torch.cat([kept[level], self.rise[level](x)], 1))
        return self.head(x)


class C3D(nn.Sequential):
    """Tran et al.'s C3D (2015) for video clips, up to its fourth group and half as wide: convolutions of 3x3x3, maxima of 1x2x2 and 2x2x2."""

    def __init__(self, classes=101):
        layers, channels = [], 3
        for width, count, pool in ((32, 1, (1, 2, 2)), (64, 1, 2), (128, 2, 2), (256, 2, 2)):
            for _ in range(count):
                layers += [nn.Conv3d(channels, width, 3, padding=1), nn.ReLU()]
                channels = width
            layers.append(nn.MaxPool3d(pool))
        super().__init__(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(channels, classes))


class M5(nn.Sequential):
    """Dai et al.'s M5 (2017) for raw audio: four 1-D convolutions, each with a maximum of 4 samples after it, and a mean over time."""

    def __init__(self, classes=35):
        layers, channels = [], 1
        for width, size, stride in ((128, 80, 4), (128, 3, 1), (256, 3, 1), (512, 3, 1)):
            layers += [nn.Conv1d(channels, width, size, stride), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(4)]
            channels = width
        super().__init__(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(channels, classes))


class PoolFormerBlock(nn.Module):
    """A block of Yu et al.'s PoolFormer (2022): the mean of the 3x3 neighbours less the token, then a perceptron."""

    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(1, width) for _ in range(2))
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)
        self.mlp = nn.Sequential(nn.Conv2d(width, 4 * width, 1), nn.GELU(), nn.Conv2d(4 * width, width, 1))

    def forward(self, x):
        y = self.norms[0](x)
        x = x + self.pool(y) - y
        return x + self.mlp(self.norms[1](x))


class PoolFormer(nn.Sequential):
    """PoolFormer-S12: four stages of 2, 2, 6 and 2 blocks, a mean over all tokens."""

    def __init__(self, classes=1000):
        layers, channels = [], 3
        for width, blocks, (size, stride, padding) in ((64, 2, (7, 4, 2)), (128, 2, (3, 2, 1)), (320, 6, (3, 2, 1)), (512, 2, (3, 2, 1))):
            layers += [nn.Conv2d(channels, width, size, stride, padding), *(PoolFormerBlock(width) for _ in range(blocks))]
            channels = width
        super().__init__(*layers, nn.GroupNorm(1, channels), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Network(NamedTuple):
    name: str
    make: object  # a function without arguments
    shape: tuple  # of the input: images, channels, extents


def by_pytorchcv(module, function, **options):
    return lambda: getattr(importlib.import_module(f"pytorchcv.models.{module}"), function)(**options)


NETWORKS = [
    Network("AlexNet", by_pytorchcv("alexnet", "alexnet"), (4, 3, 224, 224)),
    Network("VGG-11", by_pytorchcv("vgg", "vgg11"), (4, 3, 224, 224)),
    Network("SqueezeNet 1.1", by_pytorchcv("squeezenet", "squeezenet_v1_1"), (4, 3, 224, 224)),
    Network("BN-Inception", by_pytorchcv("bninception", "bninception"), (4, 3, 224, 224)),
    Network("Inception v3", by_pytorchcv("inceptionv3", "inceptionv3"), (2, 3, 299, 299)),
    Network("Inception v4", by_pytorchcv("inceptionv4", "inceptionv4"), (1, 3, 299, 299)),
    Network("NASNet-A mobile", by_pytorchcv("nasnet", "nasnet_4a1056"), (4, 3, 224, 224)),
    Network("DenseNet-121", by_pytorchcv("densenet", "densenet121"), (4, 3, 224, 224)),
    Network("ResNet-18", by_pytorchcv("resnet", "resnet18"), (4, 3, 224, 224)),
    Network("ResNet-50", by_pytorchcv("resnet", "resnet50"), (4, 3, 224, 224)),
    Network("ShuffleNet 1.0, 3 groups", by_pytorchcv("shufflenet", "shufflenet_g3_w1"), (4, 3, 224, 224)),
    Network("Xception", by_pytorchcv("xception", "xception"), (2, 3, 299, 299)),
    Network("VoVNet-39", by_pytorchcv("vovnet", "vovnet39"), (2, 3, 224, 224)),
    Network("DLA-34", by_pytorchcv("dla", "dla34"), (4, 3, 224, 224)),
    Network("PSPNet, ResNet-50", by_pytorchcv("pspnet", "pspnet_resnetd50b_voc", in_size=(240, 240), aux=False), (2, 3, 240, 240)),
    Network("DeepLab v3, ResNet-50", by_pytorchcv("deeplabv3", "deeplabv3_resnetd50b_voc", in_size=(240, 240), aux=False), (2, 3, 240, 240)),
    Network("U-Net", by_pytorchcv("unet", "unet_cityscapes"), (1, 3, 256, 256)),
    Network("3-D U-Net", UNet3D, (1, 1, 64, 64, 64)),
    Network("C3D, half as wide", C3D, (1, 3, 16, 112, 112)),
    Network("M5, raw audio", M5, (8, 1, 16000)),
    Network("PoolFormer-S12", PoolFormer, (4, 3, 224, 224)),
    Network("SPP head, 512 channels", lambda: SPP(512), (8, 512, 20, 20)),
    Network("SPPF head, 512 channels", lambda: SPPF(512), (8, 512, 20, 20)),
]
