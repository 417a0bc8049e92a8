"""Oriel's outcome beside PyTorch's for one call: results, indices, gradients, second gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.testing._internal.common_utils import noncontiguous_like

from torch_cases import FLOATS, Case, Function

ERRORS = (RuntimeError, ValueError, TypeError, NotImplementedError)
# How far an average may be from PyTorch's, relative to the same average of absolute values: the orders of the sums
# differ (S8), and both results are rounded.
TOLERANCE = {torch.float64: 2.0**-48, torch.float32: 2.0**-20, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
# Powers cost some roundings more.
POWER_TOLERANCE = {torch.float64: 1e-13, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass
class Outcome:
    """What a function gave: its results, and the gradients that it had."""

    results: tuple[torch.Tensor, ...] = ()
    gradient: torch.Tensor | None = None
    second: torch.Tensor | None = None  # derivative of the gradient with respect to dy, contracted with a random tensor
    second_x: torch.Tensor | None = None  # the same with respect to x, where it is not zero by nature
    error: str = ""


@dataclass
class Difference:
    """One thing in which two outcomes differ."""

    case: Case
    what: str  # "values", "indices", "gradient", "second gradient", "dtype", "shape", "strides", "refused", "structure"
    theirs: torch.Tensor | None
    ours: torch.Tensor | None
    text: str


def run(function: Function, case: Case, differentiate: bool = True) -> Outcome:
    """Call a function, and differentiate it twice."""
    outcome = Outcome()
    differentiate = differentiate and case.differentiable
    x = case.x.detach().requires_grad_(differentiate)
    torch.manual_seed(3)  # of random windows
    try:
        results = function(x, *case.args, **case.kwargs)
        outcome.results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
        y = outcome.results[0]
        if not differentiate or not isinstance(y, torch.Tensor) or not y.requires_grad:
            return outcome
        dy = random_like(y, 1).requires_grad_()
        (outcome.gradient,) = torch.autograd.grad(y, x, dy, create_graph=True)
        if outcome.gradient.requires_grad:
            outcome.second, outcome.second_x = torch.autograd.grad(
                outcome.gradient, (dy, x), random_like(x, 2), allow_unused=True
            )
    except ERRORS as error:
        outcome.error = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return outcome


def random_like(x: torch.Tensor, seed: int) -> torch.Tensor:
    """The same normally distributed numbers for every tensor of x's shape; dense in logical order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x.dtype)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal bits, but for the payload of NaN."""
    if a.dtype not in FLOATS:
        return torch.equal(a, b)
    nan = torch.isnan(a)
    return (
        torch.equal(nan, torch.isnan(b))
        and torch.equal(a[~nan], b[~nan])
        and torch.equal(torch.signbit(a[~nan]), torch.signbit(b[~nan]))
    )


def absolute(case: Case) -> Case:
    """The same call on |x| in float64, with a positive divisor: what errors of sums are proportional to."""
    args, kwargs = list(case.args), dict(case.kwargs)
    if kwargs.get("divisor_override"):
        kwargs["divisor_override"] = abs(kwargs["divisor_override"])
    if len(args) == 6 and args[5]:  # avg_pool2d's samples give everything by position
        args[5] = abs(args[5])
    return Case(case.operator, case.theirs, case.ours, case.x.abs().double(), tuple(args), kwargs)


def magnitude(case: Case, what: str) -> torch.Tensor:
    """The result, gradient or second gradient of absolute values, in float64."""
    double = absolute(case)
    x = double.x.detach().requires_grad_()
    y = double.theirs(x, *double.args, **double.kwargs)
    if what == "values":
        return y.detach()
    dy = random_like(y.to(case.x.dtype), 1).double().abs().requires_grad_()
    (gradient,) = torch.autograd.grad(y, x, dy, create_graph=True)
    if what == "gradient":
        return gradient.detach()
    return torch.autograd.grad(gradient, dy, random_like(case.x, 2).double().abs())[0]


