"""`oriel pool` on files larger than memory: HDF5 datasets and .npy files in blocks. The bits are those of one call."""

import json
import resource
import signal
import subprocess
import sys
import time

import h5py
import ml_dtypes
import numpy as np
import pytest

from conftest import COMMAND

DTYPES = ["f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]
SMALL = "44MiB"  # the command itself, its libraries and what the pool takes are some 36


def sample(shape, dtype="f4", seed=0):
    return (100 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def save(path, **datasets):
    with h5py.File(path, "w") as file:
        for name, (values, options) in datasets.items():
            file.create_dataset(name, data=values, **options)


def load(path, name):
    with h5py.File(path) as file:
        return file[name][()]


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def whole_call(oriel, tmp_path, x, *options):
    """What the call without blocks gives."""
    np.save(tmp_path / "whole.npy", x)
    oriel("pool", "whole.npy", "whole_y.npy", *options)
    return np.load(tmp_path / "whole_y.npy")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(oriel, tmp_path, dtype):
    x = sample((9, 8, 7), dtype)
    save(tmp_path / "x.h5", x=(x, {}))
    oriel("pool", "x.h5:/x", "y.h5:/y", "--kernel", "2x2x2")
    same(load(tmp_path / "y.h5", "y"), whole_call(oriel, tmp_path, x, "--kernel", "2x2x2"))


def test_bf16(oriel, tmp_path):
    x = sample((64, 64), "f4").astype(ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.h5:/y", "-k", 1, "--dtype", "bf16")
    oriel("pool", "y.h5:/y", "z.npy", "-k", 2)
    same(np.load(tmp_path / "z.npy"), whole_call(oriel, tmp_path, x, "-k", 2, "--dtype", "bf16"))


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">u8"])
def test_big_endian(oriel, tmp_path, dtype):
    x = sample((6, 6), "i4").astype(dtype)
    save(tmp_path / "x.h5", x=(x, {}))
    oriel("pool", "x.h5:/x", "y.npy", "-k", 2)
    same(np.load(tmp_path / "y.npy"), whole_call(oriel, tmp_path, x, "-k", 2))


@pytest.mark.parametrize("layout", [{}, {"chunks": (5, 7, 6)}, {"chunks": (8, 8, 8), "compression": "gzip", "shuffle": True},
                                    {"chunks": (4, 24, 26), "maxshape": (None, 24, 26)}])
def test_layouts(oriel, tmp_path, layout):
    x = sample((22, 24, 26))
    save(tmp_path / "x.h5", x=(x, layout))
    options = ["--op", "avg", "--kernel", "3x2x5", "--stride", "2", "--padding", "1x1x2", "--exclude-pad"]
    oriel("pool", "x.h5", "y.h5:deep/er/y", *options)
    same(load(tmp_path / "y.h5", "deep/er/y"), whole_call(oriel, tmp_path, x, *options))
    with h5py.File(tmp_path / "y.h5") as file:
        assert (file["deep/er/y"].chunks is None) == (layout == {})
        assert file["deep/er/y"].attrs["oriel_problem"] == "avg:f32:22x24x26:k3x2x5s2p1x1x2:exclude"


# A volume of 24 MiB, in 40 MiB of which the program takes most; each of these goes in many blocks.
@pytest.mark.parametrize("options", [
    ["--op", "avg", "--kernel", "2x2x2"],
    ["--op", "max", "--kernel", "3x3x3", "--stride", "2", "--padding", "1", "--ceil"],
    ["--op", "sum", "--kernel", "5x4x3", "--stride", "1x3x2", "--padding", "same"],
    ["--op", "avg", "--kernel", "2x2x2", "--padding", "3x0x1", "--dilation", "3", "--exclude-pad"],
    ["--op", "min", "--output-size", "7x33x50"],
    ["--op", "lp", "--kernel", "31x1x1", "--stride", "1"],
])
def test_blocks_give_the_bits_of_one_call(oriel, tmp_path, options):
    x = sample((240, 161, 162))
    x[3, 5, 7] = np.nan
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "f.npy", np.asfortranarray(x))
    save(tmp_path / "x.h5", x=(x, {"chunks": (32, 32, 32)}))
    wanted = whole_call(oriel, tmp_path, x, *options)
    for name in ["x.npy", "f.npy", "x.h5"]:
        report = json.loads(oriel("pool", name, "y.npy", *options, "--memory", SMALL, "--json").stdout)
        assert report["blocks"] > 2
        same(np.load(tmp_path / "y.npy"), wanted)
        oriel("pool", name, "y.h5:/y", *options, "--memory", SMALL)
        same(load(tmp_path / "y.h5", "y"), wanted)


