"""Rows of csv and tsv files. The delimiter and the quoting are found out from the file, and rows have their lines."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.cells import unmark_formula
from dense_lstm_zoo.display.notes import say

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
_LONGEST_CELL = 1 << 30  # Python's csv module refuses cells of more than 131,072 characters by default
_MAY_BE_UNQUOTED = ("\t", "|")  # spreadsheets quote such cells, but many corpora do not
_SAMPLE = 1 << 20  # characters from the first quotation mark on, which show whether cells are quoted
_SEPARATOR_LINE = re.compile(r'"?sep=(\\t|.)"?[,;\t|]*\s*', re.IGNORECASE)  # Excel's own, before the column names
_LOOKS = {
    "{": "It looks like JSON lines.",
    "<!doctype html": "It looks like a web page.",
    "<html": "It looks like a web page.",
    "version https://git-lfs": 'It is a pointer of Git LFS: "git lfs pull" fetches the file.',
}
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True)
class Dialect:
    """The form in which a table is written.

    Args:
        delimiter: What is between two cells.
        quoted: Whether quotation marks around a cell do not belong to its content.
        skip: The number of lines before the column names.
        spaced: Whether spaces after a delimiter belong to no cell.
    """

    delimiter: str = ","
    quoted: bool = True
    skip: int = 0
    spaced: bool = False

    def reader(self, lines: Iterable[str]) -> Any:
        """Return a reader of Python's csv module."""
        csv.field_size_limit(_LONGEST_CELL)
        if self.quoted:
            return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.spaced, strict=True)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)


@dataclass(frozen=True)
class Delimited:
    """A table whose column names have been read: its rows come with the number of their first line in the file."""

    names: list[str]
    delimiter: str
    rows: Iterator[tuple[int, list[str]]]


def read_table(
    lines: Iterable[str],
    name: str,
    form: str,
    columns: Sequence[str],
    advice: str,
    delimiter: str | None = None,
    instead: str = "",
) -> Delimited:
    """Return the rows of a table, which are read lazily. The column names are read at once.

    Rows that repeat the column names, as in files that were joined, are left out, and counted in a line on standard
    error. So is a delimiter that is not the usual one of the format. A blank line is not a row.

    Args:
        lines: The lines with their ends.
        name: The name of the file, for errors.
        form: "csv" or "tsv".
        columns: The columns that the table must have. The one of the texts comes first.
        advice: What to do if it does not have them.
        delimiter: What is between two cells. None finds it out.
        instead: As for ``check_columns``.

    Raises:
        ValueError: No such column, or it is there twice. On iteration, with the line: a quotation mark that is never
            closed, or is inside a cell and not doubled, a row with too many cells, a null character, the column names
            of another table.
    """
    lines = _ended_by_returns(lines)
    dialect, lines = find_dialect(lines, name, form, columns, delimiter)
    rows = _rows(lines, name, dialect)
    line, header = next(rows, (1, None))
    if header is None:
        raise ValueError(f"{name} is empty; a table begins with a row of column names.")
    if not any(cell.strip() for cell in header):
        raise ValueError(f"{name}, line {line} is blank; it must hold the column names.")
    names = plain_names(list(map(unmark_formula, header)), columns)
    check_columns(name, names, columns, advice, instead)
    if dialect.delimiter not in (_usual(form), delimiter):
        say(f"{name}: its columns are separated by {DELIMITERS.get(dialect.delimiter, repr(dialect.delimiter))}.")
    return Delimited(names, dialect.delimiter, _examples(rows, name, names, columns, dialect.delimiter))


def plain_names(names: list[str], columns: Sequence[str]) -> list[str]:
    """Return column names without the spaces around them, unless these tell columns apart, or ``columns`` has them."""
    stripped = [name.strip() for name in names]
    as_written, plain = (set(columns) <= set(each) for each in (names, stripped))
    if as_written != plain:
        return stripped if plain else names
    return stripped if len(set(stripped)) == len(set(names)) else names


