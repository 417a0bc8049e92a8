"""The guard of how instructions grow fails for what is quadratic, for dear special values and for what is not counted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "growth.py"
# Pretends to be valgrind: n elements take n to the power of POWER, and with special values SPECIAL times as many.
VALGRIND = """#!{python}
import os, re, sys
folder = next(w for w in sys.argv if w.startswith("--callgrind-out-file=")).partition("=")[2]
for i, name in enumerate(sys.argv[5:]):
    n = max(map(int, name.split(":")[2].split("x")))
    count = int(n ** float(os.environ["POWER"]) * (float(os.environ["SPECIAL"]) if "@" in name and "@user" not in name else 1))
    if os.environ.get("MISSING", "none") not in name:
        open(f"{{folder}}.{{i}}", "w").write(f"desc: Trigger: Client Request: {{name}}\\ntotals: {{count}}\\n")
"""


@pytest.mark.parametrize("power, special, missing, code", [
    ("1.2", "2.9", "none", 0),
    ("2", "1", "none", 1),  # quadratic
    ("1.2", "3.1", "none", 1),  # a NaN costs too much
    ("1.2", "1", ":32768:", 1),  # not counted in time
])
def test_what_fails(tmp_path, power, special, missing, code):
    program = tmp_path / "valgrind"
    program.write_text(VALGRIND.format(python=sys.executable))
    program.chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path), "POWER": power, "SPECIAL": special, "MISSING": missing}
    done = subprocess.run([sys.executable, SCRIPT, "/bin/true", "--only", "^max:f32:[0-9]+:k"], env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    good, problems = map(int, re.search(r"growth: (\d+) of (\d+) problems grow as they should", done.stdout).groups())
    assert problems > 0 and (good == problems if code == 0 else good < problems)


def test_nothing_to_count_with_is_said(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, "/bin/true"], env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 77 and "SKIPPED [1] growth: not counted: valgrind is not here" in done.stdout
