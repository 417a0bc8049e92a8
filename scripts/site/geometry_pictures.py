"""Pictures of rules S1 to S6: which inputs a window reads, and what it makes of them."""

from card import MARGIN, Card
from example_rows import HEIGHT, draw_rows, read_axis


def legend(oriel, examples):
    card = Card("What the boxes in the pictures mean",
                "White: an input. Dark blue: an input that a window reads, or the one that a maximum or minimum chooses; light blue: those that it does not choose. Dashed: padding, "
                "which holds no value. Red with a cross: beyond the padding. Red: an input that no window reads. Yellow: NaN.")
    kinds = [("input", "5", "an input"), ("tap", "5", "read; by a maximum or minimum: chosen"), ("lost", "5", "read, but not chosen"),
             ("pad", "", "padding: holds no value"), ("beyond", "", "beyond the padding (ceil mode)"), ("unread", "5", "an input that no window reads"),
             ("nan", "NaN", "a NaN")]
    for kind, words, meaning in kinds:
        y = card.down(8 if card.body else 0)
        card.box(MARGIN, y, 34, HEIGHT, kind, words)
        if kind == "beyond":
            card.cross(MARGIN + 17, y + HEIGHT / 2)
        card.text(MARGIN + 48, y + 17, meaning)
    return card


def size(oriel, examples):
    card = Card("S1: how many outputs there are",
                "Six inputs, windows of three, two apart. Rounded down there are two windows, and the last input is never read. In ceil mode a third "
                "window reaches beyond the end. Below, a window that would start after the last input is dropped.")
    draw_rows(card, oriel, examples["max:f32:6:k3s2"], "floor: whole windows only", remark="6 is never read: no whole window fits there.")
    draw_rows(card, oriel, examples["max:f32:6:k3s2:ceil"], "ceil: a last window may reach beyond")
    draw_rows(card, oriel, examples["max:f32:4:k2s3p1:ceil"], "ceil: but not after the last input", dropped=[5, 6], room=70,
              remark="Here it would start after the last input: dropped.")
    return card


def shared(oriel, examples):
    card = Card("S1: same padding and adaptive windows",
                "Five inputs in windows of two, two apart. Same padding makes three outputs of them; the odd element of padding comes after the input, or "
                "with same_lower before it. Three adaptive windows share five inputs and overlap.")
    draw_rows(card, oriel, examples["max:f32:5:k2s2:same"], "same: odd padding after the input")
    draw_rows(card, oriel, examples["max:f32:5:k2s2:same_lower"], "same_lower: odd padding before it")
    draw_rows(card, oriel, examples["avg:f32:5:out3"], "adaptive: three windows share five inputs")
    return card


def taps(oriel, examples):
    card = Card("S2: which inputs a window reads",
                "With dilation 2 a window of two taps reads every second input. With padding after the input, taps in the padding read nothing; a window "
                "may have no tap at all.")
    example = examples["max:f32:4:k2s1d2"]
    axis = read_axis(oriel, example.problem)
    notes = [f"inputs {' and '.join(map(str, w.places))}" for w in axis.windows]
    draw_rows(card, oriel, example, "dilation 2: taps two apart", notes, room=130)
    example = examples["max:f32:3:k2s1p0+2"]
    axis = read_axis(oriel, example.problem)
    counts = [sum(axis.kind(w, t) == "tap" for t in range(len(w.places))) for w in axis.windows]
    notes = [f"{n or 'no'} tap{'s' if n != 1 else ''}: {y}" for n, y in zip(counts, example.values("y"))]
    draw_rows(card, oriel, example, "padding is absence, not zeros", notes, room=130)
    return card


def nan(oriel, examples):
    card = Card("S3: what a NaN does",
                "By default one NaN in a window makes the result NaN, and the index is that of the window's last NaN. With omit, NaN taps do not exist: "
                "a maximum takes the largest of the others, an average divides by their number.")
    example = examples["max:f32:5:k3s1"]
    notes = [f"= {y}, index {i}" for y, i in zip(example.values("y"), example.values("indices"))]
    draw_rows(card, oriel, example, "by default: one NaN is enough", notes, room=130)
    example = examples["max:f32:4:k2s2:omit"]
    notes = [f"= {y}, index {i}" for y, i in zip(example.values("y"), example.values("indices"))]
    draw_rows(card, oriel, example, "omit, maximum", notes, room=130)
    draw_rows(card, oriel, examples["avg:f32:6:k3s3:omit"], "omit, average", ["(1 + 5) / 2 = 3", "nothing left: 0"], room=130)
    return card


