"""Oriel's operators written in operators of PyTorch (oriel.torch.aten), beside the operators themselves."""

import io
import itertools

import pytest
import torch

import oriel.torch as ot
from oriel.torch import aten, operators
from oriel.torch.arguments import operator_arguments

OPS = [("max", None), ("min", None), ("avg", None), ("sum", None), ("lp", 1.0), ("lp", 2.0), ("lp", 3.5),
       ("lp", torch.inf)]
# kernel_size, stride, padding, dilation
WINDOWS = [
    ((3, 2), (2, 1), (1, 1), (1, 1)),
    ((2, 3), (2, 3), 0, (1, 1)),
    ((3, 2), (2, 2), ((1, 0), (1, 2)), (1, 1)),  # uneven, and more than half a window
    ((2, 2), (3, 2), ((3, 0), (0, 1)), (1, 2)),
    ((3, 3), (1, 2), "same", (1, 2)),
    ((2, 3), (2, 2), "same_lower", (1, 1)),
]


def rand(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def windows(rank, op, norm, window, axes=(-2, -1), ceil=False, include=True, divisor=None, omit=False):
    return operator_arguments(rank, op, *window, None, axes, ceil, include, divisor, norm, omit, 0)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("op, norm", OPS)
def test_windows(op, norm, window):
    x = rand(2, 3, 8, 9)
    x[0, 0, 3, 3] = torch.nan
    x[0, 0, 5, 5] = -torch.inf if op != "avg" else 1.0
    x[0, 1, 2, 2] = -0.0
    for ceil, include, divisor in itertools.product((False, True), (True, False), (None, 3)):
        if (op != "avg" and (not include or divisor)) or (ceil and isinstance(window[2], str)):
            continue
        arguments = windows(4, op, norm, window, ceil=ceil, include=include, divisor=divisor)
        torch.testing.assert_close(aten.pool(x, *arguments), operators.pool(x, *arguments), equal_nan=True)


@pytest.mark.parametrize("op, norm", OPS)
@pytest.mark.parametrize("shape, axes", [((3, 8, 9), (-2, -1)), ((8, 9), (-2, -1)), ((2, 8, 3, 9), (-3, -1)),
                                         ((8, 2, 3, 2, 9), (-5, -1)), ((2, 2, 2, 8, 9), (-2, -1))])
def test_any_axes(op, norm, shape, axes):
    x = rand(*shape)
    arguments = windows(x.dim(), op, norm, WINDOWS[2], axes=axes)
    torch.testing.assert_close(aten.pool(x, *arguments), operators.pool(x, *arguments))
    whole = operator_arguments(x.dim(), op, None, None, 0, 1, None, axes, False, True, None, norm, False, 0)
    torch.testing.assert_close(aten.pool(x, *whole), operators.pool(x, *whole))


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("op", ["max", "min", "avg"])
def test_windows_that_share_the_input(op, ndim):
    x = rand(2, 3, *(5, 7, 6)[:ndim])
    arguments = operator_arguments(x.dim(), op, None, None, 0, 1, (3, 2, 4)[:ndim], None, False, True, None, None,
                                   False, ndim)
    torch.testing.assert_close(aten.pool(x, *arguments), operators.pool(x, *arguments))


@pytest.mark.parametrize("op, norm", [case for case in OPS if case[0] != "avg"])
def test_nan_left_out(op, norm):
    x = rand(2, 3, 8, 9)
    x[:, :, 2:6, 2:6] = torch.nan
    arguments = windows(4, op, norm, WINDOWS[0], omit=True)
    torch.testing.assert_close(aten.pool(x, *arguments), operators.pool(x, *arguments))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
@pytest.mark.parametrize("op", ["max", "min"])
def test_integers(op, dtype):
    x = torch.randint(0, 100, (2, 3, 8, 9), generator=torch.Generator().manual_seed(0)).to(dtype)
    for window in WINDOWS:
        arguments = windows(4, op, None, window)
        assert torch.equal(aten.pool(x, *arguments), operators.pool(x, *arguments)), window


@pytest.mark.parametrize("op", ["max", "min"])
def test_indices(op):
    x = rand(2, 3, 8, 9).round(decimals=1)  # with equal elements
    for arguments in (windows(4, op, None, WINDOWS[0]), windows(4, op, None, WINDOWS[0], ceil=True),
                      operator_arguments(4, op, None, None, 0, 1, (3, 2), None, False, True, None, None, False, 2)):
        for got, expected in zip(aten.pool_with_indices(x, *arguments), operators.pool_with_indices(x, *arguments)):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("axes", [(-2, -1), (-3, -1), (-1,)])
def test_unpool(axes):
    x = rand(2, 3, 8, 9)
    y, indices = ot.max_pool(x, (2,) * len(axes), axes=axes, return_indices=True)
    shape = list(x.shape)
    indices[0, 0, 0, 0] = -1
    expected = operators.unpool(y, indices, shape, list(axes))
    assert torch.equal(aten.unpool(y, indices, shape, list(axes)), expected) and expected.count_nonzero() > 9


def test_what_has_no_such_form():
    x = rand(1, 1, 8, 9)
    for call, arguments in [
        (aten.pool, (x, *windows(4, "avg", None, WINDOWS[0], omit=True))),
        (aten.pool, (x.long(), *windows(4, "avg", None, WINDOWS[0]))),
        (aten.pool, (x > 0, *windows(4, "max", None, WINDOWS[0]))),
        (aten.pool, (x, *operator_arguments(4, "sum", None, None, 0, 1, 2, None, False, True, None, None, False, 2))),
        (aten.pool, (rand(4, 4, 4, 4), *operator_arguments(4, "max", 2, 2, 0, 1, None, (0, 1, 2, 3), False, True, None,
                                                           None, False, 0))),
        (aten.pool_with_indices, (x, *windows(4, "max", None, WINDOWS[2]))),
        (aten.pool_with_indices, (x, *windows(4, "max", None, WINDOWS[0], omit=True))),
    ]:
        assert call(*arguments) is NotImplemented


def test_exported_programs():
    """Dynamic sizes, saved and loaded; what has no form stays Oriel's."""
    class Net(torch.nn.Module):
        def forward(self, x):
            y, indices = ot.max_pool2d(x, 2, return_indices=True)
            z = ot.max_unpool(y, indices, 2, output_size=x.shape[2:], axes=(2, 3))
            return (ot.max_pool2d(x, 3, 2, 1, ceil_mode=True), ot.min_pool2d(x, 3, 2, ((1, 0), (0, 2))),
                    ot.avg_pool2d(x, 3, 2, ((2, 0), (0, 1)), count_include_pad=False), ot.lp_pool2d(x, 2, 3, 1), z,
                    ot.global_sum_pool(x), ot.adaptive_max_pool2d(x, 2))

    dims = {0: torch.export.Dim("batch", min=1, max=64), 2: torch.export.Dim("h", min=9, max=512),
            3: torch.export.Dim("w", min=9, max=512)}
    program = torch.export.export(Net(), (rand(2, 3, 12, 13),), dynamic_shapes=(dims,))
    plain = program.run_decompositions(ot.decompositions())
    assert "oriel" in str(program.graph) and "oriel" not in str(plain.graph)
    buffer = io.BytesIO()
    torch.export.save(plain, buffer)
    buffer.seek(0)
    x = rand(3, 3, 20, 17)
    for got, expected in zip(torch.export.load(buffer).module()(x), Net()(x), strict=True):
        torch.testing.assert_close(got, expected)

    class Rest(torch.nn.Module):
        def forward(self, x):
            return ot.adaptive_sum_pool(x, 2)

    program = torch.export.export(Rest(), (x,)).run_decompositions(ot.decompositions())
    assert "oriel.pool" in str(program.graph) and torch.equal(program.module()(x), Rest()(x))
