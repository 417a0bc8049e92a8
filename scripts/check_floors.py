#!/usr/bin/env python3
"""Checks that the include graph goes down only. Usage: check_floors.py [ROOT]; prints each violation, exits 1 for any.

The floors, which docs/architecture.md calls layers (scripts/site/architecture_picture.py draws them from these lists): a file
may include files of its own part and of parts on lower floors. Parts on the same floor never include each other, but on the
floors of one part (0, 1, 3) that question does not arise. The folders of
some parts (wings) have floors of their own; in the CPU backend and the portrait a folder has at most 15 files. In src/io
and cli no files include each other in a circle, a header and its source counted as one. A file that asks what an
instruction set can do includes instruction_set.h itself, and asks for no AVX-512 by name. Parts of the Python package
import what is listed for them.
"""

import ast
import re
import sys
from pathlib import Path

# (pattern of the path, floor, part); the first that matches counts.
PARTS = [
    (r"include/oriel/(types\.h|executor\.h|version\.h|dtypes\.def|ops\.def)", 0, "types"),
    (r"src/(types\.cc|real_functions\.(cc|h)|quoted\.h|real_number\.h|parallel_loop\.h|text\.h|byte_order\.h|instruction_set\.h)", 0, "types"),
    (r"include/oriel/(window|reduce|tensor|footprint|problem)\.h", 1, "core"),
    (
        r"src/(tensor\.(cc|h)|element_copy\.(cc|h)|problem\.cc|problem_name\.cc|statistic_(name|rules)\.(cc|h)|footprint\.cc|resolve\.h|reduction\.h)",
        1,
        "core",
    ),
    (r"(src|include/oriel)/tile/.*", 2, "tile"),
    (r"src/(cpu|cuda)/.*", 2, None),
    (r"include/oriel/(cpu|cuda)\.h", 2, None),
    (r"include/oriel/pool\.h", 3, "pool"),
    (r"src/pool\.cc", 3, "pool"),
    (r"(src|include/oriel)/distributed[/.].*", 4, "distributed"),
    (r"(src|include/oriel)/pyramid[/.].*", 4, "pyramid"),
    (r"(src|include/oriel)/nn[/.].*", 4, "nn"),
    (r"(src/c/.*|include/oriel/c\.h)", 4, "c"),
    (r"src/io/.*", 5, "io"),
    (r"(reference|cli|python|apps|bench|examples|tests|fuzz)/.*", 5, None),
]
# Floor 5: who may use which other part of floor 5. Everything else there meets only the floors below.
MAY_USE = {
    "cli": {"io", "reference"},  # `oriel check` compares with the reference
    "apps": {"io", "cli"},  # the program's progress, errors, JSON
    "tests": {"io", "cli", "python", "apps", "reference"},
    "reference": set(),
    "fuzz": {"io", "cli", "apps", "tests", "reference"},
}
# Wings of a part, lowest first; what lies beside the folders is above all.
WINGS = {
    "src/cpu": [
        {"runtime", "simd", "networks"},
        {"plan"},
        {"element"},
        {"lifted", "exact"},
        {"recipe"},
        {"long"},
        {"rows"},
        {
            "planes",
            "masked",
            "channels",
            "disjoint",
            "sliding",
            "argmax",
            "sum_gradient",
            "indexed",
        },
        {"box_gradient", "code_gradient"},
        {"rewrite"},
        {"gathered"},
        {"states", "tap_rows", "gathered_gradient"},
        {"order"},
        {"rank", "vote", "valid_blocks", "moments", "chords"},
        {"soft", "histogram"},
        {"widened"},
    ],
    "src/cuda": [
        {"device"},
    ],
    "src/nn": [
        {"weights", "network"},
        {"cpu", "cuda"},
    ],
    "apps/portrait": [
        {"image", "runtime"},
        {"matte"},
        {"chain"},
        {"segment", "video"},
        {"camera", "server", "compare"},
        {"commands"},
    ],
}
MOST_FILES = 15
# Folders in which files must not include each other in a circle.
WITHOUT_CIRCLES = ("src/io", "cli")
LIMITED = ("src/cpu", "apps/portrait")  # parts whose folders have at most so many
# Parts of the Python package (folders, and single modules that stand for one) and the parts that they may import; what
# is not listed is the package's own functions of arrays, which every part may import, and which import none of these.
PYTHON_PARTS = {
    "torch_threads": set(),
    "ranks": {"torch_threads"},
    "torch": {"torch_threads", "ranks"},
    "jax": set(),
    "keras": {"torch", "jax"},
    "mpi": {"ranks"},
    "onnx": set(),
    "tile": set(),
    "skimage": set(),
    "cv2": set(),
    "bottleneck": set(),
    "local": set(),
    "dask": set(),
    "xarray": {"dask"},
}
SUFFIXES = {".h", ".cc", ".inl", ".def", ".cu", ".cuh", ".hpp", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def part_of(path):
    """The (floor, part) of a file, or None for a file that no rule places."""
    for pattern, floor, part in PARTS:
        if re.fullmatch(pattern, path):
            if part is None:
                pieces = path.split("/")
                part = (
                    pieces[0]
                    if floor == 5
                    else Path(pieces[-1]).stem
                    if pieces[0] == "include"
                    else pieces[1]
                )
            return floor, part
    return None


def resolve(root, file, name):
    """The path, relative to the root, that `#include "name"` in `file` means; None when it is not ours."""
    for folder in (
        file.parent,
        root / "include",
        root / "src",
        root,
        root / "tests",
        root / "cli",
    ):
        candidate = (folder / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return None


def wing_of(path):
    """The (part, floor, wing) of a file of a part with wings: wing "" is above all, floor -1: no row has it. None elsewhere."""
    for part, floors in WINGS.items():
        if not path.startswith(f"{part}/"):
            continue
        wing, *inside = path.removeprefix(f"{part}/").split("/")
        if not inside:
            return part, len(floors), ""
        return (
            part,
            next((i for i, wings in enumerate(floors) if wing in wings), -1),
            wing,
        )
    return None


def wing_allows(path, target):
    """Whether a file of a wing may include another one: its own wing's, or one of a lower wing."""
    here, there = wing_of(path), wing_of(target)
    return (
        not here
        or not there
        or here[0] != there[0]
        or here[2] == there[2]
        or here[1] > there[1]
    )


def full_folders(root):
    """Folders of the parts in LIMITED that have more than MOST_FILES files."""
    for folder in sorted(
        {
            p.parent
            for part in LIMITED
            for p in (root / part).rglob("*")
            if p.suffix in SUFFIXES
        }
    ):
        count = sum(p.suffix in SUFFIXES for p in folder.iterdir())
        if count > MOST_FILES:
            yield f"{folder.relative_to(root).as_posix()}: {count} files; allowed: {MOST_FILES}"


def circles(root):
    """Includes of WITHOUT_CIRCLES by which a file includes itself; x.h and x.cc are one file, x."""
    for top in WITHOUT_CIRCLES:
        includes = {}  # of files without their endings
        for file in sorted(p for p in (root / top).rglob("*") if p.suffix in SUFFIXES):
            found = (
                resolve(root, file, m[1])
                for m in INCLUDE.finditer(file.read_text(encoding="utf-8"))
            )
            for target in filter(None, found):
                path = file.relative_to(root)
                edges = includes.setdefault(path.with_suffix(""), {})
                edges.setdefault(Path(target).with_suffix(""), path)
        for here, edges in includes.items():
            for target, path in edges.items():
                reached, new = set(), {target} - {here}
                while new:
                    reached |= new
                    new = {
                        name for at in new for name in includes.get(at, {})
                    } - reached
                if here in reached:
                    yield f"{path.as_posix()}: includes {target.as_posix()}, which includes {here.as_posix()} by way of others"


def blind_conditions(root):
    """Files whose conditions on instruction sets the preprocessor would take for false without a word."""
    for file in sorted(p for p in (root / "src").rglob("*") if p.suffix in SUFFIXES):
        text = file.read_text(encoding="utf-8")
        path = file.relative_to(root).as_posix()
        if path == "src/instruction_set.h":
            continue
        if re.search(r"\bORIEL_(AVX|NEON|HALF|PLANES)", text) and '#include "instruction_set.h"' not in text:
            yield f"{path}: uses names of instruction_set.h, but does not include it"
        if re.search(r"\bHWY_AVX(2|3\w*|10\w*)\b", text):
            yield f"{path}: asks for an instruction set by Highway's name; newer Highways have more: instruction_set.h"


def allowed(includer, included, included_path):
    (floor, part), (other_floor, other) = includer, included
    if part == other:
        return True
    if floor == other_floor:
        return floor == 5 and other in MAY_USE.get(part, set())
    if (part, other) == ("nn", "cuda") and "/cuda/device/" not in included_path:
        return (
            False  # networks share with the pools of CUDA devices what knows of no pool
        )
    if part == "reference" and (
        other_floor > 1 or included_path == "include/oriel/window.h"
    ):
        return False  # the reference shares with what it judges types, tensors and problems, but no geometry
    return floor > other_floor


def violations(root):
    root = root.resolve()
    for top in (
        "include",
        "src",
        "reference",
        "cli",
        "python",
        "apps",
        "bench",
        "examples",
        "tests",
        "fuzz",
    ):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            path = file.relative_to(root).as_posix()
            here = part_of(path)
            if here is None:
                yield f"{path}: no rule in check_floors.py says on which floor this file is"
                continue
            if (wing_of(path) or ("", 0))[1] < 0:
                yield f"{path}: no row of WINGS in check_floors.py says on which floor this wing is"
            text = file.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                name = match[1]
                target = resolve(root, file, name)
                if target is None:
                    if name.startswith("oriel/"):
                        yield f"{path}: includes {name}, which does not exist"
                    continue
                there = part_of(target)
                if there is None:
                    yield f"{target}: no rule in check_floors.py says on which floor this file is"
                elif not wing_allows(path, target):
                    line = text.count("\n", 0, match.start()) + 1
                    yield f"{path}:{line}: includes {target}, of a wing that is not below its own"
                elif not allowed(here, there, target):
                    line = text.count("\n", 0, match.start()) + 1
                    yield f"{path}:{line}: {here[1]} (floor {here[0]}) includes {target}: {there[1]} (floor {there[0]})"


def imported_parts(text):
    """(line, part) of every import of the package `oriel` in a module's text."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            pieces = name.split(".")
            if pieces[0] == "oriel" and len(pieces) > 1:
                yield node.lineno, pieces[1]


def python_violations(root):
    package = root / "python" / "oriel"
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(root).as_posix()
        here = file.relative_to(package).with_suffix("").parts[0]
        for line, part in imported_parts(file.read_text(encoding="utf-8")):
            if (
                part in PYTHON_PARTS
                and part != here
                and part not in PYTHON_PARTS.get(here, set())
            ):
                yield f"{path}:{line}: {here} imports oriel.{part}; allowed: {', '.join(sorted(PYTHON_PARTS.get(here, set()))) or 'none'}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    found = [
        *violations(root),
        *full_folders(root),
        *circles(root),
        *blind_conditions(root),
        *python_violations(root),
    ]
    for line in found:
        print(line)
    if found:
        print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
