"""oriel.torch's pools over valid elements: values, gradients of every order, layouts, transforms, layers, errors."""

import math
import pickle
import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.func import grad, jacfwd, jacrev, vmap
from torch.fx.experimental.proxy_tensor import make_fx

import oriel
import oriel.torch as ot
from oriel import _core
from oriel.torch import statistic_operators, tap_gradients
from oriel.torch.arguments import operator_arguments
from oriel.torch.window_taps import WindowTaps
from random_seeds import seeds

# (op, arguments of oriel::statistic: q, method, ddof, sharpness, is_sum)
KINDS = [
    ("median", ([0.5], "lower", 0, 1.0, False)),
    ("median", ([0.5], "midpoint", 0, 1.0, False)),
    ("quantile", ([0.3], "linear", 0, 1.0, False)),
    ("quantile", ([0.1, 0.75], "nearest", 0, 1.0, False)),
    ("var", ([0.5], "lower", 1, 1.0, False)),
    ("std", ([0.5], "lower", 0, 1.0, False)),
    ("lse", ([0.5], "lower", 0, 2.5, False)),
    ("lse", ([0.5], "lower", 0, 1.0, True)),
    ("soft", ([0.5], "lower", 0, 1.0, False)),
]
NAMES = [f"{op}-{i}" for i, (op, _) in enumerate(KINDS)]
FUNCTIONS = [
    (ot.median_pool2d, {}), (ot.quantile_pool2d, {"q": 0.3, "method": "linear"}), (ot.var_pool2d, {"ddof": 1}),
    (ot.std_pool2d, {}), (ot.lse_pool2d, {"sharpness": 2.0}), (ot.soft_pool2d, {})
]


def rand(*shape, seed=0, dtype=torch.float64, requires_grad=False):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_(requires_grad)


def arguments(op, own, rank=4, omit=False, min_count=0, min_fraction=0.0, footprint=(1,), fill=None):
    """An awkward pool of the last two axes, as the operators take it."""
    windows = operator_arguments(rank, op, (3, 2), (2, 1), ((1, 0), (1, 2)), (1, 2), None, (-2, -1), True, True, None,
                                 None, omit, 0)
    return *windows, *own, min_count, min_fraction, fill, list(footprint)


