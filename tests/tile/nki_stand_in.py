"""A stand-in for NKI of both generations on NumPy, as its documentation reads: enough to run what Oriel emits.

It says nothing about a device. Arithmetic is in f32 and rounded once to the destination's dtype; sums run in order.
bfloat16 is held as the f32 of the same value. `install()` makes `nki` and `neuronxcc.nki` importable.
"""

import math
import sys
import types

import numpy as np

DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": np.float32, "int32": np.int32, "uint32": np.uint32,
          "int16": np.int16, "uint16": np.uint16, "int8": np.int8, "uint8": np.uint8}


def rounded(values, dtype):
    """f32 values as the storage of that dtype."""
    values = np.asarray(values, dtype=np.float32)
    if dtype == "float32":
        return values
    if dtype == "float16":
        return values.astype(np.float16)
    if dtype == "bfloat16":
        bits = values.view(np.uint32)
        up = bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)
        return np.where(np.isnan(values), np.float32(np.nan), (up & np.uint32(0xFFFF0000)).view(np.float32))
    limits = np.iinfo(DTYPES[dtype])
    wide = np.rint(np.where(np.isnan(values), 0, values).astype(np.float64))
    return np.clip(wide, limits.min, limits.max).astype(DTYPES[dtype])


class Tensor:
    def __init__(self, shape, dtype, values=None):
        self.shape, self.dtype = tuple(shape), dtype
        size = math.prod(self.shape)
        self.data = np.zeros(size, DTYPES[dtype]) if values is None else values.reshape(-1)
        self.written = np.full(size, values is not None)

    def ap(self, pattern, offset=0):
        """The elements offset + i0*stride0 + i1*stride1 + … for [[stride, count], …]."""
        index = np.array(offset)
        for stride, count in pattern:
            assert count >= 1, pattern
            index = index[..., None] + stride * np.arange(count)
        return Part(self, index)

    def whole(self):
        return Part(self, np.arange(len(self.data)).reshape(self.shape))

    def part(self, subscripts):  # 0.1
        subscripts = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        assert len(subscripts) == len(self.shape), (subscripts, self.shape)
        flat = 0
        for subscript, extent in zip(subscripts, self.shape):
            flat = flat * extent + subscript
        return Part(self, np.asarray(flat), list(zip(subscripts, self.shape)))

    def __getitem__(self, subscripts):
        return self.part(subscripts)

    def __setitem__(self, subscripts, value):
        part = self.part(subscripts)
        part.write(value.values, value.mask, value.dtype, value.written)


class Part:
    """Elements of a tensor, by their flat index; `bounds` are the index along each dimension and its extent."""

    def __init__(self, tensor, index, bounds=()):
        self.tensor, self.index, self.shape = tensor, index, index.shape
        self.bounds = [(np.asarray(i), extent) for i, extent in bounds or [(index, len(tensor.data))]]
        self.is_checked = False

    def flat(self, mask=True):
        if mask is True:  # most of the time is spent here
            if not self.is_checked:
                for index, extent in self.bounds:
                    assert index.min() >= 0 and index.max() < extent, "out of bounds"
            self.is_checked = True
            return self.index
        mask = np.broadcast_to(mask, self.shape)
        for index, extent in self.bounds:
            assert np.all((index >= 0) & (index < extent) | ~mask), "out of bounds"
        return np.where(mask, self.index, 0)

    def raw(self, mask=True):
        return self.tensor.data[self.flat(mask)]

    def values(self):
        return self.raw().astype(np.float32)

    def is_written(self, mask=True):
        return self.tensor.written[self.flat(mask)]

    def write(self, values, mask=True, dtype=None, written=True):
        """`values` are f32, or storage of `dtype` when that is the tensor's own."""
        if dtype != self.tensor.dtype:
            values = rounded(np.asarray(values).astype(np.float32), self.tensor.dtype)

        def shaped(x):  # a number, or as many elements
            return np.reshape(x, self.shape) if np.ndim(x) else x

        index = self.flat(mask)
        if mask is True:
            self.tensor.data[index], self.tensor.written[index] = shaped(values), shaped(written)
            return
        where = np.broadcast_to(mask, self.shape)
        self.tensor.data[index[where]] = np.broadcast_to(shaped(values), self.shape)[where]
        self.tensor.written[index[where]] = np.broadcast_to(shaped(written), self.shape)[where]


