"""oriel.torch under PyTorch's transforms: opcheck, torch.compile, torch.export, torch.func, forward mode, autocast,
tracing.
"""

import io
import itertools

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.func import grad, jacfwd, jacrev, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

import oriel
import oriel.torch as ot
from oriel.torch import operators
from oriel.torch.arguments import operator_arguments, output_extent

KINDS = [("max", None), ("min", None), ("avg", None), ("sum", None), ("lp", 1.0), ("lp", 1.5), ("lp", 2.0), ("lp", 3.0),
         ("lp", torch.inf)]


def rand(*shape, seed=0, dtype=torch.float64, **options):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_(
        options.get("requires_grad", False))


def arguments(op, norm=None, kernel=(3, 2), stride=(2, 1), padding=((1, 0), (1, 2)), dilation=(1, 2), omit_nan=False):
    """An awkward pool of the last two axes of a 4-D tensor, as the operators take it."""
    return operator_arguments(4, op, kernel, stride, padding, dilation, None, None, True, True, None, norm, omit_nan, 0)


def every_pool(x):
    """Every kind of pool of (N, C, H, W), in one number."""
    y, indices = ot.max_pool2d(x, 2, return_indices=True)
    parts = [
        ot.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        ot.min_pool2d(x, 2, 1, "same"),
        ot.avg_pool2d(x, 3, 2, 1, True, False),
        ot.sum_pool2d(x, 2, dilation=2),
        ot.lp_pool2d(x, 3, 2, ceil_mode=True),
        ot.adaptive_max_pool2d(x, (3, 2)),
        ot.adaptive_avg_pool2d(x, (None, 2)),
        ot.global_avg_pool(x),
        ot.max_unpool2d(y, indices, 2, output_size=x.shape[2:])
    ]
    return sum(part.square().mean() for part in parts)


# -- torch.library


@pytest.mark.parametrize("op, norm", KINDS)
def test_opcheck(op, norm):
    x = rand(2, 2, 5, 6, requires_grad=True)
    pool = arguments(op, norm)
    torch.library.opcheck(operators.pool, (x, *pool))
    dy = torch.randn_like(operators.pool(x, *pool)).detach().requires_grad_()
    torch.library.opcheck(operators.pool_backward,
                          (dy, None if op in ("avg", "sum") else x, list(x.shape), False, *pool))
    if op in ("max", "min"):
        torch.library.opcheck(operators.pool_with_indices, (x, *pool))
        torch.library.opcheck(operators.pool_with_codes, (x, *pool))
        codes = operators.pool_with_codes(x, *pool)[1]
        torch.library.opcheck(operators.pool_codes_backward, (dy, codes, list(x.shape), False, *pool))


def test_opcheck_of_unpool():
    y, indices = ot.max_pool2d(rand(2, 2, 5, 6), 2, return_indices=True)
    torch.library.opcheck(operators.unpool, (y.requires_grad_(), indices, [2, 2, 5, 6], [-2, -1]))


def test_sizes_without_branches_are_the_engines():
    """The formula that symbolic sizes go through, for every small axis."""
    checked = 0
    for n, k, s, lo, hi, d, ceil in itertools.product(range(1, 9), range(1, 5), range(1, 5), range(6), range(6),
                                                      (1, 2, 3), (False, True)):
        if n + lo + hi < d * (k - 1) + 1:
            continue
        expected = oriel.Pool("max", k, s, [(lo, hi)], d, axes=-1, ceil_mode=ceil).output_shape((n,))[0]
        assert output_extent(n, k, s, lo, hi, d, False, ceil) == expected, (n, k, s, lo, hi, d, ceil)
        checked += 1
        if lo == hi == ceil == 0:
            expected = oriel.Pool("max", k, s, "same", d, axes=-1).output_shape((n,))[0]
            assert output_extent(n, k, s, 0, 0, d, True, False) == expected, (n, k, s, d)
    assert checked > 20000


def layouts():
    x = rand(2, 4, 6, 6)
    yield from (x, x.contiguous(memory_format=torch.channels_last), x[:, :1],
                x.contiguous(memory_format=torch.channels_last)[:, :1], x[:1], x[..., :1],
                x.permute(3, 2, 1, 0), x[:, :, ::2], x[0], x[:0], x.expand(3, 2, 4, 6, 6), rand(2, 3, 4, 5, 6),
                rand(2, 3, 4, 5, 6).contiguous(memory_format=torch.channels_last_3d), x[:, :, :1, :1],
                x.contiguous(memory_format=torch.channels_last)[:, :, :1, :1], x[:1, :1, :1, :1],
                x[:1].expand(2, 4, 6, 6))


