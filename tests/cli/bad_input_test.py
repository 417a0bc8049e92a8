"""Bad files and bad command lines: one line on stderr that says what, the value and what is allowed; the right exit
code; no file left behind."""

import os
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import COMMAND

DICT = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"


def npy(dict_text, data=b"", version=1, length=None):
    header = dict_text.encode("latin1")
    size = (len(header) if length is None else length).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + data


@pytest.fixture
def x(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(256, dtype="f4").reshape(2, 2, 8, 8))


@pytest.mark.parametrize(
    "content, wanted",
    [
        (b"", "x.npy: the file is empty"),
        (b"hello, this is no array", "x.npy: not a .npy file"),
        (npy(DICT % ("<f4", "(2, 2)"), bytes(15)), "x.npy: the .npy file is cut off: shape 2x2 of f32 needs 16 bytes of data, but there are 15"),
        (npy(DICT % ("<f4", "(2, 2)"), bytes(17)), "x.npy: the .npy file is too long"),
        (npy(DICT % ("<f4", "(2, 2)"))[:30], "x.npy: the .npy file is cut off: the header needs"),
        (npy(DICT % ("|O", "(2, 2)"), bytes(32)), "has dtype '|O', Python objects; allowed: f8 f4 f2"),
        (npy(DICT % ("<c16", "(2, 2)"), bytes(64)), "has dtype '<c16'; allowed: f8 f4 f2"),
        (npy(DICT % ("<V2", "(2, 2)"), bytes(8)), "may be bf16; --dtype bf16 reads it as such"),
        (npy(DICT % ("<f4", "(-2, 2)"), bytes(16)), "has the extent '-2'; allowed: >= 0"),
        (npy(DICT % ("<f4", "(4611686018427387904, 4)"), bytes(16)), "allowed: at most 2^63 - 1 bytes"),
        (npy(DICT % ("<f4", "(99999999999999999999,)"), bytes(16)), "allowed: 0 to 2^63 - 1"),
        (npy("", b"", 2, 0xFFFFFFFF), "x.npy: the .npy header has 4294967295 bytes; allowed: at most 1048576"),
        (npy("__import__('os').system('touch pwned')", bytes(16)), "the .npy header needs '{' at byte 0"),
        (b"\x93NUMPY\x09\x00" + bytes(64), "x.npy: .npy version 9.0; allowed: 1.0, 2.0, 3.0"),
    ],
)
def test_npy_files(refusal, tmp_path, content, wanted):
    (tmp_path / "x.npy").write_bytes(content)
    text = refusal("pool", "x.npy", "y.npy", "-k", 2)
    assert text.startswith("oriel pool: x.npy: ") and wanted in text
    streamed = refusal("pool", "-", "y.npy", "-k", 2, input=content)
    assert streamed.startswith("oriel pool: standard input: ")


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.tif", "x.webp"])
def test_images_that_are_none(refusal, tmp_path, name):
    (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100) if name == "x.png" else b"no image" * 10)
    assert refusal("pool", name, "y.png", "-k", 2).startswith(f"oriel pool: {name}: ")


def test_other_files(refusal, tmp_path):
    assert "x.npy: cannot open: No such file or directory" in refusal("pool", "x.npy", "y.npy", "-k", 2)
    (tmp_path / "folder.npy").mkdir()
    assert "folder.npy: a folder; allowed: a file" in refusal("pool", "folder.npy", "y.npy", "-k", 2)
    (tmp_path / "x.npz").write_bytes(b"PK\x03\x04 and nothing")
    assert "x.npz: not an .npz archive that can be read" in refusal("pool", "x.npz", "y.npy", "-k", 2)
    np.savez(tmp_path / "a.npz", a=np.zeros(4))
    assert "a.npz: no array 'b'; there are: a" in refusal("pool", "a.npz:b", "y.npy", "-k", 2)


