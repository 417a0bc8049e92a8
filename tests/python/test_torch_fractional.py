"""Fractional max pooling against PyTorch's: results and indices for the same random samples, gradients in every layout."""

import inspect
import pickle
import random

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import grad, vmap

import oriel.torch as ot
from oriel.torch.fractional import indices_by_taps
from random_seeds import seeds

OURS = {2: ot.fractional_max_pool2d, 3: ot.fractional_max_pool3d}
THEIRS = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}


def random_case(rng, ndim, dtype):
    """An input of small integers, so that there are ties, and the arguments after it."""
    kernel = tuple(rng.randint(1, 4) for _ in range(ndim))
    sizes = [k + rng.randint(1, 8) for k in kernel]
    # In three dimensions theirs refuses a result with an element for each place of a window.
    out = tuple(rng.randint(1, n - k + (ndim == 2)) for n, k in zip(sizes, kernel))
    shape = [rng.randint(1, 3), rng.randint(1, 3), *sizes]
    x = torch.tensor([float(rng.randint(-5, 5)) for _ in range(torch.Size(shape).numel())], dtype=dtype).reshape(shape)
    samples = torch.tensor([rng.random() for _ in range(shape[0] * shape[1] * ndim)], dtype=dtype)
    return x, kernel, out, samples.clamp(max=0.99).reshape(shape[0], shape[1], ndim)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("ndim", [2, 3])
def test_results_are_pytorchs(ndim, dtype, seed):
    rng = random.Random(seed)
    for _ in range(120):
        x, kernel, out, samples = random_case(rng, ndim, dtype)
        if rng.random() < 0.3:
            x[torch.rand(x.shape, generator=torch.Generator().manual_seed(rng.randrange(2**31))) < 0.1] = torch.nan
        expected, places = THEIRS[ndim](x, kernel, out, return_indices=True, _random_samples=samples)
        y, indices = OURS[ndim](x, kernel, out, return_indices=True, _random_samples=samples)
        assert torch.equal(y.nan_to_num(99), expected.nan_to_num(99)) and torch.equal(indices, places), (x, kernel, out, samples)
        by_taps = indices_by_taps(x, kernel, out, samples)
        assert torch.equal(by_taps.reshape(indices.shape), indices)
        assert torch.equal(OURS[ndim](x[0], kernel, out, _random_samples=samples[:1]).nan_to_num(99), y[0].nan_to_num(99))


@pytest.mark.filterwarnings("ignore")
def test_pytorchs_own_samples():
    """Those of its list of operators, which seeds PyTorch's generator with 42 before each call."""
    from torch.testing._internal.common_methods_invocations import op_db

    samples = 0
    for info in (info for info in op_db if "fractional_max_pool" in info.name):
        ours = getattr(ot, info.name.rpartition(".")[2])
        for dtype in (torch.float32, torch.float64):
            for sample in info.sample_inputs("cpu", dtype, requires_grad=True):
                expected = info.op(sample.input, *sample.args, **sample.kwargs)
                torch.manual_seed(42)
                got = ours(sample.input, *sample.args, **sample.kwargs)
                pairs = list(zip(*(r if isinstance(r, tuple) else (r,) for r in (got, expected)), strict=True))
                assert all(torch.equal(a, b) for a, b in pairs), sample
                dy = torch.arange(1.0, pairs[0][0].numel() + 1, dtype=dtype).reshape(pairs[0][0].shape)
                assert torch.equal(*(torch.autograd.grad(y, sample.input, dy)[0] for y in pairs[0])), sample
                samples += 1
    assert samples >= 150


@pytest.mark.parametrize("ndim", [2, 3])
def test_the_same_random_numbers(ndim):
    x = torch.randn(2, 3, *(9, 10, 11)[:ndim])
    torch.manual_seed(5)
    expected = THEIRS[ndim](x, 2, output_ratio=(0.6,) * ndim)
    torch.manual_seed(5)
    assert torch.equal(OURS[ndim](x, 2, output_ratio=(0.6,) * ndim), expected)
    torch.manual_seed(5)
    layer = getattr(ot, f"FractionalMaxPool{ndim}d")(2, output_ratio=0.6)
    assert torch.equal(layer(x), expected)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("ndim", [2, 3])
def test_gradients_do_not_depend_on_the_memory_format(ndim, seed):
    """Each element of dy is added to the element whose index the forward pass returned."""
    rng = random.Random(seed)
    last = torch.channels_last if ndim == 2 else torch.channels_last_3d
    for _ in range(20):
        x, kernel, out, samples = random_case(rng, ndim, torch.float64)
        y, indices = OURS[ndim](x, kernel, out, return_indices=True, _random_samples=samples)
        dy = torch.arange(1.0, y.numel() + 1, dtype=x.dtype).reshape(y.shape)
        expected = torch.zeros_like(x).flatten(2).scatter_add(2, indices.flatten(2), dy.flatten(2)).reshape(x.shape)
        for layout in (x, x.contiguous(memory_format=last), torch.stack([x, x], -1)[..., 0], x.transpose(0, 1).contiguous().transpose(0, 1)):
            t = layout.detach().requires_grad_()
            result = OURS[ndim](t, kernel, out, _random_samples=samples)
            for d in (dy, dy.contiguous(memory_format=last)):
                assert torch.equal(torch.autograd.grad(result, t, d, retain_graph=True)[0], expected)


