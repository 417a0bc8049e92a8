"""oriel-portrait --device cuda on the emulated device: blocks beside PyTorch's, and a picture cut as on the CPU."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

PORTRAIT = os.environ["ORIEL_PORTRAIT"]


def portrait(*words, fails=0):
    done = subprocess.run([PORTRAIT, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == fails, done.stderr
    return done.stderr if fails else done.stdout


def test_compare():
    report = json.loads(portrait("compare", "--device", "cuda", "--python", sys.executable, "--widths", 8, 16, 24, "--size", 32,
                                 "--runs", 1, "--json"))
    assert report["device"] == "cuda"
    assert [block["block"] for block in report["blocks"]] == ["down_1", "down_2", "down_3", "up_1", "up_2", "out"]
    for block in report["blocks"]:
        assert block["relative"] <= 1e-5 and block["largest"] > 0.1, block
    assert [block["copies"] for block in report["blocks"]] == [1, 0, 0, 0, 0, 1]
    assert all(step["algorithm"].startswith(("cuda", "copy")) for step in report["steps"])
    assert [t["engine"].split()[0] for t in report["times"]] == ["Oriel", "PyTorch"]
    assert report["times"][0]["engine"] == "Oriel (fp32, CUDA)" and "(" in report["times"][1]["engine"]
    assert report["library"].startswith("Oriel's kernels alone, without cuDNN: libcudnn.so.none: cannot open shared object file")
    # pools are the convolutions', copies take no time of the emulator's clock
    assert [step["run_milliseconds"] for step in report["steps"]] == [0 if s["algorithm"] == "copy" else 1 for s in report["steps"]]
    memory = report["memory"]
    assert memory["lower_bound"] <= memory["activations"] <= 1.1 * memory["lower_bound"]


def test_cudnn_is_named(monkeypatch):
    """With a library in cuDNN's place, which here takes no shape."""
    monkeypatch.setenv("ORIEL_EMULATED_CUDNN", os.environ["ORIEL_STAND_IN"])
    command = ["compare", "--device", "cuda", "--python", sys.executable, "--widths", 4, 8, "--size", 8, "--runs", 0]
    report = json.loads(portrait(*command, "--json"))
    assert report["library"] == "cuDNN 9.1.0"
    assert all(step["milliseconds"] == 1 for step in report["steps"] if step["layer"].startswith("conv"))
    assert "run_milliseconds" not in report["steps"][0]
    assert "\nconvolutions: cuDNN 9.1.0\n" in portrait(*command)


def test_bfloat16_is_refused():
    text = portrait("compare", "--device", "cuda", "--widths", 4, 4, "--size", 4, "--arithmetic", "bf16", fails=1)
    assert "unet: networks on CUDA devices run in fp32, but bf16 was requested" in text


def test_picture(tmp_path):
    """The demo model's mask of a drawn head and shoulders, on both devices."""
    numpy, image = pytest.importorskip("numpy"), pytest.importorskip("PIL.Image")
    y, x = numpy.mgrid[0:96, 0:96]
    picture = numpy.full((96, 96, 3), (60, 90, 120), numpy.uint8)
    picture[(x - 48) ** 2 / 900 + (y - 96) ** 2 / 1200 < 1] = (40, 40, 50)
    picture[(x - 48) ** 2 / 256 + (y - 44) ** 2 / 400 < 1] = (220, 180, 150)
    image.fromarray(picture).save(tmp_path / "in.png")
    masks = []
    for device in ("cpu", "cuda"):
        portrait("image", tmp_path / "in.png", tmp_path / f"{device}.png", "--device", device, "--only-mask",
                 "--model", "drawn", "--quiet")
        masks.append(numpy.asarray(image.open(tmp_path / f"{device}.png")).astype(int))
    assert 30 < masks[0].mean() < 120, "no person, or nothing else"
    assert abs(masks[0] - masks[1]).max() <= 1
