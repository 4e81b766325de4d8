"""The drawn figures of the page "How it works", as SVG whose lines and words take the colour of the page's text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

_ACCENT = "#2f81f7"  # readable on white and on black
_LINE = 16  # pixels between the lines of a box's text


class Drawing:
    """Boxes and arrows in pixels, from the upper left corner.

    Example:
        >>> drawing = Drawing(100, 40, "A box")
        >>> drawing.box(10, 5, 80, 30, "a < b")
        >>> "a &lt; b" in drawing.svg()
        True
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, words: str, *, accent: bool = False) -> None:
        """Draw a box with lines of text in its middle."""
        ink = _ACCENT if accent else "currentColor"
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{ink}" fill-opacity="0.08" '
            f'stroke="{ink}" stroke-width="1.5"/>'
        )
        self.words(x + width / 2, y + height / 2, words)

    def words(self, x: float, y: float, words: str, *, size: int = 13, faint: bool = False) -> None:
        """Write lines of text around a point."""
        lines = words.split("\n")
        first = y - (len(lines) - 1) * _LINE / 2 + size * 0.35
        for number, line in enumerate(lines):
            opacity = ' fill-opacity="0.7"' if faint else ""
            self.parts.append(
                f'<text x="{x}" y="{first + number * _LINE:g}" font-size="{size}" text-anchor="middle"{opacity}>'
                f"{escape(line)}</text>"
            )

    def arrow(self, *points: tuple[float, float], accent: bool = False) -> None:
        """Draw a line through points, with a head at the last."""
        ink = _ACCENT if accent else "currentColor"
        head = "accent" if accent else "plain"
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="1.5" marker-end="url(#{head})"/>'
        )

    def svg(self) -> str:
        """Return the figure, to be put into a page."""
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="{ink}"/></marker>'
            for name, ink in (("plain", "currentColor"), ("accent", _ACCENT))
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(self.title)}" fill="currentColor" font-family="sans-serif" '
            f'style="max-width: {self.width}px; width: 100%">'
            f"<defs>{heads}</defs>{''.join(self.parts)}</svg>\n"
        )


def road_of_a_text() -> Drawing:
    """From a string to an answer."""
    drawing = Drawing(760, 150, "A text on its way: words, ids, vectors, encoder, pooling, answer")
    steps = (
        ("words", "a | sweet |\ncomedy | ."),
        ("ids", "5 | 812 |\n940 | 4"),
        ("vectors", "4 x 300"),
        ("encoder", "states,\n4 x 200"),
        ("pooling", "their mean,\n200"),
        ("softmax", "positive\n0.97"),
    )
    drawing.words(380, 16, '"A sweet comedy."', size=14)
    drawing.arrow((380, 26), (380, 36), (58, 36), (58, 48))
    for number, (name, value) in enumerate(steps):
        x = 8 + number * 127
        drawing.box(x, 50, 100, 40, name, accent=name == "encoder")
        drawing.words(x + 50, 116, value, size=12, faint=True)
        if number:
            drawing.arrow((x - 27, 70), (x - 2, 70))
    return drawing


def dense_connections() -> Drawing:
    """Three dense layers and a top layer, each reading everything below."""
    drawing = Drawing(560, 300, "Each layer reads the words and the states of all layers below it")
    names = ("words", "Bi-LSTM 1", "Bi-LSTM 2", "Bi-LSTM 3", "top Bi-LSTM")
    places = [(20 + number * 110, 230 - number * 50) for number in range(len(names))]
    for number, ((x, y), name) in enumerate(zip(places, names, strict=True)):
        drawing.box(x, y, 96, 34, name, accent=number == len(names) - 1)
    for upper in range(1, len(names)):
        x, y = places[upper]
        for lower in range(upper):
            below_x, below_y = places[lower]
            landing = x + 96 * (lower + 1) / (upper + 1)
            drawing.arrow(
                (below_x + 96, below_y + 17), (landing, below_y + 17), (landing, y + 36), accent=lower == upper - 1
            )
    drawing.words(150, 30, "what arrives is joined, not added:\na layer of 13 units adds 26 numbers a word", faint=True)
    drawing.words(452, 12, "to the pooling", size=12, faint=True)
    drawing.arrow((508, 28), (508, 14))
    return drawing


