"""The drawn figures of the site."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.append(str(Path(__file__).parents[1] / "docs"))
import drawings

DOCS = Path(drawings.__file__).parent
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("figure", drawings.FIGURES, ids=lambda figure: figure.__name__)
def test_a_figure_is_well_formed_and_inside_its_frame(figure, tmp_path):
    drawings.write(tmp_path)
    root = ElementTree.parse(tmp_path / f"{figure.__name__}.svg").getroot()
    width, height = (float(number) for number in root.attrib["viewBox"].split()[2:])
    for box in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert min(x, y) >= 0
        assert x + w <= width
        assert y + h <= height
    for line in root.iter(f"{SVG}polyline"):
        for point in line.attrib["points"].split():
            x, y = (float(number) for number in point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
    assert root.attrib["aria-label"]
    assert not any(color in (tmp_path / f"{figure.__name__}.svg").read_text() for color in ("black", "white"))


def test_the_page_shows_every_figure():
    page = (DOCS / "how_it_works.md").read_text(encoding="utf-8")
    assert all(f":file: generated/{figure.__name__}.svg" in page for figure in drawings.FIGURES)
