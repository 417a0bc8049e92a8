#!/usr/bin/env python3
"""Two-dimensional max pooling from first principles, against Keras, JAX and Oriel: equality, and how long each takes.

A loop over the outputs in NumPy says what max pooling is. Every other contender pools the same batch of 32 images of
28x28 pixels and 3 channels with windows of 4x4 that are 2 apart; a maximum has no rounding, so all results must be
equal to the last bit. Each contender gets the batch as an
array of its own kind before the clock starts, and all are timed in turns. A library that is not installed is named and
left out.

    python examples/first_principles.py [--repeats N]
"""

import argparse
import importlib
import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import oriel

BATCH = (32, 28, 28, 3)  # images, height, width, channels
WINDOW = (4, 4)
STEP = (2, 2)
LOOP = "NumPy loop"

os.environ["JAX_ENABLE_X64"] = "1"  # else JAX makes float32 of float64; it reads this when it is imported
missing: list[str] = []


def downsample_images(images: np.ndarray, window: tuple[int, int], step: tuple[int, int]) -> np.ndarray:
    """The definition: each output is the largest element of its window, in each image and channel."""
    count, height, width, channels = images.shape
    rows, columns = ((n - k) // s + 1 for n, k, s in zip((height, width), window, step))
    y = np.zeros((count, rows, columns, channels), images.dtype)
    for i in range(rows):
        for j in range(columns):
            top, left = i * step[0], j * step[1]
            y[:, i, j] = images[:, top : top + window[0], left : left + window[1]].max(axis=(1, 2))
    return y


def load(name: str):
    """A module, or None, in which case it is named as missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing.append(f"{name} ({error})")
        return None


def load_keras():
    """Keras on the backend that KERAS_BACKEND names, else on PyTorch or JAX, whichever is there."""
    installed = [backend for backend in ("torch", "jax") if importlib.util.find_spec(backend)]
    if installed:
        os.environ.setdefault("KERAS_BACKEND", installed[0])
    elif "KERAS_BACKEND" not in os.environ:
        missing.append("keras (it needs a backend, PyTorch or JAX)")
        return None
    return load("keras")


def contenders(images: np.ndarray) -> dict[str, Callable]:
    """The ways to pool: a function each that returns when the result is there."""
    ways: dict[str, Callable] = {LOOP: lambda: downsample_images(images, WINDOW, STEP)}
    keras = load_keras()
    jax = load("jax")
    oriel_jax = load("oriel.jax") if jax else None
    oriel_keras = load("oriel.keras") if keras else None
    if keras:
        ways |= keras_layers(keras, oriel_keras, images)
    if jax:
        ways |= jax_programs(jax, oriel_jax, images)
    ways["oriel.max_pool"] = lambda: oriel.max_pool(images, WINDOW, STEP, axes=(1, 2))
    return ways


def keras_layers(keras, oriel_keras, images: np.ndarray) -> dict[str, Callable]:
    backend = keras.backend.backend()
    tensor = keras.ops.convert_to_tensor(images)
    words = {
        "pool_size": WINDOW,
        "strides": STEP,
        "padding": "valid",
        "data_format": "channels_last",
        "dtype": images.dtype.name,
    }
    wait = getattr(type(tensor), "block_until_ready", lambda y: y)  # JAX computes in the background
    layers = {f"keras.layers.MaxPooling2D ({backend})": keras.layers.MaxPooling2D(**words)}
    if oriel_keras:
        layers[f"oriel.keras.MaxPooling2D ({backend})"] = oriel_keras.MaxPooling2D(**words)
    return {name: lambda layer=layer: wait(layer(tensor)) for name, layer in layers.items()}


def jax_programs(jax, oriel_jax, images: np.ndarray) -> dict[str, Callable]:
    array = jax.numpy.asarray(images)

    def reduce_window(x):
        return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, (1, *WINDOW, 1), (1, *STEP, 1), "VALID")

    programs = {"jax.lax.reduce_window": reduce_window, "jax.lax.reduce_window, jit": jax.jit(reduce_window)}
    if oriel_jax:
        layer = oriel_jax.MaxPool2D(WINDOW, STEP, "valid")
        programs |= {"oriel.jax.MaxPool2D": layer, "oriel.jax.MaxPool2D, jit": jax.jit(layer)}
    return {name: lambda program=program: program(array).block_until_ready() for name, program in programs.items()}


def medians(ways: dict[str, Callable], repeats: int) -> dict[str, float]:
    """Microseconds of a call, the median of `repeats`; the ways take turns, so that all see the same machine."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append((time.perf_counter() - start) * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100, metavar="N", help="timed calls of each contender")
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(1)
    images = rng.standard_normal(BATCH)
    equal = True
    table: dict[str, dict[str, float]] = {}
    for dtype in ("float64", "float32"):
        missing.clear()
        ways = contenders(images.astype(dtype))
        expected = ways[LOOP]()
        for name in list(ways)[1:]:
            y = np.asarray(ways[name]())
            same = y.dtype == expected.dtype and y.shape == expected.shape and y.tobytes() == expected.tobytes()
            equal &= same
            print(f"{dtype}: {name} {'equals' if same else 'DIFFERS FROM'} the {LOOP}")
        table[dtype] = medians(ways, repeats)
    for name in missing:
        print(f"missing: {name}")

    print(
        f"\n{'x'.join(map(str, BATCH))}, window {'x'.join(map(str, WINDOW))}, step {STEP[0]}: "
        f"microseconds (median of {repeats}), and how many times faster than the loop"
    )
    print(f"{'':36}{'float64':>10}{'':>8}{'float32':>10}{'':>8}")
    for name in table["float64"]:
        columns = "".join(f"{times[name]:10.1f}{times[LOOP] / times[name]:7.1f}x" for times in table.values())
        print(f"{name:36}{columns}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
