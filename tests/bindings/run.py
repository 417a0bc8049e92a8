#!/usr/bin/env python3
"""Builds a binding of liboriel_c beside the tree, runs its tests and its example. Usage: run.py LANGUAGE.

The example must be the one that docs/bindings.md shows, and print what that page says. Ends with 77, after a line that says so,
where that language's programs are not installed. Environment: ORIEL_C_LIBRARY, the library; ORIEL_BUILD, the build folder, in which
everything is made.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests" / "vectors" / "vectors.txt"
PAGE = ROOT / "docs" / "bindings.md"
SKIPPED = 77


def need(language, *programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        # The form that scripts/test_summary.py lists.
        print(f"SKIPPED [1] bindings/{language}: NOT TESTED, as {' and '.join(missing)} is not installed")
        sys.exit(SKIPPED)


def version():
    return re.search(r"project\(oriel VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


class Workplace:
    """A copy of a binding, and what its programs need to find liboriel_c as if it were installed."""

    def __init__(self, language):
        self.language = language
        library = Path(os.environ["ORIEL_C_LIBRARY"])
        self.folder = Path(os.environ["ORIEL_BUILD"]) / "bindings" / language
        sources = ROOT / "bindings" / language
        copy = self.folder / "sources"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("target", "Cargo.lock", "*.o", "*.so", "*.mex"))
        self.sources = copy
        packages = self.folder / "pkgconfig"
        packages.mkdir(exist_ok=True)
        (packages / "oriel_c.pc").write_text(
            f"Name: oriel_c\nDescription: the library of a build folder\nVersion: {version()}\n"
            f"Libs: -L{library.parent} -loriel_c\nCflags: -I{ROOT / 'include'}\n"
        )
        self.environment = {
            **os.environ,
            "PKG_CONFIG_PATH": str(packages),
            "LD_LIBRARY_PATH": str(library.parent),
            "ORIEL_VECTORS": str(VECTORS),
        }

    def run(self, *words, expect="", **environment):
        """Runs a command, shows what it prints, and ends if it fails or does not print what is expected."""
        command = [str(word) for word in words]
        print("$", *command, flush=True)
        result = subprocess.run(
            command,
            cwd=self.sources,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        print(result.stdout, end="", flush=True)
        if result.returncode != 0:
            sys.exit(f"{command[0]} ended with {result.returncode}")
        if expect not in result.stdout:
            sys.exit(f"{command[0]} did not print '{expect}'")
        return result.stdout

    def example(self, source, *words, **environment):
        """Runs an example: the page shows the file `source` and what it prints."""
        text = PAGE.read_text(encoding="utf-8")
        shown = re.search(rf"^```{self.language}\n(.*?)^```\n\n```output\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if not shown or shown[1] != (self.sources / source).read_text(encoding="utf-8"):
            sys.exit(f"docs/bindings.md does not show bindings/{self.language}/{source}")
        printed = self.run(*words, **environment)
        if [line.rstrip() for line in printed.splitlines()] != shown[2].splitlines():
            sys.exit(f"docs/bindings.md says that bindings/{self.language}/{source} prints\n{shown[2]}")


def rust(place):
    offline = ["--offline", "--release", "--target-dir", place.folder / "target"]
    place.run("cargo", "test", *offline, "--", "--nocapture", expect="vectors on")
    place.example("examples/pool.rs", "cargo", "run", "--quiet", *offline, "--example", "pool")


def r(place):
    # No repository: R CMD check would ask one for packages that this one does not need.
    profile = place.folder / "profile.R"
    profile.write_text(f'options(repos = c(CRAN = "file://{place.folder}"))\n')
    contrib = place.folder / "src" / "contrib"
    contrib.mkdir(parents=True, exist_ok=True)
    (contrib / "PACKAGES").write_text("")
    environment = {"R_PROFILE_USER": str(profile), "_R_CHECK_FORCE_SUGGESTS_": "false"}
    place.run("R", "CMD", "build", "oriel", **environment)
    package = next(place.sources.glob("oriel_*.tar.gz"))
    place.run("R", "CMD", "check", "--no-manual", package.name, expect="Status: OK", **environment)
    tests = place.sources / "oriel.Rcheck" / "tests"
    printed = (tests / "vectors.Rout").read_text()
    print(printed[-300:])
    if "0 differ" not in printed:
        sys.exit("the shared vectors were not compared in R")
    environment["R_LIBS"] = str(place.sources / "oriel.Rcheck")
    place.example("examples/pool.R", "Rscript", "examples/pool.R", **environment)


def octave(place):
    built = place.folder / "built"
    built.mkdir(exist_ok=True)
    paths = f"addpath('{place.sources}'); addpath('{place.sources}/tests'); addpath('{built}');"
    program = ["octave-cli", "--norc", "--no-history", "--eval"]
    place.run(*program, f"{paths} build_mex('{built}')")
    place.run(*program, f"{paths} test_pool()", expect="all is as it should be")
    place.run(*program, f"{paths} test_vectors('{VECTORS}')", expect=": 0 differ")
    place.example("examples/pool_matrix.m", *program, f"{paths} run('{place.sources}/examples/pool_matrix.m')")


def go(place):
    environment = {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GO111MODULE": "on", "GOCACHE": str(place.folder / "cache")}
    place.run("go", "vet", "./...", **environment)
    place.run("go", "test", "-count=1", "-v", "./...", expect="vectors on", **environment)
    place.example("examples/pool/main.go", "go", "run", "./examples/pool", **environment)


def fortran(place):
    flags = place.run("pkg-config", "--cflags", "--libs", "oriel_c").split()
    options = ["-Wall", "-Wextra", "-Werror", "-O1", "-J", place.folder]
    objects = []
    for name in ("oriel_fortran.c", "oriel_c.f90", "oriel.f90"):
        objects.append(place.folder / f"{name}.o")
        language = [] if name.endswith(".c") else ["-std=f2018"]
        place.run("gfortran", *language, *options, "-c", name, "-o", objects[-1], *flags)
    for source in ("tests/pool", "tests/vectors", "examples/pool"):
        program = place.folder / source.replace("/", "_")
        place.run("gfortran", "-std=f2018", *options, f"{source}.f90", *objects, "-o", program, *flags)
    place.run(place.folder / "tests_pool", expect="all is as it should be")
    place.run(place.folder / "tests_vectors", VECTORS, expect=": 0 differ")
    place.example("examples/pool.f90", place.folder / "examples_pool")


def julia(place):
    environment = {"JULIA_DEPOT_PATH": str(place.folder / "depot"), "JULIA_PKG_OFFLINE": "true"}
    place.run("julia", "--project=.", "-e", "using Pkg; Pkg.test()", **environment)
    place.run("julia", "--project=.", "examples/pool.jl", expect="6 inputs have a gradient", **environment)


PROGRAMS = {
    "rust": (rust, "cargo", "rustc", "pkg-config"),
    "r": (r, "R", "Rscript", "pkg-config"),
    "octave": (octave, "octave-cli", "mkoctfile", "pkg-config"),
    "go": (go, "go", "pkg-config"),
    "fortran": (fortran, "gfortran", "gcc", "pkg-config"),
    "julia": (julia, "julia"),
}


def main():
    language = sys.argv[1]
    run, *programs = PROGRAMS[language]
    need(language, *programs)
    run(Workplace(language))


if __name__ == "__main__":
    main()
