"""`oriel explain` of pools over valid taps: footprints, masks, nodata, what an output computes, too few taps."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

X = np.array([[4, 4, 6, 8, 0, 1, 7], [8, 2, 2, 7, 3, 2, 7], [2, 3, 5, 4, 0, 0, 7], [6, 7, 4, 7, 2, 4, 7], [1, 2, 1, 4, 8, 1, 3], [3, 8, 1, 4, 2, 0, 6]], "u1")
MASK = np.ones((6, 7), bool)
MASK[1, 2] = MASK[2, 3] = False

PLANE = """\
       p  0  1  2  3  4  5  6  p
    p
    0     -  #  #  #  -  -  -
    1     -  #  ?  #  -  -  -
    2     -  #  #  ?  -  -  -
    3     -  -  -  -  -  -  -
    4     -  -  -  -  -  -  -
    5     -  -  -  -  -  -  -
    p
  Output 1x2 is 5, the median of the 7 valid of 9 taps: rank 3 (lower).

A tap is valid if it is an input, the mask is not 0 there and its value is not 0 (nodata).
If no tap is valid, the result is 0 (nodata).
"""


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "mask.npy", MASK)
    np.save(tmp_path / "line.npy", np.array([1, 0, 1, 1, 0, 0, 0, 1, 1], "u1"))


def text_of(oriel, *arguments):
    return oriel("explain", *arguments).stdout.decode()


def test_the_valid_taps_of_a_plane(oriel, files):
    text = text_of(oriel, "median:u8:6x7:k3s1p1:nodata0", "--mask", "mask.npy", "--input", "x.npy", "--output", "1x2", "--ascii")
    assert PLANE in text and "? not valid" in text and "Strategy: " in text


def test_the_result_told_is_the_result(oriel, files):
    """Each output's sentence has the value that NumPy finds."""
    for row, column in np.ndindex(3, 3):
        taps = X[2 * row:2 * row + 2, 2 * column:2 * column + 2]
        valid = np.sort(taps[MASK[2 * row:2 * row + 2, 2 * column:2 * column + 2]])
        text = text_of(oriel, "median:u8:6x7:k2", "--mask", "mask.npy", "--input", "x.npy", "--output", f"{row}x{column}")
        taps_text = "its 4 taps" if len(valid) == 4 else f"the {len(valid)} valid of 4 taps"
        assert f"Output {row}x{column} is {valid[(len(valid) - 1) // 2]}, the median of {taps_text}: rank {(len(valid) - 1) // 2} (lower)." in text


def test_valid_taps_along_one_axis(oriel, files):
    text = text_of(oriel, "median_mean:f32:9:k3s2p1:min2", "--mask", "line.npy", "--ascii", "--output", "2")
    rows = [line[14:47].split() for line in text.splitlines() if line.startswith("  output ")]
    assert rows == [["o", "#", "?"], ["?", "#", "#"], ["#", "?", "?"], ["?", "?", "#"], ["#", "#", "o"]]
    assert "Output 2 is nan: 1 of its 3 taps is valid, but 2 are needed (min_count)." in text
    assert "If fewer than 2 taps are valid (min_count), the result is nan." in text


def test_footprints_are_drawn(oriel):
    text = text_of(oriel, "max:u8:6x7:k5s1p2:diamond2", "--output", "2x2", "--ascii")
    at = text.index("output 2x2: ")
    drawn = [line.split()[1:6] for line in text[at:].splitlines()[4:9]]
    assert [row.count("#") for row in drawn] == [1, 3, 5, 3, 1]
    assert "not in the footprint" in text and "Output 2x2 is the largest of its 13 taps." in text
    corner = text_of(oriel, "max:u8:6x7:k5s1p2:diamond2", "--output", "0x0")
    assert "Output 0x0 is the largest of the 6 existing of 13 taps." in corner
    assert "output 1x1x1: axis 1 down, axis 2 across, axis 0 at 1" in text_of(oriel, "min:f32:3x3x3:k3s1p1:ball1", "--output", "1x1x1")


@pytest.mark.parametrize("name, wanted", [
    ("median:f32:9:k9", "the median of its 9 taps: rank 4 (lower)."),
    ("median_higher:f32:4:k4", "rank 2 (higher)."),
    ("median_mean:f32:4:k4", "the mean of ranks 1 and 2 (mean)."),
    ("q0.9:f32:5:k5", "the quantile 0.9 of its 5 taps: rank 3 (lower)."),
    ("q0.9linear:f32:5:k5", "rank 3 and 0.6 of the way to rank 4 (linear)."),
    ("q0.9nearest:f32:5:k5", "rank 4 (nearest)."),
    ("q0.9scipy:f32:5:k5", "rank 4 (scipy)."),
    ("q0.9inverted_cdf:f32:5:k5", "rank 4 (inverted_cdf)."),
    ("q0.25,0.75:f32:5:k5", "has the quantiles of its 5 taps: 0.25 is rank 1 (lower), 0.75 is rank 3 (lower)."),
    ("rank-2:f32:5:k5", "one of its 5 taps, sorted: rank 3, 2 from the end."),
    ("mode_highest:u8:4:k4:ignore0", "the most frequent value of its 4 taps, of several the highest; 0 only if there is no other."),
    ("var:u8:4:k4:ddof1", "the variance of its 4 taps, divided by 4 - 1."),
    ("std:f32:2:k2:ddof1:fill-1", "If fewer than 2 taps are valid (std), the result is -1 (fill)."),
    ("mode:u8:4:k4:weights", "the weighted most frequent value of the valid ones of its 4 taps"),
    ("avg:f32:5:k3s1p1:mask", "minus those that are not valid."),
    ("avg:f32:4:k2:exclude:weights", "An average divides by the sum of the weights of the valid taps."),
    ("lse2sum:f32:4:k4", "the logarithm of the sum of exponentials of its 4 taps (sharpness 2)."),
    ("count:f32:4:k2:omit", "Output 0 is the number of the valid ones of its 2 taps."),
    ("centre:f32:4:k3s1p1", "Output 3 is the one in the middle of the 2 existing of 3 taps."),
    ("centre:f32:6:k3s3p3", "Output 0 is nan: the tap in the middle is not valid."),
    ("median:f32:4:k2s2p4", "Window 0 reads no input at all: the result is that of too few valid taps."),
    ("all:bool:4:k2s2p4", "Window 0 reads no input at all: the result is true."),
    ("max:u8:8:k4:frac0.5:nodata9", "If fewer than 0.5 of those that exist are valid (min_fraction), the result is 9 (nodata)."),
])
def test_sentences(oriel, name, wanted):
    output = ["--output", "0"] if name.startswith("centre:f32:6") else []
    assert wanted in text_of(oriel, name, *output)


