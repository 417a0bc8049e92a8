"""A 2-D average pool of bfloat16 planes, C x H x W, in PyTorch: Oriel's beside PyTorch's own.

    python examples/avg_pool2d_torch.py
"""

import torch

import oriel.torch

POOL_SIZE = 2
C, H, W = 2, 6, 6


def main() -> bool:
    x = torch.arange(C * H * W, dtype=torch.bfloat16).reshape(C, H, W)
    with_oriel = oriel.torch.avg_pool2d(x, POOL_SIZE)
    with_torch = torch.nn.functional.avg_pool2d(x, POOL_SIZE, POOL_SIZE)

    print("input:", x, "Oriel:", with_oriel, "PyTorch:", with_torch, sep="\n")
    match = torch.equal(with_oriel, with_torch)
    print("Oriel and PyTorch match" if match else "Oriel and PyTorch differ")
    return match


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
