"""examples/avg_pool2d_torch.py says what it should."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "avg_pool2d_torch.py"


def test_the_example_matches():
    result = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[-1] == "Oriel and PyTorch match"
    ours, theirs = result.stdout.split("Oriel:\n")[1].split("PyTorch:\n")
    assert ours.strip() == theirs.rsplit(
        "\n", 2)[0].strip() and "[63.5000, 65.5000, 67.5000]]], dtype=torch.bfloat16)" in ours
