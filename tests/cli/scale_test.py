"""`oriel scale`: counts by hand, times that the model gives, many ranks quickly, bad input."""

import json
import time

import pytest


def scale(oriel, *arguments):
    return json.loads(oriel("scale", *arguments, "--json").stdout)


def test_counts_by_hand(oriel):
    # 12 inputs among 3 ranks, windows of 3, 1 apart: at each cut an input goes to either side.
    forward, backward = scale(oriel, "avg:f32:12:k3s1p1:axes0", "--grid", 3)["passes"]
    assert forward["pass"] == "forward" and backward["pass"] == "backward"
    assert forward["messages"] == {"total": 4, "most": 2, "mean": pytest.approx(4 / 3, rel=1e-4)}
    assert forward["bytes"]["total"] == 16 and forward["bytes"]["most"] == 8 and forward["bytes"]["off_node"] == 1
    assert forward["halo"] == {"most": 0.5, "mean": pytest.approx(1 / 3, rel=1e-4)}
    assert backward["messages"]["total"] == 4


def test_a_node_holds_a_block(oriel):
    found = scale(oriel, "max:f32:1x1x64x64x64:k3x3x3s2p1", "--grid", "8x8x8", "--ranks-per-node", 8)
    assert found["node"] == [1, 1, 2, 2, 2] and found["ranks"] == 512
    one = scale(oriel, "max:f32:1x1x64x64x64:k3x3x3s2p1", "--grid", "8x8x8", "--ranks-per-node", 512)
    assert one["passes"][0]["bytes"]["off_node"] == 0
    assert 0 < found["passes"][0]["bytes"]["off_node"] < 0.5
    assert found["passes"][0]["bytes"]["total"] == one["passes"][0]["bytes"]["total"]


# docs/distributed.md's model by hand: windows of 3, 2 apart, in parts of e^3, whose neighbours fill nodes of 4^3.
@pytest.mark.parametrize("e, grid", [(256, 4), (64, 16), (32, 32)])
def test_the_model(oriel, e, grid):
    shape = "x".join([str(e * grid)] * 3)
    found = scale(oriel, f"max:f32:1x32x{shape}:k3x3x3s2p1", "--grid", f"{grid}x{grid}x{grid}", "--ranks-per-node", 64)
    channel = 4 * 32  # bytes of a place
    memory, network = 4e9, 25e9
    halo = channel * ((e + 1) ** 3 - e**3)
    ideal = channel * e**3 * (1 + 1 / 8) / memory
    compute = channel * ((e + 1) ** 3 + (e / 2) ** 3) / memory
    node = channel * ((4 * e + 1) ** 3 - (4 * e) ** 3) if grid > 4 else 0
    travel = 2e-6 + 7 * 0.4e-6 + node / network
    predicted = found["passes"][0]["predicted"]
    assert predicted["ideal_seconds"] == pytest.approx(ideal, rel=1e-4)
    assert predicted["blocking_seconds"] == pytest.approx(compute + 2 * 2 * halo / memory + travel, rel=0.02)
    assert predicted["overlapped_seconds"] <= predicted["blocking_seconds"]


def test_one_rank_is_ideal(oriel):
    for found in scale(oriel, "avg:f32:8x64x64:k3s2p1:axes2", "--grid", 1)["passes"]:
        assert found["messages"]["total"] == 0 and found["imbalance"] == 1
        assert found["predicted"]["blocking_efficiency"] == found["predicted"]["overlapped_efficiency"] == 1


def test_latency_lowers_efficiency(oriel):
    name = "max:f32:1x1x256x256:k3x3s2p1"
    slow, fast = (scale(oriel, name, "--grid", "8x8", "--network", n)["passes"][0]["predicted"] for n in ["1ms,1GB/s", "0s,1TB/s"])
    assert slow["blocking_efficiency"] < 0.1 < fast["blocking_efficiency"] < 1
    assert slow["overlapped_efficiency"] >= slow["blocking_efficiency"]


@pytest.mark.parametrize("name, grid", [("max:f32:1x32x1000x1000x1000:k3x3x3s2p1", "100x100x100"), ("avg:f32:100000000:k5s3:axes0", "1000000")])
def test_a_million_ranks(oriel, name, grid):
    start = time.monotonic()
    assert scale(oriel, name, "--grid", grid)["ranks"] == 1000000
    assert time.monotonic() - start < 60


def test_text(oriel):
    text = oriel("scale", "max:f32:1x32x1024x1024x1024:k3x3x3s2p1", "--grid", "64x64x64", "--ranks-per-node", 64).stdout.decode()
    assert "262144 ranks" in text and "forward\n" in text and "backward_indices\n" in text
    assert "Times are predicted, not measured" in text


@pytest.mark.parametrize("arguments, wanted", [
    (["max:f32:8x8:k2"], "--grid is required"),
    (["max:f32:8x8:k2", "--grid", "2x2x2"], "--grid: '2x2x2' has 3 numbers; allowed: at most one for each axis of 8x8"),
    (["max:f32:8x8:k2", "--grid", "0x2"], "--grid: must be >= 1, but has 0"),
    (["max:f32:8x8:k2", "--grid", "a"], "--grid: 'a' is not understood"),
    (["max:f32:8x8:k2", "--grid", "2", "--network", "2us"], "--network: '2us' is not understood; allowed: latency,bandwidth"),
    (["max:f32:8x8:k2", "--grid", "2", "--network", "2us,fast"], "--network: 'fast' is not understood; allowed: a bandwidth"),
    (["max:f32:8x8:k2", "--grid", "2", "--network", "-1us,1GB/s"], "--network: '-1us' is not understood; allowed: a time"),
    (["max:f32:8x8:k2", "--grid", "2", "--memory-bandwidth", "0GB/s"], "--memory-bandwidth: '0GB/s' is not understood"),
    (["max:f32:8x8:k9", "--grid", "2"], ""),
])
def test_bad_input(refusal, arguments, wanted):
    assert refusal("scale", *arguments, code=2).startswith("oriel scale: " + wanted)


def test_a_node_that_is_no_block(refusal):
    text = refusal("scale", "max:f32:8x8:k2", "--grid", "2x2", "--ranks-per-node", 3)
    assert text.startswith("oriel scale: --ranks-per-node: 3 ranks form no block of a grid of 2x2; allowed: ")


def test_the_old_name_says_the_new_one(oriel):
    words = ["max:f32:1x1x64x64:k3x3s2p1", "--grid", "2x2", "--json"]
    old, new = oriel("plan", *words), oriel("scale", *words)
    assert old.stdout == new.stdout and new.stderr == b""
    assert old.stderr == b"oriel plan: is now called oriel scale; the next release will not accept the old name\n"
    assert oriel("plan", "--help").stdout == oriel("scale", "--help").stdout
    assert b"plan" not in oriel("--help").stdout and b" plan " not in oriel("completion", "bash").stdout