def test_gradcheck():
    samples = torch.rand(1, 2, 2, dtype=torch.float64)
    x = torch.randn(1, 2, 6, 7, dtype=torch.float64, requires_grad=True)

    def function(t):
        return ot.fractional_max_pool2d(t, (2, 3), (3, 4), _random_samples=samples)

    torch.autograd.gradcheck(function, x, check_forward_ad=True, check_batched_grad=True)
    torch.autograd.gradgradcheck(function, x)


def test_transforms():
    x, samples = torch.randn(4, 2, 3, 8, 9), torch.rand(4, 2, 3, 2)

    def call(t, u):
        return ot.fractional_max_pool2d(t, 2, (4, 5), _random_samples=u)

    expected = torch.stack([call(t, u) for t, u in zip(x, samples)])
    assert torch.equal(vmap(call)(x, samples), expected)
    assert torch.equal(vmap(grad(lambda t, u: call(t, u).sum()))(x, samples)[1], grad(lambda t: call(t, samples[1]).sum())(x[1]))
    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    t = x[0].clone().requires_grad_()
    assert torch.equal(compiled(t, samples[0]), expected[0])
    assert torch.equal(torch.autograd.grad(compiled(t, samples[0]).sum(), t)[0], torch.autograd.grad(call(t, samples[0]).sum(), t)[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(dtype):
    x = torch.randn(2, 2, 40, 40).to(dtype).requires_grad_()
    samples = torch.rand(2, 2, 2).to(dtype)
    y, indices = ot.fractional_max_pool2d(x, 3, 13, return_indices=True, _random_samples=samples)
    assert y.dtype == dtype and torch.equal(x.flatten(2).gather(2, indices.flatten(2)).reshape(y.shape), y)
    assert torch.autograd.grad(y.sum(), x)[0].dtype == dtype


@pytest.mark.parametrize("ndim", [2, 3])
def test_layers(ndim):
    name = f"FractionalMaxPool{ndim}d"
    ours, theirs = getattr(ot, name), getattr(nn, name)
    assert list(inspect.signature(ours).parameters)[:5] == list(inspect.signature(theirs).parameters)[:5]
    samples = torch.rand(2, 3, ndim)
    layer = ours(2, output_size=3, return_indices=True, _random_samples=samples)
    x = torch.randn(2, 3, *(7,) * ndim)
    expected = theirs(2, output_size=3, return_indices=True, _random_samples=samples)(x)
    for moved in (layer, pickle.loads(pickle.dumps(layer))):
        assert all(torch.equal(a, b) for a, b in zip(moved(x), expected))
    assert list(layer.state_dict()) == ["_random_samples"] == list(theirs(2, 3, _random_samples=samples).state_dict())
    assert repr(ours(2, output_ratio=0.5)) == f"oriel.torch.{name}(kernel_size={(2,) * ndim}, output_ratio={(0.5,) * ndim})"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ndim", [2, 3])
def test_torchscript(ndim):
    samples, x = torch.rand(2, 3, ndim), torch.randn(2, 3, *(7,) * ndim)
    layer = getattr(ot, f"FractionalMaxPool{ndim}d")(2, output_ratio=0.6, _random_samples=samples)
    assert torch.equal(torch.jit.script(torch.nn.Sequential(layer))(x), layer(x))


@pytest.mark.parametrize("ndim", [2, 3])
def test_names_with_indices(ndim):
    samples, x = torch.rand(2, 3, ndim), torch.randn(2, 3, *(7,) * ndim)
    name = f"fractional_max_pool{ndim}d_with_indices"
    expected = getattr(F, name)(x, 2, (3,) * ndim, None, False, samples)
    for ours in (getattr(ot, name), getattr(ot.functional, name)):
        assert all(torch.equal(a, b) for a, b in zip(ours(x, 2, 3, None, False, samples), expected, strict=True))


@pytest.mark.parametrize("call, text", [
    (lambda x: ot.fractional_max_pool2d(x, 2), "fractional_max_pool2d: output_size or output_ratio must be given, one of them, but neither is"),
    (lambda x: ot.fractional_max_pool2d(x, 2, 2, 0.5), "fractional_max_pool2d: output_size or output_ratio must be given, one of them, but both are"),
    (lambda x: ot.fractional_max_pool2d(x, 2, output_ratio=1.5), "fractional_max_pool2d: output_ratio must be between 0 and 1, but is 1.5"),
    (lambda x: ot.fractional_max_pool2d(x, 3, 4), "fractional_max_pool2d: output_size must be in 1 to 3 for 5 inputs and a kernel of 3, but is 4"),
    (lambda x: ot.fractional_max_pool2d(x, 0, 4), "fractional_max_pool2d: kernel_size must be >= 1, but is 0"),
    (lambda x: ot.fractional_max_pool2d(x, (1, 2, 3), 4), "fractional_max_pool2d: kernel_size must be a number or 2 numbers, but is (1, 2, 3)"),
    (lambda x: ot.fractional_max_pool3d(x, 2, 2), "fractional_max_pool3d: the input must have 4 axes (channels and 3 pooled axes) or 5 (with a batch), but has 3"),
    (lambda x: ot.fractional_max_pool2d(x.long(), 2, 2), "fractional_max_pool2d: the input must have a floating dtype, but has torch.int64"),
    (lambda x: ot.fractional_max_pool2d(x, 2, 2, _random_samples=torch.rand(1, 3, 2)), "fractional_max_pool2d: _random_samples must have the shape (1, 2, 2), or more rows, but has (1, 3, 2)"),
    (lambda x: ot.FractionalMaxPool2d(2), "FractionalMaxPool2d: output_size or output_ratio must be given, one of them"),
])
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError)) as error:
        call(torch.zeros(2, 5, 5))
    assert str(error.value) == text
