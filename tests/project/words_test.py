"""What docs/style.md says about words: expressions of scripts/plain_words.txt are not in texts that a stranger reads."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "scripts" / "plain_words.txt"
# The page that lists the words, and logs of trials.
EXEMPT = {"docs/style.md", "docs/cpu-log.md"}


def rules():
    """(compiled expression, what to write instead) for each line of the list."""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            expression, _, instead = line.partition(" => ")
            assert instead, f"{LIST.name}: no ` => ` in: {line}"
            yield re.compile(expression), instead


RULES = list(rules())


def texts():
    """Pages, public headers, the command's and the package's sources: all that can print a sentence or is read."""
    yield from ROOT.glob("*.md")
    yield from (path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".py", ".txt"))
    for folder, endings in (("include", ".h .def"), ("cli", ".cc .h"), ("apps/portrait", ".cc .h .1"), ("python", ".py .cc .pyi"), ("packaging", ".md")):
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in endings.split())


def found(text):
    """(line number, what was found, what to write instead) for each expression of the list in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for expression, instead in RULES:
            for match in expression.finditer(line):
                yield number, match[0], instead


def test_texts_are_in_plain_words():
    paths = [path for path in texts() if path.relative_to(ROOT).as_posix() not in EXEMPT]
    assert len(paths) > 200
    wrong = [f"{path.relative_to(ROOT)}:{number}: \"{words}\": write: {instead}"
             for path in paths for number, words, instead in found(path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("sentence", [
    "The maxima are found again from x.",
    "Arrays are pooled in place.",
    "--again  make results anew that are there",
    "max_pool: padding must be 'valid' where it is a word",
    "None of this has met a device yet.",
])
def test_the_dialect_is_found(sentence):
    assert list(found(sentence))


@pytest.mark.parametrize("sentence", [
    "The maxima are recomputed from x.",
    "Arrays are read without copying.",
    "If you know one of these, change the import.",
    "Each rank is given its part, which takes the place of the whole.",
])
def test_plain_sentences_pass(sentence):
    assert not list(found(sentence))
