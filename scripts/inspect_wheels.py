#!/usr/bin/env python3
"""inspect_wheels.py WHEEL...: checks wheels without installing them: their size, files, tag, what their module needs of a
system and what it shows. Needs auditwheel, abi3audit and pyelftools (scripts/requirements-wheels.txt)."""

import io
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).parent.parent
LARGEST = 12 * 2**20
SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt)\.so\.\d|ld-linux[-\w]*\.so\.\d")
SHOWN = re.compile(r"PyInit__core|oriel_pool\w*")
MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


def module_problems(name, data, architecture):
    """What is wrong with the compiled module."""
    from elftools.elf.elffile import ELFFile  # here, so that the rest is tested without it

    elf = ELFFile(io.BytesIO(data))
    if MACHINES.get(elf["e_machine"]) != architecture:
        yield f"{name} is for {elf['e_machine']}, not {architecture}"
    needed = [tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
    if foreign := [library for library in needed if not SYSTEM.fullmatch(library)]:
        yield f"{name} needs {', '.join(foreign)}"
    shown = [
        symbol.name
        for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
        if symbol.name and symbol["st_shndx"] != "SHN_UNDEF"
    ]
    if others := [symbol for symbol in shown if not SHOWN.fullmatch(symbol)]:
        yield f"{name} shows {len(others)} symbols beside its own, e.g. {others[0]}"
    if "PyInit__core" not in shown or "oriel_pool" not in shown:
        yield f"{name} lacks PyInit__core or the handlers of XLA"
    if elf.get_section_by_name(".debug_info") or elf.get_section_by_name(".symtab"):
        yield f"{name} is not stripped"


def file_problems(names, modules):
    """What is missing of the package, or too much."""
    if len(modules) != 1:
        yield f"it has {len(modules)} compiled files, not one: {', '.join(modules)}"
    python = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python" / "oriel").rglob("*.py")}
    expected = python | {"oriel/_core.pyi", "oriel/py.typed"}
    if missing := sorted(expected - set(names)):
        yield f"it lacks {', '.join(missing)}"
    if more := sorted(n for n in set(names) - expected - set(modules) if ".dist-info/" not in n and not n.startswith("oriel/docs/")):
        yield f"it has {', '.join(more)} too"
    for file in ("METADATA", "RECORD", "licenses/LICENSE"):
        if not any(name.endswith(f".dist-info/{file}") for name in names):
            yield f"it lacks {file}"


def platform_problems(shown, architecture):
    """What is wrong with the platform that `auditwheel show` says: manylinux_2_28 or an older one is wanted."""
    said = re.search(r'platform tag: "manylinux_2_(\d+)_(\w+)"', " ".join(shown.split()))
    if said is None or int(said[1]) > 28 or said[2] != architecture:
        yield f"auditwheel show does not say manylinux_2_28_{architecture} or older: {shown}"


def tool_problems(wheel, architecture):
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True)
    yield from platform_problems(shown.stdout + shown.stderr, architecture)
    if "-abi3-" in wheel.name:
        audit = subprocess.run(
            [sys.executable, "-m", "abi3audit", "--strict", "--verbose", wheel], capture_output=True, text=True
        )
        if audit.returncode != 0:
            yield f"abi3audit: {audit.stdout}{audit.stderr}"


def problems(wheel):
    tag = re.fullmatch(r"[\w.]+-[\w.]+-(cp\d+)-(cp\d+t?|abi3)-([\w.]+)", wheel.stem)
    platform = re.search(r"manylinux_2_(?:5|12|17|24|26|27|28)_(x86_64|aarch64)", tag[3]) if tag else None
    if platform is None:
        yield "its name is not that of a wheel for manylinux_2_28, or an older one, on x86_64 or aarch64"
        return
    if wheel.stat().st_size > LARGEST:
        yield f"it has {wheel.stat().st_size} bytes; at most {LARGEST} are allowed"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        modules = [name for name in names if ".so" in pathlib.PurePath(name).suffixes]
        for name in modules:
            yield from module_problems(name, archive.read(name), platform[1])
    yield from file_problems(names, modules)
    yield from tool_problems(wheel, platform[1])


def main(wheels):
    if not wheels:
        print("usage: inspect_wheels.py WHEEL...", file=sys.stderr)
        return 2
    status = 0
    for wheel in map(pathlib.Path, wheels):
        found = list(problems(wheel))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {'; '.join(found) or 'as it should be'}")
        status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
