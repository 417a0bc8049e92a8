"""An installed Oriel is found by CMake's find_package and by pkg-config, and a program that uses it runs."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = Path(__file__).resolve().parent / "consumer"
C_CONSUMER = CONSUMER.with_name("consumer_c")
BUILD = Path(os.environ["ORIEL_BUILD"])
CMAKE = os.environ["CMAKE_COMMAND"]
CXX = os.environ["CXX"]
EXPECTED = "6 8 14 16\n"


def run(*command, **keywords):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    assert result.returncode == 0, f"{shlex.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installed tree that was moved after the installation: nothing in it may know the first place."""
    first = tmp_path_factory.mktemp("install") / "first"
    run(CMAKE, "--install", BUILD, "--prefix", first)
    return first.rename(first.with_name("moved here"))


def consume(prefix, build, *options):
    run(CMAKE, "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={CXX}",
        "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF", *options)
    run(CMAKE, "--build", build)
    assert run(build / "consumer") == EXPECTED


def test_find_package(prefix, tmp_path):
    consume(prefix, tmp_path)


def test_networks_are_a_component(prefix, tmp_path):
    if not next(prefix.rglob("liboriel_nn.*"), None):
        pytest.skip("this build has no networks: their installation is NOT tested")
    consume(prefix, tmp_path, "-DNETWORKS=ON")
    assert run(tmp_path / "network").startswith("none.safetensors: ")


@pytest.fixture
def c_prefix(prefix):
    if not next(prefix.rglob("liboriel_c.so"), None):
        pytest.skip("this build has no C interface: its installation is NOT tested")
    return prefix


def test_the_c_interface_is_a_component(c_prefix, tmp_path):
    """A project in C finds it without C++, and without what a static liboriel needs."""
    missing = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("hwy", "TBB", "fmt", "Threads")]
    run(CMAKE, "-S", C_CONSUMER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={c_prefix}", *missing)
    run(CMAKE, "--build", tmp_path)
    assert run(tmp_path / "consumer") == EXPECTED


def test_the_c_interface_beside_the_others(c_prefix, tmp_path):
    source = tmp_path / "CMakeLists.txt"
    source.write_text("cmake_minimum_required(VERSION 3.25)\nproject(c C CXX)\nfind_package(oriel REQUIRED OPTIONAL_COMPONENTS c nn)\n"
                      f"add_executable(consumer {C_CONSUMER}/consumer.c)\ntarget_link_libraries(consumer PRIVATE oriel::c oriel::oriel)\n")
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={c_prefix}", f"-DCMAKE_CXX_COMPILER={CXX}")
    run(CMAKE, "--build", tmp_path / "b")
    assert run(tmp_path / "b" / "consumer") == EXPECTED


def test_the_c_interface_by_pkg_config(c_prefix, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(next(c_prefix.rglob("oriel_c.pc")).parent)}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "oriel_c", env=environment))
    program = tmp_path / "consumer"
    run("cc", "-std=c99", C_CONSUMER / "consumer.c", "-o", program, *flags)
    library = next(c_prefix.rglob("liboriel_c.so")).parent
    assert run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library)}) == EXPECTED


def test_as_a_subproject_only_the_library_is_built(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(parent CXX)\nadd_subdirectory({ROOT} oriel)\n")
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "b", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={CXX}")
    targets = run("ninja", "-C", tmp_path / "b", "-t", "targets", "all")
    assert "/liboriel.a:" in targets
    assert not re.search("oriel_c\b|oriel_cli|oriel_portrait|oriel_nn|oriel_openmpi|oriel_mpich|_test|example_", targets)


def test_find_package_refuses_another_version(prefix, tmp_path):
    source = tmp_path / "CMakeLists.txt"
    source.write_text("cmake_minimum_required(VERSION 3.25)\nproject(c CXX)\nfind_package(oriel 9 REQUIRED)\n")
    result = subprocess.run([CMAKE, "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}"],
                            capture_output=True, text=True)
    assert result.returncode != 0
    assert 'compatible with requested version "9"' in " ".join(result.stderr.split())


def test_pkg_config(prefix, tmp_path):
    folder = next(prefix.rglob("oriel.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "oriel", env=environment))
    program = tmp_path / "consumer"
    run(CXX, CONSUMER / "consumer.cc", "-o", program, *flags)
    library = next(prefix.rglob("liboriel.*")).parent
    assert run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library)}) == EXPECTED


def test_every_public_header_is_installed(prefix):
    source = CONSUMER.parents[2] / "include"
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    if not next(prefix.rglob("liboriel_nn.*"), None):
        wanted = {path for path in wanted if path.parts[1] != "nn"}
    installed = {path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*") if path.is_file()}
    assert installed == wanted


@pytest.mark.parametrize("program, word", [("oriel", "explain"), ("oriel-portrait", "folder")])
def test_command_manual_and_completions_are_installed(prefix, program, word):
    names = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}
    assert f"bin/{program}" in names
    assert any(re.search(rf"man1/{program}\.1(\.gz)?$", name) for name in names), names
    for completion in (f"bash-completion/completions/{program}", f"zsh/site-functions/_{program}",
                       f"fish/vendor_completions.d/{program}.fish"):
        assert f"share/{completion}" in names, names
        assert word in (prefix / "share" / completion).read_text()
    assert program in run(prefix / "bin" / program, "--help")