def unfolded(x, k, stride=None):
    """The windows of (N, C, H, W), their elements on the last axis."""
    windows = F.unfold(x, k, stride=stride or k)
    n, c, h, w = x.shape
    step = stride or k
    out = ((h - k) // step + 1, (w - k) // step + 1)
    return windows.reshape(n, c, k * k, *out).movedim(2, -1)


# -- Values


def test_values_are_pytorchs_on_unfolded_windows():
    x = rand(2, 3, 9, 8)
    windows = unfolded(x, 3, 2)
    assert torch.equal(ot.median_pool2d(x, 3, 2), windows.median(-1).values)
    assert torch.equal(ot.median_pool2d(x, 2), unfolded(x, 2).median(-1).values)  # the lower of the two in the middle
    torch.testing.assert_close(ot.quantile_pool2d(x, [0.2, 0.7], 3, 2, method="linear"),
                               torch.quantile(windows, torch.tensor([0.2, 0.7], dtype=torch.float64), dim=-1))
    torch.testing.assert_close(ot.var_pool2d(x, 3, 2, ddof=1), windows.var(-1))
    torch.testing.assert_close(ot.std_pool2d(x, 3, 2), windows.std(-1, correction=0))
    torch.testing.assert_close(ot.lse_pool2d(x, 3, 2, sum=True), windows.logsumexp(-1))
    torch.testing.assert_close(ot.lse_pool2d(x, 3, 2, sharpness=3.0), (3 * windows).exp().mean(-1).log() / 3)
    torch.testing.assert_close(ot.soft_pool2d(x, 3, 2), (windows.softmax(-1) * windows).sum(-1))


def test_several_axes_and_their_arrays():
    for d, shape in ((1, (2, 3, 9)), (2, (2, 3, 7, 8)), (3, (2, 3, 5, 6, 7))):
        x = rand(*shape)
        axes = tuple(range(-d, 0))
        for name in ("median", "var", "std", "lse", "soft"):
            y = getattr(ot, f"{name}_pool{d}d")(x, 2, 1, 1)
            assert torch.equal(y, getattr(oriel, f"{name}_pool")(x, 2, 1, 1, axes=axes)), name
            assert torch.equal(y, getattr(ot, f"{name}_pool")(x, 2, 1, 1, axes=axes))
            assert torch.equal(y[0], getattr(ot, f"{name}_pool{d}d")(x[0], 2, 1, 1))
        y = getattr(ot, f"quantile_pool{d}d")(x, 0.25, 2, 1, 1)
        assert torch.equal(y, oriel.quantile_pool(x, 0.25, 2, 1, 1, axes=axes))
    assert ot.quantile_pool2d(rand(1, 1, 4, 4), [0.5], 2).shape == (1, 1, 1, 2, 2)
    assert torch.equal(ot.median_pool(rand(4, 4), 2), oriel.median_pool(rand(4, 4), 2))


def random_problem(rng):
    """A tensor, a mask and weights or None, and the arguments of the operator."""
    op, own = rng.choice(KINDS)
    rank = rng.randint(2, 4)
    sizes = [rng.randint(1, 3) for _ in range(rank - 2)] + [rng.randint(3, 7), rng.randint(3, 7)]
    x = torch.tensor([rng.choice([rng.gauss(0, 1), float(rng.randint(-2, 2)), -0.0]) for _ in
                      range(torch.Size(sizes).numel())], dtype=torch.float64).reshape(sizes)
    if rng.random() < 0.4:
        x[torch.rand(sizes, generator=torch.Generator().manual_seed(rng.randrange(2**31))) < 0.2] = torch.nan
    small = [1 if axis < rank - 2 and rng.random() < 0.5 else n for axis, n in enumerate(sizes)]
    mask = weights = None
    if rng.random() < 0.5:
        mask = torch.tensor([rng.random() < 0.7 for _ in range(torch.Size(small).numel())]).reshape(small)
    if rng.random() < 0.5 and (op in ("var", "std") and own[2] == 0 or op in ("median", "quantile")):
        own = (own[0], "inverted_cdf" if op in ("median", "quantile") else own[1], *own[2:])
        weights = torch.tensor([float(rng.randint(0, 3)) for _ in range(torch.Size(small).numel())]).reshape(small)
    footprint = [1]
    if rng.random() < 0.3:
        footprint = [int(rng.random() < 0.7) for _ in range(6)]
        footprint[rng.randrange(6)] = 1
        if own[2] >= sum(footprint):
            footprint = [1] * 6
    most = 6 if footprint == [1] else sum(footprint)
    return x, mask, weights, arguments(op, own, rank, rng.random() < 0.5, min(rng.choice([0, 0, 2]), most),
                                       rng.choice([0.0, 0.0, 0.6]), footprint)


@pytest.mark.parametrize("seed", seeds())
def test_the_engines_gradients_are_those_of_the_taps(seed):
    """The two ways to compute a gradient agree, wherever the result is a number."""
    rng = random.Random(seed)
    for _ in range(150):
        x, mask, weights, given = random_problem(rng)
        x.requires_grad_()
        y = statistic_operators.statistic(x, mask, weights, *given)
        dy = torch.arange(1.0, y.numel() + 1, dtype=x.dtype).reshape(y.shape).remainder(7) + 1
        dy = torch.where(y.isnan(), 0, dy)
        dx = torch.autograd.grad(y, x, dy)[0].detach()
        reference = WindowTaps(x.detach(), mask, weights, *given).gradient(dy)
        near = reference.isfinite() & dx.isfinite()  # 0 times NaN is NaN or nothing
        torch.testing.assert_close(dx[near], reference[near], rtol=1e-9, atol=1e-9, msg=lambda text: f"{text} {given} {x} {mask} {weights}")
        assert near.sum() > 0.5 * dx.numel() or x.isnan().any() or given[0] in ("var", "std", "lse", "soft")


def random_windows(rng):
    """A tensor without NaN, mostly, and the arguments of an operator on any of its axes."""
    op, rank = rng.choice(["median", "quantile", "var", "std", "lse", "soft"]), rng.randint(1, 4)
    axes = sorted(rng.sample(range(-rank, 0), rng.randint(1, min(3, rank))))
    kernel = [rng.randint(1, 4) for _ in axes]
    padding = [(rng.randint(0, k - 1), rng.randint(0, k - 1)) for k in kernel]
    x = torch.tensor([rng.choice([rng.gauss(0, 1), float(rng.randint(-2, 2)), -0.0]) for _ in range(8**rank)])
    x = x.reshape((8,) * rank)[tuple(slice(rng.randint(1, 8)) for _ in range(rank))]
    x = (x * rng.choice([1, 1, 300]) + rng.choice([0, 0, 1000]))
    x = x.to(rng.choice([torch.float32, torch.float64, torch.float16, torch.bfloat16]))
    if rng.random() < 0.1:
        x = torch.where(x > 1.5, torch.nan, x)
    if rank == 4 and rng.random() < 0.4:
        x = x.contiguous(memory_format=torch.channels_last)
    windows = operator_arguments(rank, op, kernel, [rng.randint(1, 3) for _ in axes], padding,
                                 [rng.randint(1, 2) for _ in axes], None, axes, rng.random() < 0.4, True, None, None,
                                 rng.random() < 0.3, 0)
    footprint = [int(rng.random() < 0.8) for _ in range(math.prod(kernel))] if rng.random() < 0.3 else [1]
    method = rng.choice(["lower", "higher", "nearest", "inverted_cdf", "scipy", "linear", "midpoint", "mean"])
    return x, (*windows, [rng.random() if op == "quantile" else 0.5], method, rng.randint(0, 1) if op in ("var", "std")
               else 0, rng.choice([1.0, 2.5]) if op == "lse" else 1.0, rng.random() < 0.5, 0, 0.0, None, footprint)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("part", [7, 1 << 15])
def test_gradients_tap_by_tap_have_the_bits_of_the_engines(part, seed, monkeypatch):
    """Also in parts of a few rows of a plane."""
    monkeypatch.setattr(tap_gradients, "_PART", part)
    rng = random.Random(seed)
    computed = 0
    for _ in range(800):
        x, given = random_windows(rng)
        try:
            pool, options = statistic_operators.pool_and_options(given)
            y = _core.statistic(pool, options, x)
        except ValueError:  # the window does not fit, or its footprint is empty
            continue
        dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(rng.randrange(2**31))).to(x.dtype)
        dx = tap_gradients.tap_gradient(dy, x, *given)
        if dx is None:
            continue
        expected = _core.statistic_backward(pool, options, dy, x)
        known = ~expected.isnan()
        assert torch.equal(dx.nan_to_num(99), expected.nan_to_num(99)), (given, x, dy)
        assert torch.equal(dx.signbit()[known], expected.signbit()[known]), (given, x, dy)
        computed += 1
    assert computed > 200


