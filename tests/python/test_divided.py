"""Divided pools on ranks that are threads: bits, DistDL's cases, what DistDL gets wrong, disagreements, gradients."""

import math

import divided_cases as cases
import numpy as np
import pytest
import torch
from thread_ranks import on_ranks

import oriel
import oriel.torch
from oriel import _core
from oriel.ranks import layers
from oriel.ranks.arrays import DistributedPool
from oriel.ranks.chain import Sequential
from oriel.ranks.divided import Bound, balanced_cuts
from oriel.ranks.grid import Grid
from oriel.ranks.layers import DistributedAvgPool1d, DistributedMaxPool1d, DistributedMaxPool2d, DistributedMinPool1d
from oriel.ranks.tensors import gather, halo_shape, repartition, scatter


@pytest.fixture(autouse=True)
def one_thread_each():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_layers_have_the_bits_of_the_undivided_ones(ranks):
    on_ranks(ranks, lambda link: cases.check_bits(link, ranks, link.rank, range(60)))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_arrays_have_the_bits_of_the_undivided_pools(ranks):
    on_ranks(ranks, lambda link: cases.check_arrays(link, ranks, link.rank, range(25)))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_chains_have_the_bits_of_their_layers(ranks):
    on_ranks(ranks, lambda link: cases.check_chains(link, ranks, link.rank, range(60)))


def test_a_chain_sends_one_message_for_each_neighbour():
    def run(link):
        P_x = Grid(link, (1, 1, 2))
        chain = [DistributedAvgPool1d(P_x, 3, 1, 1) for _ in range(3)]
        x = torch.randn(1, 1, 16).requires_grad_()
        together = Sequential(*chain)
        together(x).sum().backward()
        torch.nn.Sequential(*chain)(x).sum().backward()
        return together.traffic, [layer.divided.traffic["forward"][0] for layer in chain]

    for traffic, one_by_one in on_ranks(2, run):
        # Three inputs for the results, three more for the gradient; backward, three gradients of results.
        assert traffic == {"forward": (1, 1, 24, 24), "backward": (1, 1, 12, 12)}
        assert one_by_one == [1, 1, 1]


@pytest.mark.parametrize("op", ["Max", "Avg"])
@pytest.mark.parametrize("name", cases.DISTDL)
def test_distdl_configurations(name, op):
    on_ranks(math.prod(cases.DISTDL[name][1]), lambda link: cases.check_distdl(link, link.rank, name, op))


def _divided_1d(cuts, k, s, p, op="Max", d=1, n=None):
    """The whole result of a divided layer over one axis with these bounds, and of the undivided one."""
    x = torch.from_numpy(np.random.default_rng(3).standard_normal((1, 1, cuts[-1])))

    def run(link):
        grid = (1, 1, len(cuts) - 1)
        layer = getattr(layers, f"Distributed{op}Pool1d")((link, grid), k, s, p, d)
        return gather((link, grid), layer(x[..., cuts[link.rank]:cuts[link.rank + 1]]))

    return on_ranks(len(cuts) - 1, run)[0], getattr(oriel.torch, f"{op}Pool1d")(k, s, p, dilation=d)(x)


# Notes of DistDL a641638: the halo reaches beyond the neighbour; parts of unequal sizes give too many outputs; ranks without
# an output; k < s in such parts.
@pytest.mark.parametrize("cuts,k,s,p", [
    ([0, 2, 4, 6, 8, 10, 12, 14, 16], 7, 1, 3),
    ([0, 8, 10], 2, 2, 0),
    ([0, 10, 16], 2, 2, 0),
    ([0, 8, 12], 3, 2, 1),
    ([0, 1, 2, 3, 4, 5, 6, 7, 8], 5, 3, 0),
    ([0, 0, 3, 3, 5], 5, 1, 2),
    ([0, 1, 9, 11], 2, 5, 0),
])
@pytest.mark.parametrize("op", ["Max", "Avg"])
def test_what_distdl_gets_wrong_over_one_axis(cuts, k, s, p, op):
    made, expected = _divided_1d(cuts, k, s, p, op)
    assert cases.same_bits(made, expected)