def test_windows_without_taps(oriel, tmp_path):
    x = sample((5, 6), "i4")
    options = ["--op", "max", "-k", 2, "-s", 1, "-p", 9]
    wanted = whole_call(oriel, tmp_path, x, *options)
    assert wanted[0, 0] == np.iinfo("i4").min
    oriel("pool", "whole.npy", "y.npy", *options, "--memory", "1GiB", "--indices", "i.npy")
    same(np.load(tmp_path / "y.npy"), wanted)
    assert np.load(tmp_path / "i.npy")[0, 0] == -1


@pytest.mark.parametrize("space", ["plane", "tensor"])
def test_indices(oriel, tmp_path, space):
    x = sample((3, 700, 800))
    options = ["-k", "3x3", "-s", 2, "-p", 1, "--axes", "1,2", "--indices"]
    whole_call(oriel, tmp_path, x, *options, "whole_i.npy", "--index-space", space)
    oriel("pool", "whole.npy", "y.h5:/y", *options, "i.h5:/i", "--index-space", space, "--memory", SMALL)
    report = json.loads(oriel("pool", "whole.npy", "y", *options, "i.h5:/i", "--index-space", space, "--memory", SMALL,
                              "--format", "npy", "--json").stdout)
    assert report["indices"] == "i.h5:/i" and report["index_space"] == space
    same(np.load(tmp_path / "y"), np.load(tmp_path / "whole_y.npy"))
    same(load(tmp_path / "i.h5", "i"), np.load(tmp_path / "whole_i.npy"))
    same(load(tmp_path / "y.h5", "y"), np.load(tmp_path / "whole_y.npy"))


def test_the_bytes_of_the_file_do_not_depend_on_the_memory(oriel, tmp_path):
    x = sample((64, 128, 128))
    save(tmp_path / "x.h5", x=(x, {"chunks": (16, 64, 64)}))
    files = []
    for memory in ["1GiB", "48MiB", SMALL]:
        oriel("pool", "x.h5", f"y{memory}.h5:/y", "--op", "avg", "-k", "2x2x2", "--memory", memory)
        files.append((tmp_path / f"y{memory}.h5").read_bytes())
    assert files[0] == files[1] == files[2]


def test_other_datasets_stay(oriel, tmp_path):
    x = sample((512, 1024))
    save(tmp_path / "x.h5", x=(x, {}), other=(np.arange(5), {}))
    oriel("pool", "x.h5:/x", "x.h5:/small/y", "-k", 2)  # into its own file
    same(load(tmp_path / "x.h5", "x"), x)
    same(load(tmp_path / "x.h5", "other"), np.arange(5))
    same(load(tmp_path / "x.h5", "small/y"), whole_call(oriel, tmp_path, x, "-k", 2))
    size = (tmp_path / "x.h5").stat().st_size
    for _ in range(3):  # replaced in its own place
        oriel("pool", "x.h5:/x", "x.h5:/small/y", "-k", 2, "--op", "min")
    same(load(tmp_path / "x.h5", "small/y"), whole_call(oriel, tmp_path, x, "-k", 2, "--op", "min"))
    assert (tmp_path / "x.h5").stat().st_size < size + 3 * 5000  # 4 KiB for the attribute's text each time
    oriel("pool", "x.h5:/x", "x.h5:/x", "-k", 2, "--replace-input")  # even itself
    same(load(tmp_path / "x.h5", "x"), whole_call(oriel, tmp_path, x, "-k", 2))


