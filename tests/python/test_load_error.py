"""An installation that does not work: `import oriel` says in one sentence what is missing."""

import importlib.machinery
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

import oriel

PACKAGE = pathlib.Path(oriel.__file__).parent
SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]


@pytest.fixture
def broken(tmp_path):
    """The package without its compiled module."""
    (tmp_path / "oriel").mkdir()
    for file in PACKAGE.iterdir():
        if not file.name.startswith("_core") and file.name != "__pycache__":
            (tmp_path / "oriel" / file.name).symlink_to(file)
    return tmp_path


def sentence(folder, before=""):
    """What `import oriel` says there; it must be the last line, and the only ImportError of ours."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{before}\nimport oriel"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith("ImportError: oriel cannot be imported: "), done.stderr
    return line.removeprefix("ImportError: oriel cannot be imported: ")


def test_no_module(broken):
    assert sentence(broken).startswith(f"the compiled module is not in {broken / 'oriel'}: install it again with `")


def test_a_module_of_another_python(broken):
    (broken / "oriel" / "_core.cpython-37m-sparc-linux-gnu.so").touch()
    said = sentence(broken)
    assert said.startswith(
        "the compiled module is for another Python (_core.cpython-37m-sparc-linux-gnu.so), but this is "
    )


def test_a_damaged_module(broken):
    (broken / "oriel" / f"_core{SUFFIX}").write_bytes(b"\x7fELF and nothing else" * 10)
    assert sentence(broken).startswith("the compiled module is damaged or for another processor")


def failing(text, kind="ImportError", missing="oriel._core"):
    """Lines after which importing the module fails with that text, as a system's loader would make it."""
    return f"""
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "oriel._core":
            raise {kind}({text!r}, name={missing!r})
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    "text, expected",
    [
        ("/lib/libc.so.6: version `GLIBC_2.99' not found (required by /x/_core.so)", "this build needs glibc 2.99 or newer, but the system has glibc "),
        ("libtbb.so.12: cannot open shared object file: No such file or directory", "the library libtbb.so.12 is missing, which this build uses"),
        ("/x/_core.so: undefined symbol: _ZN5oriel5ErrorE", "the compiled module and the libraries beside it are not of one build (_ZN5oriel5ErrorE is missing)"),
        ("compiled for processors with AVX2", f"this build is for processors with AVX2, which this {platform.machine()} does not have: install the wheel"),
        ("compiled for Oriel 0.2.x, but runs with 0.1.0 of /opt/my libs/liboriel.so", "two versions of Oriel are in this process: the package is of 0.2.x, but /opt/my libs/liboriel.so with 0.1.0 was loaded before: use one of them"),
        ("something new", "the compiled module cannot be loaded: something new"),
    ],
)  # fmt: skip
def test_what_the_loader_says(broken, text, expected):
    (broken / "oriel" / f"_core{SUFFIX}").touch()
    assert sentence(broken, failing(text)).startswith(expected)


@pytest.fixture(scope="module")
def compiler():
    found = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if found is None:
        pytest.skip(
            "NOT CHECKED: there is no C++ compiler, so nothing says what happens beside another liboriel or on an older processor"
        )
    return found


def test_a_second_oriel_in_the_process(tmp_path, compiler):
    """One that shows the same names is used by a module that links with liboriel, and not by a module that holds it."""
    (tmp_path / "other.cc").write_text(
        '#include <string>\nnamespace oriel { std::string version() { return "0.1.9"; } }\n'
    )
    library = tmp_path / "liboriel_other.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "other.cc"], check=True, timeout=100)
    done = subprocess.run(
        [sys.executable, "-c", "import oriel; print(oriel.__version__)"],
        capture_output=True, text=True, timeout=60, cwd=tmp_path, env={**os.environ, "LD_PRELOAD": str(library)},
    )  # fmt: skip
    if any(PACKAGE.glob("liboriel.so*")):
        said = done.stderr.splitlines()[-1]
        assert said.startswith(
            "ImportError: oriel cannot be imported: two versions of Oriel are in this process: the package is of "
        )
        assert f"but {library} with 0.1.9 was loaded before: use one of them" in said
    else:
        assert (done.returncode, done.stdout.strip()) == (0, oriel.__version__), done.stderr


# Instructions that no processor of today has, or none of a small one, and the compiler's word for them.
OLD = {"x86_64": ("-mxop", "XOP"), "aarch64": ("-march=armv8-a+sve", "SVE")}


def test_a_processor_without_the_instructions(tmp_path, compiler):
    sources = pathlib.Path(__file__).parents[2] / "python" / "src"
    if not (sources / "processor.cc").exists() or platform.machine() not in OLD:
        pytest.skip("NOT CHECKED: neither the sources are here nor a list for this processor")
    (tmp_path / "main.cc").write_text(
        '#include <cstdio>\n#include "processor.h"\n'
        'int main() { const char* name = oriel::python::missing_instructions(); std::puts(name ? name : "none"); }\n'
    )
    flag, name = OLD[platform.machine()]
    features = next((line for line in open("/proc/cpuinfo") if line.startswith(("flags", "Features"))), "").split()
    expected = "none" if name.lower() in features else name
    for flags, said in (([], "none"), ([flag], expected)):
        command = [compiler, *flags, f"-I{sources}", sources / "processor.cc", tmp_path / "main.cc"]
        subprocess.run([*command, "-o", tmp_path / "main"], check=True, timeout=100)
        done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() == said


def test_no_numpy(broken):
    said = sentence(broken, failing("No module named 'numpy'", "ModuleNotFoundError", "numpy"))
    assert said == "NumPy is not installed: `python -m pip install numpy`"


def test_the_other_distribution_is_named(broken):
    info = broken / "oriel-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: oriel\nVersion: 0.1.0\n")
    assert "; the distribution oriel 0.1.0 is installed too, which may be another program" in sentence(broken)


def test_an_import_that_works_reads_no_metadata():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, numpy\nbefore = set(sys.modules)\nimport oriel\nprint(sorted(set(sys.modules) - before))"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "oriel.load_error" not in done.stdout and "importlib.metadata" not in done.stdout
