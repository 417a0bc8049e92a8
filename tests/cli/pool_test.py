"""`oriel pool` on arrays: every dtype, layout, file format and option, compared with plain NumPy."""

import io
import json
import os
import re

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

DTYPES = ["f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


def sample(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


def max_pool(x, kernel, stride):
    """Over the last two axes, without padding."""
    windows = sliding_window_view(x, (kernel, kernel), axis=(-2, -1))
    return windows[..., ::stride, ::stride, :, :].max(axis=(-2, -1))


def pooled(oriel, tmp_path, x, *options):
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.npy", *options)
    return np.load(tmp_path / "y.npy")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(oriel, tmp_path, dtype):
    x = sample((3, 9, 8), dtype)
    y = pooled(oriel, tmp_path, x, "--kernel", "2x2", "--axes", "1,2")
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, max_pool(x, 2, 2))


def test_bf16_by_request(oriel, tmp_path):
    x = sample((8, 8), ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "y.npy", "--kernel", 2, "--dtype", "bf16")
    y = np.load(tmp_path / "y.npy").view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(y.astype("f4"), max_pool(x.astype("f4"), 2, 2))
    assert (tmp_path / "y.npy").read_bytes()[:40].count(b"'<V2'") == 1


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">u8"])
def test_big_endian(oriel, tmp_path, dtype):
    x = sample((6, 6), dtype)
    y = pooled(oriel, tmp_path, x, "--kernel", 2)
    assert y.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_array_equal(y, max_pool(x, 2, 2))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_versions_and_orders(oriel, tmp_path, version, order):
    x = np.array(sample((2, 7, 8), "f4"), order=order)
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, x, version=version)
    oriel("pool", "x.npy", "y.npy", "--kernel", "3x3", "--stride", 2, "--axes", "-2,-1")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), max_pool(x, 3, 2))


def test_npz(oriel, tmp_path):
    x, other = sample((6, 6), "f4"), sample((4, 4), "i4")
    np.savez_compressed(tmp_path / "x.npz", x=x, other=other)
    np.savez_compressed(tmp_path / "one.npz", x=x)
    oriel("pool", "one.npz", "y.npz", "--kernel", 2)
    oriel("pool", "x.npz:other", "z.npz:small", "--kernel", 2)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["arr_0"], max_pool(x, 2, 2))
    np.testing.assert_array_equal(np.load(tmp_path / "z.npz")["small"], max_pool(other, 2, 2))


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_streams(oriel, form):
    x = sample((6, 6), "f4")
    file = io.BytesIO()
    np.save(file, x) if form == "npy" else np.savez(file, x)
    done = oriel("pool", "-", "-", "--kernel", 2, "--format", form, input=file.getvalue())
    y = np.load(io.BytesIO(done.stdout))
    np.testing.assert_array_equal(y if form == "npy" else y["arr_0"], max_pool(x, 2, 2))


def test_the_input_may_be_replaced_if_asked(oriel, tmp_path):
    x = sample((64, 64), "f4")
    np.save(tmp_path / "x.npy", x)
    oriel("pool", "x.npy", "x.npy", "--kernel", 2, "--replace-input")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), max_pool(x, 2, 2))


def test_padding_before_and_after(oriel, tmp_path):
    x = sample((5, 6), "i4")
    padded = np.pad(x, ((0, 1), (2, 1)))
    y = pooled(oriel, tmp_path, x, "--op", "sum", "--kernel", 3, "--stride", 1, "--padding", "0:1x2:1")
    np.testing.assert_array_equal(y, sliding_window_view(padded, (3, 3)).sum(axis=(2, 3)))
    spaced = pooled(oriel, tmp_path, x, "--op", "sum", "--kernel", 3, "--stride", 1, "--padding", "0:1 x 2:1")
    np.testing.assert_array_equal(spaced, y)
    as_in_names = pooled(oriel, tmp_path, x, "--op", "sum", "--kernel", 3, "--stride", 1, "--padding", "0+1x2+1")
    np.testing.assert_array_equal(as_in_names, y)


