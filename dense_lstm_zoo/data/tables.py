"""Tables of texts and labels: csv, tsv, jsonl, Parquet or xlsx, one example per row, checked before use."""

from __future__ import annotations

import functools
import io
import json
import math
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import delimited, soft_labels, typed_tables
from dense_lstm_zoo.data.delimited import name_lines
from dense_lstm_zoo.data.endings import form_beside
from dense_lstm_zoo.data.label_columns import Label, LabelColumns, check_one_kind, names_of
from dense_lstm_zoo.data.labels import CodedLabels
from dense_lstm_zoo.data.soft_labels import SoftRows
from dense_lstm_zoo.data.stored_texts import StoredTexts
from dense_lstm_zoo.data.table_lines import opened, read_lines
from dense_lstm_zoo.display.notes import say
from dense_lstm_zoo.storage import files

FORMATS = ("csv", "tsv", "jsonl", *typed_tables.FORMATS)
MOST_IN_MEMORY = 1 << 24  # characters of texts. More are kept in a temporary file
LONGEST_LABEL = 1000  # characters. Anything longer is a text, or damage
_MOST_LEVELS = 100  # of JSON inside JSON
_AS_LINES = (
    "In JSON lines each line is an object: "
    'pandas.read_json("old.json").to_json("new.jsonl", orient="records", lines=True) writes such a file.'
)
_NAME_COLUMNS = "Name the columns with text_column and label_column (--text-column, --label-column)."


@dataclass(frozen=True)
class Table:
    """The two columns of a file, with the line on which each row begins, or in Parquet and xlsx its number.

    ``texts`` is a list, or of a large file ``StoredTexts``. ``soft`` is None for a file without soft labels. Where a
    row has some, its label may be empty.
    """

    path: Path
    lines: array[int]
    texts: list[str] | StoredTexts
    labels: CodedLabels
    unit: str = "line"
    soft: SoftRows | None = None

    def name_rows(self, lines: Sequence[int]) -> str:
        """Return the file, the number of rows on these lines, and the first of them, to begin an error with."""
        return f"{self.path}: {name_lines(lines, self.unit)}"


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading tables.

    Args:
        text_column: The column, or key, of the text.
        labels: The columns, or keys, of the labels.
        encoding: How csv, tsv and jsonl are encoded.
        delimiter: What separates the columns of csv and tsv. None finds it out.
        skip_empty: Whether rows without a text or a label are left out, and counted. Else they are an error.
    """

    text_column: str = "text"
    labels: LabelColumns = field(default_factory=LabelColumns)
    encoding: str = "utf-8"
    delimiter: str | None = None
    skip_empty: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, that of the texts first."""
        return (self.text_column, *self.labels.names)


def read_tables(kind: str, paths: Mapping[str, str | Path | None], options: ReadingOptions) -> dict[str, Table]:
    """Return the table of each named file, after checking that all of them exist.

    The training file may have soft labels: columns ``probability_NAME`` beside the labels, or in their place.

    Args:
        kind: The format of the training file, or of a file alone.
        paths: The files by part. Dev and test files may have other formats, by their names.
        options: The columns, and how the files are written.
    """
    checks.one_of("kind", kind, FORMATS)
    if options.text_column in options.labels.names:
        raise ValueError(
            "text_column and label_column (--text-column, --label-column) must differ; both are "
            f"{options.text_column!r}."
        )
    checks.encoding(options.encoding)
    delimiter = delimited.check_delimiter(options.delimiter)
    if not isinstance(options.skip_empty, bool):
        raise ValueError(f"skip_empty must be true or false; received {options.skip_empty!r}.")
    existing = {part: files.existing_file(path) for part, path in paths.items() if path is not None}
    forms = {part: form_beside(path, kind, existing.get("train", path), FORMATS) for part, path in existing.items()}
    if delimiter is not None and not {"csv", "tsv"} & set(forms.values()):
        raise ValueError(f"delimiter (--delimiter) is for csv and tsv; {next(iter(existing.values()))} is {kind}.")
    return {part: _read_file(forms[part], path, options, part == "train") for part, path in existing.items()}


@dataclass(frozen=True)
class _SoftLabel:
    """The probabilities of a row by label, and who gave them."""

    shares: Mapping[str, object]
    teacher: object = None


_NO_SOFT_LABEL = _SoftLabel({})
_Rows = Iterator[tuple[int, str, Label, _SoftLabel]]  # the line, the text and the label of each


def _read_file(kind: str, path: Path, options: ReadingOptions, may_be_soft: bool) -> Table:
    if kind in typed_tables.FORMATS:
        with opened(path) as file:
            content = file.read()
        return _read_rows(path, _typed_rows(kind, path, content, options, may_be_soft), options, unit="row")
    if kind == "jsonl":
        # Only line feeds end a line: JSON strings may contain other Unicode line separators.
        cells = _json_cells(path, read_lines(path, options.encoding, newline="\n"), options, may_be_soft)
        return _read_rows(path, _rows_of_cells(cells, options), options)
    lines = read_lines(path, options.encoding, newline="")
    return _read_rows(path, _delimited_rows(kind, path, lines, options, may_be_soft), options)


