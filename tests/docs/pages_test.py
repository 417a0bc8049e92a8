"""What README, CONTRIBUTING and docs/ show is true: programs compile and print what is shown, commands do too, links lead somewhere.

In a page, a block marked `cpp`, `c` or `python` is a complete program; a block marked `output` after it is what it prints. A block
marked `console` holds commands after `$ ` and what they print; `…` at the end of a line stands for anything, a line
that is only `…` for any lines. A block marked `sh` shows commands that a test cannot run. Blocks of other kinds (`pool`: see
semantics_test.cc; `js`: see scripts/wasm.sh; `rust`, `r`, `octave`, `go`, `fortran`: see tests/bindings/run.py; `julia`, `cmake`, `text`)
are not run here. Kinds in braces (`{toctree}`) are directives of the documentation site, and `scripts/site/sources.py` writes the
pages of docs/reference that docs/ does not have.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ORIEL_BUILD", ROOT / "build")).resolve()
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BINDINGS = {"rust", "r", "octave", "go", "fortran", "julia"}
DIRECTIVES = {"{toctree}", "{image}"}
KINDS = {*DIRECTIVES, "c", "cpp", "python", "output", "console", "sh", "pool", "cmake", "js", "text", *BINDINGS}
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page_name(page):
    return page.relative_to(ROOT).as_posix()


def blocks():
    """(page, line, kind, text, kind and text of the next block) for each fenced block."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = list(FENCE.finditer(text))
        for here, after in zip(found, [*found[1:], None]):
            line = text.count("\n", 0, here.start()) + 1
            yield page, line, here[1], here[2], (after[1], after[2]) if after else (None, None)


def cases(kind):
    return [pytest.param(text, after, id=f"{page_name(page)}:{line}")
            for page, line, found, text, after in blocks() if found == kind]


def matches(shown, printed):
    """True when `printed` is what `shown` says, `…` standing for what varies."""
    pattern = ""
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r".*".join(re.escape(part.rstrip()) for part in line.split("…")) + r"[ ]*\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def test_kinds_of_blocks_are_known():
    unknown = [f"{page_name(page)}:{line}: {kind or 'no kind'}" for page, line, kind, _, _ in blocks() if kind not in KINDS]
    assert not unknown, unknown


def test_matching_notices_a_difference():
    assert matches("a\n…\nd", "a\nb\nc\nd\n")
    assert matches("took … ms", "took 12 ms\n")
    assert not matches("a\nb", "a\nc\n")
    assert not matches("a", "a\nb\n")


@pytest.mark.parametrize(("text", "after"), cases("cpp"))
def test_program(text, after, tmp_path):
    source = tmp_path / "program.cc"
    source.write_text(text)
    program = tmp_path / "program"
    library = next((BUILD / "lib").glob("liboriel.*"))
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
               str(source), "-o", str(program), *map(str, (BUILD / "lib").glob("liboriel_tile.*")), str(library), "-lhwy", "-ltbb", "-lfmt", "-pthread",
               f"-Wl,-rpath,{library.parent}"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    result = subprocess.run([str(program)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    kind, shown = after
    assert kind == "output", "no `output` block follows the program"
    assert matches(shown, result.stdout), result.stdout


@pytest.mark.parametrize(("text", "after"), cases("c"))
def test_c_program(text, after, tmp_path):
    library = BUILD / "lib" / "liboriel_c.so"
    if not library.exists():
        pytest.skip("this build has no C interface: its examples are NOT tested")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(text)
    built = subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", str(source), "-o",
                            str(program), str(library), f"-Wl,-rpath,{library.parent}"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    result = subprocess.run([str(program)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    kind, shown = after
    assert kind == "output", "no `output` block follows the program"
    assert matches(shown, result.stdout), result.stdout


@pytest.mark.parametrize(("text", "after"), cases("python"))
def test_python_program(text, after, tmp_path):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "torch"}
    result = subprocess.run([sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", text], cwd=tmp_path,
                            capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    kind, shown = after
    if kind == "output":
        assert matches(shown, result.stdout), result.stdout
    else:
        assert result.stdout == "", "what the program prints must follow in an `output` block"


def commands(text):
    """(command, what it prints) of a console block."""
    pieces = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert pieces[0] == "", "a console block begins with `$ `"
    for piece in pieces[1:]:
        command, _, output = piece.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command = command[:-1] + more.lstrip("> ")
        yield command, output


@pytest.fixture(scope="session")
def workplace(tmp_path_factory):
    """A folder with `oriel` on the path and a photograph, photo.png."""
    folder = tmp_path_factory.mktemp("console")
    import skimage
    photo = Path(skimage.__file__).parent / "data" / "chelsea.png"
    (folder / "photo.png").write_bytes(photo.read_bytes())
    return folder


@pytest.mark.parametrize(("text", "after"), cases("console"))
def test_console(text, after, workplace):
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100",
                   "PATH": f"{BUILD / 'bin'}:{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    for command, shown in commands(text):
        result = subprocess.run(["bash", "-c", command], cwd=workplace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        printed = result.stdout
        assert matches(shown, printed) if shown.strip() else printed == "", f"$ {command}\n{printed}"


def anchors(page):
    """The anchors that GitHub makes of a page's headings."""
    text = re.sub(FENCE, "", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        yield re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page):
    text = re.sub(FENCE, "", page.read_text(encoding="utf-8"))
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in set(anchors(target))):
            wrong.append(link)
    assert not wrong, wrong


def test_tests_named_in_semantics_exist():
    named = re.findall(r"`((?:S\d+)_\w+)`", (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8"))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*")
                      if path.suffix in (".cc", ".h", ".py") and path != Path(__file__))
    missing = [name for name in named if not re.search(rf"\b(test_)?{name}\b", sources)]
    assert not missing, missing


def test_shell_blocks_name_real_make_tasks():
    tasks = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, line, kind, text, _ in blocks():
        if kind != "sh":
            continue
        for command in text.replace("\\\n", " ").splitlines():
            words = shlex.split(command, comments=True)
            if words[:1] == ["make"] and len(words) > 1:
                assert words[1] in tasks, f"{page_name(page)}:{line}: {command}"