def test_more_ranks_than_outputs():
    """3 outputs on 7 ranks, balanced as DistDL has them: it raises on some, for which the others wait for ever."""
    x = torch.randn(1, 1, 5)
    cuts = balanced_cuts(x.shape, (1, 1, 7))

    def run(link):
        layer = DistributedMaxPool1d((link, (1, 1, 7)), 3, 2, 1, output_partition="balanced")
        part = x[cases.part_of(cuts, (1, 1, 7), link.rank)].clone().requires_grad_()
        y = layer(part)
        y.sum().backward()
        return y.detach(), part.grad

    made = on_ranks(7, run)
    assert [y.shape[2] for y, _ in made] == [1, 1, 1, 0, 0, 0, 0]
    whole = x.clone().requires_grad_()
    expected = torch.nn.MaxPool1d(3, 2, 1)(whole)
    expected.sum().backward()
    assert torch.equal(torch.cat([y for y, _ in made], 2), expected.detach())
    assert torch.equal(torch.cat([dx for _, dx in made], 2), whole.grad)


def test_without_a_stride_it_is_the_kernel_size():
    made, expected = _divided_1d([0, 4, 8], 2, None, 0)
    assert cases.same_bits(made, expected) and made.shape == (1, 1, 4)


def test_requires_grad_may_change_on_one_rank():
    """Which makes that rank alone set up anew in DistDL, and so wait for ever."""
    def run(link):
        layer = DistributedAvgPool1d((link, (1, 1, 2)), 3, 1, 1)
        results = []
        for wants in ([False, False], [True, False], [False, True], [True, True]):
            x = torch.arange(4.0).reshape(1, 1, 4).requires_grad_(wants[link.rank])
            layer.train(wants[0])
            y = layer(x)
            if any(wants):
                y.sum().backward()
            assert (x.grad is not None) == wants[link.rank]
            results.append(y.detach())
        assert all(torch.equal(y, results[0]) for y in results)

    on_ranks(2, run)


def test_dilated_averages_which_distdl_refuses():
    made, expected = _divided_1d([0, 4, 7, 11], 3, 1, 2, "Avg", 2)
    assert cases.same_bits(made, expected)


def test_averages_without_the_padding_which_distdl_cannot():
    x = torch.arange(7.0).reshape(1, 1, 7)

    def run(link):
        layer = DistributedAvgPool1d((link, (1, 1, 2)), 3, 1, 1, count_include_pad=False)
        return layer(x[..., link.rank * 4:link.rank * 4 + 4])

    made = torch.cat(on_ranks(2, run), 2)
    assert torch.equal(made, torch.nn.AvgPool1d(3, 1, 1, count_include_pad=False)(x))


def test_a_batch_divided_in_any_way():
    x = torch.randn(2, 3, 6)

    def run(link):
        mine = x if link.rank == 0 else x[:0]  # [2, 0] shifts data in DistDL
        return DistributedMaxPool1d((link, (2, 1, 1)), 1, 1)(mine)

    made = on_ranks(2, run)
    assert torch.equal(made[0], x) and made[1].shape == (0, 3, 6)


def test_a_leaf_without_a_halo_keeps_its_gradient_and_integers_pool():
    x = torch.arange(8.0).reshape(1, 1, 8)

    def run(link):
        leaf = x[..., 4 * link.rank:4 * link.rank + 4].clone().requires_grad_()
        DistributedMaxPool1d((link, (1, 1, 2)), 2)(leaf).sum().backward()
        whole_numbers = DistributedMaxPool1d((link, (1, 1, 2)), 2)(leaf.detach().to(torch.int32))
        return leaf.grad.tolist(), whole_numbers.tolist()

    assert on_ranks(2, run) == [([[[0, 1, 0, 1]]], [[[1, 3]]]), ([[[0, 1, 0, 1]]], [[[5, 7]]])]


def test_global_indices_and_a_large_padding():
    x = torch.tensor([[[1.0, 5.0, 2.0, 7.0, 3.0, 7.0]]])

    def run(link):
        layer = DistributedMaxPool1d((link, (1, 1, 3)), 3, 1, 2, return_indices=True)
        return layer(x[..., 2 * link.rank:2 * link.rank + 2])[1]

    indices = torch.cat(on_ranks(3, run), 2)
    assert torch.equal(indices, oriel.torch.MaxPool1d(3, 1, 2, return_indices=True)(x)[1])
    assert indices.tolist() == [[[0, 1, 1, 3, 3, 3, 5, 5]]]


