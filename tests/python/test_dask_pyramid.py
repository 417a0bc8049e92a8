"""`oriel.dask.pyramid` against `oriel.pyramid` on the whole array: random ones, schedulers, clusters, stores, faults."""

import os
import signal
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
import tensorstore
import zarr
from random_seeds import seeds

import oriel
import oriel.dask

X = np.random.default_rng(0).integers(0, 60000, (67, 71, 80)).astype("u2")
SMALL = {"memory": 80000, "chunks": 8}  # many regions, though the array is small


def equal(lazy, whole):
    assert len(lazy) == len(whole)
    for a, b in zip(lazy, whole):
        assert (a.factor, a.scale, a.translation) == (b.factor, b.scale, b.translation)
        assert a.array.dtype == b.array.dtype and a.array.shape == b.array.shape
        np.testing.assert_array_equal(a.array, b.array)


def random_arguments(rng, shape):
    """Keywords of a pyramid of float32, uint8 or uint32, and its array."""
    method = str(rng.choice(["mean", "max", "min", "median", "mode", "first", "sum", "var"]))
    dtype = "uint32" if method == "mode" else str(rng.choice(["float32", "uint8"]))
    x = (rng.random(shape) * (5 if method == "mode" else 50)).astype(dtype)
    keywords = {"method": method, "axes": "tzyx"[-len(shape):]}
    if method == "mode" and rng.random() < 0.7:
        keywords["ignore"] = 0
    if method in ("mean", "max", "median") and rng.random() < 0.4:
        keywords |= {"nodata": 3, "min_count": 2}
    if dtype == "float32" and rng.random() < 0.3:
        x[rng.random(shape) < 0.2] = np.nan
        keywords["nan_policy"] = str(rng.choice(["omit", "propagate"]))
    count = int(rng.integers(1, 4))
    steps = [[int(s) for s in rng.integers(1, 4, len(shape))] for _ in range(count)]
    for step in steps:
        step[int(rng.integers(len(shape)))] = 2
    keywords["factors"] = [tuple(step) for step in steps]
    if rng.random() < 0.3:
        keywords["edge"] = "trim"
    elif rng.random() < 0.4:
        keywords["origin"] = [int(o) for o in rng.integers(0, 30, len(shape))]
    if method == "mean" and rng.random() < 0.2:
        keywords["source"] = "previous"
    return x, keywords


@pytest.mark.parametrize("seed", seeds())
def test_levels_have_the_bits_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    checked = several = 0
    for _ in range(100):
        shape = tuple(int(n) for n in rng.integers(1, 28, int(rng.integers(1, 4))))
        x, keywords = random_arguments(rng, shape)
        try:
            whole = oriel.pyramid(x, **keywords)
        except ValueError:  # trim leaves nothing
            continue
        lazy = da.from_array(x, chunks=tuple(int(rng.integers(1, n + 1)) for n in shape))
        window = x.itemsize * int(np.prod([min(f, n) for f, n in zip(whole[-1].factor, shape)]))
        chunks = [int(c) for c in rng.integers(1, 12, len(shape))]
        made = oriel.dask.pyramid(lazy, **keywords, memory=window * int(rng.integers(1, 20)), chunks=chunks)
        equal(made.compute(scheduler="synchronous"), whole)
        checked += 1
        several += made.regions.npartitions > 2
    assert checked > 40 and several > 20


def test_levels_are_lazy_and_know_their_shapes():
    p = oriel.dask.pyramid(da.from_array(X, chunks=30), 2, levels=2, spacing=0.5, **SMALL)
    assert all(isinstance(array, da.Array) for array in p.arrays) and p.axes == "zyx"
    assert [array.shape for array in p.arrays] == [(67, 71, 80), (34, 36, 40), (17, 18, 20)]
    np.testing.assert_array_equal(p[2].array[3:5, 2].compute(scheduler="synchronous"),
                                  oriel.pyramid(X, 2, levels=2)[2].array[3:5, 2])
    data, arguments, kind = p.napari()
    assert data[1] is p[1].array and arguments["scale"] == [0.5] * 3 and kind == "image"


class Counting:
    """A source that counts how often each element is read."""

    shape, dtype, ndim = X.shape, X.dtype, X.ndim

    def __init__(self):
        self.times = np.zeros(X.shape, "i4")
        self.reads = 0
        self.lock = threading.Lock()

    def __getitem__(self, place):
        with self.lock:
            self.times[place] += 1
            self.reads += 1
        return X[place]


