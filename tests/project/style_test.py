"""What CONTRIBUTING says about how code is written: lengths and formatting."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_lengths.py"
VERSION = "14."  # of clang-format: others break lines elsewhere


def check(root, *options):
    return subprocess.run([sys.executable, str(SCRIPT), str(root), *options], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    """tree(path, text): adds a file to a tree whose list of long code is empty."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "long_code.txt").write_text("# none\n")

    def add(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        return tmp_path

    return add


def function(name, lines):
    return f"int {name}(int a) {{\n" + "  a += 1;\n" * (lines - 2) + "}\n"


def members(name, lines, each=50):
    return "".join(function(f"{name}::f{i}", each) for i in range(lines // each))


def test_nothing_is_too_long():
    result = check(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_short_code_passes(tree):
    tree("src/x.h", "class Short {\n public:\n  int f();\n};\n\nint one();\n")
    result = check(tree("src/x.cc", 'namespace n {\n\nint one() { return 1; }\n' + function("two", 60) + "\n}  // namespace n\n"))
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


@pytest.mark.parametrize("path, text, wanted", [
    ("src/x.py", "x = 1\n" * 501, "src/x.py: a file of 501 lines; allowed: 500"),
    ("src/x.cc", "int before();\n\n" + function("long_one", 61), "src/x.cc long_one: a function of 61 lines; allowed: 60"),
    ("src/x.cc", "template <class T>\n" + function("long_one", 60), "src/x.cc long_one: a function of 61 lines; allowed: 60"),
    ("src/x.cc", members("Wide", 300), "src Wide: a class of 300 lines; allowed: 250"),
    ("src/x.h", "class Wide {\n" + "  int x;\n" * 249 + "};\n", "src Wide: a class of 251 lines; allowed: 250"),
])
def test_long_code_is_found(tree, path, text, wanted):
    result = check(tree(path, text))
    assert result.returncode == 1 and wanted in result.stdout.splitlines(), result.stdout + result.stderr


def test_a_class_is_counted_over_its_files(tree):
    tree("src/x.h", "class Wide {\n" + "  int x;\n" * 100 + "};\n")
    tree("src/x.cc", members("Wide", 100))
    result = check(tree("src/y.cc", members("Wide", 100)))
    assert result.stdout == "src Wide: a class of 302 lines; allowed: 250\n"


def test_what_is_known_must_not_grow_and_goes_when_it_is_short(tree):
    root = tree("src/x.cc", function("long_one", 70))
    assert check(root, "--write").returncode == 0 and check(root).returncode == 0
    tree("src/x.cc", function("long_one", 71))
    assert "src/x.cc long_one: a function of 71 lines; allowed: 70" in check(root).stdout
    tree("src/x.cc", function("long_one", 20))
    assert "is no function of more than 60 lines any more" in check(root).stdout


def test_python_has_no_mistakes_that_a_reader_sees():
    if subprocess.run([sys.executable, "-m", "ruff", "--version"], capture_output=True).returncode != 0:
        pytest.skip("NOT CHECKED: there is no ruff")
    result = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", str(ROOT)],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_shell_scripts():
    scripts = [*sorted((ROOT / "scripts").glob("*.sh")), ROOT / ".ci" / "run"]
    for script in scripts:
        subprocess.run(["sh", "-n", script], check=True)
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("NOT CHECKED: there is no shellcheck")
    result = subprocess.run([program, "--severity=warning", *scripts], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_formatting():
    program = shutil.which("clang-format")
    if program is None:
        pytest.skip("NOT CHECKED: there is no clang-format")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if f"version {VERSION}" not in version:
        pytest.skip(f"NOT CHECKED: clang-format {VERSION}* formats this tree, not {version.strip()}")
    folders = [ROOT / name for name in ("include", "src", "reference", "cli", "python", "apps", "bench", "examples", "tests", "fuzz")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".h", ".cc", ".inl")]
    assert len(files) > 500
    result = subprocess.run([program, "--dry-run", "-Werror", *files], capture_output=True, text=True)
    assert result.returncode == 0, re.sub(r"(?m)^(?!.*error:).*\n", "", result.stderr) + "`make format` mends it"
