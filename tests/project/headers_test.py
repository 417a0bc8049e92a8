"""Every public header compiles alone, with each compiler that is there."""

import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in (INCLUDE / "oriel").rglob("*.h"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def test_there_are_headers():
    assert "oriel/pool.h" in HEADERS


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone(header, compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "alone.cc"
    # Twice: a header without a guard fails too.
    source.write_text(f'#include "{header}"\n#include "{header}"\nint main() {{}}\n')
    command = [compiler, "-std=c++20", "-fsyntax-only", *WARNINGS, f"-I{INCLUDE}", str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
