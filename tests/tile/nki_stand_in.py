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
        flat, inside = 0, True
        for subscript, extent in zip(subscripts, self.shape):
            inside = inside & (np.asarray(subscript) >= 0) & (np.asarray(subscript) < extent)
            flat = flat * extent + np.asarray(subscript)
        return Part(self, flat, inside)

    def __getitem__(self, subscripts):
        return self.part(subscripts)

    def __setitem__(self, subscripts, value):
        part = self.part(subscripts)
        part.write(value.values, value.mask, value.dtype, value.written)


class Part:
    """Elements of a tensor, by their flat index."""

    def __init__(self, tensor, index, inside=True):
        self.tensor, self.index, self.inside = tensor, index, inside

    @property
    def shape(self):
        return np.shape(self.index)

    def flat(self, mask=True):
        inside = self.inside & (self.index >= 0) & (self.index < len(self.tensor.data))
        assert np.all(inside | ~np.asarray(mask)), "out of bounds"
        return np.where(np.broadcast_to(mask, self.shape), self.index, 0)

    def raw(self, mask=True):
        return self.tensor.data[self.flat(mask)]

    def values(self):
        return self.raw().astype(np.float32)

    def is_written(self, mask=True):
        return self.tensor.written[self.flat(mask)]

    def write(self, values, mask=True, dtype=None, written=True):
        """`values` are f32, or storage of `dtype` when that is the tensor's own."""
        where = np.broadcast_to(mask, self.shape)
        values = values if dtype == self.tensor.dtype else rounded(np.asarray(values).astype(np.float32), self.tensor.dtype)
        index = self.flat(mask)[where]

        def shaped(x):  # a number, or as many elements
            return np.broadcast_to(np.reshape(x, self.shape) if np.ndim(x) else x, self.shape)[where]

        self.tensor.data[index] = shaped(values)
        self.tensor.written[index] = shaped(written)


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
    def tensor_copy_predicated(dst, src, predicate):
        dst, src, predicate = part_of(dst), part_of(src), part_of(predicate)
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


def old_language(ids):
    nl = language()
    nl.mgrid = np.mgrid
    nl.program_id = lambda axis: ids[axis]
    nl.affine_range = nl.sequential_range = range

    def operand(x):
        return (x.values(), x.is_written()) if isinstance(x, Part) else (np.float32(x), True)

    def function(op):
        def call(*operands, dtype):
            read = [operand(x) for x in operands]
            written = np.logical_and.reduce(np.broadcast_arrays(*[w for _, w in read]))
            return Value(rounded(op(*[v for v, _ in read]), dtype), dtype, written=written)
        return call

    def reduction(op):
        def call(x, axis, dtype):
            written = x.is_written()
            kept = x.shape[:len(x.shape) - len(axis)]
            return Value(rounded(fold(op, x.values(), axis), dtype), dtype, written=written.reshape(kept + (-1,)).all(-1))
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
    nl.store = store
    nl.full = lambda shape, value, dtype: Value(rounded(np.full(shape, value, np.float32), dtype), dtype)
    return nl


def run(text, inputs, grid=()):
    """The results of the kernel in `text` on tensors of (dtype name, shape, storage values)."""
    tensors = [Tensor(shape, dtype, values) for dtype, shape, values in inputs]
    shared = {}  # results that all programs of a grid write
    programs = list(np.ndindex(*grid)) if "neuronxcc" in text and grid else [()]
    for ids in programs:
        old = "neuronxcc" in text
        nl = old_language(ids) if old else new_language()
        nisa = types.SimpleNamespace(iota=lambda values, dtype: Value(rounded(np.asarray(values, np.float32), dtype), dtype)) \
            if old else Isa
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