def gated_skip_cell() -> Drawing:
    """An LSTM cell with a gated connection from two layers below to its output."""
    drawing = Drawing(560, 230, "An LSTM cell whose output adds the output of two layers below, through a gate")
    drawing.box(190, 60, 170, 110, "LSTM cell\nof layer l\ni, f, o, c")
    drawing.box(390, 128, 60, 34, "gate g", accent=True)
    drawing.box(396, 66, 48, 34, "+", accent=True)
    drawing.words(70, 110, "h of layer l - 1,\nthis word", size=12)
    drawing.arrow((128, 110), (188, 110))
    drawing.words(275, 20, "h and c of the word before", size=12)
    drawing.arrow((275, 30), (275, 58))
    drawing.arrow((360, 83), (394, 83))
    drawing.words(420, 206, "h of layer l - 2, this word", size=12)
    drawing.arrow((420, 194), (420, 164), accent=True)
    drawing.arrow((420, 128), (420, 102), accent=True)
    drawing.arrow((444, 83), (500, 83))
    drawing.words(515, 60, "h of layer l", size=12)
    return drawing


def dynamic_interaction() -> Drawing:
    """A lower layer and the top layer agreeing on the words that count."""
    drawing = Drawing(640, 230, "For each layer below the top, both layers agree on weights of the words")
    drawing.box(20, 150, 150, 40, "layer j: a state\nfor each word")
    drawing.box(20, 40, 150, 40, "top layer: a state\nfor each word")
    drawing.box(240, 95, 150, 40, "weights of\nthe words", accent=True)
    drawing.arrow((170, 170), (220, 170), (220, 125), (238, 125))
    drawing.arrow((170, 60), (220, 60), (220, 105), (238, 105))
    drawing.arrow((390, 125), (410, 125), (410, 155), (315, 155), (315, 137), accent=True)
    drawing.words(362, 172, "r rounds: agreement\nraises a weight", size=12, faint=True)
    drawing.box(450, 40, 150, 40, "weighted mean\nof the top states")
    drawing.arrow((170, 50), (448, 50))
    drawing.arrow((390, 110), (525, 110), (525, 82), accent=True)
    drawing.words(525, 148, "one vector a layer;\nall are joined", size=12, faint=True)
    return drawing


def a_bundle() -> Drawing:
    """A bundle: how it is made, and what is made of it."""
    drawing = Drawing(700, 190, "train writes a bundle, and predictions, exports and further trainings begin with it")
    drawing.box(20, 70, 110, 44, "your texts\nand labels")
    drawing.box(250, 30, 170, 124, "bundle\n\nweights, vocabulary,\nlabels, scores,\nreport, card", accent=True)
    drawing.arrow((130, 92), (248, 92))
    drawing.words(188, 80, "train", size=12)
    uses = (
        "predict, evaluate, explain",
        "SavedModel, for TF Serving",
        "ONNX, for the light runtime",
        "another training",
    )
    for number, use in enumerate(uses):
        y = 8 + number * 46
        drawing.box(490, y, 190, 34, use)
        drawing.arrow((420, 92), (455, 92), (455, y + 17), (488, y + 17))
    return drawing


FIGURES: Sequence[Callable[[], Drawing]] = (
    road_of_a_text,
    dense_connections,
    gated_skip_cell,
    dynamic_interaction,
    a_bundle,
)


def write(folder: Path) -> None:
    """Write every figure into ``folder``, under its function's name."""
    for figure in FIGURES:
        (folder / f"{figure.__name__}.svg").write_text(figure().svg(), encoding="utf-8")
