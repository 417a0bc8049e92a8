"""Random problems that PyTorch can express: values, indices and gradients."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import bridge

COUNT = 800
FRESH_COUNT = 150
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_AVERAGE = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
LP = {1: F.lp_pool1d, 2: F.lp_pool2d, 3: F.lp_pool3d}


def to_torch(array):
    if array.dtype == bridge.DTYPES["bf16"]:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def to_numpy(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(bridge.DTYPES["bf16"])
    return tensor.numpy()


class Draw:
    """One random problem and the name that Oriel knows it by."""

    def __init__(self, rng, op):
        self.op = op
        self.dims = int(rng.integers(1, 4))
        most = {1: 40, 2: 16, 3: 8}[self.dims]
        self.shape = (int(rng.integers(1, 3)), int(rng.integers(1, 5)),
                      *map(int, rng.integers(1, most, self.dims, endpoint=True)))
        self.kernel = [int(v) for v in rng.integers(1, 6, self.dims)]
        self.stride = [int(v) for v in rng.integers(1, 5, self.dims)]
        self.dilation = [1] * self.dims
        if op == "max" and rng.random() < 0.4:
            self.dilation = [int(v) for v in rng.integers(1, 4, self.dims)]
        self.padding = [0] * self.dims
        if op != "lp" and rng.random() < 0.6:
            self.padding = [int(rng.integers(0, k // 2 + 1)) for k in self.kernel]
        self.ceil = op != "lp" and bool(rng.random() < 0.4)
        self.include = bool(rng.random() < 0.5)
        self.divisor = int(rng.integers(1, 10)) if op == "avg" and self.dims > 1 and rng.random() < 0.2 else None
        self.output = [int(v) for v in rng.integers(1, 10, self.dims)]
        floats = ["f64", "f32", "f32", "f16", "bf16"]
        self.dtype = str(rng.choice(floats + ["i8", "u8", "i16", "i32", "i64"] if op == "max" else floats))
        self.kind = str(rng.choice(["integers", "reals", "specials"] if op == "max" else ["integers", "reals"]))

    def fits(self):
        spatial = self.shape[2:]
        if self.op == "avg" and self.dims == 3 and any(n < k for n, k in zip(spatial, self.kernel)):
            return False  # avg_pool3d wants the window to fit without padding
        return all(n + 2 * p >= d * (k - 1) + 1
                   for n, p, k, d in zip(spatial, self.padding, self.kernel, self.dilation))

    def name(self):
        head = f"{'lp2' if self.op == 'lp' else self.op.removeprefix('adaptive_')}:{self.dtype}:"
        head += "x".join(map(str, self.shape)) + ":"
        axes = self.axes()
        if self.op.startswith("adaptive"):
            return head + bridge.word("out", self.output) + axes
        text = head + bridge.word("k", self.kernel) + bridge.word("s", self.stride) + bridge.word("p", self.padding)
        text += bridge.word("d", self.dilation) + axes
        if self.ceil:
            text += ":ceil"
        if self.op == "avg" and not self.include:
            text += ":exclude"
        return text + (f":div{self.divisor}" if self.divisor else "")

    def axes(self):
        return ":axes" + ",".join(str(2 + i) for i in range(self.dims))

    def window(self):
        if not self.op.startswith("adaptive"):
            return self.kernel
        return [-(-n // o) + 1 for n, o in zip(self.shape[2:], self.output)]


def draw(rng, op):
    while True:
        problem = Draw(rng, op)
        if problem.fits() or op.startswith("adaptive"):
            return problem


def run_max(p, tensor):
    if p.op == "adaptive_max":
        return ADAPTIVE_MAX[p.dims](tensor, p.output, return_indices=True)
    return MAX[p.dims](tensor, p.kernel, p.stride, p.padding, p.dilation, p.ceil, return_indices=True)


def check_max(p, rng):
    name = p.name()
    x = bridge.elements(rng, p.shape, p.dtype, p.kind)
    tensor = to_torch(x)
    floating = tensor.is_floating_point()
    tensor.requires_grad_(floating)
    y, indices = run_max(p, tensor)
    ours, ours_indices = bridge.forward_indices(name, x)
    assert bridge.same(bridge.forward(name, x), ours), name
    assert bridge.same(ours, to_numpy(y)), name
    empty = ours_indices < 0  # Oriel: -1; PyTorch names some place (see docs/semantics.md)
    assert np.array_equal(ours_indices[~empty], indices.numpy()[~empty]), name
    if floating and not empty.any():
        # Whole numbers: PyTorch's sums of bfloat16 and float16 gradients round after each addition.
        dy = bridge.elements(rng, ours.shape, p.dtype, "reals" if p.dtype in ("f32", "f64") else "integers")
        y.backward(to_torch(dy))
        assert bridge.same(bridge.backward(name, x, dy) + 0, to_numpy(tensor.grad) + 0), name
    if not empty.any():
        check_unpool(p, ours, ours_indices)


def check_unpool(p, y, indices):
    name = f"max:{p.dtype}:{'x'.join(map(str, p.shape))}:{bridge.word('k', [1] * p.dims)}{p.axes()}"
    flat = indices.reshape(p.shape[0] * p.shape[1], -1)
    if p.dtype not in ("f32", "f64") or any(len(set(row)) != row.size for row in flat):
        return  # PyTorch unpools f32 and f64; one place named twice is nondeterministic there
    values, places, size = torch.from_numpy(y.copy()), torch.from_numpy(indices.copy()), list(p.shape[2:])
    if p.dims == 3:
        theirs = torch.ops.aten.max_unpool3d(values, places, size, p.stride, p.padding)
    elif p.dims == 2:
        theirs = torch.ops.aten.max_unpool2d(values, places, size)
    else:
        theirs = torch.ops.aten.max_unpool2d(values.unsqueeze(3), places.unsqueeze(3), [*size, 1]).squeeze(3)
    assert bridge.same(bridge.unpool(name, y, indices), theirs.numpy()), name


def run_average(p, tensor):
    if p.op == "adaptive_avg":
        return ADAPTIVE_AVERAGE[p.dims](tensor, p.output)
    extra = {} if p.dims == 1 else {"divisor_override": p.divisor}
    return AVERAGE[p.dims](tensor, p.kernel, p.stride, p.padding, p.ceil, p.include, **extra)


def within(p, ours, exact, magnitude, extra=0):
    bound = bridge.sum_bound(p.dtype, bridge.tree_depth(p.window()) + extra, exact, magnitude)
    return np.all(np.abs(ours.astype(np.float64) - exact) <= bound)


def check_average(p, rng):
    """PyTorch's own average of doubles is the exact value here; the bound is S8's."""
    name = p.name()
    x = bridge.elements(rng, p.shape, p.dtype, p.kind)
    wide = torch.from_numpy(x.astype(np.float64)).requires_grad_()
    exact = run_average(p, wide)
    magnitude = run_average(p, wide.detach().abs()).numpy()
    ours = bridge.forward(name, x)
    assert within(p, ours, exact.detach().numpy(), magnitude), name
    if p.dtype in ("f32", "f64"):  # not all of the 16-bit averages exist there
        theirs = to_numpy(run_average(p, to_torch(x)))
        assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-5), name
    dy = bridge.elements(rng, ours.shape, p.dtype, "reals")
    exact.backward(torch.from_numpy(dy.astype(np.float64)))
    absolute = torch.from_numpy(x.astype(np.float64)).requires_grad_()
    run_average(p, absolute).backward(torch.from_numpy(np.abs(dy.astype(np.float64))))
    assert within(p, bridge.backward(name, x, dy), wide.grad.numpy(), absolute.grad.numpy(), extra=8), name


def check_lp(p, rng):
    name = p.name()
    x = bridge.elements(rng, p.shape, p.dtype, "reals")
    one = p.dims == 1  # lp_pool1d takes numbers, the others lists
    kernel, stride = (p.kernel[0], p.stride[0]) if one else (p.kernel, p.stride)
    exact = LP[p.dims](torch.from_numpy(x.astype(np.float64)), 2.0, kernel, stride).numpy()
    assert within(p, bridge.forward(name, x), exact, exact, extra=4), name


CHECKS = {"max": check_max, "adaptive_max": check_max, "avg": check_average, "adaptive_avg": check_average,
          "lp": check_lp}


@pytest.mark.parametrize("seed", bridge.seeds())
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    count = COUNT if seed == 1 else FRESH_COUNT
    for i in range(count):
        op = str(rng.choice(list(CHECKS), p=[0.4, 0.15, 0.25, 0.1, 0.1]))
        problem = draw(rng, op)
        CHECKS[op](problem, rng)
    print(f"{count} problems agree with PyTorch {torch.__version__}")


# Where PyTorch follows a rule of its own; docs/semantics.md, "Where others differ".


def test_differs_empty_window():
    x = torch.tensor([[[1.0]]])
    y, index = F.max_pool1d(x, 2, 1, 1, 2, return_indices=True)
    ours, places = bridge.forward_indices("max:f32:1x1x1:k2s1p1d2:axes2", x.numpy())
    assert y.item() == -np.inf and ours.item() == -np.inf
    assert index.item() != -1 and places.item() == -1


def test_differs_odd_norm_of_negative_numbers():
    x = torch.tensor([[[-3.0, -4.0]]], dtype=torch.float64)
    theirs = F.lp_pool1d(x, 3.0, 2).item()
    ours = bridge.forward("lp3:f64:1x1x2:k2:axes2", x.numpy()).item()
    assert ours == pytest.approx((27 + 64) ** (1 / 3)) and np.isnan(theirs)


def test_differs_lp_in_ceil_mode():
    x = torch.ones(1, 1, 3, dtype=torch.float64)
    theirs = F.lp_pool1d(x, 2.0, 2, 2, ceil_mode=True).numpy().ravel()
    ours = bridge.forward("lp2:f64:1x1x3:k2:ceil:axes2", x.numpy()).ravel()
    assert ours == pytest.approx([2**0.5, 1]) and theirs == pytest.approx([2**0.5, 2**0.5])


def test_differs_integer_average():
    x = torch.tensor([[[[1, 2, -1, -2]]]])
    theirs = F.avg_pool2d(x, (1, 2)).numpy().ravel().tolist()
    ours = bridge.forward("avg:i64:1x1x1x4:k1x2", x.numpy()).ravel().tolist()
    assert ours == [2, -2] and theirs == [1, -1]


def test_differs_padding_beyond_half_the_kernel():
    with pytest.raises(RuntimeError):
        F.max_pool1d(torch.ones(1, 1, 4), 2, 1, 2)
    assert bridge.output_shape("max:f32:1x1x4:k2s1p2:axes2") == (1, 1, 7)


def test_differs_rounding_of_half_gradients():
    x = torch.zeros(1, 1, 7, dtype=torch.float16)
    x[0, 0, 3] = 1
    x.requires_grad_()
    dy = torch.tensor([[[2048, 1, 1, 1]]], dtype=torch.float16)
    F.max_pool1d(x, 4, 1).backward(dy)
    ours = bridge.backward("max:f16:1x1x7:k4s1:axes2", x.detach().numpy(), dy.numpy())
    assert x.grad[0, 0, 3].item() == 2048 and ours[0, 0, 3] == 2052
