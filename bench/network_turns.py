#!/usr/bin/env python3
"""One setting of bench/networks.py. Usage: network_turns.py SETTING OUT.json [--quick] [NAME ...]; SETTING is a JSON object.

Weights are random: times do not depend on them. A network and its copy with Oriel's layers run in turns; both outputs are
compared before anything is timed. `pooling` is the share of PyTorch's time that its own pooling layers take, measured by hooks
in further runs.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setting", type=json.loads)
    parser.add_argument("out", type=Path)
    parser.add_argument("only", nargs="*", metavar="NAME", help="these networks alone; all, if none is named")
    parser.add_argument("--quick", action="store_true", help="every network once, without repetitions")
    return parser.parse_intermixed_args()


OPTIONS = arguments()
SETTING = OPTIONS.setting
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: SETTING["threads"]]))  # before PyTorch counts processors

import torch  # noqa: E402

import oriel  # noqa: E402
import oriel.torch  # noqa: E402
from architectures import NETWORKS  # noqa: E402
from report import write_results  # noqa: E402

torch.set_num_threads(SETTING["threads"])
BUDGET = 8.0  # seconds that the turns of one network may take


def verify(name, model, swapped, x):
    """Both networks give the same numbers up to the rounding of averages, which PyTorch adds in another order."""
    with torch.inference_mode():
        expected, found = model(x), swapped(x)
    if not torch.allclose(found, expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item()):
        sys.exit(f"network_turns.py: {name} gives another result with Oriel's layers")


def seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def turns(runs, quick):
    """The median time of each of `runs`, called in turns, and the number of turns: as many as fit BUDGET, an odd number from 5 to 25."""
    longest = 0.0
    for run in runs.values():
        run()
        longest = max(longest, seconds(run))
    rounds = 1 if quick else max(5, min(25, int(BUDGET / (longest * len(runs))))) | 1
    times = {name: [] for name in runs}
    for turn in range(rounds):
        for name in list(runs) if turn % 2 else reversed(list(runs)):
            times[name].append(seconds(runs[name]))
    return {name: statistics.median(found) for name, found in times.items()}, rounds


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


def prepared(network):
    """The network, its copy with Oriel's layers and an input, as the setting has them."""
    torch.manual_seed(1)
    model, x = network.make().eval(), torch.randn(network.shape)
    if SETTING["layout"] == "channels last":
        if len(network.shape) != 4:
            return None
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    swapped = oriel.torch.replace_pooling(model, inplace=False).model
    left = len(pooling_layers(swapped))
    if left:
        sys.exit(f"network_turns.py: {left} pooling layers of {network.name} were not replaced")
    return model, swapped, x


def runs(model, x):
    """Whether PyTorch itself runs the network: some view their last images as rows, which channels last are not."""
    try:
        with torch.inference_mode():
            model(x)
    except RuntimeError as error:
        if SETTING["layout"] == "contiguous" or "view size is not compatible" not in str(error):
            raise
        return False
    return True


def measure(network, quick):
    """The results of one network, or None if it does not have the setting's layout."""
    ready = prepared(network)
    if ready is None:
        return None
    model, swapped, x = ready
    if not runs(model, x):
        print(f"{SETTING['name']}: {network.name} is left out: PyTorch refuses it", flush=True)
        return None
    result = {"network": network.name, "shape": list(network.shape), "layers": len(pooling_layers(model))}
    if SETTING["training"]:
        result["pooling"] = pooling_share(model, x, 1 if quick else 5)
    plain, oriels = (torch.compile(model), torch.compile(swapped)) if SETTING["compiled"] else (model, swapped)
    verify(network.name, plain, oriels, x)
    result["inference"], result["turns"] = turns({"PyTorch": inference(plain, x), "Oriel": inference(oriels, x)}, quick)
    if SETTING["training"]:
        model.train(), swapped.train()
        result["training"], _ = turns({"PyTorch": training_step(model, x), "Oriel": training_step(swapped, x)}, quick)
    return result


def main():
    unknown = set(OPTIONS.only) - {n.name for n in NETWORKS}
    if unknown:
        sys.exit(f"network_turns.py: no network is called {sorted(unknown)[0]!r}; there are: {', '.join(n.name for n in NETWORKS)}")
    results = []
    for network in NETWORKS:
        found = measure(network, OPTIONS.quick) if not OPTIONS.only or network.name in OPTIONS.only else None
        if found:
            results.append(found)
            times = found["inference"]
            print(f"{SETTING['name']}: {network.name}: {1e3 * times['PyTorch']:.1f} -> {1e3 * times['Oriel']:.1f} ms", flush=True)
        torch.compiler.reset()
    write_results(OPTIONS.out, {"target": oriel.active_target(), "versions": {m.__name__: m.__version__ for m in (torch, oriel)}, "networks": results})


if __name__ == "__main__":
    main()
