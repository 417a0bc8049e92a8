"""What each benchmark's results hold beside its times, and how they are written."""

import json
import platform
from pathlib import Path


def processor():
    """The processor's name, as the system gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def write_results(path, results):
    """The file appears whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(results, indent=1) + "\n")
    unfinished.rename(path)