def test_gradients_that_were_given_stay_and_forwards_may_come_first():
    """Two forwards before one backward; expanded and shared gradients."""
    x = torch.randn(1, 1, 9, dtype=torch.float64)

    def run(link):
        layer = DistributedMaxPool1d((link, (1, 1, 2)), 3, 2, 1)
        mine = slice(0, 4) if link.rank == 0 else slice(4, 9)
        a, b = x[..., mine].clone().requires_grad_(), (-x[..., mine]).clone().requires_grad_()
        first, second = layer(a), layer(b)
        dy = torch.arange(1.0, first.shape[2] + 1, dtype=torch.float64).expand(1, 1, -1)
        kept = dy.clone()
        (first * dy).sum().backward(retain_graph=True)
        (second.sum() + (first * dy).sum()).backward()
        assert torch.equal(dy, kept)
        return a.grad, b.grad, layer.ranges[1][2]

    made = on_ranks(2, run)
    a, b = x.clone().requires_grad_(), (-x).clone().requires_grad_()
    plain = oriel.torch.MaxPool1d(3, 2, 1)
    weight = torch.cat([torch.arange(1.0, 1.0 + end - begin) for *_, (begin, end) in made])
    (2 * (plain(a) * weight).sum() + plain(b).sum()).backward()
    assert torch.equal(torch.cat([m[0] for m in made], 2), a.grad)
    assert torch.equal(torch.cat([m[1] for m in made], 2), b.grad)


def test_shapes_may_change_on_every_rank_and_without_gradients():
    def run(link):
        layer = DistributedMaxPool1d((link, (1, 1, 2)), 3, 2, 1)
        for n in (4, 6, 4, 5):
            x = torch.arange(2.0 * n).reshape(1, 1, 2 * n)
            mine = x[..., n * link.rank:n * link.rank + n]
            with torch.no_grad():
                y = layer(mine.clone().requires_grad_())
            assert not y.requires_grad and y.grad_fn is None
            assert torch.equal(y, oriel.torch.MaxPool1d(3, 2, 1)(x)[cases.box(layer.ranges[1])])
        before = link.collectives
        layer(mine)
        assert link.collectives == before + 1  # one reduction where nothing changed

    on_ranks(2, run)


def test_one_rank_may_want_the_gradient_alone():
    """The others take part in its backward pass."""
    def run(link):
        x = torch.arange(4.0).reshape(1, 1, 4).requires_grad_(link.rank == 0)
        y = DistributedAvgPool1d((link, (1, 1, 2)), 3, 1, 1)(x)
        y.sum().backward()
        return None if x.grad is None else x.grad.tolist()

    first, second = on_ranks(2, run)
    assert second is None
    np.testing.assert_allclose(first, [[[2 / 3, 1, 1, 1]]], rtol=1e-6)


def test_as_many_threads_as_pytorch(monkeypatch):
    seen = []
    run = Bound.run

    def watched(self, word, **arrays):
        seen.append((word, _core.get_threads()))
        run(self, word, **arrays)

    monkeypatch.setattr(Bound, "run", watched)
    x = torch.zeros(1, 1, 4, requires_grad=True)
    on_ranks(1, lambda link: DistributedMaxPool1d((link, (1, 1, 1)), 2)(x).sum().backward())
    assert seen == [("forward", 1), ("backward_indices", 1)]


# -- Disagreements and bad arguments: every rank raises the same, none waits.


def _refused(ranks, kind, text, call):
    on_ranks(ranks, lambda link: cases.raises_everywhere(link.gathered, kind, text, lambda: call(link)))