@pytest.mark.parametrize("x", list(layouts()), ids=lambda x: f"{tuple(x.shape)}-{x.stride()}")
@pytest.mark.parametrize("op", ["max", "avg"])
def test_fake_results_have_the_strides_of_real_ones(op, x):
    """torch.compile relies on them."""
    def results(x):
        pool = operator_arguments(x.dim(), op, (1, 1), (1, 1), 0, 1, None, None, False, True, None, None, False, 0)
        y = operators.pool(x, *pool)
        yield y
        yield operators.pool_backward(y, x, x.shape, False, *pool)
        if op == "max":
            yield from operators.pool_with_indices(x, *pool)
            y, codes = operators.pool_with_codes(x, *pool)
            yield from (y, codes)
            for channels_last in {False, x.dim() in (4, 5)}:
                yield operators.pool_codes_backward(y, codes, x.shape, channels_last, *pool)
        else:
            yield operators.pool_backward(y, None, x.shape, False, *pool)

    for real, fake in zip(results(x), results(x.to("meta")), strict=True):
        assert (real.shape, real.stride(), real.dtype) == (fake.shape, fake.stride(), fake.dtype)


# -- torch.compile and torch.export


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(dynamic):
    torch._dynamo.reset()
    compiled = torch.compile(every_pool, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for shape in ((2, 3, 9, 10), (3, 2, 12, 7)):
        x = rand(*shape, requires_grad=True)
        torch.testing.assert_close(compiled(x), every_pool(x))
        torch.testing.assert_close(torch.autograd.grad(compiled(x), x), torch.autograd.grad(every_pool(x), x))


def test_compile_once_for_all_sizes():
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: ot.max_pool2d(x, 3, 2, 1, ceil_mode=True), fullgraph=True, backend=counter,
                             dynamic=True)
    for shape in ((2, 3, 9, 10), (3, 2, 12, 7), (4, 5, 30, 31)):
        x = rand(*shape)
        assert torch.equal(compiled(x), ot.max_pool2d(x, 3, 2, 1, ceil_mode=True))
    assert counter.frame_count == 1


def test_compile_with_a_window_of_symbolic_size():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: ot.avg_pool2d(x, x.shape[2:]), fullgraph=True, backend="aot_eager", dynamic=True)
    for shape in ((2, 3, 9, 10), (3, 2, 12, 7)):
        torch.testing.assert_close(compiled(rand(*shape)), rand(*shape).mean((2, 3), keepdim=True))


def test_compile_keeps_the_layout():
    torch._dynamo.reset()
    x = rand(2, 3, 9, 10, dtype=torch.float32).contiguous(memory_format=torch.channels_last)
    y = torch.compile(lambda x: ot.max_pool2d(x, 3, 2, 1) + 1, fullgraph=True, backend="aot_eager")(x)
    assert y.is_contiguous(memory_format=torch.channels_last)


def test_compile_refuses_what_eager_refuses():
    torch._dynamo.reset()
    with pytest.raises(Exception, match="stride must be >= 1"):
        torch.compile(lambda x: ot.max_pool2d(x, 2, 0), fullgraph=True, backend="aot_eager")(rand(1, 1, 4, 4))
    with pytest.raises(Exception, match="kernel_size must be an int or a sequence of ints"):
        torch.compile(lambda x: ot.max_pool2d(x, "2"), fullgraph=True, backend="aot_eager")(rand(1, 1, 4, 4))


@pytest.mark.filterwarnings("ignore")
def test_inductor():
    torch._dynamo.reset()
    layer = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), ot.MaxPool2d(3, 2, 1), torch.nn.ReLU(), ot.AvgPool2d(2),
                                ot.AdaptiveAvgPool2d(1))
    x = rand(2, 3, 12, 13, dtype=torch.float32)
    compiled = torch.compile(layer, fullgraph=True)
    expected = torch.autograd.grad(layer(x).square().sum(), list(layer.parameters()))
    torch.testing.assert_close(compiled(x), layer(x))
    torch.testing.assert_close(torch.autograd.grad(compiled(x).square().sum(), list(layer.parameters())), expected)


@pytest.mark.parametrize("strict", [False, True])
def test_export(strict):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), ot.MaxPool2d(3, 2, 1, ceil_mode=True),
                                ot.LPPool2d(torch.inf, 2), ot.AdaptiveAvgPool2d(2))
    sizes = {
        0: torch.export.Dim("batch", min=1, max=64), 2: torch.export.Dim("h", min=9, max=512),
        3: torch.export.Dim("w", min=9, max=512)
    }
    exported = torch.export.export(model, (rand(2, 3, 12, 13, dtype=torch.float32),), dynamic_shapes=(sizes,),
                                   strict=strict)
    buffer = io.BytesIO()
    torch.export.save(exported, buffer)
    buffer.seek(0)
    loaded = torch.export.load(buffer)
    x = rand(5, 3, 20, 31, dtype=torch.float32)
    assert torch.equal(exported.module()(x), model(x)) and torch.equal(loaded.module()(x), model(x))
    assert "oriel.pool" in str(exported.graph)


