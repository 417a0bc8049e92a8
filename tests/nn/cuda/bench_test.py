"""bench/unet_gpu.py but for the device: its C functions are those of the emulated backend, PyTorch runs on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
import unet_gpu  # noqa: E402

LIBRARY = os.environ["ORIEL_BRIDGE"]


def test_page(tmp_path):
    file = tmp_path / "page.md"
    done = subprocess.run([sys.executable, ROOT / "bench/unet_gpu.py", LIBRARY, "--size", "32", "--widths", "8", "16", "--runs",
                           "1", "--page", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert text.strip() == done.stdout.strip() and all(
        f"| {name} |" in text for name in ("Oriel fp32", "Oriel fp32, its own kernels", "PyTorch fp32"))
    assert "Convolutions: Oriel's kernels alone, without cuDNN: " in text


def test_another_network_is_noticed():
    net = unet_gpu.random_network([4, 8])
    network = unet_gpu.Network(LIBRARY, net, 8)
    image, logits = torch.rand(1, 3, 8, 8), torch.empty(1, 1, 8, 8)
    with torch.no_grad():
        assert unet_gpu.compare(network, net, image, logits, "cpu") <= 1e-5
        next(net.joined[0].parameters()).mul_(1.01)
        with pytest.raises(AssertionError, match="up_1: differs from PyTorch's up_1"):
            unet_gpu.compare(network, net, image, logits, "cpu")


def test_errors_reach_python():
    with pytest.raises(RuntimeError, match="unet: height 9; allowed for 2 levels: multiples of 2"):
        unet_gpu.Network(LIBRARY, unet_gpu.random_network([4, 8]), 9)
