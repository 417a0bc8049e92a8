"""Pictures of rules S13 to S20: which taps count, and what is made of them. Their numbers are those of the page's examples."""

from card import MARGIN, WIDTH, Card
from example_rows import HEIGHT

LABEL_WIDTH = 74
CELL = 46


def draw_row(card, y, label, values, kinds):
    """A label and a box for each value; `kinds` has one kind for all of them, or one for each."""
    card.text(MARGIN, y + 17, label)
    each = [kinds] * len(values) if isinstance(kinds, str) else kinds
    for place, (value, kind) in enumerate(zip(values, each)):
        card.box(MARGIN + LABEL_WIDTH + place * CELL, y, CELL - 4, HEIGHT, kind, value)


def draw_example(card, example, rows, heading, words=""):
    """A heading, the problem's name, rows of (label, line of the example, kinds)."""
    y = card.down(26 if card.body else 8)
    card.text(MARGIN, y, heading, "head")
    card.text(MARGIN, y + 19, example.problem, "name")
    y += 30
    for label, line, kinds in rows:
        draw_row(card, y, label, example.values(line), kinds)
        y += HEIGHT + 6
    if words:
        card.text(MARGIN, y + 14, words, "dim")


def valid_taps(oriel, examples):
    card = Card("S13: which taps are valid",
                "Four inputs 1, 100, 3 and 5; a mask hides the 100, so the average is that of the others, 3. Below, a window with a NaN gives NaN, unless "
                "NaN are left out.")
    masked = examples["avg:f32:4:k4:mask"]
    kinds = ["tap" if bit != "0" else "beyond" for bit in masked.values("mask")]
    draw_example(card, masked, [("x", "x", kinds), ("mask", "mask", "input"), ("y", "y", "lost")], "a mask: 0 means left out")
    for name, heading in (("median:f32:4:k2", "propagate: a NaN makes the result NaN"), ("median:f32:4:k2:omit", "omit: a NaN is left out")):
        example = examples[name]
        x_kinds = ["nan" if value == "NaN" else "tap" for value in example.values("x")]
        y_kinds = ["nan" if value == "NaN" else "lost" for value in example.values("y")]
        draw_example(card, example, [("x", "x", x_kinds), ("y", "y", y_kinds)], heading)
    return card


def too_few(oriel, examples):
    card = Card("S14: too few valid taps",
                "Four inputs 0, 5, 7 and 0, of which 0 means that there is no data: two are valid. Their lower median is 5; if three are asked for, the "
                "result is the fill value 0.")
    for name, heading in (("median:u8:4:k4:nodata0", "two valid taps are enough"), ("median:u8:4:k4:nodata0:min3", "three are asked for: the fill value")):
        example = examples[name]
        kinds = ["beyond" if value == "0" else "tap" for value in example.values("x")]
        draw_example(card, example, [("x", "x", kinds), ("y", "y", "lost")], heading)
    return card


def result_types(oriel, examples):
    card = Card("S15: the dtype of the result",
                "Averages of the bytes 1 and 2, and of 255 and 254, are 1.5 and 254.5 as f64. A sum of four times 255 is 1020 as u64.")
    for name, heading in (("avg:u8:4:k2:outf64", "means of bytes, in f64"), ("sum:u8:4:k4:outu64", "a sum of bytes, in u64")):
        draw_example(card, examples[name], [("x", "x", "tap"), ("y", "y", "lost")], heading)
    return card


