"""Problems of images, labels and grids: their names with the words of masks, footprints and order statistics, goals, contents, and the
values that windows must have. Geometry, arrays and the suite's style are those of problems.py."""

import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import oriel
import oriel.skimage.filters
import oriel.skimage.morphology
from problems import DTYPES, Problem, read_suite, values, zeros
from problems import parse as parse_geometry

SUITE = Path(__file__).with_name("science.txt")
FILTERS = ("sauvola", "white_tophat")
METHODS = ("lower", "higher", "nearest", "midpoint", "mean", "linear", "inverted_cdf", "scipy")
SHAPES = {"disk": oriel.disk, "ball": oriel.ball, "diamond": oriel.diamond}


@dataclass(frozen=True)
class Goal:
    """The most time that Oriel may take, in times of a peer, of the fastest one (`best`) or of a copy (`copy`)."""

    text: str
    beside: str
    most: float


@dataclass(frozen=True)
class Case:
    """A line of the suite. `geometry` has its windows, with a maximum's name for the operation."""

    group: str
    name: str
    geometry: Problem
    op: str
    options: dict = field(default_factory=dict)
    masked: bool = False
    content: str = ""
    filter: str = ""
    goals: tuple = ()
    reason: str = ""

    @property
    def label(self):
        """The name and what it does not say."""
        return " ".join(
            [self.name, *(f"{key}:{value}" for key, value in (("content", self.content), ("as", self.filter)) if value)]
        )

    @property
    def dtype(self):
        return np.dtype(DTYPES[self.geometry.dtype])

    @property
    def floating(self):
        return self.dtype.kind == "f"

    @property
    def kernel(self):
        return self.geometry.kernel

    @property
    def rank(self):
        return len(self.geometry.shape)

    @property
    def taps(self):
        return math.prod(self.kernel)

    @property
    def omit(self):
        return self.geometry.omit

    @property
    def sliding(self):
        """Whether windows are odd, in the middle, with stride 1."""
        g = self.geometry
        return set(g.stride) == {1} and all(k % 2 and lo == hi == k // 2 for k, (lo, hi) in zip(g.kernel, g.padding))

    @property
    def trailing(self):
        """Whether windows end at their place, with stride 1."""
        g = self.geometry
        return set(g.stride) == {1} and all((lo, hi) == (k - 1, 0) for k, (lo, hi) in zip(g.kernel, g.padding))

    @property
    def blocks(self):
        g = self.geometry
        return (
            g.kernel == g.stride
            and set(g.padding) == {(0, 0)}
            and (g.ceil or all(n % k == 0 for n, k in zip(g.shape, g.kernel)))
        )

    @property
    def whole_blocks(self):
        return self.blocks and all(n % k == 0 for n, k in zip(self.geometry.shape, self.kernel))

    @property
    def plain(self):
        """Whether all elements of a window count."""
        return not self.masked and not self.omit and not {"footprint", "nodata"} & set(self.options)

    @property
    def result_dtype(self):
        if "dtype" in self.options:
            return np.dtype(self.options["dtype"])
        if self.filter == "sauvola" or self.op in ("var", "std"):
            return self.dtype if self.floating else np.dtype(np.float64)
        return self.dtype

    def bytes(self, x, mask, y):
        """What must be read and written once."""
        return x.nbytes + (mask.nbytes if mask is not None else 0) + y.nbytes

    def sized(self, largest):
        """The same windows over less: at most largest(kernel, extent) elements along each axis."""
        shape = tuple(min(n, largest(k, n)) for n, k in zip(self.geometry.shape, self.kernel))
        if self.whole_blocks:
            shape = tuple(n - n % k for n, k in zip(shape, self.kernel))
        return replace(self, geometry=replace(self.geometry, shape=shape))


def quantile_words(op):
    """(op, options) of the first word of a name."""
    if match := re.fullmatch(rf"median(?:_({'|'.join(METHODS)}))?", op):
        return "median", {"method": match[1]} if match[1] else {}
    if match := re.fullmatch(rf"q([0-9.]+)({'|'.join(METHODS)})?", op):
        return "quantile", {"q": float(match[1]), **({"method": match[2]} if match[2] else {})}
    if match := re.fullmatch(r"mode(?:_(lowest|highest|first))?", op):
        return "mode", {"ties": match[1]} if match[1] else {}
    return op, {}


def parse(group, line):
    """The Case of a line (include/oriel/problem.h says what names are)."""
    line, _, reason = line.partition(";")
    name, *others = line.split()
    op, dtype, shape, *words = name.split(":")
    op, options = quantile_words(op)
    rest, masked = [], False
    for word in words:
        if word == "mask":
            masked = True
        elif match := re.fullmatch(r"out([a-z]+[0-9]+)", word):
            options["dtype"] = np.dtype(DTYPES[match[1]]).name
        elif match := re.fullmatch(rf"({'|'.join(SHAPES)})([0-9]+)", word):
            options["footprint"] = np.asarray(SHAPES[match[1]](int(match[2])), bool)
        elif match := re.fullmatch(r"(ddof|min)([0-9]+)", word):
            options[{"ddof": "ddof", "min": "min_count"}[match[1]]] = int(match[2])
        elif match := re.fullmatch(r"(nodata|ignore)(-?[0-9]+)", word):
            options[match[1]] = int(match[2])
        else:
            rest.append(word)
    geometry = replace(parse_geometry(":".join(["max", dtype, shape, *rest])), name=name)
    said = dict(word.split(":") for word in others if "<=" not in word)
    if set(said) - {"content", "as"} or said.get("as", FILTERS[0]) not in FILTERS:
        raise ValueError(f"{name}: what is {' '.join(others)}?")
    goals = []
    for word in others:
        beside, at_most, number = word.partition("<=")
        if at_most:
            goals.append(Goal(word, beside, float(Fraction(number))))
    return Case(
        group,
        name,
        geometry,
        op,
        options,
        masked,
        said.get("content", ""),
        said.get("as", ""),
        tuple(goals),
        reason.strip(),
    )


def read_cases(path=SUITE):
    return [parse(group, line) for group, line in read_suite(path)]


def labels(kind, shape, generator):
    """Regions of about ten elements along each axis, some hundred labels, spread over the whole type."""
    coarse = generator.integers(0, 200, tuple(-(-n // 10) for n in shape))
    spread = (np.arange(200) * (np.iinfo(kind).max // 200)).astype(kind)[coarse]
    for axis, n in enumerate(shape):
        spread = np.repeat(spread, 10, axis)[(slice(None),) * axis + (slice(0, n),)]
    return spread


def contents(case):
    """(input, mask or None)."""
    shape, kind = case.geometry.shape, case.dtype
    generator = np.random.default_rng(11)
    if case.content == "labels":
        x = zeros(shape, kind)
        x[...] = labels(kind, shape, generator)
    elif case.content in ("few", "12bits"):
        x = zeros(shape, kind)
        x[...] = generator.integers(0, {"few": 4, "12bits": 4096}[case.content], shape)
    elif case.content == "unit":
        x = zeros(shape, kind)
        x[...] = generator.random(shape, np.float32)
    elif case.content in ("", "nan"):
        x = values(case.geometry.dtype, shape, 1)
    else:
        raise ValueError(f"{case.name}: there is no content {case.content}")
    if case.content == "nan":
        x[generator.random(shape, np.float32) < 0.1] = np.nan
    if not case.masked:
        return x, None
    mask = zeros(shape, np.bool_)
    mask[...] = generator.random(shape, np.float32) < 0.8
    return x, mask


def output_shape(case):
    return tuple(case.geometry.output_shape)


def pooled(case, x, mask, out=None, **changes):
    """Oriel's result, with other options where `changes` has some."""
    if case.filter == "sauvola":
        return oriel.skimage.filters.threshold_sauvola(x, case.kernel[0])
    if case.filter == "white_tophat":
        return oriel.skimage.morphology.white_tophat(x, np.ones(case.kernel, bool), out)
    g = case.geometry
    words = {**case.options, **changes}
    if mask is not None:
        words["mask"] = mask
    first = (words.pop("q"),) if "q" in words else ()
    function = getattr(oriel, f"{case.op}_pool")
    return function(
        x,
        *first,
        g.kernel,
        g.stride,
        g.padding,
        axes=g.axes,
        ceil_mode=g.ceil,
        nan_policy="omit" if g.omit else "propagate",
        out=out,
        **words,
    )


def seen(case, x, mask, place):
    """The valid elements of an output's window, in f64 if floating."""
    g, slices, inside = case.geometry, [], []
    for n, k, s, (lo, _), o in zip(g.shape, g.kernel, g.stride, g.padding, place):
        begin = o * s - lo
        a, b = max(begin, 0), min(begin + k, n)
        slices.append(slice(a, b))
        inside.append(slice(a - begin, b - begin))
    taps = x[tuple(slices)]
    valid = np.ones(taps.shape, bool)
    if "footprint" in case.options:
        valid &= case.options["footprint"][tuple(inside)]
    if mask is not None:
        valid &= mask[tuple(slices)]
    if case.omit:
        valid &= ~np.isnan(taps)
    return taps[valid]


def ranked(case, taps):
    """A median or quantile by its definition (S16)."""
    v, n = np.sort(taps), len(taps)
    q, method = case.options.get("q", 0.5), case.options.get("method", "lower")
    if method == "scipy":
        return v[min(math.floor(n * q), n - 1)]
    return np.quantile(v, q, method={"mean": "midpoint"}.get(method, method))


def wanted(case, taps):
    if case.op in ("median", "quantile"):
        return ranked(case, taps)
    if case.op == "mode":
        found, counts = np.unique(taps, return_counts=True)
        return found[counts.argmax()]
    wide = taps.astype(np.float64) if case.op in ("avg", "var", "std") else taps
    ddof = {"ddof": case.options.get("ddof", 0)} if case.op in ("var", "std") else {}
    return {"avg": np.mean, "var": np.var, "std": np.std, "max": np.max, "min": np.min}[case.op](wide, **ddof)


def first_wrong(case, x, mask, y):
    """The first of some places, chosen at random and at the corners, where a loop over the window finds another value. None: no such place."""
    generator = np.random.default_rng(3)
    places = [tuple(int(generator.integers(m)) for m in y.shape) for _ in range(40)]
    for place in [(0,) * y.ndim, tuple(m - 1 for m in y.shape), *places]:
        taps = seen(case, x, mask, place)
        if not len(taps):
            continue
        true = wanted(case, taps)
        exact = (
            case.op in ("max", "min", "mode")
            or case.op in ("median", "quantile")
            and case.options.get("method") not in ("mean", "midpoint", "linear")
        )
        close = (
            y[place] == true
            if exact
            else abs(float(y[place]) - float(true)) <= (0.5 if y.dtype.kind in "iu" else 1e-6 * (1 + abs(float(true))))
        )
        if not close:
            return place
    return None
