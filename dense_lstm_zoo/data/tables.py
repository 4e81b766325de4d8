"""Tables of texts and labels: csv, tsv, jsonl, Parquet or xlsx, one example per row, checked before use."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import delimited, encodings, typed_tables
from dense_lstm_zoo.data.binary import check_is_text
from dense_lstm_zoo.data.delimited import name_lines
from dense_lstm_zoo.data.endings import form_beside
from dense_lstm_zoo.data.text_file import unpacked
from dense_lstm_zoo.display.notes import say
from dense_lstm_zoo.storage import files

FORMATS = ("csv", "tsv", "jsonl", *typed_tables.FORMATS)
_LONGEST_LABEL = 1000  # characters. Anything longer is a text, or damage
_MOST_LEVELS = 100  # of JSON inside JSON
_AS_LINES = (
    "In JSON lines each line is an object: "
    'pandas.read_json("old.json").to_json("new.jsonl", orient="records", lines=True) writes such a file.'
)
_NAME_COLUMNS = "Name the columns with text_column and label_column (--text-column, --label-column)."


@dataclass(frozen=True)
class Table:
    """The two columns of a file, with the line on which each row begins, or in Parquet and xlsx its number."""

    path: Path
    lines: list[int]
    texts: list[str]
    labels: list[str]
    unit: str = "line"

    def name_rows(self, lines: Sequence[int]) -> str:
        """Return the file, the number of rows on these lines, and the first of them, to begin an error with."""
        return f"{self.path}: {name_lines(lines, self.unit)}"


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading tables.

    Args:
        text_column: The column, or key, of the text.
        label_column: The column, or key, of the label.
        encoding: How csv, tsv and jsonl are encoded.
        delimiter: What separates the columns of csv and tsv. None finds it out.
        skip_empty: Whether rows without a text or a label are left out, and counted. Else they are an error.
    """

    text_column: str = "text"
    label_column: str = "label"
    encoding: str = "utf-8"
    delimiter: str | None = None
    skip_empty: bool = False


def read_tables(kind: str, paths: Mapping[str, str | Path | None], options: ReadingOptions) -> dict[str, Table]:
    """Return the table of each named file, after checking that all of them exist.

    Args:
        kind: The format of the training file, or of a file alone.
        paths: The files by part. Dev and test files may have other formats, by their names.
        options: The columns, and how the files are written.
    """
    checks.one_of("kind", kind, FORMATS)
    if options.text_column == options.label_column:
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
    return {part: _read_file(forms[part], path, options) for part, path in existing.items()}


def _read_file(kind: str, path: Path, options: ReadingOptions) -> Table:
    try:
        with path.open("rb") as file:
            content = unpacked(file).read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is a truncated or damaged gzip file: {str(error).rstrip('.')}.") from error
    if kind in typed_tables.FORMATS:
        table = _parse_typed(kind, path, content, options)
    else:
        parse = _parse_jsonl if kind == "jsonl" else _parse_delimited
        table = parse(kind, path, _decoded(path, content, checks.encoding(options.encoding)), options)
    if not table.lines:
        raise ValueError(f"{path} has a row of column names and no examples.")
    return _checked(_without_empty(table) if options.skip_empty else table)


def _without_empty(table: Table) -> Table:
    """Return a table without the rows that lack a text or a label. A line on standard error counts them."""
    rows = zip(table.lines, table.texts, table.labels, strict=True)
    whole = [row for row in rows if row[1].strip() and row[2]]
    if not whole:
        raise ValueError(f"{table.path}: no row has both a text and a label.")
    lines, texts, labels = map(list, zip(*whole, strict=True))
    if empty := sorted(set(table.lines).difference(lines)):
        say(f"{table.name_rows(empty)} without text or label; left out.")
    return Table(table.path, lines, texts, labels, table.unit)


def _checked(table: Table) -> Table:
    """Return a table after checking its cells, or raise ``ValueError`` with the rows."""
    for kind_of_cell, cells in (("text", table.texts), ("label", table.labels)):
        if empty := [number for number, cell in zip(table.lines, cells, strict=True) if not cell.strip()]:
            raise ValueError(
                f"{table.name_rows(empty)} with an empty {kind_of_cell}; fill them in, or leave them out with "
                "skip_empty=True (--skip-empty)."
            )
    for wrong, is_wrong in (
        (f"longer than {_LONGEST_LABEL:,} characters", lambda label: len(label) > _LONGEST_LABEL),
        ("with a lone surrogate, which cannot be written to a file", lambda label: not checks.is_writable(label)),
    ):
        if bad := {label for label in set(table.labels) if is_wrong(label)}:
            rows = [number for number, label in zip(table.lines, table.labels, strict=True) if label in bad]
            label = table.labels[table.lines.index(rows[0])]
            raise ValueError(f"{table.name_rows(rows)} with a label {wrong}; the first is {label!a:.60}.")
    return table


