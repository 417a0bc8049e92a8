"""oneDNN by its C++ interface (bench/onednn.cc), on plain layouts and on the blocked one that it prefers."""

import ctypes
import os
from pathlib import Path

import numpy as np

from problems import zeros
from timing import Contender

NAME = "oneDNN"
KINDS = ["f32", "bf16", "f16", "u8", "i8", "i32"]
WHERE = [
    os.environ.get("ORIEL_ONEDNN", ""),
    str(Path(__file__).resolve().parents[2] / "build" / "lib" / "oriel_onednn.so"),
]
library = None


class Wish(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_int) for name in ("op", "dtype", "layout", "backward", "axes")]
        + [("shape", ctypes.c_long * 5), ("output", ctypes.c_long * 5)]
        + [(name, ctypes.c_long * 3) for name in ("kernel", "stride", "lo", "hi")]
    )


def load(threads):
    global library
    path = next((path for path in WHERE if path and Path(path).exists()), None)
    if path is None:
        raise RuntimeError(f"{WHERE[1]} was not built; it needs Debian's libdnnl-dev")
    library = ctypes.CDLL(path)
    library.onednn_make.argtypes = [ctypes.POINTER(Wish), ctypes.c_void_p, ctypes.c_void_p]
    library.onednn_result.argtypes = [ctypes.c_void_p, ctypes.POINTER(Wish), ctypes.c_void_p]
    for name in ("run", "implementation", "free"):
        getattr(library, f"onednn_{name}").argtypes = [ctypes.c_void_p]
    library.onednn_make.restype = ctypes.c_void_p
    for name in ("version", "problem", "implementation"):
        getattr(library, f"onednn_{name}").restype = ctypes.c_char_p
    library.onednn_threads(threads)
    return library.onednn_version().decode()


class Pool:
    """A primitive and the arrays that it works on."""

    def __init__(self, wish, x, y, result):
        self.wish, self.kept, self.plain = wish, (x, y), result
        self.made = library.onednn_make(ctypes.byref(wish), x.ctypes.data, y.ctypes.data)
        if not self.made:
            raise RuntimeError(library.onednn_problem().decode())

    def __del__(self):
        if self.made:
            library.onednn_free(self.made)

    def run(self):
        if library.onednn_run(self.made):
            raise RuntimeError(library.onednn_problem().decode())

    def result(self):
        if library.onednn_result(self.made, ctypes.byref(self.wish), self.plain.ctypes.data):
            raise RuntimeError(library.onednn_problem().decode())
        return self.plain


def wish_of(problem, layout):
    uniform, op = problem.uniform(), 0
    if problem.op == "avg":
        op = 1 if problem.include_pad else 2
    n = len(problem.axes)
    channels = {"none": (1, 1), "last": (problem.shape[0], problem.shape[-1])}.get(problem.channels, problem.shape[:2])
    wish = Wish(op=op, dtype=KINDS.index(problem.dtype), layout=layout, backward=problem.backward, axes=n)
    wish.shape[: n + 2] = [*channels, *problem.spatial]
    wish.output[: n + 2] = [*channels, *(problem.output_shape[axis] for axis in problem.axes)]
    wish.kernel[:n], wish.stride[:n] = uniform.kernel, uniform.stride
    wish.lo[:n] = [lo for lo, _ in uniform.padding]
    wish.hi[:n] = [
        max((o - 1) * s + k - n - lo, 0)
        for n, o, k, s, (lo, _) in zip(
            problem.spatial, wish.output[2:], uniform.kernel, uniform.stride, uniform.padding
        )
    ]
    return wish


def contenders(problem, x, dy):
    uniform = problem.uniform()
    if (
        problem.dtype not in KINDS
        or problem.op not in ("max", "avg")
        or problem.divisor
        or problem.places
        or problem.omit
        or problem.same
        or uniform.kind != "uniform"
        or set(uniform.dilation) != {1}
        or problem.channels not in ("first", "last", "none")
        or problem.order
        or problem.cropped
        or problem.ceil
        or not 1 <= len(problem.axes) <= 3
    ):
        return []
    found = []
    layouts = [(NAME, 1, False)] if problem.channels == "last" else [(NAME, 0, False)]
    if problem.channels == "first" and problem.shape[1] % 16 == 0:
        layouts.append(("oneDNN, blocked", 2, True))
    for name, layout, other in layouts:
        wish = wish_of(problem, layout)
        result = zeros(
            [*wish.shape[: len(problem.axes) + 2]] if problem.backward else [*wish.output[: len(problem.axes) + 2]],
            x.dtype,
        )
        y = dy if problem.backward else zeros(problem.output_shape, x.dtype)
        pool = Pool(wish, x, y, result)
        found.append(Contender(name, pool.run, plain_result(problem, pool), other))
    return found


def plain_result(problem, pool):
    def result():
        y = pool.result()
        if problem.channels == "last":
            y = np.moveaxis(y, 1, -1)
        return y.reshape(problem.shape if problem.backward else problem.output_shape)

    return result
