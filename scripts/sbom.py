#!/usr/bin/env python3
"""Writes a bill of materials (CycloneDX 1.6, JSON) of a library, a program or a wheel of Oriel.

Usage: sbom.py [--from debian|wheel] [--given NAME=VERSION]... [--output FILE] ARTIFACT

ARTIFACT is a shared library or program (ELF), or a wheel. Listed are the libraries that it is built with (Highway, fmt and
oneTBB; nanobind too for a wheel, and for a program those of which it uses headers alone) and those that it is linked with,
as its dynamic sections name them. A library that no component stands for is an error: the list is whole or not written.
Versions come from the installed Debian packages (--from debian), or for a wheel's vendored libraries from
scripts/wheel_dependencies.txt, with their archives' SHA-256 (--from wheel); --given NAME=VERSION takes precedence. The same
inputs give the same bytes; the time is SOURCE_DATE_EPOCH, and without it none is written.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import uuid
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What Oriel is compiled with: name -> licence, Debian package, repository of the package URL, sonames.
INGREDIENTS = {
    "highway": ("Apache-2.0 OR BSD-3-Clause", "libhwy-dev", "google/highway", r"libhwy(-[0-9a-f]+)?\.so.*"),
    "fmt": ("MIT", "libfmt-dev", "fmtlib/fmt", r"libfmt(-[0-9a-f]+)?\.so.*"),
    "oneTBB": ("Apache-2.0", "libtbb-dev", "uxlfoundation/oneTBB", r"libtbb(-[0-9a-f]+)?\.so.*"),
}
# Of which nothing but headers is used, so that no dynamic section names them: the last is the files' names.
HEADERS = {
    "CLI11": ("BSD-3-Clause", "libcli11-dev", "CLIUtils/CLI11", r"oriel(-.*)?"),
    "nlohmann-json": ("MIT", "nlohmann-json3-dev", "nlohmann/json", r"oriel(-.*)?|liboriel_nn\.so.*"),
    "Boost": ("BSL-1.0", "libboost-dev", "boostorg/boost", r"oriel-portrait"),
}
PYTHON_INGREDIENTS = {"nanobind": ("BSD-3-Clause", "wjakob/nanobind")}
# What every program of the system has; the system's package manager knows their versions.
SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux[\w-]*)\.so.*")
OWN = re.compile(r"liboriel(_c|_tile|_nn)?\.so.*")
NAMESPACE = uuid.UUID("3c7f5f0a-52f1-5b0e-9a57-8d1f3f6e6b1c")


def fail(text):
    sys.exit(f"sbom: {text}")


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        fail(f"there is no {command[0]}")
    return done.stdout if done.returncode == 0 else None


def needed(path):
    """The sonames of an ELF file's dynamic section."""
    text = output_of("readelf", "--dynamic", "--wide", str(path))
    if text is None:
        fail(f"{path}: not an ELF file that readelf reads; allowed: a shared library, a program, a wheel")
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", text))


def linked(path):
    """The sonames that an artifact needs and does not hold itself, and the files of a wheel's vendored libraries."""
    if path.suffix != ".whl":
        return needed(path), set()
    held, wanted = set(), set()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if re.search(r"\.so(\.|$)", name):
                wanted |= needed(wheel.extract(name, folder))
                held.add(name.rsplit("/", 1)[-1])
    if not held:
        fail(f"{path}: the wheel holds no shared library")
    return wanted, held


def debian_version(package):
    """The version of a package of this machine's own architecture."""
    text = output_of("dpkg-query", "--show", "--showformat", "${Architecture} ${Version}\n", package) or ""
    native = (output_of("dpkg", "--print-architecture") or "").strip()
    found = dict(line.split(" ", 1) for line in text.splitlines() if not line.endswith(" "))
    version = found.get(native) or found.get("all")
    if version is None:
        fail(f"{package}: the package is not installed, so its version is not known; allowed: --given NAME=VERSION")
    return version


def wheel_rows():
    """name -> (version, SHA-256, address) of scripts/wheel_dependencies.txt."""
    rows = (line.split() for line in (ROOT / "scripts" / "wheel_dependencies.txt").read_text().splitlines())
    return {row[0]: tuple(row[1:]) for row in rows if row and not row[0].startswith("#")}


def owner(soname):
    """The Debian package that a soname comes from, and its version."""
    table = output_of("ldconfig", "-p") or output_of("/sbin/ldconfig", "-p") or ""
    kind = {"x86_64": "x86-64", "aarch64": "AArch64"}.get(os.uname().machine, "")
    found = re.search(rf"(?m)^\s*{re.escape(soname)} \(.*{kind}.*\) => (\S+)$", table)
    if not found:
        fail(
            f"{soname}: the artifact is linked with it, but it is not installed here; allowed: --given {soname}=VERSION"
        )
    for path in (found[1], os.path.realpath(found[1]), found[1].removeprefix("/usr")):
        text = output_of("dpkg-query", "--search", path)
        if text:
            package = text.split(":")[0].split(",")[0]
            return package, debian_version(package)
    fail(f"{soname}: {found[1]} belongs to no Debian package, so it cannot be named; allowed: --given {soname}=VERSION")


