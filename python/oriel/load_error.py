"""Why `import oriel` fails: one sentence for each reason. Imported only then."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import pathlib
import platform
import re
import sys

_PIP = "python -m pip install --force-reinstall WHEEL_OR_CLONE"  # published nowhere yet


def _this_python() -> str:
    threads = "t" if "t" in getattr(sys, "abiflags", "") else ""
    return f"{platform.python_implementation()} {platform.python_version()}{threads} on {platform.machine()}"


def _no_module(folder: pathlib.Path) -> str:
    built = sorted(file.name for file in folder.glob("_core*.so"))
    if not built:
        return f"the compiled module is not in {folder}: install it again with `{_PIP}`"
    return f"the compiled module is for another Python ({', '.join(built)}), but this is {_this_python()}: `{_PIP}` installs the one that fits"


def _reason(error: ImportError, folder: pathlib.Path) -> str:
    text = str(error)
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] == "numpy":
        return "NumPy is not installed: `python -m pip install numpy`"
    if not any((folder / f"_core{suffix}").exists() for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        return _no_module(folder)
    if wanted := re.search(r"version [`'](GLIBC_[\d.]+)' not found", text):
        has = " ".join(platform.libc_ver()).strip() or "another C library"
        return f"this build needs {wanted[1].replace('_', ' ').replace('GLIBC', 'glibc')} or newer, but the system has {has}: build it from source"
    if missing := re.search(r"(\S+): cannot open shared object file", text):
        return f"the library {missing[1]} is missing, which this build uses: install it, or the wheel, which needs no libraries, with `{_PIP}`"
    if re.search(r"wrong ELF class|invalid ELF header|file too short|cannot open", text):
        return (
            f"the compiled module is damaged or for another processor, and this is {_this_python()}: `{_PIP}` ({text})"
        )
    if symbol := re.search(r"undefined symbol: (\S+)", text):
        return (
            f"the compiled module and the libraries beside it are not of one build ({symbol[1]} is missing): `{_PIP}`"
        )
    if needed := re.search(r"compiled for processors with (\S+)", text):
        return f"this build is for processors with {needed[1]}, which this {platform.machine()} does not have: install the wheel, which runs on all of them, with `{_PIP}`"
    if other := re.search(r"compiled for Oriel (\S+), but runs with (\S+) of (.+)", text):
        return f"two versions of Oriel are in this process: the package is of {other[1]}, but {other[3]} with {other[2]} was loaded before: use one of them, or the wheel, which contains its own library, with `{_PIP}`"
    return f"the compiled module cannot be loaded: {text}"


def _other_distribution() -> str:
    """A word about the distribution named oriel, which is another program with a package of the same name."""
    try:
        other = importlib.metadata.distribution("oriel")
    except importlib.metadata.PackageNotFoundError:
        return ""
    if any(file.match("oriel/load_error.py") for file in other.files or ()):  # this one, under its name of before 0.2
        return ""
    return (
        f"; the distribution oriel {other.version} is installed too, which may be another program whose files replace "
        "these: `python -m pip uninstall oriel` first"
    )


def explain(error: ImportError, folder: pathlib.Path) -> str:
    """The text of the error if importing the compiled module of the package in `folder` failed like this."""
    return f"oriel cannot be imported: {_reason(error, folder)}{_other_distribution()}"
