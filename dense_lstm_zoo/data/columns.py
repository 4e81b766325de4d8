"""Files in columns with one token per line: CoNLL, with blank lines between sentences, and CoNLL-U."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dense_lstm_zoo.data.column_layout import BLANK, CONLLU_NAMES, Layout, is_conllu_id, is_document
from dense_lstm_zoo.data.column_layout import is_conllu_row as is_conllu_row
from dense_lstm_zoo.data.text_file import TextFile, numbered_lines

# Of CoNLL-U: the number of columns, and those of the tokens and of the two kinds of tags.
CONLLU_COLUMNS, FORM, UPOS, XPOS = len(CONLLU_NAMES), 1, 3, 4
_BEGINNING = 10_000  # lines from which the layout of a file is judged: training and prediction judge alike

Row: TypeAlias = tuple[int, list[str]]
"""The number of a line, from 1, and its cells."""


@dataclass(frozen=True)
class ColumnFile:
    """The sentences of a file in columns, each a list of rows. The file is never held in full.

    One or more blank lines end a sentence. A ``-DOCSTART-`` line is not a token. A file is CoNLL-U if its name ends in
    ``.conllu`` or ``.conllu.gz``, or if its first line that is not a comment has ten tab-separated columns, the first a
    number. Then comments, multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped. ``# global.columns`` names
    the columns of CoNLL-U Plus. In other files, ``Layout`` tells a comment from a token that begins with ``#``.

    Args:
        path: The file, plain or gzip (detected from its content).
        separator: The separator of columns. None means spaces and tabs. With ``"\\t"``, cells may hold spaces.
        encoding: How the file is encoded.
        is_even: Whether all sentences must have the same number of columns, not only the rows of each.

    Raises:
        FileNotFoundError: No such file. The message names similar ones beside it.
        ValueError: A folder, an unknown encoding, an empty separator. On iteration, with file and line: uneven rows,
            lines that are not CoNLL-U in a CoNLL-U file, bytes that are not in the encoding, damaged gzip.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("Dogs NOUN\\nbark VERB\\n\\n\\nGo VERB\\n")
        ...     list(ColumnFile(path))
        [[(1, ['Dogs', 'NOUN']), (2, ['bark', 'VERB'])], [(5, ['Go', 'VERB'])]]
    """

    path: Path
    separator: str | None = None
    encoding: str = "utf-8"
    is_even: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", TextFile(self.path, self.encoding).path)
        if self.separator is not None and not (isinstance(self.separator, str) and self.separator):
            raise ValueError(f"separator must be None for spaces and tabs, or a string; received {self.separator!r}.")

    @functools.cached_property
    def layout(self) -> Layout:
        """The names and number of its columns. The first call reads the beginning of the file."""
        beginning = list(itertools.islice(self._lines(), _BEGINNING))
        return Layout.of(beginning, self.separator, is_conllu_name(self.path.name))

    @property
    def is_conllu(self) -> bool:
        """True if the file is CoNLL-U or CoNLL-U Plus."""
        return bool(self.layout.names)

    def __iter__(self) -> Iterator[list[Row]]:
        for sentence in _sentences(self._lines(), self.layout, f"{self.path}, line", self.is_even):
            if rows := [(number, cells) for number, _, cells in sentence if cells]:
                yield rows

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line's number and text, which is "" for a blank one."""
        for number, line in numbered_lines(self.path, self.encoding):
            yield number, line if line.strip(BLANK) else ""


def is_conllu_name(name: str) -> bool:
    """Return whether a file of this name is CoNLL-U.

    Example:
        >>> is_conllu_name("en-train.conllu.gz"), is_conllu_name("train.conll")
        (True, False)
    """
    return name.lower().removesuffix(".gz").endswith(".conllu")