def test_same_puts_the_odd_place_after_or_before(oriel, tmp_path):
    x = np.array([5, 1, 1, 9], "i4")
    assert pooled(oriel, tmp_path, x, "-k", 2, "-s", 1, "-p", "same").tolist() == [5, 1, 9, 9]
    assert pooled(oriel, tmp_path, x, "-k", 2, "-s", 1, "-p", "same_lower").tolist() == [5, 5, 1, 9]
    assert pooled(oriel, tmp_path, x, "-k", 2, "-s", 1, "-p", "valid").tolist() == [5, 1, 9]


def test_ceil(oriel, tmp_path):
    x = np.arange(6, dtype="f4")
    assert pooled(oriel, tmp_path, x, "-k", 4, "-s", 4).tolist() == [3]
    assert pooled(oriel, tmp_path, x, "-k", 4, "-s", 4, "--ceil").tolist() == [3, 5]


def test_divisors(oriel, tmp_path):
    x = np.array([3, 3, 3], "f4")
    options = ["--op", "avg", "-k", 3, "-s", 1, "-p", 1]
    assert pooled(oriel, tmp_path, x, *options).tolist() == [2, 3, 2]
    assert pooled(oriel, tmp_path, x, *options, "--exclude-pad").tolist() == [3, 3, 3]
    assert pooled(oriel, tmp_path, x, *options, "--divisor", 6).tolist() == [1, 1.5, 1]


def test_norms(oriel, tmp_path):
    x = np.array([3, -4], "f4")
    for norm, wanted in [("1", 7), ("2", 5), ("inf", 4), ("3", 91 ** (1 / 3))]:
        assert pooled(oriel, tmp_path, x, "--op", "lp", "--norm", norm, "-k", 2)[0] == pytest.approx(wanted, rel=1e-6)


def test_nan_rules(oriel, tmp_path):
    x = np.array([1, np.nan, 3, 5], "f4")
    np.testing.assert_array_equal(pooled(oriel, tmp_path, x, "--op", "avg", "-k", 2), [np.nan, 4])
    assert pooled(oriel, tmp_path, x, "--op", "avg", "-k", 2, "--nan", "omit").tolist() == [1, 4]


def test_axes_and_dilation(oriel, tmp_path):
    x = sample((4, 5, 3), "i4")
    np.testing.assert_array_equal(pooled(oriel, tmp_path, x, "-k", "2x5", "--axes", "0,1"), x.reshape(2, 2, 1, 5, 3).max(axis=(1, 3)))
    np.testing.assert_array_equal(pooled(oriel, tmp_path, x, "-k", 2, "--axes", "-3", "-d", 2, "-s", 1), np.maximum(x[:2], x[2:]))


def test_adaptive_and_global(oriel, tmp_path):
    x = sample((2, 1, 10, 9), "i4")
    y = pooled(oriel, tmp_path, x, "--output-size", "4x9", "--axes", "2,3")
    assert y.shape == (2, 1, 4, 9)
    np.testing.assert_array_equal(y[:, :, 0], x[:, :, 0:3].max(axis=2))
    np.testing.assert_array_equal(pooled(oriel, tmp_path, x, "--global", "--axes", "2,3")[:, :, 0, 0], x.max(axis=(2, 3)))
    np.testing.assert_array_equal(pooled(oriel, tmp_path, x, "--global"), x.max(keepdims=True))


def test_indices(oriel, tmp_path):
    x = sample((2, 3, 8, 6), "f4")
    y = pooled(oriel, tmp_path, x, "-k", 2, "--axes", "2,3", "--indices", "i.npy")
    plane = np.load(tmp_path / "i.npy")
    assert plane.dtype == np.int64
    np.testing.assert_array_equal(np.take_along_axis(x.reshape(6, 48), plane.reshape(6, 12), 1).reshape(y.shape), y)
    pooled(oriel, tmp_path, x, "-k", 2, "--axes", "2,3", "--indices", "t.npz:where", "--index-space", "tensor")
    np.testing.assert_array_equal(x.reshape(-1)[np.load(tmp_path / "t.npz")["where"]], y)


def test_threads_do_not_change_a_bit(oriel, tmp_path):
    x = np.random.default_rng(1).standard_normal((4, 50, 60)).astype("f4")
    options = ["--op", "avg", "-k", "7x7", "-s", 1, "-p", "same", "--axes", "1,2"]
    one = pooled(oriel, tmp_path, x, *options, "--threads", 1)
    np.testing.assert_array_equal(one, pooled(oriel, tmp_path, x, *options, "--threads", 3))


