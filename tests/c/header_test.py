"""oriel/c.h is C99 and C++ without a warning, and its structs are laid out as programs compiled before expect."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYOUT = Path(__file__).with_name("layout.c")
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wpadded", "-Werror"]
C = ["-std=c99", "-std=c11", "-std=c17"]
CXX = ["-std=c++11", "-std=c++17", "-std=c++20"]
CASES = [
    *(
        pytest.param(compiler, ["-x", "c", std, "-Wstrict-prototypes", "-Wc++-compat"], id=f"{compiler}{std}")
        for compiler in ("gcc", "clang")
        for std in C
    ),
    *(
        pytest.param(compiler, ["-x", "c++", std], id=f"{compiler}{std}")
        for compiler in ("g++", "clang++")
        for std in CXX
    ),
]


@pytest.mark.parametrize(("compiler", "language"), CASES)
def test_compiles_alone_and_lies_as_written(compiler, language, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"NOT TESTED: {compiler} is not installed")
    program = tmp_path / "layout"
    command = [compiler, *language, *WARNINGS, f"-I{ROOT / 'include'}", str(LAYOUT), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    result = subprocess.run([program], capture_output=True, text=True)
    if result.returncode == 77:
        pytest.skip(result.stdout.strip())
    assert result.returncode == 0, result.stdout


def test_a_moved_field_is_noticed(tmp_path):
    """The test itself: a struct with a field too many does not pass."""
    header = tmp_path / "oriel" / "c.h"
    header.parent.mkdir()
    text = (ROOT / "include" / "oriel" / "c.h").read_text()
    assert "  int32_t dtype; " in text
    header.write_text(text.replace("  int32_t dtype; ", "  int64_t moved;\n  int32_t dtype; ", 1))
    subprocess.run(["g++", "-x", "c++", "-w", f"-I{tmp_path}", LAYOUT, "-o", tmp_path / "layout"], check=True)
    result = subprocess.run([tmp_path / "layout"], capture_output=True, text=True)
    assert result.returncode == 1 and "offsetof(oriel_tensor, dtype) is 24, not 16" in result.stdout