@pytest.mark.parametrize("text,call", [
    ("all ranks must give the same", lambda link: DistributedMaxPool1d((link, (1, 1, 2)), 2 + link.rank)),
    ("all ranks must give the same", lambda link: Grid(link, (1, 2) if link.rank else (2, 1))),
    ("kernel_size must", lambda link: DistributedMaxPool1d((link, (1, 1, 2)), 0)(torch.zeros(1, 1, 4))),
    ("product is the number of ranks, 2, but is", lambda link: Grid(link, (1, 3))),
    ("shape must be given unless", lambda link: DistributedMaxPool1d(link, 2)),
    ("nan_policy must be", lambda link: DistributedMaxPool1d((link, (1, 1, 2)), 2, nan_policy="x" if link.rank else "omit")),
    ("must have the same extent", lambda link: DistributedMaxPool1d((link, (1, 1, 2)), 2)(torch.zeros(1 + link.rank, 1, 4))),
    ("number of axes", lambda link: DistributedMaxPool1d((link, (2, )), 2)(torch.zeros((1, 4) if link.rank else (1, 1, 4)))),
    ("all ranks must give the same", lambda link: DistributedMaxPool1d((link, (1, 1, 2)), 2)(
        torch.zeros(1, 1, 4, dtype=torch.float64 if link.rank else torch.float32))),
    ("axis for each of the grid's", lambda link: DistributedMaxPool1d((link, (1, 1, 1, 2)), 2)(torch.zeros(1, 1, 4))),
    ("output_partition must have bounds", lambda link: DistributedMaxPool1d(
        (link, (1, 1, 2)), 2, output_partition=[[0, 1], [0, 1], [0, 4]])(torch.zeros(1, 1, 4))),
    ("must record gradients", lambda link: _without_gradients_on_one(link)),
    ("layers must be over the same grid", lambda link: Sequential(DistributedMaxPool1d((link, (1, 1, 2)), 2),
                                                                  DistributedMaxPool1d((link, (1, 2, 1)), 2))),
    ("layers must be without return_indices", lambda link: Sequential(
        DistributedMaxPool1d((link, (1, 1, 2)), 2, return_indices=link.rank == 1))),
    ("must fit", lambda link: Sequential(*[DistributedMaxPool1d((link, (1, 1, 2)), 3)] * 3)(torch.zeros(1, 1, 4))),
    ("root must be a rank", lambda link: scatter((link, (2, )), np.zeros(4), root=2)),
    ("must ascend from 0", lambda link: scatter((link, (2, )), np.zeros(4), [[0, 3, 2]])),
    ("must ascend from 0", lambda link: repartition((link, (2, )), np.zeros(4), [[0, 9, 8, 8]])),
    ("return_indices must be the same", lambda link: DistributedPool((link, (2, )), "max", 2).forward(
        np.zeros(4), return_indices=link.rank == 0)),
    ("return_indices must be False but", lambda link: DistributedPool((link, (2, )), "sum", 2).forward(
        np.zeros(4), return_indices=True)),
    ("shape of the rank's outputs", lambda link: DistributedPool((link, (2, )), "sum", 2).backward(
        np.zeros(2 + link.rank), np.zeros(4))),
])
def test_wrong_values(text, call):
    _refused(2, ValueError, text, call)


def _without_gradients_on_one(link):
    layer = DistributedMaxPool1d((link, (1, 1, 2)), 2)
    with torch.set_grad_enabled(link.rank == 0):
        layer(torch.zeros(1, 1, 4, requires_grad=True))


@pytest.mark.parametrize("text,call", [
    ("input must be a torch.Tensor, but is list", lambda link: DistributedMaxPool1d((link, (1, 1, 2)), 2)([1.0])),
    ("must have dtype", lambda link: DistributedMaxPool1d((link, (1, 1, 2)), 2)(torch.zeros(1, 1, 4, dtype=torch.complex64))),
    ("kernel_size must be an int", lambda link: DistributedMaxPool2d((link, (1, 1, 1, 2)), "3" if link.rank else 3)),
    ("output_partition must be None", lambda link: DistributedMinPool1d((link, (1, 1, 2)), 2, output_partition=3)),
    ("shape must be a sequence of ints", lambda link: Grid(link, 2)),
    ("layers must be one or more divided pools", lambda link: Sequential(
        DistributedMaxPool1d((link, (1, 1, 2)), 2), *[torch.nn.ReLU()] * link.rank)),
    ("layers must be one or more divided pools", lambda link: Sequential()),
    ("input must be a torch.Tensor", lambda link: Sequential(DistributedMaxPool1d((link, (1, 1, 2)), 2))(
        3 if link.rank else torch.zeros(1, 1, 4))),
    ("x must be a numpy.ndarray", lambda link: DistributedPool((link, (2, )), "max", 2).forward([1, 2])),
    ("dy must be a numpy.ndarray of dtype", lambda link: DistributedPool((link, (2, )), "sum", 2).backward(
        np.zeros(2, "f4"), np.zeros(4))),
    ("floating dtype for this gradient", lambda link: DistributedPool((link, (2, )), "avg", 2).backward(
        np.zeros(2, int), np.zeros(4, int))),
    ("must be a numpy.ndarray or a torch.Tensor", lambda link: scatter((link, (2, )), "x")),
    ("must be a numpy.ndarray or a torch.Tensor", lambda link: gather((link, (2, )), [1] if link.rank else np.zeros(2))),
])
def test_wrong_types(text, call):
    _refused(2, TypeError, text, call)


