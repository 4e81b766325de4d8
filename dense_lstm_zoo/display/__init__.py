"""Making text from others, such as labels and file names, safe to show in a picture or in Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dense_lstm_zoo_runtime.screen import escape_controls

_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they turn text around
# Anything that can start a construct of CommonMark or GitHub's Markdown within a line: emphasis, links, HTML, tables,
# marks, mathematics, references, addresses, names of emoji.
_SPECIAL = re.compile(r"[\\`*\[\]<>&|~#$^{}@]|(?<![^\W_])_|_(?![^\W_])|://|www\.|:\w+:|mailto:|xmpp:", re.IGNORECASE)
_LONGEST_FENCE = 8  # backticks. Renderers need not support fences longer than 80


class Markdown(str):
    """Text that is Markdown already: ``escape`` and ``table`` leave it as it is."""

    __slots__ = ()


def one_line(text: object, limit: int | None = None) -> str:
    """Return a text on one line that any font and file can represent, cut to ``limit`` characters.

    White space becomes single spaces. Unprintable characters, and those that change the text direction, are escaped.

    Example:
        >>> one_line("two\\nlines\\0 \\ud800")
        'two lines\\\\x00 \\\\ud800'
    """
    text = " ".join(str(text).split())
    if limit is not None and len(text) > limit:
        text = f"{text[: limit - 4]} ..."
    return "".join(ascii(char)[1:-1] if _is_unprintable(char) else char for char in text)


def _is_unprintable(char: str) -> bool:
    return char in _DIRECTIONS or unicodedata.category(char) in ("Cc", "Cs")  # controls, lone surrogates


def escape(text: object, limit: int | None = None, *, cell: bool = False) -> Markdown:
    """Return a text as Markdown that only shows it: unchanged if possible, else as code.

    Args:
        text: Any value. ``Markdown`` is returned unchanged.
        limit: The maximum number of characters to show.
        cell: Whether it goes into a table, where ``|`` ends a cell.

    Example:
        >>> escape("NUM:dist"), escape("<b>"), escape("a|b", cell=True)
        ('NUM:dist', '`<b>`', '`a\\\\|b`')
    """
    if isinstance(text, Markdown):
        return text
    line = one_line(text, limit)
    if not _SPECIAL.search(line):
        return Markdown(line)
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    # Renderers disagree on a backslash before "|" in a table. Character references can represent any text.
    if longest >= _LONGEST_FENCE or (cell and "\\|" in line):
        return Markdown(_SPECIAL.sub(lambda match: "".join(f"&#{ord(char)};" for char in match[0]), line))
    fence, pad = "`" * (longest + 1), " " if line.startswith("`") or line.endswith("`") else ""
    if cell:
        line = line.replace("|", r"\|")
    return Markdown(fence + pad + line + pad + fence)


def code(text: str) -> Markdown:
    """Return a name of this package as code. For text from others use ``escape``."""
    return Markdown(f"`{text}`")


def fenced(text: str, language: str = "") -> Markdown:
    """Return lines as a code block whose fence does not occur in them."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return Markdown(f"{fence}{language}\n{escape_controls(text, keep=chr(10))}\n{fence}")


def table(header: Sequence[object], rows: Iterable[Iterable[object]]) -> Markdown:
    """Return a table in GitHub's Markdown. Its cells are escaped.

    Example:
        >>> print(table(["label", "texts"], [("a|b", 3)]))
        | label | texts |
        |---|---|
        | `a\\|b` | 3 |
    """
    head, *body = (f"| {' | '.join(escape(cell, cell=True) for cell in line)} |" for line in (header, *rows))
    return Markdown("\n".join([head, "|---" * len(header) + "|", *body]))


def by_class(rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    """Return a table of precision, recall and F1 by class."""
    cells = [
        (label(row["label"]), *(percent(row[name]) for name in ("precision", "recall", "f1")), f"{row['texts']:,}")
        for row in rows
    ]
    return table(["label", "precision %", "recall %", "F1 %", unit], cells)


def percent(share: float | None) -> str:
    """Return a share in percent, with one decimal, or a dash for none."""
    return "-" if share is None else f"{100 * share:.1f}"


def label(name: str) -> str:
    """Return a label in a form that fits a table cell."""
    return escape(name, 80, cell=True)
