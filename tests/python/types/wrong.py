"""A user's mistakes, which a type checker must find: in each line that ends in `# wrong`, and in no other. Nothing here
is run."""

import jax
import numpy as np
import torch
from numpy.typing import NDArray

import oriel
import oriel.jax
import oriel.keras
import oriel.mpi
import oriel.tile
import oriel.torch


def mistakes(image: NDArray[np.float32], tensor: torch.Tensor, batch: jax.Array) -> None:
    oriel.max_pool(image)  # wrong
    oriel.max_pool(image, None)  # wrong
    oriel.max_pool(image, 2.5)  # wrong
    oriel.max_pool(image, 2, padding="full")  # wrong
    oriel.avg_pool(image, 2, nan_policy="skip")  # wrong
    oriel.avg_pool(image, 2, return_indices=True)  # wrong
    oriel.max_pool(image, 2, return_indices="rows")  # wrong
    oriel.max_pool(image, 2, return_indices=True, index_dtype="int8")  # wrong
    oriel.max_pool(image, 2).cpu()  # wrong
    oriel.max_pool(tensor, 2).astype(float)  # wrong
    oriel.max_pool(image, 2, return_indices=True).sum()  # wrong
    oriel.max_pool2d(image, 2, axes=1)  # wrong
    oriel.Pool("mean", 2)  # wrong
    oriel.median_pool(image, 2, method="average")  # wrong
    oriel.median_pool(image, 2, medians=True)  # wrong
    oriel.median_pool(image, 2, return_indices=True).sum()  # wrong
    oriel.quantile_pool(image, "0.5", 2)  # wrong
    oriel.mode_pool(image, 2, ties="random")  # wrong
    oriel.var_pool(image, 2, ddof="1")  # wrong
    oriel.var_pool(tensor, 2).astype(float)  # wrong
    oriel.count_pool(image, 2, return_indices=True)  # wrong
    oriel.max_pool(image, 2, min_count=0.5)  # wrong
    oriel.max_pool(image, 2, fill="0")  # wrong
    oriel.disk(2.5)  # wrong
    oriel.block_reduce(image, 2, edge="wrap")  # wrong
    oriel.Pool("max", 2)(tensor).astype(float)  # wrong
    oriel.maximum_filter(image, 3, mode="periodic")  # wrong
    oriel.tile.max_pool2d(image, 2, machine="trn9")  # wrong
    oriel.set_threads("all")  # wrong
    oriel.torch.max_pool2d(image, 2)  # wrong
    oriel.torch.max_pool2d(tensor, 2, return_indices=True).sum()  # wrong
    oriel.torch.MaxPool2d("2")  # wrong
    oriel.torch.AvgPool2d(2, padding="full")  # wrong
    oriel.jax.max_pool(batch, (2, 2), data_format="NHWC")  # wrong
    oriel.jax.max_pool(batch, (2, 2), padding="FULL")  # wrong
    oriel.keras.MaxPooling2D(pool_size=2, padding="full")  # wrong
    oriel.mpi.DistributedMaxPool2d(4, 2)  # wrong
