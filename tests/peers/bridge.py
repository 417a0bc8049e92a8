"""Oriel's results for problem names, as NumPy arrays; and the seeds and tolerances that the peer tests share."""

import ctypes
import math
import os
import random

import ml_dtypes
import numpy as np
import pytest

_library = ctypes.CDLL(os.environ["ORIEL_BRIDGE"])
_library.bridge_error.restype = ctypes.c_char_p

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8,
          "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64,
          "u64": np.uint64, "bool": np.bool_}
MANTISSA = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


class OrielError(Exception):
    pass


def _call(function, *arguments):
    if function(*arguments) != 0:
        raise OrielError(_library.bridge_error().decode())


def _pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def _dense(array, name):
    dtype, shape = name.split(":")[1:3]
    assert array.dtype == DTYPES[dtype] and "x".join(map(str, array.shape)) == shape, (array.dtype, array.shape, name)
    return np.ascontiguousarray(array)


def output_shape(name):
    rank = len(name.split(":")[2].split("x"))
    shape = (ctypes.c_int64 * 16)()
    _call(_library.bridge_output_shape, name.encode(), shape)
    return tuple(shape[:rank])


def forward(name, x):
    y = np.empty(output_shape(name), x.dtype)
    x = _dense(x, name)
    _call(_library.bridge_forward, name.encode(), _pointer(x), _pointer(y), None, 0)
    return y


def forward_indices(name, x, space="plane"):
    y = np.empty(output_shape(name), x.dtype)
    indices = np.empty(y.shape, np.int64)
    x = _dense(x, name)
    number = ("plane", "tensor", "window").index(space)
    _call(_library.bridge_forward, name.encode(), _pointer(x), _pointer(y), _pointer(indices), number)
    return y, indices


def backward(name, x, dy):
    dx = np.empty(x.shape, x.dtype)
    x, dy = _dense(x, name), np.ascontiguousarray(dy)
    assert dy.shape == output_shape(name) and dy.dtype == x.dtype
    _call(_library.bridge_backward, name.encode(), _pointer(x), _pointer(dy), _pointer(dx))
    return dx


def unpool(name, y, indices, space="plane"):
    """The unpooled tensor has the name's shape; y and indices have the shape of the pooled one."""
    dtype, shape = name.split(":")[1:3]
    x = np.empty(tuple(map(int, shape.split("x"))), DTYPES[dtype])
    y, indices = np.ascontiguousarray(y), np.ascontiguousarray(indices, np.int64)
    y_shape = (ctypes.c_int64 * 16)(*y.shape)
    _call(_library.bridge_unpool, name.encode(), y_shape, _pointer(y), _pointer(indices),
          ("plane", "tensor").index(space), _pointer(x))
    return x


def tree_depth(kernel):
    """Additions that one value goes through in the sum order of S8."""
    return sum(k.bit_length() + bin(k).count("1") for k in kernel)


def sum_bound(dtype, depth, value, magnitude):
    """How far a sum of S8 may be from the exact `value`; `magnitude` is the same sum of absolute values."""
    accumulator = 53 if dtype == "f64" else 24
    value, magnitude = np.abs(value).astype(np.float64), np.asarray(magnitude, np.float64)
    tiny = {"f64": 5e-324, "f32": 2e-45, "f16": 6e-8, "bf16": 1e-40}[dtype]
    return (depth + 2) * magnitude * 2.0**-accumulator + value * 2.0**-MANTISSA[dtype] + tiny


def same(a, b):
    """Equal bits, but for the payload of NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    nan = np.isnan(a)
    if not np.array_equal(nan, np.isnan(b)):
        return False
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]
    return bool(np.array_equal(a.view(unsigned)[~nan], b.view(unsigned)[~nan]))


def word(letter, values):
    return letter + "x".join(map(str, values))


def seeds():
    """A seed that never changes, and a fresh one that is printed; ORIEL_SEED repeats one."""
    fresh = int(os.environ.get("ORIEL_SEED", random.SystemRandom().randrange(2**31)))
    return [pytest.param(1, id="fixed"), pytest.param(fresh, id=f"fresh-{fresh}")]


def elements(rng, shape, dtype, kind):
    """Numbers: `integers` (ties, exact sums), `reals`, or `specials` (NaN, infinities and both zeros among them)."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype[0] in "iu":
        info = np.iinfo(DTYPES[dtype])
        if kind == "integers":
            return rng.integers(max(info.min, -8), 9, shape).astype(DTYPES[dtype])
        return rng.integers(info.min, info.max, shape, dtype=DTYPES[dtype], endpoint=True)
    if kind == "reals":
        return rng.standard_normal(shape).astype(DTYPES[dtype])
    x = rng.integers(-8, 9, shape).astype(np.float64)
    if kind == "specials":
        for value, share in ((math.nan, 0.06), (math.inf, 0.04), (-math.inf, 0.04), (-0.0, 0.1), (0.0, 0.1)):
            x[rng.random(shape) < share] = value
    return x.astype(DTYPES[dtype])