class Value:
    """A tile that 0.1's functions return: storage of its dtype."""

    def __init__(self, values, dtype, mask=True, written=True):
        self.values, self.dtype, self.mask, self.written = values, dtype, mask, written


def part_of(operand):
    return operand.whole() if isinstance(operand, Tensor) else operand


def first_of(pick):
    """An extremum where a NaN wins and of equal ones the first."""
    return lambda a, b: np.where(pick(b, a) | (np.isnan(b) & ~np.isnan(a)), b, a)


OPS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": first_of(np.greater), "minimum": first_of(np.less),
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
    "abs": np.abs, "square": np.square, "sqrt": np.sqrt,
}


def fold(op, values, axes):
    """All taps in row-major order of the last axes, one after the other, in f32."""
    assert list(axes) == list(range(values.ndim - len(axes), values.ndim)), "only the last axes are reduced"
    taps = values.reshape(values.shape[:values.ndim - len(axes)] + (-1,))
    total = taps[..., 0]
    for tap in range(1, taps.shape[-1]):
        total = op(total, taps[..., tap])
    return total


def largest8(rows):
    """The 8 largest of each row, descending; a NaN is the largest."""
    order = np.lexsort((-np.nan_to_num(rows, nan=0.0, posinf=np.inf, neginf=-np.inf), ~np.isnan(rows)), axis=1)
    return np.take_along_axis(rows, order[:, :8], axis=1)


def scan(a, b, initial, op0, op1):
    """result[:, i] = op1(op0(a[:, i], result[:, i - 1]), b[:, i]) in f32, of two parts [P, F]."""
    x, y = a.values(), b.values()
    written = a.is_written() & b.is_written()
    if isinstance(initial, Part):
        assert initial.shape == (x.shape[0], 1)
        before, known = initial.values()[:, 0], initial.is_written()[:, 0]
    else:
        before, known = np.full(x.shape[0], initial, np.float32), np.full(x.shape[0], True)
    values, flags = np.empty_like(x), np.empty(x.shape, bool)
    for i in range(x.shape[1]):
        before = np.asarray(op1(op0(x[:, i], before), y[:, i])).astype(np.float32)
        known = known & written[:, i]
        values[:, i], flags[:, i] = before, known
    return values, flags


# ---------------------------------------------------------------------------------------------- nki.isa of 0.6


