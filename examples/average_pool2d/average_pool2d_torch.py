"""NKI's AveragePool2D tutorial in PyTorch: its kernel, written in C++, on PyTorch's own tensors.

    python examples/average_pool2d/average_pool2d_torch.py

The tutorial's program runs bfloat16 on an accelerator; this one runs float16, bfloat16 and float32 on the CPU. The
kernel is in baremetal.cc beside this file, to be read line by line.
"""

import torch

from oriel.tile import tensor_avgpool as tensor_avgpool_kernel

POOL_SIZE = 2
C, HIN, WIN = 2, 6, 6
HOUT, WOUT = HIN // POOL_SIZE, WIN // POOL_SIZE


def matches(dtype: torch.dtype) -> bool:
    in_tensor = torch.arange(C * HIN * WIN, dtype=dtype).reshape(C, HIN, WIN)
    out_tile = torch.zeros((C, HOUT, WOUT), dtype=dtype)

    tensor_avgpool_kernel(in_tensor, POOL_SIZE, out=out_tile)

    out_torch = torch.nn.functional.avg_pool2d(in_tensor, POOL_SIZE, POOL_SIZE)

    print(in_tensor, out_tile, out_torch, sep="\n")
    match = bool((out_tile == out_torch).all())
    print("the tile kernel and PyTorch match" if match else "the tile kernel and PyTorch differ")
    return match


if __name__ == "__main__":
    raise SystemExit(0 if all([matches(dtype) for dtype in (torch.float16, torch.bfloat16, torch.float32)]) else 1)
