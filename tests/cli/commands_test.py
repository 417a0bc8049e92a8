"""`oriel check`, `bench`, `info`, `completion`, help and the man page."""

import json
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND

COMMANDS = ["pool", "check", "explain", "bench", "scale", "tile", "info", "completion"]


def test_info(oriel):
    info = json.loads(oriel("info", "--json").stdout)
    assert info["target"] in info["targets"] and info["threads"] >= 1
    assert info["ops"][:5] == ["max", "min", "avg", "sum", "lp"] and len(info["ops"]) == 24 and len(info["dtypes"]) == 13
    assert info["hdf5"] is None or info["hdf5"].startswith("1.")
    assert list(info["kernels"]) == info["targets"]
    for name, of in info["kernels"].items():  # AVX2, AVX-512 by any name of Highway's, and NEON have them all
        vectors = of["vector_bytes"]
        assert of["kernels"][0] == "rows"
        assert ("planes" in of["kernels"]) == (vectors >= 32 or name.startswith("NEON")), name
        assert ("registers" in of["kernels"]) == (vectors >= 32), name
    text = oriel("info").stdout.decode()
    assert all(f"{name}: " in text for name in info["kernels"])
    assert info["version"] in text and info["target"] in text


def test_every_target_can_be_forced(oriel):
    for target in json.loads(oriel("info", "--json").stdout)["targets"]:
        assert json.loads(oriel("info", "--json", env={"ORIEL_TARGET": target}).stdout)["target"] == target


@pytest.mark.parametrize("name", ["max:f32:2x3x9x8:k3x3s2p1", "avg:f16:2x9x8:k3x2s2x1p1x0:ceil", "sum:i32:3x20:k5s1p0+2", "min:u8:4x5x6:global:axes2",
                                  "lp2:f32:2x2x7x7:k2x2:omit", "max:bool:30:k3s2", "avg:u8:2x9x7:out4x3", "max:bf16:2x5x6x4:k3s1p1:axes1,2"])
def test_check_passes(oriel, name):
    report = json.loads(oriel("check", name, "--json").stdout)[0]
    targets = json.loads(oriel("info", "--json").stdout)["targets"]
    assert report["passed"] and report["name"] == name and report["targets"] == targets
    for part in report["parts"]:
        assert min(part["runs"]) >= 2 * 2 * 3 and max(part["wrong"]) == 0


@pytest.mark.parametrize("name", ["median_mean:i16:2x9x8:k3x3s1p1:nodata0", "q0.25,0.75linear:f32:7x6:k3s2:omit:min2:mask",
                                  "mode_first:u8:9x9:k2:ignore0:mask:weights", "avg:u8:7x9:k3s2:exclude:outf64:mask:weights",
                                  "max:u8:5x5:k3s1p1:disk1", "var:f64:9x9:k3s1:min5:fill-3:ddof1", "lse2sum:f32:9x7:k3:mask", "count:bool:9x9:k3:outu8",
                                  "lp2:f32:9x9:k3:mask"])
def test_check_of_valid_taps_passes(oriel, name):
    report = json.loads(oriel("check", name, "--json").stdout)[0]
    assert report["passed"] and report["name"] == name
    parts = {part["part"]: part for part in report["parts"]}
    picks = name.startswith(("median_m", "mode", "max"))
    assert ("indices, plane" in parts) == (picks and "median_mean" not in name)
    assert ("backward" in parts) == (not name.startswith(("mode", "count")) and ":f" in name)
    for part in parts.values():
        assert min(part["runs"]) >= 2 * 2 * 3 and max(part["wrong"]) == 0


def test_check_says_what_has_a_bound(oriel):
    assert b"gradients and moments of real numbers: within its bound" in oriel("check", "std:f32:4x4:k2").stdout
    assert b"gradients of Lp: within its bound" in oriel("check", "max:f32:4x4:k2").stdout


def test_check_prints_a_table(oriel):
    text = oriel("check", "max:f32:2x3x9x8:k3x3s2p1", "avg:f32:9:k2").stdout.decode()
    assert "All equal" in text and re.search(r"forward +\d+ ok", text) and "indices, plane" in text


def test_bench_of_valid_taps(oriel):
    names = ["median:u8:1x24x32:k3x3s1p1:mask", "mode:u16:16x16:k2:weights", "var:u8:16x16:k4:outf32", "avg:f32:8x8:k2:nodata0:backward",
             "q0.1,0.9:f32:12x12:k3", "median:i32:12x12:k3:indices", "soft:f32:1x4x8x8:k2x2:order0,2,3,1:mask"]
    report = json.loads(oriel("bench", *names, "--repetitions", 3, "--seconds", 0, "--json").stdout)
    assert [result["name"] for result in report["results"]] == names
    for result in report["results"]:
        assert result["verified_by"].startswith("reference") and result["seconds"] > 0


