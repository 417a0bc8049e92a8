#!/usr/bin/env python3
"""Counts the instructions of calls on 64-bit Arm (NEON, in qemu) beside those with AVX2 (valgrind).

Usage: arm_instructions.py ARM_BUILD BUILD [NAME...] [--page FILE]. ARM_BUILD is build-arm64, of scripts/portable.sh
arm64, and BUILD the release build. Without names, the problems of NAMES. qemu prints a line for each instruction that
it runs. --page writes the table between the markers of a page.
"""

import argparse
import pathlib
import subprocess
import sys

import callgrind
from marked_part import write_marked_parts

# Planes whose rows lie together, channels that stand last, and whole planes: small, as each instruction is printed.
NAMES = """
max:f32:1x8x112x112:k2x2
avg:f32:1x8x112x112:k2x2
max:f32:1x8x112x112:k3x3s2p1
avg:f32:1x8x112x112:k3x3s2p1
max:f32:1x8x112x112:k3x3s1p1
avg:f32:1x8x56x56:k3x3s1p1:exclude
max:f32:1x64x14x14:k3x3s1p1
avg:f32:1x64x14x14:k2x2
max:bf16:1x8x112x112:k3x3s2p1
max:u8:256x256:k3s1p1
max:f32:1x56x56x64:k3s2p1:axes1,2
avg:f32:1x56x56x64:k3s1p1:axes1,2
avg:f32:1x64x7x7:global:axes2,3
max:f32:256x256:k31s1p15
""".split()


def count_arm(build, name):
    """Instructions between the two marks of oriel_marked_call: qemu prints them among its lines, in their order."""
    program, root = str(build / "bin" / "oriel_marked_call"), build / "root"
    libraries = f"/usr/aarch64-linux-gnu/lib:{root}/usr/lib/aarch64-linux-gnu:{root}/lib/aarch64-linux-gnu"
    command = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={libraries}"]
    command += ["-E", "ORIEL_TARGET=NEON", "-singlestep", "-strace", "-d", "exec,nochain", program, name]
    marks, counted = 0, 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            if line.startswith(b"Trace "):
                counted += marks == 1
            elif b"getppid()" in line:
                marks += 1
    if process.returncode != 0 or marks != 2:
        sys.exit(f"arm_instructions: {name}: {program} ended with {process.returncode} after {marks} of 2 marks")
    return counted


def table(names, arm, avx2):
    lines = ["| problem | NEON | AVX2 | NEON / AVX2 |", "|---|---|---|---|"]
    for name in names:
        lines.append(f"| `{name}` | {arm[name]:,} | {avx2[name]:,} | {arm[name] / avx2[name]:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("arm_build", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--page", type=pathlib.Path)
    arguments = parser.parse_args()
    names = arguments.names or NAMES
    avx2 = callgrind.count(str(arguments.build / "bin" / "oriel_count_instructions"), names)
    arm = {name: count_arm(arguments.arm_build, name) for name in names}
    text = table(names, arm, avx2)
    print(text, end="")
    if arguments.page:
        write_marked_parts(arguments.page, {"arm": [text]})


if __name__ == "__main__":
    main()
