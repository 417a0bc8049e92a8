"""What `oriel pool` keeps, replaces and refuses (docs/files.md): archives, HDF5 files, outputs that are inputs, several
writers of one file, pages, names that do things to a terminal."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import time
import zipfile

import h5py
import numpy as np
import pytest
from PIL import Image

from conftest import COMMAND


def half(x):
    return x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2).max(axis=(1, 3))


X = np.arange(64, dtype="f4").reshape(8, 8)[:, ::-1].copy()
Y = half(X)


@pytest.fixture
def x(tmp_path):
    np.save(tmp_path / "x.npy", X)


@pytest.fixture(scope="session")
def hdf5(tmp_path_factory):
    """Skips where this build has no HDF5."""
    text = subprocess.run([COMMAND, "info", "--json"], capture_output=True, check=True).stdout
    if json.loads(text)["hdf5"] is None:
        pytest.skip("NOT TESTED: this build has no HDF5")


def arrays(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def datasets(path):
    with h5py.File(path) as file:
        return {name: file[name][()] for name in file}


def names(folder):
    return sorted(p.name for p in folder.iterdir())


# ---- archives

def test_an_archive_keeps_its_other_arrays(oriel, x, tmp_path):
    keep, other = np.arange(10000), np.ones((3, 3), "u1")
    np.savez_compressed(tmp_path / "a.npz", keep=keep, pooled=np.zeros(2), other=other)
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as file:
        file.writestr("notes.txt", "not an array", zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(tmp_path / "a.npz") as file:
        before = {i.filename: (i.CRC, i.compress_type, i.compress_size, i.date_time) for i in file.infolist()}
    os.chmod(tmp_path / "a.npz", 0o640)
    oriel("pool", "x.npy", "a.npz:pooled", "-k", 2)
    oriel("pool", "x.npy", "a.npz:new", "-k", 2, "--op", "min")
    with np.load(tmp_path / "a.npz") as file:
        assert file.files == ["keep", "pooled", "other", "notes.txt", "new"]
        np.testing.assert_array_equal(file["keep"], keep)
        np.testing.assert_array_equal(file["other"], other)
        np.testing.assert_array_equal(file["pooled"], Y)
        np.testing.assert_array_equal(file["new"], -half(-X))
    with zipfile.ZipFile(tmp_path / "a.npz") as file:
        assert file.testzip() is None
        after = {i.filename: (i.CRC, i.compress_type, i.compress_size, i.date_time) for i in file.infolist()}
        assert all(after[name] == before[name] for name in ["keep.npy", "other.npy", "notes.txt"])
    assert (tmp_path / "a.npz").stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["a.npz", "x.npy"]


def test_an_archive_without_a_name_is_arr_0(oriel, x, tmp_path):
    np.savez(tmp_path / "a.npz", keep=X)
    oriel("pool", "x.npy", "a.npz", "-k", 2)
    oriel("pool", "x.npy", "a.npz:arr_0.npy", "-k", 4)
    found = arrays(tmp_path / "a.npz")
    assert sorted(found) == ["arr_0", "keep"]
    np.testing.assert_array_equal(found["arr_0"], half(Y))


def test_an_array_that_is_there_twice_is_replaced_once(oriel, x, tmp_path):
    np.savez(tmp_path / "a.npz", y=X, keep=X)
    with pytest.warns(UserWarning), zipfile.ZipFile(tmp_path / "a.npz", "a") as file:
        file.writestr("y.npy", file.read("keep.npy"))
    oriel("pool", "x.npy", "a.npz:y", "-k", 2)
    with zipfile.ZipFile(tmp_path / "a.npz") as file:
        assert file.namelist() == ["y.npy", "keep.npy"]
    np.testing.assert_array_equal(arrays(tmp_path / "a.npz")["y"], Y)


def test_the_same_call_gives_the_same_archive(oriel, x, tmp_path):
    oriel("pool", "x.npy", "a.npz:y", "-k", 2)
    first = (tmp_path / "a.npz").read_bytes()
    time.sleep(2.1)  # archives count time in steps of 2 s
    (tmp_path / "a.npz").unlink()
    oriel("pool", "x.npy", "a.npz:y", "-k", 2)
    assert (tmp_path / "a.npz").read_bytes() == first


def test_what_is_no_archive_is_not_replaced_by_one(refusal, oriel, x, tmp_path):
    (tmp_path / "a.npz").write_bytes(b"a thesis")
    text = refusal("pool", "x.npy", "a.npz:y", "-k", 2)
    assert text == "oriel pool: a.npz: not an .npz archive that can be read: Not a zip archive"
    assert (tmp_path / "a.npz").read_bytes() == b"a thesis"
    (tmp_path / "a.npz").write_bytes(b"")  # as mktemp makes it
    oriel("pool", "x.npy", "a.npz:y", "-k", 2)
    np.testing.assert_array_equal(arrays(tmp_path / "a.npz")["y"], Y)


def test_an_archive_stays_whole_if_the_disk_is_full(refusal, x, tmp_path):
    np.savez(tmp_path / "a.npz", keep=np.zeros(1000))
    before = (tmp_path / "a.npz").read_bytes()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10,) * 2)  # noqa: E731
    assert refusal("pool", "x.npy", "a.npz:y", "-k", 2, preexec_fn=limit) == "oriel pool: a.npz: cannot write: File too large"
    assert (tmp_path / "a.npz").read_bytes() == before


def test_an_archive_reads_and_writes_itself(oriel, tmp_path):
    np.savez(tmp_path / "a.npz", x=X, keep=Y)
    oriel("pool", "a.npz:x", "a.npz:y", "-k", 2)
    found = arrays(tmp_path / "a.npz")
    assert list(found) == ["x", "keep", "y"]
    np.testing.assert_array_equal(found["y"], Y)
    np.testing.assert_array_equal(found["x"], X)


# ---- which file is which

def links(tmp_path, kind):
    """Another name of y.npy, which is there already unless `kind` says otherwise."""
    if kind == "dot":
        return "./y.npy"
    if kind == "up":
        (tmp_path / "sub").mkdir()
        return "sub/../y.npy"
    if kind == "symlink to what is not there":
        os.symlink("y.npy", tmp_path / "z.npy")
    elif kind == "folder":
        os.symlink(".", tmp_path / "here")
        return "here/y.npy"
    else:
        (tmp_path / "y.npy").write_bytes(b"old")
        (os.link if kind == "hard link" else os.symlink)(tmp_path / "y.npy", tmp_path / "z.npy")
    return "z.npy"


@pytest.mark.parametrize("kind", ["dot", "up", "symlink", "symlink to what is not there", "hard link", "folder"])
@pytest.mark.parametrize("blocks", [[], ["--memory", "1GiB"]])
def test_indices_that_are_out_under_another_name(refusal, x, tmp_path, kind, blocks):
    other = links(tmp_path, kind)
    text = refusal("pool", "x.npy", "y.npy", "-k", 2, "--indices", other, *blocks, code=2)
    assert text == f"oriel pool: --indices: '{other}' is OUT too; allowed: another file"


@pytest.mark.parametrize("blocks", [[], ["--memory", "1GiB"]])
def test_an_input_is_never_replaced_by_indices(refusal, x, tmp_path, blocks):
    os.link(tmp_path / "x.npy", tmp_path / "z.npy")
    for name in ["x.npy", "z.npy"]:
        for more in [[], ["--replace-input"]]:
            text = refusal("pool", "x.npy", "y.npy", "-k", 2, "--indices", name, *blocks, *more, code=2)
            assert text == f"oriel pool: --indices: '{name}' is IN too; allowed: another file"
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)


@pytest.mark.parametrize("blocks", [[], ["--memory", "1GiB"]])
def test_an_input_is_replaced_only_if_asked(refusal, oriel, x, tmp_path, blocks):
    os.symlink("x.npy", tmp_path / "s.npy")
    for source, out in [("x.npy", "x.npy"), ("x.npy", "s.npy"), ("s.npy", "./x.npy")]:
        text = refusal("pool", source, out, "-k", 2, *blocks, code=2)
        assert text == (f"oriel pool: OUT: '{out}' is IN too; allowed: another file, or --replace-input if IN is no longer wanted")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)
    oriel("pool", "s.npy", "x.npy", "-k", 2, "--replace-input", *blocks)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), Y)
    assert (tmp_path / "s.npy").is_symlink()


def test_an_input_on_standard_input_is_an_input_too(oriel, refusal, x, tmp_path):
    with open(tmp_path / "x.npy", "rb") as file:
        assert "OUT: 'x.npy' is IN too" in refusal("pool", "-", "x.npy", "-k", 2, stdin=file, code=2)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)
    np.savez(tmp_path / "a.npz", only=X)
    with open(tmp_path / "a.npz", "rb") as file:
        assert "OUT: 'a.npz:only' is IN too" in refusal("pool", "-", "a.npz:only", "-k", 2, stdin=file, code=2)
    with open(tmp_path / "a.npz", "rb") as file:
        oriel("pool", "-", "a.npz:y", "-k", 2, stdin=file)
    assert list(arrays(tmp_path / "a.npz")) == ["only", "y"]


def test_parts_of_one_file(refusal, oriel, x, hdf5, tmp_path):
    np.savez(tmp_path / "a.npz", only=X)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["g/x"] = X
        file["same"] = h5py.SoftLink("/g")
    more = ", another name in it, or --replace-input if IN is no longer wanted"
    for source, out in [("a.npz", "a.npz:only"), ("a.npz:only", "./a.npz:only.npy"), ("v.h5", "v.h5:/g/x"),
                        ("v.h5:/g/x", "v.h5:g//x/"), ("v.h5:/g/x", "v.h5:/same/x"), ("v.h5:/same/x", "v.h5:/g/x")]:
        text = refusal("pool", source, out, "-k", 2, code=2)
        assert text == f"oriel pool: OUT: '{out}' is IN too; allowed: another file" + more
    for out, indices in [("b.npz", "b.npz:arr_0"), ("b.npz:y", "./b.npz:y.npy"), ("o.h5", "o.h5:/data"), ("o.h5:/y", "o.h5://y")]:
        text = refusal("pool", "x.npy", out, "-k", 2, "--indices", indices, code=2)
        assert text == f"oriel pool: --indices: '{indices}' is OUT too; allowed: another file or another name in it"
    oriel("pool", "v.h5:/g/x", "v.h5:/g/x", "-k", 2, "--replace-input")
    oriel("pool", "a.npz", "a.npz:only", "-k", 2, "--replace-input")
    with h5py.File(tmp_path / "v.h5") as file:
        np.testing.assert_array_equal(file["same/x"], Y)
    np.testing.assert_array_equal(arrays(tmp_path / "a.npz")["only"], Y)


def test_result_and_indices_in_one_archive(oriel, x, tmp_path):
    np.savez(tmp_path / "b.npz", keep=X)
    oriel("pool", "x.npy", "b.npz:y", "-k", 2, "--indices", "./b.npz:i")
    found = arrays(tmp_path / "b.npz")
    assert list(found) == ["keep", "y", "i"]
    np.testing.assert_array_equal(found["y"], Y)
    np.testing.assert_array_equal(X.reshape(-1)[found["i"]], Y)
    oriel("pool", "x.npy", "c.npz:y", "-k", 2, "--indices", "c.npz:i")
    assert list(arrays(tmp_path / "c.npz")) == ["y", "i"]
    assert names(tmp_path) == ["b.npz", "c.npz", "x.npy"]


def test_result_and_indices_in_one_hdf5_file(oriel, x, hdf5, tmp_path):
    for round in range(2):  # new, then replaced
        oriel("pool", "x.npy", "b.h5:/y", "-k", 2, "--indices", "./b.h5:/i")
        found = datasets(tmp_path / "b.h5")
        assert sorted(found) == ["i", "y"], round
        np.testing.assert_array_equal(found["y"], Y)
        np.testing.assert_array_equal(X.reshape(-1)[found["i"]], Y)
    with h5py.File(tmp_path / "b.h5") as file:
        assert file["i"].attrs["oriel_problem"] == "max:f32:8x8:k2"
    assert names(tmp_path) == ["b.h5", "x.npy"]


def test_a_group_in_another_file_is_not_written_to(refusal, x, hdf5, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["g/keep"] = X
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["far"] = h5py.ExternalLink("other.h5", "/g")
    before = (tmp_path / "other.h5").read_bytes()
    text = refusal("pool", "x.npy", "v.h5:/far/y", "-k", 2)
    assert text.startswith("oriel pool: v.h5: '/far/y' leads into another file; allowed: a name that is free")
    assert (tmp_path / "other.h5").read_bytes() == before


def test_links_in_a_circle(refusal, x, tmp_path):
    os.symlink("b.npy", tmp_path / "a.npy")
    os.symlink("a.npy", tmp_path / "b.npy")
    assert refusal("pool", "x.npy", "a.npy", "-k", 2) == "oriel pool: a.npy: cannot write here: Too many levels of symbolic links"


# ---- several writers

@pytest.mark.parametrize("file", ["o.npz", "o.h5"])
def test_nothing_of_several_writers_is_lost(x, hdf5, tmp_path, file):
    mark = ":" if file == "o.npz" else ":/"
    for round in range(4):
        writers = [subprocess.Popen([COMMAND, "pool", "x.npy", f"{file}{mark}d{i}", "-k", "2", "--op", op, "-q"], cwd=tmp_path)
                   for i, op in enumerate(["max", "min", "avg", "sum", "lp"])]
        assert [w.wait(timeout=100) for w in writers] == [0] * 5
        found = arrays(tmp_path / file) if file == "o.npz" else datasets(tmp_path / file)
        assert sorted(found) == ["d0", "d1", "d2", "d3", "d4"], round
        np.testing.assert_array_equal(found["d0"], Y)
        np.testing.assert_array_equal(found["d1"], -half(-X))
        assert names(tmp_path) == [file, "x.npy"]  # no lock and nothing temporary
        (tmp_path / file).unlink()


@pytest.fixture
def held(tmp_path):
    """held(file): takes the lock of its writers; close(what it gives) lets go."""
    locks = []

    def hold(file):
        locks.append(os.open(tmp_path / f".{file}.lock", os.O_RDWR | os.O_CREAT))
        fcntl.flock(locks[-1], fcntl.LOCK_EX)
        return locks[-1]

    return hold


@pytest.fixture
def waiting(tmp_path):
    """waiting(out): a call that has made its array, and waits for the lock."""

    def start(out):
        process = subprocess.Popen([COMMAND, "pool", "x.npy", out, "-k", "2", "-q"], cwd=tmp_path)
        lock = str(tmp_path / f".{out.split(':')[0]}.lock")
        deadline = time.monotonic() + 100
        while lock not in open_files(process):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        return process

    return start


def open_files(process):
    folder = f"/proc/{process.pid}/fd"
    files = []
    for name in os.listdir(folder):
        try:
            files.append(os.readlink(f"{folder}/{name}"))
        except FileNotFoundError:  # closed meanwhile
            pass
    return files


def test_what_others_wrote_while_a_call_ran_stays(x, hdf5, held, waiting, tmp_path):
    with h5py.File(tmp_path / "o.h5", "w") as file:
        file["first"] = file["second"] = X
    lock = held("o.h5")
    calls = [waiting(f"o.h5:/deep/d{i}") for i in range(3)]  # each has copied the file as it is now
    with h5py.File(tmp_path / "o.h5", "a") as file:  # another program, which knows no lock
        file["others"] = X
        del file["first"]
    os.close(lock)  # as the end of a process does, however it ends
    assert [call.wait(timeout=100) for call in calls] == [0, 0, 0]
    with h5py.File(tmp_path / "o.h5") as file:
        assert sorted(file) == ["deep", "others", "second"] and sorted(file["deep"]) == ["d0", "d1", "d2"]
        np.testing.assert_array_equal(file["others"], X)
        np.testing.assert_array_equal(file["deep/d0"], Y)
        assert file["deep/d1"].attrs["oriel_problem"] == "max:f32:8x8:k2"
    assert names(tmp_path) == ["o.h5", "x.npy"]  # the lock's file is gone, whoever made it


def test_an_archive_that_is_written_while_a_call_ran(x, held, waiting, tmp_path):
    np.savez(tmp_path / "o.npz", first=X)
    lock = held("o.npz")
    calls = [waiting(f"o.npz:d{i}") for i in range(3)]
    np.savez(tmp_path / "o.npz", others=X)
    os.close(lock)
    assert [call.wait(timeout=100) for call in calls] == [0, 0, 0]
    assert sorted(arrays(tmp_path / "o.npz")) == ["d0", "d1", "d2", "others"]
    assert names(tmp_path) == ["o.npz", "x.npy"]


def test_a_file_that_is_gone_when_a_call_ends(x, hdf5, held, waiting, tmp_path):
    with h5py.File(tmp_path / "o.h5", "w") as file:
        file["first"] = X
    lock = held("o.h5")
    call = waiting("o.h5:/y")
    (tmp_path / "o.h5").unlink()
    os.close(lock)
    assert call.wait(timeout=100) == 0
    np.testing.assert_array_equal(datasets(tmp_path / "o.h5")["y"], Y)


def test_a_file_that_another_program_writes(refusal, x, hdf5, held, waiting, tmp_path):
    with h5py.File(tmp_path / "o.h5", "w") as file:
        file["first"] = X
        file.flush()
        for source, out in [("x.npy", "o.h5:/y"), ("o.h5:/first", "y.npy")]:
            text = refusal("pool", source, out, "-k", 2)
            assert text == "oriel pool: o.h5: another program has it open for writing; allowed: once that has closed it"
    lock = held("o.h5")
    call = waiting("o.h5:/y")
    with h5py.File(tmp_path / "o.h5", "a") as file:
        os.close(lock)
        time.sleep(1)
        assert call.poll() is None  # it waits for the file to be closed
        file["second"] = X
    assert call.wait(timeout=100) == 0
    assert sorted(datasets(tmp_path / "o.h5")) == ["first", "second", "y"]


def test_a_signal_ends_the_wait_for_another_writer(x, held, waiting, tmp_path):
    lock = held("o.npz")
    call = waiting("o.npz:y")
    call.terminate()
    assert call.wait(timeout=20) == -signal.SIGTERM
    assert names(tmp_path) == [".o.npz.lock", "x.npy"]  # which is not its own
    os.close(lock)


# ---- several pictures, several arrays

@pytest.fixture
def pages(tmp_path):
    """pages.tif and moving.webp of three pictures, each; the pictures."""
    frames = [np.full((6, 8, 3), 40 * (i + 1), "u1") for i in range(3)]
    images = [Image.fromarray(f) for f in frames]
    images[0].save(tmp_path / "pages.tif", save_all=True, append_images=images[1:])
    images[0].save(tmp_path / "moving.webp", save_all=True, append_images=images[1:], lossless=True)
    return frames


@pytest.mark.parametrize("name", ["pages.tif", "moving.webp"])
def test_pages(oriel, refusal, pages, tmp_path, name):
    done = oriel("pool", name, "y.npy", "-k", 2)
    assert done.stdout.decode().endswith(f"; the first of 3 images in the file was used ({name}:2 is the second)\n")
    assert oriel("pool", name, "y.npy", "-k", 2, "-q").stdout == b""
    streamed = oriel("pool", name, "-", "-k", 2)
    assert streamed.stderr.decode() == f"oriel pool: {name}: the first of 3 images in the file was used ({name}:2 is the second)\n"
    assert oriel("pool", "-", "y.npy", "-k", 2, input=(tmp_path / name).read_bytes()).stdout.endswith(b"in the file was used\n")
    assert json.loads(oriel("pool", name, "y.npy", "-k", 2, "--json").stdout).items() >= {"page": 1, "pages": 3}.items()
    for page in [1, 2, 3]:
        report = oriel("pool", f"{name}:{page}", "y.npy", "-k", 2, "--json").stdout
        assert json.loads(report).items() >= {"page": page, "pages": 3}.items()
        assert (np.load(tmp_path / "y.npy") == pages[page - 1][0, 0, 0]).all()
        assert b"pictures" not in oriel("pool", f"{name}:{page}", "y.npy", "-k", 2).stdout
    (tmp_path / "y.npy").unlink()
    assert refusal("pool", f"{name}:4", "y.npy", "-k", 2) == f"oriel pool: {name}: has no image 4; allowed: 1 to 3"
    for wrong in ["0", "-1", "two", "", "99999999999"]:
        assert refusal("pool", f"{name}:{wrong}", "y.npy", "-k", 2) == (
            f"oriel pool: {name}:{wrong}: '{wrong}' is not a page; allowed: numbers from 1 to 2147483647")


def test_one_picture_has_one_page(oriel, refusal, tmp_path):
    Image.fromarray(np.full((6, 8), 9, "u1")).save(tmp_path / "x.png")
    assert json.loads(oriel("pool", "x.png:1", "y.npy", "-k", 2, "--json").stdout)["pages"] == 1
    assert b"picture" not in oriel("pool", "x.png", "y.npy", "-k", 2).stdout
    assert refusal("pool", "x.png:2", "z.npy", "-k", 2) == "oriel pool: x.png: has no image 2; allowed: 1, the only one"


def test_pages_become_datasets(oriel, pages, hdf5, tmp_path):
    done = oriel("pool", "pages.tif:3", "o.h5:/y", "-k", 2, "--axes", "0,1", "--json")
    assert json.loads(done.stdout).items() >= {"page": 3, "pages": 3}.items()
    assert (datasets(tmp_path / "o.h5")["y"] == 120).all()
    assert b"the first of 3 images" in oriel("pool", "pages.tif", "o.h5:/y", "-k", 2, "--axes", "0,1").stdout


def test_a_page_is_not_written(refusal, x, pages):
    text = refusal("pool", "pages.tif:2", "pages.tif", "-k", 2, code=2)
    assert text.startswith("oriel pool: OUT: 'pages.tif' is IN too; allowed: another file, or --replace-input")
    assert "pages.tif:2: the extension '.tif:2' is unknown" in refusal("pool", "x.npy", "pages.tif:2", "-k", 2, code=2)


def test_names_with_colons_are_names(oriel, pages, tmp_path):
    (tmp_path / "moving.webp").rename(tmp_path / "odd.tif:2")  # a WebP, whatever it is called
    np.save(tmp_path / "a.npz:x", X)
    os.rename(tmp_path / "a.npz:x.npy", tmp_path / "a.npz:x")
    oriel("pool", "odd.tif:2", "y.npy", "-k", 2)
    assert (np.load(tmp_path / "y.npy") == 40).all()
    oriel("pool", "a.npz:x", "y.npy", "-k", 2)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), Y)


def test_an_archive_of_several_arrays_must_be_told_which(oriel, refusal, tmp_path):
    np.savez(tmp_path / "two.npz", first=X, second=Y)
    text = refusal("pool", "two.npz", "y.npy", "-k", 2)
    assert text == "oriel pool: two.npz: which array is meant? Use two.npz:NAME; allowed: first, second"
    text = refusal("pool", "-", "y.npy", "-k", 2, input=(tmp_path / "two.npz").read_bytes())
    assert text.startswith("oriel pool: standard input: which array is meant?") and text.endswith("first, second")
    assert json.loads(oriel("pool", "two.npz:second", "y.npy", "-k", 2, "--json").stdout)["array"] == "second"
    np.savez(tmp_path / "one.npz", only=X)
    assert json.loads(oriel("pool", "one.npz", "y.npy", "-k", 2, "--json").stdout)["array"] == "only"


def test_the_only_dataset_is_named_in_the_report(oriel, hdf5, tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["deep/x"] = X
    assert json.loads(oriel("pool", "v.h5", "y.npy", "-k", 2, "--json").stdout)["dataset"] == "/deep/x"


# ---- names

@pytest.mark.parametrize("blocks", [[], ["--memory", "1GiB"]])
def test_names_do_nothing_to_a_terminal(oriel, x, tmp_path, blocks):
    os.rename(tmp_path / "x.npy", tmp_path / "x\x1b[31m\u009b.npy")
    done = oriel("pool", "x\x1b[31m\u009b.npy", "ü\ny\x7f.npy", "-k", 2, *blocks)
    text = done.stdout.decode()
    assert text.startswith("x?[31m?.npy: f32 8x8, axes 0, 1 of 2 -> ü?y?.npy: 4x4 (") and text.count("\n") == 1
    assert (tmp_path / "ü\ny\x7f.npy").exists()
