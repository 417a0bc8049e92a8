"""liboriel_c shows the functions of oriel/c.h and nothing else; abi.txt lists them."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ["ORIEL_C_LIBRARY"])
WRITTEN = Path(__file__).with_name("abi.txt")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def shown():
    """name@@version of every symbol that programs can link with."""
    rows = (line.split() for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines())
    return sorted(row[2] for row in rows if row[1] != "A")


def test_shows_what_is_written_down():
    """ORIEL_WRITE_ABI=1 writes the list anew: lines may be added, but none may go or change within an ABI."""
    names = shown()
    if os.environ.get("ORIEL_WRITE_ABI"):
        WRITTEN.write_text("\n".join(names) + "\n")
    assert names == WRITTEN.read_text().splitlines()


def test_the_header_declares_what_is_shown():
    header = (ROOT / "include" / "oriel" / "c.h").read_text()
    declared = sorted(re.findall(r"^ORIEL_C_API [^(]*?(oriel_\w+)\(", header, re.MULTILINE))
    assert len(declared) > 15 and [name.split("@")[0] for name in shown()] == declared


def test_soname_and_symbol_version_follow_the_abi():
    header = (ROOT / "include" / "oriel" / "c.h").read_text()
    abi = re.search(r"#define ORIEL_C_ABI (\d+)", header)[1]
    assert f"Library soname: [liboriel_c.so.{abi}]" in run("readelf", "-d", LIBRARY)
    assert all(name.endswith(f"@@ORIEL_C_{abi}") for name in shown())
