"""A user's program that a type checker must take; test_types.py runs it through one. Nothing here is run."""

from typing import Any, assert_type

import jax
import numpy as np
import torch
from numpy.typing import NDArray

import oriel
import oriel.jax
import oriel.keras
import oriel.mpi
import oriel.onnx
import oriel.tile
import oriel.torch
from oriel.array_types import ArrayT, IndexArray, Ints, NanPolicy

Image = NDArray[np.float32]


def arrays(image: Image, mask: NDArray[np.bool_], tensor: torch.Tensor, traced: jax.Array, flag: bool) -> None:
    assert_type(oriel.max_pool(image, 2), Image)
    assert_type(oriel.max_pool(mask, (2, 3), padding="same", axes=-1), NDArray[np.bool_])
    assert_type(oriel.avg_pool(tensor, np.int64(2), nan_policy="omit"), torch.Tensor)
    assert_type(oriel.sum_pool(traced, np.array([2, 2]), padding=[(0, 1), (1, 0)]), jax.Array)
    assert_type(oriel.lp_pool([3.0, -4.0], 2, 2), NDArray[Any])
    assert_type(oriel.max_pool(image, 2, out=image), Image)
    assert_type(oriel.max_pool(image, 2, return_indices=True), tuple[Image, IndexArray])
    assert_type(oriel.min_pool(image, 2, return_indices="window", index_dtype="uint8"), tuple[Image, IndexArray])
    assert_type(oriel.min_pool(tensor, 2, return_indices="tensor"), tuple[torch.Tensor, torch.Tensor])
    assert_type(oriel.adaptive_max_pool([1, 2], 1, return_indices=True), tuple[NDArray[Any], IndexArray])
    assert_type(oriel.max_pool(image, 2, return_indices=flag), Any)
    assert_type(oriel.adaptive_avg_pool(image, (None, 4)), Image)
    assert_type(oriel.global_max_pool(tensor, axes=(-2, -1)), torch.Tensor)
    assert_type(oriel.global_avg_pool(image, keepdims=False), Any)
    y, indices = oriel.max_pool2d(image, 2, return_indices=True)
    assert_type(oriel.max_unpool2d(y, indices, 2, output_size=(8, 8)), Image)
    assert_type(oriel.max_pool2d(tensor, 2, None, 0, 1, False, False), torch.Tensor)
    assert_type(oriel.avg_pool3d(input=traced, kernel_size=2), jax.Array)
    assert_type(oriel.max_pool_backward(y, image, 2, indices=indices), Image)
    assert_type(oriel.max_pool_backward(y, image.shape, 2, indices=indices), Image)
    assert_type(oriel.avg_pool_backward(tensor, (4,), 3, 1), torch.Tensor)
    assert_type(oriel.max_pool(image, 2, mask=mask, nodata=0, min_count=2), Image)
    assert_type(oriel.avg_pool(tensor, 2, weights=image, count_include_pad=False), torch.Tensor)
    assert_type(oriel.median_pool(image, 2, method="mean", mask=mask), NDArray[Any])
    assert_type(oriel.median_pool(tensor, None, footprint=oriel.disk(2), nan_policy="omit"), torch.Tensor)
    assert_type(oriel.median_pool(image, 2, return_indices=True), tuple[NDArray[Any], IndexArray])
    assert_type(oriel.mode_pool(tensor, 2, return_indices="window"), tuple[torch.Tensor, torch.Tensor])
    assert_type(oriel.mode_pool(image, 2, return_indices=flag), Any)
    assert_type(oriel.quantile_pool(traced, [0.25, 0.5], 2, method="linear"), jax.Array)
    assert_type(oriel.quantile_pool([1, 2, 3], None, 3, rank=-1), NDArray[Any])
    assert_type(oriel.var_pool(image, (3, 3), 1, "same", ddof=1, dtype="float64"), NDArray[Any])
    assert_type(oriel.count_pool(tensor, 2, mask=mask), torch.Tensor)
    assert_type(oriel.first_pool(x=tensor, kernel_size=2), torch.Tensor)
    assert_type(oriel.lse_pool([0.0, 1.0], 2, sharpness=3.0, sum=True), NDArray[Any])
    assert_type(oriel.median_pool_backward(tensor, tensor, 2, mask=mask), torch.Tensor)
    assert_type(oriel.quantile_pool_backward(image, image, 0.5, 2), Image)
    assert_type(oriel.max_pool_backward(image, image, 2, mask=mask), Image)
    assert_type(oriel.disk(3), NDArray[np.bool_])
    assert_type(oriel.block_reduce(image, 2, np.median, edge="partial"), NDArray[Any])
    assert_type(oriel.reduce_window(image, -np.inf, np.maximum, (2, 2), padding="SAME"), Image)
    assert_type(oriel.block_reduce(image, (2, 3), np.mean), NDArray[Any])
    assert_type(oriel.maximum_filter(image, 3, mode=["wrap", "nearest"]), NDArray[Any])
    assert_type(oriel.tile.avg_pool2d(image, 3, 2, padding=1, machine="trn2"), Image)
    assert_type(oriel.tile.check("avg_pool2d", (2, 8, 8), kernel_size=2), list[oriel.tile.Finding])
    with oriel.threads(1):
        assert_type(oriel.supported_targets(), list[str])