@pytest.mark.parametrize(
    "options, wanted",
    [
        (["-k", "0"], "--kernel: must be >= 1, but has 0"),
        (["-k", "-1"], "--kernel: must be >= 1, but has -1"),
        (["-k", "3y3"], "--kernel: '3y3' is not understood; allowed: numbers such as 3 or 3x5"),
        (["-k", "99999999999999999999"], "--kernel: '99999999999999999999' is not understood"),
        (["-k", "2", "-s", "0"], "--stride: must be >= 1, but has 0"),
        (["-k", "2", "-p", "-1"], "--padding: must be >= 0, but has -1"),
        (["-k", "2", "-p", "full"], "--padding: 'full' is not understood; allowed: 1, 1x2, 0+1x2+3"),
        (["-k", "2", "-d", "0"], "--dilation: must be >= 1, but has 0"),
        (["-k", "2x2x2", "--axes", "1,2"], "kernel must have 1 value or one per pooled axis (2), but has 3"),
        (["-k", "2", "--axes", "2,-2"], "axes must each be named once, but 2 is named twice"),
        (["-k", "2", "--axes", "4"], "axes must be in -4 to 3, but one is 4"),
        (["-k", "9", "--axes", "2,3"], "the window must fit in the padded input, but on axis 2 it spans 9 and the padded input is 8"),
        (["-k", "3"], "but on axis 0 it spans 3 and the padded input is 2; no axes are named, so all 4 are pooled"),
        (["-k", "3x3"], "kernel must have 1 value or one per pooled axis (4), but has 2; no axes are named, so all 4 are pooled (axes -2, -1 are"),
        (["-k", "2", "-d", "9223372036854775807"], "must stay below 2^63 together"),
        (["-k", "2", "--op", "mean"], "--op: mean not in {max,min,avg,sum,lp,"),
        (["-k", "2", "--divisor", "3"], "divisor is only for avg_pool"),
        (["-k", "2", "--op", "avg", "--divisor", "0"], "--divisor: '0' is not understood; allowed: a whole number >= 1"),
        (["-k", "2", "--op", "lp", "--norm", "0.5"], "--norm: '0.5' is not understood; allowed: a number >= 1, or inf"),
        (["-k", "2", "--norm", "3"], "--norm: needs --op lp, but the op is max"),
        (["-k", "2", "--nan", "skip"], "--nan: skip not in {propagate,omit}"),
        (["-k", "2", "--op", "avg", "--indices", "i.npy"], "--indices: needs --op max, min, first, centre, median, quantile or mode, but the op is avg"),
        (["-k", "2", "--indices", "y.npy"], "--indices: 'y.npy' is OUT too"),
        (["-k", "2", "--indices", "i.xyz"], "i.xyz: the extension '.xyz' is unknown; allowed: .npy"),
        (["-k", "2", "--global"], "--kernel: cannot be combined with --global; allowed: one of them"),
        (["--output-size", "2", "-d", "2"], "--dilation: cannot be combined with --output-size; allowed: one of them"),
        (["--global", "--output-size", "2"], "--output-size: cannot be combined with --global; allowed: one of them"),
        (["-k", "2", "--dtype", "f31"], "--dtype: f31 not in {f64,f32,"),
        (["-k", "2", "-p", "1+2+3"], "--padding: '1+2+3' is not understood; allowed: 1, 1x2, 0+1x2+3"),
        ([], "--kernel: is required (e.g. 2 or 3x3) unless --output-size, --global or --footprint is given"),
        (["-k", "2", "--bogus"], "--bogus"),
        (["-k", "2", "--threads", "0"], "--threads"),
        (["-k"], "--kernel"),
    ],
)
def test_command_lines(refusal, x, options, wanted):
    text = refusal("pool", "x.npy", "y.npy", *options, code=2)
    assert text.startswith("oriel pool: ") and wanted in text


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        (["pol"], "oriel: 'pol' is not a subcommand; allowed: pool, pyramid, check, explain, bench, scale, tile, info, completion"),
        (["--bogus"], "oriel: "),
        (["pool"], "oriel pool: "),
        (["explain"], "oriel explain: "),
        (["explain", "max:f32:7"], "oriel explain: "),
        (["explain", "max:f32:7:k0"], "oriel explain: max_pool: kernel must be >= 1, but axis 0 has 0"),
        (["explain", "max:f32:7:k3", "--output", "9"], "oriel explain: --output: 9 along axis 0; allowed: 0 to 1"),
        (["check", "max:f33:7:k3"], "oriel check: "),
        (["bench", "max:f32:7:k3", "--repetitions", "0"], "oriel bench: "),
        (["completion", "tcsh"], "oriel completion: "),
    ],
)
def test_other_command_lines(refusal, arguments, wanted):
    assert refusal(*arguments, code=2).startswith(wanted)


