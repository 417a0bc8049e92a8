"""Everything of docs/conformance.md, run: nothing fails without a reason, and the page has these counts."""

import os
import random

import pytest

import recorded
from shards import SHARDS


def report(tallies):
    return "\n".join(line for tally in tallies for line in tally.failed)


@pytest.mark.parametrize("name", SHARDS)
def test_peers(name):
    tallies = SHARDS[name]()
    assert not report(tallies)
    page = recorded.counts()
    missing = [str(row) for row in map(recorded.counts_of, tallies) if row not in page]
    assert (
        not missing
    ), "docs/conformance.md has other counts; write it with tests/conformance/run.py --write\n" + "\n".join(missing)


def fresh_seed():
    seed = int(os.environ.get("ORIEL_SEED", random.SystemRandom().randrange(2**31)))
    return [pytest.param(seed, id=f"fresh-{seed}")]


@pytest.mark.parametrize("seed", fresh_seed())
def test_other_numbers(seed):
    """PyTorch's samples with numbers that no page has seen, in one dtype of each kind that an operator has."""
    import torch
    import torch_cases
    import torch_run

    draw = random.Random(seed)
    for info in torch_cases.POOLS:
        groups = {}
        for dtype in torch_cases.dtypes_of(info):
            groups.setdefault(torch_cases.group_of(dtype), []).append(dtype)
        dtypes = [draw.choice(group) for group in groups.values()]
        if torch_cases.operator_name(info) in (
            "max_pool1d",
            "max_pool2d",
            "max_pool2d_with_indices_backward",
            "max_pool3d",
        ):
            dtypes = [torch.float32]  # thousands of samples each
        assert not report(torch_run.run_operator(info, seed=seed, dtypes=dtypes))
