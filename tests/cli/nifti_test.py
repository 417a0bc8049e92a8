"""`oriel pool` on NIfTI files: what nibabel writes is read, nibabel reads what it writes, and voxels stay where they are."""

import gzip
import importlib.util
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
from conftest import COMMAND
from memory_test import PEAK

DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
COPY = ["--op", "max", "--kernel", "1"]
SHAPE = (13, 10, 7)
KINDS = {1: nibabel.Nifti1Image, 2: nibabel.Nifti2Image}
EXAMPLES = Path(nibabel.__file__).parent / "tests/data"


def sample(shape=SHAPE, dtype="i2", seed=0):
    x = 100 * np.random.default_rng(seed).standard_normal(shape)
    return x.astype(dtype) if np.dtype(dtype).kind == "f" else x.astype("i8").astype(dtype)


def save(path, x, version=1, affine=None, slope=None, inter=0, edit=None, order="<"):
    """Writes stored values `x`, with a slope and an intercept if they are given."""
    image = KINDS[version](x, affine, dtype=x.dtype)
    if edit:
        edit(image.header)
    if slope is None:
        nibabel.save(image, path)
        return
    # nibabel would divide by the slope: the data are written as they are.
    header = image.header
    header["scl_slope"], header["scl_inter"] = slope, inter
    header.set_data_offset(header.single_vox_offset)
    data = header.as_byteswapped(order).binaryblock + bytes(4) + x.astype(x.dtype.newbyteorder(order)).tobytes("F")
    Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)


def load(path):
    image = nibabel.load(path)
    return np.asarray(image.dataobj.get_unscaled())


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") and a.shape == b.shape
    np.testing.assert_array_equal(a, b)


