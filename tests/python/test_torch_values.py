"""oriel.torch against torch.nn.functional: results, indices and gradients on random problems, layouts and dtypes."""

import random
import time

import pytest
import torch
import torch.nn.functional as F

import oriel
import oriel.torch as ot
from random_seeds import seeds

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def random_window(rng, ndim):
    """Arguments that PyTorch accepts, too: its padding is at most half a window."""
    kernel = [rng.randint(1, 4) for _ in range(ndim)]
    stride = [rng.randint(1, 3) for _ in range(ndim)]
    padding = [rng.randint(0, k // 2) for k in kernel]
    dilation = [rng.randint(1, 2) for _ in range(ndim)]
    sizes = [rng.randint(d * (k - 1) + 1, d * (k - 1) + 6) for k, d in zip(kernel, dilation)]
    return kernel, stride, padding, dilation, sizes


def random_input(rng, sizes, dtype=torch.float64, channels_last=False, batched=True):
    """Small integers, so that there are ties and sums are exact."""
    shape = ([rng.randint(1, 3)] if batched else []) + [rng.randint(1, 3), *sizes]
    x = torch.tensor([rng.randint(-4, 4) for _ in range(torch.Size(shape).numel())], dtype=dtype).reshape(shape)
    if not (channels_last and batched and
            x.dim() in FORMATS):  # torch refuses some tensors without a batch that look channels last
        return x
    return x.contiguous(memory_format=FORMATS[x.dim()])


def gradient(function, x):
    """The gradient of a sum with unlike integer weights, so that a gradient that went to the wrong place shows."""
    x = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    y = function(x)
    weights = torch.arange(1, y.numel() + 1, dtype=torch.float64).reshape(y.shape).remainder(13).to(y.dtype)
    return torch.autograd.grad((y * weights).sum(), x)[0]


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_max_pool_is_torchs(ndim, seed):
    rng = random.Random(seed)
    ours, theirs = getattr(ot, f"max_pool{ndim}d"), getattr(F, f"max_pool{ndim}d")
    for _ in range(40):
        kernel, stride, padding, dilation, sizes = random_window(rng, ndim)
        x = random_input(rng, sizes, channels_last=rng.random() < 0.5, batched=rng.random() < 0.7)
        if rng.random() < 0.3:
            x[torch.rand(x.shape, generator=torch.Generator().manual_seed(rng.randrange(2**31))) < 0.2] = torch.nan
        arguments = dict(kernel_size=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=rng.random()
                         < 0.5)
        y, indices = ours(x, **arguments, return_indices=True)
        expected, expected_indices = theirs(x, **arguments, return_indices=True)
        tapped = expected != -torch.inf  # a window without taps: torch names some place, Oriel -1 (S6)
        assert torch.equal(y.nan_to_num(99), expected.nan_to_num(99)), (arguments, x)
        assert torch.equal(indices[tapped], expected_indices[tapped]) and (indices[~tapped] == -1).all(), (arguments, x)
        assert y.stride() == expected.stride() and indices.stride() == expected_indices.stride(), (arguments,
                                                                                                   x.stride())
        if tapped.all():
            assert torch.equal(gradient(lambda t: ours(t, **arguments), x),
                               gradient(lambda t: theirs(t, **arguments), x)), (arguments, x)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_avg_pool_is_torchs(ndim, seed):
    rng = random.Random(seed)
    ours, theirs = getattr(ot, f"avg_pool{ndim}d"), getattr(F, f"avg_pool{ndim}d")
    for _ in range(40):
        kernel, stride, padding, _, sizes = random_window(rng, ndim)
        x = random_input(rng, sizes, channels_last=rng.random() < 0.5, batched=rng.random() < 0.7)
        arguments = dict(kernel_size=kernel, stride=stride, padding=padding, ceil_mode=rng.random() < 0.5,
                         count_include_pad=rng.random() < 0.5)
        if ndim > 1 and rng.random() < 0.4:
            arguments["divisor_override"] = rng.randint(1, 7)
        y, expected = ours(x, **arguments), theirs(x, **arguments)
        torch.testing.assert_close(y, expected, rtol=1e-14, atol=1e-14,
                                   msg=str(arguments))  # one division here and there
        if ndim < 3:
            assert y.stride() == expected.stride(), (arguments, x.stride())
        elif not x.is_contiguous():  # torch's avg_pool3d does not keep channels last
            assert y.is_contiguous(memory_format=torch.channels_last_3d)
        torch.testing.assert_close(gradient(lambda t: ours(t, **arguments), x),
                                   gradient(lambda t: theirs(t, **arguments), x))


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_lp_pool_is_torchs_where_they_mean_the_same(ndim, seed):
    rng = random.Random(seed)
    ours, theirs = getattr(ot, f"lp_pool{ndim}d"), getattr(F, f"lp_pool{ndim}d")
    for _ in range(15):
        kernel, stride, _, _, sizes = random_window(rng, ndim)
        if ndim == 1:  # torch's lp_pool1d takes ints alone
            kernel, stride = kernel[0], stride[0]
        x = random_input(rng, sizes).abs() + 0.5  # torch sums x^p, without |·|
        p = rng.choice([1.0, 2.0, 3.0, 2.5])
        torch.testing.assert_close(ours(x, p, kernel, stride), theirs(x, p, kernel, stride))
        torch.testing.assert_close(gradient(lambda t: ours(t, p, kernel, stride), x),
                                   gradient(lambda t: theirs(t, p, kernel, stride), x))


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_adaptive_pools_are_torchs(ndim, seed):
    rng = random.Random(seed)
    for _ in range(20):
        sizes = [rng.randint(1, 8) for _ in range(ndim)]
        out = [rng.choice([rng.randint(1, 6), None]) if ndim > 1 else rng.randint(1, 6) for _ in range(ndim)]
        x = random_input(rng, sizes, channels_last=rng.random() < 0.5, batched=rng.random() < 0.7)
        for op in ("max", "avg"):
            ours, theirs = getattr(ot, f"adaptive_{op}_pool{ndim}d"), getattr(F, f"adaptive_{op}_pool{ndim}d")
            torch.testing.assert_close(ours(x, out), theirs(x, out), rtol=1e-14, atol=1e-14)
            torch.testing.assert_close(gradient(lambda t: ours(t, out), x), gradient(lambda t: theirs(t, out), x))
        y, indices = getattr(ot, f"adaptive_max_pool{ndim}d")(x, out, return_indices=True)
        expected, expected_indices = getattr(F, f"adaptive_max_pool{ndim}d")(x, out, return_indices=True)
        assert torch.equal(y, expected) and torch.equal(indices, expected_indices)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_max_unpool_is_torchs(ndim):
    rng = random.Random(ndim)
    ours, theirs = getattr(ot, f"max_unpool{ndim}d"), getattr(F, f"max_unpool{ndim}d")
    for _ in range(20):
        kernel = [rng.randint(1, 3) for _ in range(ndim)]
        sizes = [k * rng.randint(1, 4) + rng.randint(0, k - 1) for k in kernel]
        x = random_input(rng, sizes, channels_last=rng.random() < 0.5, batched=rng.random() < 0.7)
        y, indices = getattr(ot, f"max_pool{ndim}d")(x, kernel, return_indices=True)
        for size in (sizes, list(x.shape))[:1 + (x.dim() == ndim + 2)]:  # torch takes a whole shape with a batch only
            assert torch.equal(ours(y, indices, kernel, output_size=size), theirs(y, indices, kernel, output_size=size))
        whole = ours(y, indices, kernel, output_size=sizes)
        assert whole.shape == x.shape
        assert torch.equal(gradient(lambda t: ours(t, indices, kernel, output_size=sizes), y),
                           gradient(lambda t: theirs(t, indices, kernel, output_size=sizes), y))


def test_unpool_gives_the_gradient_to_the_element_that_stays():
    y = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    x = ot.max_unpool(y, torch.tensor([1, 1, -1, 0]), 1, output_size=3)
    assert x.tolist() == [4, 2, 0]
    assert torch.autograd.grad((x * torch.tensor([5.0, 7.0, 9.0])).sum(), y)[0].tolist() == [0, 7, 0, 5]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_small_floats(dtype):
    x = random_input(random.Random(5), [9, 11], dtype)
    for ours, theirs in ((ot.max_pool2d, F.max_pool2d), (ot.avg_pool2d, F.avg_pool2d)):
        assert torch.equal(ours(x, 4, 2, 1), theirs(x, 4, 2, 1))  # quarters of small integers are exact
        assert torch.equal(gradient(lambda t: ours(t, 4, 4), x), gradient(lambda t: theirs(t, 4, 4), x))
        assert ours(x, 2).dtype == dtype


def test_half_precision_gradients_are_rounded_once():
    x = torch.zeros(1, 1, 4, dtype=torch.float16, requires_grad=True)
    dy = torch.tensor([[[2048, 1, 1, 1, 0, 0, 0]]], dtype=torch.float16)
    dx = torch.autograd.grad(ot.sum_pool1d(x, 4, stride=1, padding=3), x, dy)[0]
    assert dx.tolist() == [[[2052, 3, 2, 1]]]  # one by one, 2048 + 1 would stay 2048


@pytest.mark.parametrize("dtype",
                         [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.bool])
def test_integers(dtype):
    x = torch.arange(48).remainder(2 if dtype == torch.bool else 100).to(dtype).reshape(1, 2, 4, 6)
    expected = F.max_pool2d(x.double(), 2).to(dtype)
    assert torch.equal(ot.max_pool2d(x, 2), expected) and ot.max_pool2d(x, 2).dtype == dtype
    assert torch.equal(ot.min_pool2d(x, 2), (-F.max_pool2d(-x.double(), 2)).to(dtype))


def test_min_and_sum_and_dilated_average():
    x = torch.randn(2, 3, 9, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    y, indices = ot.min_pool2d(x, 3, 2, 1, 2, return_indices=True)
    expected, expected_indices = F.max_pool2d(-x, 3, 2, 1, 2, return_indices=True)
    assert torch.equal(y, -expected) and torch.equal(indices, expected_indices)
    torch.testing.assert_close(ot.sum_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1) * 9)
    taps = F.unfold(x, 3, dilation=2).reshape(2, 3, 9, 5, 6)
    torch.testing.assert_close(ot.avg_pool2d(x, 3, 1, dilation=2), taps.mean(2))


@pytest.mark.parametrize("shape", [(4, 6), (2, 4, 6), (2, 3, 4, 6), (2, 3, 4, 6, 8), (2, 2, 2, 2, 2, 2)], ids=str)
@pytest.mark.parametrize("way", ["eager", "gradient", "operator"])
def test_batch_and_channels_stay_if_no_axes_are_named(shape, way):
    """Unlike the functions of arrays, which pool all axes; however a call is run."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(5)).requires_grad_(way == "gradient")
    axes = tuple(range(2 if 3 <= len(shape) <= 5 else 0, len(shape)))
    for pool in (lambda x, **how: ot.max_pool(x, 2, **how), lambda x, **how: ot.avg_pool(x, 2, 1, **how),
                 lambda x, **how: ot.max_pool(x, 2, return_indices=True, **how)[1],
                 lambda x, **how: ot.adaptive_max_pool(x, 1, **how), lambda x, **how: ot.global_sum_pool(x, **how)):
        y = torch.func.vmap(pool)(x[None])[0] if way == "operator" else pool(x)
        assert torch.equal(y, pool(x, axes=axes))
    assert ot.max_pool(x, (2, 2)).shape[:-2] == shape[:-2]


def test_padding_in_pairs_and_words():
    x = torch.randn(2, 3, 7, 8, generator=torch.Generator().manual_seed(4))
    padded = F.pad(x, (0, 1, 2, 1), value=-torch.inf)
    assert torch.equal(ot.max_pool2d(x, 3, 1, ((2, 1), (0, 1))), F.max_pool2d(padded, 3, 1))
    assert ot.max_pool2d(x, 3, 2, "same").shape == (2, 3, 4, 4)
    assert torch.equal(ot.max_pool2d(x, 2, 1, "same"), F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=-torch.inf), 2, 1))
    assert torch.equal(ot.max_pool2d(x, 2, 1, "same_lower"), F.max_pool2d(F.pad(x, (1, 0, 1, 0), value=-torch.inf), 2,
                                                                          1))
    assert torch.equal(ot.max_pool2d(x, 3, 1, 5)[:, :, 4:-4, 4:-4], F.max_pool2d(x, 3, 1, 1))  # more than half a window


def test_any_rank_and_any_axes():
    x = torch.randn(4, 5, 6, 7, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    y, indices = ot.max_pool(x, (2, 3), axes=(1, -2), return_indices=True)
    moved = x.movedim((1, 4), (-2, -1))
    expected, expected_indices = F.max_pool2d(moved.flatten(0, 3), (2, 3), return_indices=True)
    assert torch.equal(y.movedim((1, 4), (-2, -1)).flatten(0, 3), expected)
    assert torch.equal(indices.movedim((1, 4), (-2, -1)).flatten(0, 3), expected_indices)
    weights = torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape)
    t = x.clone().requires_grad_()
    dx = torch.autograd.grad((ot.max_pool(t, (2, 3), axes=(1, -2)) * weights).sum(), t)[0]
    expected_dx = torch.zeros_like(moved).flatten(-2).scatter_add(-1,
                                                                  indices.movedim((1, 4), (-2, -1)).flatten(-2),
                                                                  weights.movedim((1, 4), (-2, -1)).flatten(-2))
    assert torch.equal(dx.movedim((1, 4), (-2, -1)).flatten(-2), expected_dx)
    assert torch.equal(ot.global_max_pool(x, axes=(0, -1), keepdims=False), x.amax((0, 5)))
    torch.testing.assert_close(ot.global_avg_pool(x[0]), x[0].mean((2, 3, 4), keepdim=True))
    assert torch.equal(ot.adaptive_min_pool(torch.tensor([1.0, 5, 2, 4, 3]), 2), torch.tensor([1.0, 2.0]))


def test_axes_in_another_order_pick_the_same_way_back():
    x = torch.randn(3, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(6), requires_grad=True)
    y, indices = ot.max_pool(x, (2, 3), axes=(-1, -2), return_indices=True)
    whole = ot.max_unpool(y, indices, (2, 3), axes=(-1, -2), output_size=(8, 6))
    kept = whole != 0
    assert kept.sum() == y.numel() and torch.equal(whole[kept], x[kept])
    assert torch.autograd.gradcheck(lambda t: ot.max_pool(t, (2, 3), axes=(-1, -2)), x)
    assert torch.autograd.gradgradcheck(lambda t: ot.max_pool(t, (2, 3), axes=(-1, -2)), x)


def test_nan_policy_omit():
    x = torch.tensor([1.0, torch.nan, 5.0, torch.nan, torch.nan, 2.0], requires_grad=True)
    assert ot.avg_pool(x, 3, nan_policy="omit").tolist() == [3.0, 2.0]
    assert ot.max_pool(x, 3, nan_policy="omit").tolist() == [5.0, 2.0]
    dx = torch.autograd.grad(ot.avg_pool(x, 3, nan_policy="omit").sum(), x)[0]
    assert dx.tolist() == [0.5, 0, 0.5, 0, 0, 1]
    dy = torch.ones(2, requires_grad=True)
    dx = torch.autograd.grad(ot.avg_pool(x, 3, nan_policy="omit"), x, dy, create_graph=True)[0]
    assert torch.autograd.grad((dx * torch.arange(6.0)).sum(), dy)[0].tolist() == [1.0, 5.0]


def test_empty_batch():
    x = torch.zeros(0, 3, 8, 8, requires_grad=True)
    for y in (ot.max_pool2d(x, 2), ot.avg_pool2d(x, 2), ot.lp_pool2d(x, 2, 2), ot.adaptive_avg_pool2d(x, 4)):
        assert y.shape == (0, 3, 4, 4)
        assert torch.autograd.grad(y.sum(), x)[0].shape == x.shape
    y, indices = ot.max_pool2d(x, 2, return_indices=True)
    assert ot.max_unpool2d(y, indices, 2).shape == x.shape


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("op", ["max", "min", "avg", "sum", "lp"])
def test_channels_last_stays_and_changes_no_bit(op, ndim):
    pool = getattr(ot, f"{op}_pool{ndim}d")
    x = torch.randn(2, 5, *[7] * ndim, generator=torch.Generator().manual_seed(7))
    last = x.contiguous(memory_format=FORMATS[ndim + 2])
    arguments = (2.5, 3, 2) if op == "lp" else (3, 2, 1)
    y = pool(last, *arguments)
    assert y.is_contiguous(memory_format=FORMATS[ndim + 2]) and not y.is_contiguous()
    assert torch.equal(y, pool(x, *arguments))
    dx = gradient(lambda t: pool(t, *arguments), last)
    assert dx.is_contiguous(memory_format=FORMATS[ndim + 2]) and torch.equal(dx,
                                                                             gradient(lambda t: pool(t, *arguments), x))


def test_channels_last_is_kept_where_the_gradient_has_lost_it():
    x = torch.randn(2, 5, 6, 6).contiguous(memory_format=torch.channels_last).requires_grad_()
    y = ot.adaptive_avg_pool2d(x, 1)
    dx = torch.autograd.grad(y, x, torch.ones(2, 5, 1, 1))[0]
    assert dx.is_contiguous(memory_format=torch.channels_last)
    x = torch.randn(2, 5, 6, 6, requires_grad=True)
    dy = torch.ones(2, 5, 3, 3).contiguous(memory_format=torch.channels_last)
    assert torch.autograd.grad(ot.avg_pool2d(x, 2), x, dy)[0].is_contiguous()


@pytest.mark.parametrize("op", ["adaptive_max_pool3d", "max_pool3d", "avg_pool3d"])
def test_gradients_may_have_any_strides(op):
    """pytorch#197888: adaptive_max_pool3d's backward there reads indices as if they were contiguous."""
    x = torch.randn(2, 3, 6, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(8), requires_grad=True)
    y = getattr(ot, op)(x, 3)
    dy = torch.randn(y.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    expected = torch.autograd.grad(y, x, dy, retain_graph=True)[0]
    strange = torch.empty(*y.shape[::-1], dtype=torch.float64).permute(4, 3, 2, 1, 0).copy_(dy)
    assert not strange.is_contiguous()
    assert torch.equal(torch.autograd.grad(y, x, strange, retain_graph=True)[0], expected)
    wide = torch.zeros(*y.shape[:-1], 2 * y.shape[-1], dtype=torch.float64)[..., ::2].copy_(dy)
    assert torch.equal(torch.autograd.grad(y, x, wide, retain_graph=True)[0], expected)
    one = torch.autograd.grad(y.sum(), x)[0]  # an expanded scalar
    assert torch.equal(one, torch.autograd.grad(getattr(ot, op)(x, 3), x, torch.ones_like(y))[0])


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("arguments", [(2,), (3, 2, 1), (3, 1, 1)])
def test_gradients_of_large_maxima_go_by_codes(arguments, channels_last):
    generator = torch.Generator().manual_seed(15)
    x = torch.randint(-9, 9, (2, 32, 40, 40), generator=generator).float()  # with ties
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    x.requires_grad_()
    y, expected = ot.max_pool2d(x, *arguments), F.max_pool2d(x, *arguments)
    assert torch.equal(y, expected)
    kept = y.grad_fn.saved_tensors
    pay = oriel.active_target().startswith("AVX3") or (oriel.active_target() == "AVX2" and arguments != (2,))
    assert len(kept) == (2 if pay else 1)  # x, and codes where they pay
    if len(kept) == 2:
        assert kept[1].dtype == torch.uint8 and kept[1].shape == y.shape
    dy = torch.randint(-99, 99, y.shape, generator=generator).float()
    for gradient_of_y in (dy, dy.contiguous(memory_format=torch.channels_last), torch.ones(()).expand(y.shape)):
        dx = torch.autograd.grad(y, x, gradient_of_y, retain_graph=True)[0]
        assert dx.stride() == x.stride()
        assert torch.equal(dx, torch.autograd.grad(expected, x, gradient_of_y, retain_graph=True)[0])

    def second(pool):  # the gradient of a gradient, which takes the way through x
        first = torch.autograd.grad(pool(x, *arguments).square().sum(), x, create_graph=True)[0]
        return torch.autograd.grad(first.square().sum(), x)[0]

    assert torch.equal(second(ot.max_pool2d), second(F.max_pool2d))


def test_indices_may_have_any_strides():
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(10))
    y, indices = ot.max_pool2d(x, 2, return_indices=True)
    strange = torch.empty(4, 4, 3, 2, dtype=torch.int64).permute(3, 2, 1, 0).copy_(indices)
    assert torch.equal(ot.max_unpool2d(y, strange, 2), F.max_unpool2d(y, indices, 2))


def test_the_input_may_have_any_strides():
    x = torch.randn(9, 8, 3, 2, generator=torch.Generator().manual_seed(11)).permute(3, 2, 1, 0)[..., ::2]
    assert torch.equal(ot.max_pool2d(x, 2), F.max_pool2d(x.contiguous(), 2))
    assert torch.equal(gradient(lambda t: ot.max_pool2d(t, 2), x), gradient(lambda t: F.max_pool2d(t, 2), x))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_bits_in_every_run_and_for_every_number_of_threads(threads):
    x = torch.randn(2, 4, 40, 40, generator=torch.Generator().manual_seed(12))
    dy = torch.randn(2, 4, 38, 38, generator=torch.Generator().manual_seed(13))
    before = torch.get_num_threads()

    def results():
        t = x.clone().requires_grad_()
        return [
            torch.autograd.grad(pool(t), t, dy)[0]
            for pool in (lambda t: ot.max_pool2d(t, 3, 1), lambda t: ot.avg_pool2d(t, 3, 1),
                         lambda t: ot.lp_pool2d(t, 3, 3, 1))
        ]

    expected = results()
    try:
        torch.set_num_threads(threads)
        for _ in range(2):
            assert all(map(torch.equal, results(), expected))
    finally:
        torch.set_num_threads(before)


def test_as_many_threads_as_torch_is_told_to_use(monkeypatch):
    from oriel import _core
    from oriel.torch import engine

    used = []
    real = _core.forward_codes
    monkeypatch.setattr(_core, "forward_codes", lambda pool, x: used.append(_core.get_threads()) or real(pool, x))
    before = torch.get_num_threads()
    x = torch.zeros(1, 4, 4, requires_grad=True)
    try:
        with torch.autograd.profiler.profile():  # whose calls take the way that is watched here
            torch.set_num_threads(engine.ALL_THREADS)
            ot.max_pool2d(x, 2)
            ot.avg_pool2d(x, 2)
            torch.set_num_threads(1 if engine.ALL_THREADS > 1 else 2)
            ot.max_pool2d(x, 2)
            ot.avg_pool2d(x, 2)
    finally:
        torch.set_num_threads(before)
    assert used == [0, 0, 1, 1] and _core.get_threads() == 0  # 0: all; and NumPy arrays keep their own number


@pytest.mark.parametrize("recorded", [False, True])
def test_one_thread_is_one_thread(recorded):
    """A call with one thread, without a gradient and with one, takes no more processor time than time."""
    x = torch.randn(1, 64, 256, 256, requires_grad=recorded)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        ot.lp_pool2d(x, 2.5, 3, 1)
        start, used = time.perf_counter(), time.process_time()
        y = ot.lp_pool2d(x, 2.5, 3, 1)
        start, used = time.perf_counter() - start, time.process_time() - used
    finally:
        torch.set_num_threads(before)
    assert used < 1.2 * start + 0.02
    assert torch.equal(y, ot.lp_pool2d(x, 2.5, 3, 1))
