"""All CUDA code compiled by nvcc, device and host side, and what it makes of the kernels: registers do not go to
memory, for any architecture, and accesses are vectors.

nvcc is the one that ORIEL_NVCC names, else that of the path or of /usr/local/cuda. Without one the test is skipped,
and pytest says so.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NVCC = os.environ.get("ORIEL_NVCC") or shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
FLAGS = ["-std=c++20", "-O3", "--fmad=false", "--expt-relaxed-constexpr", f"-I{ROOT}/src", f"-I{ROOT}/include"]
# Ptxas takes 40 s or more for one: the oldest, and at night all.
ARCHITECTURES = ["80", "89", "90", "100", "120"] if os.environ.get("ORIEL_EVERY_CASE") else ["80"]
# Windows of any rank need arrays that are indexed; the others keep everything in registers.
IN_MEMORY = ["gather_extremum"]
VECTORS = ["strip", "strip_codes", "lanes", "apart", "overlap_extremum", "lane_gradients"]
# These store results one by one.
VECTOR_READERS = ["staged", "lane_columns", "chosen"]


def words_of(kernel):
    """How the mangled name of a kernel of the probe spells it."""
    return f"{len(kernel)}{kernel}"


# Every file that nvcc compiles.
SOURCES = sorted([*(ROOT / "src/cuda").glob("*.cu"), *(ROOT / "src/nn/cuda").glob("*.cu"),
                  *(ROOT / "python/src").glob("*.cu")])
# Through the device's and the host's compiler, but without optimisation and machine code: a sixth of the time. What
# optimised kernels look like, the probe shows.
QUICK = ["-gencode", "arch=compute_90,code=compute_90", "-Xcicc", "-O0", "-Xcompiler", "-O0"]


@pytest.fixture(scope="module")
def nvcc():
    if not NVCC:
        pytest.skip("NOT CHECKED: there is no nvcc, so registers and accesses of the CUDA kernels were not looked at")
    return NVCC


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def known(nvcc):
    return {a.strip().removeprefix("sm_") for a in run(nvcc, "--list-gpu-code").split()}


def bodies_of(text):
    """[(mangled name, PTX)] of the kernels of a PTX file."""
    bodies = re.split(r"\.entry\s+", text.read_text())[1:]
    return [(body.split("(", 1)[0], body) for body in bodies]


def check_accesses(text):
    """Kernels that can read and store vectors do."""
    found = 0
    for name, body in bodies_of(text):
        stores = any(words_of(kernel) in name for kernel in VECTORS)
        if not stores and not any(words_of(kernel) in name for kernel in VECTOR_READERS):
            continue
        found += 1
        assert "ld.global.nc.v4" in body, f"{name} does not read 16 bytes at once"
        assert not stores or re.search(r"st\.global\.cs\.v[24]", body), f"{name} does not store vectors"
    assert found == 30


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_the_probe(nvcc, architecture, tmp_path):
    if architecture not in known(nvcc):
        pytest.skip(f"NOT CHECKED: {nvcc} does not know sm_{architecture}")
    report = run(nvcc, *FLAGS, "-arch", f"sm_{architecture}", "-cubin", "-Xptxas", "-v", ROOT / "tests/cuda/probe.cu",
                 "-o", tmp_path / "probe.cubin", "--keep", "--keep-dir", tmp_path)
    kernels = re.findall(r"Function properties for (\S+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, "
                         r"(\d+) bytes spill loads", report)
    names = [name for name, *_ in kernels]
    for kernel in ("strip", "lanes", "stream", "staged", "lane_columns", "chosen", "apart", "overlap_extremum", "overlap_sum", "lane_gradients",
                   "gather_extremum"):
        assert any(words_of(kernel) in name for name in names), f"{kernel} is missing: {report}"
    for name, stack, stores, loads in kernels:
        if any(words_of(kernel) in name for kernel in IN_MEMORY):
            continue
        assert (int(stores), int(loads)) == (0, 0), f"{name} spills {stores} and {loads} bytes"
        assert int(stack) == 0, f"{name} has {stack} bytes of local memory"
    check_accesses(tmp_path / "probe.ptx")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_every_file_compiles(nvcc, source, tmp_path):
    run(nvcc, *FLAGS, *QUICK, "-Werror", "all-warnings", "-c", source, "-o", tmp_path / "object.o", "--keep",
        "--keep-dir", tmp_path)
    kernels = bodies_of(tmp_path / f"{source.stem}.ptx")
    assert bool(kernels) == (source.stem not in ("run", "staged_call")), "the others have kernels"