def test_empty_batch(oriel, tmp_path):
    assert pooled(oriel, tmp_path, np.zeros((0, 3, 8, 8), "f4"), "-k", 2, "--axes", "2,3").shape == (0, 3, 4, 4)


@pytest.mark.parametrize("rank", range(1, 7))
def test_all_axes_are_pooled_if_none_are_named(oriel, tmp_path, rank):
    x = np.arange(4**rank, dtype="i4").reshape((4, ) * rank)
    np.testing.assert_array_equal(pooled(oriel, tmp_path, x, "-k", 2), x.reshape((2, 2) * rank).max(axis=tuple(range(1, 2 * rank, 2))))
    assert pooled(oriel, tmp_path, x, "--output-size", 3).shape == (3, ) * rank


def test_fewer_numbers_than_axes_need_named_axes(oriel, refusal, tmp_path):
    np.save(tmp_path / "x.npy", sample((6, 8, 3), "u1"))
    text = refusal("pool", "x.npy", "y.npy", "-k", "2x2", code=2)
    assert text.endswith("has 2; no axes are named, so all 3 are pooled (axes -2, -1 are the last 2)")
    assert "so all 3 are pooled" in refusal("pool", "x.npy", "y.npy", "-k", "4", code=2)
    assert pooled(oriel, tmp_path, sample((6, 8, 3), "u1"), "-k", "2x2", "--axes", "0,1").shape == (3, 4, 3)


@pytest.mark.parametrize("memory", [[], ["--memory", "1GiB"]])
def test_names_that_are_no_text_are_still_json(oriel, tmp_path, memory):
    name = os.fsdecode(b'a"\n\xff.npy')
    np.save(tmp_path / name, sample((8, 8), "f4"))
    report = oriel("pool", name, "y.npy", "-k", 2, *memory, "--json").stdout
    assert report.count(b"\n") == 1 and json.loads(report.decode())["in"] == 'a"\n\ufffd.npy'


def test_the_report(oriel, tmp_path):
    np.save(tmp_path / "x.npy", sample((1, 1, 8, 8), "f4"))
    options = ["-k", 3, "-s", 2, "-p", 1, "--axes", "-2,-1"]
    done = oriel("pool", "x.npy", "y.npy", *options, "--json")
    report = json.loads(done.stdout)
    assert report["problem"] == "max:f32:1x1x8x8:k3x3s2p1"
    assert report["output_shape"] == [1, 1, 4, 4] and report["dtype"] == "f32" and report["axes"] == [2, 3]
    seconds = report["seconds"]
    assert set(seconds) == {"read", "pool", "write", "all"}
    assert seconds["read"] + seconds["pool"] + seconds["write"] <= seconds["all"] + 1e-5
    assert b"x.npy: f32 1x1x8x8, axes 2, 3 of 4 -> y.npy: 1x1x4x4" in oriel("pool", "x.npy", "y.npy", *options).stdout
    assert b"x.npy: f32 1x1x8x8, axis 3 of 4 -> y.npy: 1x1x8x4" in oriel("pool", "x.npy", "y.npy", "-k", 2, "--axes", 3).stdout
    assert b", axes 0, 1, 2, 3 of 4 -> " in oriel("pool", "x.npy", "y.npy", "-k", 1).stdout
    assert b", axes 2, 3 of 4 -> " in oriel("pool", "x.npy", "y.npy", "-k", 2, "--axes", "2,3", "--memory", "1GiB").stdout
    assert json.loads(oriel("pool", "x.npy", "y.npy", "-k", 1, "--memory", "1GiB", "--json").stdout)["axes"] == [0, 1, 2, 3]
    assert oriel("pool", "x.npy", "y.npy", "-k", 1, "--quiet").stdout == b""


@pytest.mark.parametrize("memory", [[], ["--memory", "1GiB"]])
def test_the_line_says_what_its_times_count(oriel, tmp_path, memory):
    np.save(tmp_path / "x.npy", sample((8, 8), "f4"))
    line = oriel("pool", "x.npy", "y.npy", "-k", 2, *memory).stdout.decode()
    assert re.search(r"\((1 block; )?pooled in [0-9.e+-]+ (us|ms|s), [0-9.e+-]+ (us|ms|s) in all\)\n$", line), line
