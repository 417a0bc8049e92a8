"""Pictures of rules S21 and S22: what the levels of a pyramid are pools of, and where their elements lie."""

from card import MARGIN, WIDTH, Card
from example_rows import HEIGHT

CELL = (WIDTH - 2 * MARGIN) / 8


def levels(oriel, examples):
    example = examples["avg:u8:4:k4"]
    x, y_values = example.values("x"), example.values("y")
    card = Card("S21: every level is a pool of level 0",
                f"Four bytes {', '.join(x)}. Level 1 has the means of two, 0 and 1, rounded half to even; level 2 is the mean of the four, {y_values[0]}, not of what level 1 holds.")
    y = card.down(8)
    card.text(MARGIN, y, example.problem, "name")
    wide = 2 * CELL
    for place, value in enumerate(x):
        card.box(MARGIN + place * wide, y + 14, wide - 4, HEIGHT, "tap", value)
    for place in range(2):
        pair = [int(v) for v in x[2 * place : 2 * place + 2]]
        card.box(MARGIN + place * 2 * wide, y + 14 + HEIGHT + 12, 2 * wide - 4, HEIGHT, "lost", f"{round(sum(pair) / 2)}")
    card.box(MARGIN, y + 14 + 2 * (HEIGHT + 12), 4 * wide - 4, HEIGHT, "lost", f"{sum(map(int, x)) / 4:g} is rounded once: {y_values[0]}")
    return card


def coordinates(oriel, examples):
    card = Card("S22: where elements lie",
                "Eight elements of level 0 at 0 to 7; those of level 1, of two elements each, lie at 0.5, 2.5, 4.5 and 6.5, those of level 2 at 1.5 and 5.5.")
    y = card.down(8)
    for level, factor in enumerate((1, 2, 4)):
        for place in range(8 // factor):
            at = place * factor + (factor - 1) / 2
            card.box(MARGIN + place * factor * CELL, y + level * (HEIGHT + 8), factor * CELL - 4, HEIGHT, "tap" if level == 0 else "lost", f"{at:g}")
    return card
