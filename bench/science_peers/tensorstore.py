"""TensorStore's downsampling: means, lower medians and lowest modes of blocks, partial ones included."""

from importlib import metadata

import tensorstore as ts

from science_peers import Rival

NAME = "TensorStore"


def load():
    return metadata.version("tensorstore")


def rivals(case, x, mask):
    method = {"avg": "mean", "median": "median", "mode": "mode"}.get(case.op)
    if method is None or case.masked or case.omit or case.filter or not case.blocks or case.options:
        return []
    store = ts.array(x, context=ts.Context({"data_copy_concurrency": {"limit": 1}}))
    smaller = ts.downsample(store, list(case.kernel), method)
    return [Rival(NAME, lambda: smaller.read().result(), absolute=1e-6 if case.floating and method == "mean" else 0.0)]