def test_masks_with_fewer_axes_are_those_of_all_planes():
    x = rand(2, 3, 6, 6)
    mask = torch.rand(6, 6, generator=torch.Generator().manual_seed(1)) < 0.6
    y = ot.median_pool2d(x, 2, mask=mask, min_count=1)
    assert torch.equal(y.nan_to_num(9), ot.median_pool2d(x, 2, mask=mask.expand(2, 3, 6, 6), min_count=1).nan_to_num(9))
    layer = ot.MedianPool2d(2, min_count=1)
    assert torch.equal(layer(x, mask).nan_to_num(9), y.nan_to_num(9))


def test_footprints():
    x = rand(1, 2, 7, 7)
    cross = [[False, True, False], [True, True, True], [False, True, False]]
    for footprint in (cross, np.array(cross), torch.tensor(cross), oriel.diamond(1)):
        assert torch.equal(ot.median_pool2d(x, None, 1, 1, footprint=footprint),
                           oriel.median_pool(x, None, 1, 1, axes=(-2, -1), footprint=np.array(cross)))


def test_a_large_mean_does_not_spoil_the_variance():
    x = (1e5 + rand(1, 1, 32, 32)).float()
    expected = unfolded(x.double(), 16).var(-1, correction=0)
    torch.testing.assert_close(ot.var_pool2d(x, 16).double(), expected, rtol=1e-6, atol=0)


def test_dtypes():
    x = torch.arange(32).reshape(1, 2, 4, 4)
    assert ot.median_pool2d(x, 2).dtype == torch.int64 and ot.var_pool2d(x, 2).dtype == torch.float64
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        t = x.to(dtype).requires_grad_()
        y = ot.std_pool2d(t, 2)
        assert y.dtype == dtype and torch.autograd.grad(y.sum(), t)[0].dtype == dtype


# -- Gradients


