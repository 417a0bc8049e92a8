"""What the sources themselves must say: every return code of CUDA is checked, and no file is left out of the build."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = [*(ROOT / "src/cuda").glob("*.cu*"), *(ROOT / "src/cuda").glob("*.h"), *(ROOT / "src/cuda/device").iterdir(), *(ROOT / "python/src").glob("xla_*"),
         *(ROOT / "src/nn/cuda").iterdir(),
         *(ROOT / "cli").glob("device_cuda.cc")]  # fmt: skip
# Calls that give no code, and those of destructors and deleters, which cannot throw: the next call reports what went wrong.
NO_CODE = {"cudaGetErrorString", "cudaGetErrorName", "cudaGetLastError"}
IN_DESTRUCTORS = {"cudaFreeAsync", "cudaFree", "cudaStreamDestroy", "cudaEventDestroy"}


def calls(text):
    """[(name, what stands before it on its line)] of the runtime's functions that are called."""
    text = re.sub(r"//.*|\"(?:[^\"\\\n]|\\.)*\"", "", text)
    text = re.sub(r"\(\n\s*", "(", text)  # arguments that begin on the next line
    return [(m[2], m[1].strip()) for m in re.finditer(r"^(.*?)\b(cuda[A-Z]\w+)\(", text, re.MULTILINE)]


def test_calls_are_found():
    found = calls('check(cudaMalloc(&p, 1), "cudaMalloc");  // cudaNo()\n  cudaMemcpy(a, b);\n')
    assert found == [("cudaMalloc", "check("), ("cudaMemcpy", "")]


def test_every_return_code_is_checked():
    seen = set()
    for path in FILES:
        for name, before in calls(path.read_text()):
            seen.add(name)
            if name in NO_CODE:
                continue
            if name in IN_DESTRUCTORS:
                assert re.search(rf"(~\w+\(\)|\[\]\(void\* \w+\))[^}}]*\b{name}\(", path.read_text()), f"{path.name}: {name} in no destructor or deleter"
                continue
            assert before.endswith("check("), f"{path.name}: the return code of {name} is not checked"
    assert {"cudaLaunchKernelEx", "cudaMallocAsync", "cudaPointerGetAttributes", "cudaMemcpy", "cudaFree"} <= seen


def test_no_file_is_forgotten():
    """The files that the build compiles are all that there are, and nvcc_test.py takes those."""
    text = (ROOT / "cmake/oriel_cuda.cmake").read_text()
    for folder in ("cuda", "nn/cuda"):
        listed = re.findall(rf"^  {folder}/(\w+\.cu)$", text, re.MULTILINE)
        assert sorted(listed) == sorted(path.name for path in (ROOT / "src" / folder).glob("*.cu"))
    built = (ROOT / "python/CMakeLists.txt").read_text()
    assert all(path.name in built for path in (ROOT / "python/src").glob("*.cu"))