def of_any_kind(x: ArrayT, sizes: Ints, policy: NanPolicy) -> ArrayT:
    return oriel.avg_pool(x, sizes, nan_policy=policy)


def descriptions(image: Image, tensor: torch.Tensor) -> None:
    pool = oriel.Pool("avg", output_size=2)
    assert_type(pool(image), Image)
    assert_type(pool(tensor), torch.Tensor)
    assert_type(pool.backward(tensor, input_shape=(4, 4)), torch.Tensor)
    assert_type(pool.with_indices(image, space="window"), tuple[Image, IndexArray])
    assert_type(pool.output_shape((4, 4)), tuple[int, ...])


def frameworks(x: torch.Tensor, batch: jax.Array, image: Image, flag: bool) -> None:
    assert_type(oriel.torch.max_pool2d(x, 3, stride=2, padding="same"), torch.Tensor)
    assert_type(oriel.torch.max_pool2d(x, 3, return_indices=True), tuple[torch.Tensor, torch.Tensor])
    assert_type(oriel.torch.max_pool(x, 3, return_indices=flag), torch.Tensor | tuple[torch.Tensor, torch.Tensor])
    assert_type(oriel.torch.adaptive_avg_pool2d(x, (None, 4)), torch.Tensor)
    assert_type(oriel.torch.AvgPool2d(2)(x), torch.Tensor)
    assert_type(oriel.torch.MaxUnpool2d(2)(x, x), torch.Tensor)
    assert_type(oriel.torch.replace_pooling(torch.nn.Sequential()).left, list[tuple[str, str, str]])
    assert_type(oriel.jax.max_pool(batch, (2, 2), padding="SAME"), jax.Array)
    assert_type(oriel.jax.max_pool(batch, (2, 2), return_indices=True), tuple[jax.Array, jax.Array])
    assert_type(oriel.jax.MaxPool2D((4, 4), strides=2)(batch), jax.Array)
    assert_type(oriel.jax.reduce_window(batch, 0.0, jax.lax.add, (2, 2)), jax.Array)
    oriel.keras.MaxPooling2D(pool_size=(4, 4), strides=2, padding="same", data_format="channels_first", name="pool")
    assert_type(oriel.keras.LpPooling1D(2.0, 3).pool_size, tuple[int, ...])


def ranks(image: Image, x: torch.Tensor) -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    grid = oriel.mpi.Grid(world, (1, 1, world.size))
    oriel.mpi.DistributedMaxPool1d(grid, 3, stride=2, padding=1, output_partition="balanced")
    oriel.mpi.DistributedLPPool2d((world, (1, 1, 1, 1)), 2.0, kernel_size=3)
    pool = oriel.mpi.DistributedPool((world, [1, world.size]), "max", 3)
    assert_type(pool.forward(image, return_indices=True), tuple[NDArray[Any], NDArray[np.int64]])
    assert_type(oriel.mpi.repartition(grid, x), torch.Tensor)
    assert_type(oriel.mpi.gather(grid, x), torch.Tensor | None)
