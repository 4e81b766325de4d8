"""The site: ``make docs`` builds it, and a warning is an error."""

import os
import re

# TensorFlow's start-up messages would stand among Sphinx' own.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

import dense_lstm_zoo

sys.path.insert(0, str(Path(__file__).parent))
import generate
import signatures

generate.write(Path(__file__).parent / "generated")

project = "dense_lstm_zoo"
version = release = dense_lstm_zoo.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_show_copyright = False
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # Args says what each argument is
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # attributes in one list
napoleon_custom_sections = [("Call arguments", "params_style")]

html_math_renderer = "mathml"  # which browsers draw themselves: the site needs no network


def _inline(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _displayed(translator, node):
    latex = node.astext().replace("{aligned}", "{split}")  # of the two, the converter knows only the second
    # Chromium reads the style of a cell alone, not its attribute ``columnalign``.
    formula = re.sub(
        r'columnalign="(\w+)"', r'style="text-align: \1; padding: 0.2em 0"', convert(latex, display="block")
    )
    translator.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def setup(app):
    """Show formulas as MathML, and classes with their own arguments."""
    app.connect("autodoc-process-signature", signatures.class_signature)
    app.add_html_math_renderer(html_math_renderer, (_inline, None), (_displayed, None))
