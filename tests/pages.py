"""The documentation pages, split into what the tests check: blocks of code, code in sentences, links, headings."""

import functools
import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*GUIDES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "results").glob("*.md"))]
# Other files with links to pages: what goes with a distribution or a server, and the notebooks.
OTHERS = [
    ROOT / "CHANGELOG.md",
    *sorted(path for folder in ("deploy", "dense_lstm_zoo_runtime") for path in (ROOT / folder).rglob("*.md")),
    *sorted((ROOT / "presets").glob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
]

SHELL = ("shell", "sh")  # the zoo's commands, and others
_MARK = re.compile(r"<!-- (not run|slow|presets): .+ -->")


@dataclass(frozen=True)
class Block:
    """A fenced block: its text, its first line, and the mark of a comment before it.

    ``not run``, ``slow`` (only in the slow tests), or ``presets`` (with the distribution's trained models).
    """

    text: str
    line: int
    mark: str


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def tokens(path: Path) -> list[Token]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return MarkdownIt("commonmark").enable("table").parse(text)


def inline(path: Path, kind: str) -> list[Token]:
    return [child for token in tokens(path) for child in token.children or () if child.type == kind]


def blocks(path: Path, *languages: str) -> list[Block]:
    """Return the blocks in any of these languages, in their order."""
    code, mark = [], ""
    for token in tokens(path):
        if token.type == "fence" and token.info.strip() in languages:
            code.append(Block(token.content, token.map[0] + 1, mark))
        marked = _MARK.fullmatch(token.content.strip()) if token.type == "html_block" else None
        mark = marked[1] if marked else ""
    return code


def code_in_sentences(path: Path) -> list[str]:
    return [" ".join(token.content.split()) for token in inline(path, "code_inline")]


def links(path: Path) -> list[str]:
    """Return where links and pictures lead, without those to other sites."""
    targets = [token.attrs["href"] for token in inline(path, "link_open")]
    targets += [token.attrs["src"] for token in inline(path, "image")]
    return [str(link) for link in targets if not re.match(r"\w+:", str(link))]


def anchors(path: Path) -> set[str]:
    """Return the names by which a page's headings are reached, as GitHub and the site make them."""
    slugs = set()
    for current, content in itertools.pairwise(tokens(path)):
        if current.type == "heading_open" and int(current.tag[1]) <= 3:  # myst_heading_anchors
            slugs.add(re.sub(r"[^\w\- ]", "", content.content.lower()).replace(" ", "-"))
    for token in tokens(path):
        included = re.fullmatch(r"\{include\} (\S+)", token.info.strip()) if token.type == "fence" else None
        if included and included[1].startswith("generated/"):  # which make docs writes
            continue
        slugs |= anchors((path.parent / included[1]).resolve()) if included else set()
    return slugs
