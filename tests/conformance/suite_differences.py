"""Where Oriel differs from what the test files of SciPy, xarray, Dask, scikit-image and bottleneck ask for, by design.

A difference of errors is confirmed by running the test again with errors compared by their kind alone, one of
arguments without effect by running it again with the error taken for the warning. The others are named test by test,
with the text of the failure that must come out; tests/python/test_ndimage.py, test_skimage.py, test_xarray.py and
test_bottleneck.py have what they are about, with the numbers that are expected.
"""

from __future__ import annotations

import re

ERRORS = "an error has a text of its own, and is ValueError or TypeError where the peer raises another"
SEQUENCES = "a footprint may have a mode for each axis"
SIZES = "sizes below 1 are refused"
ROUNDING = "means of integers are rounded half to even, once (S7), those of SciPy truncated after every axis"
NAN = "the place of the largest of NaN and -inf is that of -inf; in bottleneck it is that of the NaN"
REFUSED = "arguments without effect (dim, keepdims), of which xarray warns, are refused"
DOCSTRINGS = "docstrings are Oriel's own"
WARNINGS = "there is no warning of slowness, of other dtypes, which are not converted, or of a bool for an int"
ANY_RANK = "images may have any number of axes, and results be written over the input"
DTYPES = "images of other dtypes than uint8 and uint16 are filtered as they are, and not converted to uint8"
DISTANCE = "the line that a warning names is one call nearer, as the runner of these tests is in between"

# (test, text of its failure, reason)
_NAMED = [
    (r"::test_(minimum|maximum)_filter07\b|::test_rank08\b", r"DID NOT RAISE", SEQUENCES),
    (r"::test_uniform02\b", r"ValueError: uniform_filter: size must be >= 1, but axis 0 has 0", SIZES),
    (r"^test_move\[move_arg(min|max)\]", r"Arrays are not almost equal to 5 decimals .*\binf\b", NAN),
    (r"::test_rank_filters(_3D)?_boolean_shift\b", r"DID NOT WARN", WARNINGS),
    (r"::test_(pass_on_bitdepth|16bit|rank_filter|compare_\w+)\b", r"No warning", WARNINGS),
    (r"::test_rank_filter\[\w+-(None|float32|float64|int\d+)\]", r"Arrays are not almost equal", DTYPES),
    (r"::test_rolling_doc\b", r"assert '`mean`' in", DOCSTRINGS),
    (r"^test_median_warning\b", r"wrong stacklevel", DISTANCE),
    (r"::test_inplace_output\b|^test_median_error_ndim\b", r"DID NOT RAISE", ANY_RANK),
    (r"^test_multiple_modes_sequentially\b|^test_uniform_filter1d_roundoff_errors\b", r"AssertionError", ROUNDING),
]
REASONS = (ERRORS, SEQUENCES, SIZES, ROUNDING, NAN, REFUSED, DOCSTRINGS)  # those of tests that ship in wheels, which the page lists


def reason_of(test: dict[str, str]) -> str | None:
    """Why a test did not pass, or None if there is no reason for it."""
    if test["outcome"] == "errors":
        return ERRORS
    if test["outcome"] == "refused":
        return REFUSED
    return next(
        (why for name, text, why in _NAMED if re.search(name, test["test"]) and re.search(text, test["text"])), None
    )