def sentence_lines(
    lines: Iterable[str],
    token_column: int | str = 0,
    separator: str | None = None,
    location: str = "Line",
    *,
    is_conllu: bool = False,
) -> Iterator[list[tuple[str, str | None]]]:
    """Yield the lines of each sentence unchanged, each with its token, or with None if it has none.

    Comments, multiword ranges and empty nodes of CoNLL-U, and ``-DOCSTART-``, are not tokens. Lines are CoNLL-U if the
    first that is not a comment has ten tab-separated columns, the first a number.

    Args:
        lines: Lines of a file in columns, of which one sentence at a time is held.
        token_column: The tokens' column, from 0. Negative numbers count from the end. CoNLL-U: by default FORM (1), or
            a column's name.
        separator: As in ``ColumnFile``.
        location: Start of error messages, before the line number.
        is_conllu: Whether the lines are CoNLL-U whatever the first one is, as those of a file of that name.

    Raises:
        ValueError: On iteration, with the line: too few columns, uneven rows, or a line that is not CoNLL-U. CoNLL-U
            whose tabs became spaces.

    Example:
        >>> list(sentence_lines(["Dogs X", "bark Y", "", "Go Y"]))
        [[('Dogs X', 'Dogs'), ('bark Y', 'bark')], [('Go Y', 'Go')]]
    """
    numbered = enumerate(lines, start=1)
    beginning = list(itertools.islice(numbered, _BEGINNING))
    layout = Layout.of(beginning, separator, is_conllu)
    column = layout.column("token_column", token_column, location.removesuffix(", line"))
    layout.check_tokens(column, location.removesuffix(", line"))
    if layout.names and column == 0:
        column = form_column(layout)
    for sentence in _sentences(itertools.chain(beginning, numbered), layout, location, is_even=column < 0):
        for number, _, cells in sentence:
            if cells and not -len(cells) <= column < len(cells):
                raise ValueError(f"{location} {number}: found {describe(cells)}; there is no column {column}.")
        yield [(line, cells[column] if cells else None) for _, line, cells in sentence]


def form_column(layout: Layout) -> int:
    """Return the column of the tokens in CoNLL-U, which CoNLL-U Plus may have elsewhere."""
    return layout.names.index("FORM") if "FORM" in layout.names else 0


_Line: TypeAlias = tuple[int, str, list[str] | None]


def _sentences(lines: Iterable[tuple[int, str]], layout: Layout, location: str, is_even: bool) -> Iterator[list[_Line]]:
    """Yield the lines of each sentence with their numbers, and the cells of those that are tokens."""
    sentence: list[tuple[int, str]] = []
    for number, line in lines:
        is_blank, is_mark = not line.strip(BLANK), is_document(line)
        if sentence and (is_blank or is_mark):
            yield _judged(sentence, layout, location, is_even)
            sentence = []
        if not is_blank:
            sentence.append((number, line))
    if sentence:
        yield _judged(sentence, layout, location, is_even)


def _judged(lines: list[tuple[int, str]], layout: Layout, location: str, is_even: bool) -> list[_Line]:
    """Return the lines of a sentence with the cells of those that are tokens."""
    if layout.names and layout.names[0] == "ID":
        return [
            (n, line, None if is_document(line) else _conllu_cells(line, layout, f"{location} {n}"))
            for n, line in lines
        ]
    rows = {n: layout.cells(line) for n, line in lines if not line.startswith("#") and not is_document(line)}
    width, first = layout.width, layout.first_row
    if not is_even and rows:
        width = Counter(map(len, rows.values())).most_common(1)[0][0]
        first = next(n for n, cells in rows.items() if len(cells) == width)
    judged: list[_Line] = []
    in_sentence = False
    for n, line in lines:
        is_hash = line.startswith("#") and not is_document(line)
        if is_document(line) or (is_hash and layout.is_comment(line, in_sentence, {width})):
            judged.append((n, line, None))
            continue
        cells = layout.cells(line)
        if len(cells) != width:
            raise ValueError(f"{location} {n}: found {describe(cells)}, {_advice(line, layout, width, first)}")
        layout.learn(line, in_sentence)
        in_sentence = True
        judged.append((n, line, cells))
    return judged


def _advice(line: str, layout: Layout, width: int, first: int) -> str:
    """Return what a row was expected to have, and what to do."""
    expected = f"expected {width} as in line {first}." if first else f"expected {width}."
    if line.startswith("#"):
        return f'{expected} A comment within a sentence begins with "# ".'
    if layout.separator is None and "\t" in line:
        return f'{expected} If cells contain spaces, use separator="\\t" (--separator "\\t").'
    return expected


def _conllu_cells(line: str, layout: Layout, location: str) -> list[str] | None:
    if line.startswith("#"):
        return None
    cells = line.split("\t")
    if len(cells) != layout.width:
        raise ValueError(f"{location}: found {describe(cells)} between tabs, expected {layout.width} (CoNLL-U).")
    if not is_conllu_id(cells[0]):
        raise ValueError(f"{location}: found {cells[0]!r}, expected a token's number (CoNLL-U), such as 1.")
    return cells if cells[0].isdigit() else None


def describe(cells: list[str]) -> str:
    """Return a description of a line's cells for an error."""
    return f"{len(cells)} column{'s' if len(cells) > 1 else ''} ({', '.join(cells):.60})"