def ties(oriel, examples):
    card = Card("S4: the first of equals wins",
                "Of minus zero and zero, which are equal, the first is the maximum, with its sign; of two sevens the first gives the index. In a window "
                "of three by three, taps are looked at row by row.")
    example = examples["max:f32:4:k2s2"]
    notes = [f"= {y}, index {i}" for y, i in zip(example.values("y"), example.values("indices"))]
    draw_rows(card, oriel, example, "equal values: the first one", notes, room=130)
    y = card.down(28)
    card.text(MARGIN, y, "several axes: row by row", "head")
    left, top, cell = MARGIN + 46, y + 16, 34
    for tap in range(9):
        card.box(left + tap % 3 * cell + 1, top + tap // 3 * 30, cell - 2, 26, "lost", f"{tap}")
    for row in range(3):
        card.arrow(left + 3 * cell + 8, top + 13 + 30 * row, left + 3 * cell + 34, top + 13 + 30 * row)
    for row, words in enumerate(("first 0, 1, 2,", "then 3, 4, 5,", "then 6, 7, 8")):
        card.text(left + 3 * cell + 44, top + 18 + 30 * row, words, "dim")
    return card


def divisor(oriel, examples):
    card = Card("S5: what an average divides by",
                "Three windows of three taps over four inputs, with padding 1 and ceil mode. By default padding counts, and what lies beyond it does not; with "
                "exclude only inputs count; a given divisor is always the same.")
    names = ["avg:f32:4:k3s2p1:ceil", "avg:f32:4:k3s2p1:ceil:exclude", "avg:f32:4:k3s2p1:div2"]
    axes = [read_axis(oriel, name) for name in names]
    x = [int(value) for value in examples[names[0]].values("x")]
    sums = [sum(x[p] for p in w.places if 0 <= p < axes[0].inputs) for w in axes[0].windows]
    draw_rows(card, oriel, examples[names[0]], "the same windows, three divisors", [f"sum {value}" for value in sums], room=90)
    top = card.down(34)
    columns = [MARGIN + 112, MARGIN + 228, MARGIN + 330]
    for column, words in zip(columns, ("default", "exclude", "div2")):
        card.text(column, top, words, "bold", "middle")
    card.text(columns[0], top + 18, "padding counts", "small", "middle")
    card.text(columns[1], top + 18, "inputs only", "small", "middle")
    card.text(columns[2], top + 18, "as given", "small", "middle")
    for number, total in enumerate(sums):
        y = top + 44 + 26 * number
        card.text(MARGIN, y, f"y[{number}]")
        for column, name, axis in zip(columns, names, axes):
            if number >= len(axis.windows):  # the last example has no ceil mode
                card.text(column, y, "no ceil: none", "small", "middle")
                continue
            by = 2 if name.endswith("div2") else axis.windows[number].divisor
            card.text(column, y, f"{total} / {by} = {examples[name].values('y')[number]}", "", "middle")
    return card


def no_tap(oriel, examples):
    card = Card("S6: a window without a tap",
                "If all taps of a window lie in the padding, a maximum is the lowest value of the type, a minimum the highest, both with index -1, and an "
                "average is 0.")
    for name, heading in (("max:i8:2:k1s2p0+1d1", "maximum: the lowest value"), ("min:f32:1:k1s1p1", "minimum: the highest value")):
        example = examples[name]
        notes = [f"= {y}, index {i}" for y, i in zip(example.values("y"), example.values("indices"))]
        draw_rows(card, oriel, example, heading, notes, room=150)
    draw_rows(card, oriel, examples["avg:f32:1:k1s1p1:exclude"], "sum, average, Lp: 0", room=150)
    return card
