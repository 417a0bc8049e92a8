#!/usr/bin/env python3
"""Oriel beside the pooling of PyTorch, JAX and Keras, and what a call costs. Usage: frameworks.py OUT.json [--quick]

One process measures all contenders of a case in turns, after every result was verified against PyTorch's. It runs on one
processor, so that each framework has one thread. `copy` moves the bytes that the pool must read and write.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before the frameworks count processors
os.environ["KERAS_BACKEND"] = "torch"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import oriel  # noqa: E402
import oriel.jax  # noqa: E402
import oriel.keras  # noqa: E402
import oriel.torch  # noqa: E402
from report import processor, write_results  # noqa: E402

torch.set_num_threads(1)

# name, op, shape (batch, channels, height, width), kernel, stride, padding
CASES = [
    ("ResNet stem, max 3x3 step 2", "max", (8, 64, 112, 112), 3, 2, 1),
    ("VGG, max 2x2 step 2", "max", (8, 64, 112, 112), 2, 2, 0),
    ("Inception, average 3x3 step 1", "avg", (8, 64, 56, 56), 3, 1, 1),
    ("DenseNet, average 2x2 step 2", "avg", (8, 128, 56, 56), 2, 2, 0),
    ("small images, max 4x4 step 2", "max", (32, 3, 28, 28), 4, 2, 0),
]
LAST = (0, 2, 3, 1)  # to channels last


def jax_pool(op, k, s, p):
    """The pool over axes 1 and 2 of channels-last arrays by jax.lax."""
    window, steps, pads = (1, k, k, 1), (1, s, s, 1), ((0, 0), (p, p), (p, p), (0, 0))
    if op == "max":
        return lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, steps, pads)
    return lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, window, steps, pads) / (k * k)


def oriel_jax_pool(op, k, s, p):
    pool = oriel.jax.max_pool if op == "max" else oriel.jax.avg_pool
    return lambda x: pool(x, (k, k), (s, s), ((p, p), (p, p)))


def forward_contenders(op, x, k, s, p):
    """name -> a function that computes the pool of x and waits for it; all give channels-first NumPy arrays by `np.asarray`."""
    tensor = torch.from_numpy(x)
    last = np.ascontiguousarray(x.transpose(LAST))
    on_jax, tensor_last = jnp.asarray(last), torch.from_numpy(last)
    torch_pool = {"max": F.max_pool2d, "avg": F.avg_pool2d}[op]
    oriel_torch_pool = {"max": oriel.torch.max_pool2d, "avg": oriel.torch.avg_pool2d}[op]
    oriel_pool = {"max": oriel.max_pool2d, "avg": oriel.avg_pool2d}[op]
    by_jax, by_oriel_jax = jax.jit(jax_pool(op, k, s, p)), jax.jit(oriel_jax_pool(op, k, s, p))
    first = (0, 3, 1, 2)
    contenders = {
        "Oriel, NumPy": (lambda: oriel_pool(x, k, s, p), None),
        "Oriel, PyTorch": (lambda: oriel_torch_pool(tensor, k, s, p), None),
        "PyTorch": (lambda: torch_pool(tensor, k, s, p), None),
        "Oriel, JAX": (lambda: by_oriel_jax(on_jax).block_until_ready(), first),
        "JAX": (lambda: by_jax(on_jax).block_until_ready(), first),
    }
    if p == 0:
        words = dict(pool_size=k, strides=s, data_format="channels_last")
        layers = {"max": ("MaxPooling2D", keras.layers.MaxPooling2D), "avg": ("AveragePooling2D", keras.layers.AveragePooling2D)}
        name, theirs = layers[op]
        ours = getattr(oriel.keras, name)(**words)
        theirs = theirs(**words)
        contenders["Oriel, Keras"] = (lambda: ours(tensor_last), first)
        contenders["Keras"] = (lambda: theirs(tensor_last), first)
    return contenders


def backward_contenders(op, x, k, s, p):
    """The same for the gradient of the pool at x times a given dy."""
    tensor = torch.from_numpy(x).requires_grad_()
    torch_pool = {"max": F.max_pool2d, "avg": F.avg_pool2d}[op]
    oriel_torch_pool = {"max": oriel.torch.max_pool2d, "avg": oriel.torch.avg_pool2d}[op]
    y = torch_pool(tensor, k, s, p)
    ours = oriel_torch_pool(tensor, k, s, p)
    dy = torch.from_numpy(np.random.default_rng(2).standard_normal(tuple(y.shape)).astype(np.float32))
    last, dy_last = jnp.asarray(x.transpose(LAST)), jnp.asarray(dy.numpy().transpose(LAST))

    def gradient(pool):
        compiled = jax.jit(lambda x, dy: jax.vjp(pool, x)[1](dy)[0])
        return lambda: compiled(last, dy_last).block_until_ready()

    pool = oriel.Pool(op, k, s, p, axes=(2, 3))
    first = (0, 3, 1, 2)
    return {
        "Oriel, NumPy": (lambda: pool.backward(dy.numpy(), x), None),
        "Oriel, PyTorch": (lambda: torch.autograd.grad(ours, tensor, dy, retain_graph=True)[0], None),
        "PyTorch": (lambda: torch.autograd.grad(y, tensor, dy, retain_graph=True)[0], None),
        "Oriel, JAX": (gradient(oriel_jax_pool(op, k, s, p)), first),
        "JAX": (gradient(jax_pool(op, k, s, p)), first),
    }


def verify(case, contenders):
    expected = np.asarray(contenders["PyTorch"][0]().detach())
    for name, (run, order) in contenders.items():
        y = run()
        y = np.asarray(y.detach() if isinstance(y, torch.Tensor) else y)
        y = y.transpose(order) if order else y
        if y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5, atol=1e-5):
            sys.exit(f"frameworks: {case}: {name} gives another result than PyTorch")


def in_turns(runs, rounds, calls):
    """name -> median seconds of a call; each round times `calls` calls of each."""
    seconds = {name: [] for name in runs}
    for run in runs.values():
        for _ in range(max(calls // 5, 1)):
            run()
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(calls):
                run()
            seconds[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(values) for name, values in seconds.items()}


def copy_of(elements):
    source, target = np.ones(elements, np.float32), np.ones(elements, np.float32)
    return lambda: np.copyto(target, source)


def measure_case(case, rounds):
    name, op, shape, k, s, p = case
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    result = {"case": name, "shape": shape, "op": op}
    for direction, make in (("forward", forward_contenders), ("backward", backward_contenders)):
        contenders = make(op, x, k, s, p)
        verify(f"{name}, {direction}", contenders)
        y_size = contenders["Oriel, NumPy"][0]().size if direction == "forward" else oriel.max_pool2d(x, k, s, p).size
        moved = x.size * (1 if direction == "forward" or op == "avg" else 2) + y_size
        runs = {"copy": copy_of(moved // 2), **{n: run for n, (run, _) in contenders.items()}}
        calls = max(1, int(0.02 / in_turns({"PyTorch": runs["PyTorch"]}, 1, 1)["PyTorch"]))
        result[direction] = in_turns(runs, rounds, calls)
    return result


def measure_overhead(rounds, calls):
    """Seconds of a call on a 1x1x8x8 array."""
    x = np.zeros((1, 1, 8, 8), np.float32)
    tensor, wanted = torch.from_numpy(x), torch.from_numpy(x.copy()).requires_grad_()
    last = jnp.zeros((1, 8, 8, 1), jnp.float32)
    small = jax.jit(lambda x: x + 1)
    ours, theirs = jax.jit(oriel_jax_pool("max", 2, 2, 0)), jax.jit(jax_pool("max", 2, 2, 0))
    pool, layer = oriel.Pool("max", 2, axes=(2, 3)), oriel.torch.MaxPool2d(2)
    return in_turns({
        "numpy.add": lambda: np.add(x, x),
        "oriel.max_pool2d": lambda: oriel.max_pool2d(x, 2),
        "oriel.Pool, made before": lambda: pool(x),
        "torch max_pool2d": lambda: F.max_pool2d(tensor, 2),
        "oriel.torch.max_pool2d": lambda: oriel.torch.max_pool2d(tensor, 2),
        "oriel.torch.MaxPool2d, a layer": lambda: layer(tensor),
        "torch max_pool2d, with gradient": lambda: F.max_pool2d(wanted, 2),
        "oriel.torch.max_pool2d, with gradient": lambda: oriel.torch.max_pool2d(wanted, 2),
        "jitted x + 1": lambda: small(last).block_until_ready(),
        "jitted jax.lax.reduce_window": lambda: theirs(last).block_until_ready(),
        "jitted oriel.jax.max_pool": lambda: ours(last).block_until_ready(),
    }, rounds, calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true", help="few repetitions, small shapes: shows that it works, not how fast")
    arguments = parser.parse_args()
    cases = [(n, op, (2, *shape[1:]), *w) for n, op, shape, *w in CASES] if arguments.quick else CASES
    rounds = 3 if arguments.quick else 15
    results = {
        "processor": processor(), "target": oriel.active_target(),
        "versions": {m.__name__: m.__version__ for m in (np, torch, jax, keras, oriel)},
        "overhead": measure_overhead(rounds, 200 if arguments.quick else 5000),
        "cases": [measure_case(case, rounds) for case in cases],
    }
    write_results(arguments.out, results)


if __name__ == "__main__":
    main()
