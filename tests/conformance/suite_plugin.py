"""A plugin of pytest: a peer's own test files run with Oriel's functions in the places of the peer's.

ORIEL_REPLACED names the modules, `scipy.ndimage=oriel.ndimage` and so on, or classes, `xarray:DataArray=…`;
ORIEL_OUTCOMES the file that gets a JSON list of the tests in which a function of Oriel was called: their file, whether a
call was handed on to the peer, their name, outcome and the text of the failure.
"""

from __future__ import annotations

import functools
import json
import os
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import oriel  # noqa: F401  # now, as pytest puts the folder in which the peer is installed before all others

# A function of Oriel says what was wrong, beginning with its own name.
OWN_TEXT = r"^[A-Za-z_0-9.]+: |^'\w+' object cannot be interpreted as an integer$"
ERRORS = (ValueError, TypeError, RuntimeError, NotImplementedError, KeyError)
# Arguments of which xarray warns that they have no effect.
WITHOUT_EFFECT = r"got an unexpected keyword argument '(dim|keepdims)'"

calls = 0
refused = 0  # calls with such arguments
handed = 0  # calls of functions that Oriel leaves to the peer
outcomes: list[dict[str, str]] = []


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        global calls
        calls += 1
        return function(*arguments, **keywords)

    return call


def replacements() -> Iterator[tuple[Any, str, Any]]:
    """(the peer's module, a name in it, Oriel's function)."""
    for pair in os.environ["ORIEL_REPLACED"].split(","):
        theirs, ours = map(pkgutil.resolve_name, pair.split("="))
        for name in ours.__all__:
            function = getattr(ours, name)
            if callable(function) and hasattr(theirs, name):
                yield theirs, name, counted(function)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After the test files have been imported: decorators there look the peer's functions up in tables of its own."""
    originals: dict[str, Any] = {}
    table: dict[Any, Any] = {}
    for theirs, name, function in list(replacements()):
        original = getattr(theirs, name)
        originals[name] = table.setdefault(original, function) and original
        setattr(theirs, name, function)
        for item in items:  # names that a test file has imported
            module = getattr(item, "module", None)
            if getattr(module, name, None) is original:
                setattr(module, name, function)
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        for word, value in parameters.items():
            if callable(value) and value in table:
                parameters[word] = table[value]
    for module in list(sys.modules.values()):
        if "count_handed_on" in vars(module):
            module.count_handed_on(handed_on)
        if "after_replacement" in vars(module):
            module.after_replacement(table)
    # What Oriel leaves to the peer is computed by the peer.
    for module in list(sys.modules.values()):
        if "function_of" in vars(module) and module.__name__.startswith("oriel."):
            module.function_of = lambda library, name, why: handed_on(originals[name])  # type: ignore[attr-defined]


def handed_on(function: Any = None) -> Any:
    global handed
    handed += 1
    return function


@contextmanager
def warns(expected: Any = Warning, *, match: str | None = None) -> Iterator[Any]:
    """`pytest.warns` that takes the error of an argument without effect for the warning."""
    global refused
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield caught
        except TypeError as error:
            if not re.search(WITHOUT_EFFECT, str(error)):
                raise
            refused += 1
            return
    if not any(issubclass(w.category, expected) and re.search(match or "", str(w.message)) for w in caught):
        pytest.fail(f"DID NOT WARN: {expected} {match or ''}")


@contextmanager
def errors_of_oriel() -> Iterator[None]:
    """`pytest.raises` takes ValueError, TypeError and so on for each other, if the text is Oriel's; `warns`: above."""
    strict, strict_warns = pytest.raises, pytest.warns

    def lenient(expected: Any, *arguments: Any, match: Any = None, **keywords: Any) -> Any:
        kinds = expected if isinstance(expected, tuple) else (expected,)
        if not arguments and all(kind in ERRORS for kind in kinds):
            return strict(ERRORS, match=OWN_TEXT if match is None else f"{OWN_TEXT}|{match}", **keywords)
        return strict(expected, *arguments, **keywords)

    names = ("raises", "assert_raises")
    modules = [m for m in list(sys.modules.values()) if isinstance(getattr(m, "__dict__", None), dict)]
    places = [(module, name) for module in modules for name in names if vars(module).get(name) is strict]
    for module, name in places:
        setattr(module, name, lenient)
    pytest.warns = warns  # type: ignore[assignment]
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, strict)
        pytest.warns = strict_warns


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    global calls, handed, refused
    calls = handed = refused = 0
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    outcome, text = "passed", ""
    try:
        pyfuncitem.obj(**arguments)
    except pytest.skip.Exception:
        raise
    except (Exception, pytest.fail.Exception) as failure:
        outcome, text = "failed", f"{type(failure).__name__}: {failure}"
        with errors_of_oriel():
            try:
                pyfuncitem.obj(**arguments)
                outcome = "refused" if refused else "errors"
            except (Exception, pytest.fail.Exception) as again:
                text = f"{type(again).__name__}: {again}"
    if calls:
        file = Path(pyfuncitem.path).name
        name = re.sub(r"\s+", " ", pyfuncitem.nodeid.partition("::")[2])
        text = re.sub(r"\s+", " ", text)[:900]
        how = ", handed on" if handed else ""
        outcomes.append({"file": file + how, "test": name, "outcome": outcome, "text": text})
    return True


def pytest_sessionfinish() -> None:
    Path(os.environ["ORIEL_OUTCOMES"]).write_text(json.dumps(outcomes), encoding="utf-8")
