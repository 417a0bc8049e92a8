"""Instructions of problems, counted by valgrind: the same on every machine and at any load. It knows AVX2, not AVX-512."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = "AVX2"
CANNOT = 77  # the exit code that CTest counts as skipped


class NotCounted(Exception):
    """Nothing can be counted on this machine; says why."""


def count(program, problems, seconds=None):
    """problem -> instructions of one call, of those that oriel_count_instructions was through with after so long."""
    for needed in ("valgrind", program):
        if shutil.which(needed) is None:
            raise NotCounted(f"{needed} is not here")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={folder}/out",
            program,
            *problems,
        ]
        environment = {**os.environ, "ORIEL_TARGET": TARGET}
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                env=environment,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            done = None
        if done is not None and done.returncode != 0:
            if TARGET in done.stderr and "ORIEL_TARGET" in done.stderr:
                raise NotCounted(f"this machine cannot run {TARGET}")
            sys.exit(f"{Path(program).name}: {done.stderr}")
        counted = {}
        for dump in Path(folder).iterdir():
            text = dump.read_text(errors="replace")
            name = re.search(
                r"^desc: Trigger: Client Request: (\S+)$", text, re.MULTILINE
            )
            total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
            if name and total:
                counted[name[1]] = int(total[1])
        return counted
