"""The shared vectors (tests/vectors/vectors.txt) by ctypes: the C interface as a language without a compiler sees it.

The first some hundred lines, and of the others every twentieth: this is plain Python.
"""

import ctypes
import math
import os
import struct
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VECTORS = [
    line.split()
    for line in (ROOT / "tests" / "vectors" / "vectors.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
CHOSEN = VECTORS[:600] + VECTORS[600::20]
SIXTEEN = ctypes.c_int64 * 16


class Tensor(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("pitch", ctypes.POINTER(ctypes.c_int64)),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        *(
            (name, ctypes.c_int32)
            for name in ("op", "dtype", "rank", "pooled", "direction", "index_dtype", "index_space", "reserved")
        ),
        ("taps", ctypes.c_int64),
        ("axes", ctypes.c_int64 * 8),
        ("shape", SIXTEEN),
        ("output_shape", SIXTEEN),
        ("pitch", SIXTEEN),
        ("output_pitch", SIXTEEN),
    ]


LIBRARY = ctypes.CDLL(os.environ["ORIEL_C_LIBRARY"])
LIBRARY.oriel_last_error.restype = ctypes.c_char_p
LIBRARY.oriel_dtype_bytes.restype = ctypes.c_int64
LIBRARY.oriel_dtype_name.restype = ctypes.c_char_p
LIBRARY.oriel_problem_free.argtypes = [ctypes.c_void_p]
LIBRARY.oriel_problem_free.restype = None
NAMES = [LIBRARY.oriel_dtype_name(number).decode() for number in range(13)]
NUMBERS = {name: number for number, name in enumerate(NAMES)}
# Letter of struct, bits of the fraction, bias of the exponent.
FLOATS = {"f64": ("Q", 52, 1023), "f32": ("I", 23, 127), "f16": ("H", 10, 15), "bf16": ("H", 7, 127)}
SPECIALS = ["nan", "inf", "-inf", "-0", "0", "least", "-least"]


def check(status):
    assert status == 0, LIBRARY.oriel_last_error().decode()


class Words:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return self.state


def sign_of(dtype, negative):
    return (1 if negative else 0) << 8 * LIBRARY.oriel_dtype_bytes(NUMBERS[dtype]) - 1


def bits_of_number(dtype, value):
    """The bits of a small whole number, an infinity or a zero."""
    _, fraction, bias = FLOATS[dtype]
    magnitude = abs(value)
    if magnitude == 0:
        bits = 0
    elif magnitude == math.inf:
        bits = 2 * bias + 1 << fraction
    else:
        mantissa, exponent = math.frexp(magnitude)
        bits = (exponent - 1 + bias << fraction) + int((2 * mantissa - 1) * 2**fraction)
    return sign_of(dtype, math.copysign(1, value) < 0) | bits


def special_bits(dtype, c):
    if c > 6:
        return bits_of_number(dtype, float((c & 7) - 4))
    word = SPECIALS[c]
    if word == "nan":
        return bits_of_number(dtype, math.inf) | 1 << FLOATS[dtype][1] - 1
    if word.endswith("least"):
        return sign_of(dtype, word.startswith("-")) | 1
    return bits_of_number(dtype, float(word))


def element(dtype, data, words):
    s = words.next()
    if dtype == "bool":
        return s >> 31
    if dtype not in FLOATS:
        if data == "ties":
            return (s >> 29) - (4 if dtype[0] == "i" else 0)
        bits = 8 * LIBRARY.oriel_dtype_bytes(NUMBERS[dtype])
        return s << 32 | words.next() if bits == 64 else s >> 32 - bits
    if data == "ties":
        return bits_of_number(dtype, float((s >> 29) - 4))
    if data == "specials":
        return special_bits(dtype, s >> 27)
    _, fraction, bias = FLOATS[dtype]
    head = sign_of(dtype, s >> 31) | bias - 8 + (s >> 27 & 15) << fraction
    return head | (s >> 7 & 0xFFFFF) << 32 | words.next() if dtype == "f64" else head | (s & 0x7FFFFFF) >> 27 - fraction


def letter_of(dtype):
    return {1: "B", 2: "H", 4: "I", 8: "Q"}[LIBRARY.oriel_dtype_bytes(NUMBERS[dtype])]


def fill(dtype, count, data, seed):
    words = Words(seed)
    mask = 2 ** (8 * LIBRARY.oriel_dtype_bytes(NUMBERS[dtype])) - 1
    values = [element(dtype, data, words) & mask for _ in range(count)]
    return ctypes.create_string_buffer(
        struct.pack(f"={count}{letter_of(dtype)}", *values), count * (mask.bit_length() // 8) or 1
    )


def hash_of(value, dtype, memory, count):
    values = struct.unpack_from(f"={count}{letter_of(dtype)}", memory.raw)
    bytes_each = LIBRARY.oriel_dtype_bytes(NUMBERS[dtype])
    if dtype in FLOATS:
        infinity, nan = bits_of_number(dtype, math.inf), special_bits(dtype, 0)
        values = [nan if bits & ~sign_of(dtype, True) > infinity else bits for bits in values]
    for byte in struct.pack(f"<{count}{letter_of(dtype)}", *values):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    assert bytes_each * count <= len(memory.raw)
    return value


class Problem:
    def __init__(self, name):
        self.handle = ctypes.c_void_p()
        check(LIBRARY.oriel_problem_parse(name.encode(), ctypes.byref(self.handle)))
        self.info = Info(size=ctypes.sizeof(Info))
        check(LIBRARY.oriel_problem_describe(self.handle, ctypes.byref(self.info)))
        self.dtype = NAMES[self.info.dtype]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        LIBRARY.oriel_problem_free(self.handle)

    def axes_of(self, of_input):
        info = self.info
        return (info.shape, info.pitch) if of_input else (info.output_shape, info.output_pitch)

    def count(self, of_input):
        return math.prod(self.axes_of(of_input)[0][: self.info.rank])

    def tensor(self, of_input, dtype, memory):
        shape, pitch = self.axes_of(of_input)
        return Tensor(
            ctypes.sizeof(Tensor), ctypes.addressof(memory), NUMBERS[dtype], 0, self.info.rank, 0, shape, pitch
        )

    def space_for(self, of_input, dtype):
        return ctypes.create_string_buffer(self.count(of_input) * LIBRARY.oriel_dtype_bytes(NUMBERS[dtype]) or 1)


def result(line):
    """The hash of a line's results."""
    name, *words = line.split("@")
    data = next((word for word in words if word in ("ties", "specials")), "numbers")
    h = 0xCBF29CE484222325
    with Problem(name) as p:
        space = 1 if "tensor" in words else 2 if "window" in words else p.info.index_space
        indexed = p.info.index_dtype >= 0
        index_dtype = "i32" if "i32" in words else NAMES[p.info.index_dtype] if indexed else "i64"
        x, dy = fill(p.dtype, p.count(True), data, 1), fill(p.dtype, p.count(False), data, 2)
        y, dx, indices = p.space_for(False, p.dtype), p.space_for(True, p.dtype), p.space_for(False, index_dtype)
        tx, tdx = ctypes.byref(p.tensor(True, p.dtype, x)), ctypes.byref(p.tensor(True, p.dtype, dx))
        ty, tdy = ctypes.byref(p.tensor(False, p.dtype, y)), ctypes.byref(p.tensor(False, p.dtype, dy))
        ti = ctypes.byref(p.tensor(False, index_dtype, indices)) if indexed else None
        if indexed or p.info.direction == 0:
            check(LIBRARY.oriel_forward(p.handle, tx, ty, ti, space, None))
        if p.info.direction == 1:
            check(LIBRARY.oriel_backward(p.handle, None if indexed else tx, tdy, ti, space, tdx, None))
            return hash_of(h, p.dtype, dx, p.count(True))
        if "unpool" in words:
            check(LIBRARY.oriel_unpool(p.info.pooled, p.info.axes, ty, ti, space, tdx, None))
            return hash_of(h, p.dtype, dx, p.count(True))
        h = hash_of(h, p.dtype, y, p.count(False))
        return hash_of(h, index_dtype, indices, p.count(False)) if indexed else h


def test_vectors():
    wrong = [line for line, wanted in CHOSEN if f"{result(line):016x}" != wanted]
    assert len(CHOSEN) > 700 and not wrong, wrong


def test_a_wrong_hash_is_noticed():
    name, wanted = VECTORS[0]
    assert f"{result(name):016x}" == wanted
    assert f"{result(name.replace('max', 'min')):016x}" != wanted


def test_errors_have_texts():
    handle = ctypes.c_void_p()
    assert LIBRARY.oriel_problem_parse(b"max:f32:6:k9", ctypes.byref(handle)) == 1
    assert (
        LIBRARY.oriel_last_error()
        == b"max_pool: the window must fit in the padded input, but on axis 0 it spans 9 and the padded input is 6"
    )
    assert handle.value is None


@pytest.mark.parametrize("name", ["", "max", "max:f32:4:k2:\xff", "max:f32:" + "9x" * 40 + "9:k1"])
def test_names_that_are_none(name):
    handle = ctypes.c_void_p()
    assert LIBRARY.oriel_problem_parse(name.encode("latin-1"), ctypes.byref(handle)) == 1
    assert LIBRARY.oriel_last_error().startswith(b"problem name: ")