def agree(case: Case, what: str, theirs: torch.Tensor, ours: torch.Tensor) -> bool:
    """Whether two tensors of a shape and dtype are the same result: maxima and integers in all bits."""
    if case.kind in ("max", "unpool") or theirs.dtype not in FLOATS:
        return same_bits(theirs, ours)
    if case.kind == "lp":
        tolerance = POWER_TOLERANCE[theirs.dtype]
        return torch.allclose(theirs.double(), ours.double(), rtol=tolerance, atol=tolerance * 1e-2, equal_nan=True)
    limit = TOLERANCE[theirs.dtype] * magnitude(case, what) + torch.finfo(theirs.dtype).tiny
    return bool(((theirs.double() - ours.double()).abs() <= limit).all())


def _compare(case: Case, what: str, theirs: torch.Tensor | None, ours: torch.Tensor | None) -> Iterator[Difference]:
    if theirs is None and ours is None:
        return
    if theirs is None or ours is None:
        yield Difference(case, "structure", theirs, ours, f"{what}: one is missing")
        return
    for property_ in ("dtype", "shape"):
        if getattr(theirs, property_) != getattr(ours, property_):
            yield Difference(
                case,
                property_,
                theirs,
                ours,
                f"{what}: {getattr(theirs, property_)} there, {getattr(ours, property_)} here",
            )
            return
    # A stride matters where there is more than one element to step over. Second gradients may lie anyhow in PyTorch.
    steps = [[s for s, n in zip(t.stride(), t.shape) if n > 1] if t.numel() else [] for t in (theirs, ours)]
    if steps[0] != steps[1] and what != "second gradient":
        yield Difference(
            case, "strides", theirs, ours, f"{what}: strides {theirs.stride()} there, {ours.stride()} here"
        )
    if not agree(case, what, theirs.detach(), ours.detach()):
        yield Difference(
            case, what, theirs.detach(), ours.detach(), f"{what}: {_worst(theirs.detach(), ours.detach())}"
        )


def _worst(theirs: torch.Tensor, ours: torch.Tensor) -> str:
    far = (theirs.double() - ours.double()).abs().nan_to_num(math.inf).flatten()
    place = int(far.argmax())
    return f"{theirs.flatten()[place].item()!r} there, {ours.flatten()[place].item()!r} here at {place}"


def differences(case: Case) -> Iterator[Difference]:
    """In what Oriel's outcome differs from PyTorch's."""
    for layout, here in (("", case), ("not contiguous: ", _scattered(case))):
        theirs, ours = run(case.theirs, here), run(case.ours, here)
        for difference in _outcomes(here, theirs, ours):
            difference.text = layout + difference.text
            yield difference
    # Without gradients both take other ways.
    theirs, ours = run(case.theirs, case, differentiate=False), run(case.ours, case, differentiate=False)
    for difference in _outcomes(case, theirs, ours):
        difference.text = "without gradient: " + difference.text
        yield difference


def _scattered(case: Case) -> Case:
    """The same call on tensors with gaps between their elements."""
    args = tuple(noncontiguous_like(value) if isinstance(value, torch.Tensor) else value for value in case.args)
    return Case(case.operator, case.theirs, case.ours, noncontiguous_like(case.x), args, case.kwargs)


def _outcomes(case: Case, theirs: Outcome, ours: Outcome) -> Iterator[Difference]:
    if theirs.error or ours.error:
        text = f"{theirs.error or 'a result'} there, {ours.error or 'a result'} here"
        yield Difference(case, "refused", None, None, text)
        return
    if len(theirs.results) != len(ours.results):
        yield Difference(
            case, "structure", None, None, f"{len(theirs.results)} results there, {len(ours.results)} here"
        )
        return
    for number, (a, b) in enumerate(zip(theirs.results, ours.results)):
        yield from _compare(case, "indices" if number else "values", a, b)
    yield from _compare(case, "gradient", theirs.gradient, ours.gradient)
    yield from _compare(case, "second gradient", theirs.second, ours.second)
    if case.kind == "lp":  # all others are linear between their kinks
        yield from _compare(case, "second gradient", theirs.second_x, ours.second_x)
