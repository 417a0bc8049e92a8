"""Pictures of rules S7 to S12: how values are added, rounded and sent back, what indices count, and sizes at the limits."""

import struct

from card import MARGIN, WIDTH, Card
from example_rows import HEIGHT, LABEL, read_axis


def rounded(value, kind):
    """`value` as the nearest number of a type of struct: `e` f16, `f` f32."""
    return struct.unpack(kind, struct.pack(kind, value))[0]


def draw_line(card, y, ticks, arrows, at):
    """A number line with ticks at numbers, and arrows from what is rounded to what it becomes; `at` gives a number's x."""
    card.path(f"M{at(ticks[0]) - 14:g} {y:g}L{at(ticks[-1]) + 14:g} {y:g}")
    for tick in ticks:
        card.path(f"M{at(tick):g} {y - 5:g}l0 10")
        card.text(at(tick), y + 22, f"{tick}", "n", "middle")
    for exact, result in arrows:
        x1, x2 = at(exact), at(result)
        card.dot(x1, y, "bluedot", 4)
        card.path(f"M{x1:g} {y - 7:g}Q{(x1 + x2) / 2:g} {y - 32:g} {x2:g} {y - 9:g}", "bluewire")
        toward = 1 if x2 > x1 else -1
        card.path(f"M{x2 - 8 * toward:g} {y - 11:g}L{x2:g} {y - 8:g}L{x2 - 2 * toward:g} {y - 17:g}", "bluewire")


def rounding(oriel, examples):
    card = Card("S7: sums are rounded once, to the nearest number, halves to the even one",
                "2048 and three ones are added in f32 and give 2051, which lies in the middle of two neighbouring numbers of f16; the result is the even "
                "one, 2052. Integer averages 1.5 and 2.5 both become 2. A sum of bytes that does not fit becomes 255.")
    x = [float(value) for value in examples["sum:f16:4:k4"].values("x")]
    (result,) = map(int, examples["sum:f16:4:k4"].values("y"))
    exact, lost = int(sum(x)), 0.0
    for value in x:
        lost = rounded(lost + value, "e")
    y = card.down(8)
    card.text(MARGIN, y, "f16: added in f32, rounded once", "head")
    card.text(MARGIN, y + 20, f"2048 + 1 + 1 + 1 = {exact}, not a number of f16", "dim")
    ticks = [value for value in range(2046, 2055) if rounded(value, "e") == value]
    draw_line(card, y + 68, ticks, [(exact, result)], lambda value: 40 + (value - 2046) * 42)
    card.text(MARGIN, y + 112, f"= {result}", "bold")
    card.text(MARGIN + 74, y + 112, f"(rounded each time: {lost:g})", "badtext")

    means = [value for value in examples["avg:i32:4:k2"].values("x")]
    pairs = [(int(a) + int(b)) / 2 for a, b in zip(means[::2], means[1::2])]
    results = [int(value) for value in examples["avg:i32:4:k2"].values("y")]
    y = card.down(34)
    card.text(MARGIN, y, "integer averages: halves to the even", "head")
    draw_line(card, y + 48, [1, 2, 3], list(zip(pairs, results)), lambda value: 110 + (value - 1) * 100)
    card.text(MARGIN, y + 92, " and ".join(f"{a:g} becomes {b}" for a, b in zip(pairs, results)), "dim")

    values = examples["sum:u8:4:k2"].values("x")
    y = card.down(34)
    card.text(MARGIN, y, "integer sums that do not fit: the nearest", "head")
    total, result = int(values[0]) + int(values[1]), int(examples["sum:u8:4:k2"].values("y")[0])
    draw_line(card, y + 48, [0, result], [(total, result)], lambda value: 50 + value)
    card.text(MARGIN, y + 92, f"u8: {values[0]} + {values[1]} = {total} becomes {result}", "dim")
    return card