def _decoded(path: Path, content: bytes, codec: str) -> str:
    check_is_text(content, str(path))
    codec = encodings.by_mark(content, codec)
    if codec == "utf-8-sig" and (encodings.best_fit(content) or "").startswith("utf-16"):
        raise ValueError(f"{path} is UTF-16 without its mark. {encodings.advice(content, codec)}")
    try:
        (text,) = encodings.watched([content.decode(codec)], codec, str(path))
    except UnicodeDecodeError as error:
        start = error.start + len(content) - len(error.object)  # a byte order mark was removed before decoding
        line = content.count(b"\n", 0, start) + 1
        raise ValueError(
            f"{path} is not {codec.removesuffix('-sig')}: byte {content[start]:#04x} at offset {start}, "
            f"line {line} ({error.reason}). {encodings.advice(content, codec)}"
        ) from error
    if not text.strip():
        raise ValueError(f"{path} is empty.")
    return text


def _parse_delimited(kind: str, path: Path, text: str, options: ReadingOptions) -> Table:
    table = Table(path, [], [], [])
    columns = (options.text_column, options.label_column)
    lines, delimiter = io.StringIO(text, newline=""), delimited.check_delimiter(options.delimiter)
    source = delimited.read_table(lines, str(path), kind, columns, _NAME_COLUMNS, delimiter)
    text_at, label_at = map(source.names.index, columns)
    for line, row in source.rows:
        # Blank rows, of which spreadsheets often write many at the end, are not examples.
        if any(cell.strip() for cell in row):
            cells = [*row, *[""] * (len(source.names) - len(row))]
            table.lines.append(line)
            table.texts.append(cells[text_at])
            table.labels.append(cells[label_at].strip())
    return table


def _parse_typed(kind: str, path: Path, content: bytes, options: ReadingOptions) -> Table:
    columns = (options.text_column, options.label_column)
    source = typed_tables.read_typed(io.BytesIO(content), str(path), kind, columns, _NAME_COLUMNS, only=True)
    text_at, label_at = map(source.names.index, columns)
    rows = ((f"{path}, row {number}", number, row[text_at], row[label_at]) for number, row in source.rows)
    return _of_cells(Table(path, [], [], [], unit="row"), rows, options)


def _parse_jsonl(kind: str, path: Path, text: str, options: ReadingOptions) -> Table:
    return _of_cells(Table(path, [], [], []), _json_cells(path, text, options), options)


_Cells = tuple[str, int, object, object]


def _json_cells(path: Path, text: str, options: ReadingOptions) -> Iterable[_Cells]:
    """Yield the location, the line, the text and the label of each object."""
    columns = (options.text_column, options.label_column)
    # Not splitlines(): JSON strings may contain other Unicode line separators.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        location = f"{path}, line {number}"
        row = parse_json_object(line, location, " and ".join(map(repr, columns)))
        for column in columns:
            if column not in row:
                raise ValueError(f"{checks.unknown_name(f'column for {location}:', column, row)} {_NAME_COLUMNS}")
        yield location, number, *(row[column] for column in columns)


def _of_cells(table: Table, rows: Iterable[_Cells], options: ReadingOptions) -> Table:
    """Return a table with the rows of cells that have types."""
    for location, number, text, label in rows:
        if not isinstance(text, str | None):
            raise ValueError(f"{location}: {options.text_column!r} must be a string; found {text!r:.80}.")
        if not isinstance(label, str | int | float | None):
            raise ValueError(f"{location}: {options.label_column!r} must be a string or a number; found {label!r:.80}.")
        table.lines.append(number)
        table.texts.append(text or "")
        # NaN, which json.loads accepts, often stands for a missing value in a column of numbers.
        table.labels.append("" if label is None or label != label else str(label).strip())
    return table


def parse_json_object(line: str, location: str, needs: str) -> dict[str, Any]:
    """Return the object in a line of JSON.

    Args:
        line: The line.
        location: Start of the error, such as "reviews.jsonl, line 3".
        needs: The keys that the object must have, for the error.

    Raises:
        ValueError: Not JSON, not an object, nested deeper than 100 levels, or a number with too many digits.
    """
    try:
        row = json.loads(line)
        if _is_deep(row):
            raise RecursionError
    except json.JSONDecodeError as error:
        way_out = f" {_AS_LINES}" if line.strip() in ("[", "{") else ""
        raise ValueError(f"{location} is not valid JSON: {error.msg} at column {error.colno}.{way_out}") from error
    except RecursionError:
        raise ValueError(f"{location} is JSON that is nested too deeply; expected an object with {needs}.") from None
    except ValueError:  # Python's limit of digits
        most = f"{sys.get_int_max_str_digits():,}"
        raise ValueError(f"{location} holds a number of more than {most} digits; write it as a string.") from None
    if isinstance(row, list):
        raise ValueError(f"{location} is not a JSON object with {needs}, but an array. {_AS_LINES}")
    if not isinstance(row, dict):
        raise ValueError(f"{location} is not a JSON object with {needs}; found {row!r:.80}.")
    return row


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
