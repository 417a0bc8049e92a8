"""Gradients of maxima by stored codes in graphs of PyTorch: where they are used, and that they are right."""

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch.func import vmap
from torch.utils._python_dispatch import TorchDispatchMode

import oriel.torch as ot
from oriel import _core
from oriel.torch import operators
from oriel.torch.arguments import operator_arguments

# kernel, stride, padding, shape, memory format
CODED = [
    (2, 2, 0, (2, 16, 64, 64), torch.contiguous_format),
    (3, 2, 1, (2, 16, 57, 56), torch.contiguous_format),
    (2, 2, 0, (2, 16, 64, 64), torch.channels_last),
]
RECOMPUTED = [((17, 17), 17, 0, (1, 4, 64, 64), torch.contiguous_format), ((2, 3), (2, 3), 1, (3, 8, 64, 96), torch.contiguous_format)]
TARGET = _core.active_target()


def values(shape, form, dtype=torch.float32):
    """Few different values, so that windows have equal maxima, and both zeros and NaN."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(-3, 4, shape, generator=generator).to(dtype)
    x[torch.rand(shape, generator=generator) < 0.01] = torch.nan
    x[torch.rand(shape, generator=generator) < 0.05] = -0.0
    return x.contiguous(memory_format=form).requires_grad_()


def words(kernel, stride, padding, rank=4, op="max"):
    return operator_arguments(rank, op, kernel, stride, padding, 1, None, None, False, True, None, None, False, 0)


def recorder():
    """A backend of torch.compile, and the operators in the graphs that it was given."""
    seen = set()

    def record(graph, _):
        seen.update(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    return aot_autograd(fw_compiler=record, bw_compiler=record), seen


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("case", CODED + RECOMPUTED, ids=str)
def test_compiled_training_steps_have_eager_bits(case, op):
    """The bits are those of a gradient that recomputes the maxima; strides are those of the input."""
    kernel, stride, padding, shape, form = case
    torch._dynamo.reset()
    backend, seen = recorder()
    pool = getattr(ot, f"{op}_pool2d")
    step = torch.compile(lambda x: pool(x, kernel, stride, padding), fullgraph=True, backend=backend)
    x = values(shape, form)
    y = step(x)
    dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
    (found,) = torch.autograd.grad(y, x, dy)
    plain = x.detach()
    expected = operators.pool_backward(dy, plain, list(shape), False, *words(kernel, stride, padding, op=op))
    assert found.stride() == x.stride()
    assert torch.equal(found.contiguous().view(torch.int32), expected.contiguous().view(torch.int32))
    used = {"oriel.pool_with_codes.default", "oriel.pool_codes_backward.default"} & seen
    pays = operators._codes_pay(plain, *words(kernel, stride, padding, op=op))
    assert len(used) == (2 if pays else 0) and pays != bool({"oriel.pool.default", "oriel.pool_backward.default"} & seen)
    if case not in RECOMPUTED and (TARGET.startswith("AVX3") or (TARGET == "AVX2" and kernel != stride)):
        assert pays


def test_by_inductor():
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), ot.MaxPool2d(2), torch.nn.Conv2d(8, 4, 3))
    compiled = torch.compile(model, fullgraph=True)
    x = torch.randn(2, 3, 34, 34)
    expected = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
    found = torch.autograd.grad(compiled(x).square().sum(), list(model.parameters()))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_without_a_gradient_there_are_no_codes():
    torch._dynamo.reset()
    backend, seen = recorder()
    x = values(*CODED[0][3:]).detach()
    torch.compile(lambda x: ot.max_pool2d(x, 2), fullgraph=True, backend=backend)(x)
    assert "oriel.pool.default" in seen and "oriel.pool_with_codes.default" not in seen


def test_symbolic_sizes_recompute():
    torch._dynamo.reset()
    backend, seen = recorder()
    step = torch.compile(lambda x: ot.max_pool2d(x, 2), fullgraph=True, backend=backend, dynamic=True)
    x = values(*CODED[0][3:])
    torch.autograd.grad(step(x).sum(), x)
    assert "oriel.pool_backward.default" in seen and "oriel.pool_with_codes.default" not in seen


@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), ((3, 2), (2, 1), ((1, 0), (1, 2))), (2, 1, ((3, 3), (0, 0)))])
def test_derivatives_of_both_orders(kernel, stride, padding):
    """The gradient by codes is linear in dy; its own gradient picks, also beside windows without a tap."""
    pool = words(kernel, stride, padding)
    x = torch.randperm(2 * 2 * 7 * 6, generator=torch.Generator().manual_seed(0)).reshape(2, 2, 7, 6).double().requires_grad_()
    y, codes = operators.pool_with_codes(x, *pool)
    dy = torch.randn(y.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.equal(operators.pool_codes_backward(dy, codes, list(x.shape), False, *pool),
                       operators.pool_backward(dy, x, list(x.shape), False, *pool))
    def maxima(x):
        y = operators.pool_with_codes(x, *pool)[0]
        return torch.where(y.isinf(), 0, y)  # of windows without a tap

    torch.autograd.gradcheck(maxima, x, check_forward_ad=True)
    torch.autograd.gradcheck(lambda dy: operators.pool_codes_backward(dy, codes, list(x.shape), False, *pool), dy,
                             check_forward_ad=True)
    torch.autograd.gradgradcheck(lambda x: maxima(x) ** 2, x)


def test_batches():
    pool = words(3, 2, 1)
    x = values((4, 2, 8, 9, 10), torch.contiguous_format).detach()
    y, codes = vmap(lambda x: operators.pool_with_codes(x, *pool), 2)(x.movedim(0, 2))
    for i in range(4):
        one, its_codes = operators.pool_with_codes(x[i], *pool)
        assert torch.equal(codes[i], its_codes) and torch.equal(y[i].view(torch.int32), one.view(torch.int32))
    dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))

    def back(dy, codes):
        return operators.pool_codes_backward(dy, codes, list(x.shape[1:]), False, *pool)

    expected = torch.stack([back(a, b) for a, b in zip(dy, codes)])
    assert torch.equal(vmap(back)(dy, codes), expected)
    assert torch.equal(vmap(back, (1, None))(dy.movedim(0, 1), codes[0]), torch.stack([back(a, codes[0]) for a in dy]))


class Recorded(TorchDispatchMode):
    """The names of all operators that are run within."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(str(function))
        return function(*args, **(kwargs or {}))


def test_the_operator_goes_by_codes_outside_of_graphs_too():
    x = values(*CODED[0][3:])
    pool = words(2, 2, 0)
    with Recorded() as recorded:
        torch.ops.oriel.pool(x, *pool).sum().backward()
    by_codes = {"oriel.pool_with_codes.default", "oriel.pool_codes_backward.default"}
    assert by_codes & recorded.names == (by_codes if operators._codes_pay(x.detach(), *pool) else set())
