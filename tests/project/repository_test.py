"""The files that a hosting service, an editor and pre-commit read: workflows, forms, versions of tools."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "dependabot": [GITHUB / "dependabot.yml"],
    "github-issue-forms": FORMS,
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}


def name(path):
    return path.relative_to(ROOT).as_posix()


def run_tool(tool, *words):
    """Runs a tool of requirements-test.txt, or skips loudly if it is not installed."""
    program = shutil.which(tool, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip(f"NOT CHECKED: there is no {tool}")
    result = subprocess.run([program, *map(str, words)], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} >= {"ci", "codeql", "nightly", "wheels"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_actions_are_pinned(path):
    """By the whole hash of a commit, with the version beside it: a tag can be moved."""
    uses = re.findall(r"uses: *(.*)", path.read_text())
    assert uses
    loose = [use for use in uses if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+(\.\d+)*", use)]
    assert not loose, loose


def test_an_action_has_one_version():
    uses = {use for path in WORKFLOWS for use in re.findall(r"uses: *(\S+@\S+)", path.read_text())}
    repositories = ["/".join(use.partition("@")[0].split("/")[:2]) + use[use.index("@") :] for use in uses]
    names = [repository.partition("@")[0] for repository in set(repositories)]
    assert len(names) == len(set(names)), sorted(uses)


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_rights_are_given_to_jobs_alone(path):
    text = path.read_text()
    assert "\npermissions: {}\n" in text and "\nconcurrency:\n" in text
    jobs = re.split(r"(?m)^  (?=[\w-]+:$)", text.partition("\njobs:\n")[2])[1:]
    assert jobs
    for job in jobs:
        assert re.search(r"(?m)^    permissions:$", job) and re.search(r"(?m)^    timeout-minutes: \d+$", job), (
            job.partition(":")[0]
        )
    checkouts = text.count("uses: actions/checkout@")
    assert text.count("persist-credentials: false") == checkouts


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_no_expression_stands_in_a_script(path):
    """What a stranger can name (a branch, a title) comes to a shell as a variable, never as text of the program."""
    scripts = re.findall(r"(?m)^( *)(?:- )?run: *(?:[|>]-?\n((?:\1 +.*\n|\n)+)|(.*))", path.read_text())
    assert scripts
    for _, block, line in scripts:
        assert "${{" not in block + line, block + line


@pytest.mark.parametrize("schema, files", SCHEMAS.items(), ids=list(SCHEMAS))
def test_schema(schema, files):
    assert files
    run_tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)


def test_zizmor_finds_nothing():
    run_tool("zizmor", "--offline", "--no-progress", GITHUB)


def test_pyproject():
    run_tool("validate-pyproject", ROOT / "pyproject.toml")


def test_spelling():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if files.returncode != 0:
        pytest.skip("NOT CHECKED: this is no checkout of git")
    run_tool("codespell", *files.stdout.splitlines())


def test_tools_have_one_version():
    pinned = dict(re.findall(r"(?m)^([\w-]+)==(\S+)", (ROOT / "scripts" / "requirements-test.txt").read_text()))
    hooks = dict(re.findall(r"\b([\w-]+)(?:\[all\])?==([\w.]+)", (ROOT / ".pre-commit-config.yaml").read_text()))
    assert {"ruff", "codespell", "zizmor", "check-jsonschema", "validate-pyproject"} <= hooks.keys() & pinned.keys()
    assert {tool: hooks[tool] for tool in hooks.keys() & pinned.keys()} == {
        tool: pinned[tool] for tool in hooks.keys() & pinned.keys()
    }
    assert hooks["clang-format"].startswith("14.")


def test_wheels_are_of_the_distributions_name():
    """On PyPI the name oriel belongs to another program."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["name"] == "oriel-pool"
    assert "oriel-pool" in (GITHUB / "workflows" / "wheels.yml").read_text()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    wrong = [name(page) for page in pages if re.search(r"(?m)^[^`\n]*pip install oriel\b(?!-)", page.read_text())]
    assert not wrong, wrong
