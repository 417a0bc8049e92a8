"""examples/average_pool2d/: the tutorial's programs as people run them."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "average_pool2d"
MEANS = "3.5 5.5 7.5 15.5 17.5 19.5 27.5 29.5 31.5 39.5 41.5 43.5 51.5 53.5 55.5 63.5 65.5 67.5".split()


def numbers(text):
    """The numbers of printed arrays, in shortest form."""
    words = text.split("dtype")[0].translate(str.maketrans("[](),", "     ")).replace("tensor", "").split()
    return [f"{float(word):g}" for word in words]


def run(name):
    # PYTHONPATH names the folder that this process imports oriel from.
    import oriel

    environment = {**os.environ, "PYTHONPATH": str(Path(oriel.__file__).parents[1]), "JAX_PLATFORMS": "cpu"}
    result = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=120,
                            env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize(("framework", "spelled"), [("torch", "PyTorch"), ("jax", "JAX")])
def test_the_programs_say_that_both_match(framework, spelled):
    if not importlib.util.find_spec(framework):
        pytest.skip(f"{framework} is not installed")
    parts = run(f"average_pool2d_{framework}.py").split(f"the tile kernel and {spelled} match\n")
    assert len(parts) == 4 and parts[-1] == ""  # three dtypes
    for part in parts[:-1]:
        if framework == "torch":
            pieces = [numbers(piece) for piece in part.split("tensor(")[1:]]
        else:
            every = numbers(part)
            pieces = [every[:72], every[72:90], every[90:]]
        assert pieces == [[str(i) for i in range(72)], MEANS, MEANS]


def test_a_kernel_that_differs_is_noticed(monkeypatch, capsys):
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("tutorial_torch", EXAMPLES / "average_pool2d_torch.py")
    tutorial = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tutorial)
    monkeypatch.setattr(tutorial, "tensor_avgpool_kernel", lambda x, pool_size, out: None)
    assert not tutorial.matches(tutorial.torch.float32)
    assert capsys.readouterr().out.endswith("the tile kernel and PyTorch differ\n")