def check_columns(name: str, names: Sequence[str], columns: Sequence[str], advice: str, instead: str) -> None:
    """Raise ``ValueError`` unless a table has each of the columns once.

    Args:
        name: The name of the table.
        names: The names of its columns.
        columns: The columns that it must have.
        advice: What to do if it does not have them.
        instead: What the names of several columns begin with that may take the place of all but the first one. Empty
            for none.
    """
    has_others = instead != "" and sum(column.strip().startswith(instead) for column in names) > 1
    has_others = has_others and set(columns[1:]).isdisjoint(names)
    for column in columns:
        if column not in names:
            if has_others and column in columns[1:]:
                continue
            beginning = "".join(names[:1]).lstrip().lower()
            looks = next(
                (f" {description}" for start, description in _LOOKS.items() if beginning.startswith(start)), ""
            )
            raise ValueError(
                f"{checks.unknown_name(f'column for {name}:', column, names)}{looks} {advice} The first row of a table "
                "holds these names."
            )
        check_once(name, names, column)


def check_once(name: str, names: Sequence[str], column: str) -> None:
    """Raise ``ValueError`` if a table has more than one column of a name."""
    if names.count(column) > 1:
        raise ValueError(f"{name} has {names.count(column)} columns named {column!r}; rename all but one.")


def check_delimiter(delimiter: str | None) -> str | None:
    r"""Return a delimiter, with a tab for the two characters ``\t``. None, which finds it out, stays None.

    Raises:
        ValueError: Anything but a single character, or one that a cell's end cannot be.

    Example:
        >>> check_delimiter("\\t"), check_delimiter("~"), check_delimiter(None)
        ('\t', '~', None)
    """
    if delimiter is None or delimiter == "\\t":
        return None if delimiter is None else "\t"
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ValueError(
            "delimiter (--delimiter) must be the one character between two cells, such as ; or \\t for a tab; received "
            f"{delimiter!r:.40}."
        )
    return delimiter


def find_dialect(
    lines: Iterator[str], name: str, form: str, columns: Sequence[str], delimiter: str | None = None
) -> tuple[Dialect, Iterator[str]]:
    """Return how a table is written, as far as its first line shows, and its lines from the first one on.

    The delimiter is the one that is given, or that a line ``sep=;`` says, or with which the first line holds the
    columns. If it is so with none, it is the one that gives the most cells.

    Raises:
        ValueError: Two delimiters would do.
    """
    first = next(lines, "").removeprefix("\ufeff")
    lines = itertools.chain([first] if first else [], lines)
    if match := _SEPARATOR_LINE.fullmatch(first.strip("\r\n ")):
        return Dialect(delimiter or ("\t" if match[1] == "\\t" else match[1]), skip=1), lines
    if delimiter is not None:
        return Dialect(delimiter, spaced=f'"{delimiter} "' in first), lines
    cells = {delimiter: _cells(first, delimiter) for delimiter in (_usual(form), *DELIMITERS)}
    fitting = [delimiter for delimiter, names in cells.items() if set(columns) <= set(names)]
    if len(fitting) > 1 and _usual(form) not in fitting:
        both = " or ".join(DELIMITERS[delimiter] for delimiter in fitting)
        raise ValueError(
            f"{name}: its columns may be separated by {both}. Say which with delimiter= (--delimiter), such as "
            f"{fitting[0]!a}."
        )
    if not fitting:
        fitting = [max(cells, key=lambda delimiter: len(cells[delimiter]))]
    return Dialect(fitting[0], spaced=f'"{fitting[0]} "' in first), lines


def is_quoted(lines: Iterable[str], delimiter: str, width: int | None = None) -> bool:
    """Return whether quotation marks around the cells of a table are no part of them.

    They are in csv. Elsewhere they are if each cell with a quotation mark is in quotation marks, as spreadsheets write
    it, or if line ends or delimiters inside quotation marks explain rows that would have other numbers of cells.

    Args:
        lines: Lines, the first of which begins a row. At most a million characters from the first mark on are read.
        delimiter: What is between two cells.
        width: The number of columns. None means that of the first line.
    """
    if delimiter not in _MAY_BE_UNQUOTED:
        return True
    lines = iter(lines)
    for line in lines:
        if '"' in line:
            sample = [line, *_sample(lines)]
            return _is_quoted(sample, delimiter, width, is_cut=next(lines, None) is not None)
        width = width or line.count(delimiter) + 1
    return False


def name_lines(numbers: Sequence[int], unit: str = "line") -> str:
    """Return the number of rows, with the lines, or the numbers, of the first few."""
    first = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    many = len(numbers) > 1
    return f"{len(numbers)} row{'s' if many else ''} ({unit}{'s' if many and unit == 'line' else ''} {first})"


