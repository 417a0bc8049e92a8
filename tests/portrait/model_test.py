"""Networks of weights files in the chain: weights set by hand so that the mask must be a known function of the colours."""

import numpy as np
import pytest
from conftest import disc, seen

save_file = pytest.importorskip("safetensors.numpy").save_file

WIDTHS = (4, 4, 4)


def double_conv(weights, name, inputs, outputs, passes):
    """Two convolutions that pass input channels `passes` on to outputs 0, 1, 2; batch norms that change nothing."""
    for layer, channels, chosen in ((0, inputs, passes), (3, outputs, (0, 1, 2))):
        kernel = np.zeros((outputs, channels, 3, 3), np.float32)
        for to, of in enumerate(chosen):
            kernel[to, of, 1, 1] = 1
        weights[f"{name}.{layer}.weight"] = kernel
        weights[f"{name}.{layer}.bias"] = np.zeros(outputs, np.float32)
        norm = f"{name}.{layer + 1}"
        weights[f"{norm}.weight"] = np.full(outputs, np.sqrt(1 + 1e-5), np.float32)
        weights[f"{norm}.bias"] = weights[f"{norm}.running_mean"] = np.zeros(outputs, np.float32)
        weights[f"{norm}.running_var"] = np.ones(outputs, np.float32)
        weights[f"{norm}.num_batches_tracked"] = np.array(1, np.int64)


def network(head, bias):
    """A U-Net whose logit is head . (R, G, B) + bias of the same pixel: the skip of the first level is all that counts."""
    weights = {}
    double_conv(weights, "down_1.double_conv", 3, WIDTHS[0], (0, 1, 2))
    for level in (1, 2):
        double_conv(weights, f"down_{level + 1}.max_pooling_and_conv.1.double_conv", WIDTHS[level - 1], WIDTHS[level], (0, 1, 2))
    for up in (1, 2):
        own, below = WIDTHS[2 - up], WIDTHS[3 - up]
        weights[f"up_{up}.up.weight"] = np.zeros((below, own, 2, 2), np.float32)
        weights[f"up_{up}.up.bias"] = np.zeros(own, np.float32)
        double_conv(weights, f"up_{up}.double_conv.double_conv", 2 * own, own, (own, own + 1, own + 2))
    weights["out.weight"] = np.array([*head, 0], np.float32).reshape(1, 4, 1, 1)
    weights["out.bias"] = np.array([bias], np.float32)
    return weights


@pytest.fixture
def colour_model(tmp_path):
    """1 where green is below a half, 0 where it is above."""
    save_file(network((0, -40, 0), 20), tmp_path / "green.safetensors", metadata={"input_size": "128x128"})
    return "green.safetensors"


@pytest.mark.parametrize("height, width", [(180, 240), (240, 100), (128, 128), (33, 400)])
def test_the_network_sees_the_picture_where_it_is(portrait, save, load, colour_model, height, width):
    alpha = disc(height, width, centre=(height * 0.4, width * 0.6), radius=min(height, width) * 0.3)
    portrait("image", save("in.png", seen(alpha)), "out.png", "--model", colour_model)
    assert np.abs(load("out.png")[..., 3] / 255 - alpha).mean() < 0.012


def test_colours_come_in_their_order(portrait, save, load, tmp_path):
    save_file(network((40, 0, -40), 0), tmp_path / "red.safetensors")
    alpha = disc(120, 160)
    save("in.png", seen(alpha, person=(200, 90, 20), behind=(20, 90, 200)))
    portrait("image", "in.png", "out.png", "--model", "red.safetensors")
    assert np.abs(load("out.png")[..., 3] / 255 - alpha).mean() < 0.012


def test_frames_at_once_are_what_they_are_alone(portrait, colour_model):
    data = np.stack([seen(disc(72, 96, radius=20, centre=(36, 30 + 3 * i))) for i in range(12)]).tobytes()
    out = [portrait("pipe", "--size", "96x72", "--model", colour_model, "--reproducible", "-t", t, input=data).stdout for t in (1, 4)]
    assert len(out[0]) == 12 * 96 * 72 * 4
    assert out[0] == out[1]


def test_reproducible_runs_give_the_same_bytes(portrait, save, tmp_path):
    """The demo model, whose algorithms `trial` may choose differently in each run."""
    noise = np.random.default_rng(2).integers(0, 60, (300, 260, 3), dtype=np.uint8)
    save("in.png", np.clip(seen(disc(300, 260)).astype(int) + noise, 0, 255).astype(np.uint8))
    results = set()
    for run in range(4):
        portrait("image", "in.png", f"{run}.png", "--reproducible", "--only-mask", "--no-person", "keep", "--threads", 2)
        results.add((tmp_path / f"{run}.png").read_bytes())
    assert len(results) == 1


def test_reproducible_networks_time_nothing(portrait, save):
    """What makes runs differ is left out, so no luck is needed for the test above."""
    save("in.png", seen(disc(300, 260)))
    for options, timed in (((), True), (("--reproducible",), False)):
        done = portrait("image", "in.png", "out.png", "--no-person", "keep", *options, env={"ONEDNN_VERBOSE": "2", "DNNL_VERBOSE": "2"})
        created = done.stdout.decode().count(",create:")
        runs = done.stdout.decode().count(",exec,")
        assert (runs > 2 * 40) == timed, (runs, created)


def test_bad_models_are_one_line_each(refusal, save, tmp_path):
    save("in.png", seen(disc(40, 50)))
    (tmp_path / "text.safetensors").write_text("nothing of the kind")
    assert "text.safetensors" in refusal("image", "in.png", "out.png", "--model", "text.safetensors")
    assert "none.safetensors" in refusal("image", "in.png", "out.png", "--model", "none.safetensors")
    weights = network((0, 0, 0), 0)
    del weights["up_1.up.weight"]
    save_file(weights, tmp_path / "short.safetensors")
    assert "up_1.up.weight" in refusal("image", "in.png", "out.png", "--model", "short.safetensors")
    save_file(network((0, 0, 0), 0), tmp_path / "size.safetensors", metadata={"input_size": "100"})
    assert ("its input_size is '100'; allowed: a multiple of 16 from 16 to 4096"
            in refusal("image", "in.png", "out.png", "--model", "size.safetensors"))
