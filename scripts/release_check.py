#!/usr/bin/env python3
"""Checks that what names a version agrees, before a release. Usage: release_check.py [--tag vX.Y.Z] [--sdist FILE].

Always: CMakeLists.txt, include/oriel/version.h, CITATION.cff, CHANGELOG.md, the recipes of packaging/ and the bindings have one
version.
With --tag: the tag is that version, its section of CHANGELOG.md is the first one and has a date, and git has no changes.
With --sdist: the archive is called so and holds what `git archive HEAD` holds, byte for byte, without the patterns of
tool.scikit-build.sdist.exclude in pyproject.toml. Prints each difference, ends with 1 for any.
"""

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

MOST_LISTED = 20
# File, and the pattern whose first group is its version.
VERSIONS = [
    ("CITATION.cff", r"(?m)^version: (\S+)"),
    ("packaging/vcpkg/oriel/vcpkg.json", r'"version": "([^"]+)"'),
    ("packaging/conda/recipe.yaml", r'(?m)^  version: "([^"]+)"'),
    ("packaging/spack/spack_repo/oriel/packages/oriel/package.py", r'(?m)^    version\("([^"]+)"\)'),
    ("bindings/rust/Cargo.toml", r'(?m)^version = "([^"]+)"'),
    ("bindings/rust/Cargo.lock", r'name = "oriel"\nversion = "([^"]+)"'),
    ("bindings/r/oriel/DESCRIPTION", r"(?m)^Version: (\S+)"),
    ("bindings/julia/Project.toml", r'(?m)^version = "([^"]+)"'),
    ("packaging/debian/changelog", r"\Aoriel \((\S+)-[^-\s)]+\)"),
]
SECTION = re.compile(r"^## \[(\S+)\] - (.+)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True).stdout


def project_version(root):
    found = re.search(r"project\(oriel VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())
    if not found:
        sys.exit("release_check: CMakeLists.txt names no version: project(oriel VERSION ...) is missing")
    return found[1]


def check_versions(root, version):
    """Yields a line for each file that names another version."""
    header = (root / "include" / "oriel" / "version.h").read_text()
    parts = [re.search(rf"#define ORIEL_VERSION_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH")]
    named = ".".join(part[1] if part else "?" for part in parts)
    if named != version:
        yield f"include/oriel/version.h: version {named}; CMakeLists.txt has {version}"
    for file, pattern in VERSIONS:
        found = re.search(pattern, (root / file).read_text())
        if not found or found[1] != version:
            yield f"{file}: version {found[1] if found else 'missing'}; CMakeLists.txt has {version}"
    if version not in dict(SECTION.findall((root / "CHANGELOG.md").read_text())):
        yield f"CHANGELOG.md: no section '## [{version}] - DATE'"


def check_tag(root, version, tag):
    """Yields a line for each thing that a release lacks."""
    if tag != f"v{version}":
        yield f"tag {tag}; allowed: v{version}, as CMakeLists.txt says"
    sections = SECTION.findall((root / "CHANGELOG.md").read_text())
    if sections and sections[0][0] != version:
        yield f"CHANGELOG.md: the first section is [{sections[0][0]}]; allowed: [{version}]"
    date = dict(sections).get(version, "missing")
    if not DATE.fullmatch(date):
        yield f"CHANGELOG.md: the date of [{version}] is '{date}'; allowed: YYYY-MM-DD"
    released = re.search(r"(?m)^date-released: ['\"]?([^'\"\s]+)", (root / "CITATION.cff").read_text())
    if not released or released[1] != date:
        yield f"CITATION.cff: date-released is {released[1] if released else 'missing'}; CHANGELOG.md has {date}"
    changed = git(root, "status", "--porcelain").decode().splitlines()
    if changed:
        yield f"git: {len(changed)} files are changed or new, such as {changed[0].strip()}; allowed: none"


def members(archive):
    """Path without the first folder -> bytes, of the files of an archive of tar."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name.partition("/")[2]: tar.extractfile(member).read() for member in tar if member.isfile()}


def excluded(patterns, path):
    """True if a pattern of .gitignore's kind, of those that pyproject.toml uses, names the file or a folder of it."""
    return any(path == pattern.strip("/") or path.startswith(pattern.strip("/") + "/") for pattern in patterns)


def check_sdist(root, version, path):
    """Yields a line for each difference between the source archive and what git holds."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    name = pyproject["project"]["name"].replace("-", "_")
    if path.name != f"{name}-{version}.tar.gz":
        yield f"{path.name}: allowed: {name}-{version}.tar.gz"
    patterns = pyproject["tool"]["scikit-build"].get("sdist", {}).get("exclude", [])
    wanted = {
        file: text
        for file, text in members(git(root, "archive", "--format=tar", "--prefix=oriel/", "HEAD")).items()
        if not excluded(patterns, file)
    }
    held = members(path.read_bytes())
    if "PKG-INFO" not in held:
        yield f"{path.name}: no PKG-INFO"
    found = [f"{file} is missing" for file in sorted(wanted.keys() - held.keys())]
    found += [f"{file} is not in git" for file in sorted(held.keys() - wanted.keys() - {"PKG-INFO"})]
    found += [
        f"{file} differs from git's" for file in sorted(wanted.keys() & held.keys()) if wanted[file] != held[file]
    ]
    yield from (f"{path.name}: {line}" for line in found[:MOST_LISTED])
    if len(found) > MOST_LISTED:
        yield f"{path.name}: {len(found) - MOST_LISTED} more"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the tag of the release, such as v0.2.0")
    parser.add_argument("--sdist", type=Path, help="the source archive that will be published")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    version = project_version(arguments.root)
    found = list(check_versions(arguments.root, version))
    if arguments.tag is not None:
        found += check_tag(arguments.root, version, arguments.tag)
    if arguments.sdist is not None:
        if not arguments.sdist.is_file():
            sys.exit(f"release_check: --sdist: {arguments.sdist}: there is no such file")
        found += check_sdist(arguments.root, version, arguments.sdist)
    print("\n".join(found) if found else f"release_check: {version}: everything agrees")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
