"""examples/avg_pool2d_jax.py as people run it."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "examples" / "avg_pool2d_jax.py"


def test_the_program_says_that_both_match():
    # PYTHONPATH names the folder that this process imports oriel from.
    import oriel

    environment = {**os.environ, "PYTHONPATH": str(Path(oriel.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=120, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("Oriel and JAX match\n")
    averages = """
[[[ 3.5  5.5  7.5]
  [15.5 17.5 19.5]
  [27.5 29.5 31.5]]

 [[39.5 41.5 43.5]
  [51.5 53.5 55.5]
  [63.5 65.5 67.5]]]
"""
    assert result.stdout.count(averages) == 2
