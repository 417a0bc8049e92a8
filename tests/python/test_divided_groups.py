"""Divided pools over process groups of torch.distributed (gloo), in processes of their own; what oriel.mpi says without mpi4py."""

import subprocess
import sys

import divided_cases as cases
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing


def _on_a_process(rank, ranks, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
    from oriel.torch import distributed
    assert "mpi4py" not in sys.modules
    group = dist.group.WORLD
    cases.check_bits(group, ranks, rank, range(200, 220))
    cases.check_arrays(group, ranks, rank, range(200, 210))
    cases.check_chains(group, ranks, rank, range(200, 210))
    cases.check_second_derivatives(group, ranks, rank, range(200, 210))
    gathered = distributed.Grid(group, (ranks, )).link.gathered
    if ranks > 1:
        last = rank == ranks - 1
        cases.raises_everywhere(gathered, ValueError, "must give the same",
                                lambda: distributed.DistributedMaxPool1d((group, (ranks, )), 2 + last))
        pair = dist.new_group([0, ranks - 1])
        if rank in (0, ranks - 1):
            x = torch.arange(8.0).reshape(1, 8)
            layer = distributed.DistributedMaxPool1d((pair, (2, )), 3, 2, 1)
            y = layer(x[:, 4 * last:4 * last + 4])
            whole = distributed.gather((pair, (2, )), y)
            assert last or whole.tolist() == [[1, 3, 5, 7]]
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.parametrize("ranks", [1, 3])
def test_process_groups(ranks, tmp_path):
    torch.multiprocessing.spawn(_on_a_process, (ranks, str(tmp_path / "meeting")), ranks)


def test_what_is_missing_is_said():
    program = "import sys; sys.modules['mpi4py'] = None; import oriel.mpi"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode != 0
    assert "ImportError: oriel.mpi needs mpi4py and an MPI library: pip install mpi4py" in result.stderr


def test_without_pytorch_arrays_remain():
    program = ("import sys; sys.modules['torch'] = None\nimport numpy as np, oriel.mpi\nfrom mpi4py import MPI\n"
               "pool = oriel.mpi.DistributedPool((MPI.COMM_SELF, (1,)), 'max', 2)\n"
               "assert pool.forward(np.arange(4)).tolist() == [1, 3]")
    subprocess.run([sys.executable, "-c", program], check=True)
