"""`oriel explain`: the drawing, its sentences, the picture, the JSON."""

import json
import os
import pty
import subprocess
import xml.etree.ElementTree as ET

import pytest

from conftest import COMMAND

CEIL = """\
max:f32:6:k3s2:ceil
max pool over axis 0: f32 6 -> 3

axis 0: 6 inputs -> 3 outputs
  outputs = ceil((inputs + padding before + after - span) / stride) + 1 = ceil((6 + 0 + 0 - 3) / 2) + 1 = 3
  span = dilation * (kernel - 1) + 1 = 1 * (3 - 1) + 1 = 3

  input         0  1  2  3  4  5      inputs
  output 0      #  #  #               3
  output 1            #  #  #         3
  output 2                  #  #  x   2 of 3    partial
  ceil adds window 2, which is partial: 1 of its 3 taps lies beyond the padded input, 2 are inputs. Floor would give 2 outputs.

# input read   x tap beyond padding (ceil)
"""


def text_of(oriel, *arguments):
    return oriel("explain", *arguments).stdout.decode()


def test_a_ceil_question_at_a_glance(oriel):
    assert text_of(oriel, "max:f32:6:k3s2:ceil", "--ascii").replace("×", "x") == CEIL


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("max:f32:6:k3s2", "Input 5 is never read: no whole window fits there. ceil would add a partial one and give 3 outputs."),
        ("max:f32:7:k3s2:ceil", "ceil changes nothing here: floor gives 3 outputs too."),
        ("max:f32:5:k1s3p2:ceil", "ceil rounds up to 4 outputs, but window 3 would start at coordinate 7, beyond the last input: it is dropped."),
        ("max:f32:7:k3s2", "Every tail input is read; ceil would change nothing."),
        ("max:f32:9:k3s2p1d2", "\n  ceil would change nothing."),
        ("max:f32:3:k2s1p0+2", "Every tail input is read; ceil would drop the last window, which starts after the last input, and give 3 outputs."),
        ("avg:f32:7:k2s1:same", "same padding: 0 before, 1 after."),
        ("sum:f32:20:k2s5", "9 inputs between windows or taps are never read."),
        ("sum:f32:20:k2s5", "Inputs 17 to 19 are never read; ceil would not change that."),
        ("max:f32:4:k2s2p4", "Window 0 reads no input at all: the result is the lowest value of the type."),
        ("avg:f32:5:k3p1s1", "An average divides by the taps inside the padded input"),
        ("avg:f32:5:k3p1s1:exclude", "An average divides by the taps that are inputs."),
        ("avg:f32:5:k3p1s1:div7", "Every average divides by 7, as given."),
        ("avg:f32:10:out4", "window o reads inputs floor(o * 10 / 4) to ceil((o + 1) * 10 / 4) - 1"),
        ("avg:f32:10:out4", "An average divides by the inputs that it reads."),
        ("max:f32:10:global", "one window over all 10 inputs: 1 output"),
    ],
)
def test_sentences(oriel, name, wanted):
    assert wanted in text_of(oriel, name)


def test_dilation_padding_and_divisors_are_drawn(oriel):
    text = text_of(oriel, "avg:f32:6:k2s2d3p1")
    assert "  output 0      □  ·  ·  ■               1 of 2    2\n" in text
    assert "  output 1            ■  ·  ·  ■         2         2\n" in text
    assert "  never read       ✗              ✗\n" in text


def test_the_plane_of_an_output(oriel):
    text = text_of(oriel, "avg:f32:1x1x6x8:k3x3s2p1:ceil", "--output", "3x4")
    assert "output 3x4: axis 2 down, axis 3 across" in text
    assert "It reads 1 * 1 = 1 input; the window has 9 taps; the sum is divided by 4." in text
    assert "    5     ╌  ╌  ╌  ╌  ╌  ╌  ╌  ■  □  ×" in text


