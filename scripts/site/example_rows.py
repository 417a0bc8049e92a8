"""Draws an example of docs/semantics.md along one axis: the input, and below it a row for each window.

The numbers are those of the page, which a test compares with the engine; the windows are those of `oriel explain --json`.
"""

import json
import re
import subprocess
from dataclasses import dataclass, field

from card import MARGIN, WIDTH

LABEL = 46  # room for `y[0]`
HEIGHT = 24  # of a cell
ROW = 28


@dataclass
class Example:
    """A `pool` block: the name of a problem, and its lines by their words."""

    problem: str
    lines: dict = field(default_factory=dict)

    def values(self, word):
        return [value.replace("nan", "NaN") for value in self.lines[word].split()]


def read_examples(page):
    """The examples of the page, by the name of their problem; of two with one name the first."""
    found = {}
    for block in re.findall(r"^```pool\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        name, *lines = block.splitlines()
        found.setdefault(name, Example(name, {word: rest.strip() for word, _, rest in (line.partition(":") for line in lines)}))
    return found


@dataclass
class Window:
    start: int
    places: list  # of its taps
    beyond: int  # how many of the last ones lie beyond the padding
    divisor: int


@dataclass
class Axis:
    inputs: int
    before: int  # padding
    after: int
    windows: list

    def kind(self, window, tap):
        """What a tap is: `tap` (it reads an input), `pad` or `beyond`."""
        if 0 <= window.places[tap] < self.inputs:
            return "tap"
        return "beyond" if tap >= len(window.places) - window.beyond else "pad"

    def read(self, place):
        return any(place in window.places for window in self.windows)


def explain(oriel, problem):
    result = subprocess.run([oriel, "explain", problem, "--json"], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{oriel} explain {problem} --json ended with {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


def read_axis(oriel, problem):
    """The only pooled axis of a problem."""
    (axis,) = explain(oriel, problem)["axes"]
    dilation = int((re.search(r":k\S*?d(\d+)", problem) or [0, 1])[1])
    windows = [Window(w["start"], [w["start"] + t * dilation for t in range(w["taps"])], w["beyond"], w["divisor"]) for w in axis["windows"]]
    given = re.search(r":k\S*?p(\d+)(?:\+(\d+))?", problem)
    if given:
        before, after = int(given[1]), int(given[2] or given[1])
    else:  # `same`, or none
        before = max([0, *(-w.start for w in windows)])
        after = max([0, *(w.places[-1] + 1 - w.beyond - axis["inputs"] for w in windows)])
    return Axis(axis["inputs"], before, after, windows)


class Rows:
    """One example as rows of cells."""

    def __init__(self, card, axis, example, room, dropped=None):
        self.card, self.axis, self.example = card, axis, example
        self.chosen = chosen_places(axis, example) if example.problem.startswith(("max", "min")) else None
        self.dropped = dropped or []
        self.first = -axis.before
        self.end = max([axis.inputs + axis.after, *(w.places[-1] + 1 for w in axis.windows), *(place + 1 for place in self.dropped)])
        self.cell = min(34, (WIDTH - 2 * MARGIN - LABEL - room) / (self.end - self.first))

    def x(self, place):
        return MARGIN + LABEL + (place - self.first) * self.cell

    @property
    def right(self):
        """Where notes begin."""
        return self.x(self.end) + 12

    def place(self, place, y, kind, words="", inside=None):
        self.card.box(self.x(place) + 1, y, self.cell - 2, HEIGHT, kind, words, inside)

    def draw_input(self, y):
        x = self.example.values("x")
        self.card.text(MARGIN, y + 17, "x")
        for place in range(-self.axis.before, self.axis.inputs + self.axis.after):
            if 0 <= place < self.axis.inputs:
                kind = "nan" if x[place] == "NaN" else "input" if self.axis.read(place) else "unread"
                self.place(place, y, kind, x[place])
            else:
                self.place(place, y, "pad", "pad" if self.cell > 31 else "")

    def draw_dropped(self, y):
        for place in self.dropped:
            self.place(place, y, "beyond")
            self.card.cross(self.x(place) + self.cell / 2, y + HEIGHT / 2)
        self.card.text(MARGIN, y + 17, f"no y[{len(self.axis.windows)}]", "badtext")

    def draw_window(self, y, number, window, note):
        x = self.example.values("x")
        self.card.text(MARGIN, y + 17, f"y[{number}]")
        left, right = self.x(window.places[0]), self.x(window.places[-1] + 1)
        self.card.box(left - 1, y - 2, right - left + 2, HEIGHT + 4, "band")
        for tap, place in enumerate(window.places):
            kind = self.axis.kind(window, tap)
            if kind == "tap" and x[place] == "NaN":
                marked = self.chosen is not None and self.chosen[number] == place
                self.place(place, y, "chosennan" if marked else "nan", "NaN")
            elif kind == "tap":
                lost = self.chosen is not None and self.chosen[number] != place
                self.place(place, y, "lost" if lost else "tap", x[place])
            else:
                self.place(place, y, kind)
                if kind == "beyond":
                    self.card.cross(self.x(place) + self.cell / 2, y + HEIGHT / 2)
        self.card.text(self.right, y + 17, note)


def chosen_places(axis, example):
    """Which input each extremum is: that of the example's indices, else the first tap of that value."""
    if "indices" in example.lines:
        return [int(index) for index in example.values("indices")]
    x, y = example.values("x"), example.values("y")
    return [next((p for p in w.places if 0 <= p < axis.inputs and x[p] == y[o]), -1) for o, w in enumerate(axis.windows)]


def draw_rows(card, oriel, example, heading, notes=None, *, room=110, remark="", dropped=None):
    """The panel of an example: heading, name, input, windows with a note each (its result, if none is given), a remark.

    `dropped` are the places of a window that is not there.
    """
    axis = read_axis(oriel, example.problem)
    rows = Rows(card, axis, example, room, dropped)
    y = card.down(26 if card.body else 8)
    card.text(MARGIN, y, heading, "head")
    card.text(MARGIN, y + 19, example.problem, "name")
    y += 30
    rows.draw_input(y)
    y += HEIGHT + 8
    for number, window in enumerate(axis.windows):
        rows.draw_window(y, number, window, notes[number] if notes else f"= {example.values('y')[number]}")
        y += ROW
    if dropped:
        rows.draw_dropped(y)
        y += ROW
    for line in remark.splitlines():
        card.text(MARGIN, y + 14, line, "dim")
        y += 18
    return rows
