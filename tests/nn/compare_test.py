"""oriel-portrait compare: blocks beside PyTorch's, for random weights and for files of both sets of key names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "apps/portrait/compare"))
from unet import MILESIAL, SOURCE, UNet  # noqa: E402

PORTRAIT = os.environ["ORIEL_PORTRAIT"]


def compare(*options, fails=0):
    python = [] if "--python" in options else ["--python", sys.executable]
    command = [PORTRAIT, "compare", *python, "--threads", "2", *map(str, options)]
    result = subprocess.run(command, capture_output=True, text=True)
    if fails:
        assert result.returncode == fails, result.stdout
        return result.stderr
    assert result.returncode == 0, result.stderr
    return result.stdout


def expect_close(report, levels, most=1e-5):
    names = [f"down_{i + 1}" for i in range(levels)] + [f"up_{i + 1}" for i in range(levels - 1)] + ["out"]
    assert [block["block"] for block in report["blocks"]] == names
    for block in report["blocks"]:
        assert block["relative"] <= most, block
        assert block["largest"] > 0.1
    assert [b["copies"] for b in report["blocks"]] == [1] + [0] * (len(names) - 2) + [1]


def test_random_weights():
    report = json.loads(compare("--widths", 16, 32, 64, 128, 256, "--size", 128, "--runs", 1, "--json"))
    expect_close(report, 5)
    assert report["blocks"][-1]["mean"] <= 5e-5
    assert report["library"].startswith("oneDNN ")
    assert all(step["run_milliseconds"] > 0 for step in report["steps"])
    assert [len(t["seconds"]) for t in report["times"]] == [1, 1]
    assert report["times"][1]["engine"].startswith("PyTorch ")
    memory = report["memory"]
    assert memory["lower_bound"] <= memory["activations"] <= 1.1 * memory["lower_bound"]
    assert any("winograd" in step["algorithm"] for step in report["steps"] if step["layer"] == "conv2") or not any(
        "avx512" in step["algorithm"] for step in report["steps"])


def random_network(milesial, seed):
    torch.manual_seed(seed)
    net = UNet(3, [8, 16, 24], 2, milesial, bias=not milesial)
    for key, value in net.state_dict().items():
        if key.endswith("running_var"):
            value.uniform_(0.5, 2)
        elif key.endswith("running_mean"):
            value.normal_(0, 0.3)
    return net


def own_keys(net, rules):
    """The state dictionary with a file's key names."""
    names = {"down.": ("down_{n}.max_pooling_and_conv.1.double_conv", "down{m}.maxpool_conv.1.double_conv"),
             "up.": ("up_{n}.up", "up{n}.up"), "joined.": ("up_{n}.double_conv.double_conv", "up{n}.conv.double_conv")}
    which = 0 if rules is SOURCE else 1
    out = {}
    for key, value in net.state_dict().items():
        head, rest = key.split(".", 1)
        if head == "out":
            out[("out.", "outc.conv.")[which] + rest] = value
            continue
        number, rest = rest.split(".", 1)
        pattern = names[head + "."][which]
        if key.startswith("down.0."):
            pattern = ("down_1.double_conv", "inc.double_conv")[which]
        out[pattern.format(n=int(number) + 1, m=number) + "." + rest] = value
    return out


@pytest.mark.parametrize("form", ["pth", "safetensors"])
@pytest.mark.parametrize("rules", [SOURCE, MILESIAL], ids=["source", "milesial"])
def test_files(form, rules, tmp_path):
    net = random_network(rules is MILESIAL, 4)
    path = tmp_path / f"net.{form}"
    state = own_keys(net, rules)
    if form == "pth":
        torch.save({"state_dict": {f"module.{key}": value for key, value in state.items()}}, path)
    else:
        from safetensors.torch import save_file

        save_file(state, path)
    report = json.loads(compare("--weights", path, "--size", 32, "--runs", 0, "--json"))
    assert report["widths"] == [8, 16, 24]
    assert report["parameters"] == sum(p.numel() for p in net.parameters())
    expect_close(report, 3)


def test_text():
    text = compare("--widths", 16, 32, "--size", 32, "--runs", 2)
    for part in ("down_1", "up_1", "mean diff", "median of 2 runs, 2 threads", "times Oriel's", "lower bound", "convolutions: oneDNN", "shares of a run:", " pools "):
        assert part in text
    assert text.splitlines()[8].split() == ["total", "2"]


@pytest.mark.parametrize("layout", [[], ["--channels-last"]], ids=["picked", "channels-last"])
def test_bfloat16(layout):
    report = subprocess.run([PORTRAIT, "compare", "--python", sys.executable, "--widths", "16", "32", "64", "--size", "64", "--runs",
                             "0", "--json", "--precision", "bf16", *layout], capture_output=True, text=True)
    if "bf16 needs a CPU with AVX-512" in report.stderr:
        pytest.skip("this CPU runs no networks in bf16")
    expect_close(json.loads(report.stdout), 3, most=0.03)


def test_bad_input(tmp_path):
    assert "/no/such/file: cannot open" in compare("--weights", "/no/such/file", fails=1)
    assert "multiples of 16" in compare("--size", 40, "--widths", 4, 4, 4, 4, 4, fails=1)
    assert "int8 not in {fp32,bf16}" in compare("--precision", "int8", fails=2)
    assert "cannot start" in compare("--widths", 4, 4, "--size", 4, "--python", "/no/python", fails=1)
    assert "engine 'tvm'; allowed" in compare("--widths", 4, 4, "--size", 4, "--engines", "tvm", fails=1)
    former = compare("--widths", 4, 4, "--size", 4, "--others", "tvm", fails=1)
    assert "engine 'tvm'; allowed" in former and "--others is now called --engines; the next release will not accept the old name" in former
    (tmp_path / "net.pth").write_bytes(b"PK\x03\x04 and nothing more")
    assert "not a zip archive that can be read" in compare("--weights", tmp_path / "net.pth", fails=1)
