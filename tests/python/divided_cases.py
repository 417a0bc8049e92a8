"""Checks of divided pools that all ranks of a communicator run together, whatever carries the messages."""

import math

import numpy as np
import pytest
import torch

import oriel.torch
from oriel.ranks import layers
from oriel.ranks.arrays import DistributedPool
from oriel.ranks.chain import Sequential
from oriel.ranks.divided import balanced_cuts
from oriel.ranks.grid import Grid
from oriel.ranks.tensors import gather, repartition, scatter

# DistDL's tests/layers/test_pooling.py: shape, grid, kernel, padding, stride, dilation.
DISTDL = {
    "no-stride-ideal-padding": ((1, 5, 10, 10), (1, 1, 2, 2), (3, 3), (1, 1), (1, 1), (1, 1)),
    "stride-2-ideal-padding": ((1, 5, 10, 10), (1, 1, 2, 2), (5, 5), (2, 2), (2, 2), (1, 1)),
    "odd-local-shape-with-stride": ((1, 5, 5, 5), (1, 1, 2, 2), (3, 3), (1, 1), (2, 2), (1, 1)),
    "kernel-needs-offset": ((1, 5, 6, 10), (1, 1, 2, 2), (5, 5), (2, 2), (4, 4), (1, 1)),
    "non-ideal-padding": ((1, 5, 10, 8), (1, 1, 2, 2), (5, 5), (1, 1), (1, 1), (1, 1)),
    "even-kernel-size": ((1, 5, 8, 8), (1, 1, 2, 2), (4, 4), (1, 1), (1, 1), (1, 1)),
    "3d-input": ((1, 2, 5, 5, 6), (1, 1, 2, 1, 2), (5, 5, 5), (2, 2, 2), (2, 2, 1), (1, 1, 1)),
    "1d-input": ((1, 5, 15), (1, 1, 4), (3,), (1,), (1,), (1,)),
    "dilation-2": ((1, 5, 10, 10), (1, 1, 2, 2), (5, 5), (1, 1), (1, 1), (2, 2)),
    "many-partitions-small-input": ((1, 5, 10, 10), (1, 1, 4, 4), (5, 5), (2, 2), (2, 2), (1, 1)),
    "hard-test": ((1, 1, 50, 50, 50), (1, 1, 3, 3, 2), (5, 4, 3), (1, 1, 1), (3, 1, 2), (3, 3, 1)),
    "common-resnet-case": ((10, 64, 150, 150), (1, 1, 1, 4), (7, 7), (3, 3), (2, 2), (1, 1)),
}


