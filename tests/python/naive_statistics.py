"""Pools over valid taps as their rules say them (S13 to S19), window by window: what the tests compare with. It knows
nothing of Oriel.
"""

import math
from fractions import Fraction

import numpy as np

import naive

QUANTILES = ("lower", "higher", "nearest", "midpoint", "linear", "inverted_cdf", "scipy")
FLOATING = ("var", "std", "rms", "geo", "harm", "lse", "soft")


# The results of windows without valid taps, of ops that have some (S6).
EMPTY = {"sum": 0, "avg": 0, "lp": 0, "count": 0, "any": False, "all": True, "prod": 1}


def empty(op, dtype):
    if op not in ("max", "min"):
        return EMPTY[op]
    if dtype.kind == "f":
        return -math.inf if op == "max" else math.inf
    return np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max


def default_fill(nodata, dtype):
    """nodata if it is a value of the result's dtype, else NaN or 0 (S14)."""
    if nodata is not None and (dtype.kind == "f" or nodata == nodata and dtype.type(nodata) == nodata):
        return nodata
    return math.nan if dtype.kind == "f" else 0


def result_dtype(op, dtype):
    if op in ("any", "all"):
        return np.dtype(bool)
    if op in ("count", "nunique"):
        return np.dtype(np.int64)
    if op == "prod" and dtype.kind != "f":
        return np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
    return np.dtype(np.float64) if op in FLOATING and dtype.kind != "f" else dtype


def quantile(values, q, method):
    """Of numbers without NaN; -0 comes before +0."""
    v = sorted(values, key=lambda a: (a, math.copysign(1, a)))
    n = len(v)
    h = (n - 1) * q
    low, high = v[math.floor(h)], v[math.ceil(h)]
    if method == "midpoint":
        return (float(low) + float(high)) / 2
    if method == "linear":
        return float(low) + (float(high) - float(low)) * (h - math.floor(h))
    if method == "inverted_cdf":
        return v[max(math.ceil(n * q) - 1, 0)]
    if method == "scipy":
        return v[min(math.floor(n * q), n - 1)]
    return {"lower": low, "higher": high, "nearest": v[round(h)]}[method]  # Python rounds halves to even, too