class Isa:
    @staticmethod
    def _copy(dst, src):
        dst, src = part_of(dst), part_of(src)
        assert dst.shape == src.shape, (dst.shape, src.shape)
        dst.write(src.raw(), dtype=src.tensor.dtype, written=src.is_written())

    dma_copy = tensor_copy = _copy

    @staticmethod
    def memset(dst, value):
        part_of(dst).write(np.float32(value))

    @staticmethod
    def iota(dst, pattern, offset, channel_multiplier):
        dst = part_of(dst)
        values = offset + channel_multiplier * np.arange(dst.shape[0])
        for stride, count in pattern:
            values = values[..., None] + stride * np.arange(count)
        dst.write(values.astype(np.float32))

    @staticmethod
    def tensor_reduce(dst, op, data, axis):
        dst, data = part_of(dst), part_of(data)
        written = data.is_written()
        kept = data.shape[:len(data.shape) - len(axis)]
        dst.write(fold(op, data.values(), axis), written=written.reshape(kept + (-1,)).all(-1))

    @staticmethod
    def tensor_scalar(dst, data, op0, operand0, reverse0=False):
        data, number = part_of(data), np.float32(operand0)
        x = data.values()
        part_of(dst).write(op0(number, x) if reverse0 else op0(x, number), written=data.is_written())

    @staticmethod
    def tensor_tensor(dst, data1, data2, op):
        a, b = part_of(data1), part_of(data2)
        part_of(dst).write(op(a.values(), b.values()), written=a.is_written() & b.is_written())

    @staticmethod
    def activation(dst, op, data):
        data = part_of(data)
        part_of(dst).write(op(data.values()), written=data.is_written())

    @staticmethod
    def reciprocal(dst, data):
        data = part_of(data)
        part_of(dst).write(np.float32(1) / data.values(), written=data.is_written())

    @staticmethod
    def max8(dst, src):
        dst, src = part_of(dst), part_of(src)
        partitions = src.shape[0]
        assert dst.shape == (partitions, 8)
        dst.write(largest8(src.values().reshape(partitions, -1)),
                  written=np.repeat(src.is_written().reshape(partitions, -1).all(1), 8).reshape(partitions, 8))

    @staticmethod
    def tensor_tensor_scan(dst, data0, data1, initial, op0, op1):
        a, b = part_of(data0), part_of(data1)
        values, written = scan(a, b, initial, op0, op1)
        part_of(dst).write(values, written=written)

    @staticmethod
    def tensor_copy_predicated(dst, src, predicate):
        dst, src, predicate = part_of(dst), part_of(src), part_of(predicate)
        assert max(len(dst.shape), len(src.shape), len(predicate.shape)) <= 4
        assert dst.tensor.dtype == src.tensor.dtype and predicate.tensor.dtype.startswith("uint")
        written = np.where(predicate.raw() != 0, src.is_written(), dst.is_written()) & predicate.is_written()
        dst.write(np.where(predicate.raw() != 0, src.raw(), dst.raw()), dtype=src.tensor.dtype, written=written)


# ---------------------------------------------------------------------------------------------- language of both


def language():
    nl = types.ModuleType("nl")
    for name in DTYPES:
        setattr(nl, name, name)
    nl.sbuf, nl.hbm, nl.shared_hbm = "sbuf", "hbm", "shared_hbm"
    nl.ndarray = lambda shape, dtype, buffer: Tensor(shape, dtype)
    return nl


def new_language():
    nl = language()
    for name, op in OPS.items():
        if name != "divide":
            setattr(nl, name, op)
    return nl


class Grid:
    """np.mgrid, which is slow, keeping what it has made."""

    made = {}

    def __getitem__(self, spans):
        key = tuple((s.start, s.stop) for s in spans)
        if key not in self.made:
            self.made[key] = np.mgrid[spans]
        return self.made[key]


