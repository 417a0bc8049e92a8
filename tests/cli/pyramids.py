"""What tests of `oriel pyramid` share: pyramids by NumPy, images of OME-Zarr, and what is read of them."""

import hashlib
import json
import signal
import subprocess
import time

import numpy as np
import zarr
from conftest import COMMAND


def reduce_by(ufunc, x, factor, origin=None):
    """Over windows that begin at multiples of the factor, the first element lying at `origin`."""
    for axis, (f, o) in enumerate(zip(factor, origin or [0] * x.ndim)):
        starts = [max(s - o % f, 0) for s in range(0, x.shape[axis] + o % f, f)]
        x = ufunc.reduceat(x, starts, axis)
    return x


def mean_by(x, factor, origin=None):
    """The means of what windows hold, rounded once, half to even."""
    wide = np.float64 if x.dtype.kind == "f" else np.int64
    sums, counts = (reduce_by(np.add, a, factor, origin) for a in (x.astype(wide), np.ones(x.shape, wide)))
    return np.rint(sums / counts)


def mode_by(x, factor, ignore=None):
    result = np.empty([-(-n // f) for n, f in zip(x.shape, factor)], x.dtype)
    for place in np.ndindex(result.shape):
        values, counts = np.unique(x[tuple(slice(p * f, (p + 1) * f) for p, f in zip(place, factor))], return_counts=True)
        if ignore is not None and len(values) > 1:
            values, counts = values[values != ignore], counts[values != ignore]
        result[place] = values[counts.argmax()]
    return result


def metadata(path):
    return zarr.open_group(str(path), mode="r").attrs["ome"]["multiscales"][0]


def coordinates(path):
    """[(scale, translation)] of all levels."""
    return [[t[t["type"]] for t in d["coordinateTransformations"]] for d in metadata(path)["datasets"]]


def level(path, number):
    return zarr.open_array(str(path / str(number)), mode="r")[...]


def digest(folder):
    found = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        found.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return found.hexdigest()


def write_image(path, levels, scales, translations):
    """An OME-Zarr 0.4 image as others write it."""
    group = zarr.create_group(str(path), zarr_format=2)
    datasets = []
    for number, (values, scale, translation) in enumerate(zip(levels, scales, translations)):
        group.create_array(str(number), shape=values.shape, dtype=values.dtype, chunks=(16, 16, 16))[...] = values
        transformations = [{"type": "scale", "scale": scale}]
        transformations += [{"type": "translation", "translation": translation}] if translation else []
        datasets.append({"path": str(number), "coordinateTransformations": transformations})
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": datasets}]


def base_image(path, x, version, base="0", **attributes):
    """An image of which there is level 0 alone, with metadata that nobody else understands."""
    group = zarr.open_group(str(path), mode="w", zarr_format=2 if version == "0.4" else 3)
    array = group.create_array(base, shape=x.shape, chunks=(16, 20, 24), dtype=x.dtype)
    array[...] = x
    axes = [{"name": name, "type": "space", "unit": "micrometer", "longName": f"along {name}"} for name in "zyx"]
    datasets = [{"path": base, "coordinateTransformations": [{"type": "scale", "scale": [2.0, 1.0, 1.0]}], "stain": "DAPI"}]
    multiscales = [{"name": "cells", "axes": axes, "datasets": datasets,
                    "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.5, 0.5]}]}]
    if version == "0.4":
        multiscales[0]["version"] = "0.4"
        group.attrs.update({"multiscales": multiscales, "omero": {"id": 7}, **attributes})
    else:
        group.attrs["ome"] = {"version": "0.5", "multiscales": multiscales, "omero": {"id": 7}, **attributes}
    return array


def check(folder, name, code, *words):
    done = subprocess.run([COMMAND, "pyramid", "--check", name, "--json", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def wait_for(condition, process=None):
    """Until it holds, or the process has ended."""
    deadline = time.monotonic() + 60
    while not condition() and (process is None or process.poll() is None):
        assert time.monotonic() < deadline
        time.sleep(0.0005)


class Paused:
    """`oriel pyramid WORDS` that stands still, once it has begun to write, for what the block does. Then `code` and `text`,
    its stderr, are there."""

    def __init__(self, folder, *words, within=""):
        self.folder, self.words, self.within = folder, words, within

    def __enter__(self):
        self.process = subprocess.Popen([COMMAND, "pyramid", *self.words, "-q"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: list((self.folder / self.within).glob(".*.tmp")), self.process)
        self.process.send_signal(signal.SIGSTOP)
        assert self.process.poll() is None, self.process.communicate()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.text = self.process.communicate(timeout=60)[1]
        self.code = self.process.returncode
