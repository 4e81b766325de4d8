"""The layout of a file in columns: its columns' names and number, and its comments, which may look like tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dense_lstm_zoo import checks

BLANK = " \t\r\n"  # no other white space: some corpora have no-break spaces within tokens
CONLLU_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_CONLLU_ID = re.compile(r"[0-9]+(?:[-.][0-9]+)?")
_GLOBAL_COLUMNS = re.compile(r"# *global\.columns *=(.*)")
# Lines between documents: of CoNLL-2003, CoNLL-2012 and the GENIA corpus.
_DOCUMENT = re.compile(r"-DOCSTART-|#(?:begin|end) document\b|###MEDLINE:")
# Comments that CoNLL-U defines, which are also in other files.
_DEFINED = re.compile(r"# +(?:newdoc|newpar)\b|# +[\w.:-]*\w +=(?:\s|$)")

NumberedLine = tuple[int, str]


@dataclass
class Layout:
    """The form of a file's lines, as its beginning shows it.

    Args:
        names: The names of the columns in CoNLL-U and CoNLL-U Plus, else empty.
        separator: The separator of columns. None means spaces and tabs.
        has_tabs: Whether all cells of the rows are separated by tabs.
        width: How many columns most rows have.
        first_row: The number of the first row of that width.
        is_numbered: Whether all rows are as in CoNLL-U, ten cells that begin with a number, but for the tabs.
        tags: The last cell of each row, and the first cells of its rows if these begin with ``#``, else ``""``.
    """

    names: tuple[str, ...] = ()
    separator: str | None = None
    has_tabs: bool = False
    width: int = 0
    first_row: int = 0
    is_numbered: bool = False
    tags: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Sequence[NumberedLine], separator: str | None, is_conllu: bool = False) -> Layout:
        """Return the layout that the first lines of a file show."""
        texts = [line for _, line in lines if line.strip(BLANK)]
        names = next((match[1].split() for line in texts if (match := _GLOBAL_COLUMNS.match(line))), [])
        rows = [line for line in texts if not line.startswith("#")]
        if names:
            return cls(tuple(names), "\t", has_tabs=True, width=len(names))
        if is_conllu or (rows and is_conllu_row(rows[0])):
            return cls(CONLLU_NAMES, "\t", has_tabs=True, width=len(CONLLU_NAMES))
        layout = cls((), separator)
        rows = [line for line in rows if not is_document(line)] or [line for line in texts if not is_document(line)]
        cells = {line: layout.cells(line) for line in rows}
        layout.has_tabs = separator is None and all(
            len(line.strip(BLANK).split("\t")) == len(cells[line]) > 1 for line in rows
        )
        # Of two widths that are as frequent, the first one in the file.
        layout.width = Counter(len(cells[line]) for line in rows).most_common(1)[0][0] if rows else 0
        layout.first_row = next((number for number, line in lines if len(cells.get(line, ())) == layout.width), 0)
        numbered = [len(row) == len(CONLLU_NAMES) and is_conllu_id(row[0]) for row in cells.values()]
        layout.is_numbered = separator in (None, " ") and bool(numbered) and all(numbered)
        in_sentence = False
        for _, line in lines:
            if not line.strip(BLANK) or is_document(line):
                in_sentence = False
            else:
                layout.learn(line, in_sentence)
                in_sentence = in_sentence or not line.startswith("#")
        return layout

    def learn(self, line: str, in_sentence: bool) -> None:
        """Take the last cell of a line as a tag if the line can be a row."""
        cells = self.cells(line)
        if self.names or len(cells) < 2 or (line.startswith("#") and not self._fits(line, cells, {self.width})):
            return
        alone = line.startswith("#") and not in_sentence
        self.tags.setdefault(cells[-1], set()).add(cells[0] if alone else "")

    def cells(self, line: str) -> list[str]:
        """Return the cells of a row."""
        if self.names:
            return line.split("\t")
        if self.separator is None:
            return re.split(r"[ \t]+", line.strip(BLANK))
        return [cell.strip(BLANK) for cell in line.split(self.separator)]

    def is_comment(self, line: str, in_sentence: bool, widths: Iterable[int]) -> bool:
        """Return whether a line that begins with ``#`` is a comment, and not the row of a token.

        Args:
            line: The line.
            in_sentence: Whether rows of the same sentence come before it.
            widths: The numbers of columns that a row may have here.
        """
        if self.names and self.names[0] == "ID":
            return True
        cells = self.cells(line)
        if not self._fits(line, cells, set(widths)):
            # A token with a cell too many or too few is no comment, but an error.
            return not in_sentence or line[1:2] in ("", " ", "\t", "#")
        if in_sentence or len(cells) == 1:
            return False
        first_cells = self.tags.get(cells[-1], set())
        is_tag = "" in first_cells or len(first_cells) > 1 or "#" in cells[1:]
        return not (is_tag or (self.has_tabs and cells[0] != "#"))

    def _fits(self, line: str, cells: list[str], widths: set[int]) -> bool:
        """Return whether a line has as many columns as a row, with the separators of the rows."""
        if _DEFINED.match(line) or is_document(line) or len(cells) not in widths:
            return False
        if self.separator is not None or len(cells) == 1:
            return True
        return not self.has_tabs or len(line.strip(BLANK).split("\t")) == len(cells)

    def column(self, option: str, value: int | str, path: object) -> int:
        """Return the number of a column that is given by its number or its name.

        Raises:
            ValueError: Neither an integer nor the name of a column of this file.
        """
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if not isinstance(value, str) or not value:
            raise ValueError(
                f"{option} must be an integer: from 0, or negative from the end; or a column's name in CoNLL-U; "
                f"received {value!r}."
            )
        if not self.names:
            raise ValueError(
                f"{option} must be an integer: from 0, or negative from the end; received {value!r}. Columns have "
                f"names only in CoNLL-U, and {path} is not CoNLL-U."
            )
        folded = [name.lower() for name in self.names]
        if value.lower() not in folded:
            raise checks.unknown_name(f"column of {path} for {option}:", value, self.names)
        return folded.index(value.lower())

    def check_tokens(self, column: int, path: object) -> None:
        """Raise ``ValueError`` if the tokens' column has the numbers of CoNLL-U whose tabs became spaces."""
        if self.is_numbered and column == 0:
            raise ValueError(
                f"{path} looks like CoNLL-U with spaces in place of tabs: its first column numbers the tokens. Put the "
                "tabs back, or name the columns, such as token_column=1 (--token-column 1)."
            )


def is_document(line: str) -> bool:
    """Return whether a line stands between documents, such as ``-DOCSTART-`` and ``#begin document``."""
    return _DOCUMENT.match(line) is not None


def is_conllu_row(line: str) -> bool:
    """Return whether a line has the ten columns of CoNLL-U between tabs, the first of them a number."""
    cells = line.split("\t")
    return len(cells) == len(CONLLU_NAMES) and is_conllu_id(cells[0])


def is_conllu_id(cell: str) -> bool:
    """Return whether a cell is a number of CoNLL-U: of a token, a range (``1-2``) or an empty node (``1.1``)."""
    return _CONLLU_ID.fullmatch(cell) is not None
