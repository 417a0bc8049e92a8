"""Test files that SciPy, bottleneck, xarray, Dask and numbagg ship, run with Oriel's functions; those of scikit-image
from its source.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import suite_differences
from tally import Tallies, Tally

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Suite:
    """A peer's test files, as pytest is told them, and what is replaced in the peer."""

    part: str  # of the page
    tests: tuple[str, ...]
    replaced: str
    select: str = ""  # pytest's -k
    by_path: bool = False


SCIPY = Suite(
    "SciPy: scipy.ndimage",
    ("scipy.ndimage.tests.test_filters", "scipy.ndimage.tests.test_morphology"),
    "scipy.ndimage=oriel.ndimage",
)
XARRAY = Suite(
    "xarray",
    ("xarray.tests.test_coarsen", "xarray.tests.test_rolling"),
    "xarray:DataArray=xarray_methods:Methods,xarray:Dataset=xarray_methods:Methods",
)
DASK = Suite(
    "Dask: dask.array",
    tuple(f"dask.array.tests.test_{file}" for file in ("routines", "chunk", "rechunk", "optimization")),
    "dask.array=oriel.dask,dask.array.routines=oriel.dask,dask.array.chunk=dask_functions",
    "coarsen or gh3937 or non_perfect",  # the only ones with a function of Oriel's
)
BOTTLENECK = Suite("bottleneck", ("bottleneck.tests.move_test",), "bottleneck=oriel.bottleneck")
NUMBAGG = Suite("numbagg", ("numbagg.test.test_moving",), "numbagg=numbagg_functions")  # needs Numba: run by hand
SCIKIT_IMAGE_FILES = (
    "measure/test_block.py",
    "filters/rank/test_rank.py",
    "filters/test_median.py",
    "filters/test_thresholding.py",
    "morphology/test_gray.py",
    "morphology/test_footprints.py",
)


def scikit_image(folder: str) -> Suite:
    """Its tests are not in its wheel: `folder` is tests/skimage of its source."""
    modules = "measure filters filters.rank morphology".split()
    return Suite(
        "scikit-image",
        tuple(str(Path(folder, file)) for file in SCIKIT_IMAGE_FILES),
        ",".join(f"skimage.{module}=oriel.skimage.{module}" for module in modules),
        by_path=True,
    )


def outcomes(suite: Suite) -> list[dict[str, str]]:
    """The file, name, outcome and text of every test in which a function of Oriel was called."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "outcomes.json")
        path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "suite_plugin"]
        command += ["-k", suite.select, *([] if suite.by_path else ["--pyargs"]), *suite.tests]
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"ORIEL_REPLACED": suite.replaced, "ORIEL_OUTCOMES": str(results), "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if not results.exists() or not (found := json.loads(results.read_text(encoding="utf-8"))):
            raise RuntimeError(f"{suite.part}: pytest ran no test:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return found


def run_suite(suite: Suite) -> list[Tally]:
    """A row for each group of tests of a file: what precedes the first number of their names."""
    tallies = Tallies(suite.part)
    for test in outcomes(suite):
        name = test["test"].partition("[")[0].split("::")[-1]
        tally = tallies.of(re.sub(r"_?\d.*", "", name), test["file"])
        if test["outcome"] == "passed":
            tally.add(test["test"], set(), [])
            continue
        reason = suite_differences.reason_of(test)
        tally.add(test["test"], {reason} if reason else set(), [] if reason else [test["text"]])
    return tallies.all()
