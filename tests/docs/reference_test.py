"""The pages of docs/reference that are written by hand are complete: words of names, environment variables, errors, exit codes."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ORIEL_BUILD", ROOT / "build")).resolve()
PAGES = ROOT / "docs" / "reference"


def read(path):
    return path.read_text(encoding="utf-8")


def first_cells(page, before=None):
    """What is code in the first column of the page's tables, before that heading."""
    text = read(PAGES / page)
    text = text.partition(f"## {before}\n")[0] if before else text
    return [word for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE) for word in re.findall(r"`([^`]+)`", row)]


def words_of_the_parser():
    """Words, and beginnings of words, that src/problem_name.cc compares with."""
    parser = read(ROOT / "src" / "problem_name.cc").partition("class Parser")[2].partition("// ------")[0]
    words = re.findall(r'flag\(word, "(\w+)"', parser) + re.findall(r'reader\.take\("(\w+)"\)', parser)
    later = read(ROOT / "src" / "statistic_name.cc")
    words += re.findall(r'(?:scalar|number|is|starts)\("(\w+)"', later) + re.findall(r'word\.starts_with\("(\w+)"\)', later)
    for file in ("ops.def", "dtypes.def"):
        words += re.findall(r"^ORIEL_\w+\((\w+)", read(ROOT / "include" / "oriel" / file), re.MULTILINE)
    words.remove("quantile")  # its word is q
    return ["bool" if word == "boolean" else word for word in words if word != "x"]  # `x` joins numbers


def test_every_word_of_a_name_is_explained():
    words = words_of_the_parser()
    assert {"same_lower", "backward", "div", "axes", "k", "lp", "bf16", "max"} <= set(words) and len(words) > 30
    cells = first_cells("problem-names.md", before="In Python and C++")
    missing = [word for word in words if not any(cell == word or re.fullmatch(rf"{word}-?\d.*", cell) for cell in cells)]
    assert not missing, missing


def test_every_word_of_a_name_is_in_the_grammar():
    grammar = read(PAGES / "problem-names.md").partition("## Grammar")[2].partition("```\n\n")[0]
    known = set(re.findall(r'"(\w+)"', grammar))
    assert {word for word in words_of_the_parser() if not re.fullmatch(r"[fibu]+\d+|bool", word)} <= known


OPS_OF_NAMES = (r"(max|min|avg|sum|lp|count|any|all|range|midrange|first|centre|nunique|var|std|rms|prod|geo|harm|soft)$"
                r"|median|q\d|rank|mode|lse")


def op_with(word):
    """An operation that has the option."""
    for pattern, op in ((r"exclude|div|weights", "sum" if word == "weights" else "avg"), ("ignore", "mode"), ("ddof", "var")):
        if re.match(pattern, word):
            return op
    return "max"


def test_words_of_the_page_exist():
    """Each word of the table is read: in a problem that has what it needs."""
    words = [cell for cell in first_cells("problem-names.md", before="In Python and C++") if not re.fullmatch(r"[fibu]+\d+|bool|[\dx]+", cell)]
    assert len(words) > 25
    wrong = []
    for word in words:
        is_op, is_window = re.match(OPS_OF_NAMES, word), re.match(r"k\d|global|out\d", word)
        op = "lp2" if word == "lp" else word if is_op else op_with(word)
        window = "" if is_window else ":k2"
        if re.match(r"disk|diamond|oct|ell|ball|taps", word):  # 3-D or 2-D, of the last axes
            window = ":k3x3" if word.startswith("taps") else ":axes1,2,3" if re.match(r"ball|octahedron", word) else ":axes2,3"
        name = f"{op}:f32:16x16x16x16{window}" + ("" if is_op else f":{word}")
        result = subprocess.run([BUILD / "bin" / "oriel", "explain", "--json", name], capture_output=True, text=True)
        wrong += [f"{name}: {result.stderr}"] if result.returncode != 0 else []
    assert not wrong, wrong


def variables_read():
    """Environment variables that programs and the package read; the file of each."""
    found = {}
    for folder, endings in (("src", ".cc .h .cu .cuh"), ("cli", ".cc .h"), ("apps", ".cc .h .py"), ("python", ".cc .h .py")):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in endings.split():
                continue
            text = read(path)
            if "getenv" in text:
                direct = re.findall(r'getenv\("(\w+)"\)', text)
                # getenv of a variable: every literal that looks like the name of one
                names = re.findall(r'"([A-Z][A-Z_]+)"', text) if re.search(r"getenv\([^\")]", text) else direct
                found.update(dict.fromkeys(names, path))
            found.update(dict.fromkeys(re.findall(r'environ(?:\.get\(|\[)"(\w+)"(?!\] =)', text), path))
    return found


def test_every_variable_is_explained():
    found = variables_read()
    assert {"ORIEL_TARGET", "ORIEL_STRATEGY", "ORIEL_MPI", "NO_COLOR", "LC_ALL", "PMI_RANK"} <= set(found)
    assert set(first_cells("environment.md", before="Number of threads")) == set(found)


def test_every_exit_code_is_explained():
    codes = re.search(r"int kExitDone = (\d), kExitFailure = (\d), kExitUsage = (\d);", read(ROOT / "cli" / "usage.h"))
    assert codes is not None
    table = read(PAGES / "errors.md").partition("| exit code |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\d) \|", table, re.MULTILINE) == list(codes.groups())


def test_every_field_of_an_error_is_explained():
    fields = read(ROOT / "include" / "oriel" / "types.h").partition("struct Fields {")[2].partition("};")[0]
    names = re.findall(r"std::string (\w+);", fields)
    assert len(names) == 4
    assert not set(names) - set(first_cells("errors.md"))


def test_every_exception_of_the_package_is_explained():
    package = "".join(read(path) for path in (ROOT / "python" / "oriel").rglob("*.py"))
    raised = set(re.findall(r"\braise (\w*(?:Error|Exception))\b", package))
    assert {"ValueError", "TypeError"} <= raised
    assert not raised - set(first_cells("errors.md"))


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda path: path.name)
def test_every_page_is_in_the_index(page):
    if page.name != "index.md":
        assert f"({page.name})" in read(PAGES / "index.md")
