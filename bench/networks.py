#!/usr/bin/env python3
"""Whole networks before and after `oriel.torch.replace_pooling`. Usage: networks.py OUT.json [--quick]

Architectures of pytorchcv with random weights: times do not depend on the weights. A network and its copy with Oriel's
layers run in turns in one process on one processor; both outputs are compared before anything is timed. `pooling` is the
share of PyTorch's time that its own pooling layers take, measured by hooks in further runs.
"""

import argparse
import importlib
import os
import statistics
import sys
import time
from pathlib import Path

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before PyTorch counts processors

import torch  # noqa: E402

import oriel  # noqa: E402
import oriel.torch  # noqa: E402
from report import processor, write_results  # noqa: E402

torch.set_num_threads(1)


class SPPF(torch.nn.Module):
    """The pyramid of YOLOv5's head: three maxima of 5x5 windows, one after the other, between convolutions of 1x1."""

    def __init__(self, channels):
        super().__init__()
        self.before, self.after = torch.nn.Conv2d(channels, channels // 2, 1), torch.nn.Conv2d(2 * channels, channels, 1)
        self.pool = torch.nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.before(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.after(torch.cat(parts, 1))


def by_pytorchcv(module, function, **options):
    return lambda: getattr(importlib.import_module(f"pytorchcv.models.{module}"), function)(**options)


# name, network, input
NETWORKS = [
    ("SqueezeNet 1.1", by_pytorchcv("squeezenet", "squeezenet_v1_1"), (4, 3, 224, 224)),
    ("BN-Inception", by_pytorchcv("bninception", "bninception"), (4, 3, 224, 224)),
    ("NASNet-A mobile", by_pytorchcv("nasnet", "nasnet_4a1056"), (4, 3, 224, 224)),
    ("DenseNet-121", by_pytorchcv("densenet", "densenet121"), (4, 3, 224, 224)),
    ("VGG-11", by_pytorchcv("vgg", "vgg11"), (4, 3, 224, 224)),
    ("ResNet-50", by_pytorchcv("resnet", "resnet50"), (4, 3, 224, 224)),
    ("SPPF head, 512 channels", lambda: SPPF(512), (8, 512, 20, 20)),
]


def verify(name, model, swapped, x):
    """Both networks give the same numbers up to the rounding of averages, which PyTorch adds in another order."""
    with torch.inference_mode():
        expected, found = model(x), swapped(x)
    if not torch.allclose(found, expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item()):
        sys.exit(f"networks.py: {name} gives another result with Oriel's layers")


def seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def turns(runs, rounds):
    """The median time of each of `runs`, called in turns."""
    for run in runs.values():
        run()
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(seconds(run))
    return {name: statistics.median(found) for name, found in times.items()}


def inference(model, x):
    def run():
        with torch.inference_mode():
            model(x)

    return run


def training_step(model, x):
    def run():
        model.zero_grad(set_to_none=True)
        model(x).sum().backward()

    return run


def pooling_layers(model):
    return [m for m in model.modules() if type(m).__module__ == "torch.nn.modules.pooling"]


def pooling_share(model, x, rounds):
    """The share of a forward call's time that is spent in its pooling layers."""
    begun, spent, shares = [], [], []
    hooks = []
    for layer in pooling_layers(model):
        hooks.append(layer.register_forward_pre_hook(lambda *_: begun.append(time.perf_counter())))
        hooks.append(layer.register_forward_hook(lambda *_: spent.append(time.perf_counter() - begun.pop())))
    for _ in range(rounds):
        spent.clear()
        whole = seconds(inference(model, x))
        shares.append(sum(spent) / whole)
    for hook in hooks:
        hook.remove()
    return statistics.median(shares)


def measure(name, make, shape, rounds):
    torch.manual_seed(1)
    model, x = make().eval(), torch.randn(shape)
    swapped = oriel.torch.replace_pooling(model, inplace=False).model
    left = len(pooling_layers(swapped))
    if left:
        sys.exit(f"networks.py: {left} pooling layers of {name} were not replaced")
    verify(name, model, swapped, x)
    result = {"network": name, "shape": list(shape), "layers": len(pooling_layers(model)), "pooling": pooling_share(model, x, max(rounds // 3, 1))}
    result["inference"] = turns({"PyTorch": inference(model, x), "Oriel": inference(swapped, x)}, rounds)
    model.train(), swapped.train()
    result["training"] = turns({"PyTorch": training_step(model, x), "Oriel": training_step(swapped, x)}, max(rounds // 2, 1))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true", help="the SPPF head alone, once: for tests")
    options = parser.parse_args()
    results = []
    for name, make, shape in NETWORKS[-1:] if options.quick else NETWORKS:
        results.append(measure(name, make, shape, 1 if options.quick else 15))
        times = results[-1]["inference"]
        print(f"{name}: {1e3 * times['PyTorch']:.1f} -> {1e3 * times['Oriel']:.1f} ms", flush=True)
    found = {"processor": processor(), "target": oriel.active_target(), "versions": {m.__name__: m.__version__ for m in (torch, oriel)}, "networks": results}
    write_results(options.out, found)


if __name__ == "__main__":
    main()