def test_wrong_dtype(refusal, x):
    assert "the file holds f32, but bf16 was requested; allowed: f32" in refusal("pool", "x.npy", "y.npy", "-k", 2, "--dtype", "bf16")


def test_empty_pooled_axis(refusal, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 2, 0, 4), "f4"))
    assert "pooled axes must have extent >= 1, but axis 2 has 0" in refusal("pool", "x.npy", "y.npy", "-k", 2, code=2)


def test_what_a_picture_cannot_hold(refusal, x):
    assert "y.png: .png holds u8 or u16, but the result is f32" in refusal("pool", "x.npy", "y.png", "-k", 2)
    assert "y.xyz: the extension '.xyz' is unknown; allowed: .npy, .npz, .png" in refusal("pool", "x.npy", "y.xyz", "-k", 2, code=2)


def test_full_disk(refusal, x):
    assert refusal("pool", "x.npy", "/dev/full", "-k", 2, "--format", "npy") == "oriel pool: /dev/full: cannot write: No space left on device"


def test_full_disk_of_standard_output(x, tmp_path):
    for arguments in (["pool", "x.npy", "-", "-k", "2"], ["info"], ["explain", "max:f32:7:k3"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([COMMAND, *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1
        assert b"standard output: cannot write: No space left on device" in done.stderr


def test_a_file_beyond_the_limit(refusal, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((100, 100), "f8"))
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    text = refusal("pool", "x.npy", "y.npy", "-k", 2, preexec_fn=limit)
    assert text == "oriel pool: y.npy: cannot write: File too large"


def test_folders_that_cannot_be_written(refusal, x, tmp_path):
    assert "none/y.npy: cannot write here: No such file or directory" in refusal("pool", "x.npy", "none/y.npy", "-k", 2)
    assert "/proc/y.npy: cannot write here: " in refusal("pool", "x.npy", "/proc/y.npy", "-k", 2)
    if os.geteuid() != 0:  # root may write everywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        assert "cannot write here: Permission denied" in refusal("pool", "x.npy", "closed/y.npy", "-k", 2)


def test_failure_leaves_the_old_file(refusal, x, tmp_path):
    (tmp_path / "y.npy").write_bytes(b"old")
    (tmp_path / "bad.npy").write_bytes(b"bad")
    refusal("pool", "bad.npy", "y.npy", "-k", 2)
    refusal("pool", "x.npy", "y.npy", "-k", 2, "--indices", "none/i.npy")
    assert (tmp_path / "y.npy").read_bytes() == b"old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(x, tmp_path, number):
    os.mkfifo(tmp_path / "i.npy")  # nobody reads it: the command waits there, after it has begun OUT
    process = subprocess.Popen([COMMAND, "pool", "x.npy", "y.npy", "-k", "2", "--indices", "i.npy"], cwd=tmp_path)
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob(".y.npy.*.tmp")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(timeout=20) == -number
    assert sorted(p.name for p in tmp_path.iterdir()) == ["i.npy", "x.npy"]


def test_unknown_target(refusal):
    text = refusal("info", env={"ORIEL_TARGET": "AVX9000"})
    assert text.startswith("oriel info: ") and "AVX9000" in text