def median(values, method):
    if method == "higher":
        return sorted(values, key=lambda a: (a, math.copysign(1, a)))[len(values) // 2]
    return quantile(values, 0.5, "midpoint" if method == "mean" else method)


def mode(values, weights, ties, ignore):
    counts = {}
    for value, weight in zip(values, weights):
        value = value + 0  # -0 counts as 0
        counts[value] = counts.get(value, 0) + weight
    if ignore in counts and len(counts) > 1:
        del counts[ignore]
    most = max(counts.values())
    best = [value for value, count in counts.items() if count == most]  # in the order in which they first occur
    return {"lowest": min, "highest": max, "first": lambda values: values[0]}[ties](best)


def reduced(op, values, weights, options):
    """The value of an op over the valid values of a window, in Python's numbers."""
    whole = all(isinstance(v, int) for v in values)
    n = len(values)
    if op in ("count", "any", "all", "nunique"):
        distinct = {"nan" if v != v else v + 0 for v in values}
        return {"count": n, "any": any(v != 0 for v in values), "all": all(v != 0 for v in values),
                "nunique": len(distinct)}[op]
    if op == "first":
        return values[0]
    if any(v != v for v in values):
        return math.nan
    if op in ("max", "min"):
        return max(values) if op == "max" else min(values)
    if op in ("range", "midrange"):
        return max(values) - min(values) if op == "range" else (max(values) + min(values)) / 2
    if op in ("sum", "avg"):
        total = sum(v * w for v, w in zip(values, weights))
        return total if op == "sum" else total / sum(weights)
    if op == "mode":
        return mode(values, weights, options.get("ties", "lowest"), options.get("ignore"))
    if op in ("var", "std"):
        if not all(map(math.isfinite, values)):
            return math.nan
        exact = [Fraction(v) for v in values]
        shares = [Fraction(w) for w in weights]
        mean = sum(v * w for v, w in zip(exact, shares)) / sum(shares)
        spread = sum(w * (v - mean) ** 2 for v, w in zip(exact, shares)) / (sum(shares) - options.get("ddof", 0))
        return float(spread) if op == "var" else math.sqrt(spread)
    if op == "rms":
        return math.sqrt(sum(v * v * w for v, w in zip(values, weights)) / sum(weights))
    if op == "prod":
        return math.prod(values)
    if op == "geo":
        if any(v < 0 for v in values):
            return math.nan
        return 0.0 if 0 in values else math.exp(sum(map(math.log, values)) / n)
    if op == "harm":
        return 0.0 if 0 in values else n / sum(1 / v for v in values)
    if op == "lse":
        r, most = options.get("sharpness", 1.0), max(values)
        total = sum(math.exp(r * (v - most)) for v in values)
        return most + math.log(total if options.get("sum") else total / n) / r
    if op == "soft":
        most = max(values)
        shares = [math.exp(v - most) for v in values]
        return sum(v * s for v, s in zip(values, shares)) / sum(shares)
    assert op == "lp" and not whole
    return sum(abs(v) ** 2 for v in values) ** 0.5


def is_nodata(value, nodata):
    return nodata is not None and (value == nodata or value != value and nodata != nodata)


def pool(op, x, axes, kernel, stride, padding, dilation, ceil_mode=False, *, footprint=None, mask=None, weights=None,
         nodata=None, omit=False, min_count=0, min_fraction=0.0, fill=None, **options):
    """The pool of an array of numbers, and where too few taps are valid. `mask` and `weights` have x's shape."""
    window = (axes, kernel, stride, padding, dilation)
    cells = list(naive.windows(x.shape, *window, ceil_mode))
    shape = tuple(max(o[a] for o, _, _ in cells) + 1 for a in range(x.ndim))
    dtype = result_dtype(op, x.dtype)
    if fill is None:
        fill = default_fill(nodata, dtype)
    y, few = np.empty(shape, dtype), np.zeros(shape, bool)
    geometry = dict(zip(axes, zip(kernel, stride, padding, dilation)))
    for o, taps, _ in cells:
        places = {tap: tuple((tap[a] - (o[a] * geometry[a][1] - geometry[a][2][0])) // geometry[a][3] for a in axes)
                  for tap in taps}
        here = [tap for tap in taps if footprint is None or footprint[places[tap]]]
        valid = [tap for tap in here if (mask is None or mask[tap]) and not is_nodata(x[tap], nodata)
                 and (weights is None or weights[tap] != 0) and not (omit and x[tap] != x[tap])]
        need = {"var": options.get("ddof", 0) + 1, "std": options.get("ddof", 0) + 1}.get(
            op, 0 if op in ("max", "min", "sum", "avg", "lp", "count", "any", "all", "prod") else 1)
        centre = [tap for tap in valid if places[tap] == tuple((k - 1) // 2 for k in kernel)]
        few[o] = len(valid) < max(min_count, math.ceil(min_fraction * len(here)), need) or op == "centre" and not centre
        if few[o]:
            y[o] = fill
            continue
        if op == "centre":
            y[o] = x[centre[0]]
            continue
        values = [x[tap].item() for tap in valid]
        ones = [1] * len(values)
        shares = ones if weights is None else [float(weights[tap]) for tap in valid]
        if not values:
            y[o] = empty(op, x.dtype)
        elif op in ("median", "quantile"):
            method = options.get("method", "lower")
            if any(v != v for v in values):
                y[o] = math.nan
            else:
                y[o] = median(values, method) if op == "median" else quantile(values, options["q"], method)
        else:
            y[o] = reduced(op, values, shares, options)
    return y, few
