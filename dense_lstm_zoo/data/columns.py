"""Files in columns, a token a line: CoNLL's, with blank lines between sentences, and CoNLL-U."""

from __future__ import annotations

import collections
import functools
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dense_lstm_zoo.data import language
from dense_lstm_zoo.data.language import TextFile

CONLLU_COLUMNS = 10
_CONLLU_ID = re.compile(r"[0-9]+(?:[-.][0-9]+)?")
_BLANK = " \t\r\n"  # no other white space: some corpora have a no-break space within a token
_DOCUMENT = "-DOCSTART-"

Row: TypeAlias = tuple[int, list[str]]
"""The number of a line, from 1, and its cells."""


@dataclass(frozen=True)
class ColumnFile:
    """The sentences of a file in columns, each a list of rows; the file is never held whole.

    A blank line ends a sentence, however many there are. A line of ``-DOCSTART-`` is no token. A file is CoNLL-U if its
    name says so, ``.conllu`` or ``.conllu.gz``, or if it begins with ``# `` comments before ten tab-separated columns;
    then comments, multiword ranges (``1-2``) and empty nodes (``1.1``) are left out.

    Args:
        path: Plain or compressed with gzip (told by its content).
        separator: What stands between two columns; None: spaces and tabs. With ``"\\t"``, cells may hold spaces.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file; the message names similar ones beside it.
        ValueError: A folder, an unknown encoding, an empty separator; on iteration, with file and line: uneven rows,
            what is not CoNLL-U in such a file, bytes that are not in the encoding, damaged gzip.

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
            raise ValueError(f"separator must be None for spaces and tabs, or characters; received {self.separator!r}.")

    @functools.cached_property
    def is_conllu(self) -> bool:
        """Whether the file is CoNLL-U; the first call may read the beginning of it."""
        if self.path.name.lower().removesuffix(".gz").endswith(".conllu"):
            return True
        lines = (line for _, line in self._lines() if line)
        if not next(lines, "").startswith("# "):
            return False
        # A token "#" begins a line in the same way, but then ten columns do not follow.
        return next((line for line in lines if not line.startswith("#")), "").count("\t") == CONLLU_COLUMNS - 1

    def __iter__(self) -> Iterator[list[Row]]:
        rows: list[Row] = []
        first: Row | None = None
        for number, line in self._lines():
            if line and not line.startswith(_DOCUMENT):
                if cells := self._conllu_cells(number, line) if self.is_conllu else self._cells(line):
                    first = first or (number, cells)
                    if len(cells) != len(first[1]):
                        raise ValueError(
                            f"{self.path}, line {number}: found {describe(cells)}, expected {len(first[1])} as in line "
                            f"{first[0]}."
                            + (' If cells hold spaces, say separator="\\t".' if not self.separator else "")
                        )
                    rows.append((number, cells))
            elif rows:
                yield rows
                rows = []
        if rows:
            yield rows

    def _cells(self, line: str) -> list[str]:
        if self.separator is None:
            return _cells(line)
        return [cell.strip(_BLANK) for cell in line.split(self.separator)]

    def _conllu_cells(self, number: int, line: str) -> list[str] | None:
        if line.startswith("#"):
            return None
        cells = line.split("\t")
        if len(cells) != CONLLU_COLUMNS:
            raise ValueError(
                f"{self.path}, line {number}: found {describe(cells)} between tabs, expected {CONLLU_COLUMNS} "
                "(CoNLL-U)."
            )
        if not _CONLLU_ID.fullmatch(cells[0]):
            raise ValueError(
                f"{self.path}, line {number}: found {cells[0]!r}, expected a token's number (CoNLL-U), such as 1."
            )
        return cells if cells[0].isdigit() else None

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line's number and text, which is "" for a blank one."""
        text_file = TextFile(self.path, self.encoding)
        try:
            with (
                self.path.open("rb") as file,
                io.TextIOWrapper(language._unpacked(file), text_file._codec, newline="\n") as text,
            ):
                for number, line in enumerate(text, start=1):
                    yield number, line.rstrip("\r\n") if line.strip(_BLANK) else ""
        except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
            collections.deque(text_file, maxlen=0)  # finds the line, and raises what users read
            raise


def sentence_lines(lines: Iterable[str]) -> Iterator[list[tuple[str, str | None]]]:
    """Yield the lines of each sentence as they are, each with the token on it, or with None where there is none.

    The token is the first column; where the first sentence is CoNLL-U, ten columns between tabs of which one is a
    number, it is the second. Comments, multiword ranges and empty nodes of CoNLL-U, and ``-DOCSTART-``, are no tokens.

    Args:
        lines: Lines of a file in columns, of which a sentence at a time is held.

    Raises:
        ValueError: On iteration: uneven rows, with the line.

    Example:
        >>> list(sentence_lines(["Dogs X", "bark Y", "", "Go Y"]))
        [[('Dogs X', 'Dogs'), ('bark Y', 'bark')], [('Go Y', 'Go')]]
    """
    is_conllu: bool | None = None
    first: Row | None = None
    for is_blank, group in itertools.groupby(enumerate(lines, start=1), key=lambda row: not row[1].strip(_BLANK)):
        if is_blank:
            continue
        numbered, sentence = list(group), []
        if is_conllu is None:
            is_conllu = any(_is_conllu_row(line) for _, line in numbered)
        for number, line in numbered:
            token = None
            if not line.startswith(_DOCUMENT) and not (is_conllu and line.startswith("#")):
                cells = line.split("\t") if is_conllu else _cells(line)
                first = first or (number, cells)
                if len(cells) != len(first[1]):
                    expected = f"expected {len(first[1])} as in line {first[0]}"
                    raise ValueError(f"Line {number} has {describe(cells)}, {expected}.")
                token = cells[0] if not is_conllu else cells[1] if cells[0].isdigit() else None
            sentence.append((line, token))
        yield sentence


def _is_conllu_row(line: str) -> bool:
    cells = line.split("\t")
    return len(cells) == CONLLU_COLUMNS and _CONLLU_ID.fullmatch(cells[0]) is not None


def _cells(line: str) -> list[str]:
    return re.split(r"[ \t]+", line.strip(_BLANK))


def describe(cells: list[str]) -> str:
    """Return the cells of a line as an error names them."""
    return f"{len(cells)} column{'s' if len(cells) > 1 else ''} ({', '.join(cells):.60})"
