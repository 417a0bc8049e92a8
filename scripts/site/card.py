"""Draws small pictures as SVG: cards that can be read on a light and on a dark page, and on a telephone.

A card has a background of its own and follows the reader's colour scheme; whichever is chosen, text and background belong
together. It is 420 units wide, so that its letters stay readable in a window of 390 pixels.
"""

from xml.sax.saxutils import escape

WIDTH = 420
MARGIN = 16
LETTER = 0.62  # a generous mean width of a letter, of its size; of mono exactly 0.602

COLOURS = {  # name: (light, dark)
    "card": ("#f6f8fa", "#161b22"),
    "edge": ("#d0d7de", "#30363d"),
    "text": ("#1f2328", "#e6edf3"),
    "dim": ("#57606a", "#9da7b1"),
    "plain": ("#ffffff", "#0d1117"),
    "line": ("#8c959f", "#6e7681"),
    "tap": ("#0969da", "#1f6feb"),
    "pale": ("#cfe8ff", "#16427f"),
    "palest": ("#e9f4ff", "#1a3052"),
    "paletext": ("#0a3069", "#cae8ff"),
    "warn": ("#fff1c2", "#3d2e00"),
    "warnline": ("#9a6700", "#d29922"),
    "warnfull": ("#9a6700", "#9e6a03"),
    "bad": ("#ffebe9", "#3c1618"),
    "badline": ("#cf222e", "#ff7b72"),
    "good": ("#1a7f37", "#3fb950"),
}

# A class of shapes: its fill and its outline (names of colours), and what else it needs.
SHAPES = {
    "card": ("card", "edge", ""),
    "input": ("plain", "line", ""),
    "tap": ("tap", "tap", ""),
    "lost": ("pale", "pale", ""),
    "band": ("palest", "palest", ""),
    "pad": ("card", "line", "stroke-dasharray:3 2"),
    "beyond": ("bad", "badline", "stroke-dasharray:3 2"),
    "unread": ("bad", "badline", ""),
    "nan": ("warn", "warnline", ""),
    "chosennan": ("warnfull", "warnline", ""),
    "wire": (None, "line", "stroke-width:1.5"),
    "bluewire": (None, "tap", "stroke-width:2"),
    "badwire": (None, "badline", "stroke-width:1.5"),
    "goodwire": (None, "good", "stroke-width:2"),
    "dot": ("line", None, ""),
    "bluedot": ("tap", None, ""),
}
# A class of text: its colour, its size, and what else it needs.
TEXTS = {
    "": ("text", 14, ""),
    "head": ("text", 15, "font-weight:bold"),
    "dim": ("dim", 13, ""),
    "name": ("dim", 12, 'font-family:"DejaVu Sans Mono",Menlo,Consolas,monospace'),
    "n": ("text", 13, ""),
    "on": ("plain", 13, "fill:#ffffff"),
    "pale": ("paletext", 13, ""),
    "small": ("dim", 12, ""),
    "badtext": ("badline", 13, ""),
    "goodtext": ("good", 13, "font-weight:bold"),
    "bold": ("text", 14, "font-weight:bold"),
}
# The text in a shape of a class.
INSIDE = {"tap": "on", "chosennan": "on", "lost": "pale", "pad": "small"}


def style():
    """The rules of both colour schemes."""
    lines = ['text{font-family:"DejaVu Sans",Verdana,sans-serif}', "path,line{fill:none}"]
    lines += [f".t{name}{{font-size:{size}px;{more}}}" for name, (_, size, more) in TEXTS.items()]
    lines += [f".{name}{{{more}}}" for name, (_, _, more) in SHAPES.items() if more]
    for scheme in (0, 1):
        rules = [f".t{name}{{fill:{COLOURS[colour][scheme]}}}" for name, (colour, _, _) in TEXTS.items() if name != "on"]
        for name, (fill, stroke, _) in SHAPES.items():
            parts = [f"{key}:{COLOURS[colour][scheme]}" for key, colour in (("fill", fill), ("stroke", stroke)) if colour]
            rules.append(f".{name}{{{';'.join(parts)}}}")
        lines += rules if scheme == 0 else ["@media (prefers-color-scheme: dark){", *rules, "}"]
    return "\n".join(lines)


class Card:
    """A picture that grows downwards; `title` and `description` are what a screen reader says."""

    def __init__(self, title, description):
        self.title, self.description = title, description
        self.body, self.bottom = [], MARGIN

    def text(self, x, y, words, kind="", anchor="start"):
        """Words on a line whose letters stand on `y`."""
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.body.append(f'<text class="t{kind}" x="{x:g}" y="{y:g}"{where}>{escape(words)}</text>')
        width = LETTER * TEXTS[kind][1] * len(words)
        left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
        if left < 0 or left + width > WIDTH:
            raise ValueError(f"{self.title}: leaves the card, {left:.0f} to {left + width:.0f}: {words}")
        self.reach(y + 4)

    def box(self, x, y, width, height, kind, words="", inside=None):
        """A shape with words in its middle."""
        if x < MARGIN - 2 or x + width > WIDTH - MARGIN + 2:
            raise ValueError(f"{self.title}: a box leaves the card, {x:.0f} to {x + width:.0f}: {words}")
        self.body.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3"/>')
        if words:
            self.text(x + width / 2, y + height / 2 + 4.5, words, INSIDE.get(kind, "n") if inside is None else inside, "middle")
        self.reach(y + height)

    def path(self, steps, kind="wire"):
        self.body.append(f'<path class="{kind}" d="{steps}"/>')

    def arrow(self, x1, y1, x2, y2, kind="wire"):
        """A line with a head, drawn along an axis or aslant."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        wings = [(x2 - 6 * ux - 4 * side * uy, y2 - 6 * uy + 4 * side * ux) for side in (1, -1)]
        self.path(f"M{x1:g} {y1:g}L{x2:g} {y2:g}M{wings[0][0]:.1f} {wings[0][1]:.1f}L{x2:g} {y2:g}L{wings[1][0]:.1f} {wings[1][1]:.1f}", kind)
        self.reach(max(y1, y2))

    def dot(self, x, y, kind="dot", radius=3):
        self.body.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def cross(self, x, y, kind="badwire"):
        self.path(f"M{x - 4:g} {y - 4:g}l8 8m0 -8l-8 8", kind)

    def reach(self, y):
        self.bottom = max(self.bottom, y)

    def down(self, gap):
        """The height `gap` below all that was drawn."""
        return self.bottom + gap

    def finish(self):
        height = self.bottom + MARGIN
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="desc">{escape(self.description)}</desc>',
            f"<style>\n{style()}\n</style>",
            f'<rect class="card" width="{WIDTH}" height="{height:g}"/>',
            *self.body, "</svg>", ""])
