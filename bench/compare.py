#!/usr/bin/env python3
"""Oriel beside a copy of the same bytes and beside other libraries' pools, on the problems of bench/suite.txt.

Usage: compare.py OUT.json [--groups G,…] [--only TEXT] [--peers P,…] [--threads 1,2] [--target AVX2] [--quick]

One process for each number of threads measures all contenders of a problem in turns, after every result was compared
with Oriel's and Oriel's with loops over some windows. All arrays begin with lines of the caches. Contenders that give
other values are left out, and that is said.
"""

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from report import processor, write_results

TOO_LONG = 2.0  # seconds: a peer whose call would take longer is left out, loudly
# What keeps libraries to an older instruction set: those of OpenVINO and onnxruntime that pool without oneDNN stay as they are.
HELD = {
    "AVX2": {
        "ORIEL_TARGET": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        "OPENCV_CPU_DISABLE": "AVX512-SKX",
    }
}
# Taps per second of libraries that visit every tap of every window: with many channels side by side, and without.
TAPS = {
    "torch": (1e9, 0.25e9),
    "jax": (0.5e9, 0.5e9),
    "onnxruntime": (0.3e9, 0.3e9),
    "openvino": (3e9, 0.3e9),
    "tensorflow": (2e9, 0.3e9),
    "onednn": (3e9, 0.3e9),
}


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--suite", type=Path, help="another file than bench/suite.txt")
    parser.add_argument("--groups", default="", help="only these groups of the suite")
    parser.add_argument("--only", default="", help="only problems whose names contain this text")
    parser.add_argument("--peers", help="only these peers; empty: none")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, each in a process of its own")
    parser.add_argument("--target", choices=HELD, help="an older instruction set of this processor, for Oriel and its peers")
    parser.add_argument("--seconds", type=float, default=0.25, help="measure a problem for at least so long")
    parser.add_argument("--rounds", type=int, default=5, help="and at least so many rounds")
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: count processor time, for one thread on a machine that others use too",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small tensors, few rounds: shows that it works, not how fast"
    )
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def say(text):
    print(text, file=sys.stderr, flush=True)


def keep_to(threads, target):
    """Frameworks look at the processors and instructions that they may use when they are loaded."""
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-threads:]))
    os.environ.update(
        JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="3", OMP_NUM_THREADS=str(threads), CUDA_VISIBLE_DEVICES=""
    )
    os.environ.update(HELD.get(target, {}))


def check_held(target, peers):
    """Ends the program if a library that says which instructions it uses has not been kept to `target`."""
    words = {word for word, _ in peers}
    if target == "AVX2" and "torch" in words:
        import torch

        if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "DEFAULT"):
            sys.exit(f"compare: PyTorch uses {torch.backends.cpu.get_cpu_capability()}, not AVX2")
    if target == "AVX2" and "opencv" in words:
        import cv2

        if any(word.startswith("*AVX512") and not word.endswith("?") for word in cv2.getCPUFeaturesLine().split()):  # ?: is not used
            sys.exit(f"compare: OpenCV uses more than AVX2: {cv2.getCPUFeaturesLine()}")


def load_peers(wanted, threads):
    """[(word, module)] of those that are there, and name -> version; a missing one is said loudly."""
    from peers import ALL

    found, versions = [], {}
    for word in ALL if wanted is None else [w for w in wanted.split(",") if w]:
        try:
            module = importlib.import_module(f"peers.{word}")
            versions[module.NAME] = module.load(threads)
            found.append((word, module))
        except Exception as error:  # a broken installation is as good as none
            say(f"compare: {word.upper()} IS NOT HERE: {type(error).__name__}: {error}")
            versions[word] = None
    return found, versions


def stored_contender(name, problem, pool, x, dy, y):
    """A gradient by codes that a forward has stored, which is not timed."""
    from timing import Contender

    codes = pool.with_indices(x, space="window", index_dtype="uint8")[1]
    return Contender(
        name,
        lambda: pool.backward(dy, indices=codes, space="window", input_shape=problem.shape, out=y),
        lambda: y,
    )


def follows_codes(problem, x, dy):
    """[] or the gradient of a maximum as libraries compute it that follow what their forward has stored."""
    from problems import make_array
    from summary import STORED

    if not problem.backward or problem.codes or problem.op not in ("max", "min") or problem.taps > 255:
        return []
    y = make_array(problem, problem.shape, 5)
    return [stored_contender(STORED, problem, problem.pool(), x, dy, y)]


