"""An OME-Zarr image that tasks write: each block, a chunk or shard or several, by one of them."""

from __future__ import annotations

import itertools
import os
import shutil
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from oriel.dask.chunks import chunk_bounds
from oriel.pyramids import Pyramid, create_group, image_name

__all__ = ["write_levels"]


def _local(store: Any) -> Path | None:
    """The folder that a store is, if it is one that can be renamed."""
    return Path(store).absolute() if isinstance(store, Path) or (isinstance(store, str) and "://" not in store) else None


class _Output:
    """Where the image is written, and how it becomes visible as a whole."""

    def __init__(self, store: Any) -> None:
        self._path = _local(store)
        self._hidden: Path | None = None
        if self._path is not None:
            if self._path.exists():
                raise FileExistsError(f"oriel.dask.pyramid: store must not be there, but {str(self._path)!r} is")
            if not self._path.parent.is_dir():
                raise FileNotFoundError(f"oriel.dask.pyramid: store must be in a folder, but {str(self._path.parent)!r} is "
                                        "not there")
            self._hidden = self._path.with_name(f".{self._path.name}.{uuid.uuid4().hex[:16]}.tmp")
        self._process = os.getpid() if type(store).__name__ == "MemoryStore" else None
        self.store = str(self._hidden) if self._hidden is not None else store

    def check(self) -> None:
        """Throws if this process does not see what the group was created in."""
        if self._process is not None and self._process != os.getpid():
            raise RuntimeError("oriel.dask.pyramid: store must be one that all workers see, but is the memory of another "
                               "process")
        if self._hidden is not None and not self._hidden.is_dir():
            raise FileNotFoundError("oriel.dask.pyramid: store must be a folder that all workers see, but "
                                    f"{str(self._hidden)!r} is not there")

    def finish(self, group: Any, metadata: dict[str, Any]) -> None:
        """The metadata of the image, and its name. May run twice."""
        if self._hidden is not None and self._path is not None:
            if not self._hidden.exists() and self._path.exists():
                return
            self.check()
            group.attrs["ome"] = metadata
            self._hidden.rename(self._path)
        else:
            group.attrs["ome"] = metadata

    def remove(self) -> None:
        """What is unfinished of a folder. It is renamed first: no task writes into what is being removed."""
        if self._hidden is None or self._path is None:
            return
        going = self._path.with_name(f".{self._path.name}.{uuid.uuid4().hex[:16]}.tmp")
        try:
            self._hidden.rename(going)
        except OSError:
            going = self._hidden
        shutil.rmtree(going, ignore_errors=True)

    def remove_stray(self) -> None:
        """What a task wrote after `remove` or `finish`: zarr-python makes folders that are not there."""
        if self._hidden is not None and not (self._hidden / "zarr.json").exists():
            shutil.rmtree(self._hidden, ignore_errors=True)

    def open(self, group: Any) -> Any:
        """The group under its final name."""
        import zarr

        return group if self._path is None else zarr.open_group(str(self._path), mode="r+", zarr_format=3)


def _write(output: _Output, array: Any, begin: tuple[int, ...], x: Any) -> None:
    output.check()
    try:
        array[tuple(slice(b, b + n) for b, n in zip(begin, x.shape))] = np.asarray(x)
    finally:
        output.remove_stray()


def _finish(output: _Output, group: Any, metadata: dict[str, Any], _: Any) -> None:
    output.finish(group, metadata)


def write_levels(pyramid: Pyramid, sources: Sequence[Any], store: Any, chunks: Any, shards: Any, compute: bool,
                 compute_kwargs: dict[str, Any], options: dict[str, Any]) -> Any:  # fmt: skip
    """Writes `sources`, the levels in chunks that hold whole blocks of the arrays of the group."""
    metadata = pyramid.metadata(image_name(store))
    output = _Output(store)
    group = create_group(output.store)
    try:
        arrays = pyramid.create_arrays(group, chunks, shards, options)
        token = f"{tokenize(*sources)}-{uuid.uuid4().hex}"  # writes are never those of another call
        tasks: dict[Any, Any] = {}
        for number, (x, array) in enumerate(zip(sources, arrays)):
            bounds = [chunk_bounds(along) for along in x.chunks]
            for at in itertools.product(*(range(len(along)) for along in bounds)):
                begin = tuple(along[number][0] for along, number in zip(bounds, at))
                tasks[(f"oriel-write-{token}", number, *at)] = (partial(_write, output, array, begin), (x.name, *at))
        last = f"oriel-finish-{token}"
        done = list(tasks)
        tasks[last] = (partial(_finish, output, group, metadata), done)
        graph = HighLevelGraph.from_collections(last, tasks, dependencies=list(sources))
        delayed = Delayed(last, graph)
        if not compute:
            return delayed
        delayed.compute(**compute_kwargs)
        return output.open(group)
    except BaseException:
        output.remove()
        raise