def test_large_axes_are_shortened_and_full_shows_all(oriel):
    short = text_of(oriel, "max:f32:1x1x500:k3s2:axes2")
    assert short.count("\n") < 30 and "output 248" in short and "output 100 " not in short
    assert "output 100 " in text_of(oriel, "max:f32:1x1x500:k3s2:axes2", "--full")
    huge = text_of(oriel, "max:f32:1x1x9000000000000:k1000000s999999p5:axes2")
    assert huge.count("\n") < 40
    assert b"--full: shows at most" in oriel("explain", "max:f32:1x1x9000000000000:k3:axes2", "--full", code=1).stderr


@pytest.mark.parametrize("name", ["max:f32:6:k3s2:ceil", "avg:f32:1x1x6x8:k3x3s2p1:ceil", "sum:f32:2x1x9x50:k2x3s2x4d3x2:same",
                                  "max:f32:8x64x112x112:k3x3s2p1", "avg:f32:1x1x10x500:out4x3", "lp2:u8:4x5x6:global:axes2", "min:f32:1x1x200:k31s5p15:axes2"])
def test_the_picture_is_valid_and_holds_every_mark(oriel, tmp_path, name):
    oriel("explain", name, "--svg", "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    width, height = int(root.get("width")), int(root.get("height"))
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(rect.get("x", 0)) + float(rect.get("width")) <= width
        assert float(rect.get("y", 0)) + float(rect.get("height")) <= height
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert name in texts


def test_the_picture_on_standard_output(oriel):
    assert oriel("explain", "max:f32:6:k3s2", "--svg", "-").stdout.startswith(b"<svg")


def test_json_lists_every_window(oriel):
    problem = json.loads(text_of(oriel, "avg:f32:6:k3s2p1:ceil", "--json"))
    axis = problem["axes"][0]
    assert (axis["inputs"], axis["outputs"]) == (6, 4)
    assert axis["windows"][3] == {"output": 3, "start": 5, "taps": 3, "inputs": 1, "padding": 1, "beyond": 1, "divisor": 2,
                                  "input_coordinates": [5], "padding_coordinates": [6], "beyond_coordinates": [7]}
    assert json.loads(oriel("explain", "max:f32:1x1x8x8:k2x2", "--json").stdout)["output_shape"] == [1, 1, 4, 4]


def test_json_has_what_a_drawing_needs(oriel):
    problem = json.loads(text_of(oriel, "avg:f32:20:k2s5p1+0d2:exclude", "--json"))
    assert (problem["op"], problem["dtype"], problem["padding"], problem["ceil_mode"]) == ("avg", "f32", "given", False)
    assert problem["headline"] == "avg pool over axis 0: f32 20 -> 4" and not problem["count_include_pad"]
    assert problem["divisor_rule"] == "An average divides by the taps that are inputs."
    axis = problem["axes"][0]
    assert axis["window"] == {"kernel": 2, "stride": 5, "padding_before": 1, "padding_after": 0, "dilation": 2, "span": 3}
    assert axis["size"][1] == "span = dilation * (kernel - 1) + 1 = 2 * (2 - 1) + 1 = 3"
    reads = [i for window in axis["windows"] for i in window["input_coordinates"]]
    assert reads == [1, 4, 6, 9, 11, 14, 16] and axis["windows"][0]["padding_coordinates"] == [-1]
    assert axis["unread_inputs"] == [i for i in range(20) if i not in reads]


def test_json_lists_no_coordinates_of_long_axes(oriel):
    for name, windows in (("max:f32:100001:k50001s50000", 2), ("max:f32:1000:k101s1p1000", 2900)):
        axis = json.loads(text_of(oriel, name, "--json"))["axes"][0]
        assert len(axis["windows"]) == windows and "unread_inputs" not in axis and "input_coordinates" not in axis["windows"][0]
    axis = json.loads(text_of(oriel, "lpinf:f32:4x10:out3:axes1", "--json"))["axes"][0]
    assert axis["window"] is None and [window["input_coordinates"] for window in axis["windows"]] == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]


