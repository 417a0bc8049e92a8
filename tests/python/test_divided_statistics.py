"""Divided pools over valid elements, with masks and weights (S13 to S20), on ranks that are threads."""

import divided_cases as cases
import numpy as np
import pytest
from thread_ranks import on_ranks

from oriel.ranks.arrays import DistributedPool


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_statistics_with_masks_and_weights_have_the_bits_of_the_undivided_pools(ranks):
    on_ranks(ranks, lambda link: cases.check_statistics(link, ranks, link.rank, range(60)))


def _texts(ranks, *arguments, beside=lambda rank: {}, x=np.zeros((2, 6), np.float32), **options):
    """What all ranks say of a pool of two halves along the last axis."""
    def run(link):
        with pytest.raises((TypeError, ValueError)) as caught:
            DistributedPool((link, (1, ranks)), *arguments, **options).forward(x, **beside(link.rank))
        return str(caught.value)

    texts = on_ranks(ranks, run)
    assert len(set(texts)) == 1, texts
    return texts[0]


def test_masks_and_weights_that_do_not_fit_are_refused_by_all_ranks():
    mask, weights = np.ones((2, 6), bool), np.ones((2, 6))
    assert _texts(2, "max", (1, 3), beside=lambda rank: {"mask": mask} if rank == 0 else {}) == \
        "DistributedPool: mask must be given on all ranks or on none, but rank 1 has none (rank 0)"
    assert "mask must have the shape of x's part, (2, 6), or 1 along axes that are not pooled, but rank 1 has (2, 5)" in \
        _texts(2, "max", (1, 3), beside=lambda rank: {"mask": mask[:, :6 - rank]})
    assert "mask must be divided along axis 0 on all ranks or on none" in \
        _texts(2, "max", 3, axes=1, beside=lambda rank: {"mask": mask[rank:]})
    assert "mask must have the shape of x, 2x12, or 1 along axes that are not pooled, but has 1x12" in \
        _texts(2, "max", (1, 3), beside=lambda rank: {"mask": mask[:1]})
    assert "mask must be a numpy.ndarray of dtype bool or uint8, but is float64" in \
        _texts(2, "max", (1, 3), beside=lambda rank: {"mask": weights})
    assert "weights are for sum, avg, var" in _texts(2, "max", (1, 3), beside=lambda rank: {"weights": weights})
    assert "all ranks must give the same" in _texts(
        2, "sum", (1, 3), beside=lambda rank: {"weights": weights.astype(["f4", "f8"][rank])})
    bad = np.where(np.arange(12).reshape(2, 6) == 7, -1, weights)
    assert _texts(2, "mode", (1, 3), beside=lambda rank: {"weights": bad if rank == 1 else weights}) == \
        "DistributedPool: weights must be finite and >= 0, but some are not (rank 1)"
    assert "x must be a plain array, but is a masked one" in _texts(2, "max", (1, 3), x=np.ma.zeros((2, 6)))


def test_options_that_do_not_fit_are_refused_by_all_ranks():
    assert "there is no argument kernel" in _texts(2, "max", 2, kernel=3)
    assert "q must be 1 value, but has 2" in _texts(2, "quantile", (1, 3), q=[0.1, 0.9])
    assert "q must be in 0 to 1, but is 1.5" in _texts(2, "quantile", (1, 3), q=1.5)
    assert "dtype" in _texts(2, "max", (1, 3), dtype="int8")

    def differing(link):
        with pytest.raises(ValueError, match="all ranks must give the same"):
            DistributedPool((link, (1, 2)), "max", (1, 3), min_count=link.rank)

    on_ranks(2, differing)


def test_operations_without_a_gradient_say_so():
    def run(link):
        x = np.zeros(6, np.float32)
        pool = DistributedPool((link, (2,)), "mode", 2)
        with pytest.raises(TypeError, match="mode has no gradient"):
            pool.backward(pool.forward(x), x)

    on_ranks(2, run)