def grids(ranks, axes):
    """All grids of that many ranks and axes."""
    if axes == 1:
        return [(ranks,)]
    return [(n, *rest) for n in range(1, ranks + 1) if ranks % n == 0 for rest in grids(ranks // n, axes - 1)]


def box(ranges):
    return tuple(slice(begin, end) for begin, end in ranges)


def part_of(cuts, grid, rank):
    """The slices of a rank."""
    place = np.unravel_index(rank, grid)
    return tuple(slice(bounds[p], bounds[p + 1]) for bounds, p in zip(cuts, place))


def random_cuts(rng, shape, grid):
    """Any parts, empty ones too."""
    return [[0, *sorted(int(c) for c in rng.integers(0, n + 1, parts - 1)), n] for n, parts in zip(shape, grid)]


def same_bits(a, b):
    a, b = a.detach().contiguous(), b.detach().contiguous()
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(torch.where(a != a, 0, a), torch.where(b != b, 0, b)) and torch.equal(a != a, b != b) and \
        torch.equal(torch.signbit(torch.where(a != a, 0, a)), torch.signbit(torch.where(b != b, 0, b)))


def random_tensor(rng, shape, dtype):
    """Few different values, so that there are ties, zeros of both signs, sometimes NaNs."""
    values = torch.from_numpy(rng.integers(-4, 5, shape).astype(np.float64))
    if dtype.is_floating_point:
        values = values * torch.from_numpy(rng.choice([0.7, -0.1, 0.0, 1.3], shape))
        if rng.integers(3) == 0:
            values[torch.from_numpy(rng.random(shape) < 0.05)] = math.nan
    return values.to(dtype)


def random_window(rng, n):
    k, d = int(rng.integers(1, 6)), int(rng.integers(1, 3))
    s, p = int(rng.integers(1, 5)), 0
    while n + 2 * p < d * (k - 1) + 1 or (p < 2 and rng.integers(2)):
        p += 1
    return k, s, p, d


def random_layers(rng, communicator, shape, grid, outputs):
    """A divided layer and the undivided one with the same arguments, whether it has indices, its dtype."""
    pooled = len(shape) - 2
    windows = list(zip(*[random_window(rng, n) for n in shape[2:]]))
    k, s, p, d = (list(map(int, w)) for w in windows)
    op = str(rng.choice(["Max", "Min", "Avg", "Sum", "LP"]))
    words = {"ceil_mode": bool(rng.integers(2)), "nan_policy": str(rng.choice(["propagate", "omit"]))}
    indexed = op in ("Max", "Min") and bool(rng.integers(2))
    if indexed:
        words["return_indices"] = True
    if op == "Avg":
        words["count_include_pad"] = bool(rng.integers(2))
        words["divisor_override"] = 5 if rng.integers(4) == 0 else None
    norm = (float(rng.choice([1.0, 2.0, 3.0, math.inf])),) if op == "LP" else ()
    words |= {"padding": p, "dilation": d}
    name = f"{op}Pool{pooled}d"
    divided = getattr(layers, f"Distributed{name}")((communicator, grid), *norm, k, s, output_partition=outputs, **words)
    dtype = [torch.float32, torch.float64, torch.bfloat16][int(rng.integers(3))]
    return divided, getattr(oriel.torch, name)(*norm, k, s, **words), indexed, dtype


def check_bits(communicator, ranks, rank, seeds):
    """Results, indices and gradients are the bits of the undivided layer, for random problems and partitions."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        pooled = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 3, 2)) + tuple(int(n) for n in rng.integers(3, 9, pooled))
        choice = grids(ranks, pooled + 2)
        grid = choice[int(rng.integers(len(choice)))]
        cuts = random_cuts(rng, shape, grid)
        outputs = [None, "centred", "balanced", "cuts"][int(rng.integers(4))]
        state = rng.bit_generator.state
        if outputs == "cuts":  # made anew once the shape of the result is known
            plain = random_layers(rng, communicator, shape, grid, None)[1]
            rng.bit_generator.state = state
            y = plain(torch.zeros(shape))
            y = y[0] if isinstance(y, tuple) else y
            outputs = random_cuts(np.random.default_rng(seed + 1), y.shape, grid)
        layer, plain, indexed, dtype = random_layers(rng, communicator, shape, grid, outputs)
        x = random_tensor(rng, shape, dtype)
        mine = part_of(cuts, grid, rank)
        part = x[mine].clone().requires_grad_()
        whole = x.clone().requires_grad_()
        made, expected = layer(part), plain(whole)
        at = box(layer.ranges[1])
        if indexed:
            assert torch.equal(made[1], expected[1][at]), seed
            made, expected = made[0], expected[0]
        assert same_bits(made, expected[at]), (seed, layer)
        dy = random_tensor(rng, expected.shape, dtype)
        given = dy[at].clone()
        before = given.clone()
        made.backward(given)
        expected.backward(dy)
        assert same_bits(part.grad, whole.grad[mine]), (seed, layer)
        assert same_bits(given, before), seed


def check_second_derivatives(communicator, ranks, rank, seeds):
    """Gradients of gradients, by both of what they depend on, are the bits of those of the undivided layer."""
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        pooled = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 3, 2)) + tuple(int(n) for n in rng.integers(3, 9, pooled))
        choice = grids(ranks, pooled + 2)
        grid = choice[int(rng.integers(len(choice)))]
        cuts = random_cuts(rng, shape, grid)
        layer, plain, indexed, dtype = random_layers(rng, communicator, shape, grid, ["centred", "balanced"][seed % 2])
        if layer.divided.op == "lp":
            continue
        mine = part_of(cuts, grid, rank)
        x = random_tensor(rng, shape, dtype)
        part, whole = x[mine].clone().requires_grad_(), x.clone().requires_grad_()
        made, expected = layer(part), plain(whole)
        if indexed:
            made, expected = made[0], expected[0]
        at = box(layer.ranges[1])
        dy, ddx, third = (random_tensor(rng, size, dtype) for size in (expected.shape, shape, expected.shape))

        def derivatives(x, y, dy, ddx, third):
            dy, ddx = dy.clone().requires_grad_(), ddx.clone().requires_grad_()
            dx, = torch.autograd.grad(y, x, dy, create_graph=True)
            ddy, = torch.autograd.grad(dx, dy, ddx, create_graph=True)
            return dx, ddy, torch.autograd.grad(ddy, ddx, third)[0]

        found = derivatives(part, made, dy[at], ddx[mine], third[at])
        wanted = derivatives(whole, expected, dy, ddx, third)
        for a, b, where in zip(found, wanted, (mine, at, mine)):
            assert same_bits(a, b[where]), (seed, layer)


def check_arrays(communicator, ranks, rank, seeds):
    """The same for NumPy arrays of integers and floats; scatter, gather and repartition give back what they were given."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        shape = tuple(int(n) for n in rng.integers(4, 9, 2))
        grid = grids(ranks, 2)[int(rng.integers(len(grids(ranks, 2))))]
        cuts = random_cuts(rng, shape, grid)
        dtype = ["int8", "uint16", "float32", "int64", "float16"][int(rng.integers(5))]
        x = rng.integers(-3 if dtype != "uint16" else 0, 9, shape).astype(dtype)
        P_x = (communicator, grid)
        root = int(rng.integers(ranks))
        part = scatter(P_x, x if rank == root else None, cuts, root)
        np.testing.assert_array_equal(part, x[part_of(cuts, grid, rank)], strict=True)
        op = str(rng.choice(["max", "min", "sum"]))
        pool = DistributedPool(P_x, op, (3, 2), (2, 1), 1)
        plain = oriel.Pool(op, (3, 2), (2, 1), 1)
        y, whole = pool.forward(part), plain(x)
        np.testing.assert_array_equal(y, whole[box(pool.ranges[1])], strict=True)
        if op != "sum":
            places = pool.forward(part, return_indices=True)[1]
            expected = getattr(oriel, f"{op}_pool")(x, (3, 2), (2, 1), 1, return_indices=True)[1]
            np.testing.assert_array_equal(places, expected[box(pool.ranges[1])])
        dy = rng.integers(0, 5, whole.shape).astype(dtype)
        dx = pool.backward(dy[box(pool.ranges[1])], part)
        expected = oriel.sum_pool_backward(dy, x.shape, (3, 2), (2, 1), 1) if op == "sum" else \
            getattr(oriel, f"{op}_pool_backward")(dy, x, (3, 2), (2, 1), 1)
        np.testing.assert_array_equal(dx, expected[part_of(cuts, grid, rank)], strict=True)
        anew = random_cuts(rng, shape, grid)
        moved = repartition(P_x, part, anew)
        np.testing.assert_array_equal(moved, x[part_of(anew, grid, rank)], strict=True)
        back = gather(P_x, moved, root)
        assert (back is None) == (rank != root)
        if rank == root:
            np.testing.assert_array_equal(back, x, strict=True)


def check_distdl(communicator, rank, name, op):
    """One of DistDL's configurations, against PyTorch on the whole tensor."""
    shape, grid, k, p, s, d = DISTDL[name]
    if name == "common-resnet-case":
        shape = (2, 8, 150, 150)  # fewer planes: the windows are what is tested
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
    ndim = len(k)
    layer = getattr(layers, f"Distributed{op}Pool{ndim}d")((communicator, grid), kernel_size=k, padding=p, stride=s,
                                                           dilation=d, output_partition="balanced")
    mine = part_of(balanced_cuts(shape, grid), grid, rank)
    part = x[mine].clone().requires_grad_()
    y = layer(part)
    whole = x.clone().requires_grad_()
    expected = _with_torch(op, ndim, whole, k, p, s, d)
    at = box(layer.ranges[1])
    assert layer.ranges[1] == tuple(
        (bounds[i], bounds[i + 1]) for bounds, i in zip(balanced_cuts(expected.shape, grid), np.unravel_index(rank, grid)))
    torch.testing.assert_close(y, expected[at], atol=1e-5, rtol=1e-5)
    dy = torch.from_numpy(rng.standard_normal(expected.shape).astype(np.float32))
    y.backward(dy[at])
    expected.backward(dy)
    torch.testing.assert_close(part.grad, whole.grad[mine], atol=1e-5, rtol=1e-5)


def _with_torch(op, ndim, x, k, p, s, d):
    """PyTorch's pool of explicitly padded input; dilated averages, which it lacks, as a convolution."""
    functional = torch.nn.functional
    lists = [width for width in reversed(p) for _ in range(2)]
    if op == "Max":
        padded = functional.pad(x, lists, value=-math.inf)
        return getattr(functional, f"max_pool{ndim}d")(padded, k, s, 0, d)
    padded = functional.pad(x, lists)
    flat = padded.reshape(-1, 1, *padded.shape[2:])
    y = getattr(functional, f"conv{ndim}d")(flat, torch.full((1, 1, *k), 1 / math.prod(k)), None, s, 0, d)
    return y.reshape(*x.shape[:2], *y.shape[2:])


def raises_everywhere(communicator_gathered, kind, text, call):
    """All ranks raise that, with the same words."""
    with pytest.raises(kind, match=text) as caught:
        call()
    texts = communicator_gathered(str(caught.value))
    assert len(set(texts)) == 1, texts


def _random_chain(rng, shape, P_x):
    """Two to four divided layers that fit one another, on random partitions."""
    sizes, chain = list(shape[2:]), []
    for _ in range(int(rng.integers(2, 5))):
        k, s, p, d = zip(*[random_window(rng, n) for n in sizes])
        op = str(rng.choice(["Max", "Min", "Avg", "Sum", "LP"]))
        words = {"padding": list(p), "dilation": list(d), "nan_policy": str(rng.choice(["propagate", "omit"]))}
        words["output_partition"] = str(rng.choice(["centred", "balanced"]))
        norm = (3.0, ) if op == "LP" else ()
        layer = getattr(layers, f"Distributed{op}Pool{len(sizes)}d")(P_x, *norm, list(k), list(s), **words)
        sizes = layer.divided.core.output_shape([*shape[:2], *sizes])[2:]
        chain.append(layer)
    return chain


def check_chains(communicator, ranks, rank, seeds):
    """A chain with one halo has the bits of its layers one by one, and sends no more messages than there are peers."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        pooled = int(rng.integers(1, 3))
        shape = tuple(int(n) for n in rng.integers(1, 3, 2)) + tuple(int(n) for n in rng.integers(8, 20, pooled))
        choice = grids(ranks, pooled + 2)
        P_x = Grid(communicator, choice[int(rng.integers(len(choice)))])
        cuts = random_cuts(rng, shape, P_x.shape)
        chain = _random_chain(rng, shape, P_x)
        dtype = [torch.float32, torch.float64, torch.bfloat16][int(rng.integers(3))]
        part = random_tensor(rng, shape, dtype)[part_of(cuts, P_x.shape, rank)]
        a, b = part.clone().requires_grad_(), part.clone().requires_grad_()
        together = Sequential(*chain)
        y, expected = together(a), torch.nn.Sequential(*chain)(b)
        assert same_bits(y, expected), (seed, chain)
        assert together.ranges[1] == chain[-1].ranges[1]
        dy = random_tensor(np.random.default_rng([seed, rank]), tuple(y.shape), dtype)
        before = dy.clone()
        y.backward(dy)
        expected.backward(dy)
        assert same_bits(a.grad, b.grad), (seed, chain)
        assert same_bits(dy, before)
        with torch.no_grad():
            assert same_bits(together(part), y), seed
        assert all(sent < ranks and got < ranks for sent, got, *_ in together.traffic.values())


_STATISTICS = [("median", {}), ("median", {"method": "mean"}), ("quantile", {"q": 0.9, "method": "linear"}),
               ("mode", {"ties": "first"}), ("nunique", {}), ("var", {}), ("std", {}), ("count", {}),
               ("any", {}), ("range", {}), ("rms", {}), ("prod", {}), ("lse", {"sharpness": 2.0}), ("soft", {}), ("first", {}),
               ("max", {}), ("min", {}), ("sum", {}), ("avg", {"count_include_pad": False}), ("sum", {"dtype": "float64"}),
               ("median", {"min_count": 2, "fill": 1})]


def _beside(rng, shape, shared, dtype, low):
    """A mask or weights: the same along the first axis if `shared`."""
    values = rng.integers(low, 4, (1, *shape[1:]) if shared else shape)
    return (values > 0 if dtype == "bool" else values / 2).astype(dtype)


def check_statistics(communicator, ranks, rank, seeds):
    """Pools over valid elements, with masks and weights, and their gradients have the bits of the undivided ones."""
    for seed in seeds:
        rng = np.random.default_rng([seed, 11])
        shape = tuple(int(n) for n in rng.integers(4, 9, 3))
        grid = grids(ranks, 3)[int(rng.integers(len(grids(ranks, 3))))]
        mine = part_of(random_cuts(rng, shape, grid), grid, rank)
        op, options = _STATISTICS[int(rng.integers(len(_STATISTICS)))]
        dtype = ["uint8", "int32", "float32", "float64"][int(rng.integers(4))]
        x = rng.integers(0, 6, shape).astype(dtype)
        options = dict(options)
        if rng.random() < 0.3:
            options["nodata"] = 3
        if rng.random() < 0.3:
            options["footprint"] = np.array([[False, True], [True, True], [True, False]])
        windows = dict(kernel_size=(3, 2), stride=(2, 1), padding=(1, 0), axes=(1, 2))
        beside = {}
        if rng.random() < 0.7:
            beside["mask"] = _beside(rng, shape, rng.random() < 0.4, "bool", -1)
        weighted = op in ("var", "std", "sum", "avg", "rms", "mode")
        if rng.random() < 0.5 and weighted:
            beside["weights"] = _beside(rng, shape, rng.random() < 0.4, ["float32", "float64"][int(rng.integers(2))], 0)
        parts = {what: array[tuple(slice(0, 1) if n == 1 and m > 1 else s for n, m, s in zip(array.shape, shape, mine))]
                 for what, array in beside.items()}
        pool = DistributedPool((communicator, grid), op, **windows, **options)
        plain = getattr(oriel, f"{op}_pool")
        words = {**windows, **options, **beside}
        q = (words.pop("q"),) if op == "quantile" else ()
        whole = plain(x, *q, **words)
        y = pool.forward(x[mine], **parts)
        at = box(pool.ranges[1])
        assert y.dtype == whole.dtype and y.tobytes() == whole[at].tobytes(), (seed, op, options)
        if op in ("mode", "first", "max", "min") or (op == "median" and options.get("method") != "mean"):
            places = plain(x, *q, **words, return_indices=True)[1]
            np.testing.assert_array_equal(pool.forward(x[mine], **parts, return_indices=True)[1], places[at])
        if dtype.startswith("float") and op not in ("mode", "nunique", "count", "any"):
            dy = rng.integers(-3, 4, whole.shape).astype(whole.dtype)
            dx = pool.backward(dy[at], x[mine], **parts)
            expected = getattr(oriel, f"{op}_pool_backward")(dy, x, *q, **words)
            assert dx.tobytes() == expected[mine].tobytes(), (seed, op, options)
