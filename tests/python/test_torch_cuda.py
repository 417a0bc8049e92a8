"""oriel.torch on CUDA tensors: what can be said without a device, and the values where there is one."""

import pytest
import torch

import oriel.torch
from oriel import _core
from oriel.torch import operators

ON_DEVICE = _core.has_cuda() and torch.cuda.is_available()


def test_operators_are_registered_for_cuda():
    for name in ("pool", "pool_with_indices", "pool_with_codes", "pool_backward", "pool_codes_backward", "unpool"):
        assert torch._C._dispatch_has_kernel_for_dispatch_key(f"oriel::{name}", "CUDA")


@pytest.mark.skipif(_core.has_cuda(), reason="this build has the CUDA backend")
def test_a_build_without_cuda_says_so():
    kernel = operators.on_cuda(lambda x: x)
    with pytest.raises(ValueError, match="oriel.torch: tensors must be on the CPU, but one is on cpu: this build of "
                                         "oriel runs on the CPU only"):
        kernel(torch.ones(2))


def test_fake_cuda_tensors_have_shapes():
    """What torch.compile asks of the operators before a device is touched."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        try:
            x = torch.empty(2, 3, 8, 8, device="cuda")
        except (RuntimeError, AssertionError) as missing:
            pytest.skip(f"NOT CHECKED: this PyTorch makes no fake CUDA tensors: {missing}")
        y = oriel.torch.max_pool2d(x, 2)
    assert y.shape == (2, 3, 4, 4) and y.device.type == "cuda"


@pytest.mark.skipif(not ON_DEVICE, reason="NOT CHECKED: needs a CUDA device and a build with ORIEL_CUDA")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_values_are_those_of_the_cpu(dtype):
    x = torch.randn(2, 3, 17, 32, dtype=dtype)
    for pool in (lambda t: oriel.torch.max_pool2d(t, 3, 2, 1), lambda t: oriel.torch.avg_pool2d(t, 3, 1, 1),
                 lambda t: oriel.torch.max_pool2d(t, 2, return_indices=True)[1]):  # fmt: skip
        assert torch.equal(pool(x), pool(x.cuda()).cpu())


@pytest.mark.skipif(not ON_DEVICE, reason="NOT CHECKED: needs a CUDA device and a build with ORIEL_CUDA")
def test_gradients_graphs_and_compile():
    x = torch.randn(2, 3, 16, 32, device="cuda", requires_grad=True)
    gradient = torch.autograd.grad(oriel.torch.max_pool2d(x, 2).square().sum(), x)[0]
    host = x.detach().cpu().requires_grad_()
    assert torch.equal(gradient.cpu(), torch.autograd.grad(oriel.torch.max_pool2d(host, 2).square().sum(), host)[0])
    still = x.detach()
    oriel.torch.max_pool2d(still, 3, 2, 1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = oriel.torch.max_pool2d(still, 3, 2, 1)
    still.neg_()
    graph.replay()
    assert torch.equal(y, oriel.torch.max_pool2d(still, 3, 2, 1))
    compiled = torch.compile(lambda t: oriel.torch.avg_pool2d(t, 2) + 1, fullgraph=True)
    assert torch.equal(compiled(still), oriel.torch.avg_pool2d(still, 2) + 1)
