"""Pooling in JAX programs: flax's functions, medians and other statistics, `reduce_window`, and layers, by Oriel.

>>> import jax
>>> import jax.numpy as jnp
>>> import oriel.jax
>>> x = jnp.arange(32.0).reshape(1, 4, 4, 2)
>>> jax.jit(lambda x: oriel.jax.max_pool(x, (2, 2), strides=(2, 2)))(x).shape
(1, 2, 2, 2)

The calls are primitives of JAX that are lowered to handlers of XLA's foreign function interface: `jit`, `vmap`, `jvp`,
`linearize`, `grad` of any order, `jax.checkpoint` and `shard_map` over axes that are not pooled work; an array whose
batch is sharded over devices is pooled without gathering it. `jax.export` needs to know that the handlers (their names
are in `EXPORTED_CALLS`) exist where the program runs, i.e. that it imports `oriel.jax`:

    calls = [jax.export.DisabledSafetyCheck.custom_call(name) for name in oriel.jax.EXPORTED_CALLS]
    jax.export.export(f, disabled_checks=calls)

Results are bit-identical to those of the functions of `oriel` for arrays. They run on CPU devices, and on CUDA devices
if the package was built with that backend (`-C cmake.define.ORIEL_CUDA=ON`), on XLA's stream. Medians and the other
pools over valid elements run on CPU devices, and have first derivatives in reverse mode.
"""

from __future__ import annotations

_OLDEST = (0, 6, 0)

try:
    import jax
except ImportError as _error:
    raise ImportError("oriel.jax needs JAX, which is not installed: pip install 'jax>=0.6'") from _error

if jax.__version_info__ < _OLDEST:
    raise ImportError(
        f"oriel.jax needs JAX {'.'.join(map(str, _OLDEST))} or newer, but JAX {jax.__version__} is installed"
    )

from oriel.jax.adaptive import (  # noqa: E402
    adaptive_avg_pool,
    adaptive_max_pool,
    global_avg_pool,
    global_lp_pool,
    global_max_pool,
    global_min_pool,
    global_sum_pool,
)
from oriel.jax.layers import AvgPool2D, MaxPool2D, MinPool2D  # noqa: E402
from oriel.jax.pools import avg_pool, lp_pool, max_pool, min_pool, sum_pool  # noqa: E402
from oriel.jax.primitives import EXPORTED_CALLS  # noqa: E402
from oriel.jax.statistics import (  # noqa: E402
    ValidTaps,
    lse_pool,
    median_pool,
    quantile_pool,
    soft_pool,
    std_pool,
    var_pool,
)
from oriel.jax.windows import reduce_window  # noqa: E402

__all__ = [
    "EXPORTED_CALLS",
    "AvgPool2D",
    "MaxPool2D",
    "MinPool2D",
    "ValidTaps",
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool",
    "global_avg_pool",
    "global_lp_pool",
    "global_max_pool",
    "global_min_pool",
    "global_sum_pool",
    "lp_pool",
    "lse_pool",
    "max_pool",
    "median_pool",
    "min_pool",
    "quantile_pool",
    "reduce_window",
    "soft_pool",
    "std_pool",
    "sum_pool",
    "var_pool",
]
