"""Times problems of bench/suite.txt on a GPU, in one run, beside a device copy of the same bytes, PyTorch eager and
compiled, cuDNN and CuPy, and writes docs/performance-gpu.md. scripts/gpu_check.sh calls it.

Usage: gpu.py BRIDGE [--seconds N] [--output FILE]; BRIDGE is liboriel_cuda_bridge.so. Needs PyTorch; leaves out, and
says so, what else is not there. Every result of Oriel is compared with PyTorch's before it is timed.
"""

import argparse
import ctypes
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from peers import cudnn

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8,
         "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64}  # fmt: skip
CYCLED = 256 << 20  # bytes of inputs that are gone through by turns: more than a second cache holds
LEAST = 24 << 20  # bytes below which a launch is all that is timed: batches are made larger
PEERS = ("PyTorch", "compiled", "cuDNN", "CuPy")


def read_suite():
    group, found = "", []
    for line in (ROOT / "bench/suite.txt").read_text().splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            group = line.strip("[]")
        elif line:
            found.append((group, line))
    return found


class Bridge:
    """The library's entry points, through its C functions."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))

    def describe(self, name):
        text = ctypes.create_string_buffer(4096)
        if self.library.oriel_cuda_describe(name.encode(), text, len(text)) != 0:
            raise ValueError(text.value.decode())
        return json.loads(text.value)

    def call(self, function, name, *tensors):
        error = ctypes.create_string_buffer(1024)
        pointers = [ctypes.c_void_p(t.data_ptr() if t is not None else None) for t in tensors]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if getattr(self.library, function)(name.encode(), *pointers, stream, error, len(error)) != 0:
            raise RuntimeError(error.value.decode())


def enlarged(name, problem):
    """The problem with a batch that makes it worth timing; most of the suite is sized for two cores."""
    size = torch.empty((), dtype=KINDS[problem["dtype"]]).element_size()
    bytes_now = size * (math.prod(problem["shape"]) + math.prod(problem["out"]))
    if 0 in problem["axes"] or bytes_now >= LEAST:
        return name
    words = name.split(":")
    extents = words[2].split("x")
    extents[0] = str(int(extents[0]) * -(-LEAST // bytes_now))
    return ":".join([*words[:2], "x".join(extents), *words[3:]])


def make(shape, order, kind):
    """A tensor of that shape whose axes lie in memory in `order`."""
    order = order or list(range(len(shape)))
    t = torch.empty([shape[a] for a in order], device="cuda", dtype=kind)
    if kind.is_floating_point:
        t.copy_(torch.randn(t.shape, device="cuda", dtype=torch.float32))
    else:
        t.random_(0, 100)
    return t.permute([order.index(a) for a in range(len(shape))])


def batched(problem, t):
    """The tensor with batch and channels first, as PyTorch wants it, or None."""
    axes, rank = problem["axes"], t.dim()
    if rank == len(axes) + 2 and axes == list(range(2, rank)):
        return t
    if rank == len(axes) + 2 and axes == list(range(1, rank - 1)):
        return t.movedim(-1, 1)
    return t[None, None] if axes == list(range(rank)) else None


def torch_function(problem):
    """PyTorch's function for the problem, or None; forward only."""
    n, f = len(problem["axes"]), torch.nn.functional
    symmetric = not problem["same"] and all(2 * b <= k for b, k in zip(problem["before"], problem["kernel"]))
    words = dict(kernel_size=problem["kernel"], stride=problem["stride"], padding=problem["before"])
    if problem["kind"] != 0 or not symmetric or problem["omit"] or not 1 <= n <= 3:
        return None
    if problem["op"] == "max":
        pool = getattr(f, f"max_pool{n}d")
        rest = dict(dilation=problem["dilation"], ceil_mode=problem["ceil"], return_indices=problem["indices"])
        return lambda x: pool(x, **words, **rest)
    if problem["op"] == "avg" and set(problem["dilation"]) == {1}:
        pool = getattr(f, f"avg_pool{n}d")
        rest = dict(ceil_mode=problem["ceil"], count_include_pad=problem["include"])
        if problem["divisor"] and n > 1:
            rest["divisor_override"] = problem["divisor"]
        return lambda x: pool(x, **words, **rest)
    return None


