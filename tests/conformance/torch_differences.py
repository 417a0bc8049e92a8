"""Where Oriel differs from PyTorch by design: each reason with a predicate that recomputes what the difference must be.

The reasons are those of docs/semantics.md, "Where others differ". A predicate never looks at the operator alone: it
says that a result is the one that the rule gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch._prims_common import suggest_memory_format

from torch_cases import NARROW, Case
from torch_compare import Difference, agree, random_like, run, same_bits


def rounds_every_addition(difference: Difference) -> bool:
    """PyTorch's own result in float32, rounded once, is Oriel's; in float16 and bfloat16 PyTorch's is not."""
    case, what = difference.case, difference.what
    if case.x.dtype not in NARROW or what not in ("values", "gradient", "second gradient"):
        return False
    wide = replace(case, x=case.x.float())
    # The numbers that run() draws for dy are rounded to x's dtype, so the wide call must draw those and not finer ones.
    expected = _in_float32(wide, case.x.dtype)[what]
    return agree(case, what, expected.to(case.x.dtype), difference.ours)


def _in_float32(wide: Case, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    x = wide.x.detach().requires_grad_()
    results = wide.theirs(x, *wide.args, **wide.kwargs)
    y = results[0] if isinstance(results, tuple) else results
    dy = random_like(y.detach().to(dtype), 1).float().requires_grad_()
    (gradient,) = torch.autograd.grad(y, x, dy, create_graph=True)
    (second,) = torch.autograd.grad(gradient, dy, random_like(x.detach().to(dtype), 2).float())
    return {"values": y.detach(), "gradient": gradient.detach(), "second gradient": second}


def truncates_integers(difference: Difference) -> bool:
    """PyTorch's result is the exact quotient truncated, Oriel's is it rounded half to even."""
    case = difference.case
    if case.x.dtype != torch.int64 or difference.what != "values" or case.kind != "avg":
        return False
    exact = case.theirs(case.x.double(), *case.args, **case.kwargs)
    return torch.equal(exact.trunc().long(), difference.theirs) and torch.equal(exact.round().long(), difference.ours)


def unpools_once(difference: Difference) -> bool:
    """Where two elements go to one place, the later one stays and has the gradient; in PyTorch both have it."""
    case = difference.case
    if case.kind != "unpool" or difference.what not in ("gradient", "second gradient"):
        return False
    later = _is_last_of_its_place(case.args[0], case.ndim)
    if bool(later.all()):
        return False
    if difference.what == "gradient":
        return same_bits(torch.where(later, difference.theirs, torch.zeros_like(difference.theirs)), difference.ours)
    # The second gradient unpools a random tensor: of the elements that go to one place the last one must be there.
    return _unpooled_once(case, later, difference.ours)


def _unpooled_once(case: Case, later: torch.Tensor, ours: torch.Tensor) -> bool:
    v = random_like(case.x, 2).flatten(-case.ndim)
    indices, stays, expected = (
        case.args[0].flatten(-case.ndim),
        later.flatten(-case.ndim),
        torch.zeros_like(ours).flatten(-case.ndim),
    )
    for plane in _planes(indices):
        kept = stays[plane]
        expected[plane][indices[plane][kept]] = v[plane][kept]
    return same_bits(expected.reshape(ours.shape), ours)


def _planes(flat: torch.Tensor) -> list[tuple[int, ...]]:
    return [
        tuple(map(int, place))
        for place in torch.cartesian_prod(*(torch.arange(n) for n in flat.shape[:-1])).reshape(-1, flat.dim() - 1)
    ]


def _is_last_of_its_place(indices: torch.Tensor, ndim: int) -> torch.Tensor:
    """Whether no later element of the plane has the same index."""
    flat = indices.flatten(-ndim)
    equal = flat.unsqueeze(-1) == flat.unsqueeze(-2)
    after = torch.ones(flat.shape[-1], flat.shape[-1], dtype=torch.bool).triu(1)
    return ~(equal & after).any(-1).reshape(indices.shape)


def keeps_the_memory_format(difference: Difference) -> bool:
    """The gradient of unpooling is channels last where its input is; PyTorch gathers it into a contiguous tensor."""
    x, ours = difference.case.x, difference.ours
    if (
        difference.case.kind != "unpool"
        or difference.what != "strides"
        or "gradient: strides" not in difference.text
        or x.dim() != 4
    ):
        return False
    return (
        difference.theirs.is_contiguous()
        and ours.is_contiguous(memory_format=torch.channels_last)
        and suggest_memory_format(x) == torch.channels_last
    )


def refuses_negative_divisors(difference: Difference) -> bool:
    """An average's divisor must be >= 1."""
    if difference.what != "refused" or "a result there" not in difference.text:
        return False
    divisors = [difference.case.kwargs.get("divisor_override"), *difference.case.args[5:]]
    return (
        any(divisor is not None and divisor < 0 for divisor in divisors)
        and "divisor_override must be >= 1" in difference.text
    )


def takes_powers_of_absolute_values(difference: Difference) -> bool:
    """Oriel's result is PyTorch's on |x|; PyTorch takes powers of negative numbers."""
    case = difference.case
    if (
        case.kind != "lp"
        or difference.what not in ("values", "gradient", "second gradient")
        or not bool((case.x < 0).any())
    ):
        return False
    outcome = run(lambda x, *args, **kwargs: case.theirs(x.abs(), *args, **kwargs), case)
    candidates = {
        "values": outcome.results[:1],
        "gradient": (outcome.gradient,),
        "second gradient": (outcome.second, outcome.second_x),
    }
    return any(
        c is not None and c.shape == difference.ours.shape and agree(case, difference.what, c.detach(), difference.ours)
        for c in candidates[difference.what]
    )


REASONS: tuple[tuple[str, Callable[[Difference], bool]], ...] = (
    ("PyTorch rounds sums of float16 and bfloat16 (some means; gradients of overlapping windows) after every addition, Oriel once (S7)", rounds_every_addition),
    ("PyTorch truncates averages of int64, Oriel rounds them half to even (S7)", truncates_integers),
    (
        "of two elements unpooled to one place Oriel's later one has the gradient, in PyTorch both have it (S10)",
        unpools_once,
    ),
    ("the gradient of unpooling is channels last where its input is; PyTorch's is contiguous", keeps_the_memory_format),
    ("a negative divisor is refused", refuses_negative_divisors),
    ("PyTorch sums x^p, Oriel |x|^p (S7)", takes_powers_of_absolute_values),
)


def reason_of(difference: Difference) -> str | None:
    """Why the difference is right, or None."""
    return next((reason for reason, holds in REASONS if holds(difference)), None)


def pads_as_told(case: Case, results: tuple[torch.Tensor, ...], why: str) -> bool:
    """Padding of more than half a window: Oriel's result is PyTorch's on an input that was padded beforehand.

    PyTorch's samples have no elements; so the values are compared on a stand-in that has some.
    """
    padding, kwargs = case.kwargs.get("padding"), {**case.kwargs, "padding": 0}
    if "pad should be at most half" not in why or not isinstance(padding, int) or padding < 1:
        return False
    if case.kind == "max":
        kwargs["return_indices"] = False
    planes, pooled = case.x.shape[: -case.ndim], case.x.shape[-case.ndim :]
    x = random_like(torch.empty([max(n, 1) for n in planes] + list(pooled)), 3)
    padded = torch.nn.functional.pad(x, (padding, padding) * case.ndim, value=-math.inf if case.kind == "max" else 0.0)
    expected = case.theirs(padded, *case.args, **kwargs)
    ours = run(case.ours, case.on(x), differentiate=False).results
    return (
        results[0].shape == planes + expected.shape[-case.ndim :]
        and ours[0].shape == expected.shape
        and torch.allclose(
            ours[0], expected, rtol=1e-6 if case.kind == "avg" else 0, atol=1e-6 if case.kind == "avg" else 0
        )
    )


def pools_no_channels(case: Case, results: tuple[torch.Tensor, ...], why: str) -> bool:
    """No channel is no error but gives an empty result."""
    planes = case.x.shape[: -case.ndim]
    return (
        0 in planes
        and 0 not in case.x.shape[-case.ndim :]
        and results[0].numel() == 0
        and results[0].shape[: -case.ndim] == planes
    )


ACCEPTED: tuple[tuple[str, Callable[[Case, tuple[torch.Tensor, ...], str], bool]], ...] = (
    ("padding may be any amount (S2)", pads_as_told),
    ("no channel gives an empty result (S11)", pools_no_channels),
)


def reason_to_accept(case: Case, results: tuple[torch.Tensor, ...], why: str) -> str | None:
    """Why Oriel gives results where PyTorch fails, or None."""
    return next((reason for reason, holds in ACCEPTED if holds(case, results, why)), None)
