"""Problems by their names, the suite file, and the arrays, bytes and true values that belong to a problem."""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import ml_dtypes
import numpy as np

import oriel

SUITE = Path(__file__).with_name("suite.txt")
DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "u8": np.uint8,
    "i8": np.int8,
    "u16": np.uint16,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u32": np.uint32,
    "u64": np.uint64,
}


def read_suite(path=SUITE):
    """[(group, name)]: names stand on lines of their own; `[group]` begins a group; # begins a comment."""
    group, found = "", []
    for line in path.read_text().splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            group = line.strip("[]")
        elif line:
            found.append((group, line))
    return found


@dataclass(frozen=True)
class Problem:
    """What a name says, with one value for each pooled axis."""

    name: str
    op: str
    dtype: str
    shape: tuple
    axes: tuple
    norm: float = 2.0
    kind: str = "uniform"  # or adaptive, global
    kernel: tuple = ()
    stride: tuple = ()
    padding: tuple = ()  # pairs
    dilation: tuple = ()
    output_size: tuple = ()
    order: tuple = ()
    same: str = ""
    ceil: bool = False
    include_pad: bool = True
    divisor: int = 0
    omit: bool = False
    indices: bool = False
    codes: bool = False
    backward: bool = False
    cropped: bool = (
        False  # the input is the inner part of a larger array (no word of the name; the suite's group `views`)
    )

    @property
    def floating(self):
        return self.dtype in ("f32", "f64", "f16", "bf16")

    @property
    def places(self):
        """Whether a result comes with where it was, in any form."""
        return self.indices or self.codes

    @property
    def channels(self):
        """Where batch and channels lie: `first`, `last`, `none`, or `other`."""
        rank, n = len(self.shape), len(self.axes)
        if self.axes == tuple(range(rank)):
            return "none"
        if rank != n + 2 or self.order not in ((), self.last_order):
            return "other"
        if self.axes == tuple(range(2, rank)):
            return "last in memory" if self.order else "first"
        return "last" if self.axes == tuple(range(1, rank - 1)) else "other"

    @property
    def last_order(self):
        rank = len(self.shape)
        return (0, *range(2, rank), 1)

    @property
    def spatial(self):
        return tuple(self.shape[axis] for axis in self.axes)

    @property
    def symmetric(self):
        """The padding before as one number per axis, or None where another is after."""
        return tuple(lo for lo, _ in self.padding) if all(lo == hi for lo, hi in self.padding) else None

    def pool(self):
        words = dict(axes=self.axes, ceil_mode=self.ceil, nan_policy="omit" if self.omit else "propagate")
        if self.op == "avg":
            words |= dict(count_include_pad=self.include_pad, divisor_override=self.divisor or None)
        if self.op == "lp":
            words["norm_type"] = self.norm
        if self.kind == "adaptive":
            return oriel.Pool(self.op, output_size=self.output_size, **words)
        if self.kind == "global":
            return oriel.Pool(self.op, **words)
        return oriel.Pool(self.op, self.kernel, self.stride, self.same or self.padding, self.dilation, **words)

    @property
    def output_shape(self):
        return tuple(self.pool().output_shape(self.shape))

    @property
    def taps(self):
        return math.prod(self.uniform().kernel or (-(-n // m) + 1 for n, m in zip(self.spatial, self.output_size)))

    def uniform(self):
        """The same pool with windows of one size, where that is possible: else as it is."""
        n = len(self.axes)
        if self.kind == "global":
            kernel = self.spatial
        elif self.kind == "adaptive" and all(i % o == 0 for i, o in zip(self.spatial, self.output_size)):
            kernel = tuple(i // o for i, o in zip(self.spatial, self.output_size))
        else:
            return self
        return replace(self, kind="uniform", kernel=kernel, stride=kernel, padding=((0, 0),) * n, dilation=(1,) * n)

    @property
    def bytes(self):
        """What must be read and written once."""
        item = np.dtype(DTYPES[self.dtype]).itemsize
        into, out = math.prod(self.shape) * item, math.prod(self.output_shape) * item
        again = into if self.backward and not self.codes and (self.op not in ("avg", "sum") or self.omit) else 0
        return into + out + again + math.prod(self.output_shape) * (8 * self.indices + self.codes)


def _numbers(text, n):
    values = tuple(int(word) for word in text.split("x"))
    return values * n if len(values) == 1 else values


def _pairs(text, n):
    pairs = [tuple(int(v) for v in word.split("+")) for word in text.split("x")]
    pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
    return tuple(pairs * n if len(pairs) == 1 else pairs)


def _default_axes(rank, lists):
    longest = max((text.count("x") + 1 for text in lists), default=1)
    return tuple(range(rank - longest if longest > 1 else 0, rank))


def parse(name, cropped=False):
    """The Problem of a name (include/oriel/problem.h says what names are)."""
    op, dtype, shape, *words = name.split(":")
    shape = tuple(int(n) for n in shape.split("x"))
    found, letters = {"cropped": cropped}, {}
    for word in words:
        if word in ("ceil", "omit", "indices", "codes", "backward"):
            found[word] = True
        elif word in ("same", "same_lower"):
            found["same"] = word
        elif word == "exclude":
            found["include_pad"] = False
        elif word == "global":
            found["kind"] = "global"
        elif word.startswith("out"):
            found["kind"], letters["out"] = "adaptive", word[3:]
        elif word.startswith("div"):
            found["divisor"] = int(word[3:])
        elif word.startswith("axes") or word.startswith("order"):
            key = "axes" if word.startswith("axes") else "order"
            found[key] = tuple(int(n) for n in word[len(key) :].split(","))
        else:
            letters |= dict(re.findall(r"([kspd])([0-9x+]+)", word))
    if op.startswith("lp"):
        op, found["norm"] = "lp", float(op[2:])
    axes = found.setdefault("axes", _default_axes(len(shape), letters.values()))
    n = len(axes)
    if "out" in letters:
        found["output_size"] = _numbers(letters["out"], n)
    elif found.get("kind") != "global":
        kernel = _numbers(letters["k"], n)
        found |= dict(
            kernel=kernel,
            stride=_numbers(letters["s"], n) if "s" in letters else kernel,
            padding=_pairs(letters.get("p", "0"), n),
            dilation=_numbers(letters.get("d", "1"), n),
        )
    return Problem(name=name, op=op, dtype=dtype, shape=shape, **found)


def zeros(shape, dtype):
    """An array that begins with a line of the caches, as frameworks' do; NumPy's large ones are 16 bytes off."""
    dtype, line = np.dtype(dtype), 64
    memory = np.zeros(math.prod(shape) * dtype.itemsize + line, np.uint8)
    begin = -memory.ctypes.data % line
    return memory[begin : begin + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


def values(dtype, shape, seed):
    """An array of normal numbers, or of integers over the whole range; a block of a million is repeated."""
    count, kind = math.prod(shape), np.dtype(DTYPES[dtype])
    generator = np.random.default_rng(seed)
    if kind.kind in "iu":
        block = generator.integers(np.iinfo(kind).min, np.iinfo(kind).max, 1_000_003, kind, endpoint=True)
    else:
        block = generator.standard_normal(1_000_003, np.float32).astype(kind)
    array = zeros((count,), kind)
    array[:] = np.resize(block, count)
    return array.reshape(shape)


def make_array(problem, shape, seed):
    """Values in the memory order of the problem; the inner part of a larger array where it is cropped."""
    if problem.order:
        memory = values(problem.dtype, tuple(shape[axis] for axis in problem.order), seed)
        return memory.transpose(np.argsort(problem.order))
    if not problem.cropped:
        return values(problem.dtype, shape, seed)
    larger = values(problem.dtype, tuple(n + 8 if n > 1 else n for n in shape), seed)
    return larger[tuple(slice(4, n + 4) if n > 1 else slice(None) for n in shape)]


def _taps(problem, axis, o):
    """The inputs that output o sees along a pooled axis."""
    n = problem.spatial[axis]
    if problem.kind == "global":
        return range(n)
    if problem.kind == "adaptive":
        m = problem.output_size[axis]
        return range(o * n // m, -(-(o + 1) * n // m))
    k, s, d = problem.kernel[axis], problem.stride[axis], problem.dilation[axis]
    lo = problem.padding[axis][0]
    return [i for i in range(o * s - lo, o * s - lo + k * d, d) if 0 <= i < n]


def _pooled(problem, taps, window):
    if problem.op in ("max", "min"):
        return taps.max() if problem.op == "max" else taps.min()
    if problem.op == "lp":
        return np.linalg.norm(taps.ravel(), problem.norm)
    if problem.op == "sum":
        return taps.sum()
    if problem.divisor:
        return taps.sum() / problem.divisor
    count = math.prod(window) if problem.include_pad else taps.size
    return taps.sum() / count


def first_wrong(problem, x, y):
    """Computes some outputs by loops over their windows; the first place where y is another. Padding counts fully, so
    problems in ceil mode with an average must be checked otherwise."""
    generator = np.random.default_rng(3)
    for _ in range(60):
        place = [int(generator.integers(m)) for m in y.shape]
        taps = [_taps(problem, a, place[axis]) for a, axis in enumerate(problem.axes)]
        seen = x
        for axis in range(x.ndim):
            where = taps[problem.axes.index(axis)] if axis in problem.axes else [place[axis]]
            seen = seen.take(where, axis) if len(where) < x.shape[axis] else seen
        window = problem.kernel if problem.kind == "uniform" else [len(t) for t in taps]
        wanted = _pooled(problem, seen.astype(np.float64), window)
        if not close(problem, np.float64(y[tuple(place)]), wanted):
            return tuple(place)
    return None


def tolerance(problem):
    """(relative, absolute): extrema are equal, sums differ by their order, integers by how they round."""
    if problem.op in ("max", "min") and not problem.backward:
        return 0.0, 0.0
    if not problem.floating:
        return 0.0, 1.0
    eps = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}[problem.dtype]
    least = max(eps, 2.0**-23) if problem.dtype != "f64" else eps  # of the accumulator
    if problem.op == "avg" and not problem.divisor:
        return 4 * eps, 16 * least
    return 4 * eps + 8 * 2.0**-23, 16 * least + 2 * 2.0**-23 * problem.taps


def close(problem, y, wanted):
    relative, absolute = tolerance(problem)
    y, wanted = np.asarray(y), np.asarray(wanted)
    if y.shape != wanted.shape:
        return False
    if relative == absolute == 0:
        return np.array_equal(y, wanted)
    if problem.dtype != "f32":
        y, wanted = y.astype(np.float64), wanted.astype(np.float64)
    return bool((np.abs(y - wanted) <= absolute + relative * np.abs(wanted)).all())
