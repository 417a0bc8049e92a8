"""Times `oriel pyramid` beside `cp` of level 0, its compressor alone, TensorStore, ome-zarr and ngff-zarr on one volume, in one run, by turns.

Usage: pyramids.py ORIEL [--size N | --volume ARRAY.zarr] [--repeats R] [--threads T] [--json FILE]. The volume is uint16,
N x N x N, smooth with noise, or that of a Zarr array; in chunks of 64^3, in the page cache; four levels of means. Oriel's and
TensorStore's levels are compared with NumPy's means first; those of the others are known to differ. Peers that are not installed
are left out, which is said. Ratios are of medians. `zstd alone` is the compression of all chunks that Oriel writes, by the same
library and as many threads: Oriel's files must have as many bytes.
"""

import argparse
import ctypes
import ctypes.util
import importlib.metadata
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from report import processor, write_results

LEVELS = 4
CHUNK = 64
ZSTD_LEVEL = 1
PEERS = {"TensorStore": "tensorstore", "ome-zarr": "ome-zarr", "ngff-zarr": "ngff-zarr"}
# Oriel's time, in times of another's, at the most; Oriel's way, the other, the goal.
GOALS = [
    ("raw", "TensorStore, raw", 0.6),
    ("raw", "cp of level 0", 2.5),
    ("raw", "ome-zarr", 1 / 5),
    ("raw", "ngff-zarr", 1 / 30),
    ("zstd:1", "zstd alone", 1.1),
    ("zstd:1", "TensorStore, zstd:1", None),
    ("modes", "Oriel, means of labels", 2),
    ("check", "cat of all levels", None),
]
MOST_MEMORY = 256 << 20


def synthetic(n):
    z, y, x = np.ogrid[:n, :n, :n]
    values = (2000 + 800 * np.sin(z / 19) * np.cos(y / 23) * np.sin(x / 29)).astype("f4")
    return (values + np.random.default_rng(0).normal(0, 12, values.shape)).astype("u2")


def volume_of(given):
    if given.volume is None:
        return synthetic(given.size)
    import zarr

    return zarr.open_array(given.volume, mode="r")[...]


