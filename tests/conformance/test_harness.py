"""The harness notices: functions that are wrong in one way are reported, PyTorch's and JAX's own are not."""

import jax_run  # before jax: it chooses the platform
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jax_gradients
import torch_cases
import torch_run
import window_oracle
from jax_lists import WINDOWS, Window, differentiated

F = torch.nn.functional
FEW = WINDOWS[::17]


def info_of(name):
    return next(info for info in torch_cases.POOLS if torch_cases.operator_name(info) == name)


def peers_own(name):
    return info_of(name).op


def run(name, change, dtype=torch.float32):
    """The tallies of an operator with `change(PyTorch's function)` in the place of Oriel's."""
    return torch_run.run_operator(info_of(name), lambda name: change(peers_own(name)), dtypes=[dtype])


@pytest.mark.parametrize(
    "name",
    [
        "adaptive_avg_pool2d",
        "adaptive_max_pool2d",
        "avg_pool2d",
        "avg_pool3d",
        "adaptive_max_pool1d",
        "max_unpool1d",
        "max_unpool2d (grad)",
    ],
)
def test_pytorch_in_its_own_place_passes(name):
    for dtype in torch_cases.dtypes_of(info_of(name))[:2]:
        for tally in run(name, lambda function: function, dtype):
            assert tally.cases == tally.passed > 0 and not tally.known and not tally.failed


def first(result, change):
    return (change(result[0]), *result[1:]) if isinstance(result, tuple) else change(result)


class OnceDifferentiable(torch.autograd.Function):
    """Passes x on; its gradient cannot be differentiated."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        return dy


def cut(function):
    """Cuts the gradient's graph where it has been computed."""
    return lambda x, *a, **k: function(OnceDifferentiable.apply(x), *a, **k)


def shifted_indices(function):
    def changed(x, *a, **k):
        result = function(x, *a, **k)
        return (result[0], result[1] + 1) if isinstance(result, tuple) else result

    return changed


WRONG = {
    "value one step off": (
        "adaptive_max_pool2d",
        torch.float32,
        lambda f: lambda *a, **k: first(
            f(*a, **k), lambda y: y + (torch.nextafter(y.detach(), torch.tensor(torch.inf)) - y.detach())
        ),
    ),
    "average 4 ten thousandths off": ("avg_pool2d", torch.float32, lambda f: lambda *a, **k: f(*a, **k) * 1.0004),
    "average of float64 in float32": (
        "avg_pool1d",
        torch.float64,
        lambda f: lambda x, *a, **k: f(x.float(), *a, **k).double(),
    ),
    "index one off": ("adaptive_max_pool1d", torch.float64, shifted_indices),
    "gradient doubled": (
        "adaptive_max_pool1d",
        torch.float32,
        lambda f: lambda x, *a, **k: f(2 * x - x.detach(), *a, **k),
    ),
    "gradient doubled, bfloat16": (
        "adaptive_max_pool3d",
        torch.bfloat16,
        lambda f: lambda x, *a, **k: f(2 * x - x.detach(), *a, **k),
    ),
    "gradient of an average doubled": (
        "avg_pool3d",
        torch.float64,
        lambda f: lambda x, *a, **k: f(2 * x - x.detach(), *a, **k),
    ),
    "no second gradient": ("adaptive_max_pool3d", torch.float32, cut),
    "dtype": ("adaptive_avg_pool1d", torch.float16, lambda f: lambda x, *a, **k: f(x.float(), *a, **k)),
    "integers halved upwards": (
        "avg_pool1d",
        torch.int64,
        lambda f: lambda x, *a, **k: torch.floor(f(x.double(), *a, **k) + 0.5).long(),
    ),
    "batch axis added": ("max_unpool1d", torch.float32, lambda f: lambda *a, **k: f(*a, **k).unsqueeze(0)),
    "earlier element stays": ("max_unpool1d", torch.float32, lambda f: lambda x, i, **k: f(x * earlier(i), i, **k)),
    "everything refused": (
        "adaptive_avg_pool3d",
        torch.float32,
        lambda f: lambda *a, **k: (_ for _ in ()).throw(ValueError("no")),
    ),
    "nothing that is not contiguous": (
        "adaptive_avg_pool2d",
        torch.float32,
        lambda f: lambda x, *a, **k: (
            f(x.contiguous(), *a, **k) if x.is_contiguous() else (_ for _ in ()).throw(ValueError("no"))
        ),
    ),
}


def earlier(indices):
    """1 where no earlier element of the row has the same index, else 0."""
    equal = indices.unsqueeze(-1) == indices.unsqueeze(-2)
    before = torch.ones(equal.shape[-2:], dtype=torch.bool).tril(-1)
    return (~(equal & before).any(-1)).float()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_reported(name):
    operator, dtype, change = WRONG[name]
    assert run(operator, change, dtype)[0].failed


def test_results_that_lose_their_memory_format_are_reported():
    tally = run("max_pool2d", lambda f: lambda *a, **k: first(f(*a, **k), torch.Tensor.contiguous), torch.float16)[0]
    assert tally.failed and all("strides" in line for line in tally.failed)


