"""The scripts of examples/gallery run, each in a process of its own, check what they compute, and have the form that the site expects."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.rglob("*.py"))
NEEDED = ("oriel", "matplotlib", "scipy", "skimage", "torch", "jax", "keras")
# Data that a script would download is an error here: there is nothing at this address.
ALONE = {"MPLBACKEND": "Agg", "KERAS_BACKEND": "torch", "JAX_PLATFORMS": "cpu", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


def script_name(path):
    return path.relative_to(GALLERY).as_posix()


def run(path, folder):
    return subprocess.run([sys.executable, "-W", "error:::__main__", str(path)], cwd=folder, capture_output=True, text=True, timeout=300,
                          env={**os.environ, **ALONE})


def faults(text):
    """What is wrong with the form of a script, as sentences."""
    tree = ast.parse(text)
    lines = (ast.get_docstring(tree) or "").split("\n")
    if len(lines) < 4 or not lines[0] or lines[1] != "=" * len(lines[0]) or lines[2] or not lines[3]:
        yield "the docstring has no title, underlined with =, an empty line and a paragraph"
    if not any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        yield "nothing is checked: there is no assert"
    if "\n# %%\n" not in text:
        yield "there is no cell: no line `# %%`"
    if not text.endswith("\nplt.show()\n"):
        yield "the last line is not plt.show()"
    if len(re.findall(r"plt\.(subplots|figure)\(", text)) != 1:
        yield "it does not draw exactly one figure"
    if not 25 <= text.count("\n") <= 60:
        yield f"it has {text.count(chr(10))} lines"


def test_there_are_twenty_scripts():
    assert len(SCRIPTS) >= 20


@pytest.mark.parametrize("path", SCRIPTS, ids=script_name)
def test_form(path):
    assert not list(faults(path.read_text(encoding="utf-8")))


def test_faults_are_found():
    """The first script without its assertions, its title and its figure has these faults."""
    text = SCRIPTS[0].read_text(encoding="utf-8")
    broken = re.sub(r"(?m)^( *)assert .*", r"\1pass", text).replace("====", "~~~~").replace("plt.subplots", "plt.subplot")
    assert len(list(faults(broken))) == 3


def test_sections():
    """Each folder has a header, and docs/conf.py gives a place to each script; no two have the same name."""
    folders = {path.parent for path in SCRIPTS}
    assert all((folder / "GALLERY_HEADER.rst").is_file() for folder in [GALLERY, *folders])
    order = re.findall(r'"(\w+\.py)"', (ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    assert sorted(order) == sorted(path.name for path in SCRIPTS)


def test_every_example_is_in_the_readme():
    """examples/README.md links to each program, and to each folder of the gallery with its number of scripts."""
    text = (GALLERY.parent / "README.md").read_text(encoding="utf-8")
    files = [path for path in GALLERY.parent.rglob("*") if path.suffix in (".cc", ".py") and not path.is_relative_to(GALLERY)]
    assert files and not [path.name for path in files if f"]({path.relative_to(GALLERY.parent).as_posix()})" not in text]
    for folder in {path.parent for path in SCRIPTS}:
        count = len(list(folder.glob("*.py")))
        assert re.search(rf"\(gallery/{folder.name}\) .*: {count} scripts", text), folder.name


@pytest.mark.parametrize("path", SCRIPTS, ids=script_name)
def test_script(path, tmp_path):
    for module in NEEDED:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"NOT CHECKED: there is no {module}")
    result = run(path, tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Warning" not in result.stderr, result.stderr
    assert not list(tmp_path.iterdir()), "the script leaves files"


def test_a_wrong_result_fails(tmp_path):
    """A script whose expectation is changed does not pass."""
    text = (GALLERY / "basics" / "ties_and_nan.py").read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text.replace("[1, 5, 7, 11]", "[2, 5, 7, 11]"), encoding="utf-8")
    result = run(wrong, tmp_path)
    assert result.returncode != 0 and "AssertionError" in result.stderr
