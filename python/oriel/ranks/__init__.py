"""Pools of tensors that are divided among ranks, for any transport of messages.

`oriel.mpi` uses mpi4py, `oriel.torch.distributed` process groups of PyTorch.
"""
