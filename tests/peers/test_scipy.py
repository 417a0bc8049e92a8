"""Large windows against scipy.ndimage and NumPy."""

import numpy as np
import pytest
from scipy import ndimage

import bridge

COUNT = 100
FRESH_COUNT = 20


def draw(rng):
    rank = int(rng.integers(1, 4))
    most = {1: 2000, 2: 120, 3: 24}[rank]
    shape = [int(v) for v in rng.integers(2, most, rank)]
    kernel = [int(rng.integers(1, min(2 * n, 301))) for n in shape]
    return shape, kernel


def name_of(op, dtype, shape, kernel):
    """Stride 1 and as many outputs as inputs, centred as ndimage centres: k // 2 taps before the middle."""
    padding = "x".join(f"{k // 2}+{k - 1 - k // 2}" for k in kernel)
    axes = ",".join(str(a) for a in range(len(shape)))
    return (f"{op}:{dtype}:{'x'.join(map(str, shape))}:" + bridge.word("k", kernel) + bridge.word("s", [1] * len(shape))
            + f"p{padding}:axes{axes}")


def check_extremum(op, shape, kernel, rng):
    dtype = str(rng.choice(["f64", "f32", "u8", "i16", "i32"]))
    x = bridge.elements(rng, shape, dtype, "reals")
    lowest = -np.inf if dtype[0] == "f" else np.iinfo(x.dtype).min
    highest = np.inf if dtype[0] == "f" else np.iinfo(x.dtype).max
    filtered = (ndimage.maximum_filter(x, kernel, mode="constant", cval=lowest) if op == "max" else
                ndimage.minimum_filter(x, kernel, mode="constant", cval=highest))
    name = name_of(op, dtype, shape, kernel)
    assert bridge.same(bridge.forward(name, x), filtered), name


def check_mean(shape, kernel, rng):
    dtype = str(rng.choice(["f64", "f32"]))
    x = bridge.elements(rng, shape, dtype, "reals")
    exact = ndimage.uniform_filter(x.astype(np.float64), kernel, mode="constant", cval=0.0)
    magnitude = ndimage.uniform_filter(np.abs(x).astype(np.float64), kernel, mode="constant", cval=0.0)
    name = name_of("avg", dtype, shape, kernel)
    # ndimage keeps running sums of doubles: its own error is up to its number of additions.
    theirs = sum(shape) * 4 * np.abs(x).max() * 2.0**-52
    bound = bridge.sum_bound(dtype, bridge.tree_depth(kernel), exact, magnitude) + theirs
    assert np.all(np.abs(bridge.forward(name, x) - exact) <= bound), name


def check_strided(shape, kernel, rng):
    """NumPy on every window, any step."""
    kernel = [min(k, n) for k, n in zip(kernel, shape)]
    stride = [int(v) for v in rng.integers(1, 60, len(shape))]
    x = bridge.elements(rng, shape, "i32", "integers")
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel)[tuple(slice(None, None, s) for s in stride)]
    taps = tuple(range(len(shape), 2 * len(shape)))
    name = (f"{{}}:i32:{'x'.join(map(str, shape))}:" + bridge.word("k", kernel) + bridge.word("s", stride)
            + ":axes" + ",".join(str(a) for a in range(len(shape))))
    for op, expected in (("max", windows.max(taps)), ("min", windows.min(taps)), ("sum", windows.sum(taps))):
        assert np.array_equal(bridge.forward(name.format(op), x), expected), name.format(op)


@pytest.mark.parametrize("seed", bridge.seeds())
def test_large_windows(seed):
    rng = np.random.default_rng(seed)
    count = COUNT if seed == 1 else FRESH_COUNT
    for i in range(count):
        shape, kernel = draw(rng)
        if i % 4 < 2:
            check_extremum(("max", "min")[i % 4], shape, kernel, rng)
        elif i % 4 == 2:
            check_mean(shape, kernel, rng)
        else:
            check_strided(shape, kernel, rng)
    print(f"{count} problems agree with SciPy and NumPy")


def test_differs_nan_in_a_filter():
    x = np.array([1.0, np.nan, 2.0, 3.0])
    ours = bridge.forward("max:f64:4:k3s1p1", x)
    assert np.isnan(ours[:3]).all() and ours[3] == 3
    theirs = ndimage.maximum_filter(x, 3, mode="constant", cval=-np.inf)
    assert not bridge.same(ours, theirs)  # documented there as undefined
