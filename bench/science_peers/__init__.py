"""Other libraries' medians, modes, variances and morphology. Each module has NAME; `load()`, which imports the library, keeps it to one
thread and returns its version; and `rivals(case, x, mask)`, a list of Rival, empty where the library has no such function."""

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

ALL = [
    "opencv",
    "scipy",
    "skimage",
    "itk",
    "diplib",
    "tensorstore",
    "tinybrain",
    "numpy",
    "xarray",
    "bottleneck",
    "numbagg",
    "dask",
]


@dataclass
class Rival:
    """A peer's way to compute a case, named NAME or, of several, NAME and a word. `run` computes and returns it; `result` makes an array in the case's logical order of that. The
    known differences: `changes` are options with which Oriel computes what the peer does; `margin` elements at each edge follow another
    rule of the border; `accepts(made, expected)` tells where another value is as right; tolerances are those of the peer's arithmetic."""

    name: str
    run: Callable[[], Any]
    result: Callable[[Any], np.ndarray] = np.asarray
    changes: dict = field(default_factory=dict)
    margin: tuple = ()
    accepts: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    relative: float = 0.0
    absolute: float = 0.0
    difference: str = ""


def belongs(name, library):
    """Whether a rival is one of that library's."""
    return name == library or name.startswith(library + " ")


def border(case):
    """The margin of a filter that fills its border with copies of elements."""
    twice = 2 if case.filter == "white_tophat" else 1
    return tuple(twice * (k // 2) for k in case.kernel)


def split(case, x):
    """x with two axes for each: blocks, and the elements of a block."""
    return x.reshape([part for n, k in zip(x.shape, case.kernel) for part in (n // k, k)])


def within(case):
    """The axes of `split` that lie within a block."""
    return tuple(range(1, 2 * case.rank, 2))


def gathered(case, x):
    """x with one last axis for all elements of a block: a copy."""
    outer = tuple(range(0, 2 * case.rank, 2))
    blocks = split(case, x).transpose(outer + within(case))
    return blocks.reshape(*blocks.shape[: case.rank], case.taps)


def as_frequent(case, x):
    """Where a value is as frequent in its block as another: of those, libraries take different ones."""
    blocks, axes = split(case, x), within(case)

    def count(found):
        return (blocks == np.expand_dims(found, axes)).sum(axes)

    return lambda made, expected: count(made) == count(expected)