def _result_and_gradient(layer):
    y = layer(torch.arange(4.0).reshape(1, 1, 4).requires_grad_())
    return y, torch.ones(y.shape)


def test_gradients_that_one_rank_cannot_take():
    """A sparse one, by every rank's error; one of another shape, which PyTorch refuses on that rank before the others
    can know, when that rank comes to its next call; after both the layer works."""
    def run(link):
        layer = DistributedMaxPool1d((link, (1, 1, 2)), 3, 2, 1)
        y, dy = _result_and_gradient(layer)
        cases.raises_everywhere(link.gathered, TypeError, r"must be a dense tensor on the CPU, but is of layout "
                                r"torch.sparse_coo on cpu \(rank 1\)",
                                lambda: y.backward(dy.to_sparse() if link.rank == 1 else dy))
        y, dy = _result_and_gradient(layer)

        def backward_then_forward():
            if link.rank == 1:
                with pytest.raises(RuntimeError, match="shape"):
                    y.backward(torch.ones(1, 1, 7))
                layer(torch.zeros(1, 1, 4))
            y.backward(dy)

        cases.raises_everywhere(link.gathered, RuntimeError, "all ranks must do the same together, but rank 0 is at the "
                                "backward of DistributedMaxPool1d .* and rank 1 at the call of DistributedMaxPool1d",
                                backward_then_forward)
        assert layer(torch.arange(4.0).reshape(1, 1, 4)).shape == (1, 1, 2)

    on_ranks(2, run)


def test_a_gradient_of_another_dtype_is_converted():
    """PyTorch converts it before the layer sees it, on any rank."""
    def run(link):
        x = torch.arange(4.0).reshape(1, 1, 4).requires_grad_()
        y = DistributedMaxPool1d((link, (1, 1, 2)), 3, 2, 1)(x)
        y.backward(torch.ones(y.shape, dtype=torch.float64 if link.rank else torch.float32))
        return x.grad.dtype, x.grad.tolist()

    assert on_ranks(2, run) == [(torch.float32, [[[0, 1, 0, 2]]]), (torch.float32, [[[0, 0, 0, 1]]])]


@pytest.mark.parametrize("text,call", [
    ("backward of .* call of DistributedAvgPool1d",  # a rank whose result plays no part in the loss goes on
     lambda a, b, y, rank: b(y.detach()) if rank else y.sum().backward()),
    ("call of DistributedMaxPool1d .pool 0.* call of DistributedAvgPool1d .pool 1", lambda a, b, y, rank: (b if rank else a)(y.detach())),
    ("call of DistributedMaxPool1d .* arguments of gather", lambda a, b, y, rank: gather(a.divided.grid, y.detach()) if rank else a(y)),
    ("backward of .* second derivative of", lambda a, b, y, rank: _again(a, y, rank)),
])
def test_ranks_that_do_different_things(text, call):
    def run(link):
        P_x = Grid(link, (1, 1, 2))
        a, b = DistributedMaxPool1d(P_x, 3, 1, 1), DistributedAvgPool1d(P_x, 3, 1, 1)
        y = a(torch.arange(4.0).reshape(1, 1, 4).requires_grad_())
        cases.raises_everywhere(link.gathered, RuntimeError, text, lambda: call(a, b, y, link.rank))

    on_ranks(2, run)


