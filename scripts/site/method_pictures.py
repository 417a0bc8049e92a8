"""Pictures of docs/explain/how-it-is-fast.md: how windows share work."""

from card import MARGIN, Card
from example_rows import HEIGHT

VALUES = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8)  # of the drawn inputs
ABOVE = ((2, 7, 1, 8, 2, 8), (1, 8, 2, 8, 4, 5), (9, 0, 4, 5, 2, 3))


def fold(oriel, examples):
    card = Card("A window of three by three, folded down and then across",
                "Three rows of six inputs are folded down into one row of six column maxima. Then each result is the largest of three neighbouring column "
                "maxima, which neighbouring windows share: 4 comparisons for a result instead of 8.")
    cell, left = 40, MARGIN + 92
    columns = [max(row[c] for row in ABOVE) for c in range(6)]
    results = [max(columns[c:c + 3]) for c in range(4)]

    def row(y, label, values, kind, first=0.0):
        card.text(MARGIN, y + 17, label)
        for c, value in enumerate(values):
            card.box(left + (c + first) * cell + 1, y, cell - 2, HEIGHT, kind, f"{value}")

    y = card.down(8)
    card.text(MARGIN, y, "1. down: 2 comparisons for each column", "head")
    for r, values in enumerate(ABOVE):
        row(y + 14 + 28 * r, f"row {r}", values, "input")
    for c in range(6):
        card.arrow(left + (c + 0.5) * cell, y + 98, left + (c + 0.5) * cell, y + 116)
    row(y + 120, "columns", columns, "lost")
    y = card.down(32)
    card.text(MARGIN, y, "2. across: 2 comparisons for each result", "head")
    for c in range(4):
        for step in range(3):
            card.path(f"M{left + (c + step + 0.5) * cell:g} {y + 12:g}L{left + (c + 1.5) * cell:g} {y + 42:g}")
    row(y + 44, "results", results, "tap", 1.0)
    card.text(MARGIN, y + 92, "Each window by itself: 8 comparisons.", "dim")
    return card


def blocks(oriel, examples):
    k = 4
    card = Card("The largest of four, with three comparisons for a result at any length of window",
                "Twelve inputs in blocks of four. For each input the largest element from its block's start is kept, and the largest up to its block's end. A window that begins in one "
                "block and ends in the next is the larger of two kept numbers.")
    n, cell, left = len(VALUES), 27, MARGIN + 52
    forth = [max(VALUES[i - i % k:i + 1]) for i in range(n)]
    back = [max(VALUES[i:i - i % k + k]) for i in range(n)]
    start = 2

    def row(y, label, values, marked):
        card.text(MARGIN, y + 17, label, "small")
        for i, value in enumerate(values):
            shift = 4 * (i // k)
            card.box(left + i * cell + shift + 1, y, cell - 2, HEIGHT, "tap" if i in marked else "input", f"{value}")

    def at(i):
        return left + (i + 0.5) * cell + 4 * (i // k)

    y = card.down(8)
    card.text(MARGIN, y, "blocks of k = 4 inputs", "head")
    row(y + 14, "x", VALUES, ())
    card.text(at(start) - cell / 2, y + 58, "one window", "small")
    card.path(f"M{at(start) - 12:g} {y + 42:g}l0 5L{at(start + k - 1) + 12:g} {y + 47:g}l0 -5", "bluewire")
    row(y + 74, "to end", back, (start,))
    row(y + 104, "so far", forth, (start + k - 1,))
    card.text(MARGIN, y + 152, f"the window = max({back[start]}, {forth[start + k - 1]}) = {max(VALUES[start:start + k])}", "bold")
    card.text(MARGIN, y + 174, "to end: the largest up to the block's end", "dim")
    card.text(MARGIN, y + 192, "so far: the largest from the block's start", "dim")
    return card


def doubling(oriel, examples):
    card = Card("Sums of seven from sums of four, two and one",
                "Sums of two neighbours are kept, beginning at every input, and of them sums of four. A window of seven is a sum of four, one of two and a single input; the next window uses the "
                "same kept sums, one input further.")
    n, cell, left = 9, 38, MARGIN + 40
    y = card.down(8)
    card.text(MARGIN, y, "windows of 7 = 4 + 2 + 1, step 1", "head")
    card.text(MARGIN, y + 31, "x")
    for i in range(n):
        card.box(left + i * cell + 1, y + 14, cell - 2, HEIGHT, "input", f"x{i}")
    for number in range(3):
        top = y + 56 + 34 * number
        card.text(MARGIN, top + 17, f"y[{number}]")
        for first, length, kind in ((0, 4, "tap"), (4, 2, "lost"), (6, 1, "input")):
            words = f"sum of {length}" if length > 2 else f"of {length}" if length == 2 else f"x{number + first}"
            card.box(left + (number + first) * cell + 1, top, length * cell - 2, HEIGHT, kind, words)
    y = card.down(26)
    card.text(MARGIN, y, "Sums of 2 and 4 are kept: one addition each.", "dim")
    card.text(MARGIN, y + 18, "Then 2 more for each window: log k, not k.", "dim")
    return card
