"""Divided pools over MPI. run.sh starts this on 4 ranks, which go through all parts together, then as 3 and 1, then as
2 and 2: to start Python with PyTorch takes longer than most parts."""

import contextlib
import io
import math
import os
import re
import time
from pathlib import Path

import divided_cases as cases
import numpy as np
import pytest
import torch
from mpi4py import MPI

import oriel.mpi
import oriel.torch

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size  # of the ranks that work together: see the end


def the_expected_library():
    found = MPI.Get_library_version()
    assert {"openmpi": "Open MPI", "mpich": "MPICH"}[os.environ["ORIEL_EXPECTED_MPI"]] in found, found


def bits():
    few = ranks > 2  # MPICH's ranks are busy while they wait, so on few cores they keep each other waiting
    cases.check_bits(world, ranks, rank, range(100, 114 if few else 150))
    cases.check_arrays(world, ranks, rank, range(100, 106 if few else 120))
    cases.check_statistics(world, ranks, rank, range(100, 110 if few else 140))
    cases.check_chains(world, ranks, rank, range(100, 108 if few else 120))
    cases.check_second_derivatives(world, ranks, rank, range(100, 108 if few else 120))


def distdl():
    for name, (_, grid, *_) in cases.DISTDL.items():
        if math.prod(grid) == ranks:
            for op in ("Max", "Avg"):
                cases.check_distdl(world, rank, name, op)


def cartesian_communicators():
    """Ranks of a Cartesian communicator, periodic ones too; the user's own messages stay the user's."""
    for periods in (False, True):
        P_x = world.Create_cart([1, 1, ranks], periods=[periods] * 3)
        x = torch.arange(5.0 * ranks).reshape(1, 1, -1)
        own = world.irecv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
        layer = oriel.mpi.DistributedMaxPool1d(P_x, kernel_size=3, stride=2, padding=1, return_indices=True)
        y, indices = layer(x[..., 5 * rank:5 * rank + 5])
        world.send(rank, (rank + 1) % ranks)
        assert own.wait() == (rank - 1) % ranks
        expected = oriel.torch.MaxPool1d(3, 2, 1, return_indices=True)(x)
        at = cases.box(layer.ranges[1])
        assert torch.equal(y, expected[0][at]) and torch.equal(indices, expected[1][at])
        assert oriel.mpi.Grid(P_x).index == tuple(P_x.Get_coords(rank))
        P_x.Free()


def a_part_of_the_ranks_in_reverse():
    half = world.Split(rank % 2, -rank)
    x = np.arange(6.0 * half.size)
    pool = oriel.mpi.DistributedPool((half, (half.size, )), "avg", 5, 1, 2)
    y = pool.forward(x[6 * half.rank:6 * half.rank + 6])
    np.testing.assert_array_equal(y, oriel.avg_pool(x, 5, 1, 2)[cases.box(pool.ranges[1])])
    half.Free()


def disagreements():
    if ranks == 1:
        return
    last = rank == ranks - 1
    grid = (world, (1, 1, ranks))
    layer = oriel.mpi.DistributedMaxPool1d(grid, 3, 2, 1)
    part = torch.arange(4.0).reshape(1, 1, 4)
    layer(part)
    cases.raises_everywhere(world.allgather, ValueError, "must give the same",
                            lambda: oriel.mpi.DistributedMaxPool1d(grid, 3 + last))
    cases.raises_everywhere(world.allgather, ValueError, "same extent", lambda: layer(part.expand(1 + last, 1, 4)))
    cases.raises_everywhere(world.allgather, ValueError, "must give the same",
                            lambda: layer(part.double() if last else part))
    cases.raises_everywhere(world.allgather, TypeError, "must be a torch.Tensor", lambda: layer(None if last else part))
    cases.raises_everywhere(world.allgather, ValueError, "product is the number of ranks",
                            lambda: oriel.mpi.Grid(world, (1, 1, ranks + 1)))
    cases.raises_everywhere(world.allgather, ValueError, "output_partition must have bounds|must cover", lambda:
                            oriel.mpi.DistributedMaxPool1d(grid, 3, output_partition=[[0, 1], [0, 1], [0, 1]])(part))
    # Types that no message can carry.
    pool = oriel.mpi.DistributedPool((world, (ranks, )), "max", 2)
    for bad in (np.zeros(4, complex), np.array(["a", "b"]), np.array([1, None]), np.zeros(4, "M8[s]")):
        cases.raises_everywhere(world.allgather, TypeError, "must have dtype|dtype",
                                lambda: pool.forward(bad if last else np.zeros(4)))
    layer(part)


