"""The runner of test files notices: what is wrong fails, errors and named differences are told apart from it."""

import textwrap

import pytest

import suite_differences
import suite_run

PEER = """
def double(x):
    if x < 0:
        raise RuntimeError("negative number")
    return 2 * x

def other(x):
    return x
"""
OURS = """
__all__ = ["double", "absent"]

def double(x):
    if x < 0:
        raise ValueError("double: x must be >= 0, but is negative")
    return 2 * x if x != 3 else 7

def absent(x):
    return x
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

def test_not_ours():
    assert peer_of_oriel.other(1) == 1
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    for name, text in (("peer_of_oriel", PEER), ("replacement", OURS), ("test_peer", TESTS)):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return suite_run.Suite("peer", (str(tmp_path / "test_peer.py"),), "peer_of_oriel=replacement", True)


def test_outcomes(suite):
    found = {test["test"]: test["outcome"] for test in suite_run.outcomes(suite)}
    assert found == {
        "test_right": "passed",
        "test_imported_name": "failed",
        "test_parameter[double]": "failed",
        "test_text_of_an_error": "errors",
        "test_no_error": "failed",
    }


def test_tallies(suite, monkeypatch):
    named = (r"^test_parameter\b", r"assert 7 == 6", "seven is right")
    monkeypatch.setattr(suite_differences, "_NAMED", [named, (r"^test_no_error\b", r"another text", "never")])
    tallies = suite_run.run_suite(suite)
    assert sum(tally.cases for tally in tallies) == 5 and sum(tally.passed for tally in tallies) == 1
    assert {reason for tally in tallies for reason in tally.known} == {"seven is right", suite_differences.ERRORS}
    failed = [line for tally in tallies for line in tally.failed]
    assert len(failed) == 2 and "assert 7 == 6" in failed[0] and "DID NOT RAISE" in failed[1]


def test_a_suite_without_tests_is_an_error(suite):
    empty = suite_run.Suite("peer", (suite.tests[0] + ".missing",), suite.replaced, True)
    with pytest.raises(RuntimeError, match="peer: pytest ran no test"):
        suite_run.outcomes(empty)
