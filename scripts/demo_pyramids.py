#!/usr/bin/env python3
"""The pyramids of `make demo`: a brain and an atlas of regions as OME-Zarr, checked, drawn, and timed beside other programs.

Usage: demo_pyramids.py [--docs]. The brain is the MNI152 T1 template that nilearn's wheel holds, the atlas is AAL of Debian's
package mricron-data; what is not there is left out, which is said. Everything is written to build/demo; --docs copies the
sheets to docs/images.
"""

import importlib.util
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ORIEL = ROOT / "build" / "bin" / "oriel"
OUT = ROOT / "build" / "demo"
PACKAGE = "mricron-data"
ATLAS = Path("usr/share/mricron/templates/aal.nii.gz")
BRAIN = Path("datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz")
# In all files here x, y and z go to the right, the front and the top.
UNIT, UP = ["--unit", "millimeter"], ["--sheet-up", "zy"]


def brain():
    """The template's file, without importing nilearn, whose own requirements are not installed; None: it is not there."""
    found = importlib.util.find_spec("nilearn")
    path = Path(found.origin).parent / BRAIN if found else None
    if path and path.exists():
        return path
    print(
        "  left out: MNI152, for nilearn is not installed (scripts/requirements-demo-pyramids-alone.txt)"
    )
    return None


def atlas():
    """The atlas of the installed package, or of the package as apt downloads it; None: it is not there."""
    folder = OUT / PACKAGE
    for root in (Path("/"), folder):
        if (root / ATLAS).exists():
            return root / ATLAS
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(
            ["apt-get", "download", PACKAGE],
            cwd=folder,
            capture_output=True,
            check=True,
            timeout=120,
        )
        (package,) = folder.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    except (OSError, ValueError, subprocess.SubprocessError):
        print(
            f"  left out: AAL, for apt cannot download {PACKAGE} (as root: apt-get update)"
        )
        return None
    package.unlink()
    return folder / ATLAS


def make(source, name, *options):
    """A pyramid with its sheet, and what the check says of it; --check ends with 1 for any fault."""

    def oriel(*words):
        done = subprocess.run(
            [ORIEL, "pyramid", *words], cwd=OUT, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(
                f"oriel pyramid {' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    start = time.perf_counter()
    oriel(source, f"{name}.zarr", "--levels", "4", *UNIT, *options)
    seconds = time.perf_counter() - start
    print(
        f"  {name}.zarr: {1e3 * seconds:.0f} ms with starting, reading and writing; oriel pyramid --check:"
    )
    found = oriel("--check", f"{name}.zarr", "--sheet", f"{name}.png", *UP)
    for line in found.splitlines()[1:]:
        print(f"    {line}")


def compare_times():
    """Ratios of times for the brain, of one run, by turns."""
    if not importlib.util.find_spec("zarr"):
        print(
            "  left out: times, for zarr is not installed (scripts/requirements-demo-pyramids.txt)"
        )
        return
    words = [ORIEL, "--volume", OUT / "mni152.zarr" / "0", "--repeats", "3"]
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "pyramids.py", *words],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        print(
            f"  left out: times, for bench/pyramids.py ends with: {done.stderr.strip().splitlines()[-1:]}"
        )
        return
    for line in (done.stderr + done.stdout).splitlines():
        print(f"  {line}")


def pyramids():
    OUT.mkdir(parents=True, exist_ok=True)
    print(
        "pyramids: MNI152 (ICBM 2009a, nilearn's copy) by means; AAL (mricron-data) by the most frequent label, 0 only if alone"
    )
    made = []
    source = brain()
    if source:
        make(source, "mni152")
        made.append("mni152")
        compare_times()
    source = atlas()
    if source:
        make(source, "aal", "--labels", "--ignore", "0")
        made.append("aal")
    if made:
        print(
            f"look at {' and '.join(str((OUT / f'{name}.png').relative_to(ROOT)) for name in made)}"
        )
    return made


if __name__ == "__main__":
    names = pyramids()
    if sys.argv[1:] == ["--docs"]:
        for name in names:
            shutil.copy(
                OUT / f"{name}.png", ROOT / "docs" / "images" / f"pyramids-{name}.png"
            )