def test_attributes(oriel, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        x = file.create_dataset("x", data=sample((8, 8)))
        x.attrs.update({"units": "mm", "spacing": [1.0, 2.0], "empty": h5py.Empty("f4"), "n": np.int16(3)})
        x.attrs["words"] = ["a", "bc"]
        x.attrs["ref"] = x.ref
        x.dims[0].label = "z"
        file["scale"] = np.arange(8.0)
        file["scale"].make_scale("z")
        x.dims[0].attach_scale(file["scale"])
    oriel("pool", "x.h5:/x", "y.h5:/y", "-k", 2)
    with h5py.File(tmp_path / "y.h5") as file:
        found = file["y"].attrs
        assert found["units"] == "mm" and found["spacing"].tolist() == [1, 2] and found["n"] == 3
        assert list(found["words"]) == ["a", "bc"] and isinstance(found["empty"], h5py.Empty)
        assert sorted(found) == ["DIMENSION_LABELS", "empty", "n", "oriel_problem", "spacing", "units", "words"]


def test_chunks_follow_the_input(oriel, tmp_path):
    save(tmp_path / "x.h5", x=(sample((256, 256, 256), "u1"), {"chunks": (128, 128, 128)}),
         thin=(sample((4, 4000), "u1"), {"chunks": (1, 10)}))
    oriel("pool", "x.h5:/x", "y.h5:/y", "-k", "2x2x2")
    oriel("pool", "x.h5:/thin", "y.h5:/thin", "-k", "1x2")
    with h5py.File(tmp_path / "y.h5") as file:
        assert file["y"].chunks == (64, 64, 64)
        assert file["thin"].chunks == (4, 2000)  # not thousands of chunks of five bytes


@pytest.mark.parametrize("shape", [(0, 6, 6), (3, 0, 6, 6)])
def test_empty(oriel, tmp_path, shape):
    save(tmp_path / "x.h5", x=(np.zeros(shape, "f4"), {}))
    oriel("pool", "x.h5", "y.h5:/y", "-k", 2, "--axes", "-2,-1")
    assert load(tmp_path / "y.h5", "y").shape == shape[:-2] + (3, 3)


def test_pictures_become_datasets(oriel, tmp_path):
    x = sample((6, 6), "u1")
    np.savez(tmp_path / "x.npz", x)
    oriel("pool", "x.npz", "y.h5:/y", "-k", 2)
    same(load(tmp_path / "y.h5", "y"), whole_call(oriel, tmp_path, x, "-k", 2))


# A process begins with its parent's peak, so a small one starts the command.
PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); " \
       "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def peak_of(tmp_path, *arguments):
    """Bytes that the command held at most."""
    command = [sys.executable, "-I", "-S", "-c", PEAK, COMMAND, *map(str, arguments)]
    return 1024 * int(subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.parametrize("name", ["x.npy", "x.h5"])
@pytest.mark.parametrize("options", [["--op", "avg", "--kernel", "2x2x2"],
                                     ["--op", "max", "--kernel", "9x9x9", "--stride", "3"]])
def test_memory_is_bounded(tmp_path, name, options):
    """256 MiB pass through 100 MiB: the peak of the resident set, as the system counts it."""
    shape = (256, 512, 512)
    if name == "x.npy":
        np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f4", shape)[::100] = 1
    else:
        with h5py.File(tmp_path / "x.h5", "w") as file:
            x = file.create_dataset("x", shape, "f4", chunks=(64, 64, 64), compression="gzip", compression_opts=1)
            x[:64] = np.ones((64, 512, 512), "f4")  # the others are not stored; reading fills them
    peak = peak_of(tmp_path, "pool", name, "y.npy", *options, "--memory", "100MiB")
    assert peak < 100 << 20, f"{peak / (1 << 20):.0f} MiB"
    assert (tmp_path / "y.npy").stat().st_size > 1 << 20


@pytest.mark.parametrize("out", ["y.npy", "y.h5:/y"])
def test_a_killed_call_leaves_what_was_there(tmp_path, out):
    np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f4", (256, 512, 512))
    file = tmp_path / out.split(":")[0]
    save(tmp_path / "y.h5", old=(np.arange(5), {}))
    np.save(tmp_path / "y.npy", np.arange(5))
    before = file.read_bytes()
    for wanted in [signal.SIGKILL, signal.SIGTERM]:
        process = subprocess.Popen([COMMAND, "pool", "x.npy", out, "-k", "9x9x9", "-s", "1", "--memory", "60MiB"],
                                   cwd=tmp_path, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (begun := [p for p in tmp_path.iterdir() if p.name.endswith(".tmp")]) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        assert begun and process.poll() is None  # in the middle
        process.send_signal(wanted)
        process.wait()
        assert file.read_bytes() == before
        for path in begun:  # SIGKILL gives no chance to remove it
            assert path.exists() == (wanted == signal.SIGKILL)
            path.unlink(missing_ok=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "y.h5", "y.npy"]


def test_progress(oriel, tmp_path):
    np.save(tmp_path / "x.npy", sample((160, 161, 162)))
    text = oriel("pool", "x.npy", "y.npy", "-k", "2x2x2", "--memory", SMALL, "--progress").stderr.decode()
    assert text.startswith("oriel pool: ") and text.count("\n") >= 1
    assert oriel("pool", "x.npy", "y.npy", "-k", "2x2x2", "--memory", SMALL).stderr == b""


@pytest.fixture
def volume(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["data"] = sample((16, 16, 16))
        file["raw/complex"] = np.zeros((4, 4), "c8")
        file["raw/text"] = "words"
        file["scalar"] = 3.0
    (tmp_path / "no.h5").write_bytes(b"no HDF5 at all")
    np.save(tmp_path / "x.npy", sample((8, 8)))


@pytest.mark.parametrize("code, arguments, wanted", [
    (1, ["v.h5:/dta", "y.npy"], "v.h5: has no dataset '/dta'; allowed: /data, /raw/complex, /raw/text, /scalar"),
    (1, ["v.h5:/data/x", "y.npy"], "v.h5: has no dataset '/data/x'; allowed: /data"),
    (1, ["v.h5:/raw", "y.npy"], "v.h5: '/raw' is a group, not a dataset; allowed: /data"),
    (1, ["v.h5:/", "y.npy"], "v.h5: '/' is a group, not a dataset"),
    (1, ["v.h5", "y.npy"], "v.h5: which dataset is meant? Use v.h5:/NAME; allowed: /data"),
    (1, ["v.h5:/raw/complex", "y.npy"], "v.h5:/raw/complex: holds compounds (complex numbers, records); allowed: f64 f32"),
    (1, ["v.h5:/raw/text", "y.npy"], "v.h5:/raw/text: holds strings; allowed: f64"),
    (2, ["v.h5:/scalar", "y.npy"], "v.h5:/scalar: "),
    (2, ["v.h5:/data", "y.npy", "-k", "2x2x2x2"], "v.h5:/data: "),
    (2, ["v.h5:/data", "y.npy", "-k", "99"], "v.h5:/data: "),
    (1, ["v.h5:/data", "y.npy", "--dtype", "f64"], "v.h5:/data: the dataset holds f32, but f64 was requested; allowed: f32"),
    (1, ["none.h5:/data", "y.npy"], "none.h5: cannot open: No such file or directory"),
    (1, ["no.h5:/data", "y.npy"], "no.h5: not an HDF5 file, or cut off"),
    (1, ["v.h5:/data", "no.h5:/y"], "no.h5: not an HDF5 file, or cut off"),
    (1, ["v.h5:/data", "v.h5:/raw"], "v.h5: '/raw' is a group; allowed: a name that is free"),
    (1, ["v.h5:/data", "v.h5:/data/y"], "v.h5: '/data/y' leads through something that is not a group; allowed"),
    (1, ["v.h5:/data", "none/y.h5:/y"], "none/y.h5: cannot write here: No such file or directory"),
    (2, ["v.h5:/data", "y.png"], "OUT: 'y.png' cannot be written in parts, as HDF5, Zarr, NIfTI, precomputed and TIFF volumes, --memory and mpirun need; allowed: .npy"),
    (2, ["v.h5:/data", "y", "--format", "png"], "--format: 'png' cannot be written in parts, as HDF5, Zarr, NIfTI, precomputed and TIFF volumes"),
    (2, ["v.h5:/data", "-"], "OUT: '-' cannot be written in parts"),
    (2, ["x.npy", "y.npy", "--memory", "1 potato"], "--memory: '1 potato' is not understood; allowed: bytes such as 512MiB"),
    (2, ["x.npy", "y.npy", "--memory", "-1"], "--memory: '-1' is not understood"),
    (1, ["x.npy", "y.npy", "--memory", "1MiB"], "--memory: 1 MiB do not suffice: one result needs 4 inputs at once, 20 bytes"),
    (2, ["v.h5:/data", "y.h5:/a", "--indices", "./y.h5:a"], "--indices: './y.h5:a' is OUT too; allowed: another file or another name in it"),
    (2, ["x.npy", "/dev/full", "--memory", "1GiB"], "OUT: '/dev/full' cannot be written in parts"),
])
def test_bad_input(refusal, volume, code, arguments, wanted):
    more = [] if "-k" in arguments else ["-k", "2"]
    assert refusal("pool", *arguments, *more, code=code).startswith("oriel pool: " + wanted)


def test_a_whole_volume_for_one_result_needs_its_memory(refusal, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((400, 400, 100), "f4"))
    text = refusal("pool", "x.npy", "y.npy", "--global", "--axes", "0,1,2", "--memory", "60MiB")
    assert text.startswith("oriel pool: --memory: 60 MiB do not suffice: one result needs 16000000 inputs at once, 64000004 bytes")
    assert "allowed: at least " in text and text.endswith("MiB")


def test_a_full_disk(refusal, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((64, 64, 64), "f4"))
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))  # noqa: E731
    for out in ["y.npy", "y.h5:/y"]:
        text = refusal("pool", "x.npy", out, "-k", "2x2x1", "--memory", "1GiB", preexec_fn=limit)
        assert text.startswith(f"oriel pool: {out}: cannot ") or text.startswith("oriel pool: y.h5:/y: ")