def _read_rows(path: Path, rows: _Rows, options: ReadingOptions, unit: str = "line") -> Table:
    """Return the table of rows, after checking their cells. Rows that are left out are counted on standard error."""
    lines, labels, empty, size, soft = array("q"), CodedLabels(), array("q"), 0, SoftRows()
    texts: list[str] | StoredTexts = []
    for line, text, label, soft_label in rows:
        if not text.strip() or (options.skip_empty and label == "" and not soft_label.shares):
            empty.append(line)
            continue
        lines.append(line)
        texts.append(text)
        labels.append(label)
        soft.append(soft_label.shares, f"{path}, {unit} {line}", soft_label.teacher)
        size += len(text)
        if size > MOST_IN_MEMORY and isinstance(texts, list):
            texts = StoredTexts(texts)
    table = Table(path, lines, texts, labels, unit, soft if soft.names else None)
    if not lines and not empty:
        raise ValueError(f"{path} has a row of column names and no examples.")
    if empty and not options.skip_empty:
        _refuse_empty(table, empty, "text")
    if not lines:
        raise ValueError(f"{path}: no row has both a text and a label.")
    if empty:
        say(f"{table.name_rows(empty)} without text or label; left out.")
    _check_labels(table)
    return table


def _refuse_empty(table: Table, lines: Sequence[int], kind_of_cell: str) -> None:
    raise ValueError(
        f"{table.name_rows(lines)} with an empty {kind_of_cell}; fill them in, or leave them out with "
        "skip_empty=True (--skip-empty)."
    )


def _check_labels(table: Table) -> None:
    """Raise ``ValueError`` with the rows for labels that are empty, too long or cannot be written."""
    places = table.labels.places(lambda label: label == "")
    if table.soft is not None:
        places = [place for place in places if not table.soft.has(place)]
    if places:
        _refuse_empty(table, [table.lines[place] for place in places], "label")
    check_one_kind(
        table.labels.spellings,
        str(table.path),
        lambda label: f"{table.unit} {table.lines[table.labels.places(lambda other: other == label)[0]]}",
    )
    wrongs: tuple[tuple[str, Callable[[str], bool]], ...] = (
        ("an empty label among others, as after a separator too many", lambda name: not name),
        (f"a label longer than {LONGEST_LABEL:,} characters", lambda name: len(name) > LONGEST_LABEL),
        ("a label with a lone surrogate, which cannot be written to a file", lambda name: not checks.is_writable(name)),
    )
    for wrong, is_wrong in wrongs:
        if table.soft is not None and (names := [name for name in table.soft.names if is_wrong(name)]):
            raise ValueError(f"{table.path} has probabilities of {wrong}: {names[0]!a:.60}.")
        if places := table.labels.places(functools.partial(_has_wrong, is_wrong)):
            rows = table.name_rows([table.lines[place] for place in places])
            raise ValueError(f"{rows} with {wrong}; the first is {table.labels[places[0]]!a:.60}.")


def _has_wrong(is_wrong: Callable[[str], bool], label: Label) -> bool:
    return label != "" and any(map(is_wrong, names_of(label)))  # a label may only be missing beside soft ones


def _delimited_rows(kind: str, path: Path, lines: Iterator[str], options: ReadingOptions, may_be_soft: bool) -> _Rows:
    columns, delimiter = options.columns, delimited.check_delimiter(options.delimiter)
    instead = _instead_of_labels(options, may_be_soft)
    source = delimited.read_table(lines, str(path), kind, columns, _NAME_COLUMNS, delimiter, instead)
    text_at, *labels_at = (_place(column, source.names) for column in columns)
    soft_label = _soft_cells(path, source.names, columns) if may_be_soft else _no_soft_label
    for line, row in source.rows:
        # Blank rows, of which spreadsheets often write many at the end, are not examples.
        if any(cell.strip() for cell in row):
            cells = [*row, *[""] * (len(source.names) - len(row)), ""]
            label = options.labels.label([cells[i] for i in labels_at], f"{path}, line {line}")
            yield line, cells[text_at], label, soft_label(cells)


def _instead_of_labels(options: ReadingOptions, may_be_soft: bool) -> str:
    """Return what the names of columns begin with that may take the place of those of the labels, or nothing."""
    return soft_labels.PREFIX if may_be_soft and soft_labels.may_lack(options.labels) else ""


def _place(column: str | None, names: Sequence[str]) -> int:
    """Return the place of a column, or for one that is not there, the place behind the last."""
    return names.index(column) if column in names else len(names)