def test_accepting_everything_is_reported():
    def accepts(function):
        def changed(x, *a, **k):
            try:
                return function(x, *a, **k)
            except (RuntimeError, ValueError, TypeError):
                return torch.zeros(1)

        return changed

    errors = run("avg_pool3d", accepts)[-1]
    assert errors.part == torch_run.OPERATOR_ERRORS and len(errors.failed) == errors.cases == 6


def test_excuses_are_for_what_they_say_only():
    """Gradients rounded once are excused in float16; the same gradients one step further are not."""

    def once(f):
        return lambda x, *a, **k: f(x.float(), *a, **k).to(x.dtype)

    tally = run("adaptive_avg_pool3d", once, torch.float16)[0]
    assert tally.differing and not tally.failed
    further = run("adaptive_avg_pool3d", lambda f: lambda *a, **k: once(f)(*a, **k) * 1.01, torch.float16)[0]
    assert further.failed


class Scaled(torch.nn.Module):
    """A module of PyTorch whose results are 1.5 times too large."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return first(self.module(x), lambda y: 1.5 * y)


@pytest.mark.parametrize("info", torch_cases.MODULES[::3], ids=torch_cases.module_name)
def test_a_wrong_module_is_reported(info):
    own = torch_run.run_module(info, lambda name: getattr(torch.nn, name))
    assert own[0].passed == own[0].cases > 0
    wrong = torch_run.run_module(info, lambda name: lambda *a, **k: Scaled(getattr(torch.nn, name)(*a, **k)))
    assert len(wrong[0].failed) == wrong[0].cases


def failed(tallies, group):
    return next(tally.failed for tally in tallies if tally.group == group)


def numpy_windows(change):
    """The definition in NumPy in the place of oriel.reduce_window, its arguments changed."""

    def reduce_window(x, init, op, *rest):
        return window_oracle.reduce_window(np.asarray(x), init, op, *change(Window(x.shape, *rest))[1:])

    return reduce_window


def test_jax_in_its_own_place_is_said_to_be_handed_on():
    tallies = jax_run.run_values(lax.reduce_window, numpy_windows(lambda window: window), ops=("add",), windows=FEW)
    assert not failed(tallies, "values, compiled") and not failed(tallies, "values, oriel.reduce_window")
    assert len(failed(tallies, "computed by Oriel, not handed to jax.lax")) == len(FEW)


@pytest.mark.parametrize(
    "change",
    [
        lambda window: window._replace(base_dilation=(1,) * len(window.shape)),
        lambda window: window._replace(window_dilation=(1,) * len(window.shape)),
        lambda window: window._replace(padding="VALID"),
        lambda window: window._replace(strides=(1,) * len(window.shape)),
    ],
    ids=["no base dilation", "no window dilation", "no padding", "no strides"],
)
@pytest.mark.parametrize("op", ["add", "max"])
def test_windows_that_forget_an_argument_are_reported(op, change):
    assert failed(
        jax_run.run_values(lax.reduce_window, numpy_windows(change), ops=(op,), windows=FEW),
        "values, oriel.reduce_window",
    )
    assert jax_run.run_dtypes(numpy_windows(change), windows=FEW)[0].failed


def doubled(operand, init, computation, *rest):
    """lax.reduce_window with right values and gradients twice too large."""
    return lax.reduce_window(2 * operand - lax.stop_gradient(operand), init, computation, *rest)


def test_wrong_derivatives_are_reported():
    windows = differentiated("max")[:36:17]
    assert all(tally.failed for tally in jax_gradients.run_gradients("max", doubled, windows=windows))
    assert all(tally.failed for tally in jax_gradients.run_differences("add", doubled, windows=windows))
    assert all(tally.failed for tally in jax_gradients.run_custom("add", doubled, windows=windows))
    assert not any(tally.failed for tally in jax_gradients.run_gradients("max", lax.reduce_window, windows=windows))
    assert not any(tally.failed for tally in jax_gradients.run_differences("add", lax.reduce_window, windows=windows))


def test_wrong_batching_is_reported():
    """Along mapped axes this one sums in the wrong order of axes."""

    @jax.custom_batching.custom_vmap
    def pooled(x):
        return lax.reduce_window(x, -np.inf, lax.max, (2, 1), (1, 1), "VALID")

    @pooled.def_vmap
    def _(size, batched, x):
        return jnp.flip(jax.vmap(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 1), (1, 1), "VALID"))(x), 0), True

    window = Window((4, 6), (2, 1), (1, 1), "VALID", (1, 1), (1, 1))
    assert jax_run.run_vmap(lambda x, *_: pooled(x), ops=("max",), windows=[window])[0].failed
    assert not jax_run.run_vmap(lax.reduce_window, ops=("max",), windows=[window])[0].failed


def test_calls_that_fail_otherwise_are_reported():
    accepting = jax_run.run_failures(lambda *_: None, lambda *_: None)
    assert all(len(tally.failed) == tally.cases == 4 for tally in accepting)

    def fails(*_):
        raise ValueError("no")

    words, arrays = jax_run.run_failures(fails, fails)
    assert len(words.failed) == 4 and not arrays.failed
