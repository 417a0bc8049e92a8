"""The accessors: `DataArray.oriel` and `Dataset.oriel`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import xarray as xr

from oriel.xarray.blocks import Boundary, Coarsen, Side
from oriel.xarray.moving import Rolling
from oriel.xarray.statistics import is_lazy

__all__ = ["OrielDataArray", "OrielDataset"]


class _Accessor:
    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def coarsen(self, dim: Mapping[Hashable, int] | None = None,
                boundary: Boundary | Mapping[Hashable, Boundary] = "exact",
                side: Side | Mapping[Hashable, Side] = "left", coord_func: Any = "mean", skipna: bool | None = None,
                min_count: int | None = None, weights: Any = None, **windows: int) -> Coarsen:
        """Blocks to be reduced, as xarray's `coarsen`.

        Parameters
        ----------
        dim : mapping of name to int
            The extent of a block along each dimension; or as keywords.
        boundary : {"exact", "trim", "pad", "partial"}, or a mapping
            What happens to elements that make no whole block: an error; left out; completed with NaN ("pad", which
            makes floats of integers), or reduced as they are ("partial").
        side : {"left", "right"}, or a mapping
            Where blocks begin.
        coord_func : str, callable, or mapping of name to these
            The reduction of coordinates, a single one of those with the name of a dimension; "mean" of all others.
            Those of text have the first of each block.
        skipna : bool, optional
            Whether NaN are left out; by default those of floats are. The methods take it, too.
        min_count : int, optional
            With fewer elements in a block the result is NaN, of integers as a float. The methods take it, too.
        weights : DataArray or array, optional
            For means, sums, variances, modes, and medians and quantiles by method "inverted_cdf". A DataArray needs not
            have all dimensions. Coordinates are not weighted.

        Returns
        -------
        Coarsen
            With the methods mean, sum, min, max, median, quantile, std, var, prod, count, any, all, mode, nunique,
            reduce and construct. Dask arrays stay lazy, and are not rechunked.

        Examples
        --------
        >>> import numpy as np
        >>> import xarray as xr
        >>> import oriel.xarray
        >>> da = xr.DataArray(np.array([[1.0, 2.0], [np.nan, 6.0]]), dims=("lat", "lon"))
        >>> weights = xr.DataArray([1.0, 3.0], dims="lat")
        >>> da.oriel.coarsen(lat=2, lon=2, weights=weights).mean().item()
        4.2
        """
        return Coarsen(self._obj, {**(dim or {}), **windows}, boundary, side, coord_func, skipna, min_count, weights)

    def rolling(self, dim: Mapping[Hashable, int] | None = None, min_periods: int | None = None,
                center: bool | Mapping[Hashable, bool] = False, **windows: int) -> Rolling:
        """Moving windows to be reduced, as xarray's `rolling`.

        Parameters
        ----------
        dim : mapping of name to int
            The extent of a window along each dimension; or as keywords.
        min_periods : int, optional
            With fewer elements that are not NaN the result is NaN; by default all are needed.
        center : bool, or a mapping
            Whether a window lies around its element, or ends with it.

        Returns
        -------
        Rolling
            With the methods of `coarsen` but any and all, and with argmax and argmin.

        Notes
        -----
        Windows may be along any number of dimensions; each is reduced by itself, so no error of earlier elements is
        carried on, and an infinity affects only the windows that hold it.

        Examples
        --------
        >>> import xarray as xr
        >>> import oriel.xarray
        >>> xr.DataArray([1, 2, 4, 8], dims="t").oriel.rolling(t=2).mean().values
        array([nan, 1.5, 3. , 6. ])
        """
        return Rolling(self._obj, {**(dim or {}), **windows}, min_periods, center)


@xr.register_dataarray_accessor("oriel")
class OrielDataArray(_Accessor):
    """`DataArray.oriel`: pools of a labelled array."""

    def pyramid(self, factors: Any = "auto", **keywords: Any) -> Any:
        """All levels of resolution of the array, as `oriel.pyramid`, or as `oriel.dask.pyramid` of a Dask array.

        Parameters
        ----------
        factors, **keywords
            As for these. Axes, spacing, translation and unit that are not passed are those of the coordinates:
            dimensions called t, c, z, y, x, time, channel, depth, lat and lon name the axes; coordinates of space must be
            regular, and their `units` are the unit.

        Returns
        -------
        Pyramid, or LazyPyramid of a Dask array

        Raises
        ------
        ValueError
            For coordinates of space that are not regular, and as those functions.

        Examples
        --------
        >>> import numpy as np
        >>> import xarray as xr
        >>> import oriel.xarray
        >>> x = {"y": [10.0, 10.5], "x": ("x", [0.0, 2.0, 4.0, 6.0], {"units": "um"})}
        >>> p = xr.DataArray(np.zeros((2, 4)), dims=("y", "x"), coords=x).oriel.pyramid(2, levels=1)
        >>> p.axes, p.unit, p[0].scale, p[1].translation
        ('yx', 'micrometer', (0.5, 2.0), (10.25, 1.0))
        """
        if is_lazy(self._obj.data):
            from oriel.dask import pyramid

            return pyramid(self._obj, factors, **keywords)
        from oriel.pyramids import pyramid as whole

        return whole(self._obj, factors, **keywords)


@xr.register_dataset_accessor("oriel")
class OrielDataset(_Accessor):
    """`Dataset.oriel`: pools of all variables; those without the dimensions stay as they are."""
