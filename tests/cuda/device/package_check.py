"""oriel.torch and the functions of arrays on a device, compared with PyTorch's own functions on the CPU. Needs PyTorch;
CuPy where it is.

Usage: package_check.py MODULE DEVICE; MODULE is the package's module (_core), DEVICE cuda or cpu.
"""

import importlib.util
import itertools
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[3]


def load(module):
    """The package's sources with that module."""
    sys.path.insert(0, str(ROOT / "python"))
    spec = importlib.util.spec_from_file_location("oriel._core", module)
    sys.modules["oriel._core"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["oriel._core"])


class Check:
    """Counts what was compared and what differed."""

    def __init__(self):
        self.done, self.wrong, self.skipped = 0, [], []

    def same(self, what, got, expected, exact=True):
        self.done += 1
        got, expected = got.detach().cpu(), expected.detach().cpu()
        if got.dtype != expected.dtype or got.shape != expected.shape:
            self.wrong.append(f"{what}: {got.dtype} {tuple(got.shape)}, not {expected.dtype} {tuple(expected.shape)}")
        elif not (torch.equal(got, expected) if exact else torch.allclose(got, expected, rtol=1e-2, atol=1e-2)):
            self.wrong.append(f"{what}: differs by {(got.double() - expected.double()).abs().max().item()}")

    def true(self, what, holds):
        self.done += 1
        if not holds:
            self.wrong.append(what)


WINDOWS = [((2, 2), 2, 0), ((3, 3), 2, 1), ((3, 3), 1, 1), ((5, 4), (3, 2), (2, 1)), ((15, 15), 1, 7)]
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


def check_values(check, pools, device):
    functional = torch.nn.functional
    layouts = [torch.contiguous_format, torch.channels_last]
    for (kernel, stride, padding), dtype, layout in itertools.product(WINDOWS, DTYPES, layouts):
        what = f"{kernel} {stride} {padding} {dtype} {layout}"
        values = torch.randperm(2 * 8 * 18 * 32).reshape(2, 8, 18, 32) / 64.0
        host = values.to(dtype).to(memory_format=layout)
        wide = host.double().requires_grad_()  # PyTorch rounds 16-bit sums after every addition
        x = host.to(device).requires_grad_()
        y, places = pools.max_pool2d(x, kernel, stride, padding, return_indices=True)
        expected, expected_places = functional.max_pool2d(host, kernel, stride, padding, return_indices=True)
        check.same(f"max {what}", y, expected)
        check.same(f"indices {what}", places, expected_places)
        check.true(f"max {what}: on {y.device}", y.device.type == device)
        sent = torch.randint(-8, 8, expected.shape).to(dtype)
        pulled = torch.autograd.grad(pools.max_pool2d(x, kernel, stride, padding), x, sent.to(device))[0]
        expected = torch.autograd.grad(functional.max_pool2d(wide, kernel, stride, padding), wide, sent.double())[0]
        check.same(f"gradient of max {what}", pulled, expected.to(dtype), exact=False)
        y = pools.avg_pool2d(x, kernel, stride, padding)
        expected = functional.avg_pool2d(wide, kernel, stride, padding)
        check.same(f"avg {what}", y, expected.to(dtype), exact=False)
        pulled = torch.autograd.grad(y, x, sent.to(device))[0]
        expected = torch.autograd.grad(expected, wide, sent.double())[0]
        check.same(f"gradient of avg {what}", pulled, expected.to(dtype), exact=False)
    x = torch.randn(2, 3, 56, 55)
    for sizes in ((1, 1), (7, 7), (6, 3)):
        got = pools.adaptive_avg_pool2d(x.to(device), sizes)
        check.same(f"adaptive avg {sizes}", got, functional.adaptive_avg_pool2d(x, sizes), exact=False)
        got = pools.adaptive_max_pool2d(x.to(device), sizes)
        check.same(f"adaptive max {sizes}", got, functional.adaptive_max_pool2d(x, sizes))
    volume = torch.randn(1, 2, 8, 16, 32)
    for kernel, stride, padding in ((2, 2, 0), (3, 1, 1)):
        got = pools.max_pool3d(volume.to(device), kernel, stride, padding)
        check.same(f"max of volumes {kernel}", got, functional.max_pool3d(volume, kernel, stride, padding))


def check_compiled(check, pools, device):
    x = torch.randn(2, 3, 16, 32, device=device)
    expected = pools.max_pool2d(x, 3, 2, 1).square()
    try:
        compiled = torch.compile(lambda t: pools.max_pool2d(t, 3, 2, 1).square(), fullgraph=True)(x)
    except Exception as missing:  # a machine without a compiler, say
        check.skipped.append(f"torch.compile: {str(missing).splitlines()[0]}")
        return
    check.same("torch.compile", compiled, expected)


def check_streams_and_graphs(check, pools):
    x = torch.randn(8, 16, 128, 128, device="cuda")
    expected = torch.nn.functional.max_pool2d(x.cpu() * 4 + 1, 3, 2, 1)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # ordered behind what the same stream does before
        z = x * 4 + 1
        y = pools.max_pool2d(z, 3, 2, 1)
    stream.synchronize()
    check.same("another stream", y, expected, exact=False)
    still = x.clone()
    dy = torch.randn_like(pools.max_pool2d(still, 3, 2, 1))
    asked = still.clone().requires_grad_()
    torch.autograd.grad(pools.max_pool2d(asked, 3, 2, 1), asked, dy)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = pools.max_pool2d(still, 3, 2, 1)
    still.neg_()
    graph.replay()
    torch.cuda.synchronize()
    check.same("a CUDA graph", y, torch.nn.functional.max_pool2d(-x.cpu(), 3, 2, 1))
    before = torch.cuda.memory_allocated()
    fresh = pools.max_pool2d(x, 2)  # beside y, whose memory is not given back
    check.true("results are not PyTorch's memory", torch.cuda.memory_allocated() >= before + fresh.nbytes)


def check_cupy(check):
    try:
        import cupy
        import oriel
    except ImportError as missing:
        check.skipped.append(f"CuPy: {missing}")
        return
    x = torch.randn(2, 3, 17, 32)
    with cupy.cuda.Stream():
        y = oriel.max_pool(cupy.asarray(x.numpy()), 3, stride=2, padding=1, axes=(2, 3))
        dx = oriel.avg_pool_backward(y, (2, 3, 17, 32), 3, stride=2, padding=1, axes=(2, 3))
        check.true("CuPy's kind", isinstance(y, cupy.ndarray) and isinstance(dx, cupy.ndarray))
        expected = torch.nn.functional.max_pool2d(x, 3, 2, 1)
        check.same("CuPy's max", torch.from_numpy(cupy.asnumpy(y)), expected)
        leaf = x.clone().requires_grad_()
        pulled = torch.autograd.grad(torch.nn.functional.avg_pool2d(leaf, 3, 2, 1), leaf, expected)[0]
        check.same("CuPy's gradient", torch.from_numpy(cupy.asnumpy(dx)), pulled, exact=False)


def main():
    load(sys.argv[1])
    device = sys.argv[2]
    import oriel.torch as pools

    torch.manual_seed(1)
    check = Check()
    check_values(check, pools, device)
    check_compiled(check, pools, device)
    if device == "cuda":
        check_streams_and_graphs(check, pools)
        check_cupy(check)
    for what in check.skipped:
        print(f"SKIPPED: {what}")
    print(f"oriel.torch on {device}: {check.done} cases, {len(check.wrong)} wrong", *check.wrong[:20], sep="\n  ")
    return 1 if check.wrong or check.done < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