# -- torch.func and gradients


@pytest.mark.parametrize("op, norm", KINDS)
def test_gradcheck(op, norm):
    """Backward, its backward, forward mode, and forward mode of backward; through the operator and past the dispatcher.
    """
    x = rand(2, 2, 5, 6, requires_grad=True)
    pool = arguments(op, norm)
    for function in (lambda t: operators.pool(t, *pool), lambda t: ot.run.pool(t, op, (3, 2), (2, 1), (
        (1, 0), (1, 2)), (1, 2), None, None, True, True, None, norm, False, 0)):
        assert torch.autograd.gradcheck(function, x, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(function, x, check_fwd_over_rev=True, check_rev_over_rev=True)


@pytest.mark.parametrize("op", ["max", "avg", "sum", "lp"])
def test_gradcheck_of_adaptive_and_global_pools(op):
    x = rand(2, 5, 7, requires_grad=True)
    norm = {"norm_type": 2.5} if op == "lp" else {}
    for function in (lambda t: getattr(ot, f"adaptive_{op}_pool")
                     (t, output_size=(2, 3), **norm), lambda t: getattr(ot, f"global_{op}_pool")
                     (t, axes=(0, -1), **norm)):
        assert torch.autograd.gradcheck(function, x, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(function, x)


def test_gradcheck_of_indices_and_unpool():
    x = rand(2, 3, 5, 6, requires_grad=True)

    def there_and_back(t):
        y, indices = ot.max_pool2d(t, 3, 2, return_indices=True)  # windows overlap: some elements are named twice
        return ot.max_unpool(y * y, indices, 3, 2, output_size=(5, 6), axes=(2, 3))

    assert torch.autograd.gradcheck(there_and_back, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(there_and_back, x)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_derivatives_of_lp_pools_are_finite_at_zero(p):
    x = torch.tensor([[0.0, 0, 0, 0, -2, 1.5]], dtype=torch.float64, requires_grad=True)
    y = ot.lp_pool1d(x, p, 2)
    dy = torch.ones_like(y, requires_grad=True)
    dx = torch.autograd.grad(y, x, dy, create_graph=True)[0]
    from_x, from_dy = torch.autograd.grad(dx.square().sum() + dx.sum(), (x, dy), allow_unused=p == 1)
    assert y.tolist()[0][:2] == [0, 0] and dx.isfinite().all() and from_dy.isfinite().all()
    assert p == 1 or from_x.isfinite().all()
    assert (dx[0, :4] == 0).all() and (dx[0, 4:] != 0).all()


@pytest.mark.parametrize("in_dim", range(4))
def test_vmap_over_each_axis(in_dim):
    x = rand(3, 4, 5, 6)
    functions = [
        lambda t: ot.max_pool(t, (2, 3), (1, 2)), lambda t: ot.avg_pool(t, (2, 3), padding=1),
        lambda t: ot.lp_pool(t, 3, (2, 2)), lambda t: ot.max_pool(t, (2, 2), return_indices=True)[1].double(),
        lambda t: ot.adaptive_max_pool(t, (2, 2)), lambda t: ot.max_unpool(*ot.max_pool(t, (2, 2), return_indices=True),
                                                                           (2, 2), output_size=(9, 9))
    ]
    for function in functions:
        expected = torch.stack([function(part) for part in x.unbind(in_dim)], in_dim)
        assert torch.equal(vmap(function, in_dim, in_dim)(x), expected)
        loss = lambda t: function(t).square().sum()  # noqa: E731
        expected = torch.stack([grad(loss)(part) for part in x.unbind(in_dim)])
        assert torch.equal(vmap(grad(loss), in_dim)(x), expected)
        assert torch.equal(grad(lambda t: vmap(loss, in_dim)(t).sum())(x), expected.movedim(0, in_dim))


def test_vmap_of_one_argument_of_two():
    x = rand(4, 6)
    y, indices = ot.max_pool(x, (2, 2), return_indices=True)
    many = torch.stack([y, 2 * y, 3 * y])
    assert torch.equal(
        vmap(lambda t: ot.max_unpool(t, indices, (2, 2)))(many)[2], ot.max_unpool(3 * y, indices, (2, 2)))
    y = ot.max_pool(x.requires_grad_(), (2, 2))
    rows = vmap(lambda dy: torch.autograd.grad(y, x, dy, retain_graph=True)[0])(many)
    assert torch.equal(rows[1], 2 * rows[0]) and torch.equal(rows[0], torch.autograd.grad(y, x, many[0])[0])


@pytest.mark.parametrize("op, norm", [("max", None), ("avg", None), ("lp", 3.0), ("lp", 1.5), ("lp", torch.inf)])
def test_second_derivatives_agree_in_every_order_of_modes(op, norm):
    """A lost tangent or level shows as a difference."""
    x = rand(1, 4, 5)
    pool = getattr(ot, f"{op}_pool2d")
    loss = lambda t: (pool(t, norm, 3, 1) if norm else pool(t, 3, 1)).square().sum()  # noqa: E731
    expected = torch.autograd.functional.hessian(loss, x)
    assert expected.abs().max() > 0.01
    for outer, inner in itertools.product((jacfwd, jacrev), repeat=2):
        torch.testing.assert_close(outer(inner(loss))(x), expected)
    v = rand(1, 4, 5, seed=1)
    torch.testing.assert_close(jvp(grad(loss), (x,), (v,))[1], torch.einsum("abcdef,def->abc", expected, v))


def test_dual_numbers():
    x, v = rand(1, 2, 4, 4), rand(1, 2, 4, 4, seed=1)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(ot.avg_pool2d(forward_ad.make_dual(x, v), 2)).tangent
    torch.testing.assert_close(tangent, F.avg_pool2d(v, 2))


# -- Everything else that watches calls


def test_autocast_changes_no_dtype():
    x = rand(1, 3, 8, 8, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert ot.avg_pool2d(x, 2).dtype == torch.float32
        assert operators.pool(x, *arguments("avg")).dtype == torch.float32
        half = torch.nn.functional.conv2d(x, x)
        assert half.dtype == torch.bfloat16 and ot.max_pool2d(half, 1).dtype == torch.bfloat16


def test_inference_mode():
    x = rand(1, 3, 8, 8, requires_grad=True)
    with torch.inference_mode():
        y = ot.max_pool2d(x, 2)
    assert y.is_inference() and not y.requires_grad and torch.equal(y, F.max_pool2d(x, 2))


def test_no_grad_and_detached_inputs_make_no_graph():
    x = rand(1, 3, 8, 8, requires_grad=True)
    with torch.no_grad():
        assert not ot.max_pool2d(x, 2).requires_grad
    assert not ot.max_pool2d(x.detach(), 2).requires_grad
    assert ot.max_pool2d(torch.nn.Parameter(x.detach()), 2).requires_grad


def test_inputs_changed_in_place_are_noticed():
    x = rand(1, 3, 8, 8, requires_grad=True) * 1
    y = ot.max_pool2d(x, 2)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_activation_checkpoints():
    x = rand(1, 3, 8, 8, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda t: ot.max_pool2d(t * 2, 2).sin(), x, use_reentrant=False)
    expected = torch.autograd.grad(ot.max_pool2d(x * 2, 2).sin().sum(), x)[0]
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], expected)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_tracers_record_the_call():
    layer, x, other = ot.MaxPool2d(3, 2, 1), rand(1, 2, 8, 8), rand(1, 2, 8, 8, seed=1)
    assert torch.equal(torch.fx.symbolic_trace(torch.nn.Sequential(layer))(other), layer(other))
    assert torch.equal(torch.jit.trace(layer, x)(other), layer(other))
    assert "oriel.pool" in make_fx(lambda t: ot.max_pool2d(t, 2), tracing_mode="symbolic")(x).code
    assert "oriel.pool_backward" in make_fx(grad(lambda t: ot.max_pool2d(t, 2).sum()))(x).code


def test_subclasses_and_modes_see_the_call():
    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    seen = []
    y = ot.max_pool2d(rand(1, 2, 4, 4).as_subclass(Logged), 2)
    assert ot.run.pool in seen and isinstance(y, Logged)
    assert ot.max_pool2d(rand(1, 2, 4, 4).to("meta"), 2).shape == (1, 2, 2, 2)


def test_saved_tensor_hooks():
    packed = []
    x = rand(1, 1, 4, 4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = ot.max_pool2d(x, 2)
    assert packed[0].data_ptr() == x.data_ptr() and all(t.dtype == torch.uint8 for t in packed[1:])  # codes
    kept = len(packed)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        ot.avg_pool2d(x, 2)
    assert len(packed) == kept and y.requires_grad  # an average keeps a shape alone
