"""The pages of the documentation that are installed with the package: `oriel.docs` finds and prints them."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import oriel.docs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def command(*words):
    return subprocess.run([sys.executable, "-m", "oriel.docs", *words], capture_output=True, text=True)


def texts_that_name_pages():
    """(file, text) of the package's sources and the public headers."""
    for folder, ending in (("python/oriel", "*.py"), ("python/src", "*.cc"), ("include/oriel", "*.h")):
        for path in (ROOT / folder).rglob(ending):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_the_pages_are_those_of_the_project():
    names = oriel.docs.names()
    assert {"semantics", "python", "faq", "install", "howto/index", "reference/errors"} <= set(names)
    assert not [name for name in names if not (DOCS / f"{name}.md").is_file()]
    assert not [name for name in names if name.startswith("developers/") or name in ("architecture", "cpu", "cpu-log", "performance-log", "style")]
    for name in names:
        assert oriel.docs.text(name) == (DOCS / f"{name}.md").read_text(encoding="utf-8"), name


def test_examples():
    assert doctest.testmod(oriel.docs).failed == 0


def test_every_name_of_a_page_leads_to_one():
    named = []
    for path, text in texts_that_name_pages():
        named += [(path, name) for name in re.findall(r"python -m oriel\.docs ([\w/-]+)", text)]
        named += [(path, name) for name in re.findall(r"([\w/-]+)\.md in share/doc/oriel", text)]
    assert len(named) > 10
    for path, name in named:
        assert oriel.docs.text(name), path


def test_no_text_names_a_folder_that_only_the_checkout_has():
    found = [f"{path}: {line}" for path, text in texts_that_name_pages() for line in text.splitlines() if re.search(r"(?<![\w/.])docs/\w+\.md", line)]
    assert not found, found


@pytest.mark.parametrize("name, begins", [("S4", "## S4. Ties\n"), ("s12", "## S12. Sizes\n"), ("howto", "# How to"), ("faq.md", "# "), ("microscopy", "# Microscopy\n")])
def test_rules_folders_and_files(name, begins):
    assert oriel.docs.text(name).startswith(begins)


def test_every_rule_is_found():
    rules = re.findall(r"^## (S\d+)\.", (DOCS / "semantics.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rules) == 22
    for rule in rules:
        text = oriel.docs.text(rule)
        assert text.count("\n## ") == 0 and "Tests: " in text


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"oriel\.docs: name must be a page or a rule, but is 'semantic' \(did you mean 'semantics'\?\); pages: .*bindings, .*; rules: S1, .*S22$"):
        oriel.docs.text("semantic")
    for name in ("S13", "../pyproject.toml", "", "/etc/passwd"):
        with pytest.raises(ValueError, match="name must be a page or a rule"):
            oriel.docs.path(name)


def test_a_package_without_pages_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(oriel.docs, "_FOLDER", tmp_path)
    assert oriel.docs.names() == []
    with pytest.raises(FileNotFoundError, match="installed without its pages"):
        oriel.docs.text("semantics")


def test_the_command_lists_the_pages():
    done = command()
    assert done.returncode == 0 and done.stderr == ""
    assert re.search(r"^semantics +What Oriel computes$", done.stdout, re.MULTILINE)
    assert len(done.stdout.splitlines()) == len(oriel.docs.names()) + 2


def test_the_command_prints_pages_and_rules():
    done = command("S4", "glossary")
    assert done.returncode == 0
    assert done.stdout == oriel.docs.text("S4") + oriel.docs.text("glossary")


def test_the_command_refuses_an_unknown_name():
    done = command("nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("oriel.docs: name must be a page or a rule, but is 'nonsense'; pages: ")


def test_a_reader_may_stop():
    done = subprocess.run(f"{sys.executable} -m oriel.docs performance semantics python | head -n 1", shell=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("# Performance\n", "")
