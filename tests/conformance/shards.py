"""All that is run, in parts of a minute or less on two cores; no row of the page is made by two of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jax_lists import differentiated
from tally import Tally

OPS = ("add", "max", "min")

# A part imports what it runs when it is called: PyTorch's lists take seven seconds, which JAX's parts do not need.


def _operators(select: Callable[[str], bool]) -> list[Tally]:
    import torch_cases
    import torch_run

    return [
        tally
        for info in torch_cases.POOLS
        if select(torch_cases.operator_name(info))
        for tally in torch_run.run_operator(info)
    ]


def _modules() -> list[Tally]:
    import torch_cases
    import torch_run

    return [tally for info in torch_cases.MODULES for tally in torch_run.run_module(info)]


def _lists() -> list[Tally]:
    import jax_run  # before what imports jax: it chooses the platform
    import jax_others

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


def _suite(name: str) -> list[Tally]:
    import suite_run

    return suite_run.run_suite(getattr(suite_run, name.upper()))


def _custom(op: str) -> list[Tally]:
    import jax_gradients

    return jax_gradients.run_custom(op)


def _gradients(op: str, rank: int | None = None) -> list[Tally]:
    """All derivatives of one computation, of operands of one rank or of all."""
    import jax_gradients

    windows = [window for window in differentiated(op) if rank in (None, len(window.shape))]
    return jax_gradients.run_gradients(op, windows=windows)


def _differences(op: str) -> list[Tally]:
    """Every fifth window (5 divides none of the lists' lengths, so all their values occur): JAX's test draws ten."""
    import jax_gradients

    return jax_gradients.run_differences(op, windows=differentiated(op)[::5])


def _values(op: str) -> list[Tally]:
    import jax_run

    return jax_run.run_values(ops=(op,))


def _vmap(op: str) -> list[Tally]:
    import jax_run

    return jax_run.run_vmap(ops=(op,))


SHARDS: dict[str, Callable[[], list[Tally]]] = {
    "torch_averages": partial(_operators, lambda name: "avg_pool" in name or name.startswith("adaptive")),
    "torch_max_pool1d": partial(_operators, lambda name: name == "max_pool1d"),
    "torch_max_pool2d": partial(_operators, lambda name: name == "max_pool2d"),
    "torch_max_pool3d": partial(_operators, lambda name: name in ("max_pool3d", "max_pool2d_with_indices_backward")),
    "torch_max_unpool": partial(_operators, lambda name: "unpool" in name),
    "torch_fractional": partial(_operators, lambda name: "fractional" in name),
    "torch_modules": _modules,
    "scipy": partial(_suite, "scipy"),
    "bottleneck": partial(_suite, "bottleneck"),
    "xarray": partial(_suite, "xarray"),
    "dask": partial(_suite, "dask"),
    "jax_lists": _lists,
    **{f"jax_custom_{op}": partial(_custom, op) for op in OPS},
    "jax_gradients_add_2d": partial(_gradients, "add", rank=2),
    "jax_gradients_add_4d": partial(_gradients, "add", rank=4),
    "jax_gradients_max": partial(_gradients, "max"),
    "jax_gradients_min": partial(_gradients, "min"),
    **{f"jax_values_{op}": partial(_values, op) for op in OPS},
    **{f"jax_vmap_{op}": partial(_vmap, op) for op in OPS},
    **{f"jax_differences_{op}": partial(_differences, op) for op in OPS},
}
