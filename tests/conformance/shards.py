"""All that is run, in parts of a minute or less on two cores; no row of the page is made by two of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax_run  # before what imports jax: it chooses the platform
import jax_gradients
import jax_others
import torch_cases
import torch_run
from jax_lists import differentiated
from tally import Tally

OPS = ("add", "max", "min")


def _operators(select: Callable[[str], bool]) -> list[Tally]:
    return [
        tally
        for info in torch_cases.POOLS
        if select(torch_cases.operator_name(info))
        for tally in torch_run.run_operator(info)
    ]


def _modules() -> list[Tally]:
    return [tally for info in torch_cases.MODULES for tally in torch_run.run_module(info)]


def _of_rank(rank: int) -> list[Any]:
    return [window for window in differentiated("add") if len(window.shape) == rank]


def _lists() -> list[Tally]:
    runs = (
        jax_run.run_dtypes,
        jax_run.run_shapes,
        jax_run.run_failures,
        jax_others.run_handed_on,
        jax_others.run_batching,
        jax_others.run_stax,
        jax_others.run_export,
        jax_others.run_sharding,
        jax_others.run_flax,
    )
    return [tally for run in runs for tally in run()]


SHARDS: dict[str, Callable[[], list[Tally]]] = {
    "torch_averages": partial(_operators, lambda name: "avg_pool" in name or name.startswith("adaptive")),
    "torch_max_pool1d": partial(_operators, lambda name: name == "max_pool1d"),
    "torch_max_pool2d": partial(_operators, lambda name: name == "max_pool2d"),
    "torch_max_pool3d": partial(_operators, lambda name: name in ("max_pool3d", "max_pool2d_with_indices_backward")),
    "torch_max_unpool": partial(_operators, lambda name: "unpool" in name),
    "torch_modules": _modules,
    "jax_lists": _lists,
    **{f"jax_custom_{op}": partial(jax_gradients.run_custom, op) for op in OPS},
    "jax_gradients_add_2d": partial(jax_gradients.run_gradients, "add", windows=_of_rank(2)),
    "jax_gradients_add_4d": partial(jax_gradients.run_gradients, "add", windows=_of_rank(4)),
    "jax_gradients_max": partial(jax_gradients.run_gradients, "max"),
    "jax_gradients_min": partial(jax_gradients.run_gradients, "min"),
    **{f"jax_values_{op}": partial(jax_run.run_values, ops=(op,)) for op in OPS},
    **{f"jax_vmap_{op}": partial(jax_run.run_vmap, ops=(op,)) for op in OPS},
    # Every fifth window (5 divides none of the lists' lengths, so all their values occur): JAX's test draws ten.
    **{
        f"jax_differences_{op}": partial(jax_gradients.run_differences, op, windows=differentiated(op)[::5])
        for op in OPS
    },
}