def _soft_cells(path: Path, names: Sequence[str], columns: Sequence[str]) -> Callable[[Sequence[Any]], _SoftLabel]:
    """Return a function from the cells of a row to its soft label."""
    labels = soft_labels.label_columns(names, columns, str(path))
    if not labels:
        return _no_soft_label
    places = {label: names.index(column) for column, label in labels.items()}
    teacher_at = _place(soft_labels.teacher_column(names, columns), names)

    def soft_label(cells: Sequence[Any]) -> _SoftLabel:
        shares = soft_labels.present({label: cells[place] for label, place in places.items()})
        return _SoftLabel(shares, cells[teacher_at])

    return soft_label


def _no_soft_label(cells: Sequence[Any]) -> _SoftLabel:
    return _NO_SOFT_LABEL


def _typed_rows(kind: str, path: Path, content: bytes, options: ReadingOptions, may_be_soft: bool) -> _Rows:
    columns = options.columns
    beginnings = (soft_labels.PREFIX, soft_labels.TEACHER) if may_be_soft else ()
    source = typed_tables.read_typed(
        io.BytesIO(content),
        str(path),
        kind,
        columns,
        _NAME_COLUMNS,
        only=lambda column: column in columns or column.strip().startswith(beginnings),
        instead=_instead_of_labels(options, may_be_soft),
    )
    places = [_place(column, source.names) for column in columns]
    soft_label = _soft_cells(path, source.names, columns) if may_be_soft else _no_soft_label

    def cells() -> _Cells:
        for number, row in source.rows:
            row = [*row, None]
            yield f"{path}, row {number}", number, [row[i] for i in places], soft_label(row)

    return _rows_of_cells(cells(), options)


_Cells = Iterator[tuple[str, int, list[object], _SoftLabel]]


def _json_cells(path: Path, lines: Iterator[str], options: ReadingOptions, may_be_soft: bool) -> _Cells:
    """Yield the location, the line, the cells (that of the text first) and the soft label of each object."""
    columns = options.columns
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        location = f"{path}, line {number}"
        row = parse_json_object(line.removesuffix("\n"), location, " and ".join(map(repr, columns)))
        soft_label = _NO_SOFT_LABEL
        if may_be_soft and (shares := soft_labels.present(soft_labels.of_json(row, columns, location))):
            soft_label = _SoftLabel(shares, row.get(soft_labels.teacher_column(row, columns)))
            if soft_labels.may_lack(options.labels) and not any(name in row for name in options.labels.names):
                row |= dict.fromkeys(options.labels.names)
        for column in columns:
            if column not in row:
                raise ValueError(f"{checks.unknown_name(f'column for {location}:', column, row)} {_NAME_COLUMNS}")
        yield location, number, [row[column] for column in columns], soft_label


def _rows_of_cells(cells: _Cells, options: ReadingOptions) -> _Rows:
    """Yield the rows of cells that have types."""
    for location, number, (text, *labels), soft_label in cells:
        if not isinstance(text, str | None):
            raise ValueError(f"{location}: {options.text_column!r} must be a string; found {text!r:.80}.")
        yield number, text or "", options.labels.label(labels, location), soft_label


def parse_json_object(line: str, location: str, needs: str) -> dict[str, Any]:
    """Return the object in a line of JSON.

    Args:
        line: The line.
        location: Start of the error, such as "reviews.jsonl, line 3".
        needs: The keys that the object must have, for the error.

    Raises:
        ValueError: Not JSON, not an object, nested deeper than 100 levels, an object with the same key twice, a number
            with too many digits, or one that is too large.
    """
    try:
        row = json.loads(line, object_pairs_hook=_object, parse_float=_number)
        if _is_deep(row):
            raise RecursionError
    except json.JSONDecodeError as error:
        way_out = f" {_AS_LINES}" if line.strip() in ("[", "{") else ""
        raise ValueError(f"{location} is not valid JSON: {error.msg} at column {error.colno}.{way_out}") from error
    except RecursionError:
        raise ValueError(f"{location} is JSON that is nested too deeply; expected an object with {needs}.") from None
    except _UnwritableError as error:
        raise ValueError(f"{location} {error}.") from None
    except ValueError:  # Python's limit of digits
        most = f"{sys.get_int_max_str_digits():,}"
        raise ValueError(f"{location} holds a number of more than {most} digits; write it as a string.") from None
    if isinstance(row, list):
        raise ValueError(f"{location} is not a JSON object with {needs}, but an array. {_AS_LINES}")
    if not isinstance(row, dict):
        raise ValueError(f"{location} is not a JSON object with {needs}; found {row!r:.80}.")
    return row


class _UnwritableError(ValueError):
    """JSON that Python reads and would not write again as it was."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _UnwritableError(f"holds the key {twice!r:.80} twice in an object; rename or remove one of the two")
    return row


def _number(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise _UnwritableError(f"holds a number that is too large, {digits:.40}; write it as a string")
    return number


def _is_deep(value: object) -> bool:
    """Return whether JSON is nested deeper than we read it: Python may read more levels than it can write."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MOST_LEVELS):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
