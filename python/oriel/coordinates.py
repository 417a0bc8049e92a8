"""Axes, spacing, translation and unit of a labelled array (an xarray DataArray), as pyramids need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Placed", "placed"]

_LETTERS = {"time": "t", "channel": "c", "depth": "z", "lat": "y", "latitude": "y", "lon": "x", "longitude": "x"}
# Words for units, and the names that OME-Zarr has for them.
_UNITS = {
    "angstrom": ("Å", "angstroms"), "nanometer": ("nm", "nanometers", "nanometre", "nanometres"),
    "micrometer": ("um", "µm", "μm", "micron", "microns", "micrometers", "micrometre", "micrometres"),
    "millimeter": ("mm", "millimeters", "millimetre", "millimetres"),
    "centimeter": ("cm", "centimeters", "centimetre", "centimetres"),
    "meter": ("m", "meters", "metre", "metres"), "kilometer": ("km", "kilometers", "kilometre", "kilometres"),
    "degree": ("degrees", "degrees_north", "degrees_east", "degree_north", "degree_east"),
}  # fmt: skip
_SPACE = "zyx"
_REGULAR = 1e-3  # of a step: coordinates may be float32


class Placed(NamedTuple):
    """An array, and where its elements are."""

    array: Any
    axes: str | None
    spacing: Any
    translation: Any
    unit: str | None


def _letters(dims: Sequence[Any]) -> str | None:
    """A letter for each dimension; None if one has no letter, or two the same."""
    names = [str(dim).lower() for dim in dims]
    letters = [name if len(name) == 1 else _LETTERS.get(name, "") for name in names]
    return "".join(letters) if all(letters) and len(set(letters)) == len(letters) else None


def _numbers(coordinate: Any) -> np.ndarray[Any, Any] | None:
    """A coordinate as float64, times in seconds, dates in seconds since the first; None for text and the like."""
    values = np.asarray(coordinate)
    if values.dtype.kind == "M":
        values = values - values[:1]
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "s")
    return values.astype("f8") if values.dtype.kind in "iuf" else None


def _line(coordinate: Any, name: Any, is_space: bool) -> tuple[float, float]:
    """Spacing and translation. Times and channels that are not regular are counted."""
    values = _numbers(coordinate)
    if values is not None and len(values) == 1 and np.isfinite(values[0]):
        return 1.0, float(values[0])
    if values is not None and len(values) > 1:
        step = float(values[-1] - values[0]) / (len(values) - 1)
        off = np.abs(values - (values[0] + step * np.arange(len(values))))
        if step != 0 and off.max() <= _REGULAR * abs(step):  # False if one is NaN
            return step, float(values[0])
    if not is_space or values is None or len(values) == 0:
        return 1.0, 0.0
    if len(values) == 1:
        raise ValueError(f"pyramid: coordinate {name!r} must be a finite number, but is {values[0]:.6g}; pass spacing and "
                         "translation")  # fmt: skip
    steps = np.diff(values)
    raise ValueError(f"pyramid: coordinate {name!r} must be regular, but has steps from {steps.min():.6g} to "
                     f"{steps.max():.6g}; pass spacing and translation")  # fmt: skip


def _unit(units: Sequence[Any]) -> str | None:
    """The unit that all have, as OME-Zarr calls it; None if they differ."""
    found = {next((name for name, words in _UNITS.items() if unit in words), str(unit)) for unit in units if unit}
    return found.pop() if len(found) == 1 else None


def placed(x: Any, axes: str | None, spacing: Any, translation: Any, unit: str | None) -> Placed:
    """`x` with what its coordinates say of arguments that are None; an array without coordinates as it is."""
    if not all(hasattr(x, name) for name in ("dims", "coords", "data")):
        return Placed(x, axes, spacing, translation, unit)
    letters = axes or _letters(x.dims)
    names = letters if letters is not None and len(letters) == len(x.dims) else "tczyx"[max(5 - len(x.dims), 0) :]
    is_space = [name in _SPACE for name in names.rjust(len(x.dims))]
    known = [x.coords[dim] if dim in x.coords and x.coords[dim].dims == (dim,) else None for dim in x.dims]
    if spacing is None or translation is None:
        lines = [(1.0, 0.0) if one is None else _line(one.values, dim, there)
                 for one, dim, there in zip(known, x.dims, is_space)]  # fmt: skip
        spacing = tuple(step for step, _ in lines) if spacing is None else spacing
        translation = tuple(first for _, first in lines) if translation is None else translation
    if unit is None:
        unit = _unit([one.attrs.get("units") for one, there in zip(known, is_space) if one is not None and there])
    return Placed(x.data, letters, spacing, translation, unit)
