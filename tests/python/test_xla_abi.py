"""python/src/xla_abi.h declares what jaxlib's header does: each compiler that is here says so at compile time."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python" / "src"
LAYOUT = ROOT / "tests" / "python" / "xla_layout.cc"
# XLA's C header names members like their types, which g++ refuses in C++ otherwise.
COMPILERS = {"g++": ["-fpermissive", "-w"], "clang++": []}


@pytest.fixture(scope="module")
def include():
    try:
        import jaxlib
    except ImportError:
        pytest.skip("NOT CHECKED: there is no jaxlib, so python/src/xla_abi.h was not compared with its header")
    folder = Path(jaxlib.__file__).parent / "include"
    assert (folder / "xla/ffi/api/c_api.h").is_file(), f"jaxlib {jaxlib.__version__} brings no header of XLA's interface"
    return folder


def compiled(compiler, include, ours=SOURCE):
    if shutil.which(compiler) is None:
        pytest.skip(f"NOT CHECKED: there is no {compiler}")
    return subprocess.run(
        [compiler, *COMPILERS[compiler], "-std=c++20", "-fsyntax-only", f"-I{ours}", "-isystem", include, LAYOUT],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("compiler", COMPILERS)
def test_layouts_are_those_of_the_header(compiler, include):
    result = compiled(compiler, include)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "ours, other",
    [
        ("  DataType dtype;\n  void* data;", "  void* data;\n  DataType dtype;"),
        ("bf16 = 16", "bf16 = 17"),
        ("  void (*register_handler)();", ""),
        ("  Stage stage;", "  Stage stage;\n  void* another;"),
        ("offsetof(Metadata, traits) + sizeof(std::uint32_t)", "sizeof(Metadata)"),
    ],
)
def test_another_layout_is_seen(ours, other, include, tmp_path):
    text = (SOURCE / "xla_abi.h").read_text()
    assert text.count(ours) == 1
    (tmp_path / "xla_abi.h").write_text(text.replace(ours, other))
    result = compiled("g++", include, tmp_path)
    assert result.returncode != 0 and "static assertion failed" in result.stderr


def test_every_member_is_compared():
    """One that is declared but not compared could be anything."""
    text = re.sub(r"//.*", "", (SOURCE / "xla_abi.h").read_text())
    members = {
        (struct, member)
        for struct, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL)
        for member in re.findall(r"(\w+)(?:\)\([^()]*\))?;", body)
    }
    assert {("Buffer", "dims"), ("Api", "create_error"), ("Api", "register_handler"), ("Metadata", "traits")} <= members
    assert len(members) > 50
    compared = set(re.findall(r"^MEMBER\((\w+), (\w+),", LAYOUT.read_text(), re.MULTILINE))
    assert members == compared


def test_the_version_is_one_that_was_looked_at(include):
    """A newer one: look at what it changes, then raise kNewestMinor. XLA takes older ones for a year."""
    header = (include / "xla/ffi/api/c_api.h").read_text()
    major, minor = (int(re.search(rf"#define XLA_FFI_API_{word} (\d+)", header)[1]) for word in ("MAJOR", "MINOR"))
    known = re.search(r"kMajor = (\d+), kOldestMinor = (\d+), kNewestMinor = (\d+);", (SOURCE / "xla_abi.h").read_text())
    assert major == int(known[1]) and int(known[2]) <= minor <= int(known[3])
