"""What nvcc makes of the kernels of networks: no register goes to memory, two blocks of 256 threads fit on a
multiprocessor, copies to shared memory are asynchronous and, as stores are, vectors.

nvcc is found as tests/cuda/nvcc_test.py finds it, which also compiles every file.
"""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/cuda"))
from nvcc_test import ARCHITECTURES, FLAGS, NVCC, bodies_of, known, run  # noqa: E402

MOST_REGISTERS = 128  # of 65,536 by 2 x 256 threads
KERNELS = 4
FMA_OF_TAPS = 8 * 2 * 4 * 9  # of one channel in a thread of a convolution


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels(architecture, tmp_path):
    if not NVCC:
        pytest.skip("NOT CHECKED: there is no nvcc, so the kernels of networks were not looked at")
    if architecture not in known(NVCC):
        pytest.skip(f"NOT CHECKED: {NVCC} does not know sm_{architecture}")
    report = run(NVCC, *FLAGS, "-arch", f"sm_{architecture}", "-cubin", "-Xptxas", "-v", ROOT / "tests/nn/cuda/probe.cu",
                 "-o", tmp_path / "probe.cubin", "--keep", "--keep-dir", tmp_path)
    found = re.findall(r"Function properties for (\S+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, "
                       r"(\d+) bytes spill loads\s.*?Used (\d+) registers", report)
    assert len(found) == KERNELS, report
    for name, stack, stores, loads, registers in found:
        assert (stack, stores, loads) == ("0", "0", "0"), f"{name} spills"
        assert int(registers) <= MOST_REGISTERS, f"{name} takes {registers} registers"
    vectors = 0
    for name, body in bodies_of(tmp_path / "probe.ptx"):
        if "heads" in name:
            continue
        assert "cp.async.cg.shared.global" in body and "ld.shared.v4" in body, name
        if "convolution" in name:
            assert body.count("fma.rn.f32") == FMA_OF_TAPS, f"{name}: the taps are not all in registers"
        vectors += "cp.async.ca.shared.global" not in body and "st.global.cg.v4" in body
    assert vectors == 2
