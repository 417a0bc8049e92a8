"""The pages for developers say what is true: the paths that they name exist, a function is in the file beside it, no folder with
code is left out, commits have the subjects that stand beside their hashes, and the picture of the layers is that of check_floors.py.

A page names a function as `name` (`path`), or in a table with the columns "function" and "file". Paths count from the root of the
project; in docs/cpu.md from src/cpu, too. Names without a folder may be in any.
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEVELOPERS = ROOT / "docs" / "developers"
ENTRY, CPU = ROOT / "docs" / "architecture.md", ROOT / "docs" / "cpu.md"
PAGES = [ENTRY, CPU, *sorted(DEVELOPERS.glob("*.md"))]
NOT_PARTS = {"index", "recipes", "walk"}
SECTIONS = {"What it does", "Where to start reading", "How to change it", "Pitfalls"}
PICTURE = ROOT / "scripts" / "site" / "architecture_picture.py"

PATH_ENDINGS = set("cc h cu cuh c def py sh md txt cmake mjs f90 rs json toml yml rst 1 map patterns html".split())
CODE_ENDINGS = set("cc h cu cuh c py sh cmake mjs js css f90 go rs R m jl".split())
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
PAIR = re.compile(r"`([^`\n]+)`\s\(`([^`\n]+)`\)")
COMMIT = re.compile(r"`([0-9a-f]{7})`(?:\s\*([^*]+)\*)?")


def page_name(page):
    return page.relative_to(ROOT).as_posix()


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="session")
def files():
    """The project's files, also those that are not committed yet."""
    listed = git("ls-files", "-co", "--exclude-standard")
    if listed.returncode != 0:
        pytest.skip("NOT CHECKED: this is no checkout of git")
    return {path for path in listed.stdout.splitlines() if (ROOT / path).is_file()}


def text_of(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def is_path(span):
    """Whether a text in backticks is a path of the project, and not of what is built."""
    if not re.fullmatch(r"[\w.*+-]+(/[\w.*+-]+)*/?", span) or span.startswith("build"):
        return False
    last = span.rstrip("/").rpartition("/")[2]
    if "/" in span and (ROOT / span.partition("/")[0]).is_dir():
        return True
    return "." in last.lstrip(".") and last.rpartition(".")[2] in PATH_ENDINGS


def matching(span, page, files):
    """The files that a path means: one file, those of a folder, those of a pattern, or those of that name in any folder."""
    found = set()
    for base in ("", "src/cpu/") if page == CPU else ("",):
        path = base + span.rstrip("/")
        found |= {file for file in files if file == path or file.startswith(f"{path}/") or ("*" in path and fnmatch.fnmatch(file, path))}
    if not found and "/" not in span:
        found = {file for file in files if file.rpartition("/")[2] == span}
    return found


def unknown_paths(page, text, files):
    return [span for span in SPAN.findall(text) if is_path(span) and not matching(span, page, files)]


def rows_of_tables(text):
    """The cells of each row of the tables with the columns "function" and "file": (functions, files)."""
    columns = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            columns = None
        elif columns is None:
            columns = [cells.index(name) if name in cells else None for name in ("function", "file")]
        elif None not in columns and len(cells) > max(columns) and not set(cells[0]) <= set("-: "):
            yield tuple(cells[column] for column in columns)


def named_functions(text):
    """(name, paths) for each function that is named with its file."""
    for name, path in PAIR.findall(text):
        if is_path(path) and not is_path(name):
            yield name, [path]
    for functions, places in rows_of_tables(text):
        for name in SPAN.findall(functions):
            yield name, SPAN.findall(places)


def missing_functions(page, text, files):
    for name, paths in named_functions(text):
        words = [word for word in re.split(r"::|\.", name.partition("(")[0].partition("<")[0]) if word and word not in ("std", "oriel")]
        sources = [(ROOT / file).read_text(encoding="utf-8", errors="replace") for path in paths for file in matching(path, page, files)]
        if not any(all(re.search(rf"\b{re.escape(word)}\b", source) for word in words) for source in sources):
            yield f"{name} ({', '.join(paths)})"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_paths_exist(page, files):
    wrong = unknown_paths(page, text_of(page), files)
    assert not wrong, wrong


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_functions_are_in_their_files(page, files):
    wrong = list(missing_functions(page, text_of(page), files))
    assert not wrong, wrong


def test_mistakes_are_found(files):
    text = "`src/pool.cc` `src/puddle.cc` `forward` (`src/pool.cc`), `forwards` (`src/pool.cc`)\n\n" \
           "| step | function | file |\n|--:|---|---|\n| 1 | `Axis::slice` | `include/oriel/window.h` |\n| 2 | `Axis::slices` | `include/oriel/window.h` |\n"
    assert unknown_paths(ENTRY, text, files) == ["src/puddle.cc"]
    assert list(missing_functions(ENTRY, text, files)) == ["forwards (src/pool.cc)", "Axis::slices (include/oriel/window.h)"]


def test_functions_are_named():
    """That the tests above have something to look at."""
    assert sum(len(list(named_functions(text_of(page)))) for page in PAGES) > 100


def test_no_folder_is_left_out(files):
    folders = {"/".join(path.split("/")[:depth]) for path in files for depth in (1, 2)
               if path.count("/") >= depth and path.rpartition(".")[2] in CODE_ENDINGS}
    text = "\n".join(text_of(page) for page in PAGES)
    missing = sorted(folder for folder in folders if not re.search(rf"`{re.escape(folder)}(?![\w-])", text))
    assert not missing, f"no page for developers names {missing}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commits_have_these_subjects(page):
    commits = COMMIT.findall(text_of(page))
    if not commits:
        return
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("NOT CHECKED: this checkout has no history")
    wrong = []
    for commit, subject in commits:
        found = git("log", "-1", "--format=%s", commit)
        if found.returncode != 0 and subject:  # the history was rewritten: the subject still says which commit it is
            found = git("log", "-1", "--format=%s", "--fixed-strings", f"--grep={' '.join(subject.split())}")
        if found.returncode != 0 or (subject and found.stdout.split() != subject.split()):
            wrong.append(f"{commit} {subject}: {found.stdout.strip() or 'no such commit'}")
    assert not wrong, wrong


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == DEVELOPERS and page.stem not in NOT_PARTS], ids=page_name)
def test_pages_of_parts_have_these_sections(page):
    sections = re.findall(r"^## (.*)$", text_of(page), re.MULTILINE)
    assert set(sections) >= SECTIONS and any(section.startswith("How ") and "test" in section or section == "How to run them" for section in sections), sections
    assert page.read_text(encoding="utf-8").count("\n") <= 60


def test_the_entry_page_links_to_each_page():
    text = text_of(ENTRY)
    assert text.count("\n") <= 90
    missing = [page.name for page in DEVELOPERS.glob("*.md") if page.name != "index.md" and f"(developers/{page.name}" not in text]
    assert not missing, missing


def test_the_picture_is_current():
    result = subprocess.run([sys.executable, str(PICTURE), "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
