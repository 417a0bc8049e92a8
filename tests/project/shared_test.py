"""Oriel as a shared library: it shows only what is public, and its users need nothing that it uses inside."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = Path(__file__).resolve().parent / "consumer"
CMAKE = os.environ["CMAKE_COMMAND"]
CXX = os.environ["CXX"]


def run(*command, **keywords):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("shared") / "prefix"
    build = ROOT / "build-shared"  # kept, and beside the other build folders: a compiler cache counts paths from there
    off = [f"-DORIEL_BUILD_{part}=OFF" for part in ("CLI", "TESTS", "EXAMPLES", "BENCH", "NN")]
    run(CMAKE, "-S", ROOT, "-B", build, "-G", "Ninja", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_BUILD_TYPE=None",
        "-DORIEL_BASELINE_TARGET_ONLY=ON", f"-DCMAKE_CXX_COMPILER={CXX}", *off)
    run(CMAKE, "--build", build, "-j2")
    run(CMAKE, "--install", build, "--prefix", prefix)
    return prefix


def test_shows_only_what_is_public(prefix):
    library = next(prefix.rglob("liboriel.so"))
    symbols = run("nm", "-D", "--defined-only", "-C", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in symbols]
    own = re.compile(r"^(typeinfo (name )?for |vtable for )?(non-virtual thunk to )?oriel::(?!cpu::)")
    called_by_templates = ("oriel::detail::check_element_count(", "oriel::detail::forward(")  # of the public headers
    hidden = [name for name in names if name.startswith(("oriel::cpu::", "oriel::detail::"))
              and not name.startswith(called_by_templates)]
    assert any(name.startswith("oriel::forward(") for name in names), names
    assert not hidden, hidden
    foreign = [name for name in names if not own.match(name) and not re.search(r"(^|\s)std::", name)]
    assert not foreign, foreign


def test_soname(prefix):
    """Programs of another minor version do not run with this one while the major version is 0."""
    version = re.search(r"project\(oriel VERSION (\d+)\.(\d+)", (ROOT / "CMakeLists.txt").read_text())
    soname = version[1] if version[1] != "0" else f"{version[1]}.{version[2]}"
    header = run("readelf", "-d", next(prefix.rglob("liboriel.so")))
    assert f"Library soname: [liboriel.so.{soname}]" in header


def test_shows_what_is_written_down(prefix):
    """abi.txt lists the functions that programs link with; ORIEL_WRITE_ABI=1 writes it again, which a new minor may."""
    written = Path(__file__).with_name("abi.txt")
    lines = run("nm", "-D", "--defined-only", "-C", next(prefix.rglob("liboriel.so"))).splitlines()
    names = sorted({line.split(maxsplit=2)[2] for line in lines if line.split(maxsplit=2)[1] == "T"})
    if os.environ.get("ORIEL_WRITE_ABI"):
        written.write_text("\n".join(names) + "\n")
    assert names == written.read_text().splitlines()


def test_users_need_none_of_its_libraries(prefix, tmp_path):
    run(CMAKE, "-S", CONSUMER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={CXX}",
        "-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON",
        "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON")
    run(CMAKE, "--build", tmp_path)
    assert run(tmp_path / "consumer") == "6 8 14 16\n"


def test_pkg_config_names_no_private_library(prefix):
    text = next(prefix.rglob("oriel.pc")).read_text()
    assert "Requires" not in text


def test_the_c_interface_uses_it(prefix, tmp_path):
    library = next(prefix.rglob("liboriel_c.so"))
    assert library.stat().st_size < 2**20, "it holds liboriel a second time"
    run(CMAKE, "-S", CONSUMER.with_name("consumer_c"), "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(CMAKE, "--build", tmp_path)
    assert run(tmp_path / "consumer") == "6 8 14 16\n"
