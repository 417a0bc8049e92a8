"""Divided pools over MPI; run.sh starts this on 1 to 4 ranks."""

import contextlib
import io
import math
import os
import re
from pathlib import Path

import divided_cases as cases
import numpy as np
import torch
from mpi4py import MPI

import oriel.mpi
import oriel.torch

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size


def the_expected_library():
    found = MPI.Get_library_version()
    assert {"openmpi": "Open MPI", "mpich": "MPICH"}[os.environ["ORIEL_EXPECTED_MPI"]] in found, found


def bits():
    few = ranks > 2  # MPICH's ranks are busy while they wait, so on few cores they keep each other waiting
    cases.check_bits(world, ranks, rank, range(100, 114 if few else 150))
    cases.check_arrays(world, ranks, rank, range(100, 106 if few else 120))
    cases.check_chains(world, ranks, rank, range(100, 108 if few else 120))


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
    layer(part)


def the_documented_example():
    """The first program of docs/distributed.md in Python prints the same on any number of ranks."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "distributed.md").read_text(encoding="utf-8")
    program, output = re.search(r"^```python\n(.*?)^```\n+```output\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "docs/distributed.md", "exec"), {})
    assert printed.getvalue() == (output if rank == 0 else ""), printed.getvalue()


def many_exchanges():
    """Passes, plans and requests in numbers beyond what a leak of tags or requests would bear."""
    x = torch.arange(4.0).reshape(1, 1, 4).requires_grad_()
    layer = oriel.mpi.DistributedAvgPool1d((world, (1, 1, ranks)), 3, 2, 1)
    for _ in range(30):
        layer(x).sum().backward()
    first = layer.divided.traffic
    for _ in range(10):
        oriel.mpi.DistributedAvgPool1d((world, (1, 1, ranks)), 3, 2, 1)(x.detach())
    assert layer.divided.traffic == first


def a_communicator_without_this_rank():
    try:
        oriel.mpi.Grid(MPI.COMM_NULL, (1, ))
    except ValueError as error:
        assert "COMM_NULL" in str(error)
    else:
        raise AssertionError("COMM_NULL was accepted")


for part in (the_expected_library, bits, distdl, cartesian_communicators, a_part_of_the_ranks_in_reverse, disagreements,
             the_documented_example, many_exchanges, a_communicator_without_this_rank):
    part()
print(f"rank {rank} of {ranks}: all parts ran", flush=True)
