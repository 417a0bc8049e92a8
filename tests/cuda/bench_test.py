"""`oriel bench --device cuda`: the command over the emulated backend, and what a build without the backend says."""

import json
import os
import subprocess

NAMES = ["max:f32:2x4x32x32:k2x2s2", "avg:u8:1x32x32x3:k2:axes1,2", "sum:f32:2x3x8x8:k2x2:backward",
         "max:f32:1x2x16x16:k3x3s2p1:backward", "max:f32:1x2x16x16:k2x2:order0,2,3,1", "max:f32:1x2x16x16:k2x2:indices",
         "lp3:f32:1x2x9x9:k3x3"]  # fmt: skip
SHORT = ["--repetitions", "3", "--seconds", "0"]


def bench(command, *words):
    return subprocess.run([os.environ[command], "bench", *words], capture_output=True, text=True, timeout=120)


def test_results_are_verified_and_timed_beside_a_device_copy():
    done = bench("ORIEL_EMULATED_COMMAND", *NAMES, "--device", "cuda", *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["device"] == "grid emulator, 1 multiprocessors" and len(report["results"]) == len(NAMES)
    for name, result in zip(NAMES, report["results"]):
        assert result["verified_by"] == "reference"
        assert result["seconds"] > 0 and result["copy_seconds"] > 0 and result["repetitions"] >= 3


def test_large_problems_are_compared_with_the_cpu():
    done = bench("ORIEL_EMULATED_COMMAND", "max:f32:1x1x100x100:k71x71s1p35", "--device", "cuda", *SHORT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("grid emulator, 1 multiprocessors; copy: on the device")
    assert done.stdout.rstrip().endswith("CPU")


def test_a_build_without_the_backend_says_so():
    done = bench("ORIEL_COMMAND", NAMES[0], "--device", "cuda", *SHORT)
    if done.returncode == 0:  # a build with the backend, on a machine with a device
        assert "copy: on the device" in done.stdout
        return
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr in (
        "oriel bench: --device must be cpu in this build, which has no CUDA backend (ORIEL_CUDA=ON builds it), but is "
        "cuda\n",
        "oriel bench: cuda: cudaGetDevice failed: no CUDA-capable device is detected (cudaErrorNoDevice)\n",
        "oriel bench: cuda: cudaGetDevice failed: CUDA driver version is insufficient for CUDA runtime version "
        "(cudaErrorInsufficientDriver)\n",
    )


def test_another_word_is_refused():
    done = bench("ORIEL_COMMAND", NAMES[0], "--device", "gpu")
    assert done.returncode == 2 and "--device" in done.stderr and "cuda" in done.stderr
