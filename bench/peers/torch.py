"""PyTorch: its functions with their outputs given, without gradients recorded."""

import numpy as np
import torch

from timing import Contender

NAME = "PyTorch"
KINDS = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
}
LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def load(threads):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return torch.__version__


def tensor(problem, array):
    """The array as a batch of channels, in its own memory."""
    if problem.dtype == "bf16":
        t = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        t = torch.from_numpy(array)
    if problem.channels == "none":
        return t[None, None]
    return t.movedim(-1, 1) if problem.channels == "last" else t


def array(problem, t):
    if problem.channels == "none":
        t = t[0, 0]
    elif problem.channels == "last":
        t = t.movedim(1, -1)
    if problem.dtype == "bf16":
        import ml_dtypes

        return t.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return t.numpy()


def format_of(problem):
    last = problem.channels in ("last", "last in memory") and len(problem.axes) > 1
    return LAST[len(problem.axes) + 2] if last else torch.contiguous_format


def empty(problem, shape, memory_format, kind=None):
    return torch.empty(shape, dtype=kind or KINDS[problem.dtype], memory_format=memory_format)


def window(problem):
    return list(problem.kernel), list(problem.stride), list(problem.symmetric)


def forward(problem, x, y, memory_format):
    """A function that pools x into y (or into a tensor of its own, where PyTorch takes no output), or None."""
    n, nn = len(problem.axes), torch._C._nn
    if problem.kind == "global":
        axes = tuple(range(2, n + 2))
        if problem.op in ("max", "min"):
            function = torch.amax if problem.op == "max" else torch.amin
        else:
            function = {"avg": torch.mean, "sum": torch.sum}.get(problem.op)
        return function and (lambda: function(x, axes, True, out=y))
    indices = empty(problem, y.shape, memory_format, torch.int64) if n > 1 else None
    if problem.kind == "adaptive":
        if problem.op == "avg" and n > 1:
            function = getattr(nn, f"adaptive_avg_pool{n}d", None) or getattr(nn, "adaptive_avg_pool3d")
            return lambda: function(x, list(problem.output_size), out=y)
        if problem.op == "max" and n > 1:
            function = getattr(nn, f"adaptive_max_pool{n}d")
            return lambda: function(x, list(problem.output_size), out=(y, indices))
        return None
    if problem.symmetric is None:
        return None
    k, s, p = window(problem)
    if problem.op == "max":
        if n == 1:
            return lambda: torch.max_pool1d(x[0] if len(x) == 1 else x, k, s, p, list(problem.dilation), problem.ceil)
        function = getattr(nn, f"max_pool{n}d_with_indices")
        return lambda: function(x, k, s, p, list(problem.dilation), problem.ceil, out=(y, indices))
    if set(problem.dilation) != {1}:
        return None
    divisor = 1 if problem.op == "sum" else problem.divisor or None
    if problem.op in ("avg", "sum"):
        if n == 1:
            return (lambda: torch.avg_pool1d(x, k, s, p, problem.ceil, problem.include_pad)) if not divisor else None
        function = getattr(nn, f"avg_pool{n}d")
        return lambda: function(x, k, s, p, problem.ceil, problem.include_pad, divisor, out=y)
    if problem.op == "lp" and not any(p) and problem.norm != float("inf"):
        function = getattr(torch.nn.functional, f"lp_pool{n}d")
        return lambda: function(x, problem.norm, k, s, problem.ceil)
    return None


def backward(problem, x, dy, dx):
    n, nn = len(problem.axes), torch._C._nn
    if problem.kind != "uniform" or problem.symmetric is None or n == 1:
        return None
    k, s, p = window(problem)
    if problem.op == "max":
        d = list(problem.dilation)
        _, indices = getattr(nn, f"max_pool{n}d_with_indices")(x, k, s, p, d, problem.ceil)
        function = (
            getattr(nn, f"max_pool{n}d_with_indices_backward", None)
            or getattr(torch.ops.aten, f"max_pool{n}d_with_indices_backward").grad_input
        )
        return lambda: function(dy, x, k, s, p, d, problem.ceil, indices, grad_input=dx)
    if problem.op == "avg" and set(problem.dilation) == {1}:
        function = torch.ops.aten.avg_pool2d_backward if n == 2 else torch.ops.aten.avg_pool3d_backward
        function = function.grad_input
        divisor = problem.divisor or None
        return lambda: function(dy, x, k, s, p, problem.ceil, problem.include_pad, divisor, grad_input=dx)
    return None


def one(problem, x, dy, memory_format, name, other_layout):
    y_shape = list(x.shape[:2]) + [problem.output_shape[axis] for axis in problem.axes]
    if problem.op == "avg" and len(problem.axes) == 3:
        memory_format = torch.contiguous_format  # avg_pool3d writes into another output as if it were contiguous
    out = empty(problem, x.shape if problem.backward else y_shape, memory_format)
    if problem.backward:
        call = backward(problem, x, dy, out)
    else:
        call = forward(problem, x, out, memory_format)
    if call is None:
        return []

    kept = {}

    def result():
        made = kept["y"]
        made = made[0] if isinstance(made, tuple) else made
        return array(problem, made.reshape(out.shape))

    def run():
        kept["y"] = call()

    return [Contender(name, run, result, other_layout)]


def contenders(problem, x, dy):
    if problem.channels == "other" or problem.omit or problem.same or problem.op == "min" and problem.kind != "global":
        return []
    x = tensor(problem, x)
    dy = tensor(problem, dy) if problem.backward else None
    found = one(problem, x, dy, format_of(problem), NAME, False)
    n = len(problem.axes)
    if found and problem.channels == "first" and n > 1 and x.shape[1] > 1 and not problem.cropped:
        last = LAST[n + 2]
        x, dy = x.contiguous(memory_format=last), None if dy is None else dy.contiguous(memory_format=last)
        found += one(problem, x, dy, last, "PyTorch, channels last", True)
    return found