@pytest.mark.parametrize("omit", [False, True])
@pytest.mark.parametrize("op, own", KINDS, ids=NAMES)
def test_gradcheck(op, own, omit):
    """Backward, its backward, forward mode, and forward mode of backward."""
    x = rand(1, 2, 5, 5, requires_grad=True)
    mask = torch.rand(5, 5, generator=torch.Generator().manual_seed(3)) < 0.8
    given = arguments(op, own, 4, omit)

    def function(t):
        y = statistic_operators.statistic(t, mask.expand(1, 2, 5, 5), None, *given)
        return torch.where(y.isnan(), 0, y)

    torch.autograd.gradcheck(function, x, check_forward_ad=True, check_batched_grad=True)
    torch.autograd.gradgradcheck(function, x, check_fwd_over_rev=True)


@pytest.mark.parametrize("function, own", FUNCTIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_reach_the_input_in_every_layout(function, own):
    x = rand(2, 3, 6, 6)
    expected = torch.autograd.grad(function(t := x.clone().requires_grad_(), kernel_size=3, stride=1, padding=1, **own).square().sum(), t)[0]
    for layout in (x.contiguous(memory_format=torch.channels_last), x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
                   torch.stack([x, x])[1], torch.stack([x, x], -1)[..., 0]):
        t = layout.detach().requires_grad_()
        y = function(t, kernel_size=3, stride=1, padding=1, **own)
        assert torch.equal(torch.autograd.grad(y.square().sum(), t)[0], expected)
        if layout.is_contiguous(memory_format=torch.channels_last):
            assert y.is_contiguous(memory_format=torch.channels_last)


def test_a_constant_window_has_no_gradient_of_its_deviation():
    x = torch.ones(1, 1, 4, 4, requires_grad=True)
    assert torch.equal(torch.autograd.grad(ot.std_pool2d(x, 2).sum(), x)[0], torch.zeros(1, 1, 4, 4))


def test_the_gradient_of_too_few_elements_is_zero():
    x = torch.tensor([1.0, torch.nan, torch.nan, 4.0], requires_grad=True)
    y = ot.median_pool(x, 2, nan_policy="omit", min_count=2, fill=-1)
    assert y.tolist() == [-1, -1]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0, 0, 0, 0]


# -- Transforms


@pytest.mark.parametrize("op, own", KINDS, ids=NAMES)
def test_opcheck(op, own):
    x = rand(2, 2, 5, 6, requires_grad=True)
    mask = torch.rand(2, 1, 5, 6, generator=torch.Generator().manual_seed(4)) < 0.9
    given = arguments(op, own, fill=0.5)
    for operands in ((None, None), (mask, None)):
        torch.library.opcheck(statistic_operators.statistic, (x, *operands, *given))
        dy = torch.ones_like(statistic_operators.statistic(x, *operands, *given)).detach().requires_grad_()
        torch.library.opcheck(statistic_operators.statistic_backward, (dy, x, *operands, *given))


def layouts():
    x = rand(2, 4, 6, 6)
    yield from (x, x.contiguous(memory_format=torch.channels_last), x[:, :1], x.permute(3, 2, 1, 0), x[:, :, ::2], x[0], x[:0],
                x.contiguous(memory_format=torch.channels_last)[:, :1], x.expand(3, 2, 4, 6, 6),
                rand(2, 3, 4, 5, 6).contiguous(memory_format=torch.channels_last_3d), x[:1].expand(2, 4, 6, 6))


@pytest.mark.parametrize("x", list(layouts()), ids=lambda x: f"{tuple(x.shape)}-{x.stride()}")
@pytest.mark.parametrize("q", [[0.5], [0.2, 0.7]], ids=str)
def test_fake_results_have_the_strides_of_real_ones(x, q):
    given = arguments("quantile", (q, "lower", 0, 1.0, False), x.dim())

    def results(x):
        y = statistic_operators.statistic(x, None, None, *given)
        return y, statistic_operators.statistic_backward(y, x, None, None, *given)

    for real, fake in zip(results(x), results(x.to("meta")), strict=True):
        assert (real.shape, real.stride(), real.dtype) == (fake.shape, fake.stride(), fake.dtype)


