"""`oriel pool --mask --weights` in blocks (`--memory`, HDF5): the bytes of the files are those of a call on whole arrays."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

from conftest import COMMAND

SHAPE = (20, 25, 30)
# Each op with what it has beside IN; results of other dtypes than IN's among them.
CALLS = [
    (["--op", "median", "-k", "3x3x3", "-s", "1", "-p", "1"], ["mask"]),
    (["--op", "count", "-k", "2x2x2"], ["mask"]),
    (["--op", "var", "-k", "3x3x3", "-s", "2", "-p", "1", "--min-count", "5"], ["mask", "weights"]),
    (["--op", "sum", "-k", "2x2x2", "--result-dtype", "f64", "--nodata", "3"], ["mask"]),
    (["--op", "mode", "-k", "2x2x2", "--ignore", "0"], ["weights"]),
    (["--op", "avg", "-k", "3x3", "--axes", "1,2", "--footprint", "010,111,010"], ["shared_mask", "weights"]),
    (["--op", "quantile", "--quantile", "0.7", "--method", "inverted_cdf", "-k", "2x2x2"], ["fortran_mask", "shared_weights"]),
]


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(5)
    arrays = {
        "x": random.integers(0, 9, SHAPE).astype("u1"),
        "mask": random.random(SHAPE) > 0.3,
        "shared_mask": (random.random((1, *SHAPE[1:])) > 0.3).astype("u1"),
        "weights": random.integers(0, 5, SHAPE).astype("f4") / 2,
        "shared_weights": random.integers(0, 5, SHAPE).astype("f8") / 2,
    }
    arrays["fortran_mask"] = np.asfortranarray(arrays["mask"])
    with h5py.File(tmp_path / "v.h5", "w") as file:
        for name, array in arrays.items():
            np.save(tmp_path / f"{name}.npy", array)
            file.create_dataset(name, data=array, chunks=tuple(max(1, n // 3) for n in array.shape), compression="gzip")
    return arrays


def beside(names, form):
    """--mask and --weights, as .npy files or datasets."""
    options = []
    for name in names:
        options += ["--mask" if "mask" in name else "--weights", form.format(name)]
    return options


def small_blocks(oriel, *words):
    """The least --memory that the command allows, so that blocks are small."""
    said = oriel(*words, "--memory", "1MiB", code=1).stderr.decode()
    assert "--memory: 1 MiB do not suffice" in said
    return f"{int(said.split('at least ')[1].split('MiB')[0]) + 2}MiB"


@pytest.mark.parametrize("options, names", CALLS)
def test_blocks_have_the_bytes_of_the_whole(oriel, files, tmp_path, options, names):
    oriel("pool", "x.npy", "whole.npy", *options, *beside(names, "{}.npy"))
    wanted = (tmp_path / "whole.npy").read_bytes()
    for source, form in [("x.npy", "{}.npy"), ("v.h5:/x", "v.h5:/{}"), ("x.npy", "v.h5:/{}"), ("v.h5:/x", "{}.npy")]:
        words = ["pool", source, "y.npy", *options, *beside(names, form)]
        for memory in (["--memory", small_blocks(oriel, *words)], ["--memory", "1GiB"]):
            report = json.loads(oriel(*words, *memory, "--json").stdout)
            assert report["blocks"] >= 1
            assert (tmp_path / "y.npy").read_bytes() == wanted, (source, form)
    with h5py.File(tmp_path / "v.h5") as file:
        assert file["x"].dtype == np.uint8
    oriel("pool", "x.npy", "y.h5:/y", *options, *beside(names, "{}.npy"))
    with h5py.File(tmp_path / "y.h5") as file:
        np.testing.assert_array_equal(file["y"], np.load(tmp_path / "whole.npy"), strict=True)


def test_indices_of_valid_elements(oriel, files, tmp_path):
    for op in ("max", "median", "mode", "first"):
        words = ["--op", op, "-k", "3x2x3", "-s", "2", "--mask"]
        oriel("pool", "x.npy", "y.npy", *words, "mask.npy", "--indices", "i.npy")
        wanted = [(tmp_path / name).read_bytes() for name in ("y.npy", "i.npy")]
        oriel("pool", "v.h5:/x", "y.npy", *words, "v.h5:/mask", "--indices", "i.npy")
        assert [(tmp_path / name).read_bytes() for name in ("y.npy", "i.npy")] == wanted


def test_many_blocks_within_the_bound(tmp_path, oriel):
    """A mask and weights count in what --memory allows."""
    random = np.random.default_rng(0)
    shape = (40, 500, 500)
    np.save(tmp_path / "x.npy", random.integers(0, 2000, shape).astype("u2"))
    np.save(tmp_path / "m.npy", random.random(shape) > 0.2)
    np.save(tmp_path / "w.npy", random.integers(1, 5, shape).astype("f8"))
    words = [COMMAND, "pool", "x.npy", "y.npy", "--op", "avg", "-k", "2x2x2", "--mask", "m.npy", "--weights", "w.npy", "-t", "1"]
    peak = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); " \
           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    subprocess.run(words, cwd=tmp_path, check=True)
    wanted = (tmp_path / "y.npy").read_bytes()
    for bound in (48, 64):
        done = subprocess.run([sys.executable, "-I", "-S", "-c", peak, *words, "-q", "--memory", f"{bound}MiB"], cwd=tmp_path,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) / 1024 <= bound
        assert (tmp_path / "y.npy").read_bytes() == wanted


@pytest.mark.parametrize("more", [[], ["--memory", "1GiB"]])
def test_an_output_is_neither_mask_nor_weights(oriel, refusal, files, more):
    words = ["pool", "x.npy", "mask.npy", "-k", 2, "--mask", "./mask.npy", *more]
    assert refusal(*words, code=2) == "oriel pool: OUT: 'mask.npy' is --mask too; allowed: another file"
    words = ["pool", "x.npy", "y.npy", "-k", 2, "--op", "max", "--indices", "mask.npy", "--mask", "mask.npy", *more]
    assert refusal(*words, code=2) == "oriel pool: --indices: 'mask.npy' is --mask too; allowed: another file"


@pytest.mark.parametrize("options, text", [
    (["--mask", "weights.npy"], "--mask: weights.npy must have dtype bool or u8, but has f32"),
    (["--mask", "v.h5:/shared_mask"],
     "--mask: v.h5:/shared_mask must have the shape of IN, 20x25x30, or 1 along axes that are not pooled, but has 1x25x30"),
    (["--op", "avg", "--weights", "mask.npy"], "--weights: mask.npy must have dtype f32 or f64, but has bool"),
    (["--op", "avg", "--weights", "bad.npy"], "--weights: bad.npy must be finite, but that at (7, 8, 9) is not"),
    (["--weights", "weights.npy", "--op", "max"],
     "max_pool: weights are for sum, avg, var, std, rms, mode, and median and quantile with method inverted_cdf only, but op is max"),
    (["--mask", "there_is_none.npy"], "there_is_none.npy: cannot open: No such file or directory"),
])
def test_what_does_not_fit(oriel, refusal, files, tmp_path, options, text):
    bad = files["weights"].copy()
    bad[7, 8, 9] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    assert refusal("pool", "x.npy", "y.npy", "-k", "2x2x2", *options, "--memory", "1GiB") == "oriel pool: " + text


def test_several_quantiles(oriel, files, tmp_path):
    options = ["--op", "quantile", "--quantile", "0.1,0.5,0.9", "-k", "3x3x3", "-s", "2", "-p", "1", "--mask", "mask.npy", "--indices"]
    oriel("pool", "x.npy", "whole.npy", *options, "i.npy")
    wanted = np.load(tmp_path / "whole.npy")
    assert wanted.shape == (3, 10, 13, 15)
    words = ["pool", "x.npy", "y.npy", *options, "j.npy"]
    oriel(*words, "--memory", small_blocks(oriel, *words))
    assert (tmp_path / "y.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert (tmp_path / "j.npy").read_bytes() == (tmp_path / "i.npy").read_bytes()
    oriel("pool", "v.h5:/x", "y.h5:/y", *options, "y.h5:/i")
    with h5py.File(tmp_path / "y.h5") as file:
        np.testing.assert_array_equal(file["y"], wanted, strict=True)
        np.testing.assert_array_equal(file["i"], np.load(tmp_path / "i.npy"), strict=True)
        assert file["y"].chunks[0] == 1


def test_a_quantile_needs_no_op(oriel, files, tmp_path):
    for more in (["--quantile", "0.9"], ["--rank", "-1"]):
        oriel("pool", "x.npy", "y.npy", "--op", "quantile", *more, "-k", "2x2x2")
        oriel("pool", "x.npy", "z.npy", *more, "-k", "2x2x2")
        assert (tmp_path / "y.npy").read_bytes() == (tmp_path / "z.npy").read_bytes()


def test_a_picture_into_a_dataset(oriel, tmp_path):
    """A mask of a picture's height and width is for all its channels."""
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(2)
    pixels = random.integers(0, 255, (40, 50, 3)).astype("u1")
    image.fromarray(pixels).save(tmp_path / "p.png")
    np.save(tmp_path / "m.npy", random.random((40, 50)) > 0.4)
    oriel("pool", "p.png", "y.npy", "--op", "median", "-k", 3, "--mask", "m.npy")
    oriel("pool", "p.png", "y.h5:/y", "--op", "median", "-k", 3, "--mask", "m.npy")
    with h5py.File(tmp_path / "y.h5") as file:
        np.testing.assert_array_equal(file["y"], np.load(tmp_path / "y.npy"), strict=True)
