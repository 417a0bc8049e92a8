"""The runner of test files notices: what is wrong fails, errors and named differences are told apart from it."""

import textwrap

import pytest

import suite_differences
import suite_run

PEER = """
import warnings

class Number:
    def __init__(self, value):
        self.value = value
    def half(self, dim=None):
        if dim is not None:
            warnings.warn("dim has no effect", FutureWarning)
        return self.value / 2

def double(x):
    if x < 0:
        raise RuntimeError("negative number")
    return 2 * x

def other(x):
    return x

other_double = double
"""
OURS = """
__all__ = ["double", "absent"]

def double(x):
    if x < 0:
        raise ValueError("double: x must be >= 0, but is negative")
    return 2 * x if x != 3 else 7

def absent(x):
    return x

class Methods:
    __all__ = ["half"]

    def half(self):
        if self.value == 8:
            note()
        return self.value / 2

def count_handed_on(count):
    global note
    note = count

def after_replacement(table):
    import peer_of_oriel
    assert table[peer_of_oriel.other_double] is peer_of_oriel.double
    peer_of_oriel.told = True
"""
TESTS = """
import peer_of_oriel
import pytest
from peer_of_oriel import double

def test_right():
    assert peer_of_oriel.double(2) == 4

def test_imported_name():
    assert double(3) == 6

@pytest.mark.parametrize("function", [peer_of_oriel.double])
def test_parameter(function):
    assert function(3) == 6

def test_text_of_an_error():
    with pytest.raises(RuntimeError, match="negative"):
        peer_of_oriel.double(-1)

def test_no_error():
    with pytest.raises(RuntimeError):
        peer_of_oriel.double(1)

def test_method():
    assert peer_of_oriel.Number(6).half() == 3 and peer_of_oriel.told

def test_handed_on():
    assert peer_of_oriel.Number(8).half() == 4

def test_argument_without_effect():
    number = peer_of_oriel.Number(6)
    with pytest.warns(FutureWarning):
        number.half(dim=1)
    assert number.half() == 3

def test_wrong_after_an_argument_without_effect():
    number = peer_of_oriel.Number(6)
    with pytest.warns(FutureWarning):
        number.half(dim=1)
    assert number.half() == 4

def test_no_warning():
    with pytest.warns(FutureWarning):
        peer_of_oriel.Number(6).half()

def test_not_ours():
    assert peer_of_oriel.other(1) == 1
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    for name, text in (("peer_of_oriel", PEER), ("replacement", OURS), ("test_peer", TESTS)):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    replaced = "peer_of_oriel=replacement,peer_of_oriel:Number=replacement:Methods"
    return suite_run.Suite("peer", (str(tmp_path / "test_peer.py"),), replaced, by_path=True)


def test_outcomes(suite):
    tests = suite_run.outcomes(suite)
    assert [test["test"] for test in tests if test["file"] == "test_peer.py, handed on"] == ["test_handed_on"]
    found = {test["test"]: test["outcome"] for test in tests}
    assert found == {
        "test_right": "passed",
        "test_imported_name": "failed",
        "test_parameter[double]": "failed",
        "test_text_of_an_error": "errors",
        "test_no_error": "failed",
        "test_method": "passed",
        "test_handed_on": "passed",
        "test_argument_without_effect": "refused",
        "test_wrong_after_an_argument_without_effect": "failed",
        "test_no_warning": "failed",
    }


def test_tallies(suite, monkeypatch):
    named = (r"^test_parameter\b", r"assert 7 == 6", "seven is right")
    monkeypatch.setattr(suite_differences, "_NAMED", [named, (r"^test_no_error\b", r"another text", "never")])
    tallies = suite_run.run_suite(suite)
    assert sum(tally.cases for tally in tallies) == 10 and sum(tally.passed for tally in tallies) == 3
    reasons = {reason for tally in tallies for reason in tally.known}
    assert reasons == {"seven is right", suite_differences.ERRORS, suite_differences.REFUSED}
    failed = [line for tally in tallies for line in tally.failed]
    texts = ("assert 7 == 6", "DID NOT RAISE", "assert 3.0 == 4", "DID NOT WARN")
    assert len(failed) == 4 and all(text in line for text, line in zip(texts, failed))


def test_a_selection(suite):
    selected = suite_run.Suite(suite.part, suite.tests, suite.replaced, "method or handed", by_path=True)
    assert [test["test"] for test in suite_run.outcomes(selected)] == ["test_method", "test_handed_on"]


def test_a_suite_without_tests_is_an_error(suite):
    empty = suite_run.Suite("peer", (suite.tests[0] + ".missing",), suite.replaced, by_path=True)
    with pytest.raises(RuntimeError, match="peer: pytest ran no test"):
        suite_run.outcomes(empty)