def oriel_contender(problem, x, dy):
    import numpy as np

    from problems import DTYPES, make_array, zeros
    from timing import Contender

    pool = problem.pool()
    y = make_array(problem, problem.shape if problem.backward else problem.output_shape, 3)
    if problem.cropped:
        y = zeros(y.shape, y.dtype)
    assert y.dtype == DTYPES[problem.dtype]
    if problem.backward and problem.codes:
        return stored_contender("Oriel", problem, pool, x, dy, y)
    if problem.backward:
        needs_x = problem.op not in ("avg", "sum") or problem.omit
        x = x if needs_x else None
        return Contender("Oriel", lambda: pool.backward(dy, x, input_shape=problem.shape, out=y), lambda: y)
    if problem.indices:
        out = (y, zeros(y.shape, np.int64))
        return Contender("Oriel", lambda: pool.with_indices(x, out=out), lambda: y)
    if problem.codes:
        out = (y, make_array(replace(problem, dtype="u8"), problem.output_shape, 4))
        return Contender("Oriel", lambda: pool.with_indices(x, space="window", index_dtype="uint8", out=out), lambda: y)
    return Contender("Oriel", lambda: pool(x, out=y), lambda: y)


def verified(problem, ours, contenders, left_out):
    """Those that give Oriel's values; the others are named in left_out."""
    from problems import close

    ours.run()
    expected, good = ours.result(), []
    for contender in contenders:
        try:
            contender.run()
            right = close(problem, contender.result(), expected)
            why = "gives other values"
        except Exception as error:
            right, why = (
                False,
                f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:160],
            )
        if right:
            good.append(contender)
        else:
            left_out[contender.name] = why
    return good


def seconds_expected(problem, word):
    """About how long a call of a peer takes that visits every tap; 0 for others."""
    separable = word == "onnxruntime" and max(problem.kernel, default=0) <= 32
    if problem.kind != "uniform" or word not in TAPS or separable:
        return 0.0
    channels = problem.shape[-1] if problem.channels == "last" else problem.shape[1] if len(problem.shape) > 2 else 1
    wide = problem.channels == "last" or word in ("openvino", "onednn")
    return math.prod(problem.output_shape) * problem.taps / TAPS[word][0 if wide and channels > 3 else 1]


def made(problem, peers, x, dy, left_out):
    """The contenders of all peers that have such a pool and are not hopeless."""
    found = []
    for word, module in peers:
        if seconds_expected(problem, word) > TOO_LONG:
            left_out[module.NAME] = f"not run, as it visits every tap, which would take more than {TOO_LONG:.0f} s"
            continue
        try:
            found += module.contenders(problem, x, dy)
        except Exception as error:
            left_out[module.NAME] = (
                f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:160]
            )
    return found


def measure(group, problem, peers, threads, arguments):
    from problems import first_wrong, make_array
    from summary import OURS, ratio
    from timing import Copy, in_turns, summary_of

    x = make_array(problem, problem.shape, 1)
    dy = make_array(problem, problem.output_shape, 2) if problem.backward else None
    left_out = {}
    ours = oriel_contender(problem, x, dy)
    stored = follows_codes(problem, x, dy)
    if len(verified(problem, ours, stored, left_out)) < len(stored):
        sys.exit(f"compare: {problem.name}: Oriel's gradient from stored codes: {left_out[stored[0].name]}")
    contenders = verified(problem, ours, made(problem, peers, x, dy, left_out), left_out)
    by = sorted({c.name for c in contenders})
    if not problem.backward and not problem.ceil:
        wrong = first_wrong(problem, x, ours.result())
        if wrong is not None:
            sys.exit(f"compare: {problem.name}: Oriel's output {wrong} is not what its window holds")
        by.append("loops")
    if not by:
        say(f"compare: NOTHING VERIFIES {problem.name}")
    copy = Copy(problem.bytes, threads)
    runs = {"copy": copy.alone, "Oriel": ours.run, **{c.name: c.run for c in stored + contenders}}
    if threads > 1:
        runs["copy, threads"] = copy.together
    taken = in_turns(
        runs,
        arguments.seconds,
        arguments.rounds,
        0.002 if threads > 1 else 0.0,
        time.perf_counter if arguments.clock == "wall" else time.process_time,
    )
    copy.end()
    times = {name: summary_of(seconds) for name, seconds in taken.items()}
    measured = {"times": times}
    together = times.pop("copy, threads", times["copy"])
    if together["seconds"] < times["copy"]["seconds"]:
        times["copy"] = together
    return {
        "group": group,
        "problem": problem.name,
        "threads": threads,
        "bytes": problem.bytes,
        "stored_bytes": problem.bytes - x.nbytes + dy.size if stored else problem.bytes,  # codes for x
        "verified_by": by,
        "times": times,
        "ratios": {name: ratio(measured, name) for name in times if name not in OURS},
        "left_out": left_out,
        "other_layout": [c.name for c in contenders if c.other_layout],
    }


