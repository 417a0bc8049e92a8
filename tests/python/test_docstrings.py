"""Examples of docstrings run; public names have docstrings, types and stubs."""

import doctest
import importlib
import inspect
import os
from pathlib import Path

import pytest

import oriel

os.environ.setdefault("KERAS_BACKEND", "torch")  # Keras would look for TensorFlow

MODULES = sorted(".".join(path.relative_to(Path(oriel.__file__).parents[1]).with_suffix("").parts)
                 for path in Path(oriel.__file__).parent.rglob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("name", ["oriel", "oriel.jax", "oriel.keras", "oriel.torch", *MODULES])
def test_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0


def test_public_functions_have_examples_and_types():
    functions = [getattr(oriel, name) for name in oriel.__all__ if inspect.isfunction(getattr(oriel, name))]
    assert len(functions) > 50
    for function in functions:
        assert function.__doc__, function
        signature = inspect.signature(function)
        missing = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
        assert not missing and signature.return_annotation is not signature.empty, (function, missing)


def test_names_are_exported_once():
    assert len(set(oriel.__all__)) == len(oriel.__all__)
    for name in ("max_pool", "max_pool2d", "Pool", "block_reduce", "maximum_filter", "reduce_window"):
        assert name in oriel.__all__, name


def test_the_package_is_typed():
    folder = Path(oriel.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_core.pyi").read_text()
    assert "class Pool" in stub and "def forward(" in stub