def gradients_that_do_not_fit():
    """One rank's backward is refused, or does not come: all ranks raise the same, and can go on."""
    if ranks == 1:
        return
    last = rank == ranks - 1
    layer = oriel.mpi.DistributedMaxPool1d((world, (1, 1, ranks)), 3, 2, 1)
    part = torch.arange(4.0).reshape(1, 1, 4).requires_grad_()
    y = layer(part)
    cases.raises_everywhere(world.allgather, TypeError, "must be a dense tensor",
                            lambda: y.backward(torch.ones(y.shape).to_sparse() if last else torch.ones(y.shape)))
    y = layer(part)
    cases.raises_everywhere(world.allgather, RuntimeError, "all ranks must do the same together, but rank 0 is at the "
                            "backward of DistributedMaxPool1d", lambda: layer(part) if last else y.sum().backward())
    layer(part).sum().backward()


def the_documented_examples():
    """The programs over MPI of the documentation print the same on any number of ranks."""
    root = Path(__file__).resolve().parents[3]
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    programs = [(page, *found) for page in pages for found in re.findall(
        r"^```python\n(.*?)^```\n+```output\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        if "MPI.COMM_WORLD" in found[0]]
    assert any(page.name == "distributed.md" for page, _, _ in programs)
    for page, program, output in programs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program.replace("MPI.COMM_WORLD", "world"), str(page), "exec"), {"world": world})
        assert printed.getvalue() == (output if rank == 0 else ""), (page, printed.getvalue())


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def many_exchanges():
    """Passes, plans and requests in numbers beyond what a leak of tags, requests or memory would bear."""
    x = torch.arange(4.0).reshape(1, 1, 4).requires_grad_()
    layer = oriel.mpi.DistributedAvgPool1d((world, (1, 1, ranks)), 3, 2, 1)
    pool = oriel.mpi.DistributedPool((world, (ranks, )), "max", 3, 2, 1)
    part = np.arange(4.0)
    before = 0
    for i in range(2000 if ranks == 2 else 100):
        if i == 400:
            before = resident_bytes()
        pool.forward(part)
        if i % 20 == 0:
            layer(x).sum().backward()
        if i % 100 == 0:
            oriel.mpi.DistributedAvgPool1d((world, (1, 1, ranks)), 3, 2, 1)(x.detach())
    assert not before or resident_bytes() < before + (4 << 20), (before, resident_bytes())
    assert set(layer.divided.traffic) == {"forward", "backward"}


def deadlines():
    """A rank that does not come: the others say so, and what was left under way stays away from what follows."""
    if ranks == 1:
        return
    for step, words in ((lambda pool: pool.forward(np.zeros(4)), "all ranks must come to the same call within 0.5 s"),
                        (lambda pool: pool._divided._current.run("forward", x=np.zeros(4), y=np.zeros(2)),
                         r"rank 0 must (send|receive) its message within 0.5 s")):
        own = world.Dup()
        grid = oriel.mpi.Grid(own, (ranks, ), deadline=0.5)
        pool = oriel.mpi.DistributedPool(grid, "max", 3, 2, 1)
        pool.forward(np.zeros(4))
        begin = time.monotonic()
        if rank == 1:
            with pytest.raises(TimeoutError, match=words):
                step(pool)
            assert time.monotonic() - begin < 10
            with pytest.raises(RuntimeError, match="lost contact with one another: .* within 0.5 s"):
                pool.forward(np.zeros(4))
        world.barrier()
    oriel.mpi.DistributedPool((world, (ranks, )), "max", 3, 2, 1).forward(np.zeros(4))


def a_communicator_without_this_rank():
    try:
        oriel.mpi.Grid(MPI.COMM_NULL, (1, ))
    except ValueError as error:
        assert "COMM_NULL" in str(error)
    else:
        raise AssertionError("COMM_NULL was accepted")


PARTS = (the_expected_library, bits, distdl, cartesian_communicators, a_part_of_the_ranks_in_reverse, disagreements,
         gradients_that_do_not_fit, the_documented_examples, many_exchanges, a_communicator_without_this_rank, deadlines)

assert MPI.COMM_WORLD.size == 4
for teams in ([0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]):
    world = MPI.COMM_WORLD.Split(teams[MPI.COMM_WORLD.rank], MPI.COMM_WORLD.rank)
    rank, ranks = world.rank, world.size
    for part in PARTS:
        begin = time.monotonic()
        part()
        if rank == 0:
            print(f"{ranks} ranks, {part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    print(f"rank {rank} of {ranks}: all parts ran", flush=True)
