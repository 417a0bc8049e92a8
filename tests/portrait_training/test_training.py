"""The network and its training: names, loss, resuming, files, measures."""

import argparse

import evaluate
import network
import numpy as np
import oriel.torch
import pool
import pytest
import torch
import train
from synthetic import scene


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pool")
    pool.extend(path, 64, 4, 4)
    return path


def test_keys_are_those_of_the_source_network():
    keys = set(network.UNet(4).state_dict())
    assert len(keys) == 136
    for block, inside in [("down_1", "double_conv"), ("down_5", "max_pooling_and_conv.1.double_conv"), ("up_4", "double_conv.double_conv")]:
        assert {f"{block}.{inside}.0.weight", f"{block}.{inside}.4.running_var"} <= keys
    assert {"up_1.up.weight", "up_1.up.bias", "out.weight", "out.bias"} <= keys


def test_the_network_pools_with_oriel():
    modules = list(network.UNet(2).modules())
    assert sum(isinstance(m, oriel.torch.MaxPool2d) for m in modules) == 4
    assert not any(isinstance(m, torch.nn.MaxPool2d) and not isinstance(m, oriel.torch.MaxPool2d) for m in modules)


def test_a_few_steps_learn_a_tiny_set():
    torch.set_num_threads(1)
    samples = [scene.sample(seed, 32, "head") for seed in (1, 2, 3, 4)]
    pictures = torch.from_numpy(np.stack([s[0] for s in samples])).permute(0, 3, 1, 2)
    alphas = torch.from_numpy(np.stack([s[1] * 255 for s in samples])[:, None]).to(torch.uint8)
    training = train.Training(4, seed=1, threads=2)
    losses = [training.step(pictures, alphas, 0.03) for _ in range(40)]
    assert np.mean(losses[-3:]) < 0.75 * np.mean(losses[:3]), losses


def quiet(*_, **__):
    pass


def options(folder, state, phases):
    return argparse.Namespace(pool=folder, folder=state, phases=phases, width=2, seed=3, workers=0, threads=2)


def test_training_goes_on_where_it_stopped(folder, tmp_path, monkeypatch):
    torch.set_num_threads(1)
    plan = "32:2:2:1e-3,48:2:2:1e-3"
    whole = train.run(options(folder, tmp_path / "whole", plan), log=quiet)
    step = train.Training.step

    def stops(self, *words):
        if self.done == 3:
            raise KeyboardInterrupt
        return step(self, *words)

    monkeypatch.setattr(train.Training, "step", stops)
    with pytest.raises(KeyboardInterrupt):
        train.run(options(folder, tmp_path / "parts", plan), log=quiet)
    monkeypatch.undo()
    parts = train.run(options(folder, tmp_path / "parts", plan), log=quiet)
    assert whole.done == parts.done == 4
    for kind in ("net", "smooth"):
        first, second = getattr(whole, kind).state_dict(), getattr(parts, kind).state_dict()
        assert all(torch.equal(value, second[key]) for key, value in first.items()), kind


def test_samples_follow_from_seed_and_step(folder):
    first, again = ([b for b in train.Samples(folder, 5, 0, 32, 2, start, 3)] for start in (0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first[1], again[0]))
    assert not torch.equal(first[0][0], first[1][0])


@pytest.mark.parametrize(("text", "message"), [
    ("64:8", "a phase must be SIZE:BATCH:STEPS:RATE, but it is '64:8'"),
    ("60:8:5:0.1", "size must be a multiple of 16, batch and steps >= 1, the rate between 0 and 1, but it is '60:8:5:0.1'"),
    ("64:8:5:2", "the rate between 0 and 1, but it is '64:8:5:2'")])
def test_bad_phases_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        train.phases(text)


def test_a_file_holds_the_network(tmp_path):
    net = network.UNet(3, levels=3).eval()
    file = tmp_path / "net.safetensors"
    network.save(file, net, {"seed": 4})
    loaded, metadata = network.load(file)
    assert (loaded.width, loaded.levels, metadata) == (3, 3, {"seed": "4"})
    x = torch.rand(1, 3, 16, 16)
    with torch.inference_mode():
        assert torch.equal(net(x), loaded(x))
    assert not list(tmp_path.glob("*.part"))
    data = file.read_bytes()
    file.write_bytes(data[:100])
    with pytest.raises(ValueError, match="is not a whole safetensors file"):
        network.load(file)
    file.write_bytes(data.replace(b'"out.bias"', b'"our.bias"'))
    with pytest.raises(ValueError, match=r"another network's: missing \['out.bias'\], unknown \['our.bias'\]"):
        network.load(file)


def test_measures_of_known_masks():
    alpha = np.zeros((40, 40), np.float32)
    alpha[10:30, 10:30] = 1
    assert evaluate.measures(alpha, alpha) == {"iou": 1.0, "boundary": 0.0, "mae": 0.0}
    larger = np.zeros_like(alpha)
    larger[8:32, 8:32] = 1
    found = evaluate.measures(larger, alpha)
    assert found["iou"] == pytest.approx(400 / 576) and found["mae"] == pytest.approx(176 / 1600)
    assert 2.0 <= found["boundary"] < 2.2
    nobody = evaluate.measures(np.zeros_like(alpha), np.zeros_like(alpha))
    assert np.isnan(nobody["iou"]) and np.isnan(nobody["boundary"]) and nobody["mae"] == 0
    assert np.isnan(evaluate.measures(alpha, np.zeros_like(alpha))["iou"])
    counted = np.ones(alpha.shape, bool)
    counted[:, :12] = counted[:, 28:] = False
    assert evaluate.measures(larger, alpha, counted)["iou"] == pytest.approx(20 / 24)


def test_cut_answers_in_the_picture_s_own_size():
    net = network.UNet(2).eval()
    for shape in ((37, 80, 3), (90, 20, 3), (1, 1, 3)):
        alpha = evaluate.cut(net, np.zeros(shape, np.uint8), 32)
        assert alpha.shape == shape[:2] and 0 <= alpha.min() <= alpha.max() <= 1
