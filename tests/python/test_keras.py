"""oriel.keras on each backend of Keras, each in a process of its own: keras_checks.py says what is checked."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CHECKS = ["values", "both_formats_agree", "beyond_keras", "masked_average", "saving", "training", "mixed_precision", "bad_arguments"]
WITHOUT_TRAINING = {"numpy": ["training"]}


def run_check(backend, check):
    program = Path(__file__).with_name("keras_checks.py")
    environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    result = subprocess.run([sys.executable, program, check], env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr[-4000:]
    assert result.stdout.strip().endswith(f"passed on {backend}")


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("backend", ["torch", "jax", "numpy"])
def test_backend(backend, check):
    if check in WITHOUT_TRAINING.get(backend, []):
        pytest.skip("Keras has no training on this backend")
    run_check(backend, check)


@pytest.mark.parametrize("check", CHECKS)
def test_tensorflow(check):
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed: the fallback of oriel.keras for it is NOT tested here")
    run_check("tensorflow", check)


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