def test_bench(oriel):
    done = oriel("bench", "max:f32:2x4x32x32:k2x2s2", "avg:u8:1x64x64x3:k2:axes1,2", "sum:f32:2x3x8x8:k2x2:backward",
                 "max:f32:1x2x16x16:k2x2:order0,2,3,1", "max:f32:1x2x16x16:k2x2:indices", "--repetitions", 3, "--seconds", 0, "--json")
    report = json.loads(done.stdout)
    assert report["threads"] == 1 and len(report["results"]) == 5
    for result in report["results"]:
        assert result["verified_by"] == "reference"
        assert result["seconds"] > 0 and result["ratio_to_copy"] > 0 and result["gb_per_s"] > 0 and result["repetitions"] >= 3
    assert b"verified by" in oriel("bench", "max:f32:8x8:k2", "--threads", 2, "--repetitions", 3, "--seconds", 0).stdout


def test_progress_on_a_terminal():
    main, child = pty.openpty()
    process = subprocess.Popen([COMMAND, "bench", "max:f32:64x64:k2", "--seconds", "2"], stdout=subprocess.DEVNULL, stderr=child)
    os.close(child)
    text = b""
    while True:
        try:
            text += os.read(main, 4096)
        except OSError:
            break
    os.close(main)
    assert process.wait(timeout=60) == 0
    assert b"oriel bench: 1 s  1 of 1: timing max:f32:64x64:k2" in text
    assert text.endswith(b"\r\x1b[K")  # gone at the end


def test_help_has_examples(oriel):
    assert oriel("--help").stdout == oriel().stdout
    assert oriel("--version").stdout.startswith(b"oriel ")
    for command in COMMANDS:
        text = oriel(command, "--help").stdout.decode()
        assert "oriel " + command in text or "oriel info" in text
        assert max(map(len, text.splitlines())) < 160


def test_every_example_of_the_help_is_understood(oriel, tmp_path):
    import h5py
    import numpy as np
    from PIL import Image
    Image.fromarray(np.zeros((64, 64, 3), "u1"), "RGB").save(tmp_path / "photo.jpg")
    np.save(tmp_path / "x.npy", np.zeros((2, 3, 16, 16), "f4"))
    np.save(tmp_path / "labels.npy", np.zeros((8, 8), "u4"))
    np.save(tmp_path / "dem.npy", np.zeros((64, 64), "f4"))
    Image.fromarray(np.zeros((16, 16, 3), "u1"), "RGB").save(tmp_path / "photo.png")
    np.savez(tmp_path / "volume.npz", t1=np.zeros((8, 8, 8), "f4"))
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["data"] = np.zeros((8, 8, 8), "f4")
    examples = []
    for command in ["pool", "explain", "check", "scale"]:
        text = oriel(command, "--help").stdout.decode()
        examples += re.findall(r"^  ((?:cat x.npy \| )?oriel .*)", text, re.MULTILINE)
    assert len(examples) >= 10
    if json.loads(oriel("info", "--json").stdout)["hdf5"] is None:
        examples = [example for example in examples if ".h5" not in example]  # refused, as test_info's build says
    for example in examples:
        line = re.split(r" {2,}", example)[0].replace("oriel", COMMAND)
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, (line, done.stderr)


def long_options(oriel, command):
    return set(re.findall(r"(--[a-z][a-z-]+)", oriel(command, "--help").stdout.decode()))


def test_the_man_page_names_every_option(oriel):
    page = (Path(__file__).parents[2] / "cli/oriel.1").read_text().replace("\\-", "-")
    for command in COMMANDS:
        for option in long_options(oriel, command) - {"--help"}:
            assert option in page, option


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(oriel, tmp_path, shell):
    script = oriel("completion", shell).stdout.decode()
    for command in COMMANDS:
        assert command in script
        for option in long_options(oriel, command) - {"--help"}:
            assert option in script or "-l " + option[2:] in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: its script was only looked at, not run")
    (tmp_path / "script").write_text(script)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)


@pytest.mark.parametrize(
    "words, wanted",
    [(["oriel", "po"], "pool"), (["oriel", "pool", "--ker"], "--kernel"), (["oriel", "pool", "--op", "av"], "avg"), (["oriel", "completion", "f"], "fish")],
)
def test_bash_completes(oriel, tmp_path, words, wanted):
    (tmp_path / "script").write_bytes(oriel("completion", "bash").stdout)
    line = f"source ./script; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _oriel; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode().split() == [wanted]
