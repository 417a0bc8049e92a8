"""Times `oriel pyramid` beside `cp` of level 0, TensorStore, ome-zarr and ngff-zarr on one volume, in one run, by turns.

Usage: pyramids.py ORIEL [--size N | --volume ARRAY.zarr] [--repeats R] [--threads T]. The volume is uint16, N x N x N, smooth
with noise, or that of a Zarr array; in chunks of 64^3, in the page cache; four levels of means. Peers that are not installed are left out, which is said. Ratios are of
medians; `floor` is what has to be done anyway: for raw chunks a `cp` of level 0, for zstd the compression of all chunks by
the same number of threads.
"""

import argparse
import importlib.util
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

LEVELS = 4
CHUNK = 64
PEER = """
import json, sys, time
kind, source, target, codec, threads, levels = sys.argv[1:]
threads, levels = int(threads), int(levels)
if kind == "TensorStore":
    import tensorstore as ts
    context = ts.Context({"data_copy_concurrency": {"limit": threads}, "file_io_concurrency": {"limit": threads}})
    codecs = [{"name": "bytes"}] + ([] if codec == "none" else [{"name": "zstd", "configuration": {"level": 1}}])
    x = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": source}}, context=context).result()
    begin = time.perf_counter()
    for level in range(levels + 1):
        y = ts.downsample(x, [2**level] * 3, "mean") if level else x
        out = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{target}/{level}"},
                       "metadata": {"codecs": codecs, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64] * 3}}}},
                      create=True, dtype=y.dtype, shape=y.shape, context=context).result()
        out.write(y).result()
elif kind == "ome-zarr":
    import dask.array as da, dask, zarr
    from ome_zarr.writer import write_image
    from ome_zarr.scale import Scaler
    dask.config.set(scheduler="threads", num_workers=threads)
    x = da.from_zarr(source)
    begin = time.perf_counter()
    write_image(x, zarr.create_group(target), axes="zyx", scaler=Scaler(max_layer=levels, method="local_mean"), storage_options={"chunks": (64,) * 3})
else:
    import dask, dask.array as da, ngff_zarr as nz
    dask.config.set(scheduler="threads", num_workers=threads)
    x = da.from_zarr(source)
    begin = time.perf_counter()
    image = nz.to_ngff_image(x, dims=("z", "y", "x"))
    nz.to_ngff_zarr(target, nz.to_multiscales(image, [2**l for l in range(1, levels + 1)], method=nz.Methods.DASK_IMAGE_GAUSSIAN, chunks=64))
print(time.perf_counter() - begin)
"""


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
        zarr.create_array(str(folder / name), shape=array.shape, dtype=array.dtype, chunks=(CHUNK,) * 3, compressors=None)[...] = array


def compression_seconds(values, threads):
    """Seconds of zstd of level 1 for all chunks of all levels, on so many threads."""
    from numcodecs import Zstd

    codec, chunks = Zstd(level=1), []
    for level in range(LEVELS + 1):
        y = values[:: 2**level, :: 2**level, :: 2**level]
        for place in np.ndindex(*[-(-n // CHUNK) for n in y.shape]):
            part = y[tuple(slice(p * CHUNK, (p + 1) * CHUNK) for p in place)]
            chunks.append(np.ascontiguousarray(part))
    begin = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(codec.encode, chunks))
    return time.perf_counter() - begin


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("oriel", type=Path)
    words.add_argument("--size", type=int, default=320)
    words.add_argument("--volume", help="a Zarr array of three axes instead")
    words.add_argument("--repeats", type=int, default=5)
    words.add_argument("--threads", type=int, default=2)
    given = words.parse_args()
    names = {"TensorStore": "tensorstore", "ome-zarr": "ome_zarr", "ngff-zarr": "ngff_zarr"}
    peers = [name for name, module in names.items() if importlib.util.find_spec(module)]
    for name in names.keys() - set(peers):
        print(f"SKIPPED: {name} is not installed", file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        values = volume_of(given)
        make_volume(folder, values)
        target = folder / "y.zarr"
        times, memory = {}, {}

        def run(name, call):
            shutil.rmtree(target, ignore_errors=True)
            begin = time.perf_counter()
            took = call()
            times.setdefault(name, []).append(took if took is not None else time.perf_counter() - begin)

        def oriel(codec, *more, name="x.zarr"):
            command = [given.oriel, "pyramid", folder / name, target, "--levels", str(LEVELS), "--factor", "2", "--codec", codec,
                       "-t", str(given.threads), "--json", *more]  # fmt: skip
            report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            memory[codec] = report["peak_memory"]
            return report["seconds"]["levels"]

        def peer(name, codec):
            command = [sys.executable, "-c", PEER, name, folder / "x.zarr", target, codec, str(given.threads), str(LEVELS)]
            return float(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.split()[-1])

        for _ in range(given.repeats):
            run("cp of level 0", lambda: subprocess.run(["cp", "-r", folder / "x.zarr", target], check=True) and None)
            run("Oriel, raw", lambda: oriel("none"))
            run("Oriel, zstd:1", lambda: oriel("zstd:1"))
            run("zstd alone", lambda: compression_seconds(values, given.threads))
            run("Oriel, modes, uint32", lambda: oriel("none", "--labels", name="labels.zarr"))
            run("Oriel, means, uint32", lambda: oriel("none", name="labels.zarr"))
            for name in peers:
                run(f"{name}, raw" if name == "TensorStore" else name, lambda name=name: peer(name, "none"))
            if "TensorStore" in peers:
                run("TensorStore, zstd:1", lambda: peer("TensorStore", "zstd"))
    middle = {name: statistics.median(values) for name, values in times.items()}
    print(f"{'x'.join(map(str, values.shape))} {values.dtype}, {values.nbytes >> 20} MiB, {LEVELS} levels, {given.threads} threads, {given.repeats} runs")
    print(f"{'':<22}{'seconds':>9}{'of Oriel raw':>14}{'of zstd':>10}")
    for name, seconds in middle.items():
        print(f"{name:<22}{seconds:>9.3f}{seconds / middle['Oriel, raw']:>14.2f}{seconds / middle['Oriel, zstd:1']:>10.2f}")
    print("peak memory: " + ", ".join(f"{codec} {bytes_ >> 20} MiB" for codec, bytes_ in memory.items()))


if __name__ == "__main__":
    main()
