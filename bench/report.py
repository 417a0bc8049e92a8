"""What each benchmark's results hold beside its times, and how they are written."""

import functools
import json
import platform
import subprocess
from pathlib import Path


def processor():
    """The processor's name, as the system gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


@functools.cache
def commit():
    """What was measured, as git names it: with `-dirty` if files differ from it, None outside of a checkout."""
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def text_of(results):
    """JSON with a line for each entry of the lists of results, so that two files of them can be compared."""
    parts = []
    for key, value in results.items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n" + ",\n".join(json.dumps(entry) for entry in value) + "\n]"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{" + ",\n".join(parts) + "}\n"


def write_results(path, results):
    """Adds the commit. The file appears whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text_of(results | {"commit": commit()}))
    unfinished.rename(path)
