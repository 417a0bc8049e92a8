"""Files that Python's safetensors and torch.save write, read by Oriel and written again: every bit is there."""

import os
import pickle
import subprocess
import sys
import tarfile

import numpy
import pytest

torch = pytest.importorskip("torch")
safetensors_torch = pytest.importorskip("safetensors.torch")
safetensors_numpy = pytest.importorskip("safetensors.numpy")

COPY = os.environ["ORIEL_WEIGHTS_COPY"]
TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
         torch.uint8, torch.bool]


def copied(path, tmp_path):
    out = tmp_path / "copy.safetensors"
    result = subprocess.run([COPY, path, out], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return safetensors_torch.load_file(out)


def refused(path, tmp_path):
    result = subprocess.run([COPY, path, tmp_path / "copy.safetensors"], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith(f"{path}: ") and result.stderr.count("\n") == 1
    return result.stderr


def same(a, b):
    assert a.keys() == b.keys()
    for key, value in a.items():
        assert value.dtype == b[key].dtype and value.shape == b[key].shape, key
        assert value.contiguous().reshape(-1).view(torch.uint8).equal(b[key].contiguous().reshape(-1).view(torch.uint8)), key


def samples():
    torch.manual_seed(3)
    out = {f"of {dtype}": (torch.rand(3, 5, 2) * 100).to(dtype) for dtype in TYPES}
    return out | {"scalar": torch.tensor(2.5), "none": torch.zeros(0, 4), "ünïcode": torch.ones(1)}


def test_safetensors(tmp_path):
    path = tmp_path / "w.safetensors"
    safetensors_torch.save_file(samples(), path, {"made": "here"})
    same(samples(), copied(path, tmp_path))
    with safetensors_torch.safe_open(tmp_path / "copy.safetensors", "pt") as file:
        assert file.metadata() == {"made": "here"}


def test_safetensors_unsigned(tmp_path):
    values = {f"u{bits}": numpy.arange(7, dtype=f"uint{bits}") for bits in (16, 32, 64)}
    safetensors_numpy.save_file(values, tmp_path / "w.safetensors")
    copied(tmp_path / "w.safetensors", tmp_path)
    again = safetensors_numpy.load_file(tmp_path / "copy.safetensors")
    for key, value in values.items():
        assert again[key].dtype == value.dtype and (again[key] == value).all()


def test_truncated_safetensors(tmp_path):
    whole = safetensors_torch.save({"a": torch.ones(4), "b": torch.ones(3)})
    path = tmp_path / "w.safetensors"
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        refused(path, tmp_path)


def test_pth(tmp_path):
    path = tmp_path / "w.pth"
    torch.save(samples(), path)
    same(samples(), copied(path, tmp_path))


def test_pth_strides_and_shared_storage(tmp_path):
    whole = torch.arange(24.0).reshape(4, 6)
    state = {"whole": whole, "turned": whole.T, "part": whole[1:3, 2:5], "step": whole[:, ::2],
             "wide": whole[0, 0].expand(3, 2)}
    torch.save(state, tmp_path / "w.pth")
    same(state, copied(tmp_path / "w.pth", tmp_path))


def test_pth_of_a_module(tmp_path):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    path = tmp_path / "w.pth"
    torch.save(net.state_dict(), path)
    same(net.state_dict(), copied(path, tmp_path))
    torch.save(torch.nn.DataParallel(net).state_dict(), path)
    same(net.state_dict(), copied(path, tmp_path))
    torch.save(dict(net.named_parameters()), path)  # parameters, not tensors
    same({key: value.detach() for key, value in net.named_parameters()}, copied(path, tmp_path))
    optimizer = torch.optim.Adam(net.parameters())
    torch.save({"epoch": 4, "state_dict": net.state_dict(), "optimizer": optimizer.state_dict(), "loss": 0.25}, path)
    same(net.state_dict(), copied(path, tmp_path))


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def test_pth_executes_nothing(tmp_path):
    path = tmp_path / "w.pth"
    torch.save({"w": torch.ones(2), "x": Harmful()}, path)
    text = refused(path, tmp_path)
    assert f"asks for {os.system.__module__}.system" in text and "nothing was executed" in text
    torch.save(torch.nn.Linear(2, 2), path)  # a whole module: its class is code
    assert "asks for torch.nn.modules.linear.Linear" in refused(path, tmp_path)
    assert not os.path.exists("harmed")


def test_other_forms(tmp_path):
    path = tmp_path / "w.pth"
    torch.save({"w": torch.ones(2)}, path, _use_new_zipfile_serialization=False)
    assert "before version 1.6" in refused(path, tmp_path)
    path.write_bytes(pickle.dumps({"w": [1, 2]}))
    assert "bare pickle" in refused(path, tmp_path)
    with tarfile.open(path, "w") as archive:
        archive.add(__file__, "pickle")
    assert "tar archive" in refused(path, tmp_path)
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), path)
    assert "TorchScript" in refused(path, tmp_path)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