def makes_shape(problem, function, x):
    """Whether PyTorch's result has the problem's shape: it has no word for padding that differs at both ends."""
    made = function(x[:1].float())  # it has no pools of integers on a device
    made = made[0] if isinstance(made, tuple) else made
    return [made.shape[a - x.dim()] for a in range(2, x.dim())] == [problem["out"][a] for a in problem["axes"]]


def time_calls(call, seconds):
    """The median seconds of one call, by events around batches of calls; calls are given their number."""
    for i in range(3):
        call(i)
    torch.cuda.synchronize()
    started, times, batch, number = time.monotonic(), [], 10, 0
    while len(times) < 3 or time.monotonic() - started < seconds:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(batch):
            call(number)
            number += 1
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1000 / batch)
        if len(times) >= 3 and time.monotonic() - started > 4 * seconds:
            break
    return statistics.median(times)


def cupy_call(problem, xs, ys):
    """CuPy's maximum_filter or uniform_filter where the windows step by one and keep the size."""
    if problem["op"] not in ("max", "avg") or set(problem["stride"]) != {1} or problem["shape"] != problem["out"]:
        return None
    if problem["dtype"] not in ("f32", "f64", "u8") or problem["backward"] or problem["kind"] != 0:
        return None
    try:
        import cupy
        from cupyx.scipy import ndimage
    except ImportError:
        return None
    size = [1] * len(problem["shape"])
    for axis, k in zip(problem["axes"], problem["kernel"]):
        size[axis] = k
    filter_ = ndimage.maximum_filter if problem["op"] == "max" else ndimage.uniform_filter
    ins, outs = [cupy.asarray(x) for x in xs], [cupy.asarray(y) for y in ys]
    return lambda i: filter_(ins[i % len(ins)], size=size, mode="constant", output=outs[i % len(outs)])


def has_pools_of(kind):
    """Whether PyTorch pools tensors of that dtype on a device."""
    return kind.is_floating_point


def compare(name, problem, ours, theirs):
    """Raises where Oriel's result is not PyTorch's: bits for extrema, a rounding or two for sums."""
    ours, theirs = ours.double(), theirs.double()
    exact = problem["op"] == "max" and not problem["backward"]
    limit = 0 if exact else {"f64": 1e-12, "f32": 2e-5, "f16": 4e-3, "bf16": 4e-2}.get(problem["dtype"], 0)
    worst = ((ours - theirs).abs() / theirs.abs().clamp(min=1)).max().item()
    if not worst <= limit:
        raise AssertionError(f"{name}: differs from PyTorch by {worst}, allowed is {limit}")


class Row:
    def __init__(self, group, name):
        self.group, self.name = group, name
        self.seconds = {}

    def share(self):
        return self.seconds["copy"] / self.seconds["Oriel"]

    def faster(self, peer):
        return self.seconds[peer] / self.seconds["Oriel"] if peer in self.seconds else None