def test_other_pools_have_no_such_sentences(oriel):
    assert "valid" not in text_of(oriel, "max:f32:6x7:k3s1p1") and "Strategy" not in text_of(oriel, "avg:f32:6:k2")
    assert "valid_taps" not in json.loads(text_of(oriel, "max:f32:6x7:k3s1p1", "--json"))


def test_the_picture_has_every_mark(oriel, files, tmp_path):
    oriel("explain", "max:u8:6x7:k3s1p1:diamond1:nodata0", "--mask", "mask.npy", "--input", "x.npy", "--output", "1x2", "--svg", "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    classes = [element.get("class") for element in root.iter()]
    assert classes.count("absent") == 4 + 1 and classes.count("invalid") == 1 + 1  # the window's and the legend's
    text = " ".join(element.text or "" for element in root.iter())
    assert "Output 1x2 is 7, the largest of the 4 valid of 5 taps." in text and "not in the footprint" in text


def test_json_lists_the_taps_of_an_output(oriel, files):
    arguments = ["median:u8:6x7:k3s1p1:disk1:min5:fill250", "--mask", "mask.npy", "--output", "1x1", "--json"]
    valid_taps = json.loads(text_of(oriel, *arguments))["valid_taps"]
    assert valid_taps["footprint"] == {"shape": [3, 3], "taps": [0, 1, 0, 1, 1, 1, 0, 1, 0]}
    assert valid_taps["fill"] == "250 (fill)" and valid_taps["result_dtype"] == "u8" and valid_taps["strategy"]
    result = valid_taps["result"]
    assert (result["output"], result["taps"], result["inputs"], result["valid"]) == ([1, 1], 5, 5, 4)
    assert result["invalid_coordinates"] == [[1, 2]] and result["input_coordinates"] == [[0, 1], [1, 0], [1, 1], [2, 1]]
    assert result["sentence"] == "Output 1x1 is 250 (fill): 4 of its 5 taps are valid, but 5 are needed (min_count)."
    unknown = json.loads(text_of(oriel, "median:u8:4:k4:nodata0", "--json"))["valid_taps"]["result"]
    assert unknown["valid"] is None and unknown["sentence"] == "Output 0 is the median of the valid ones of its 4 taps (lower)."


@pytest.mark.parametrize("arguments, wanted", [
    (["median:u8:6x6:k3", "--mask", "mask.npy"], "--mask: must have the shape that the name says, 6x6, but has 6x7"),
    (["median:u8:6x7:k3", "--input", "mask.npy"], "--input: must have the dtype that the name says, u8, but is bool"),
    (["median:u8:6x7:k3", "--mask", "x.txt"], "x.txt"),
])
def test_files_that_do_not_fit(refusal, files, arguments, wanted):
    assert wanted in refusal("explain", *arguments)


def test_the_strategy_of_a_gradient(oriel):
    for name in ("median:f32:6x6:k3s1:backward", "max:f32:6x6:k3s1:nodata0:backward", "sum:f32:6x6:k2:mask:backward"):
        plan = json.loads(text_of(oriel, name, "--strategy", "--json"))
        assert plan["strategy"] == "gathered" and "gradient" in plan["why"] and plan["bytes_read"] >= 2 * 36
    masked = json.loads(text_of(oriel, "sum:f32:6x6:k2:mask:backward", "--strategy", "--json"))
    assert (masked["bytes_read"], masked["bytes_written"]) == (36 * 4 + 9 * 4 + 36, 36 * 4)


@pytest.mark.parametrize("shape", [(0, 6, 6), (2, 0, 6, 6)])
def test_files_without_elements(oriel, tmp_path, shape):
    """There is no first plane whose elements could be looked at; the windows are drawn all the same."""
    np.save(tmp_path / "x.npy", np.zeros(shape, "f4"))
    np.save(tmp_path / "mask.npy", np.zeros(shape, "u1"))
    name = f"avg:f32:{'x'.join(map(str, shape))}:k3x3s2p1"
    for words in [[], ["--json"], ["--svg", "a.svg"]]:
        done = oriel("explain", name, "--input", "x.npy", "--mask", "mask.npy", *words)
        assert done.stdout