@pytest.mark.parametrize(("chunks", "options"), [((16, 16, 16), {"chunks": 8}), ((67, 71, 11), {"chunks": 9}),
                                                 ((50, 30, 64), {"chunks": 8, "shards": 48})])  # fmt: skip
def test_level_0_is_read_once(tmp_path, chunks, options):
    source = Counting()
    p = oriel.dask.pyramid(da.from_array(source, chunks=chunks, asarray=False), 2, levels=3, memory=80000)
    assert p.regions.npartitions > 4
    group = p.to_ome(tmp_path / "image.zarr", compute_kwargs={"scheduler": "threads"}, **options)
    assert (source.times == 1).all()
    for number, array in enumerate(oriel.pyramid(X, 2, levels=3).arrays):
        np.testing.assert_array_equal(group[str(number)][...], array)


@pytest.mark.parametrize("options", [{"chunks": 8}, {"chunks": 9}, {"chunks": (4, 8, 16), "shards": (8, 32, 16)},
                                     {"chunks": 8, "shards": 512}, {}])  # fmt: skip
def test_no_two_tasks_write_a_chunk(tmp_path, monkeypatch, options):
    written = []

    def write(self, place, x):
        written.append((self.path, self.shards or self.chunks, self.shape, place))
        original(self, place, x)

    original = zarr.Array.__setitem__
    monkeypatch.setattr(zarr.Array, "__setitem__", write)
    p = oriel.dask.pyramid(da.from_array(X, chunks=30), 2, levels=3, origin=(0, 4, 13), **SMALL)
    p.to_ome(tmp_path / "image.zarr", compute_kwargs={"scheduler": "threads"}, **options)
    assert len(written) >= 4
    for _, block, shape, place in written:
        for extent, n, along in zip(block, shape, place):
            assert along.start % extent == 0 and (along.stop % extent == 0 or along.stop == n)
    assert sum(int(np.prod([s.stop - s.start for s in place])) for *_, place in written) == sum(a.size for a in p.arrays)


def test_other_readers_see_the_same(tmp_path):
    models = pytest.importorskip("ome_zarr_models")
    labels = (X % 7).astype("u4")
    p = oriel.dask.pyramid(da.from_array(labels, chunks=30), 2, levels=3, labels=True, ignore=0, spacing=(2, 1, 1), unit="micrometer",
                           **SMALL)
    group = p.to_ome(tmp_path / "image.zarr", chunks=8, shards=16, compute_kwargs={"scheduler": "threads"})
    whole = oriel.pyramid(labels, 2, levels=3, labels=True, ignore=0, spacing=(2, 1, 1), unit="micrometer")
    wanted = whole.to_ome(tmp_path / "whole" / "image.zarr", chunks=8, shards=16)
    assert dict(group.attrs) == dict(wanted.attrs) and group["1"].shards == (16, 16, 16) == wanted["1"].shards
    assert isinstance(models.open_ome_zarr(zarr.open_group(str(tmp_path / "image.zarr"), mode="r")), models.v05.ImageLabel)
    files = sorted(file.relative_to(tmp_path / "image.zarr") for file in (tmp_path / "image.zarr").rglob("*"))
    assert files == sorted(file.relative_to(tmp_path / "whole" / "image.zarr") for file in (tmp_path / "whole" / "image.zarr").rglob("*"))
    for number, array in enumerate(whole.arrays):
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "image.zarr" / str(number))}}
        np.testing.assert_array_equal(tensorstore.open(spec).result().read().result(), array)
        np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "image.zarr" / str(number)), mode="r")[...], array)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_schedulers(tmp_path, scheduler):
    p = oriel.dask.pyramid(da.from_array(X, chunks=40), 2, levels=2, **SMALL)
    with dask.config.set(num_workers=2):
        group = p.to_ome(tmp_path / "image.zarr", compute_kwargs={"scheduler": scheduler})
    for number, array in enumerate(oriel.pyramid(X, 2, levels=2).arrays):
        np.testing.assert_array_equal(group[str(number)][...], array)
    assert os.listdir(tmp_path) == ["image.zarr"]
    if scheduler == "processes":
        with dask.config.set(num_workers=1), pytest.raises(RuntimeError, match="all workers see, but is the memory of another"):
            p.to_ome(zarr.storage.MemoryStore(), compute_kwargs={"scheduler": scheduler})


