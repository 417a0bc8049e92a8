"""Arrays in the memory of the emulated device that show what cupy.ndarray shows: DLPack with streams, and
__cuda_array_interface__. `library` must be set to the library with tests/cuda/emulated_memory.cc."""

import ctypes

import numpy as np

library = None
current_stream = 1
asked_streams = []  # what __dlpack__ was given

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]  # fmt: skip


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_alive = {}  # address of a managed tensor: what it needs


@_Deleter
def _forget(managed):
    _alive.pop(ctypes.addressof(managed.contents))


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _Memory:
    def __init__(self, size):
        self.at, self.size = library.emulated_allocate(max(size, 1)), size

    def __del__(self):
        library.emulated_free(self.at)


class Array:
    def __init__(self, memory, shape, steps, dtype, device=0):
        self.memory, self.shape, self.steps, self.dtype, self.device_id = memory, shape, steps, np.dtype(dtype), device

    def transpose(self, axes):
        return Array(self.memory, tuple(self.shape[a] for a in axes), tuple(self.steps[a] for a in axes), self.dtype)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.memory.at, False), "version": 3,
                "strides": tuple(s * self.dtype.itemsize for s in self.steps), "stream": current_stream}  # fmt: skip

    def __dlpack_device__(self):
        return 2, self.device_id

    def __dlpack__(self, stream=None):
        asked_streams.append(stream)
        shape, steps = ((ctypes.c_int64 * len(self.shape))(*values) for values in (self.shape, self.steps))
        managed = _Managed(_Tensor(self.memory.at, 2, self.device_id, len(self.shape), _CODES[self.dtype.kind],
                                   8 * self.dtype.itemsize, 1, shape, steps, 0), None, _forget)  # fmt: skip
        _alive[ctypes.addressof(managed)] = managed, shape, steps, self.memory
        return _new_capsule(ctypes.addressof(managed), b"dltensor", None)

    def numpy(self):
        """The elements, on the host."""
        flat = np.empty(self.memory.size // self.dtype.itemsize, self.dtype)
        library.emulated_copy(flat.ctypes.data, self.memory.at, flat.nbytes, 0)
        return np.lib.stride_tricks.as_strided(flat, self.shape, [s * self.dtype.itemsize for s in self.steps]).copy()


def empty(shape, dtype=float):
    steps = tuple(int(np.prod(shape[a + 1 :])) for a in range(len(shape)))
    return Array(_Memory(int(np.prod(shape)) * np.dtype(dtype).itemsize), tuple(shape), steps, dtype)


def asarray(values, order=None):
    """A copy of `values` on the device, whose axes lie in memory in `order`."""
    order = list(order or range(values.ndim))
    dense = np.ascontiguousarray(values.transpose(order))
    made = empty(dense.shape, dense.dtype)
    library.emulated_copy(made.memory.at, dense.ctypes.data, dense.nbytes, 1)
    return made.transpose([order.index(a) for a in range(values.ndim)])
