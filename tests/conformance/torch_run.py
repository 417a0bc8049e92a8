"""PyTorch's samples, run with Oriel in the place of PyTorch's functions, and counted."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import torch

from tally import Tallies, Tally
from torch_cases import (
    SEED,
    Function,
    ModuleCase,
    dtypes_of,
    group_of,
    module_cases,
    module_errors,
    module_name,
    operator_cases,
    operator_errors,
    operator_name,
    oriel_function,
    oriel_module,
)
from torch_compare import differences, run
from torch_differences import reason_of, reason_to_accept

# The samples have some hundred elements: a second thread would only be waited for.
torch.set_num_threads(1)

OPERATORS, OPERATOR_ERRORS = "PyTorch: operators", "PyTorch: calls that must fail"
MODULES = "PyTorch: modules"


def run_operator(
    info: Any,
    offered: Callable[[str], Function] = oriel_function,
    seed: int = SEED,
    dtypes: list[torch.dtype] | None = None,
) -> list[Tally]:
    """All samples of an operator, for every dtype that PyTorch lists or for those that are given."""
    tallies, errors = Tallies(OPERATORS), Tallies(OPERATOR_ERRORS)
    for dtype in dtypes or dtypes_of(info):
        tally = tallies.of(operator_name(info), group_of(dtype))
        for case in operator_cases(info, dtype, offered, seed):
            _count(tally, case)
    for case, why in operator_errors(info, offered, seed):
        _count_error(errors.of(operator_name(info), "float32"), case, why)
    return tallies.all() + errors.all()


def run_module(info: Any, offered: Callable[[str], Function] = oriel_module, seed: int = SEED) -> list[Tally]:
    """All samples of a module, in training and not."""
    tallies, errors = Tallies(MODULES), Tallies(OPERATOR_ERRORS)
    for dtype in info.dtypes:
        tally = tallies.of(module_name(info), group_of(dtype))
        for item in module_cases(info, dtype, offered, seed):
            _count(tally, item.case, _unlike_a_module(item))
    for case, why in module_errors(info, offered, seed):
        _count_error(errors.of(module_name(info), "float32"), case, why)
    return tallies.all() + errors.all()


def _count(tally: Tally, case: Any, failures: list[str] | None = None) -> None:
    reasons, failures = set(), list(failures or [])
    for difference in differences(case):
        reason = reason_of(difference)
        if reason is None:
            failures.append(difference.text)
        else:
            reasons.add(reason)
    tally.add(str(case), reasons, failures)


def _count_error(tally: Tally, case: Any, why: str) -> None:
    """A call that must fail: passed if it does, explained if there is a reason why it need not."""
    theirs, ours = run(case.theirs, case, differentiate=False), run(case.ours, case, differentiate=False)
    if not theirs.error:
        tally.add(str(case), set(), [f"PyTorch itself accepts it: {why}"])
    elif ours.error:
        tally.add(str(case), set(), [])
    else:
        reason = reason_to_accept(case, ours.results, why)
        tally.add(str(case), {reason} if reason else set(), [] if reason else [f"accepted, but: {why}"])


def _unlike_a_module(item: ModuleCase) -> list[str]:
    """What is asked of a module beyond its results: it prints its name, survives pickling, has no state."""
    failures = []
    if repr(item.ours).partition("(")[0].removeprefix("oriel.torch.") != repr(item.theirs).partition("(")[0]:
        failures.append(f"prints {item.theirs!r} there, {item.ours!r} here")
    if item.ours.training != item.theirs.training:
        failures.append("train() is not kept")
    if list(item.ours.state_dict()) != list(item.theirs.state_dict()):
        failures.append("state_dict differs")
    moves = [("pickled", pickle.loads(pickle.dumps(item.ours)))]
    if not list(item.ours.buffers()):  # samples of windows have the input's dtype
        moves.append(("in double", copy.deepcopy(item.ours).double()))
    for name, moved in moves:
        a, b = run(item.ours, item.case, differentiate=False), run(moved, item.case, differentiate=False)
        if (
            a.error
            or b.error
            or not all(torch.equal(p, q) or torch.equal(p.isnan(), q.isnan()) for p, q in zip(a.results, b.results))
        ):
            failures.append(f"another result when {name}")
    return failures