def test_stores_of_zarr(tmp_path):
    p = oriel.dask.pyramid(da.from_array(X, chunks=40), 2, levels=1, **SMALL)
    for store in (zarr.storage.MemoryStore(), zarr.storage.LocalStore(tmp_path / "store")):
        group = p.to_ome(store, compute_kwargs={"scheduler": "threads"})
        np.testing.assert_array_equal(group["1"][...], oriel.pyramid(X, 2, levels=1)[1].array)
        assert zarr.open_group(store, mode="r").attrs["ome"]["version"] == "0.5"


def test_later(tmp_path):
    p = oriel.dask.pyramid(da.from_array(X, chunks=40), 2, levels=1, **SMALL)
    delayed = p.to_ome(tmp_path / "image.zarr", compute=False)
    assert not (tmp_path / "image.zarr").exists()
    delayed.compute(scheduler="threads")
    assert (zarr.open_group(str(tmp_path / "image.zarr"), mode="r")["1"][...] == oriel.pyramid(X, 2, levels=1)[1].array).all()
    with pytest.raises(FileExistsError, match="store must not be there, but '.*image.zarr' is"):
        p.to_ome(tmp_path / "image.zarr")
    with pytest.raises(FileNotFoundError, match="store must be in a folder, but '.*none' is not there"):
        p.to_ome(tmp_path / "none" / "image.zarr")


def once(block, block_info, marks, times, kill):
    """The block, but the first `times` calls for the second one fail, or end the worker."""
    if block_info[0]["chunk-location"] == (0, 0, 1):
        for number in range(times):
            try:
                (Path(marks) / str(number)).touch(exist_ok=False)
            except FileExistsError:
                continue
            if kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError("the disk is away")
    return block


def test_what_fails_leaves_nothing(tmp_path):
    (tmp_path / "marks").mkdir()
    (tmp_path / "out").mkdir()
    x = da.from_array(X, chunks=40).map_blocks(once, marks=str(tmp_path / "marks"), times=1, kill=False, dtype=X.dtype, meta=np.empty((0, 0, 0), X.dtype))
    p = oriel.dask.pyramid(x, 2, levels=1, **SMALL)
    with pytest.raises(OSError, match="the disk is away"):
        p.to_ome(tmp_path / "out" / "image.zarr", compute_kwargs={"scheduler": "synchronous"})
    assert os.listdir(tmp_path / "out") == []


def test_a_cluster_whose_tasks_fail_and_whose_worker_is_killed(tmp_path):
    from dask.distributed import Client, LocalCluster

    wanted = oriel.pyramid(X, 2, levels=3).arrays
    with (LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
          Client(cluster)):
        for name, times, kill in (("plain", 0, False), ("twice", 2, False), ("killed", 1, True)):
            marks = tmp_path / f"{name}-marks"  # of failures
            marks.mkdir()
            x = da.from_array(X, chunks=40).map_blocks(once, marks=str(marks), times=times, kill=kill, dtype=X.dtype,
                                                       meta=np.empty((0, 0, 0), X.dtype))
            p = oriel.dask.pyramid(x, 2, levels=3, **SMALL)
            group = p.to_ome(tmp_path / f"{name}.zarr", shards=16, compute_kwargs={"retries": 2})
            assert len(os.listdir(marks)) == times
            for number, array in enumerate(wanted):
                np.testing.assert_array_equal(group[str(number)][...], array)
    assert sorted(file for file in os.listdir(tmp_path) if "marks" not in file) == ["killed.zarr", "plain.zarr", "twice.zarr"]


def wait_for(file):
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


class SlowWrite:
    """`array[...] = x` that begins before the output is removed, and writes after that."""

    def __init__(self, array, folder):
        self.array, self.folder = array, folder

    def __setitem__(self, place, x):
        (Path(self.folder) / "begun").touch()
        wait_for(Path(self.folder) / "over")
        self.array[place] = x
        (Path(self.folder) / "written").touch()


def fails_after(folder):
    wait_for(Path(folder) / "begun")
    raise OSError("the disk is away")


def test_a_task_that_still_writes_after_another_failed_leaves_nothing(tmp_path, monkeypatch):
    from dask.distributed import Client, LocalCluster
    from oriel.dask import ome

    (tmp_path / "out").mkdir()
    write = ome._write

    def write_slowly(output, array, begin, x):
        if array.path == "1" and not any(begin):
            array = SlowWrite(array, str(tmp_path))
        elif array.path == "0" and not any(begin):
            fails_after(str(tmp_path))
        write(output, array, begin, x)

    monkeypatch.setattr(ome, "_write", write_slowly)
    with LocalCluster(n_workers=1, threads_per_worker=4, processes=False, dashboard_address=None) as cluster, Client(cluster):
        p = oriel.dask.pyramid(da.from_array(X, chunks=40), 2, levels=1, **SMALL)
        with pytest.raises(OSError, match="the disk is away"):
            p.to_ome(tmp_path / "out" / "image.zarr")
        (tmp_path / "over").touch()
        wait_for(tmp_path / "written")
        deadline = time.monotonic() + 10
        while os.listdir(tmp_path / "out") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert os.listdir(tmp_path / "out") == []
    assert os.listdir(tmp_path / "out") == []