def quantiles(oriel, examples):
    card = Card("S16: the median of an even number",
                "The taps 4, 3, 1 and 2 in order are 1, 2, 3 and 4. The lower median is 2, the higher one 3, and their mean 2.5.")
    example = examples["median:f32:4:k4"]
    taps = sorted(example.values("x"), key=float)
    y = card.down(8)
    card.text(MARGIN, y, "the taps, sorted", "head")
    draw_row(card, y + 14, "v(0) …", taps, ["input", "tap", "tap", "input"])
    (lower,), (mean,) = example.values("y"), examples["median_mean:f32:4:k4"].values("y")
    y = card.down(22)
    for label, value in (("lower", lower), ("higher", taps[len(taps) // 2]), ("mean", mean)):
        draw_row(card, y, label, [value], "lost")
        y += HEIGHT + 6
    return card


def modes(oriel, examples):
    card = Card("S17: the most frequent value",
                "Labels 7, 3, 3 and 7: both occur twice; the lowest, 3, wins, or, if asked for, the first, 7. Of six zeros and two nines, with 0 ignored, "
                "the mode is 9.")
    for name, heading in (("mode:u32:4:k4", "a tie: the lowest"), ("mode_first:u32:4:k4", "a tie: the first"), ("mode:u32:8:k8:ignore0", "0 is ignored")):
        example = examples[name]
        (winner,) = example.values("y")
        y = card.down(26 if card.body else 8)
        card.text(MARGIN, y, heading, "head")
        card.text(MARGIN, y + 19, example.problem, "name")
        cell = 36
        for place, value in enumerate(example.values("x")):
            card.box(MARGIN + place * cell, y + 30, cell - 4, HEIGHT, "tap" if value == winner else "input", value)
        card.box(MARGIN + 9 * cell, y + 30, cell - 4, HEIGHT, "lost", winner)
    return card


def variances(oriel, examples):
    def state(values):
        mean = sum(values) / len(values)
        return len(values), sum(values), sum((v - mean) ** 2 for v in values)

    example = examples["var:u8:4:k4"]
    x = [float(value) for value in example.values("x")]
    left, right, whole = state(x[:2]), state(x[2:]), state(x)
    card = Card("S18: halves are joined",
                f"The taps {', '.join(example.values('x'))} in two halves, each with its number n, its sum S and its sum of squared deviations M; they are joined into "
                f"those of the whole, and M / n is the variance, {example.values('y')[0]}.")
    y = card.down(8)
    card.text(MARGIN, y, example.problem, "name")
    half = (WIDTH - 2 * MARGIN) / 2
    for side, (taps, (n, s, m)) in enumerate(((x[:2], left), (x[2:], right))):
        at = MARGIN + side * half
        for place, value in enumerate(taps):
            card.box(at + place * 60, y + 14, 54, HEIGHT, "tap", f"{value:g}")
        card.text(at, y + 62, f"n = {n}, S = {s:g}, M = {m:g}", "dim")
        card.arrow(at + 57, y + 70, WIDTH / 2 + (side * 2 - 1) * 20, y + 92)
    n, s, m = whole
    card.text(WIDTH / 2, y + 112, f"n = {n}, S = {s:g}, M = {m:g}", "", "middle")
    card.text(WIDTH / 2, y + 134, f"variance M / n = {m / n:g}", "bold", "middle")
    return card


def others(oriel, examples):
    taps = [1.0, 2.0, 4.0]
    mean_square = sum(v * v for v in taps) / 3
    values = [("count", "3"), ("range", "3"), ("midrange", "2.5"), ("rms", f"{mean_square ** 0.5:.3g}"), ("prod", "8"),
              ("geo", "2"), ("harm", f"{3 / sum(1 / v for v in taps):.3g}"), ("first", "1"), ("centre", "2")]
    card = Card("S19: other operations", "The taps 1, 2 and 4, and what other operations make of them: " + ", ".join(f"{n} {v}" for n, v in values) + ".")
    y = card.down(8)
    draw_row(card, y, "taps", [f"{v:g}" for v in taps], "tap")
    y = card.down(20)
    for number, (name, value) in enumerate(values):
        column, row = number % 3, number // 3
        at = MARGIN + column * 130
        card.text(at, y + row * 34 + 17, name, "dim")
        card.box(at + 74, y + row * 34, 48, HEIGHT, "lost", value)
    return card


def footprints(oriel, examples):
    example = examples["avg:f32:3x3:diamond1"]
    x = example.values("x")
    card = Card("S20: a window that is no box",
                "A diamond of five taps in a box of three by three; the corners, which hold 7, are no taps, so the average is that of 1, 1, 6, 1 and 1: 2.")
    y = card.down(8)
    card.text(MARGIN, y, example.problem, "name")
    for place, value in enumerate(x):
        row, column = divmod(place, 3)
        tap = abs(row - 1) + abs(column - 1) <= 1
        card.box(MARGIN + column * CELL, y + 14 + row * (HEIGHT + 4), CELL - 4, HEIGHT, "tap" if tap else "pad", value)
    card.text(MARGIN + 4 * CELL, y + 14 + HEIGHT + 20, "average: " + example.values("y")[0], "bold")
    return card
