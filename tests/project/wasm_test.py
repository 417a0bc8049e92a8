"""scripts/wasm.sh where emscripten cannot be had, and builds without threads; the module itself is tested by `make wasm`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CMAKE = os.environ["CMAKE_COMMAND"]
CXX = os.environ["CXX"]


def wasm(tmp_path, **programs):
    """Runs a copy of wasm.sh with these programs, texts of shell scripts, in place of the system's."""
    scripts, pretended = tmp_path / "scripts", tmp_path / "pretended"
    scripts.mkdir()
    pretended.mkdir()
    shutil.copy(ROOT / "scripts" / "wasm.sh", scripts)
    programs.setdefault("unshare", 'test "$*" = "-m true"')  # whatever else it is asked for fails
    for name, text in {"id": "echo 0", "debootstrap": "exit 1", "apt-get": "exit 1", **programs}.items():
        path = (scripts if name.endswith(".sh") else pretended) / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    environment = {**os.environ, "PATH": f"{pretended}:{os.environ['PATH']}"}
    return subprocess.run([scripts / "wasm.sh"], capture_output=True, text=True, env=environment)


def expect_skipped(done, why):
    assert done.returncode == 77, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"SKIPPED: wasm: {why}, so NOTHING was built for WebAssembly"


def test_wasm_without_root(tmp_path):
    expect_skipped(
        wasm(tmp_path, id="echo 1000"),
        "the tools live in a root of their own, which only root can make and enter; run: sudo make wasm",
    )


def test_wasm_where_root_may_not_mount(tmp_path):
    expect_skipped(
        wasm(tmp_path, unshare="exit 1"), "this system does not let root mount (a container without CAP_SYS_ADMIN)"
    )


def test_wasm_without_the_suite(tmp_path):
    done = wasm(tmp_path, unshare='test "$*" = "-m true" && exit; echo "E: no such suite: $*"; exit 1')
    expect_skipped(done, "Debian's suite trixie cannot be had (build-wasm/debootstrap.log)")
    assert "E: no such suite: -m debootstrap --variant=minbase trixie" in done.stdout


def test_wasm_without_the_packages(tmp_path):
    (tmp_path / "build-wasm" / "root" / "etc" / "apt").mkdir(parents=True)
    (tmp_path / "build-wasm" / "root" / "installed").touch()
    done = wasm(tmp_path, unshare='test "$*" = "-m true" && exit; echo "E: no network"; exit 1')
    expect_skipped(done, "Debian's packages of trixie cannot be had (build-wasm/apt.log)")
    assert "E: no network" in done.stdout
    assert not (tmp_path / "build-wasm" / "root" / "ready").exists()


def test_wasm_needs_the_native_command(tmp_path):
    """What the module is compared with is asked for before anything is built."""
    root = tmp_path / "build-wasm" / "root"
    root.mkdir(parents=True)
    words = [
        line.split("=", 1)[1].strip('"')
        for line in (ROOT / "scripts" / "wasm.sh").read_text().splitlines()
        if line.startswith(("suite=", "packages=", "sources="))
    ]
    (root / "ready").write_text(" ".join(words) + "\n")
    done = wasm(tmp_path)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"wasm: {tmp_path}/build/bin/oriel must be the native command (make build makes it; ORIEL=path names another)\n"
    )


def configure(folder, *options):
    return subprocess.run(
        [CMAKE, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={CXX}", *options],
        capture_output=True,
        text=True,
    )


def test_a_build_without_threads_needs_no_library_for_them(tmp_path):
    done = configure(
        tmp_path,
        "-DORIEL_THREADS=none",
        "-DORIEL_CUDA=OFF",
        "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON",
        "-DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    built = (tmp_path / "build.ninja").read_text()
    assert "parallel_none.cc.o" in built and "hash_vectors" in built
    for word in ("tbb", "-pthread", "in_process.cc", "src/tile/", "liboriel_cli_parts", "liboriel_c."):
        assert word not in built, word


@pytest.mark.parametrize(
    "options, text",
    [
        (["-DORIEL_THREADS=many"], "ORIEL_THREADS must be tbb or none, but is 'many'"),
        (
            ["-DORIEL_THREADS=none", "-DORIEL_BUILD_CLI=ON"],
            "ORIEL_BUILD_CLI must be OFF with ORIEL_THREADS=none: it needs threads",
        ),
        (
            ["-DORIEL_THREADS=none", "-DORIEL_CUDA=OFF", "-DORIEL_BUILD_WASM=ON"],
            "ORIEL_BUILD_WASM must be OFF unless the compiler is emscripten's: scripts/wasm.sh builds it",
        ),
    ],
)
def test_what_a_build_refuses(tmp_path, options, text):
    done = configure(tmp_path, *options)
    assert done.returncode == 1
    assert text in " ".join(done.stderr.split())
