"""The scripts that build and check wheels, as far as nothing has to be built: their arguments, and what is told of a bad wheel."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
sys.path.insert(0, str(SCRIPTS))

import inspect_wheels  # noqa: E402


def run(*words, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, env=environment)


def test_an_unknown_architecture_is_refused():
    done = run(SCRIPTS / "wheels.sh", "x86_64", "sparc")
    assert done.returncode == 2
    assert done.stderr == "wheels: unknown architecture 'sparc'; allowed: x86_64, aarch64\n"


def test_a_python_with_a_gil_builds_no_free_threaded_wheel():
    done = run(SCRIPTS / "wheels.sh", FREE_THREADED="/usr/bin/python3")
    assert done.returncode == 2
    told = "wheels: FREE_THREADED must be a free-threaded Python 3.13 or newer, but is /usr/bin/python3: Python 3."
    assert done.stderr.startswith(told)


@pytest.mark.parametrize("words", [[], ["folder"], ["folder", "bookworm"], ["--source", "folder", "bookworm"]])
def test_a_root_needs_its_arguments(words):
    done = run(SCRIPTS / "debian_root.sh", *words)
    assert done.returncode == 2 and done.stderr.startswith("usage: debian_root.sh ")


def test_a_root_that_is_there_is_left(tmp_path):
    (tmp_path / "unpacked").write_text("deb bookworm arm64 python3.11 dash\n")
    done = run(SCRIPTS / "debian_root.sh", tmp_path, "bookworm", "arm64", "python3.11", "dash")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("variables, told", [
    (["-DORIEL_ZIG=/nowhere/zig"], "ORIEL_ZIG must be the path of the program zig, but is '/nowhere/zig'"),
    ([f"-DORIEL_ZIG={sys.executable}", "-DORIEL_ZIG_PROCESSOR=sparc"], "ORIEL_ZIG_PROCESSOR must be x86_64 or aarch64, but is 'sparc'"),
])  # fmt: skip
def test_the_toolchain_refuses_what_it_cannot_use(tmp_path, variables, told):
    done = run(
        "cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/zig.cmake", *variables
    )
    assert done.returncode != 0 and told in " ".join(done.stderr.split())


def package_files():
    return [str(path.relative_to(ROOT / "python")) for path in (ROOT / "python" / "oriel").rglob("*.py")]


def wheel(folder, names, tag="cp311-cp311-manylinux_2_28_x86_64"):
    path = folder / f"oriel_pool-1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    return path


COMMON = ["oriel/_core.pyi", "oriel/py.typed",
          *(f"oriel_pool-1.0.dist-info/{file}" for file in ("METADATA", "RECORD", "licenses/LICENSE"))]  # fmt: skip


def test_files_of_a_whole_package():
    module = "oriel/_core.abi3.so"
    assert list(inspect_wheels.file_problems([*package_files(), *COMMON, module], [module])) == []


def test_files_that_are_missing_or_too_many():
    names = [
        name
        for name in [*package_files(), *COMMON]
        if name not in ("oriel/pools.py", "oriel_pool-1.0.dist-info/RECORD")
    ]
    names += ["liboriel.a", "oriel/_core.so", "oriel/libtbb.so.12"]
    found = list(inspect_wheels.file_problems(names, ["oriel/_core.so", "oriel/libtbb.so.12"]))
    assert found == [
        "it has 2 compiled files, not one: oriel/_core.so, oriel/libtbb.so.12",
        "it lacks oriel/pools.py",
        "it has liboriel.a too",
        "it lacks RECORD",
    ]


@pytest.mark.parametrize("platform, wrong", [
    ("manylinux_2_28_x86_64", False), ("manylinux_2_24_x86_64", False), ("manylinux_2_5_x86_64", False),
    ("manylinux_2_31_x86_64", True), ("manylinux_2_24_aarch64", True), ("linux_x86_64", True),
])  # fmt: skip
def test_the_platform_that_auditwheel_shows(platform, wrong):
    shown = f'\nfile.whl\nis consistent with the following platform\ntag:\n"{platform}".\n\nThe wheel references'
    assert bool(list(inspect_wheels.platform_problems(shown, "x86_64"))) == wrong


@pytest.mark.parametrize("tag", ["cp311-cp311-linux_x86_64", "cp311-cp311-manylinux_2_36_x86_64", "py3-none-any"])
def test_another_tag_is_refused(tmp_path, capsys, tag):
    assert inspect_wheels.main([wheel(tmp_path, [], tag)]) == 1
    assert "its name is not that of a wheel for manylinux_2_28, or an older one, on x86_64 or aarch64" in capsys.readouterr().out


@pytest.mark.parametrize("platform", ["manylinux_2_99_x86_64", "manylinux_2_28_sparc"])
def test_pip_refuses_a_wheel_for_a_newer_glibc_and_for_another_processor(tmp_path, platform):
    """docs/install.md says what pip says."""
    path = wheel(tmp_path, [], f"py3-none-{platform}")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "install"]
    done = run(*pip, "--no-index", "--target", tmp_path / "packages", path)
    assert done.returncode == 1
    assert f"ERROR: {path.name} is not a supported wheel on this platform." in done.stderr
    assert "`ERROR: FILE is not a supported wheel on this platform.`" in (ROOT / "docs" / "install.md").read_text()


def test_no_wheel_is_no_success(capsys):
    assert inspect_wheels.main([]) == 2
    assert capsys.readouterr().err == "usage: inspect_wheels.py WHEEL...\n"