def _again(layer, y, rank):
    dy = torch.ones(y.shape, requires_grad=True)
    x = torch.arange(4.0).reshape(1, 1, 4).requires_grad_()
    dx, = torch.autograd.grad(layer(x), x, dy, create_graph=True)
    (dx if rank else y).sum().backward()


@pytest.mark.parametrize("deadline", [0, -1.0, "1", math.inf, True])
def test_a_deadline_that_is_none(deadline):
    _refused(2, ValueError, "deadline must be a number of seconds > 0", lambda link: Grid(link, (1, 2), deadline))


def test_after_a_refusal_the_layer_works():
    def run(link):
        layer = DistributedMaxPool1d((link, (1, 1, 2)), 2)
        good = torch.arange(4.0).reshape(1, 1, 4)
        layer(good)
        cases.raises_everywhere(link.gathered, ValueError, "same extent", lambda: layer(good.expand(1 + link.rank, 1, 4)))
        assert layer(good).tolist() == [[[1, 3]]]

    on_ranks(2, run)


def test_what_is_no_communicator():
    with pytest.raises(TypeError, match="P_x must be a communicator of mpi4py.*but is int"):
        Grid(3, (1, ))


# -- The plan and its numbers


def test_the_halo_of_distdl_own_case():
    """n=10, k=2, s=2 on 4 ranks owns 3, 3, 2, 2; outputs 2, 1, 1, 1 as DistDL divides them."""
    halos = [halo_shape([1, 1, 10], [1, 1, 4], r, kernel_size=2, stride=2, output_partition="balanced") for r in range(4)]
    assert [h.inputs[2] for h in halos] == [(0, 3), (3, 6), (6, 8), (8, 10)]
    assert [h.outputs[2] for h in halos] == [(0, 2), (2, 3), (3, 4), (4, 5)]
    assert [h.needed[2] for h in halos] == [(0, 4), (4, 6), (6, 8), (8, 10)]
    assert [h.halo_shape[2] for h in halos] == [(0, 1), (0, 0), (0, 0), (0, 0)]
    assert [h.interior[2] for h in halos] == [(0, 1), (2, 3), (3, 4), (4, 5)]
    assert halos[0].receive == [(1, ((0, 1), (0, 1), (3, 4)))] and halos[1].send == [(0, ((0, 1), (0, 1), (3, 4)))]


def test_bytes_and_messages_are_those_of_the_plan():
    def run(link):
        layer = DistributedMaxPool1d((link, (1, 1, 3)), 3, 2, 1)
        layer(torch.zeros(1, 1, 4))
        return layer.divided.traffic

    made = on_ranks(3, run)
    for rank, traffic in enumerate(made):
        halo = halo_shape([1, 1, 12], [1, 1, 3], rank, 3, 2, 1)
        assert traffic == {"forward": (len(halo.send), len(halo.receive), 4 * len(halo.send), 4 * len(halo.receive))}
    assert sum(t["forward"][0] for t in made) > 0


def test_buffers_are_views_that_outlive_the_pool():
    local = _core.LocalPool(_core.Pool("max", 3, 2, 1), "f32", [[0, 5, 6, 6, 10]], None, 1)
    (peer, data), _ = local.buffers("forward")[0]
    local.begin("forward", x=np.array([2.5], "f4"), y=np.empty(local.outputs[0][1] - local.outputs[0][0], "f4"))
    again = local.buffers("forward")[0][0][1]
    assert peer == 0 and data.view("f4").tolist() == [2.5] and np.shares_memory(data, again)
    del local, again
    assert data.view("f4").tolist() == [2.5]


@pytest.mark.parametrize("text,call", [
    ("the pass must be", lambda local: local.begin("sideways")),
    ("begin must be called first", lambda local: local.interior("forward")),
    ("begin must be called first", lambda local: local.finish("forward")),
    ("x must have the shape", lambda local: local.begin("forward", x=np.zeros(3, "f4"), y=np.zeros(2, "f4"))),
    ("y must be a writable array", lambda local: local.begin("forward", x=np.zeros(4, "f4"), y=[0.0, 0.0])),
    ("rank", lambda local: local.exchange("forward", 7)),
])
def test_the_plan_refuses(text, call):
    with pytest.raises(ValueError, match=text):
        call(_core.LocalPool(_core.Pool("sum", 2), "f32", [[0, 4, 8]], None, 0))