def component(name, version, licence, kind, **more):
    """`kind` is the package URL without its version."""
    purl = f"{kind}@{urllib.parse.quote(version, safe='')}"
    made = {"type": "library", "bom-ref": purl, "name": name, "version": version}
    if licence:
        made["licenses"] = [{"expression": licence}]
    return {**made, "purl": purl, **more}


def ingredient(name, source, given):
    licence, package, repository, _ = {**INGREDIENTS, **HEADERS}[name]
    if name in given:
        return component(name, given[name], licence, f"pkg:github/{repository}")
    if source == "debian" or name in HEADERS:
        version = debian_version(package)
        return component(name, version, licence, f"pkg:deb/debian/{package}")
    version, digest, address = wheel_rows()[name]
    if digest == "missing":
        fail(
            f"{name}: scripts/wheel_dependencies.txt has no SHA-256 of it; scripts/wheel_dependencies.sh --update writes it"
        )
    archive = {"type": "source-distribution", "url": address, "hashes": [{"alg": "SHA-256", "content": digest}]}
    return component(name, version, licence, f"pkg:github/{repository}", externalReferences=[archive])


def python_ingredient(name, given):
    licence, repository = PYTHON_INGREDIENTS[name]
    version = given.get(name)
    if version is None:
        pinned = (ROOT / "scripts" / "requirements-test.txt").read_text()
        found = re.search(rf"(?m)^{name}==(\S+)", pinned)
        version = found[1] if found else fail(f"{name}: no version is known; allowed: --given {name}=VERSION")
    return component(name, version, licence, f"pkg:github/{repository}")


def components_of(path, source, given):
    wanted, held = linked(path)
    headers = [name for name, row in HEADERS.items() if re.fullmatch(row[3], path.name)]
    made = [ingredient(name, source, given) for name in [*INGREDIENTS, *headers]]
    if path.suffix == ".whl":
        made += [python_ingredient(name, given) for name in PYTHON_INGREDIENTS]
    for soname in sorted(wanted - held):
        if OWN.fullmatch(soname) or any(re.fullmatch(row[3], soname) for row in INGREDIENTS.values()):
            continue
        if soname in given:
            made.append(component(soname, given[soname], None, f"pkg:generic/{soname}"))
        elif SYSTEM.fullmatch(soname) and source == "wheel":
            continue  # the platform tag of the wheel stands for them
        else:
            package, version = owner(soname)
            made.append(component(package, version, None, f"pkg:deb/debian/{package}"))
    return sorted({row["bom-ref"]: row for row in made}.values(), key=lambda row: row["bom-ref"])


def bill(path, source, given):
    version = re.search(r"project\(oriel VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    name = "oriel-pool" if path.suffix == ".whl" else "oriel"
    purl = f"pkg:{'pypi' if path.suffix == '.whl' else 'generic'}/{name}@{version}"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    made = components_of(path, source, given)
    metadata = {
        "component": {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "hashes": [{"alg": "SHA-256", "content": digest}],
            "licenses": [{"expression": "Apache-2.0"}],
            "purl": purl,
            "properties": [{"name": "oriel:file", "value": path.name}],
        }
    }
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        if not epoch.isdecimal():
            fail(f"SOURCE_DATE_EPOCH is '{epoch}'; allowed: seconds since 1970")
        time = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
        metadata["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    dependencies = [{"ref": purl, "dependsOn": [row["bom-ref"] for row in made]}]
    dependencies += [{"ref": row["bom-ref"]} for row in made]
    text = json.dumps([metadata, made], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, text)}",
        "version": 1,
        "metadata": metadata,
        "components": made,
        "dependencies": dependencies,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT")
    parser.add_argument("--from", dest="source", choices=("debian", "wheel"), default="debian")
    parser.add_argument("--given", action="append", default=[], metavar="NAME=VERSION")
    parser.add_argument("--output", type=Path, metavar="FILE", help="standard output if it is not given")
    arguments = parser.parse_args()
    if not arguments.artifact.is_file():
        fail(f"{arguments.artifact}: there is no such file")
    given = dict(word.partition("=")[::2] for word in arguments.given)
    for name, version in given.items():
        if not name or not version:
            fail(f"--given '{name}={version}'; allowed: NAME=VERSION")
    text = json.dumps(bill(arguments.artifact, arguments.source, given), indent=2) + "\n"
    if arguments.output is None:
        sys.stdout.write(text)
        return 0
    beside = arguments.output.with_name(f".{arguments.output.name}.tmp")
    beside.write_text(text)
    beside.replace(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
