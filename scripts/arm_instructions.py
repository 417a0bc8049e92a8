#!/usr/bin/env python3
"""Counts the instructions of calls on 64-bit Arm (NEON, in qemu) beside those with AVX2 (valgrind).

Usage: arm_instructions.py ARM_BUILD BUILD [NAME...] [--page FILE]. ARM_BUILD is build-arm64, of scripts/portable.sh
arm64, and BUILD the release build. Without names, the problems of NAMES. qemu prints a line for each instruction that
it runs; a call has those by which two calls differ from one. --page writes the table between the markers of a page.
"""

import argparse
import pathlib
import subprocess
import sys

import callgrind

BEGIN, END = "<!-- arm: begin -->\n", "<!-- arm: end -->\n"
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
max:f32:1x8x112x112:k3x3s2p1:codes
""".split()


def count_arm(build, name):
    program = str(build / "bin" / "oriel_repeated_calls")
    root = build / "root"
    emulator = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]
    libraries = f"{root}/usr/lib/aarch64-linux-gnu:{root}/lib/aarch64-linux-gnu"
    counts = []
    for calls in (1, 2):
        command = [*emulator, "-E", f"LD_LIBRARY_PATH={libraries}", "-E", "ORIEL_TARGET=NEON", "-singlestep"]
        command += ["-d", "exec,nochain", "-D", "/dev/stderr", program, name, str(calls)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            lines = 0
            while block := process.stderr.read(1 << 20):
                lines += block.count(b"Trace ")
        if process.returncode != 0:
            sys.exit(f"arm_instructions: {name}: {program} ended with {process.returncode}")
        counts.append(lines)
    return counts[1] - counts[0]


def table(names, arm, avx2):
    lines = ["| problem | NEON | AVX2 | NEON / AVX2 |", "|---|---|---|---|"]
    for name in names:
        lines.append(f"| `{name}` | {arm[name]:,} | {avx2[name]:,} | {arm[name] / avx2[name]:.2f} |")
    return "\n".join(lines) + "\n"


def write(page, text):
    whole = page.read_text()
    before, marker, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not marker or not end:
        sys.exit(f"arm_instructions: {page} has no markers {BEGIN.strip()} and {END.strip()}")
    unfinished = page.with_name(page.name + ".part")
    unfinished.write_text(before + marker + text + end + after)
    unfinished.rename(page)


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
        write(arguments.page, text)


if __name__ == "__main__":
    main()
