"""The committed demo model: what its file says of itself is true."""

import datetime

import card
import evaluate
import export
import network
import numpy as np
import pool
import pytest
import torch
import train
from synthetic import scene

FIRST = pool.HELD_OUT_SEED + 500_000  # none of the samples that export.py measured


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
    return network.load(export.MODEL)


def test_the_file_says_what_it_is(model):
    net, about = model
    assert export.MODEL.stat().st_size <= 8 << 20
    assert "no photographs" in about["trained_on"] and about["kind"].startswith("demo")
    assert about["architecture"] == f"unet levels={net.levels} width={net.width} concat=upsampled,skip bn_eps={network.BATCH_NORM_EPS:.0e}".replace("e-05", "e-5")
    size = network.input_size(about)
    assert about["input_size"] == f"{size}x{size}" and size % 16 == 0 and size == train.phases(about["phases"])[-1][0]
    assert datetime.date.fromisoformat(about["date"]).year >= 2026
    assert int(about["steps"]) > 0 and int(about["seed"]) >= 0
    assert all(torch.isfinite(value).all() for value in net.state_dict().values())
    assert all((value > 0).all() for key, value in net.state_dict().items() if key.endswith("running_var"))


def test_other_held_out_samples_agree_with_the_stated_measures(model):
    """40 samples whose seeds neither training nor the stated measures saw."""
    net, about = model
    size = network.input_size(about)
    people = [c for c in scene.CATEGORIES if c != "nobody"]
    baseline = evaluate.MeanMask(count=80)
    rows = {"model": [], "baseline": []}
    for i in range(36):
        picture, alpha, _ = scene.sample(FIRST + i, evaluate.PICTURE_SIZE, people[i % len(people)])
        rows["model"].append(evaluate.measures(evaluate.cut(net, picture, size), alpha))
        rows["baseline"].append(evaluate.measures(baseline.alpha(*alpha.shape), alpha))
    measured = {who: evaluate.mean(values) for who, values in rows.items()}
    assert measured["model"]["iou"] > float(about["held_out_iou"]) - 0.08, measured
    assert measured["model"]["iou"] > measured["baseline"]["iou"] + 0.1, measured
    assert measured["model"]["mae"] < 0.7 * measured["baseline"]["mae"], measured
    assert measured["baseline"]["iou"] == pytest.approx(float(about["held_out_iou_of_mean_mask"]), abs=0.12)
    empty = [evaluate.cut(net, scene.sample(FIRST + 100 + i, evaluate.PICTURE_SIZE, "nobody")[0], size) for i in range(4)]
    assert np.mean([(alpha > 0.5).mean() for alpha in empty]) < 0.2


def test_the_card_says_what_the_file_says(model):
    net, about = model
    text = card.CARD.read_text(encoding="utf-8")
    assert card.facts(net, about, export.MODEL.stat().st_size) in text
    stated = next(line for line in text.splitlines() if line.startswith("| all with people |"))
    iou, of_mean_mask = (float(cell) for cell in stated.split("|")[2:4])
    assert iou == pytest.approx(float(about["held_out_iou"]), abs=6e-4)
    assert of_mean_mask == pytest.approx(float(about["held_out_iou_of_mean_mask"]), abs=6e-4)


def test_parts_of_the_card_are_filled_once():
    assert card.filled("a\n<!-- x -->\nold\n<!-- end -->\nb", {"x": "new"}) == "a\n<!-- x -->\nnew\n<!-- end -->\nb"
    with pytest.raises(ValueError, match="the part 'y' must be there once, but it is there 0 times"):
        card.filled("a", {"y": "new"})
