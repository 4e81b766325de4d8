"""Files in columns with one token per line: CoNLL, with blank lines between sentences, and CoNLL-U."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dense_lstm_zoo.data.text_file import TextFile, numbered_lines

# Of CoNLL-U: the number of columns, and those of the tokens and of the two kinds of tags.
CONLLU_COLUMNS, FORM, UPOS, XPOS = 10, 1, 3, 4
_CONLLU_ID = re.compile(r"[0-9]+(?:[-.][0-9]+)?")
_BLANK = " \t\r\n"  # no other white space: some corpora have no-break spaces within tokens
_DOCUMENT = "-DOCSTART-"

Row: TypeAlias = tuple[int, list[str]]
"""The number of a line, from 1, and its cells."""


@dataclass(frozen=True)
class ColumnFile:
    """The sentences of a file in columns, each a list of rows; the file is never held in full.

    One or more blank lines end a sentence. A ``-DOCSTART-`` line is not a token. A file is CoNLL-U if its name ends in
    ``.conllu`` or ``.conllu.gz``, or if its first line that is not a comment has ten tab-separated columns, the first a
    number; then comments, multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped.

    Args:
        path: The file, plain or gzip (detected from its content).
        separator: The separator of columns; None means spaces and tabs. With ``"\\t"``, cells may hold spaces.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file; the message names similar ones beside it.
        ValueError: A folder, an unknown encoding, an empty separator; on iteration, with file and line: uneven rows,
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", TextFile(self.path, self.encoding).path)
        if self.separator is not None and not (isinstance(self.separator, str) and self.separator):
            raise ValueError(f"separator must be None for spaces and tabs, or a string; received {self.separator!r}.")

    @functools.cached_property
    def is_conllu(self) -> bool:
        """Whether the file is CoNLL-U; the first call may read its beginning."""
        if self.path.name.lower().removesuffix(".gz").endswith(".conllu"):
            return True
        return _is_conllu(_beginning(self._lines()))

    def __iter__(self) -> Iterator[list[Row]]:
        hint = "" if self.separator else ' If cells contain spaces, use separator="\\t" (--separator "\\t").'
        for sentence in _sentences(self._lines(), self.is_conllu, self.separator, f"{self.path}, line", hint):
            if rows := [(number, cells) for number, _, cells in sentence if cells]:
                yield rows

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line's number and text, which is "" for a blank one."""
        for number, line in numbered_lines(self.path, self.encoding):
            yield number, line if line.strip(_BLANK) else ""


def sentence_lines(
    lines: Iterable[str], token_column: int = 0, separator: str | None = None, where: str = "Line"
) -> Iterator[list[tuple[str, str | None]]]:
    """Yield the lines of each sentence unchanged, each with its token, or with None if it has none.

    Comments, multiword ranges and empty nodes of CoNLL-U, and ``-DOCSTART-``, are not tokens. Lines are CoNLL-U if the
    first that is not a comment has ten tab-separated columns, the first a number.

    Args:
        lines: Lines of a file in columns, of which one sentence at a time is held.
        token_column: The tokens' column, from 0; negative numbers count from the end. CoNLL-U: by default FORM (1).
        separator: As in ``ColumnFile``.
        where: Start of error messages, before the line number.

    Raises:
        ValueError: On iteration, with the line: too few columns, uneven rows, or a line that is not CoNLL-U.

    Example:
        >>> list(sentence_lines(["Dogs X", "bark Y", "", "Go Y"]))
        [[('Dogs X', 'Dogs'), ('bark Y', 'bark')], [('Go Y', 'Go')]]
    """
    numbered = enumerate(lines, start=1)
    beginning = _beginning(numbered)
    is_conllu = _is_conllu(beginning)
    column = token_column or (FORM if is_conllu else 0)
    for sentence in _sentences(itertools.chain(beginning, numbered), is_conllu, separator, where):
        for number, _, cells in sentence:
            if cells and not -len(cells) <= column < len(cells):
                raise ValueError(f"{where} {number}: found {describe(cells)}; there is no column {column}.")
        yield [(line, cells[column] if cells else None) for _, line, cells in sentence]


def _sentences(
    lines: Iterable[tuple[int, str]], is_conllu: bool, separator: str | None, where: str, hint: str = ""
) -> Iterator[list[tuple[int, str, list[str] | None]]]:
    """Yield the lines of each sentence with their numbers, and the cells of those that are tokens."""
    sentence: list[tuple[int, str, list[str] | None]] = []
    first: Row | None = None
    for number, line in lines:
        is_blank, is_document = not line.strip(_BLANK), line.startswith(_DOCUMENT)
        if sentence and (is_blank or is_document):
            yield sentence
            sentence = []
        if is_blank:
            continue
        cells: list[str] | None = None
        if is_conllu and not is_document:
            cells = _conllu_cells(line, f"{where} {number}")
        elif not is_document:
            cells = _cells(line) if separator is None else [cell.strip(_BLANK) for cell in line.split(separator)]
            first = first or (number, cells)
            if len(cells) != len(first[1]):
                expected = f"expected {len(first[1])} as in line {first[0]}"
                raise ValueError(f"{where} {number}: found {describe(cells)}, {expected}.{hint}")
        sentence.append((number, line, cells))
    if sentence:
        yield sentence


def _beginning(lines: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """Take lines up to the first that is neither blank nor starts like a comment."""
    taken = []
    for number, line in lines:
        taken.append((number, line))
        if line.strip(_BLANK) and not line.startswith("#"):
            break
    return taken


def _is_conllu(beginning: list[tuple[int, str]]) -> bool:
    return bool(beginning) and is_conllu_row(beginning[-1][1])


def is_conllu_row(line: str) -> bool:
    """Return whether a line has the ten columns of CoNLL-U between tabs, the first of them a number."""
    cells = line.split("\t")
    return len(cells) == CONLLU_COLUMNS and _CONLLU_ID.fullmatch(cells[0]) is not None


def _conllu_cells(line: str, where: str) -> list[str] | None:
    if line.startswith("#"):
        return None
    cells = line.split("\t")
    if len(cells) != CONLLU_COLUMNS:
        raise ValueError(f"{where}: found {describe(cells)} between tabs, expected {CONLLU_COLUMNS} (CoNLL-U).")
    if not _CONLLU_ID.fullmatch(cells[0]):
        raise ValueError(f"{where}: found {cells[0]!r}, expected a token's number (CoNLL-U), such as 1.")
    return cells if cells[0].isdigit() else None


def _cells(line: str) -> list[str]:
    return re.split(r"[ \t]+", line.strip(_BLANK))


def describe(cells: list[str]) -> str:
    """Return a description of a line's cells for an error."""
    return f"{len(cells)} column{'s' if len(cells) > 1 else ''} ({', '.join(cells):.60})"