def every_pool(x):
    """Every kind of pool of (N, C, H, W), in one number."""
    parts = [function(x, kernel_size=3, stride=2, padding=1, **own) for function, own in FUNCTIONS]
    parts.append(ot.quantile_pool2d(x, [0.1, 0.9], 2, ceil_mode=True))
    parts.append(ot.median_pool2d(x, None, 1, footprint=[[True, False], [True, True]]))
    parts.append(ot.VarPool2d(2, padding="same")(x, x > -1))
    return sum(torch.where(part.isnan(), 0, part).square().mean() for part in parts)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(dynamic):
    torch._dynamo.reset()
    compiled = torch.compile(every_pool, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for shape in ((2, 3, 9, 10), (3, 2, 12, 7)):
        x = rand(*shape, requires_grad=True)
        torch.testing.assert_close(compiled(x), every_pool(x))
        torch.testing.assert_close(torch.autograd.grad(compiled(x), x), torch.autograd.grad(every_pool(x), x))


@pytest.mark.filterwarnings("ignore")
def test_inductor():
    torch._dynamo.reset()
    layer = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), ot.MedianPool2d(3, 1, 1), ot.SoftPool2d(2))
    x = rand(2, 3, 12, 13, dtype=torch.float32)
    compiled = torch.compile(layer, fullgraph=True)
    expected = torch.autograd.grad(layer(x).square().sum(), list(layer.parameters()))
    torch.testing.assert_close(compiled(x), layer(x))
    torch.testing.assert_close(torch.autograd.grad(compiled(x).square().sum(), list(layer.parameters())), expected)


@pytest.mark.parametrize("strict", [False, True])
def test_export(strict):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), ot.MedianPool2d(3, 1, 1), ot.StdPool2d(2))
    exported = torch.export.export(model, (rand(2, 3, 12, 13, dtype=torch.float32),), strict=strict,
                                   dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},))
    x = rand(5, 3, 12, 13, dtype=torch.float32)
    assert torch.equal(exported.module()(x), model(x)) and "oriel.statistic" in str(exported.graph)


@pytest.mark.parametrize("op, own", KINDS, ids=NAMES)
def test_vmap(op, own):
    x = rand(3, 2, 2, 5, 6)
    masks = torch.rand(3, 2, 2, 5, 6, generator=torch.Generator().manual_seed(5)) < 0.7
    given = arguments(op, own)

    def call(t, mask):
        return statistic_operators.statistic(t, mask, None, *given).nan_to_num(9)

    one_by_one = torch.stack([call(t, m) for t, m in zip(x, masks)])
    assert torch.equal(vmap(call)(x, masks), one_by_one)
    assert torch.equal(vmap(call, (1, 1))(x.movedim(0, 1), masks.movedim(0, 1)), one_by_one)
    assert torch.equal(vmap(call, (0, None))(x, masks[0]), torch.stack([call(t, masks[0]) for t in x]))
    assert torch.equal(vmap(call, (None, 0))(x[0], masks), torch.stack([call(x[0], m) for m in masks]))


@pytest.mark.parametrize("op, own", KINDS, ids=NAMES)
def test_functional_derivatives(op, own):
    x = rand(1, 1, 4, 4)
    given = arguments(op, own)

    def total(t):
        y = statistic_operators.statistic(t, None, None, *given)
        return torch.where(y.isnan(), 0, y).square().sum()

    t = x.clone().requires_grad_()
    expected = torch.autograd.grad(total(t), t)[0]
    torch.testing.assert_close(grad(total)(x), expected)
    torch.testing.assert_close(jacfwd(total)(x), expected)
    torch.testing.assert_close(vmap(grad(total))(torch.stack([x, 2 * x]))[0], expected)
    torch.testing.assert_close(jacrev(grad(total))(x), jacfwd(jacrev(total))(x))
    torch.testing.assert_close(make_fx(grad(total))(x)(x), expected)


def test_symbolic_tracing():
    class Model(torch.nn.Module):
        def forward(self, x):
            return ot.median_pool2d(x, 3, 1, 1)

    traced = torch.fx.symbolic_trace(Model())
    x = rand(1, 2, 5, 5)
    assert torch.equal(traced(x), ot.median_pool2d(x, 3, 1, 1))


# -- Layers


