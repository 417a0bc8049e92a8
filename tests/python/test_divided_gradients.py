"""Divided pools on ranks that are threads: gradients of gradients, gradients against finite differences."""

import divided_cases as cases
import pytest
import torch
from thread_ranks import on_ranks

from oriel.ranks import layers
from oriel.ranks.chain import Sequential
from oriel.ranks.divided import balanced_cuts
from oriel.ranks.grid import Grid
from oriel.ranks.layers import DistributedAvgPool1d


@pytest.fixture(autouse=True)
def one_thread_each():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_second_derivatives_have_the_bits_of_the_undivided_ones(ranks):
    on_ranks(ranks, lambda link: cases.check_second_derivatives(link, ranks, link.rank, range(40)))


@pytest.mark.parametrize("op", ["Max", "Avg"])
def test_a_penalty_on_the_gradient_is_that_of_pytorch(op):
    x = torch.randn(1, 2, 9, 8, dtype=torch.float64)

    def penalty(layer, x):
        x = x.clone().requires_grad_()
        gradient, = torch.autograd.grad((layer(x)**3).sum(), x, create_graph=True)
        (gradient**2).sum().backward()
        return x.grad

    def run(link):
        mine = cases.part_of(balanced_cuts(x.shape, (1, 1, 2, 2)), (1, 1, 2, 2), link.rank)
        return mine, penalty(getattr(layers, f"Distributed{op}Pool2d")((link, (1, 1, 2, 2)), 3, 2, 1), x[mine])

    expected = penalty(getattr(torch.nn, f"{op}Pool2d")(3, 2, 1), x)
    assert expected.abs().sum() > 0
    for mine, found in on_ranks(4, run):
        torch.testing.assert_close(found, expected[mine], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text,make", [
    ("DistributedLPPool1d: gradients of gradients exist for max, min, avg and sum, but not for lp",
     lambda P_x: layers.DistributedLPPool1d(P_x, 2.0, 2)),
    ("Sequential: gradients of gradients need the layers one by one", lambda P_x: Sequential(DistributedAvgPool1d(P_x, 2))),
])
def test_a_second_derivative_that_is_not_there(text, make):
    def run(link):
        x = torch.randn(1, 1, 4, dtype=torch.float64, requires_grad=True)
        y = make(Grid(link, (1, 1, 2)))(x)
        gradient, = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        assert torch.isfinite(gradient).all()
        cases.raises_everywhere(link.gathered, RuntimeError, text, lambda: gradient.sum().backward())

    on_ranks(2, run)


class _Whole(torch.autograd.Function):
    """A divided layer as a function of the whole tensor, which every rank gives: what gradcheck needs."""
    @staticmethod
    def forward(ctx, x, link, layer, grid):
        ctx.mine = cases.part_of(balanced_cuts(x.shape, grid), grid, link.rank)
        ctx.link, ctx.shape = link, x.shape
        with torch.enable_grad():
            ctx.part = x[ctx.mine].detach().clone().requires_grad_()
            ctx.y = layer(ctx.part)
        ctx.at = cases.box(layer.ranges[1])
        pieces = link.gathered((ctx.at, ctx.y.detach()))
        y = torch.empty([max(at[d].stop for at, _ in pieces) for d in range(x.dim())], dtype=x.dtype)
        for at, piece in pieces:
            y[at] = piece
        return y

    @staticmethod
    def backward(ctx, dy):
        part_gradient, = torch.autograd.grad(ctx.y, ctx.part, dy[ctx.at], retain_graph=True)
        dx = torch.empty(ctx.shape, dtype=dy.dtype)
        for mine, piece in ctx.link.gathered((ctx.mine, part_gradient)):
            dx[mine] = piece
        return dx, None, None, None


@pytest.mark.parametrize("op", ["Max", "Min", "Avg", "Sum", "LP"])
def test_gradcheck(op):
    def run(link):
        grid = (1, 1, 2, 2)
        norm = (3.0, ) if op == "LP" else ()
        layer = getattr(layers, f"Distributed{op}Pool2d")((link, grid), *norm, 3, 2, padding=1)
        x = torch.randperm(30, generator=torch.Generator().manual_seed(1)).reshape(1, 1, 5, 6).double() / 7 + 0.5
        return torch.autograd.gradcheck(lambda t: _Whole.apply(t, link, layer, grid), x.requires_grad_())

    assert on_ranks(4, run) == [True] * 4


def test_gradcheck_of_a_chain():
    def run(link):
        P_x = Grid(link, (1, 1, 2, 2))
        chain = Sequential(layers.DistributedLPPool2d(P_x, 3.0, 2, 1), layers.DistributedMaxPool2d(P_x, 2, 1, 1),
                           layers.DistributedAvgPool2d(P_x, 2))
        x = torch.randperm(30, generator=torch.Generator().manual_seed(1)).reshape(1, 1, 5, 6).double() / 7 + 0.5
        return torch.autograd.gradcheck(lambda t: _Whole.apply(t, link, chain, P_x.shape), x.requires_grad_())

    assert on_ranks(4, run) == [True] * 4
