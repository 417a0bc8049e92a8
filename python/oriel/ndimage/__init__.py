"""Filters with the names, arguments and results of `scipy.ndimage`: medians, ranks, percentiles, grey morphology.

What is not listed here is SciPy's own, so that ``from oriel import ndimage`` may replace ``from scipy import ndimage``.

>>> import numpy as np
>>> from oriel import ndimage
>>> ndimage.median_filter(np.array([2, 80, 2, 2, 3, 3, 90, 3]), 3)
array([2, 2, 2, 2, 3, 3, 3, 3])
"""

from typing import Any

from oriel.filters import maximum_filter, minimum_filter, uniform_filter
from oriel.ndimage.functions import generic_filter, vectorized_filter
from oriel.ndimage.lines import maximum_filter1d, minimum_filter1d, uniform_filter1d
from oriel.ndimage.morphology import (
    black_tophat,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    morphological_gradient,
    morphological_laplace,
    white_tophat,
)
from oriel.ndimage.ranks import median_filter, percentile_filter, rank_filter
from oriel.others import attribute_of

__all__ = [
    "black_tophat",
    "generic_filter",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
    "morphological_laplace",
    "percentile_filter",
    "rank_filter",
    "uniform_filter",
    "uniform_filter1d",
    "vectorized_filter",
    "white_tophat",
]


def __getattr__(name: str) -> Any:
    return attribute_of("scipy.ndimage", "oriel.ndimage", name)