def make_volume(folder, values):
    """Writes a volume, and labels of its shape."""
    import zarr

    cubes = np.random.default_rng(1).integers(1, 5000, [-(-n // 20) for n in values.shape])
    labels = np.kron(cubes, np.ones((20,) * 3, int))[tuple(slice(n) for n in values.shape)].astype("u4")
    for name, array in (("x.zarr", values), ("labels.zarr", labels)):
        zarr.create_array(
            str(folder / name), shape=array.shape, dtype=array.dtype, chunks=(CHUNK,) * 3, compressors=None
        )[...] = array


def means(values, factor):
    """Of blocks, cut at the end; of floats as exact as double precision, of integers rounded half to even."""
    sums, count = values.astype("f8"), np.ones(())
    for axis, n in enumerate(values.shape):
        starts = np.arange(0, n, factor)
        sums = np.add.reduceat(sums, starts, axis)
        count = np.multiply.outer(count, np.minimum(factor, n - starts))
    found = sums / count
    return (np.rint(found) if values.dtype.kind in "iu" else found).astype(values.dtype)


def verify(name, values, target):
    import zarr

    for level in range(LEVELS + 1):
        made = zarr.open_array(str(target / str(level)), mode="r")[...]
        wanted = means(values, 2**level) if level else values
        alike = np.array_equal(made, wanted) if values.dtype.kind in "iu" else np.allclose(made, wanted, 1e-6)
        if not alike:
            sys.exit(f"pyramids: level {level} of {name} is not what NumPy's means are")


def written_chunks(target):
    """All chunks that Oriel writes, as bytes: cut ones with zeros to their end, without those that are all zero."""
    import zarr

    chunks = []
    for level in range(LEVELS + 1):
        y = zarr.open_array(str(target / str(level)), mode="r")[...]
        y = np.pad(y, [(0, -n % CHUNK) for n in y.shape])
        for place in np.ndindex(*[n // CHUNK for n in y.shape]):
            part = y[tuple(slice(p * CHUNK, (p + 1) * CHUNK) for p in place)]
            if part.any():
                chunks.append(part.tobytes())
    return chunks


class Zstd:
    """The system's library, which Oriel uses."""

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        for name, result in {"createCCtx": ctypes.c_void_p, "compressBound": ctypes.c_size_t}.items():
            getattr(self.library, f"ZSTD_{name}").restype = result
        self.library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
        self.library.ZSTD_freeCCtx.argtypes = [ctypes.c_void_p]
        self.compress = self.library.ZSTD_compressCCtx
        self.compress.restype = ctypes.c_size_t
        self.compress.argtypes = [ctypes.c_void_p] + [ctypes.c_void_p, ctypes.c_size_t] * 2 + [ctypes.c_int]

    def version(self):
        number = self.library.ZSTD_versionNumber()
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def seconds(self, chunks, threads):
        """Seconds, and bytes in all, of compressing by so many threads, each with a context and a buffer of its own."""
        turns, sizes = itertools.count(), [0] * len(chunks)

        def work():
            context = self.library.ZSTD_createCCtx()
            room = self.library.ZSTD_compressBound(max(map(len, chunks)))
            to = ctypes.create_string_buffer(room)
            while (i := next(turns)) < len(chunks):
                sizes[i] = self.compress(context, to, room, chunks[i], len(chunks[i]), ZSTD_LEVEL)
            self.library.ZSTD_freeCCtx(context)

        workers = [threading.Thread(target=work) for _ in range(threads)]
        begin = time.perf_counter()
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        return time.perf_counter() - begin, sum(sizes)


class Run:
    """One volume, and what the contenders took for it, by turns."""

    def __init__(self, given, folder, peers):
        self.given, self.folder, self.peers = given, folder, peers
        self.target = folder / "y.zarr"
        self.times, self.memory, self.chunks = {}, {}, None
        self.values = volume_of(given)
        make_volume(folder, self.values)
        self.zstd = Zstd()

    def timed(self, name, call):
        shutil.rmtree(self.target, ignore_errors=True)
        begin = time.perf_counter()
        took = call()
        self.times.setdefault(name, []).append(took if isinstance(took, float) else time.perf_counter() - begin)

    def oriel(self, way, *more, source="x.zarr"):
        words = [
            "pyramid",
            self.folder / source,
            self.target,
            "--levels",
            LEVELS,
            "--factor",
            2,
            "-t",
            self.given.threads,
        ]
        report = json.loads(self.called([self.given.oriel, *words, "--json", *more]))
        self.memory[way] = max(self.memory.get(way, 0), report["peak_memory"])
        return report["seconds"]["levels"]  # without bringing all to the disk, which others leave to the system

    def peer(self, name, codec):
        words = [name, self.folder / "x.zarr", self.target, codec, self.given.threads, LEVELS]
        return float(self.called([sys.executable, Path(__file__).with_name("pyramid_peers.py"), *words]).split()[-1])

    def called(self, words):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"pyramids: {' '.join(map(str, words[:3]))} failed: {done.stderr.strip()[-500:]}")
        return done.stdout

    def verified(self):
        """The chunks that Oriel writes, after they were compared."""
        self.oriel("zstd:1", "--codec", f"zstd:{ZSTD_LEVEL}")
        verify("Oriel", self.values, self.target)
        chunks = written_chunks(self.target)
        here = sum(path.stat().st_size for path in self.target.glob("*/c/**/*") if path.is_file())
        alone = self.zstd.seconds(chunks, 1)[1]
        if alone != here:
            print(f"pyramids: THE COMPRESSOR IS ANOTHER: {here} bytes of Oriel, {alone} of zstd alone", file=sys.stderr)
        if "TensorStore" in self.peers:
            shutil.rmtree(self.target)
            self.peer("TensorStore", "zstd")
            verify("TensorStore", self.values, self.target)
        return chunks

    def turn(self):
        self.timed("cp of level 0", lambda: self.called(["cp", "-r", self.folder / "x.zarr", self.target]))
        self.timed("Oriel, raw", lambda: self.oriel("raw", "--codec", "none"))
        image = self.target.rename(self.folder / "image.zarr")
        self.timed("cat of all levels", lambda: self.read(image))
        self.timed("Oriel, check", lambda: self.called([self.given.oriel, "pyramid", "--check", image]))
        shutil.rmtree(image)
        self.timed("Oriel, zstd:1", lambda: self.oriel("zstd:1", "--codec", f"zstd:{ZSTD_LEVEL}"))
        image = self.target.rename(self.folder / "image.zarr")
        self.timed("cp of compressed levels", lambda: self.called(["cp", "-r", image, self.target]))
        shutil.rmtree(image)
        self.timed("zstd alone", lambda: self.zstd.seconds(self.chunks, self.given.threads)[0])
        self.timed("Oriel, modes", lambda: self.oriel("modes", "--codec", "none", "--labels", source="labels.zarr"))
        self.timed("Oriel, means of labels", lambda: self.oriel("means", "--codec", "none", source="labels.zarr"))
        for name in self.peers:
            self.timed(f"{name}, raw" if name == "TensorStore" else name, lambda name=name: self.peer(name, "none"))
        if "TensorStore" in self.peers:
            self.timed("TensorStore, zstd:1", lambda: self.peer("TensorStore", "zstd"))

    def read(self, folder):
        """Every byte, into nothing."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        with open(os.devnull, "wb") as nothing:
            subprocess.run(["cat", *files], check=True, stdout=nothing)


def judged(middle):
    """Goals and what was reached; those whose other was not measured have no ratio."""
    for way, other, most in GOALS:
        ratio = middle[f"Oriel, {way}"] / middle[other] if other in middle else None
        yield {"way": way, "other": other, "most": most, "ratio": ratio}


def results(run, load):
    times = {name: {"seconds": statistics.median(each), "least": min(each)} for name, each in run.times.items()}
    versions = {name: importlib.metadata.version(package) for name, package in PEERS.items() if name in run.peers}
    return {
        "processor": processor(),
        "load": [load, os.getloadavg()[0]],
        "versions": {"zstd": run.zstd.version(), **{name: versions.get(name) for name in PEERS}},
        "shape": list(run.values.shape),
        "dtype": run.values.dtype.name,
        "levels": LEVELS,
        "threads": run.given.threads,
        "repeats": run.given.repeats,
        "times": times,
        "goals": list(judged({name: each["seconds"] for name, each in times.items()})),
        "memory": run.memory,
        "most_memory": MOST_MEMORY,
    }


def say(whole):
    size = int(np.prod(whole["shape"])) * np.dtype(whole["dtype"]).itemsize >> 20
    shape = "x".join(map(str, whole["shape"]))
    print(f"{shape} {whole['dtype']}, {size} MiB, {LEVELS} levels, {whole['threads']} threads, {whole['repeats']} runs")
    raw, packed = (whole["times"][f"Oriel, {way}"]["seconds"] for way in ("raw", "zstd:1"))
    print(f"{'':<24}{'seconds':>9}{'of Oriel raw':>14}{'of zstd':>10}")
    for name, time_ in whole["times"].items():
        seconds = time_["seconds"]
        print(f"{name:<24}{seconds:>9.3f}{seconds / raw:>14.2f}{seconds / packed:>10.2f}")
    print("peak memory: " + ", ".join(f"{way} {bytes_ >> 20} MiB" for way, bytes_ in whole["memory"].items()))


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("oriel", type=Path)
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--volume", help="a Zarr array of three axes instead")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", help="only these, by commas; empty: none")
    parser.add_argument("--json", type=Path, help="write the results into this file")
    return parser.parse_args(words)


def installed(asked):
    """Peers that are here; a missing one is said."""
    found = []
    for name in PEERS if asked is None else [word for word in asked.split(",") if word]:
        if name not in PEERS:
            sys.exit(f"pyramids: --peers: {name!r}; allowed: {', '.join(PEERS)}")
        try:
            importlib.metadata.version(PEERS[name])
            found.append(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"SKIPPED: {name} is not installed", file=sys.stderr)
    return found


def main():
    given = arguments_of(sys.argv[1:])
    peers = installed(given.peers)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        run = Run(given, Path(temporary), peers)
        run.chunks = run.verified()
        for _ in range(given.repeats):
            run.turn()
    whole = results(run, load)
    say(whole)
    if given.json:
        write_results(given.json, whole)


if __name__ == "__main__":
    main()
