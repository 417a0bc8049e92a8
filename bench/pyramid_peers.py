"""Makes a pyramid with another library, in a process of its own, and prints the seconds: pyramid_peers.py KIND SOURCE TARGET CODEC THREADS LEVELS."""

import sys
import time

CHUNK = 64


def tensorstore(source, target, codec, threads, levels):
    import tensorstore as ts

    context = ts.Context({"data_copy_concurrency": {"limit": threads}, "file_io_concurrency": {"limit": threads}})
    codecs = [{"name": "bytes"}] + ([] if codec == "none" else [{"name": "zstd", "configuration": {"level": 1}}])
    grid = {"name": "regular", "configuration": {"chunk_shape": [CHUNK] * 3}}

    def opened(path, **more):
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}
        if more:
            spec["metadata"] = {"codecs": codecs, "chunk_grid": grid}
        return ts.open(spec, context=context, create=bool(more), **more).result()

    x = opened(source)
    begin = time.perf_counter()
    for level in range(levels + 1):
        y = ts.downsample(x, [2**level] * 3, "mean") if level else x
        opened(f"{target}/{level}", dtype=y.dtype, shape=y.shape).write(y).result()
    return begin


def ome_zarr(source, target, threads, levels):
    import dask
    import dask.array as da
    import zarr
    from ome_zarr.scale import Scaler
    from ome_zarr.writer import write_image

    dask.config.set(scheduler="threads", num_workers=threads)
    x = da.from_zarr(source)
    begin = time.perf_counter()
    write_image(
        x,
        zarr.create_group(target),
        axes="zyx",
        scaler=Scaler(max_layer=levels, method="local_mean"),
        storage_options={"chunks": (CHUNK,) * 3},
    )
    return begin


def ngff_zarr(source, target, threads, levels):
    import dask
    import dask.array as da
    import ngff_zarr as nz

    dask.config.set(scheduler="threads", num_workers=threads)
    x = da.from_zarr(source)
    begin = time.perf_counter()
    image = nz.to_ngff_image(x, dims=("z", "y", "x"))
    factors = [2**level for level in range(1, levels + 1)]
    scales = nz.to_multiscales(image, factors, method=nz.Methods.DASK_IMAGE_GAUSSIAN, chunks=CHUNK)
    nz.to_ngff_zarr(target, scales)
    return begin


def main():
    kind, source, target, codec, threads, levels = sys.argv[1:]
    rest = int(threads), int(levels)
    if kind == "TensorStore":
        begin = tensorstore(source, target, codec, *rest)
    elif kind == "ome-zarr":
        begin = ome_zarr(source, target, *rest)
    else:
        begin = ngff_zarr(source, target, *rest)
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    main()
