"""Grey morphology: `grey_erosion`, `grey_dilation` and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oriel.edges import Modes, WholeNumbers, filtered_axes, per_axis, whole_number, window_shape
from oriel.filters import extremum_filter
from oriel.others import function_of

__all__ = [
    "black_tophat",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "morphological_gradient",
    "morphological_laplace",
    "white_tophat",
]


def _flat(name: str, size: Any, footprint: Any, structure: Any) -> tuple[Any, Any, bool]:
    """(size, footprint, whether the structuring element is flat)."""
    if size is None and footprint is None and structure is None:
        raise ValueError(f"{name}: size, footprint or structure must be given, but all are None")
    if structure is None:
        return size, footprint, True
    heights = np.asarray(structure)
    if np.any(heights):
        return size, footprint, False
    return (None, np.ones(heights.shape, bool), True) if footprint is None else (size, footprint, True)


def _by_scipy(name: str) -> Any:
    return function_of("scipy.ndimage", name, "structure must be all zero")


def grey_erosion(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The smallest element under the footprint, as `scipy.ndimage.grey_erosion`.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes
        As for `oriel.maximum_filter`.
    structure : array_like, optional
        Heights; if they are not all zero, SciPy computes the result, which must then be installed.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.grey_erosion(np.array([3, 3, 1, 4, 4, 4]), 3)
    array([3, 1, 1, 1, 4, 4])
    """
    size, footprint, flat = _flat("grey_erosion", size, footprint, structure)
    if not flat:
        return _by_scipy("grey_erosion")(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    return extremum_filter("grey_erosion", "min", input, size, footprint, output, mode, cval, origin, axes)


def grey_dilation(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                  structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                  origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The largest element under the reflected footprint, as `scipy.ndimage.grey_dilation`. See `grey_erosion`.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.grey_dilation(np.array([0, 0, 5, 0, 0]), footprint=[0, 1, 1])
    array([0, 0, 5, 5, 0])
    """
    name = "grey_dilation"
    size, footprint, flat = _flat(name, size, footprint, structure)
    if not flat:
        return _by_scipy(name)(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    filtered = filtered_axes(name, axes, np.ndim(input))
    if footprint is not None:
        taps = np.asarray(footprint, bool)
        footprint = taps[(slice(None, None, -1),) * taps.ndim]
    sizes = per_axis(name, "size", window_shape(name, None if footprint is not None else size, footprint, filtered)[0],
                     len(filtered))
    # A reflected window of even extent has its middle, the element size // 2, at the other side.
    shifts = [-whole_number(name, "origin", shift) - (whole_number(name, "size", k) % 2 == 0)
              for shift, k in zip(per_axis(name, "origin", origin, len(filtered)), sizes)]
    return extremum_filter(name, "max", input, size, footprint, output, mode, cval, shifts, axes)


def grey_opening(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """An erosion, then a dilation, as `scipy.ndimage.grey_opening`. See `grey_erosion`."""
    eroded = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_dilation(eroded, size, footprint, structure, output, mode, cval, origin, axes=axes)


def grey_closing(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """A dilation, then an erosion, as `scipy.ndimage.grey_closing`. See `grey_erosion`."""
    dilated = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return grey_erosion(dilated, size, footprint, structure, output, mode, cval, origin, axes=axes)


def _difference(a: NDArray[Any], b: NDArray[Any], output: Any) -> NDArray[Any]:
    """a - b, of bool their exclusive or; computed in the dtype of an array `output`, as SciPy has it."""
    subtract = np.bitwise_xor if a.dtype == bool and b.dtype == bool else np.subtract
    if isinstance(output, np.ndarray):
        return subtract(a, b.astype(output.dtype, copy=False) if subtract is np.subtract else b, out=output)
    result = subtract(a, b)
    return result if output is None else result.astype(output)


def morphological_gradient(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                           structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect",
                           cval: float = 0.0, origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """A dilation less an erosion, as `scipy.ndimage.morphological_gradient`. See `grey_erosion`.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.morphological_gradient(np.array([3, 3, 1, 4, 4, 4]), 3)
    array([0, 2, 3, 3, 0, 0])
    """
    dilated = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    eroded = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return _difference(dilated, eroded, output)


def morphological_laplace(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                          structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect",
                          cval: float = 0.0, origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """A dilation plus an erosion less twice the input, as `scipy.ndimage.morphological_laplace`. See `grey_erosion`."""
    dilated = grey_dilation(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    eroded = grey_erosion(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    x = np.asarray(input)
    result = output if isinstance(output, np.ndarray) else np.empty(x.shape, eroded.dtype)
    x = x.copy() if np.may_share_memory(x, result) else x
    np.add(dilated, eroded.astype(result.dtype, copy=False), out=result)
    np.subtract(result, x, out=result)
    np.subtract(result, x, out=result)
    return result if output is None or output is result else result.astype(output)


def white_tophat(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The input less its opening, as `scipy.ndimage.white_tophat`: what is bright and small. See `grey_erosion`.

    Examples
    --------
    >>> import numpy as np
    >>> from oriel import ndimage
    >>> ndimage.white_tophat(np.array([3, 9, 3, 3, 5, 5, 5, 4]), 3)
    array([0, 6, 0, 0, 0, 0, 0, 0])
    """
    opened = grey_opening(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return _difference(np.asarray(input), opened, output)


def black_tophat(input: ArrayLike, size: WholeNumbers | None = None, footprint: ArrayLike | None = None,
                 structure: ArrayLike | None = None, output: Any = None, mode: Modes = "reflect", cval: float = 0.0,
                 origin: WholeNumbers = 0, *, axes: Any = None) -> NDArray[Any]:
    """The closing less the input, as `scipy.ndimage.black_tophat`: what is dark and small. See `grey_erosion`."""
    closed = grey_closing(input, size, footprint, structure, None, mode, cval, origin, axes=axes)
    return _difference(closed, np.asarray(input), output)
