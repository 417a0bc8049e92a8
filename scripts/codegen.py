#!/usr/bin/env python3
"""Counts the machine code of the CPU backend, by source file and instruction set, and holds it against bench/codegen.txt.

Usage: codegen.py BUILD [--write] [--against OTHER] [--has TARGET]. BUILD is a folder made by the release preset. It is the only repeatable
guard of AVX-512's kernels, which valgrind does not know. For each pair of a file and an instruction set: instructions,
moves of vectors to or from the stack (spilled, mostly), and calls. Ends with 1 if one of these grew by more than 3 %
and 40, and with 77 if the compiler is another one than the file's. --write writes the file again. --against lists the
functions whose code is not found in another build: none, if files were only moved. --has: each file of a build for one
instruction set holds at least half of the code that codegen.txt says of TARGET (scripts/new_highway.sh).
"""

import argparse
import hashlib
import re
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "bench" / "codegen.txt"
OTHER_COMPILER = 77
MORE = 1.03
FEW = 40
KINDS = ("instructions", "spills", "calls")

FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
TARGET = re.compile(r"\bN_(\w+?)::")


def objects(build, source=ROOT):
    """The backend's object files, by the name of their source in `source`."""
    folder = Path(build) / "src" / "CMakeFiles" / "oriel.dir" / "cpu"
    names = (
        str(p.relative_to(folder))[: -len(".cc.o")]
        for p in sorted(folder.rglob("*.cc.o"))
    )
    # An object whose source has been moved away may still lie there.
    return {
        name: folder / f"{name}.cc.o"
        for name in names
        if (source / "src" / "cpu" / f"{name}.cc").exists()
    }


def functions(path):
    """(name, lines of (address, mnemonic, operands)) of an object file."""
    text = subprocess.run(
        ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", "--section-headers", str(path)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    name, lines = None, []
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            if name:
                yield name, lines
            name, lines = match[2], []
        elif name and (match := LINE.match(line)):
            lines.append((int(match[1], 16), match[2], match[3]))
    if name:
        yield name, lines


def is_padding(line):
    """Whether it only fills the place between functions, or before loops."""
    _, mnemonic, operands = line
    return (
        mnemonic.startswith(("nop", "data16", "cs"))
        or operands.startswith("%cs:")
        or (mnemonic, operands) == ("xchg", "%ax,%ax")
    )


def count(path):
    """instruction set -> Counter of KINDS."""
    counts = defaultdict(Counter)
    for name, lines in functions(path):
        target = TARGET.search(name)
        c = counts[target[1] if target else "any"]
        for _, mnemonic, operands in (line for line in lines if not is_padding(line)):
            c["instructions"] += 1
            c["calls"] += mnemonic == "call"
            c["spills"] += (
                mnemonic.startswith(("vmov", "mov"))
                and "(%rsp" in operands
                and "mm" in operands
            )
    return counts


def code_of(name, lines):
    """A hash of a function's code, wherever it lies and whatever it calls is called."""
    lines = [line for line in lines if not is_padding(line)]
    number = {address: i for i, (address, _, _) in enumerate(lines)}
    digest = hashlib.sha256()
    for _, mnemonic, operands in lines:
        if match := re.match(r"([0-9a-f]+) <", operands):  # a jump, or a call
            operands = (
                str(number.get(int(match[1], 16), "outside"))
                if mnemonic != "call"
                else ""
            )
        digest.update(
            f"{mnemonic} {re.sub('<.*>', '', re.sub('-?0x[0-9a-f]+[(]%rip[)].*', '(%rip)', operands))}\n".encode()
        )
    return digest.hexdigest()


def cached(build, name):
    """A variable of a build's CMakeCache.txt."""
    for line in (Path(build) / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.split("=", 1)[1]
    sys.exit(f"{build}: no {name} in CMakeCache.txt")


def source_of(build):
    return Path(cached(build, "CMAKE_HOME_DIRECTORY"))


def compiler_of(build):
    command = cached(build, "CMAKE_CXX_COMPILER")
    return subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]


def in_parallel(work, paths):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, paths))