def old_language(ids):
    nl = language()
    nl.mgrid = Grid()
    nl.program_id = lambda axis: ids[axis]
    nl.affine_range = nl.sequential_range = range

    def operand(x, mask):
        return (x.raw(mask).astype(np.float32), x.is_written(mask)) if isinstance(x, Part) else (np.float32(x), True)

    def function(op):
        def call(*operands, dtype, mask=True):
            read = [operand(x, mask) for x in operands]
            written = read[0][1]
            for _, other in read[1:]:
                written = written & other
            return Value(rounded(op(*[v for v, _ in read]), dtype), dtype, mask, written)
        call.plain = op  # as an argument of an instruction
        return call

    def reduction(op):
        def call(x, axis, dtype, mask=True):
            kept = x.shape[:len(x.shape) - len(axis)]
            assert list(axis) == list(range(len(kept), len(x.shape))), "only the last axes are reduced"
            here = np.broadcast_to(mask, x.shape).reshape(kept + (-1,))
            values = x.raw(mask).astype(np.float32).reshape(kept + (-1,))
            total, seen = values[..., 0], here[..., 0]
            for tap in range(1, values.shape[-1]):
                now = here[..., tap]
                total = np.where(now, np.where(seen, op(total, values[..., tap]), values[..., tap]), total)
                seen = seen | now
            written = (x.is_written(mask).reshape(kept + (-1,)) | ~here).all(-1)
            return Value(rounded(total, dtype), dtype, seen, written)
        return call

    for name, op in OPS.items():
        setattr(nl, name, function(op))
    nl.where = function(lambda c, a, b: np.where(c != 0, a, b))
    nl.sum, nl.prod, nl.max, nl.min = (reduction(OPS[n]) for n in ("add", "multiply", "maximum", "minimum"))

    def copied(x, dtype, mask=True):
        same = x.tensor.dtype == dtype
        values = x.raw(mask) if same else rounded(x.raw(mask).astype(np.float32), dtype)
        return Value(values, dtype, mask, x.is_written(mask))

    def store(dst, value, mask=True):
        dst.write(value.raw(mask), mask, value.tensor.dtype, value.is_written(mask))

    nl.copy = nl.load = copied

    def broadcast_to(x, shape):
        return Value(np.broadcast_to(x.raw(), shape), x.tensor.dtype, written=np.broadcast_to(x.is_written(), shape))

    nl.broadcast_to = broadcast_to
    nl.store = store
    nl.full = lambda shape, value, dtype: Value(rounded(np.full(shape, value, np.float32), dtype), dtype)
    return nl


def old_isa():
    def iota(expression, dtype):
        return Value(rounded(np.asarray(expression, np.float32), dtype), dtype)

    def max8(src, dtype):
        rows = (src.shape[0], -1)
        written = np.repeat(src.is_written().reshape(rows).all(1), 8).reshape(-1, 8)
        return Value(rounded(largest8(src.values().reshape(rows)), dtype), dtype, written=written)

    def tensor_tensor_scan(data0, data1, initial, op0, op1, dtype):
        values, written = scan(data0, data1, initial, op0.plain, op1.plain)
        return Value(rounded(values, dtype), dtype, written=written)

    def dma_copy(dst, src, mask=True):
        dst.write(src.raw(mask), mask, src.tensor.dtype, src.is_written(mask))

    return types.SimpleNamespace(iota=iota, max8=max8, tensor_tensor_scan=tensor_tensor_scan, dma_copy=dma_copy)


def run(text, inputs, grid=()):
    """The results of the kernel in `text` on tensors of (dtype name, shape, storage values)."""
    tensors = [Tensor(shape, dtype, values) for dtype, shape, values in inputs]
    shared = {}  # results that all programs of a grid write
    programs = list(np.ndindex(*grid)) if "neuronxcc" in text and grid else [()]
    for ids in programs:
        old = "neuronxcc" in text
        nl = old_language(ids) if old else new_language()
        nisa = old_isa() if old else Isa
        if old:  # HBM is shared between programs
            order = iter(range(1000))
            plain = nl.ndarray

            def ndarray(shape, dtype, buffer, order=order, plain=plain):
                if buffer == "sbuf":
                    return plain(shape, dtype, buffer)
                return shared.setdefault(next(order), plain(shape, dtype, buffer))
            nl.ndarray = ndarray
        nki = types.SimpleNamespace(jit=lambda f: f)
        body = "\n".join(line for line in text.splitlines() if not line.startswith("import "))
        space = {"nl": nl, "nisa": nisa, "nki": nki}
        exec(compile(body, "emitted", "exec"), space)
        kernel = next(v for k, v in space.items() if callable(v) and isinstance(v, types.FunctionType))
        with np.errstate(all="ignore"):
            result = kernel(*tensors)
    return result if isinstance(result, tuple) else (result,)


def real_nki():
    """Whether a real `nki` package can be imported."""
    try:
        import nki  # noqa: F401
    except ImportError:
        return False
    return hasattr(sys.modules["nki"], "simulate")
