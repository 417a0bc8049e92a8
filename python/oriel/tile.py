"""Tile kernels (NKI's programming model in C++) for NumPy, PyTorch and JAX arrays, and their programs for a machine.

Each function runs a kernel that was written in Oriel's tile language, with its arithmetic: every instruction computes
in float32 and rounds once to its result's dtype. To pool arrays, use `oriel.avg_pool` and the like; use the functions
here to develop a kernel, or to compare one with a device.

Kernels take arrays [planes, height, width], batch and channels together. Dense arrays are read without copying; others
are copied first. The result is of the input's kind: a tensor for a tensor, a JAX array for a JAX array.

>>> import numpy as np
>>> import oriel.tile
>>> x = np.arange(72, dtype=np.float16).reshape(2, 6, 6)
>>> oriel.tile.tensor_avgpool(x, pool_size=2)[0]
array([[ 3.5,  5.5,  7.5],
       [15.5, 17.5, 19.5],
       [27.5, 29.5, 31.5]], dtype=float16)
>>> print(oriel.tile.report("tensor_avgpool", x, pool_size=2, machine="trn2").splitlines()[2])
exact   instructions: dma 2, compute 2   lanes 2 of 128   sbuf peak 90 of 212984 B/partition
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from oriel import _core
from oriel.array_types import AnyArray, ArrayT, ScalarT

__all__ = [
    "Finding", "adaptive_avg_pool2d", "avg_pool2d", "check", "emit_cuda", "emit_nki", "ir", "max_pool2d", "max_pool2d_backward",
    "max_pool2d_with_taps", "max_pool3d", "picture", "report", "tensor_avgpool",
]

Pair = SupportsIndex | Sequence[SupportsIndex]  # of height and width
Padding = Pair | Sequence[Sequence[SupportsIndex]]
Taps = NDArray[np.float32]
Machine = Literal["native", "trn1", "trn2", "trn3"]
Backend = Literal["cpu", "interpreter"]
DtypeName = Literal["float64", "float32", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64", "uint8",
                    "uint16", "uint32", "uint64"]
Kernel = str | Callable[..., Any]

_DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "boolean",
           **{f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}
_HOW = ("x", "dy", "machine", "backend", "out")  # arguments that are not a kernel's options


def tensor_avgpool(x: ArrayT, pool_size: int, *, precise: bool = False, machine: Machine = "native",
                   backend: Backend = "cpu", out: ArrayT | None = None) -> ArrayT:
    """The average pool of NKI's tutorial: means of square windows that do not overlap.

    Parameters
    ----------
    x : array of shape (planes, height, width)
        Of float32, float16, bfloat16, or integers of at most 32 bits: a NumPy array, a CPU tensor of PyTorch or JAX,
        anything with DLPack or `__array__`.
    pool_size : int
        Height and width of a window, and its step. Rows and columns that do not fill a window are left out.
    precise : bool
        Keep a window's sum in float32 until it is divided. Otherwise it is rounded to `x`'s dtype first, as in the
        tutorial: four float16 of 20000 have the mean infinity.
    machine : {"native", "trn1", "trn2", "trn3"}
        The machine whose limits are checked; "native" has none.
    backend : {"cpu", "interpreter"}
        The interpreter computes element by element and checks every address and every read; its results are
        bit-identical.
    out : array, optional
        Where to write the result: dense, of `x`'s kind. It must not share memory with `x`.

    Returns
    -------
    array of shape (planes, height // pool_size, width // pool_size)
        Of the kind and dtype of `x`.

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text; and for a kernel that the machine cannot run,
        with a text that begins with the check's id.

    See Also
    --------
    check, report, emit_nki, emit_cuda : The kernel's program.

    Notes
    -----
    The tutorial's kernel is beside this one in `python -m oriel.docs tile`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel.tile
    >>> x = np.full((1, 2, 2), 20000, np.float16)
    >>> oriel.tile.tensor_avgpool(x, pool_size=2)
    array([[[inf]]], dtype=float16)
    >>> float(oriel.tile.tensor_avgpool(x, pool_size=2, precise=True)[0, 0, 0])
    20000.0
    >>> oriel.tile.tensor_avgpool(np.zeros((256, 6, 6), np.float32), pool_size=2, machine="trn2")
    Traceback (most recent call last):
        ...
    ValueError: err_num_partition_exceed_arch_limit: number of partitions 256 exceed architecture limitation of 128...
    """
    return _run("tensor_avgpool", (x,), {"pool_size": pool_size, "precise": precise}, machine, backend, out)


def avg_pool2d(x: ArrayT, kernel_size: Pair, stride: Pair | None = None, padding: Padding = 0, dilation: Pair = 1, *,
               ceil_mode: bool = False, count_include_pad: bool = True, rows: int | None = None,
               machine: Machine = "native", backend: Backend = "cpu", out: ArrayT | None = None) -> ArrayT:
    """Means of windows, summed in float32 and rounded once; for any number of planes and images larger than SBUF.

    Parameters
    ----------
    x : array of shape (planes, height, width)
        As for `tensor_avgpool`.
    kernel_size, stride, padding, dilation : int or (int, int)
        Of height and width; `stride` is by default `kernel_size`. Padding may also be ((before, after), (before,
        after)).
    ceil_mode : bool
        Whether to keep a partial last window.
    count_include_pad : bool
        Whether padding counts in the divisor; the part of a partial window beyond it never does.
    rows : int, optional
        Output rows of a band; by default as many as fit the smallest machine.
    machine, backend, out
        As for `tensor_avgpool`.

    Returns
    -------
    array of shape (planes, oh, ow)
        With oh = floor((height + before + after - dilation*(kernel_size - 1) - 1) / stride) + 1, and likewise ow.

    Raises
    ------
    ValueError, TypeError
        As `tensor_avgpool`.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel.tile
    >>> oriel.tile.avg_pool2d(np.ones((1, 2, 4), np.float32), 3, 2, padding=1).round(3)
    array([[[0.444, 0.667]]], dtype=float32)
    """
    options = {**_windows(kernel_size, stride, padding, dilation, ceil_mode, rows), "count_include_pad": count_include_pad}
    return _run("avg_pool2d", (x,), options, machine, backend, out)


def max_pool2d(x: ArrayT, kernel_size: Pair, stride: Pair | None = None, padding: Padding = 0, dilation: Pair = 1, *,
               ceil_mode: bool = False, rows: int | None = None, machine: Machine = "native", backend: Backend = "cpu",
               out: ArrayT | None = None) -> ArrayT:
    """The largest element of each window. Parameters, result and errors are those of `avg_pool2d`; a NaN makes its
    windows NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel.tile
    >>> oriel.tile.max_pool2d(np.arange(12.0, dtype=np.float32).reshape(1, 3, 4), (3, 2))
    array([[[ 9., 11.]]], dtype=float32)
    """
    return _run("max_pool2d", (x,), _windows(kernel_size, stride, padding, dilation, ceil_mode, rows), machine, backend, out)


@overload
def max_pool2d_with_taps(x: NDArray[ScalarT], kernel_size: Pair, stride: Pair | None = None, padding: Padding = 0,
                         dilation: Pair = 1, *, ceil_mode: bool = False, rows: int | None = None,
                         machine: Machine = "native", backend: Backend = "cpu",
                         out: tuple[NDArray[ScalarT], Taps] | None = None) -> tuple[NDArray[ScalarT], Taps]: ...


@overload
def max_pool2d_with_taps(x: ArrayT, kernel_size: Pair, stride: Pair | None = None, padding: Padding = 0,
                         dilation: Pair = 1, *, ceil_mode: bool = False, rows: int | None = None,
                         machine: Machine = "native", backend: Backend = "cpu",
                         out: tuple[ArrayT, ArrayT] | None = None) -> tuple[ArrayT, ArrayT]: ...


def max_pool2d_with_taps(x: AnyArray, kernel_size: Pair, stride: Pair | None = None, padding: Padding = 0,
                         dilation: Pair = 1, *, ceil_mode: bool = False, rows: int | None = None,
                         machine: Machine = "native", backend: Backend = "cpu",
                         out: tuple[AnyArray, AnyArray] | None = None) -> tuple[AnyArray, AnyArray]:
    """The largest element of each window, and which tap of the window it is. Parameters and errors are those of
    `avg_pool2d`; `out` is a tuple of two arrays.

    Returns
    -------
    (array, array of float32)
        Taps are counted row by row; the first of equal maxima counts. A window without any tap (only padding) has -1,
        and one with a NaN the number of its taps.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel.tile
    >>> oriel.tile.max_pool2d_with_taps(np.array([[[1, 5, 2, 0], [5, 3, 4, 4]]], np.float32), 2)
    (array([[[5., 4.]]], dtype=float32), array([[[1., 2.]]], dtype=float32))
    """
    return _run("max_pool2d_with_taps", (x,), _windows(kernel_size, stride, padding, dilation, ceil_mode, rows), machine, backend,
                out)


def max_pool2d_backward(x: ArrayT, dy: AnyArray, kernel_size: Pair, stride: Pair | None = None, padding: Padding = 0,
                        dilation: Pair = 1, *, ceil_mode: bool = False, rows: int | None = None,
                        machine: Machine = "native", backend: Backend = "cpu", out: ArrayT | None = None) -> ArrayT:
    """The gradient of `max_pool2d`: each element of `dy` is added at its window's first maximum. For windows without
    NaN. Other parameters and errors are those of `avg_pool2d`.

    Parameters
    ----------
    dy : array of shape (planes, oh, ow)
        Of the kind and dtype of `x`.
    rows : int, optional
        Rows of the result in a band; by default as many as fit the smallest machine.

    Returns
    -------
    array of shape (planes, height, width)

    Examples
    --------
    >>> import numpy as np
    >>> import oriel.tile
    >>> x = np.array([[[1, 5, 2, 0], [5, 3, 4, 4]]], np.float32)
    >>> oriel.tile.max_pool2d_backward(x, np.array([[[10, 20]]], np.float32), 2)
    array([[[ 0., 10.,  0.,  0.],
            [ 0.,  0., 20.,  0.]]], dtype=float32)
    """
    options = _windows(kernel_size, stride, padding, dilation, ceil_mode, rows)
    return _run("max_pool2d_backward", (x, dy), options, machine, backend, out)


def adaptive_avg_pool2d(x: ArrayT, output_size: Pair, *, machine: Machine = "native", backend: Backend = "cpu",
                        out: ArrayT | None = None) -> ArrayT:
    """Means of windows that split the plane evenly: window o covers floor(o*n/size) to ceil((o+1)*n/size).

    Parameters
    ----------
    output_size : int or (int, int)
        Height and width of the result. The program grows with their product.
    x, machine, backend, out
        As for `tensor_avgpool`, with its errors.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel.tile
    >>> oriel.tile.adaptive_avg_pool2d(np.arange(5, dtype=np.float32).reshape(1, 1, 5), (1, 2))
    array([[[1., 3.]]], dtype=float32)
    """
    return _run("adaptive_avg_pool2d", (x,), {"output_size": output_size}, machine, backend, out)


def max_pool3d(x: ArrayT, kernel_size: int, stride: int | None = None, *, machine: Machine = "native",
               backend: Backend = "cpu", out: ArrayT | None = None) -> ArrayT:
    """The largest element of each cube of volumes [planes, depth, height, width]; one axis is folded after the other.

    Parameters
    ----------
    kernel_size, stride : int
        Of all three axes; `stride` is by default `kernel_size`.
    x, machine, backend, out
        As for `tensor_avgpool`, with its errors.

    Examples
    --------
    >>> import numpy as np
    >>> import oriel.tile
    >>> oriel.tile.max_pool3d(np.arange(27, dtype=np.float32).reshape(1, 3, 3, 3), 2, stride=1)[0, 0]
    array([[13., 14.],
           [16., 17.]], dtype=float32)
    """
    return _run("max_pool3d", (x,), {"kernel_size": kernel_size, "stride": stride}, machine, backend, out)


@dataclass(frozen=True)
class Finding:
    """A finding of a check of a kernel.

    Attributes
    ----------
    id : str
        The check: NKI's name of the error if it has one.
    is_error : bool
        False for a warning.
    text : str
        What is wrong, the numbers, and how to fix it.
    place : str
        File and line of the kernel's C++.
    """

    id: str
    is_error: bool
    text: str
    place: str


def check(kernel: Kernel, x: AnyArray | Sequence[int], *, machine: Machine = "trn2", dtype: DtypeName = "float32",
          **options: object) -> list[Finding]:
    """The findings of a machine's checks of a kernel, including warnings; empty if there are none.

    Parameters
    ----------
    kernel : str or function
        One of this module's kernels, or its name.
    x : array, or tuple of int
        The input: anything with `shape` and `dtype` (nothing else is read), or only a shape.
    machine : {"native", "trn1", "trn2", "trn3"}
        The machine whose limits are checked.
    dtype : str
        The input's dtype if `x` is only a shape.
    **options
        Options of the kernel, e.g. `pool_size` for `tensor_avgpool`.

    Returns
    -------
    list of Finding

    Raises
    ------
    ValueError, TypeError
        For an argument of the wrong value or type, named in the text.

    Examples
    --------
    >>> import oriel.tile
    >>> findings = oriel.tile.check("tensor_avgpool", (2, 224, 224), machine="trn1", pool_size=2)
    >>> findings[0].id, findings[0].is_error
    ('SBUF1', True)
    >>> oriel.tile.check("avg_pool2d", (2, 224, 224), machine="trn1", kernel_size=2)
    []
    """
    function, name, values = _described(kernel, options)
    _check_word(function, "machine", machine)
    found = _core.tile_findings(function, name, *_meta(function, x, dtype), values, machine)
    return [Finding(*finding) for finding in found]


def report(kernel: Kernel, x: AnyArray | Sequence[int], *, machine: Machine = "trn2", dtype: DtypeName = "float32",
           **options: object) -> str:
    """Bytes, instructions, lanes and memory of a kernel on a machine, and separately a model of its time. Parameters
    and errors are those of `check`.

    Examples
    --------
    >>> import oriel.tile
    >>> print(oriel.tile.report("tensor_avgpool", (64, 112, 112), machine="trn1", pool_size=2))
    tensor_avgpool_kernel(f32[64x112x112]; 2)  machine trn1
    exact   hbm->sbuf 3211264 B in 1 dma   sbuf->hbm 802816 B in 1 dma
    exact   instructions: dma 2, compute 2   lanes 64 of 128   sbuf peak 62720 of 180224 B/partition
    ...
    """
    function, name, values = _described(kernel, options)
    _check_word(function, "machine", machine)
    return _core.tile_text("report", function, name, *_meta(function, x, dtype), values, machine)


def emit_nki(kernel: Kernel, x: AnyArray | Sequence[int], *, version: Literal["0.6", "0.1"] = "0.6",
             dtype: DtypeName = "float32", **options: object) -> str:
    """A kernel as a Python module in NKI's language of `version` "0.6" or "0.1". Other parameters and errors are those
    of `check`. The text has not been run on a device.

    Examples
    --------
    >>> import oriel.tile
    >>> text = oriel.tile.emit_nki("tensor_avgpool", (2, 6, 6), version="0.1", dtype="bfloat16", pool_size=2)
    >>> [line.strip() for line in text.splitlines() if "nl.sum" in line]
    ['t3[b0, b1, b2] = nl.sum(in_tile[a0, 2*a1 + a3, 2*a2 + a4], axis=[3, 4], dtype=nl.bfloat16)']
    """
    function, name, values = _described(kernel, options)
    _check_word("emit_nki", "version", version)
    return _core.tile_text("nki", function, name, *_meta(function, x, dtype), values, version)


def emit_cuda(kernel: Kernel, x: AnyArray | Sequence[int], *, dtype: DtypeName = "float32", **options: object) -> str:
    """A kernel as CUDA C++, for nvcc or NVRTC: a `__global__` function and, for nvcc, `launch_NAME` with its grid. Its
    results are bit-identical to those on a CPU. Parameters and errors are those of `check`.

    Examples
    --------
    >>> import oriel.tile
    >>> text = oriel.tile.emit_cuda("tensor_avgpool", (64, 112, 112), pool_size=2)
    >>> [line.strip() for line in text.splitlines() if "<<<" in line]
    ['tensor_avgpool_kernel<<<64, 256, 0, stream>>>(in0, out);']
    """
    function, name, values = _described(kernel, options)
    return _core.tile_text("cuda", function, name, *_meta(function, x, dtype), values, "")


def ir(kernel: Kernel, x: AnyArray | Sequence[int], *, dtype: DtypeName = "float32", **options: object) -> str:
    """The instructions of a kernel, as text. Parameters and errors are those of `check`.

    Examples
    --------
    >>> import oriel.tile
    >>> "tensor_reduce" in oriel.tile.ir("tensor_avgpool", (2, 6, 6), pool_size=2)
    True
    """
    function, name, values = _described(kernel, options)
    return _core.tile_text("ir", function, name, *_meta(function, x, dtype), values, "")


def picture(kernel: Kernel, x: AnyArray | Sequence[int], *, dtype: DtypeName = "float32", **options: object) -> str:
    """How a kernel's first reduction reads its tile: the access pattern, and the output that each element contributes
    to. Parameters and errors are those of `check`.

    Examples
    --------
    >>> import oriel.tile
    >>> print(oriel.tile.picture("tensor_avgpool", (2, 4, 4), pool_size=2).splitlines()[0])
    tensor_reduce reads `in_tile` by [[16,2],[8,2],[2,2],[4,2],[1,2]]
    """
    function, name, values = _described(kernel, options)
    return _core.tile_text("picture", function, name, *_meta(function, x, dtype), values, "")


_KERNELS = {f.__name__: f for f in (tensor_avgpool, avg_pool2d, max_pool2d, max_pool2d_with_taps, max_pool2d_backward,
                                    adaptive_avg_pool2d, max_pool3d)}


def _windows(kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
             rows: int | None) -> dict[str, Any]:
    return {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation,
            "ceil_mode": ceil_mode, "rows": rows}


def _name_in_cpp(function: str) -> str:
    return "tensor_avgpool_kernel" if function == "tensor_avgpool" else function


def _check_word(function: str, argument: str, word: Any) -> None:
    if not isinstance(word, str):
        raise TypeError(f"{function}: {argument} must be a str, but is {word!r}")


def _run(function: str, arrays: tuple[Any, ...], options: dict[str, Any], machine: str, backend: str, out: Any) -> Any:
    _check_word(function, "machine", machine)
    _check_word(function, "backend", backend)
    return _core.tile_run(function, _name_in_cpp(function), arrays, options, machine, backend, out)


def _described(kernel: str | Callable[..., Any], options: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """(name in Python, name in C++, options) of one of this module's kernels."""
    name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
    function = _KERNELS.get(name)
    if function is None or (not isinstance(kernel, str) and kernel is not function):
        raise ValueError(f"tile: kernel must be one of {', '.join(_KERNELS)}, but is {kernel!r}")
    known = {word: p for word, p in inspect.signature(function).parameters.items() if word not in _HOW}
    for option in options:
        if option not in known:
            raise TypeError(f"{name}: options must be of {', '.join(known)}, but one is {option}")
    for word, parameter in known.items():
        if parameter.default is parameter.empty and word not in options:
            raise TypeError(f"{name}: {word} must be given, but is not")
    return name, _name_in_cpp(name), options


def _meta(function: str, x: Any, dtype: str) -> tuple[str, tuple[int, ...]]:
    """(dtype by the engine's name, shape) of an array or a shape."""
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        shape, dtype = tuple(x.shape), str(getattr(x.dtype, "name", x.dtype)).removeprefix("torch.")
    else:
        shape = x
    if dtype not in _DTYPES:
        raise TypeError(f"{function}: dtype must be one of {', '.join(_DTYPES)}, but is {dtype}")
    return _DTYPES[dtype], shape