def half(x, axes=3):
    """Windows of 2 along the first axes, as views."""
    shape = []
    for d, n in enumerate(x.shape):
        shape += [n // 2, 2] if d < axes else [n]
    cut = x[tuple(slice(n // 2 * 2) if d < axes else slice(None) for d, n in enumerate(x.shape))]
    return cut.reshape(shape)


@pytest.fixture
def copied(oriel, tmp_path):
    """copied(path): what `oriel pool` of kernel 1 reads, as a .npy file."""

    def run(path, *options):
        oriel("pool", path, "copy.npy", *COPY, *options)
        return np.load(tmp_path / "copy.npy")

    return run


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_dtypes_and_byte_orders(oriel, copied, tmp_path, version, ending):
    for dtype in DTYPES:
        x = sample(dtype=dtype)
        for order in "<>":
            save(tmp_path / f"x{ending}", x, version, order=order, slope=0)  # a slope of 0 does not scale
            same(copied(f"x{ending}"), x)
        oriel("pool", f"x{ending}", f"y{ending}", *COPY)
        same(load(tmp_path / f"y{ending}"), x)
        assert nibabel.load(tmp_path / f"y{ending}").header["sizeof_hdr"] == {1: 348, 2: 540}[version]


@pytest.mark.parametrize("rank", range(1, 8))
def test_every_number_of_axes(oriel, copied, tmp_path, rank):
    x = sample((5, 4, 3, 2, 3, 2, 2)[:rank])
    save(tmp_path / "x.nii", x)
    same(copied("x.nii"), x)
    oriel("pool", "x.nii", "y.nii.gz", "--op", "max", "--kernel", "2", "--axes", "0")
    same(load(tmp_path / "y.nii.gz"), half(x, 1).max(1))


def test_from_and_to_other_formats(oriel, tmp_path):
    x = sample((6, 5, 4), "f4")
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.nii", *COPY)
    same(load(tmp_path / "y.nii"), x)
    header = nibabel.load(tmp_path / "y.nii").header
    assert header["sform_code"] == header["qform_code"] == 0
    np.save(tmp_path / "long.npy", np.arange(40000, dtype="f4"))
    oriel("pool", "long.npy", "long.nii", *COPY)  # NIfTI-1 has sizes up to 32767
    same(load(tmp_path / "long.nii"), np.arange(40000, dtype="f4"))
    np.save(tmp_path / "b.npy", x > 0)
    oriel("pool", "b.npy", "b.nii", "--op", "any", "--kernel", "2")
    same(load(tmp_path / "b.nii"), half(x[:, :4] > 0).any((1, 3, 5)).astype("u1"))


def rotation(seed):
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q * [1, 1, -1]


def affine_of(seed, flip=False, shear=False):
    matrix = rotation(seed) @ np.diag([1.5, 0.75, -3 if flip else 3])
    if shear:
        matrix = matrix @ [[1, 0.2, 0], [0, 1, 0.1], [0, 0, 1]]
    return np.vstack([np.column_stack([matrix, [-80.5, 40.25, 12]]), [0, 0, 0, 1]])


def places(affine, shape):
    """World coordinates of all voxels, along a fourth axis."""
    return np.moveaxis(np.tensordot(affine[:3, :3], np.indices(shape), 1), 0, 3) + affine[:3, 3]


WINDOWS = [("2", "2", "0", "1"), ("3", "1", "0", "1"), ("2x3x1", "2x1x1", "0", "1x2x1"), ("3x3x3", "2x2x2", "1x1x1", "1"),
           ("5x4x2", "3x2x1", "2x1+2x0", "1x1x2"), ("4", "1", "0", "1")]


@pytest.mark.parametrize("kernel, stride, padding, dilation", WINDOWS)
@pytest.mark.parametrize("version", [1, 2])
def test_voxels_stay_where_they_are(oriel, tmp_path, kernel, stride, padding, dilation, version):
    """An image whose values are its positions: means of windows are the positions of the result's voxels."""
    sform, qform = affine_of(1, shear=True), affine_of(2, flip=True)

    def forms(which):
        def edit(header):
            header.set_sform(sform if "s" in which else None, code=2 if "s" in which else 0)
            header.set_qform(qform if "q" in which else np.diag([1.5, 0.75, 3, 1]), code=1 if "q" in which else 0)
            header.set_xyzt_units("mm", "sec")
        return edit

    for which in ["s", "q", "sq"]:
        for form, affine in [("s", sform), ("q", qform)]:
            if form not in which:
                continue
            save(tmp_path / "x.nii", places(affine, (15, 14, 13)), version, edit=forms(which))
            oriel("pool", "x.nii", "y.nii", "--op", "avg", "-k", kernel, "-s", stride, "-p", padding, "-d", dilation,
                  "--axes", "0,1,2")
            image = nibabel.load(tmp_path / "y.nii")
            header = image.header
            got = header.get_sform(coded=True) if form == "s" else header.get_qform(coded=True)
            assert got[1] == (2 if form == "s" else 1)
            values, wanted = np.asarray(image.dataobj), places(got[0], image.shape[:3])
            inside = (slice(1, -1),) * 3 if padding != "0" else (slice(None),) * 3  # padding moves means
            np.testing.assert_allclose(values[inside], wanted[inside], rtol=0, atol=1e-9 if version == 2 and form == "s" else 2e-4)
            steps = np.array([int(s) for s in (stride if "x" in stride else "x".join([stride] * 3)).split("x")])
            np.testing.assert_allclose(header["pixdim"][1:4], np.array([1.5, 0.75, 3]) * steps, rtol=1e-6)
            assert header.get_xyzt_units() == ("mm", "sec")


def test_other_windows(oriel, tmp_path):
    affine = affine_of(3)
    save(tmp_path / "x.nii", places(affine, (12, 9, 6)), 2, affine)
    for options in [["--output-size", "4x3x2"], ["--global"]]:
        oriel("pool", "x.nii", "y.nii", "--op", "avg", *options, "--axes", "0,1,2")
        image = nibabel.load(tmp_path / "y.nii")
        np.testing.assert_allclose(np.asarray(image.dataobj), places(image.affine, image.shape[:3]), atol=1e-9)
    # The value of `first` is that at the window's first tap.
    oriel("pool", "x.nii", "y.nii", "--op", "first", "-k", "3x2x2", "--axes", "0,1,2")
    image = nibabel.load(tmp_path / "y.nii")
    np.testing.assert_allclose(np.asarray(image.dataobj), places(image.affine, image.shape[:3]), atol=1e-9)
    # Axes that are not pooled stay.
    oriel("pool", "x.nii", "y.nii", "--op", "avg", "-k", "2", "--axes", "1")
    image = nibabel.load(tmp_path / "y.nii")
    np.testing.assert_allclose(np.asarray(image.dataobj), places(image.affine, image.shape[:3]), atol=1e-9)
    # Quaternions of half turns, whose first part is 0.
    for axis in range(3):
        turn = np.diag([2.0, 2, 2, 1]) * np.array([1 if d in (axis, 3) else -1 for d in range(4)])

        def edit(header, turn=turn):
            header.set_sform(None, code=0)
            header.set_qform(turn, code=1)
        save(tmp_path / "x.nii", places(turn, (6, 4, 8)), 2, edit=edit)
        oriel("pool", "x.nii", "y.nii", "--op", "avg", "-k", "2", "--axes", "0,1,2")
        image = nibabel.load(tmp_path / "y.nii")
        np.testing.assert_allclose(np.asarray(image.dataobj), places(image.affine, image.shape[:3]), atol=1e-9)


def test_time(oriel, tmp_path):
    def edit(header):
        header.set_xyzt_units("mm", "msec")
        header["pixdim"][4] = 2000
        header["toffset"] = 500
    save(tmp_path / "x.nii", sample((4, 3, 2, 9), "f4"), edit=edit)
    oriel("pool", "x.nii", "y.nii", "--op", "avg", "-k", "3", "--axes", "3")
    header = nibabel.load(tmp_path / "y.nii").header
    assert header["pixdim"][4] == 6000 and header["toffset"] == 2500 and header.get_xyzt_units() == ("mm", "msec")


def test_header_fields(oriel, tmp_path):
    def edit(header):
        header.set_dim_info(0, 1, 2)
        header["slice_end"], header["slice_code"], header["slice_duration"] = 6, 1, 0.1
        header["cal_max"], header["cal_min"] = 90, -90
        header["descrip"], header["aux_file"] = b"made for a test", b"colours.lut"
        header.set_intent("t test", (12,), name="contrast")
        header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"kept"))
        header.extensions.append(nibabel.nifti1.Nifti1Extension("afni", b"<about the input/>"))
    x = sample(dtype="f4")
    save(tmp_path / "x.nii", x, edit=edit)

    def pooled(*options):
        oriel("pool", "x.nii", "y.nii", *options)
        header = nibabel.load(tmp_path / "y.nii").header
        assert header.get_dim_info() == (0, 1, 2) and header["descrip"] == b"made for a test" and header["aux_file"] == b"colours.lut"
        return header

    header = pooled("--op", "max", "-k", "2", "--axes", "0,1")
    assert header["slice_end"] == 6 and header["slice_code"] == 1 and header["cal_max"] == 90
    assert header.get_intent() == ("t test", (12.0,), "contrast")
    comments = [e.get_content() for e in header.extensions]
    assert comments == [b"kept", b"oriel_problem=max:f32:13x10x7:k2:axes0,1"]
    header = pooled("--op", "avg", "-k", "2")
    assert header["slice_end"] == header["slice_code"] == header["slice_duration"] == 0 and header["cal_min"] == -90
    assert header.get_intent()[0] == "none"
    header = pooled("--op", "var", "-k", "2", "--axes", "0,1")
    assert header["cal_max"] == header["cal_min"] == 0 and header["slice_end"] == 6


@pytest.mark.parametrize("dtype", DTYPES)
def test_scaling(oriel, copied, tmp_path, dtype):
    x = sample(dtype=dtype)
    save(tmp_path / "x.nii", x, slope=0.25, inter=-3)
    values = np.asarray(nibabel.load(tmp_path / "x.nii").dataobj)
    np.testing.assert_allclose(values, x * 0.25 - 3)
    got = copied("x.nii")
    assert got.dtype == ("f4" if dtype in ["u1", "i1", "u2", "i2", "f4"] else "f8")
    np.testing.assert_array_equal(got, values.astype(got.dtype))
    # Operations that give the same before and after it: stored as before.
    oriel("pool", "x.nii", "y.nii", "--op", "max", "-k", "2")
    image = nibabel.load(tmp_path / "y.nii")
    assert (image.dataobj.slope, image.dataobj.inter) == (0.25, -3)
    same(load(tmp_path / "y.nii"), half(x).max((1, 3, 5)))
    # Others: of the scaled values.
    oriel("pool", "x.nii", "y.nii", "--op", "std", "-k", "2")
    image = nibabel.load(tmp_path / "y.nii")
    assert (image.dataobj.slope, image.dataobj.inter) == (1, 0) and image.get_data_dtype() == got.dtype
    np.testing.assert_allclose(np.asarray(image.dataobj), half(got.astype("f8")).std((1, 3, 5)), rtol=1e-5)


KEPT = [["avg"], ["max"], ["min"], ["median"], ["mode"], ["first"], ["centre"], ["quantile", "--quantile", "0.25"]]
SCALED = [["sum"], ["avg", "-p", "1"], ["avg", "--divisor", "3"], ["range"], ["var"], ["lp"], ["prod"], ["max", "--nodata", "2"],
          ["mode", "--ignore", "1"]]


@pytest.mark.parametrize("op", [*KEPT, *SCALED], ids="-".join)
def test_scaling_before_or_after(oriel, tmp_path, op):
    """The scaled values of the result are the results of the scaled values, for every operation."""
    x = sample((9, 8, 7), "u1")
    np.save(tmp_path / "scaled.npy", (x * 0.5 + 2).astype("f4"))
    save(tmp_path / "x.nii", x, slope=0.5, inter=2)
    words = ["--op", *op, "-k", "3"]
    oriel("pool", "scaled.npy", "wanted.npy", *words)
    oriel("pool", "x.nii", "y.nii", *words)
    image = nibabel.load(tmp_path / "y.nii")
    assert (image.dataobj.slope == 0.5) == (op in KEPT)
    # A mean of bytes is a byte.
    rounding = 0.25 if op == ["avg"] else 0
    np.testing.assert_allclose(np.asarray(image.dataobj), np.load(tmp_path / "wanted.npy"), rtol=1e-6, atol=rounding)
    # A negative slope turns the order round, so values are scaled first.
    save(tmp_path / "x.nii", x, slope=-0.5, inter=2)
    np.save(tmp_path / "scaled.npy", (x * -0.5 + 2).astype("f4"))
    oriel("pool", "scaled.npy", "wanted.npy", *words)
    oriel("pool", "x.nii", "y.nii", *words)
    image = nibabel.load(tmp_path / "y.nii")
    assert (image.dataobj.slope, image.dataobj.inter) == (1, 0)
    np.testing.assert_allclose(np.asarray(image.dataobj), np.load(tmp_path / "wanted.npy"), rtol=1e-6)


def test_means_of_scaled_bytes(oriel, tmp_path):
    x = sample((8, 8, 8), "u1")
    save(tmp_path / "x.nii", x, slope=1 / 255)
    oriel("pool", "x.nii", "y.nii", "--op", "avg", "-k", "2", "--result-dtype", "f32")
    image = nibabel.load(tmp_path / "y.nii")
    np.testing.assert_allclose(np.asarray(image.dataobj), half(x / 255).mean((1, 3, 5)), rtol=1e-6)


def test_masks(oriel, tmp_path):
    x, mask = sample(dtype="f4"), sample(dtype="u1", seed=1) % 2
    save(tmp_path / "x.nii", x)
    save(tmp_path / "mask.nii.gz", mask)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "mask.npy", mask)
    oriel("pool", "x.npy", "wanted.npy", "--op", "avg", "-k", "3", "--mask", "mask.npy")
    oriel("pool", "x.nii", "y.nii", "--op", "avg", "-k", "3", "--mask", "mask.nii.gz")
    same(load(tmp_path / "y.nii"), np.load(tmp_path / "wanted.npy"))


@pytest.mark.parametrize("version", [1, 2])
def test_pairs(copied, refusal, tmp_path, version):
    x = sample()
    kind = {1: nibabel.Nifti1Pair, 2: nibabel.Nifti2Pair}[version]
    nibabel.save(kind(x, np.eye(4), dtype=x.dtype), tmp_path / "x.img")
    same(copied("x.hdr"), x)
    same(copied("x.img"), x)
    for name in ["x.hdr", "x.img"]:
        shutil.copyfile(tmp_path / name, tmp_path / name.upper())
    same(copied("X.HDR"), x)
    with open(tmp_path / "x.img", "rb") as data, gzip.open(tmp_path / "x.img.gz", "wb") as packed:
        packed.write(data.read())
    (tmp_path / "x.img").unlink()
    same(copied("x.hdr"), x)
    same(copied("x.img.gz"), x)
    assert "pairs of files are read only; allowed: FILE.nii, FILE.nii.gz" in refusal("pool", "x.hdr", "y.hdr", *COPY)
    (tmp_path / "x.img.gz").unlink()
    assert "x.img: cannot open" in refusal("pool", "x.hdr", "y.nii", *COPY)
    shutil.copyfile(tmp_path / "x.hdr", tmp_path / "x.nii")
    assert "that of a pair" in refusal("pool", "x.nii", "y.nii", *COPY)


def test_several_members(copied, refusal, tmp_path):
    """bgzip and others cut the stream into members, one behind another."""
    x = sample((40, 30, 20))
    save(tmp_path / "x.nii", x)
    data = (tmp_path / "x.nii").read_bytes()
    members = b"".join(gzip.compress(data[i : i + 5000]) for i in range(0, len(data), 5000))
    (tmp_path / "m.nii.gz").write_bytes(members)
    same(copied("m.nii.gz"), x)
    (tmp_path / "m.nii.gz").write_bytes(members + bytes(10))
    same(copied("m.nii.gz"), x)
    whole = gzip.compress(data)
    (tmp_path / "m.nii.gz").write_bytes(whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
    assert "m.nii.gz: the gzip stream is damaged" in refusal("pool", "m.nii.gz", "y.nii", *COPY)
    for length in [3, 200, len(whole) // 2, len(whole) - 1]:
        (tmp_path / "m.nii.gz").write_bytes(whole[:length])
        assert "m.nii.gz: the gzip stream is cut off" in refusal("pool", "m.nii.gz", "y.nii", *COPY)
    (tmp_path / "m.nii.gz").write_bytes(gzip.compress(data[:-1]))
    assert "m.nii.gz: the NIfTI file is cut off" in refusal("pool", "m.nii.gz", "y.nii", *COPY)


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
@pytest.mark.parametrize("shape, options", [
    ((240, 250, 200), ["-k", "2"]), ((240, 250, 200), ["-k", "3x3x5", "-s", "2", "-p", "1"]), ((240, 250, 200), ["-k", "2", "--axes", "0"]),
    ((240, 250, 100, 3), ["-k", "2", "--axes", "0,1,2"]),  # blocks are parts of a volume, and follow one another as the file does
], ids=str)
def test_bounded_memory(oriel, tmp_path, ending, shape, options):
    x = np.random.default_rng(0).integers(0, 200, shape).astype("i2")  # 24 MB
    x[:, :, ::3] = 0
    save(tmp_path / f"x{ending}", x)
    np.save(tmp_path / "x.npy", x)
    words = ["--op", "avg", *options, "-t", "1"]
    oriel("pool", "x.npy", "wanted.npy", *words)
    bound = 40
    done = subprocess.run([sys.executable, "-I", "-S", "-c", PEAK, COMMAND, "pool", f"x{ending}", f"y{ending}", *words, "--memory", f"{bound}MiB", "--json"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stderr)["blocks"] > 2
    assert int(done.stdout) <= bound << 10
    same(load(tmp_path / f"y{ending}"), np.load(tmp_path / "wanted.npy"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"x{ending}", f"y{ending}", "x.npy", "wanted.npy"])


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_ranks(oriel, ranks, tmp_path, ending):  # noqa: F811
    x = sample((30, 20, 10, 3), "f4")
    save(tmp_path / f"x{ending}", x, affine=affine_of(4))
    words = ["--op", "avg", "-k", "3x3x3", "-s", "2", "-p", "1", "--axes", "0,1,2"]
    oriel("pool", f"x{ending}", f"one{ending}", *words)
    ranks(3, "pool", f"x{ending}", f"y{ending}", *words)
    assert (tmp_path / f"y{ending}").read_bytes() == (tmp_path / f"one{ending}").read_bytes()


def test_what_nifti_does_not_hold(refusal, oriel, tmp_path):
    np.save(tmp_path / "x.npy", sample(dtype="f2"))
    assert "y.nii: NIfTI holds integers and floats of 32 and 64 bits, but the result is f16" in refusal("pool", "x.npy", "y.nii", *COPY)
    np.save(tmp_path / "x.npy", np.zeros((1,) * 8))
    assert "must have 1 to 7 axes, but the result has 8" in refusal("pool", "x.npy", "y.nii", *COPY)
    save(tmp_path / "x.nii", sample())
    quantiles = ["--op", "quantile", "--quantile", "0.25,0.5", "-k", "2"]
    assert "an axis before x, y and z" in refusal("pool", "x.nii", "y.nii", *quantiles)
    oriel("pool", "x.nii", "y.npy", *quantiles)
    assert "i16, but f32 was requested" in refusal("pool", "x.nii", "y.npy", *COPY, "--dtype", "f32")


DAMAGED = [
    ((0, "i", 349), "does not begin as a NIfTI file"), ((344, "4s", b"\0\0\0\0"), "an Analyze 7.5 header"), ((344, "4s", b"ni1\0"), "that of a pair"),
    ((40, "h", 0), "has 0 axes; allowed: 1 to 7"), ((40, "h", 8), "has 8 axes"), ((42, "h", -5), "has the size -5 of axis 0"),
    ((42, "h", 0), "has the size 0 of axis 0"), ((42, "h", 32767), "is cut off"), ((70, "h", 32), "data of type 32 (complex)"), ((70, "h", 128), "(colours)"),
    ((70, "h", 1), "(1 bit)"), ((70, "h", 3), "data of type 3; allowed"), ((108, "f", 0), "begin at byte 0 (vox_offset)"), ((108, "f", 352.5), "byte 352.5"),
    ((108, "f", float("nan")), "byte nan"), ((108, "f", 1e9), "is cut off"), ((112, "2f", 2, float("inf")), "scl_inter is inf; allowed: a finite number"),
]


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_damaged_headers(refusal, tmp_path, ending):
    name, write = f"x{ending}", lambda data: (tmp_path / f"x{ending}").write_bytes(gzip.compress(data) if ending == ".nii.gz" else data)
    save(tmp_path / "whole.nii", sample((40, 40, 40)))
    whole = (tmp_path / "whole.nii").read_bytes()
    for (at, kind, *values), words in DAMAGED:
        if ending == ".nii.gz" and at == 42 and values == [32767]:
            continue  # is found when the data end
        data = bytearray(whole)
        struct.pack_into("<" + kind, data, at, *values)
        write(bytes(data))
        said = refusal("pool", name, "y.nii", *COPY)
        assert said.startswith(f"oriel pool: {name}: ") and words in said, said
    write(b"")
    assert "the file is empty" in refusal("pool", name, "y.nii", *COPY)
    for length in [10, 347]:
        write(whole[:length])
        assert f"the header needs 348 bytes, but there are {length}" in refusal("pool", name, "y.nii", *COPY)
    write(whole[:-1])
    assert "is cut off" in refusal("pool", name, "y.nii", *COPY)
    # Sizes that cannot be there are refused before anything is allocated.
    data = bytearray(whole)
    struct.pack_into("<8h", data, 40, 7, *[32767] * 3, 1000, 1, 1, 1)
    write(bytes(data))
    assert "is cut off" in refusal("pool", name, "y.nii", *COPY)
    struct.pack_into("<8h", data, 40, 7, *[32767] * 7)
    write(bytes(data))
    assert "2^58 elements in all" in refusal("pool", name, "y.nii", *COPY)


def test_nibabels_own_files(oriel, copied, tmp_path):
    """Files of other programs (SPM, AFNI, FSL), which come with nibabel."""
    names = ["standard.nii.gz", "example4d.nii.gz", "example_nifti2.nii.gz", "anatomical.nii", "functional.nii", "reoriented_anat_moved.nii",
             "resampled_anat_moved.nii"]
    if not all((EXAMPLES / name).exists() for name in names):
        pytest.skip(f"{EXAMPLES} lacks files, so those of other programs are NOT tested")
    for name in names:
        image = nibabel.load(EXAMPLES / name)
        np.testing.assert_allclose(copied(EXAMPLES / name), np.asarray(image.dataobj), rtol=1e-6)
        oriel("pool", EXAMPLES / name, "y.nii.gz", "--op", "avg", "-k", "2", "--axes", "0,1,2", "--result-dtype", "f64")
        pooled = nibabel.load(tmp_path / "y.nii.gz")
        wanted = half(np.asarray(image.dataobj, "f8")).mean((1, 3, 5))
        np.testing.assert_allclose(np.asarray(pooled.dataobj), wanted, rtol=1e-5, atol=1e-5)
        middle = np.array([0.5, 0.5, 0.5, 1])
        np.testing.assert_allclose((pooled.affine @ [0, 0, 0, 1])[:3], (image.affine @ middle)[:3], atol=1e-4)
        np.testing.assert_allclose(pooled.affine[:3, :3], 2 * image.affine[:3, :3], atol=1e-5)


def test_brain(oriel, tmp_path):
    """MNI152 at 1 mm, of nilearn's package: all sizes are odd; the means, as cubes of 2 mm, have the centre of mass that they had."""
    nilearn = importlib.util.find_spec("nilearn")  # not imported: what it asks for need not be there
    if nilearn is None:
        pytest.skip("nilearn is not installed, so MNI152 is NOT tested")
    path = Path(nilearn.origin).parent / "datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"
    image = nibabel.load(path)
    x = np.asarray(image.dataobj, "f8")
    oriel("pool", path, "y.nii.gz", "--op", "avg", "-k", "2", "--result-dtype", "f64")
    pooled = nibabel.load(tmp_path / "y.nii.gz")
    y = np.asarray(pooled.dataobj)
    np.testing.assert_allclose(y, half(x).mean((1, 3, 5)), rtol=1e-12)

    def centre(values, affine):
        axes = [np.tensordot(values, np.arange(n), (d, 0)).sum() / values.sum() for d, n in enumerate(values.shape)]
        return (affine @ [*axes, 1])[:3]
    cubes = y.repeat(2, 0).repeat(2, 1).repeat(2, 2)
    np.testing.assert_allclose(centre(y, pooled.affine), centre(cubes, image.affine), atol=1e-9)
