"""The guard of instruction counts fails for more than a tenth more, and only then."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "instructions.py"
BUDGET = "# what it is\nmax:f32:9:k3        1000\n# new\navg:f32:9:k3\n"
# Pretends to be valgrind: the instructions of the n-th problem are the n-th word of COUNTS.
VALGRIND = """#!{python}
import os, sys
folder = next(w for w in sys.argv if w.startswith("--callgrind-out-file=")).partition("=")[2]
assert os.environ["ORIEL_TARGET"] == "AVX2"
for n, (name, count) in enumerate(zip(sys.argv[5:], os.environ["COUNTS"].split())):
    open(f"{{folder}}.{{n}}", "w").write(f"desc: Trigger: Client Request: {{name}}\\nsummary: {{count}}\\ntotals: {{count}}\\n")
open(folder, "w").write("desc: Trigger: Program termination\\ntotals: 11\\n")
"""


def run(folder, counts, *words, valgrind=True):
    budget = folder / "budget.txt"
    if not budget.exists():
        budget.write_text(BUDGET)
    if valgrind:
        program = folder / "valgrind"
        program.write_text(VALGRIND.format(python=sys.executable))
        program.chmod(0o755)
    environment = {**os.environ, "PATH": str(folder), "COUNTS": counts}
    command = [sys.executable, SCRIPT, "/bin/true", "--budget", budget, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_within_a_tenth_passes(tmp_path):
    for counts in ("1100 5", "1000 5", "10 5"):
        assert run(tmp_path, counts).returncode == 0


def test_more_than_a_tenth_more_fails(tmp_path):
    done = run(tmp_path, "1101 5")
    assert done.returncode == 1
    assert "1.10 times its number" in done.stdout and "1 of 2 need more than 1.10 times their number" in done.stdout


def test_writing_keeps_the_comments(tmp_path):
    assert run(tmp_path, "2000 7", "--write").returncode == 0
    lines = (tmp_path / "budget.txt").read_text().splitlines()
    assert [line.split() for line in lines] == [
        ["#", "what", "it", "is"],
        ["max:f32:9:k3", "2000"],
        ["#", "new"],
        ["avg:f32:9:k3", "7"],
    ]
    assert run(tmp_path, "2100 7").returncode == 0 and run(tmp_path, "2000 8").returncode == 1


def test_a_number_that_is_missing_fails(tmp_path):
    done = run(tmp_path, "1000")
    assert done.returncode == 1 and "no number for avg:f32:9:k3" in done.stderr


def test_without_valgrind_it_says_so(tmp_path):
    done = run(tmp_path, "", valgrind=False)
    assert done.returncode == 77 and "not counted: valgrind is not here" in done.stdout