def test_the_plan_says_bytes_and_operations(oriel):
    plan = json.loads(text_of(oriel, "max:f32:2x3x8x8:k2x2", "--strategy", "--json"))
    assert plan["strategy"] and plan["why"] and plan["target"]
    assert (plan["bytes_read"], plan["bytes_written"]) == (2 * 3 * 64 * 4, 2 * 3 * 16 * 4)
    assert plan["combinations"] == 2 * 3 * (4 * 8 + 4 * 4)  # one for each column of 4 rows, one for each of 16 results
    assert plan["direct_combinations"] == 2 * 3 * 16 * 3
    text = text_of(oriel, "max:f32:2x3x8x8:k2x2", "--strategy")
    assert plan["strategy"] in text and "1536 read, 384 written" in text


@pytest.mark.parametrize("name, read, written", [
    ("max:f32:4x6:k2:indices", 96, 24 + 48),
    ("max:f32:4x6:k2:backward", 96 + 24, 96),
    ("avg:f32:4x6:k2:backward", 24, 96),
    ("avg:f32:4x6:k2:omit:backward", 96 + 24, 96),
])
def test_the_plan_counts_every_operand(oriel, name, read, written):
    plan = json.loads(text_of(oriel, name, "--strategy", "--json"))
    assert (plan["bytes_read"], plan["bytes_written"]) == (read, written)


def on_a_terminal(arguments, env):
    """What the command writes when standard output is a terminal."""
    main, child = pty.openpty()
    process = subprocess.Popen([COMMAND, *arguments], stdout=child, env=dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8", **env))
    os.close(child)
    text = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(main)
    assert process.wait(timeout=20) == 0
    return text


def test_colours_only_on_a_terminal_that_wants_them(oriel):
    arguments = ["explain", "max:f32:6:k3s2:ceil"]
    assert b"\x1b[" in on_a_terminal(arguments, {"NO_COLOR": ""})
    assert b"\x1b[" not in on_a_terminal(arguments, {"NO_COLOR": "1"})
    assert "\x1b[" not in text_of(oriel, "max:f32:6:k3s2:ceil")


def test_an_axis_divided_among_ranks(oriel, refusal, tmp_path):
    """The example of docs/distributed.md by hand: rank 2 owns nothing, rank 1 makes nothing."""
    text = text_of(oriel, "max:f32:10:k3s2p1:axes0", "--ranks", "0,5,6,6,10", "--svg", "halo.svg")
    assert "axis 0 divided among 4 ranks" in text
    rows = {line.split("  ")[1].strip(): line for line in text.splitlines() if line.startswith("  rank ")}
    assert rows["rank 0"].count("■") == 5 and rows["rank 0"].count("○") == 1
    assert rows["rank 0"].endswith("makes outputs 0 to 2, receives input 5 from rank 1")
    assert rows["rank 1"].endswith("makes no output") and rows["rank 2"].count("■") == 0
    assert rows["rank 3"].endswith("makes outputs 3 to 4, receives input 5 from rank 1")
    svg = (tmp_path / "halo.svg").read_text()
    assert svg.count('class="owned"') == 10 + 1 and svg.count('class="halo"') == 2 + 1  # and the legend
    even = text_of(oriel, "avg:f32:12:k3s1p1:axes0", "--ranks", "3", "--ascii")
    assert "receives input 3 from rank 0, receives input 8 from rank 2" in even and "■" not in even


@pytest.mark.parametrize("code, ranks, wanted", [
    (2, "four", "--ranks: 'four' is not understood; allowed: a number such as 4, or bounds such as 0,5,6,10"),
    (2, "0", "cuts: the number of parts must be >= 1, but is 0"),
    (2, "0,5,9", "--ranks: the last bound must be the number of inputs, 10, but is 9"),
    (2, "0,6,5,10", "cuts: bounds must ascend, but 5 follows 6"),
    (1, "99", "--ranks: draws at most 36 inputs among 32 ranks, but there are 10 among 99"),
])
def test_ranks_that_make_no_sense(refusal, code, ranks, wanted):
    assert refusal("explain", "max:f32:10:k3s2p1:axes0", "--ranks", ranks, code=code) == f"oriel explain: {wanted}"