def measure(bridge, group, name, seconds, dnn, compiled):
    problem = bridge.describe(name)
    if problem["dtype"] not in KINDS or (problem["backward"] and problem["op"] not in ("max", "avg")):
        return None
    name = enlarged(name, problem)
    problem = bridge.describe(name)
    kind, order = KINDS[problem["dtype"]], problem["order"]
    sets = max(1, min(8, CYCLED // max(1, math.prod(problem["shape"]) * torch.empty((), dtype=kind).element_size())))
    xs = [make(problem["shape"], order, kind) for _ in range(sets)]
    ys = [make(problem["out"], order, kind) for _ in range(sets)]
    row, function, turns = Row(group, name), torch_function(problem), list(range(sets))
    moved = xs[0].nbytes + ys[0].nbytes
    if problem["backward"]:
        dxs = [torch.empty_like(x) for x in xs]
        moved += xs[0].nbytes if problem["op"] == "max" else 0
        oriel = [lambda i=i: bridge.call("oriel_cuda_backward", name, xs[i], ys[i], dxs[i]) for i in turns]
    else:
        index = torch.empty_like(ys[0], dtype=torch.int64) if problem["indices"] else None
        moved += index.nbytes if index is not None else 0
        oriel = [lambda i=i: bridge.call("oriel_cuda_forward", name, xs[i], ys[i], index) for i in turns]
    row.seconds["Oriel"] = None
    oriel[0]()
    leaf = batched(problem, xs[0])
    if function is not None and leaf is not None and makes_shape(problem, function, leaf):
        whole = [batched(problem, x) for x in xs]
        if not has_pools_of(kind):  # compared with what it makes of the same numbers, which f32 holds
            theirs = function(whole[0].float())
            theirs = theirs[0] if isinstance(theirs, tuple) else theirs
            compare(name, problem, batched(problem, ys[0]), theirs.round())
        elif problem["backward"]:
            leaves = [x.detach().requires_grad_() for x in whole]
            outs = [function(x) for x in leaves]
            dys = [batched(problem, y) for y in ys]
            eager = lambda i: torch.autograd.grad(outs[i % sets], leaves[i % sets], dys[i % sets], retain_graph=True)
            # PyTorch's gradient of dense channels first is the one to trust: others of its kernels are checked by it, too.
            dense = leaves[0].detach().contiguous().requires_grad_()
            trusted = torch.autograd.grad(function(dense), dense, dys[0].contiguous())[0]
            compare(name, problem, batched(problem, dxs[0]), trusted)
            try:
                compare(name, problem, trusted, eager(0)[0])
            except AssertionError as difference:
                print(f"PyTorch's own gradients differ: {difference}", file=sys.stderr)
        else:
            eager = lambda i: function(whole[i % sets])
            theirs = eager(0)
            compare(name, problem, batched(problem, ys[0]), theirs[0] if isinstance(theirs, tuple) else theirs)
        if has_pools_of(kind):
            row.seconds["PyTorch"] = time_calls(eager, seconds)
        if compiled and has_pools_of(kind) and not problem["backward"]:
            fast = torch.compile(function, dynamic=False)
            row.seconds["compiled"] = time_calls(lambda i: fast(whole[i % sets]), seconds)
    runs = []
    if dnn is not None and not problem["backward"] and leaf is not None and leaf.dim() == 4:
        runs = [cudnn.forward(dnn, problem, batched(problem, x), batched(problem, y)) for x, y in zip(xs, ys)]
    if runs and runs[0] is not None:
        row.seconds["cuDNN"] = time_calls(lambda i: runs[i % sets](), seconds)
    filtered = cupy_call(problem, xs, ys)
    if filtered is not None:
        row.seconds["CuPy"] = time_calls(filtered, seconds)
    halves = [torch.empty(moved // 2, device="cuda", dtype=torch.uint8) for _ in range(2 * min(sets, 4))]
    pairs = len(halves) // 2
    row.seconds["copy"] = time_calls(lambda i: halves[2 * (i % pairs)].copy_(halves[2 * (i % pairs) + 1]), seconds)
    row.seconds["Oriel"] = time_calls(lambda i: oriel[i % sets](), seconds)
    return row


def cell(value, form="{:.2f}"):
    return "" if value is None else form.format(value)


def table(rows):
    lines = ["| problem | share of the copy | " + " | ".join(f"{peer} takes" for peer in PEERS) + " |",
             "|---|---|" + "---|" * len(PEERS)]  # fmt: skip
    for row in rows:
        peers = " | ".join(cell(row.faster(peer), "{:.2f}x") for peer in PEERS)
        lines.append(f"| `{row.name}` | {cell(100 * row.share(), '{:.0f}%')} | {peers} |")
    return lines


def medians(rows):
    """[(group, share, {peer: ratio})] with the medians of each group."""
    found = []
    for group in dict.fromkeys(row.group for row in rows):
        of = [row for row in rows if row.group == group]
        ratios = {peer: [row.faster(peer) for row in of if row.faster(peer) is not None] for peer in PEERS}
        found.append((group, statistics.median(row.share() for row in of),
                      {peer: statistics.median(r) for peer, r in ratios.items() if r}))  # fmt: skip
    return found


def page(rows, left, missing):
    device = torch.cuda.get_device_properties(0)
    text = [
        "# Speed on a GPU", "",
        f"Measured by `scripts/gpu_check.sh` on one {device.name} ({device.multi_processor_count} multiprocessors), "
        f"CUDA {torch.version.cuda}, PyTorch {torch.__version__}, in one run. *Share of the copy*: the time of a device "
        "copy that moves the bytes of the problem, over Oriel's. A peer *takes* so many times Oriel's time. Inputs "
        f"are gone through by turns, {CYCLED >> 20} MB and more; small problems of the suite have a larger batch here.", "",
    ]  # fmt: skip
    text += [f"Not measured: {', '.join(missing)}.", ""] if missing else []
    text += [f"{left} problems were left out when the time was up.", ""] if left else []
    for group in dict.fromkeys(row.group for row in rows):
        text += [f"## {group}", "", *table([row for row in rows if row.group == group]), ""]
    return "\n".join(text)


def write_whole(path, text):
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    os.replace(file.name, path)


def by_turns(suite):
    """The suite with the groups by turns, so that each has problems when the time is up."""
    groups = {}
    for group, name in suite:
        groups.setdefault(group, []).append((group, name))
    longest = max(map(len, groups.values()))
    return [names[i] for i in range(longest) for names in groups.values() if i < len(names)]


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("bridge", type=Path)
    words.add_argument("--seconds", type=float, default=240, help="for all of it")
    words.add_argument("--output", type=Path, default=ROOT / "docs/performance-gpu.md")
    words.add_argument("--no-compile", action="store_true", help="leave out torch.compile")
    given = words.parse_args()
    if not torch.cuda.is_available():
        sys.exit("gpu.py: PyTorch finds no CUDA device")
    bridge, dnn, started = Bridge(given.bridge), cudnn.library(), time.monotonic()
    missing = [] if dnn is not None else ["cuDNN (no libcudnn)"]
    try:
        import cupy  # noqa: F401
    except ImportError:
        missing.append("CuPy (not installed)")
    rows, left, wrong = [], 0, []
    for group, name in by_turns(read_suite()):
        if time.monotonic() - started > given.seconds:
            left += 1
            continue
        compiled = not given.no_compile and sum(row.group == group for row in rows) < 2  # compiling takes seconds
        try:
            row = measure(bridge, group, name, 0.05, dnn, compiled)
        except (AssertionError, RuntimeError, torch.OutOfMemoryError) as problem:
            wrong.append(f"{name}: {problem}")
            continue
        if row is not None:
            rows.append(row)
    order = [group for group, _ in read_suite()]
    rows.sort(key=lambda row: order.index(row.group))
    if not rows:
        sys.exit("gpu.py: nothing was measured\n" + "\n".join(wrong))
    write_whole(given.output, page(rows, left, missing))
    print(f"{'group':<12}{'of copy':>9}" + "".join(f"{peer:>10}" for peer in PEERS))
    for group, share, ratios in medians(rows):
        peers = "".join(f"{cell(ratios.get(peer), '{:.2f}x'):>10}" for peer in PEERS)
        print(f"{group:<12}{100 * share:>8.0f}%{peers}")
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
