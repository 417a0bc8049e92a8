"""What src/nn/cuda/cudnn.h declares of cuDNN, beside cuDNN's own header, where that is installed: by ORIEL_CUDNN_INCLUDE, on the
compiler's path, or in the package that PyTorch's CUDA builds bring."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NVCC = os.environ.get("ORIEL_NVCC") or shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
FOLDERS = [os.environ.get("ORIEL_CUDNN_INCLUDE"), "/usr/include", "/usr/include/x86_64-linux-gnu",
           "/usr/local/cuda/include", sysconfig.get_path("purelib") + "/nvidia/cudnn/include"]  # fmt: skip


def test_declarations():
    header = next((folder for folder in FOLDERS if folder and Path(folder, "cudnn.h").exists()), None)
    if not header or not NVCC:
        pytest.skip("NOT CHECKED: there is no cudnn.h or no nvcc, so the declarations of cuDNN's functions were not compared with it")
    command = [NVCC, "-x", "c++", "-std=c++20", f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{header}", "-Xcompiler", "-fsyntax-only",
               "-c", ROOT / "tests/nn/cuda/cudnn_header.cc", "-o", os.devnull]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
