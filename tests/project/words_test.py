"""What docs/style.md says about words: expressions of scripts/plain_words.txt are not in texts that a stranger reads."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "scripts" / "plain_words.txt"
# The page that lists the words, and logs of trials.
EXEMPT = {"docs/style.md", "docs/cpu-log.md", "docs/performance-log.md"}
# Pages, public headers, the commands' and the package's sources: all that is read or can print a sentence.
FOLDERS = {
    "docs": ".md .py .txt",
    "include": ".h .def",
    "cli": ".cc .h .1",
    "apps/portrait": ".cc .h .1 .md .py .json",
    "python": ".py .cc .pyi",
    "packaging": ".md",
    "bindings": ".md .Rd",
    "examples": ".md .py",
}


def rules():
    """(compiled expression, what to write instead) for each line of the list."""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            expression, _, instead = line.partition(" => ")
            assert instead, f"{LIST.name}: no ` => ` in: {line}"
            yield re.compile(expression), instead


RULES = list(rules())


def texts():
    yield from ROOT.glob("*.md")
    for folder, endings in FOLDERS.items():
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in endings.split() and path.is_file())


def found(text):
    """(line number, what was found, what to write instead) for each expression of the list in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for expression, instead in RULES:
            for match in expression.finditer(line):
                yield number, match[0], instead


def test_texts_are_in_plain_words():
    paths = [path for path in texts() if path.relative_to(ROOT).as_posix() not in EXEMPT]
    assert len(paths) > 200
    assert {path.relative_to(ROOT).as_posix().partition("/")[0] for path in paths} >= {key.partition("/")[0] for key in FOLDERS}
    wrong = [f"{path.relative_to(ROOT)}:{number}: \"{words}\": write: {instead}"
             for path in paths for number, words, instead in found(path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


# Sentences of texts that were rewritten: at least one for each line of the list.
DIALECT = [
    "max_pool: padding must be 'valid' where it is a word",
    "show progress on standard error where that is no terminal",
    "format of OUT where its name does not tell",
    "The device's name. Throws Error where there is no device.",
    "The greatest value of T: infinity where there is one.",
    "Who knows one of these changes the import.",
    "These are for who works on a kernel.",
    "--background: '#12' is no colour",
    "The codes are computed a few planes at a time, and gone by.",
    "indices go with max and min only, but the op is avg",
    "--kernel does not go with --global",
    "a rank does not go on while reading; the others go on with the next step",
    "It pools arrays and gives back what it was given.",
    "pip is told of an index of CPU builds",
    "videos and pipes do so unless told --no-person fail",
    "jax.export wants to be told that",
    "Of a TIFF with several pages the first picture is taken, which is said.",
    "format of OUT if its extension does not tell",
    "trn1: nothing to complain of",
    "Looked at on rank root only. Gradients do not follow.",
    "On every rank, the same: for bad arguments of one rank.",
    "Instances are immutable, hashable and equal where they say the same.",
    "The maxima are found again from x.",
    "Arrays are pooled in place.",
    "Dense arrays are read where they lie; others are copied first.",
    "aligned accesses for rows that begin anywhere",
    "Zeros, but each element at the place that its index names.",
    "Places added around the input.",
    "Distance of taps.",
    "memory: there is not enough for this",
    "unet: 64 bytes of memory are not to be had",
    "Spack was not to be had",
    "--again  make results anew that are there",
    "Adjoint windows are folded in place of the rows.",
    "The same calls go to Oriel, in the place of the peer's function.",
    "Seconds after which a rank that waits in vain raises TimeoutError.",
    "a reduction of one's own",
    "None of this has met a device yet.",
    "Calls task(state, i) on whatever threads and in whatever order.",
    "What, the numbers, the mend.",
    "The machine whose limits hold.",
    "`AdaptiveMaxPooling2D` and its kin.",
    "there are no moving pictures in it",
    "A film that was cut off is noted.",
    "pool.h, the front door of the library",
]


@pytest.mark.parametrize("sentence", DIALECT)
def test_the_dialect_is_found(sentence):
    assert list(found(sentence))


@pytest.mark.parametrize("expression", [expression for expression, _ in RULES], ids=lambda expression: expression.pattern)
def test_each_line_of_the_list_finds_a_sentence(expression):
    assert any(expression.search(sentence) for sentence in DIALECT)


@pytest.mark.parametrize("sentence", [
    "The maxima are recomputed from x.",
    "Arrays are read without copying.",
    "If you know one of these, change the import.",
    "Each rank is given its part, which takes the place of the whole.",
    "The tile stays unwritten where the mask is false.",
    "There is no video in this folder, so nothing is written.",
    "A threshold of a filming camera, and `\"film\"` as a former key.",
    "The distance between taps is the dilation; the element is put at its index.",
    "infinity if T has one; Throws Error if a side is zero",
    "A gradient goes to the first of equal maxima.",
])
def test_plain_sentences_pass(sentence):
    assert not list(found(sentence))
