"""An accessor for xarray: `da.oriel.coarsen(...)` and `da.oriel.rolling(...)`, with coordinates and attributes kept.

>>> import numpy as np
>>> import xarray as xr
>>> import oriel.xarray
>>> da = xr.DataArray(np.array([1.0, np.nan, 3.0, 5.0, 9.0]), dims="x", coords={"x": np.arange(5.0)})
>>> da.oriel.coarsen(x=2, boundary="partial").mean().values
array([1., 4., 9.])
>>> da.oriel.coarsen(x=2, boundary="partial").mean().x.values
array([0.5, 2.5, 4. ])
"""

try:
    import xarray  # noqa: F401
except ImportError as _error:
    raise ImportError("oriel.xarray: needs xarray; install it with `pip install xarray`", name=_error.name) from _error

from oriel.xarray.accessors import OrielDataArray, OrielDataset
from oriel.xarray.blocks import Coarsen
from oriel.xarray.moving import Rolling

__all__ = ["Coarsen", "OrielDataArray", "OrielDataset", "Rolling"]