@pytest.mark.parametrize("layer, text", [
    (ot.MedianPool1d(3), "oriel.torch.MedianPool1d(method='lower', kernel_size=3, stride=3)"),
    (ot.QuantilePool2d([0.1, 0.9], 2, 1), "oriel.torch.QuantilePool2d(q=[0.1, 0.9], method='lower', kernel_size=2, stride=1)"),
    (ot.VarPool3d(2, ddof=1, min_count=3), "oriel.torch.VarPool3d(ddof=1, kernel_size=2, stride=2, min_count=3)"),
    (ot.StdPool2d(2, nan_policy="omit"), "oriel.torch.StdPool2d(ddof=0, kernel_size=2, stride=2, nan_policy='omit')"),
    (ot.LSEPool2d(2, sharpness=3.0), "oriel.torch.LSEPool2d(sharpness=3.0, sum=False, kernel_size=2, stride=2)"),
    (ot.SoftPool2d(2, padding=1), "oriel.torch.SoftPool2d(kernel_size=2, stride=2, padding=1)"),
])
def test_layers(layer, text):
    assert repr(layer) == text and not layer.state_dict() and not list(layer.parameters())
    x = rand(*(2, 2, 6, 6, 6)[:layer._ndim + 2])
    name = f"{layer._op}_pool{layer._ndim}d"
    own = {key: getattr(layer, key) for key in ("method", "ddof", "sharpness", "sum", "nan_policy", "min_count", "padding")
           if hasattr(layer, key)}
    first = (layer.q,) if hasattr(layer, "q") else ()
    expected = getattr(ot, name)(x, *first, layer.kernel_size, layer.stride, **own)
    assert torch.equal(layer(x), expected) and torch.equal(pickle.loads(pickle.dumps(layer))(x), expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layer", [
    ot.MedianPool2d(2, footprint=[[True, False], [True, True]]), ot.QuantilePool2d([0.3], 2), ot.StdPool2d(2, ddof=1),
    ot.QuantilePool2d([0.3, 0.8], 2, method="linear"), ot.LSEPool2d(2, sum=True), ot.SoftPool2d(2, 1, 1)
])
def test_torchscript(layer):
    x, mask = rand(2, 3, 6, 6, requires_grad=True), torch.rand(2, 3, 6, 6) < 0.9
    model = torch.nn.Sequential(layer)
    for compiled in (torch.jit.script(model), torch.jit.trace(model, (x,))):
        assert torch.equal(compiled(x), layer(x))
        assert torch.equal(torch.autograd.grad(compiled(x).sum(), x)[0], torch.autograd.grad(layer(x).sum(), x)[0])
    assert torch.equal(torch.jit.script(layer)(x, mask).nan_to_num(9), layer(x, mask).nan_to_num(9))


# -- Errors


@pytest.mark.parametrize("call, text", [
    (lambda x: ot.median_pool2d(x[0, 0], 2), "median_pool2d: the input must have 3 axes (channels and 2 pooled axes) or 4 (with a batch), but has 2"),
    (lambda x: ot.quantile_pool2d(x, 1.5, 2), "quantile_pool: q must be in 0 to 1, but is 1.5"),
    (lambda x: ot.quantile_pool2d(x, [], 2), "quantile_pool2d: q must have at least one value, but is empty"),
    (lambda x: ot.var_pool2d(x, 2, ddof=4), "var_pool: ddof must be less than the 4 taps of a window, but is 4"),
    (lambda x: ot.lse_pool2d(x, 2, sharpness=0.0), "lse_pool: sharpness must be > 0 and finite, but is 0"),
    (lambda x: ot.median_pool2d(x, None), "median_pool2d: kernel_size must be an int or a sequence of ints, but is None, which needs a footprint"),
    (lambda x: ot.median_pool2d(x, 2, masks=x), "median_pool2d: there is no argument masks; keywords of valid elements are fill, footprint, mask, min_count, min_fraction, nan_policy, weights"),
    (lambda x: ot.median_pool2d(x, 2, footprint=[[True, True]]), "median_pool2d: footprint must have the 4 taps of the kernel, but has 2"),
    (lambda x: ot.median_pool2d(x, 2, footprint=[[True], [True, True]]), "median_pool2d: footprint must be an array of bool, but is [[True], [True, True]]"),
    (lambda x: ot.var_pool2d(x, 2, weights=x.clone().requires_grad_()), "var_pool2d: weights have no gradient, but require one; detach them"),
    (lambda x: ot.median_pool2d(x.numpy(), 2), "median_pool2d: input must be a torch.Tensor, but is ndarray"),
])
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError)) as error:
        call(rand(1, 1, 4, 4))
    assert str(error.value).startswith(text)
