"""The scripts behind `make`: packages, floors, summaries of tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = ROOT / "scripts" / "test_summary.py"


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def install_debian(tmp_path, installed, *lists, user=1000):
    """Runs install_debian.sh on a pretended machine where only `installed` is there; apt-get only tells its words."""
    lines = "\n".join(f"echo '{name} install ok installed'" for name in installed)
    program(tmp_path, "dpkg-query", lines or "exit 1")
    program(tmp_path, "id", f"echo {user}")
    program(tmp_path, "apt-get", 'echo "apt-get $*"')
    program(tmp_path, "dpkg", 'echo "dpkg $*"')
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run([str(ROOT / "scripts" / "install_debian.sh"), *lists], capture_output=True, text=True, env=environment)


def wanted_packages(*lists):
    lists = lists or ["debian_packages.txt"]
    return [name for text in lists for name in re.sub("#.*", "", (ROOT / "scripts" / text).read_text()).split()]


def test_packages_all_there(tmp_path):
    result = install_debian(tmp_path, wanted_packages())
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_packages_missing_without_root_prints_one_line_to_run(tmp_path):
    result = install_debian(tmp_path, [name for name in wanted_packages() if name not in ("cmake", "libtbb-dev")])
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[1:] == [
        "  sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake libtbb-dev"]


def test_packages_missing_with_root_are_installed(tmp_path):
    result = install_debian(tmp_path, [], user=0)
    assert result.returncode == 0, result.stderr
    first, *_, last = [line for line in result.stdout.splitlines() if line.startswith(("dpkg", "apt-get"))]
    assert first == "dpkg --configure -a"  # an installation that was cut off is completed
    assert last.startswith("apt-get ")
    assert last.endswith(f" install -y -qq --no-install-recommends {' '.join(wanted_packages())}")


def test_packages_of_several_lists(tmp_path):
    lists = ["debian_packages.txt", "debian_packages_demo.txt", "debian_packages_test.txt"]
    every = wanted_packages(*lists)
    assert len(set(every)) == len(every)
    assert install_debian(tmp_path, every, *lists).stderr == ""
    result = install_debian(tmp_path, [name for name in every if name not in ("g++", "chromium")], *lists)
    assert result.stderr.splitlines()[1:] == [
        "  sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ chromium"]


def test_a_build_needs_no_browser_no_mpi_and_no_films():
    assert not [name for name in wanted_packages() if re.search("chromium|mpi|ffmpeg|libav|clang|gtest", name)]


def summary(tmp_path, *cases):
    path = tmp_path / "build" / "results.xml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'<testsuite>{"".join(cases)}</testsuite>')
    return subprocess.run([sys.executable, str(SUMMARY), str(path)], capture_output=True, text=True)


def case(name, status, output="", extra=""):
    return f'<testcase name="{name}" status="{status}">{extra}<system-out>{output}</system-out></testcase>'


def test_summary_counts_and_gives_the_reasons(tmp_path):
    gtest = "core/a_test.cc:7: Skipped\nno AVX3 on this machine\n\n[  SKIPPED ] A.B (0 ms)\n"
    result = summary(tmp_path, case("one", "run"), case("two", "run", "SKIPPED [3] x_test.py:1: clang++ is missing\n"),
                     case("three", "notrun", gtest, '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'))
    assert result.returncode == 0
    assert "build: two: x_test.py:1: clang++ is missing (3 times)" in result.stdout
    assert "build: three: A.B: no AVX3 on this machine" in result.stdout
    assert result.stdout.splitlines()[-1] == "2 passed, 0 failed, 1 skipped"


def test_summary_fails_for_a_failed_test(tmp_path):
    result = summary(tmp_path, case("one", "run"), case("two", "fail", extra='<failure message=""/>'))
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_summary_fails_without_results(tmp_path):
    assert summary(tmp_path).returncode == 1
    missing = subprocess.run([sys.executable, str(SUMMARY), str(tmp_path / "none.xml")], capture_output=True, text=True)
    assert missing.returncode == 1


def test_make_help_lists_the_tasks():
    text = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for task in ("demo", "test", "build", "bench", "format", "docs", "fuzz", "lint"):
        assert re.search(rf"^  make {task}  +\S", text, re.MULTILINE), text


def test_ci_runs_make_test_only():
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[-1] == "exec make test"


def test_versions_agree():
    version = re.search(r"project\(oriel VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    header = (ROOT / "include" / "oriel" / "version.h").read_text()
    assert ".".join(re.search(rf"#define ORIEL_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")) == version
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_demo_of_pyramids_says_what_it_leaves_out(tmp_path):
    """Without nilearn, without mricron-data, and without an apt-get that could download it, nothing fails."""
    program(tmp_path, "apt-get", "echo no network >&2; exit 100")
    words = (
        "import importlib.util, pathlib; importlib.util.find_spec = lambda name: None; import demo_pyramids as demo;"
        f"demo.OUT = pathlib.Path({str(tmp_path)!r}); demo.ATLAS = pathlib.Path('none/aal.nii.gz'); assert demo.pyramids() == []"
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = subprocess.run([sys.executable, "-c", words], cwd=ROOT / "scripts", capture_output=True, text=True, env=environment)
    assert result.returncode == 0 and result.stderr == ""
    assert [line.split(",")[0] for line in result.stdout.splitlines()[1:]] == ["  left out: MNI152", "  left out: AAL"]
