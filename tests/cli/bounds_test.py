"""What is read whole (pictures, archives, streams): refused by its first bytes or its header, before the rest is read."""

import io
import os
import resource
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

from conftest import COMMAND

# A process begins with its parent's peak, so a small one starts the command. Its code is printed, then the peak.
PEAK = "import resource, subprocess, sys; print(subprocess.run(sys.argv[1:], stdout=2).returncode); " \
       "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def peak_of(tmp_path, *arguments, code=0):
    """Bytes that the command held at most, and what it said."""
    words = [sys.executable, "-I", "-S", "-c", PEAK, COMMAND, *map(str, arguments)]
    done = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    returned, peak = map(int, done.stdout.split())
    assert returned == code, done.stderr
    return 1024 * peak, done.stderr.decode()


def header(shape, descr="<f4"):
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, {"descr": descr, "fortran_order": False, "shape": shape})
    return text.getvalue()


def png(width, height, rows=b"\0"):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def refused_while_open(tmp_path, data, *arguments):
    """What the command says of `data` on a pipe that never ends."""
    process = subprocess.Popen([COMMAND, "pool", "-", "y.npy", "-k", "2", *arguments], cwd=tmp_path, stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.stdin.write(data)
    process.stdin.flush()
    try:
        assert process.wait(timeout=60) == 1  # though there may be more to come
        return process.stderr.read().decode()
    finally:
        process.kill()
        process.wait()


KINDS = "allowed: PNG, JPEG, TIFF, WebP, .npy, .npz"


@pytest.mark.parametrize("data", [b"no format begins so", bytes(12), b"\x89PNG but not so", b"RIFF\1\0\0\0WAVE", b"P6 100 100 255"])
def test_unknown_bytes_are_refused_at_once(tmp_path, data):
    assert refused_while_open(tmp_path, data) == f"oriel pool: standard input: not an image that Oriel reads; {KINDS}\n"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("more", [[], ["--memory", "1GiB"]])
def test_devices_without_end(refusal, device, more):
    assert refusal("pool", device, "y.npy", "-k", 2, *more) == f"oriel pool: {device}: not an image that Oriel reads; {KINDS}"


def test_a_name_does_not_make_a_format(refusal, tmp_path):
    for ending, wanted in [("png", "not an image that Oriel reads"), ("npz", "not an .npz archive that can be read: it does not"),
                           ("npy", "not a .npy file: it does not begin with")]:
        link = tmp_path / f"x.{ending}"
        link.symlink_to("/dev/zero")
        assert refusal("pool", link.name, "y.npy", "-k", 2).startswith(f"oriel pool: {link.name}: {wanted}")
        link.unlink()


def test_a_pipe_gives_exactly_what_its_header_says(tmp_path):
    x = np.arange(6, dtype="f4")
    head = header((6,))
    text = refused_while_open(tmp_path, head + x.tobytes() + b"!")
    assert text == ("oriel pool: standard input: the .npy file is too long: shape 6 of f32 needs 24 bytes of data, but there are "
                    "more\n")
    done = subprocess.run([COMMAND, "pool", "-", "y.npy", "-k", "2"], cwd=tmp_path, input=head + x.tobytes()[:-3], capture_output=True)
    assert b"the .npy file is cut off: shape 6 of f32 needs 24 bytes of data, but there are 21" in done.stderr


@pytest.mark.parametrize("more, reason", [([], "three quarters of this machine's memory; --memory allows more"),
                                          (["--memory", "1GiB"], "what --memory leaves after the program's own ")])
def test_a_header_beyond_the_memory(tmp_path, more, reason):
    text = refused_while_open(tmp_path, header((1 << 20, 1 << 28)), *more)
    assert text.startswith("oriel pool: standard input: shape 1048576x268435456 of f32 takes 1073741824 MiB of memory; allowed: at most ")
    assert reason in text


def test_archives(tmp_path):
    """An array of 10^12 bytes, and one that is there: 400 MB in 0.4 MB of file."""
    with zipfile.ZipFile(tmp_path / "lies.npz", "w") as archive:
        archive.writestr("x.npy", header((10**12,), "|u1") + b"some")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w") as member:
            member.write(header((400, 1000, 1000), "|u1"))
            for _ in range(400):
                member.write(bytes(1000 * 1000))
    peak, text = peak_of(tmp_path, "pool", "lies.npz", "y.npy", "-k", 2, code=1)
    assert "lies.npz:x.npy: shape 1000000000000 of u8 takes 953675 MiB of memory; allowed: at most " in text
    peak, text = peak_of(tmp_path, "pool", "bomb.npz", "y.npy", "-k", 2, "--memory", "100MiB", code=1)
    assert "bomb.npz:x.npy: shape 400x1000x1000 of u8 takes 382 MiB of memory; allowed: at most " in text
    assert peak < 100 << 20
    peak, _ = peak_of(tmp_path, "pool", "bomb.npz", "y.npy", "-k", "8x8x8", "--memory", "500MiB")
    assert 400_000_000 < peak < 500 << 20


def test_pictures(tmp_path):
    (tmp_path / "huge.png").write_bytes(png(100_000, 100_000))
    peak, text = peak_of(tmp_path, "pool", "huge.png", "y.png", "-k", 2, "--memory", "1GiB", code=1)
    assert "huge.png: the image of 100000x100000 pixels takes " in text and "allowed: at most " in text
    assert peak < 100 << 20
    width, height = 4000, 3000
    (tmp_path / "x.png").write_bytes(png(width, height, bytes((1 + 3 * width) * height)))
    peak, _ = peak_of(tmp_path, "pool", "x.png", "y.png", "-k", 2, "--memory", "150MiB")
    assert 36_000_000 < peak < 150 << 20
    peak, text = peak_of(tmp_path, "pool", "x.png", "y.png", "-k", 2, "--memory", "80MiB", code=1)
    assert "x.png: the image of 4000x3000 pixels takes 69 MiB of memory" in text and peak < 80 << 20


def test_a_result_beyond_the_memory(refusal, tmp_path):
    (tmp_path / "x.png").write_bytes(png(100, 100, bytes(301 * 100)))
    text = refusal("pool", "x.png", "y.png", "-k", 2, "-s", 1, "-p", 100_000, "--memory", "100MiB")
    assert text.startswith("oriel pool: y.png: a result of shape ") and " MiB of memory; allowed: at most " in text


def test_the_limit_of_the_process_counts_as_the_machines(tmp_path):
    limit = 2 << 30
    done = subprocess.run([COMMAND, "pool", "-", "y.npy", "-k", "2"], cwd=tmp_path, input=header((1 << 29,)), capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), env=dict(os.environ))
    assert b"takes 2048 MiB of memory; allowed: at most 1536 MiB" in done.stderr, done.stderr