def chosen(arguments):
    """[(group, Problem)] that the arguments ask for."""
    from problems import SUITE, parse, read_suite

    groups = {word for word in arguments.groups.split(",") if word}
    suite = read_suite(arguments.suite or SUITE)
    unknown = groups - {group for group, _ in suite}
    if unknown:
        sys.exit(
            f"compare: no group {', '.join(sorted(unknown))} in the suite; there are "
            f"{', '.join(dict.fromkeys(group for group, _ in suite))}"
        )
    problems = [
        (group, parse(name, cropped=group == "views"))
        for group, name in suite
        if (not groups or group in groups) and arguments.only in name
    ]
    return problems or sys.exit(f"compare: no problem of the suite has {arguments.only} in its name")


def row(result):
    from summary import STORED, best_peer

    times, ratios, best = result["times"], result["ratios"], best_peer(result)
    ours = times["Oriel"]
    stored = f" (stored codes {1e3 * times[STORED]['seconds']:.3f} ms)" if STORED in times else ""
    peers = sorted((name for name in ratios if name != "copy"), key=lambda name: -ratios[name])
    beside = ", ".join(f"{'*' if name == best else ''}{name} {1 / ratios[name]:.2f}" for name in peers) or "no peer"
    out = f"; left out: {', '.join(result['left_out'])}" if result["left_out"] else ""
    return (
        f"{result['threads']} {result['problem']:<48} {1e3 * ours['seconds']:9.3f} ms +-{100 * ours['spread']:3.0f} % "
        f"{ratios['copy']:7.2f} x copy{stored}; times as fast as {beside}{out}"
    )


def child(arguments):
    """Measures with one number of threads and stores that."""
    keep_to(arguments.child, arguments.target)
    peers, versions = load_peers(arguments.peers, arguments.child)
    check_held(arguments.target, peers)
    import oriel

    oriel.set_threads(arguments.child)
    results, problems = [], chosen(arguments)
    if arguments.quick:
        problems = [(group, smaller(problem)) for group, problem in problems]
        arguments.seconds, arguments.rounds = 0.0, 2
    for group, problem in problems[arguments.skip :]:
        results.append(measure(group, problem, peers, arguments.child, arguments))
        print(row(results[-1]), flush=True)
        write_results(
            arguments.out,
            {"target": oriel.active_target(), "versions": {"Oriel": oriel.__version__, **versions}, "results": results},
        )


def smaller(problem):
    """The problem with a batch of 1 and at most two channels and sixty-four positions beyond its window."""
    from dataclasses import replace

    shape = list(problem.shape)
    for axis, n in enumerate(shape):
        shape[axis] = min(n, 2)
        if axis in problem.axes:
            a = problem.axes.index(axis)
            span = 1
            if problem.kind == "uniform":
                span = problem.dilation[a] * (problem.kernel[a] - 1) + 1
            shape[axis] = min(n, span + 63)
    return replace(problem, shape=tuple(shape))


def measured_by_children(words, out, threads):
    """What processes with so many threads measured. Where a peer's code kills one, another goes on after that problem."""
    part = out.with_name(f"{out.name}.{threads}")
    command = [str(part) if word == str(out) else word for word in words]
    whole, skip = {"results": []}, 0
    while True:
        part.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, __file__, *command, "--child", threads, "--skip", str(skip)])
        measured = json.loads(part.read_text()) if part.exists() else {"results": []}
        results = whole["results"] + measured.pop("results")
        whole |= measured | {"results": results}
        if done.returncode > 0:
            sys.exit(f"compare: measuring with {threads} threads ended with {done.returncode}; see {part}")
        if done.returncode == 0:
            part.unlink(missing_ok=True)
            return whole
        skip = len(results) + whole.setdefault("killed", 0) + 1
        whole["killed"] += 1
        say(
            f"compare: SIGNAL {-done.returncode} ENDED PROBLEM {skip} OF THE SUITE with {threads} threads; the rest goes on"
        )


def main():
    words = sys.argv[1:]
    arguments = arguments_of(words)
    if arguments.child:
        child(arguments)
        return
    from summary import print_summary, summarise

    whole = {"processor": processor(), "quick": arguments.quick, "results": []}
    start = time.monotonic()
    for threads in arguments.threads.split(","):
        measured = measured_by_children(words, arguments.out, threads)
        whole["results"] += measured.pop("results")
        whole["killed"] = whole.get("killed", 0) + measured.pop("killed", 0)
        whole |= measured
    whole["minutes"] = (time.monotonic() - start) / 60
    whole["summary"] = summarise(whole)
    write_results(arguments.out, whole)
    print_summary(whole)


if __name__ == "__main__":
    main()
