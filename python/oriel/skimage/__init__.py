"""Functions with the names, arguments and results of scikit-image: `filters`, `filters.rank`, `morphology`, `measure`.

What these modules do not list is scikit-image's own.

>>> import numpy as np
>>> from oriel.skimage import filters
>>> filters.median(np.array([[1, 1, 1], [1, 9, 1], [1, 1, 1]], np.uint8))[1, 1]
np.uint8(1)
"""

from oriel.skimage import filters, measure, morphology

__all__ = ["filters", "measure", "morphology"]
