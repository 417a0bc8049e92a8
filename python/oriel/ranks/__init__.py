"""Pools of tensors that are divided among ranks, whatever carries the messages.

`oriel.mpi` offers them over mpi4py, `oriel.torch.distributed` over process groups of PyTorch.
"""