def draw_tree(card, y, names):
    """The tree of seven terms; `names` are theirs. Returns the height of its root."""
    gap = (WIDTH - 2 * MARGIN) / len(names)
    leaf = [MARGIN + gap * (i + 0.5) for i in range(7)]
    p2 = [(leaf[i] + leaf[i + 1]) / 2 for i in (0, 2, 4)]
    p4 = (p2[0] + p2[1]) / 2
    left = (p4 + p2[2]) / 2
    root = (left + leaf[6]) / 2
    levels = [y + 52 * i for i in range(5)]
    wires = [(leaf[i], 0, p2[i // 2], 1) for i in range(6)]
    wires += [(p2[0], 1, p4, 2), (p2[1], 1, p4, 2), (p4, 2, left, 3), (p2[2], 1, left, 3), (left, 3, root, 4), (leaf[6], 0, root, 4)]
    for x1, level1, x2, level2 in wires:
        card.path(f"M{x1:g} {levels[level1] + HEIGHT:g}L{x2:g} {levels[level2]:g}")
    for x, name in zip(leaf, names):
        card.box(x - 22, levels[0], 44, HEIGHT, "input", name)
    for x, name in zip(p2, ("P2(0)", "P2(2)", "P2(4)")):
        card.box(x - 27, levels[1], 54, HEIGHT, "lost", name)
    card.box(p4 - 27, levels[2], 54, HEIGHT, "lost", "P4(0)")
    card.box(left - 15, levels[3], 30, HEIGHT, "tap", "+")
    card.box(root - 15, levels[4], 30, HEIGHT, "tap", "+")
    card.text(WIDTH - MARGIN, levels[1] + 16, "P1(6)", "pale", "end")
    return levels[4] + HEIGHT


def tree(oriel, examples):
    card = Card("S8: the fixed tree of a sum",
                "Seven terms are added in pairs, pairs in fours; then the four, the two and the one are added from left to right. With several axes, the "
                "first pooled axis is added first. Four terms, one of them 2 to the 24th and three of them 1, give 16777218 by the tree and 16777216 from left to right.")
    y = card.down(8)
    card.text(MARGIN, y, "7 terms = 4 + 2 + 1", "head")
    bottom = draw_tree(card, y + 14, [f"x[{i}]" for i in range(7)])
    card.text(MARGIN, bottom - 4, "(P4(0) + P2(4)) + P1(6)", "name")

    x = [float(value) for value in examples["sum:f32:4:k4"].values("x")]
    total = 0.0
    for value in x:
        total = rounded(total + value, "f")
    y = card.down(32)
    card.text(MARGIN, y, "why: less is lost (f32)", "head")
    card.text(MARGIN, y + 22, "x = " + ", ".join(f"{value:.0f}" for value in x), "dim")
    card.text(MARGIN, y + 44, "tree, (x0 + x1) + (x2 + x3)")
    card.text(WIDTH - MARGIN, y + 44, examples["sum:f32:4:k4"].values("y")[0], "goodtext", "end")
    card.text(MARGIN, y + 66, "left to right")
    card.text(WIDTH - MARGIN, y + 66, f"{total:.0f}", "badtext", "end")

    y = card.down(32)
    card.text(MARGIN, y, "several axes: the first one first", "head")
    left, top, cell = MARGIN + 8, y + 14, 34
    for column in range(3):
        for row in range(2):
            card.box(left + column * cell + 1, top + row * 28, cell - 2, HEIGHT, "input", f"x{row}{column}")
        card.arrow(left + (column + 0.5) * cell, top + 54, left + (column + 0.5) * cell, top + 70)
        card.box(left + column * cell + 1, top + 72, cell - 2, HEIGHT, "lost", "+")
    card.arrow(left + 3 * cell + 6, top + 84, left + 3 * cell + 30, top + 84)
    card.box(left + 3 * cell + 36, top + 72, cell - 2, HEIGHT, "tap", "+")
    card.text(left + 3 * cell + 44, top + 16, "1. down, along axis 0", "dim")
    card.text(left + 3 * cell + 44, top + 38, "2. then along axis 1", "dim")
    return card


def draw_gradient(card, oriel, example, heading, words=""):
    """The outputs' gradients above, lines to the inputs that they reach, the inputs' gradients below."""
    axis = read_axis(oriel, example.problem)
    dy, dx = example.values("dy"), example.values("dx")
    y = card.down(26 if card.body else 8)
    card.text(MARGIN, y, heading, "head")
    card.text(MARGIN, y + 19, example.problem, "name")
    gap, left = 80, MARGIN + LABEL + 34
    if words:
        card.text(MARGIN, y + 40, words, "dim")
        y += 20
    top, middle, bottom = y + 34, y + 116, y + 150
    chosen = None
    if "x" in example.lines:
        x = [float(value) for value in example.values("x")]
        chosen = [max(w.places, key=lambda place: x[place]) for w in axis.windows]
    for label, height in (("dy", top), ("x", middle if chosen else None), ("dx", bottom if chosen else middle)):
        if height:
            card.text(MARGIN, height + 17, label)
    for number, window in enumerate(axis.windows):
        at = left + gap * (window.places[0] + window.places[-1]) / 2
        for place in window.places:
            kind = "bluewire" if chosen is None or chosen[number] == place else None
            if kind:
                card.arrow(at, top + HEIGHT, left + gap * place, middle - 3, kind)
        card.box(at - 24, top, 48, HEIGHT, "tap", dy[number])
    for place in range(axis.inputs):
        if chosen:
            card.box(left + gap * place - 24, middle, 48, HEIGHT, "tap" if place in chosen else "input", example.values("x")[place])
        card.box(left + gap * place - 24, bottom if chosen else middle, 48, HEIGHT, "lost", dx[place])


def gradient(oriel, examples):
    card = Card("S9: which outputs an input's gradient comes from",
                "For an average each output sends its gradient, divided by 3, to the three inputs that it read; an input adds what it gets in ascending order of the "
                "outputs. For a maximum each output sends its whole gradient to the input that was chosen.")
    average = examples["avg:f32:4:k3s1:backward"]
    by = [w.divisor for w in read_axis(oriel, average.problem).windows]
    shares = [f"{g} / {d} = {float(g) / d:g}" for g, d in zip(average.values("dy"), by)]
    draw_gradient(card, oriel, average, "average: a share to each input read", f"shares: {', '.join(shares)}")
    draw_gradient(card, oriel, examples["max:f32:4:k3s1:backward"], "maximum: all of it to the chosen input")
    return card


def indices(oriel, examples):
    example = examples["max:f32:1x2x2x4:k2x2"]
    card = Card("S10: what indices count",
                "Two planes of two by four, pooled by windows of two by two. In space plane counting begins again in each plane; in space tensor it runs on; "
                "in space window it begins again in each window. The largest element of each window is marked.")
    cell, across, down = 36, 4, 2
    x = example.values("x")
    plane = [int(i) for i in example.values("indices")]
    chosen = {(number // 2, index) for number, index in enumerate(plane)}
    counts = {
        "values": (lambda p, i: x[p * 8 + i], None),
        "plane": (lambda p, i: f"{i}", "indices"),
        "tensor": (lambda p, i: f"{p * 8 + i}", "indices tensor"),
        "window": (lambda p, i: f"{i // 4 * 2 + i % 2}", "indices window"),
    }
    headings = {"values": "x", "plane": "plane: from 0 in each plane", "tensor": "tensor: from 0 in the whole tensor", "window": "window: from 0 in each window"}
    for space, (number_of, line) in counts.items():
        y = card.down(24 if card.body else 8)
        card.text(MARGIN, y, headings[space], "head")
        for p in range(2):
            left = MARGIN + p * (across * cell + 26)
            for i in range(8):
                shift = 4 * (i % 4 // 2) if space == "window" else 0
                kind = "tap" if (p, i) in chosen else "input"
                card.box(left + i % across * cell + shift + 1, y + 10 + i // across * 28, cell - 2, HEIGHT, kind, number_of(p, i))
        if line:
            card.text(MARGIN, y + 10 + down * 28 + 16, "result: " + ", ".join(example.values(line)), "dim")
    return card


def draw_shape(card, x, y, extents, pooled, missing):
    """The extents of a tensor, as boxes; an extent of 0 is drawn as `missing`."""
    for axis, extent in enumerate(extents):
        card.box(x + axis * 44, y, 30, HEIGHT, missing if extent == 0 else "lost" if axis in pooled else "input", f"{extent}")
        if axis:
            card.text(x + axis * 44 - 7, y + 17, "x", "small", "middle")


def empty(oriel, examples):
    example = examples["max:f32:0x3x4x4:k2x2"]
    card = Card("S11: empty tensors",
                "A batch of no images gives a result of no images. A pooled axis without inputs is an error.")
    shape = [int(extent) for extent in example.problem.split(":")[2].split("x")]
    result = [int(extent) for extent in example.values("shape")[0].split("x")]
    for heading, extents in (("no batch: an empty result", shape), ("a pooled axis without inputs: an error", [1, 3, 0, 4])):
        y = card.down(30 if card.body else 8)
        card.text(MARGIN, y, heading, "head")
        is_error = extents != shape
        draw_shape(card, MARGIN, y + 14, extents, (2, 3), "unread" if is_error else "nan")
        card.arrow(MARGIN + 174, y + 26, MARGIN + 202, y + 26)
        if is_error:
            card.text(MARGIN + 214, y + 31, "error", "badtext")
        else:
            draw_shape(card, MARGIN + 214, y + 14, result, (2, 3), "nan")
    card.text(MARGIN, card.down(26), "The last two axes (blue) are pooled.", "dim")
    return card


def limits(oriel, examples):
    card = Card("S12: sizes are 64-bit integers",
                "An axis may have 2 to the 32nd elements. A tensor of two such axes has 2 to the 64th, more than the limit of 2 to the 63rd minus 1, and is an error.")

    def at(power):
        return MARGIN + 8 + power * 5.1

    y = card.down(8)
    card.text(MARGIN, y, "elements of a tensor", "head")
    line = y + 58
    card.path(f"M{at(0):g} {line:g}L{at(63):g} {line:g}", "goodwire")
    card.path(f"M{at(63):g} {line:g}L{at(70):g} {line:g}", "badwire")
    for power, words in ((0, "1"), (32, "2^32"), (63, "2^63 - 1")):
        card.path(f"M{at(power):g} {line - 6:g}l0 12")
        card.text(at(power), line + 24, words, "n", "middle" if power != 0 else "start")
    card.dot(at(32), line, "bluedot", 4)
    card.text(at(32), line - 14, "2^32 x 1: a result", "goodtext", "middle")
    card.cross(at(64), line)
    card.text(WIDTH - MARGIN, line - 30, "2^32 x 2^32: an error", "badtext", "end")
    return card
