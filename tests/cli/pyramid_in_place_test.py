"""`oriel pyramid --in-place`: levels that are added to an image, which keeps all else."""

import signal
import subprocess
import time

import pytest
import zarr
from conftest import COMMAND
from pyramids import base_image, check, digest, mean_by


@pytest.mark.parametrize(("version", "base", "added"), [("0.5", "0", ["1", "2"]), ("0.4", "a/s0", ["a/s1", "a/s2"])])
def test_levels_are_added_to_an_image(oriel, tmp_path, volume, version, base, added):
    base_image(tmp_path / "y.zarr", volume, version, base)
    zarr.consolidate_metadata(str(tmp_path / "y.zarr"))
    before = {p: p.read_bytes() for p in (tmp_path / "y.zarr" / base).rglob("*") if p.is_file()}
    text = oriel("pyramid", "y.zarr", "--in-place", "--levels", "2").stdout.decode()
    assert text.startswith("y.zarr: u16 70x81x67: 2 levels by mean added, the coarsest 35x21x17 (")
    group = zarr.open_group(str(tmp_path / "y.zarr"), mode="r")
    assert group.metadata.consolidated_metadata is None
    attributes = group.attrs if version == "0.4" else group.attrs["ome"]
    image = attributes["multiscales"][0]
    assert attributes["omero"] == {"id": 7} and image["name"] == "cells" and image["axes"][0]["unit"] == "micrometer"
    assert image["axes"][2]["longName"] == "along x" and image["datasets"][0]["stain"] == "DAPI"
    assert [one["path"] for one in image["datasets"]] == [base, *added]
    assert [[t[t["type"]] for t in one["coordinateTransformations"]] for one in image["datasets"]] == [
        [[1, 0.5, 0.5], [0, 0, 0]], [[1, 1, 1], [0, 0.25, 0.25]], [[2, 2, 2], [0.5, 0.75, 0.75]]]
    assert (group[added[0]][...] == mean_by(volume, (1, 2, 2))).all() and group[added[0]].chunks == (16, 20, 24)
    assert (group[added[1]][...] == mean_by(volume, (2, 4, 4))).all()
    assert all(path.read_bytes() == there for path, there in before.items())
    assert check(tmp_path, "y.zarr", 0)["good"]
    # Levels that are there are replaced by others.
    oriel("pyramid", "y.zarr", "--in-place", "--method", "max", "--factor", "3", "--levels", "1")
    found = check(tmp_path, "y.zarr", 0)["levels"]
    assert [one["method"] for one in found[1:]] == ["max of level 0"] and found[1]["factor"] == [3, 3, 3]
    folders = sorted(p.name for p in (tmp_path / "y.zarr" / base).parent.iterdir() if p.is_dir())
    assert folders == [base[-2:].lstrip("/"), f"{added[0].split('/')[-1]}-2"]


def test_adding_levels_fails_without_a_trace(oriel, refusal, tmp_path, volume):
    base_image(tmp_path / "y.zarr", volume, "0.5")
    array = tmp_path / "y.zarr/0/c/4/4/2"
    whole = array.read_bytes()
    array.write_bytes(whole[:50])
    before = digest(tmp_path / "y.zarr")
    assert "y.zarr/0/c/4/4/2" in refusal("pyramid", "y.zarr", "--in-place")
    assert digest(tmp_path / "y.zarr") == before
    array.write_bytes(whole)
    before = digest(tmp_path / "y.zarr")
    for delay in (0.01, 0.02, 0.03, 0.05):
        process = subprocess.Popen([COMMAND, "pyramid", "y.zarr", "--in-place", "--chunk", "2", "-q"], cwd=tmp_path)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break  # it was done before
        names = {str(p.relative_to(tmp_path / "y.zarr")) for p in (tmp_path / "y.zarr").iterdir()}
        assert {name for name in names if not name.startswith(".")} == {"0", "zarr.json"}
        assert check(tmp_path, "y.zarr", 0)["good"]
    else:
        oriel("pyramid", "y.zarr", "--in-place", "--chunk", "16")
    assert not [p for p in (tmp_path / "y.zarr").iterdir() if p.name.startswith(".")]
    assert "--in-place: 'x.npy' is not an OME-Zarr image" in refusal("pyramid", "x.npy", "--in-place")
    assert "--in-place: the levels are added to IN, but OUT is 'z.zarr'" in refusal("pyramid", "y.zarr", "z.zarr", "--in-place", code=2)
    base_image(tmp_path / "v4.zarr", volume, "0.4")
    assert "OME-Zarr 0.4, which has none" in refusal("pyramid", "v4.zarr", "--in-place", "--shard", "64", "--chunk", "16")
