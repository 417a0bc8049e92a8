"""oriel.keras on each backend of Keras, in a process for each: keras_checks.py says what is checked."""

import functools
import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CHECKS = [
    "values", "both_formats_agree", "beyond_keras", "statistics", "masked_average", "saving", "built_from_the_start",
    "training", "mixed_precision", "bad_arguments"
]


@functools.cache
def run_checks(backend):
    """Every check in one process, as starting Keras takes seconds; its output."""
    program = Path(__file__).with_name("keras_checks.py")
    environment = {
        **os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": ""
    }
    checks = [check for check in CHECKS if (backend, check) != ("numpy", "training")]  # Keras has no training on NumPy
    result = subprocess.run([sys.executable, program, *checks], env=environment, capture_output=True, text=True,
                            timeout=300)
    return result.stdout + result.stderr


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("backend", ["torch", "jax", "numpy", "tensorflow"])
def test_backend(backend, check):
    if backend == "tensorflow" and importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed: the fallback of oriel.keras for it is NOT tested here")
    if (backend, check) == ("numpy", "training"):
        pytest.skip("Keras has no training on NumPy")
    output = run_checks(backend)
    assert f"passed on {backend}: {check}\n" in output, output[-4000:]


def in_a_process(code, folder, backend="torch"):
    environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    return subprocess.run([sys.executable, *code], env=environment, cwd=folder, capture_output=True, text=True,
                          timeout=300)


def test_a_saved_model_in_another_process(tmp_path):
    """It loads after `import oriel.keras`; without, Keras says that its layers are not imported."""
    program = Path(__file__).with_name("keras_checks.py")
    saved = in_a_process([program, "save_here"], tmp_path)
    assert saved.returncode == 0, saved.stderr
    loaded = in_a_process([program, "load_here"], tmp_path)
    assert loaded.returncode == 0, loaded.stderr
    bare = in_a_process(["-c", "import keras; keras.saving.load_model('model.keras')"], tmp_path)
    assert bare.returncode != 0 and "Could not locate class 'MaxPooling2D'" in bare.stderr
    assert "oriel.keras" in bare.stderr  # the name of what to import


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="TensorFlow is installed")
def test_a_missing_backend_is_one_sentence():
    result = subprocess.run([sys.executable, "-c", "import oriel.keras"],
                            env={**os.environ, "KERAS_BACKEND": "tensorflow"}, capture_output=True, text=True,
                            timeout=120)
    assert result.stderr.splitlines()[-1] == (
        "ImportError: oriel.keras needs the backend that Keras is set to, but tensorflow is not installed: set the "
        "environment variable KERAS_BACKEND to torch or jax")


@pytest.mark.parametrize("setup, text", [
    ("sys.modules['keras'] = None", "oriel.keras needs Keras 3.5 or newer, which is not installed: pip install keras"),
    ("import types; fake = types.ModuleType('keras'); fake.__version__ = '2.15.0'; sys.modules['keras'] = fake",
     "oriel.keras needs Keras 3.5 or newer, but 2.15.0 is installed: pip install --upgrade keras"),
])
def test_a_missing_or_old_keras_is_one_sentence(setup, text):
    program = textwrap.dedent(f"""
        import sys
        {setup}
        try:
            import oriel.keras
        except ImportError as error:
            print(error)
    """)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == text, result.stderr