def test_one_process_takes_dask_arrays_as_they_are():
    """Boxes that hold whole chunks, so that no chunk is computed twice."""
    source = Counting()
    lazy = da.from_array(source, chunks=(64, 8, 8), asarray=False).map_blocks(np.copy)  # whole chunks, which cubes would share
    with oriel.threads(2):  # which share the memory
        whole = oriel.pyramid(lazy, 2, levels=2, chunks=8, memory=200000)
    assert source.reads > 20  # in many boxes
    np.testing.assert_array_equal(whole[2].array, oriel.pyramid(X, 2, levels=2)[2].array)
    assert (source.times == 1).all()


def test_memory_bounds_what_a_task_takes():
    def lazy(n, chunks):
        return da.zeros((n, n, n), chunks=chunks, dtype="u2")

    assert oriel.dask.pyramid(lazy(1024, 512), 2, levels=6).regions.chunksize == (256, 256, 256)  # whole chunks of levels 1 and 2
    assert oriel.dask.pyramid(lazy(1024, 96), 2, levels=2).regions.chunksize == (768, 256, 256)  # whole ones of 96, too
    assert oriel.dask.pyramid(lazy(512, 512), 2, levels=2, memory=5 << 20).regions.chunksize == (128, 128, 128)
    planes = da.zeros((1000, 300, 300), chunks=(1, 300, 300), dtype="u1")
    assert oriel.dask.pyramid(planes, [(1, 2, 2), (1, 2, 2)]).regions.chunksize == (128, 300, 300)
    with pytest.raises(ValueError, match="memory must be at least 2147483648 bytes, so that a task can take 1024x1024x1024 elements, "
                                         "a window of level 10, but is 0"):
        oriel.dask.pyramid(lazy(2048, 2048), 2, levels=10)


@pytest.mark.parametrize(("arguments", "text"), [
    ({"factors": 2, "levels": 1, "edge": "no"}, "pyramid: edge must be 'partial', 'trim' or 'exact', but is 'no'"),
    ({"factors": 2, "levels": 1, "source": "no"}, "pyramid: source must be None, 'base' or 'previous', but is 'no'"),
    ({"factors": 2, "levels": 1, "chunks": 0}, "pyramid: chunks must be 1 int >= 1 or 3, one for each axis, but is 0"),
    ({"factors": 2, "levels": 1, "chunks": 8, "shards": 12}, "pyramid: shards must be multiples of chunks, (8, 8, 8), but are (12, 12, 12)"),
    ({"factors": 2, "levels": 1, "shards": (64, 64)}, "pyramid: shards must be 1 int >= 1 or 3, one for each axis, but is (64, 64)"),
    ({"factors": 2, "levels": 3, "memory": 100}, "memory must be at least 1024 bytes, so that a task can take 8x8x8 elements, a window of level 3, but is 100"),
    ({"factors": 2, "levels": 1, "memory": -1}, "memory must be at least 16 bytes"),
    ({"factors": 2}, "levels must be given if factors is one number, but is None"),
])  # fmt: skip
def test_wrong_arguments(arguments, text):
    with pytest.raises(ValueError, match="pyramid: ") as raised:
        oriel.dask.pyramid(da.from_array(X, chunks=40), **arguments)
    assert text in str(raised.value)


def test_unknown_lengths():
    x = da.from_array(X[0, 0], chunks=40)
    with pytest.raises(ValueError, match=r"x must have axes of known lengths, but has shape \(nan,\)"):
        oriel.dask.pyramid(x[x > 5], 2, levels=1)


def test_an_unseen_folder_is_named(tmp_path):
    """A worker without the folder must not write into one of its own."""
    p = oriel.dask.pyramid(da.from_array(X, chunks=40), 2, levels=1, **SMALL)
    delayed = p.to_ome(tmp_path / "image.zarr", compute=False)
    (hidden,) = tmp_path.iterdir()
    hidden.rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match="store must be a folder that all workers see, but '.*' is not there"):
        delayed.compute(scheduler="synchronous")
    assert os.listdir(tmp_path) == ["elsewhere"]