def repeats_names(cells: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a row is the row of column names again. A single column may well hold its name as a text."""
    return len(names) > 1 and _folded(cells) == _folded(names)


def _folded(cells: Iterable[str]) -> list[str]:
    return [cell.strip("\ufeff \t\r\n").casefold() for cell in cells]


def _usual(form: str) -> str:
    return "\t" if form == "tsv" else ","


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line of column names, or none if quotation marks do not fit the delimiter."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []
    return [] if any('"' in cell for cell in cells) else list(map(unmark_formula, cells))


def _sample(lines: Iterator[str]) -> Iterator[str]:
    size = 0
    while size < _SAMPLE and (line := next(lines, None)) is not None:
        size += len(line)
        yield line


def _is_quoted(lines: list[str], delimiter: str, width: int | None, is_cut: bool) -> bool:
    plain = [line.rstrip("\r\n").split(delimiter) for line in lines if line.strip()]
    marked = (cell for row in plain for cell in row if '"' in cell)
    if all(map(_QUOTED_CELL.fullmatch, marked)):
        return True
    quoted: list[list[str]] = []
    try:
        quoted.extend(row for row in Dialect(delimiter).reader(lines) if any(cell.strip() for cell in row))
    except csv.Error as error:
        if not (is_cut and "end of data" in str(error)):
            return False
    if not quoted:
        return False
    width = width or len(quoted[0])
    odd = sum(len(row) != width for row in quoted)
    return max(map(len, quoted)) <= width and odd < sum(len(row) != width for row in plain)


def _rows(lines: Iterator[str], name: str, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row and the number of its first line, from the column names on."""
    lines = itertools.islice(lines, dialect.skip, None)
    number, width = 1 + dialect.skip, None
    if dialect.delimiter in _MAY_BE_UNQUOTED:
        for line in lines:
            if '"' in line:
                sample = [line, *_sample(lines)]
                following = list(itertools.islice(lines, 1))
                lines = itertools.chain(sample, following, lines)
                quoted = _is_quoted(sample, dialect.delimiter, width, is_cut=bool(following))
                dialect = dataclasses.replace(dialect, quoted=quoted)
                break
            row = line.rstrip("\r\n").split(dialect.delimiter)
            width = width or len(row)
            yield number, row if any(row) else []
            number += 1
        else:
            return
    reader = dialect.reader(lines)
    while True:
        line_number = number + reader.line_num
        try:
            yield line_number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            is_open = "end of data" in str(error)
            reason = "opens a quotation mark that is never closed" if is_open else f"is broken: {error}"
            raise ValueError(f"{name}, line {line_number} {reason}.") from None


def _examples(
    rows: Iterator[tuple[int, list[str]]], name: str, names: list[str], columns: Sequence[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank and do not repeat the column names, without the marks of formulas."""
    repeated = []
    for line, row in rows:
        if not row or (len(row) == 1 and not row[0].strip() and len(names) > 1):
            continue
        location = f"{name}, line {line}"
        if any("\0" in cell for cell in row):
            raise ValueError(f"{location} holds a null character, as binary files do. Remove it.")
        while len(row) > len(names) and not row[-1].strip():  # a delimiter at the end of each row
            row.pop()
        if len(row) > len(names):
            part = DELIMITERS.get(delimiter, repr(delimiter))
            raise ValueError(
                f"{location} has {len(row)} cells; there are {len(names)} column names. A cell that contains {part} "
                "needs quotation marks, and every column a name."
            )
        if repeats_names(row, names):
            repeated.append(line)
            continue
        if len(names) > 1 and _is_other_header(row, names, columns):
            raise ValueError(
                f"{location} holds the column names of another table, as in files that were joined: "
                f"{', '.join(row)!r:.200}. Read each table by itself, or give them the same columns in the same order."
            )
        yield line, [unmark_formula(cell) if cell[:1] == "'" else cell for cell in row]
    if repeated:
        verb = "repeats" if len(repeated) == 1 else "repeat"
        say(f"{name}: {name_lines(repeated)} {verb} the column names, as in files that were joined; left out.")


def _is_other_header(row: list[str], names: list[str], columns: Sequence[str]) -> bool:
    cells, folded = _folded(row), _folded(names)
    if sorted(cells) == sorted(folded):
        return True
    places = [names.index(column) for column in columns if column in names]
    return len(places) > 1 and all(place < len(cells) and cells[place] == folded[place] for place in places)


def _ended_by_returns(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that end at a carriage return too, as old spreadsheets write them. The csv module needs that."""
    for line in lines:
        if "\r" in line:
            yield from io.StringIO(line, newline="")
        else:
            yield line
