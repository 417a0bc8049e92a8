"""A rank that is killed in the middle of an exchange: mpirun ends the others. run.sh checks how and when."""

import os
import signal

import numpy as np
from mpi4py import MPI

from oriel.mpi import DistributedPool, Grid

world = MPI.COMM_WORLD
pool = DistributedPool(Grid(world, (world.size, ), deadline=15), "max", 3, 1, 1)
x = np.arange(4.0)
for i in range(50):
    if world.rank == 1 and i == 20:
        print("rank 1 is killed", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    pool.forward(x)
print("all exchanges were made", flush=True)