def compare(build, other):
    """Functions of one build whose code the other one does not have."""

    def codes(path):
        return [(name, code_of(name, lines)) for name, lines in functions(path)]

    theirs = Counter(
        code
        for some in in_parallel(codes, objects(other, source_of(other)).values())
        for _, code in some
    )
    missing = 0
    for file, some in zip(objects(build), in_parallel(codes, objects(build).values())):
        for name, code in some:
            if theirs[code] > 0:
                theirs[code] -= 1
                continue
            missing += 1
            print(f"{file}: {name}")
    print(f"codegen: the code of {missing} functions is not in {other}")
    return 1 if missing else 0


def read_budget():
    """(file, instruction set) -> numbers of KINDS."""
    budget = {}
    for line in BUDGET.read_text().splitlines()[2:]:
        file, target, *numbers = line.split()
        budget[file, target] = tuple(map(int, numbers))
    return budget


def lacks_kernels(build, target):
    """Whether files of a build for one instruction set lack code that they have for `target` elsewhere."""
    files = objects(build)
    held = dict(zip(files, in_parallel(count, files.values())))
    bad = 0
    for (file, of), numbers in sorted(read_budget().items()):
        if of != target:
            continue
        sets = {name: c["instructions"] for name, c in held[file].items() if name != "any"}
        if max(sets.values(), default=0) < numbers[0] // 2:
            print(f"{file}: {target} has {numbers[0]} instructions elsewhere, but here {sets or 'none'}")
            bad += 1
    print(f"codegen: {bad} files of {build} lack kernels of {target}")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--write", action="store_true", help="write bench/codegen.txt")
    parser.add_argument(
        "--against",
        metavar="OTHER",
        help="list functions whose code is not in another build",
    )
    parser.add_argument(
        "--has", metavar="TARGET", help="whether a build for one instruction set has TARGET's kernels"
    )
    arguments = parser.parse_args()
    if arguments.has:
        return lacks_kernels(arguments.build, arguments.has)
    if arguments.against:
        return compare(arguments.build, arguments.against)
    compiler = compiler_of(arguments.build)
    lines = BUDGET.read_text().splitlines() if BUDGET.exists() else []
    if not arguments.write and lines[0] != f"# {compiler}":
        print(
            f"SKIPPED [1] codegen: {compiler} is not the compiler of {BUDGET.name}, {lines[0][2:]}"
        )
        return OTHER_COMPILER
    files = objects(arguments.build)
    counted = {
        (file, target): tuple(c[kind] for kind in KINDS)
        for file, counts in zip(files, in_parallel(count, files.values()))
        for target, c in sorted(counts.items())
    }
    total = Counter(
        {
            kind: sum(numbers[i] for numbers in counted.values())
            for i, kind in enumerate(KINDS)
        }
    )
    if arguments.write:
        rows = [
            f"{file} {target} {' '.join(map(str, numbers))}"
            for (file, target), numbers in sorted(counted.items())
        ]
        BUDGET.write_text(
            "\n".join(
                [f"# {compiler}", f"# file, instruction set, {', '.join(KINDS)}", *rows]
            )
            + "\n"
        )
        return 0
    budget = read_budget()
    bad = 0
    for key in sorted(counted.keys() | budget.keys()):
        now, before = counted.get(key), budget.get(key)
        if now is None or before is None:
            print(f"{' '.join(key)}: {'is gone' if now is None else 'is new'}")
            bad += 1
            continue
        for kind, n, b in zip(KINDS, now, before):
            if n > max(b * MORE, b + FEW):
                print(f"{' '.join(key)}: {n} {kind}, {b} before")
                bad += 1
    print(
        f"codegen: {total['instructions']:,} instructions, {total['spills']:,} moves of vectors to and from the stack"
    )
    if bad:
        print(
            f"codegen: {bad} differ; if that is right, scripts/codegen.py BUILD --write and say why in the commit"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
