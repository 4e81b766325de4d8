"""A user's own table as a corpus: csv, tsv or jsonl, one example a row, checked before anything is built on it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks, files
from dense_lstm_zoo.classification.corpus import Corpus, Split
from dense_lstm_zoo.data.cells import unmark_formula
from dense_lstm_zoo.language.corpus import unpacked

FORMATS = ("csv", "tsv", "jsonl")
_LONGEST_LABEL = 1000  # characters; what is longer is a text, or damage


@dataclass(frozen=True)
class _Table:
    """The two columns of a file, with the number of each row as an editor or a spreadsheet shows it."""

    path: Path
    numbers: list[int]
    texts: list[str]
    labels: list[str]


def read_table_corpus(
    kind: str,
    *,
    train_file: str | Path,
    dev_file: str | Path | None = None,
    test_file: str | Path | None = None,
    text_column: str = "text",
    label_column: str = "label",
    encoding: str = "utf-8",
) -> Corpus:
    """Read a corpus from one to three files of your own.

    Texts and labels are taken as written: "NA" is a text, "1" and "1.0" are two labels (only the spaces around a label
    go, and in csv and tsv the apostrophe that keeps a spreadsheet from reading a cell as a formula: ``'=1``, ``'-x``).
    Labels are sorted, by value if all of them are integers.

    Args:
        kind: "csv" (quoted cells may hold commas and line breaks), "tsv" (no quoting: a quotation mark is a character
            like any other) or "jsonl" (one object a line). csv and tsv begin with a row of column names.
        train_file: The file to train on; its labels are the corpus' labels.
        dev_file: The file to choose the best epoch on, if there is one.
        test_file: The file to report the final score on, if there is one.
        text_column: The column, or key, of the text.
        label_column: The column, or key, of the label: a string, or in jsonl also a number or a truth value.
        encoding: How the files are encoded.

    Returns:
        A ``Corpus`` whose name is ``kind``.

    Raises:
        FileNotFoundError: If a file does not exist; the message names similar files in the same folder.
        ValueError: If a file cannot be decoded or parsed, lacks a column, has empty texts or labels, a label that is
            longer than 1,000 characters or cannot be encoded, fewer than two labels in training, or a label in dev or
            test that training has not. The message names file and rows.

    Example:
        >>> import pathlib, tempfile
        >>> from dense_lstm_zoo.data.tables import read_table_corpus
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.csv")
        ...     _ = path.write_text("text,label\\nA fine film .,good\\nA dull film .,bad\\n")
        ...     print(read_table_corpus("csv", train_file=path))
        csv: 2 train; 2 labels: bad, good
    """
    paths = {"train": train_file, "dev": dev_file, "test": test_file}
    tables = _read(kind, paths, text_column, label_column, encoding)
    train = tables["train"]
    label_names = _sorted_labels(set(train.labels))
    if len(label_names) < 2:
        raise ValueError(
            f"{train.path}: every row has the label {label_names[0]!r}; training needs at least two labels."
        )
    for table in tables.values():
        strange = [n for n, label in zip(table.numbers, table.labels, strict=True) if label not in label_names]
        if strange:
            label = table.labels[table.numbers.index(strange[0])]
            raise ValueError(
                f"{table.path}: {_rows(strange)} with a label that {train.path.name} has not, the first of them "
                f"{label!r}. Labels of {train.path.name}: {', '.join(label_names)}."
            )
    splits = {part: _split(table, label_names) for part, table in tables.items()}
    columns = {"text_column": text_column, "label_column": label_column}
    return Corpus(kind, label_names, splits["train"], splits.get("dev"), splits.get("test"), columns=columns)


def read_table(
    kind: str, path: str | Path, *, text_column: str = "text", label_column: str = "label", encoding: str = "utf-8"
) -> tuple[Split, tuple[str, ...]]:
    """Read one file of your own to score a model on, for which one label is enough.

    Args:
        kind: As in ``read_table_corpus``.
        path: The file.
        text_column: As in ``read_table_corpus``.
        label_column: As in ``read_table_corpus``.
        encoding: How the file is encoded.

    Returns:
        The texts, and the names of the labels that they have.

    Raises:
        FileNotFoundError: As ``read_table_corpus``.
        ValueError: As ``read_table_corpus``, except that one label will do.
    """
    table = _read(kind, {"test": path}, text_column, label_column, encoding)["test"]
    label_names = _sorted_labels(set(table.labels))
    return _split(table, label_names), label_names


def _split(table: _Table, label_names: tuple[str, ...]) -> Split:
    index = {label: i for i, label in enumerate(label_names)}
    return Split(table.texts, [index[label] for label in table.labels])


def _read(
    kind: str, paths: dict[str, str | Path | None], text_column: str, label_column: str, encoding: str
) -> dict[str, _Table]:
    """Return the table of each file that is named; all of them are known to be there before the first is read."""
    checks.one_of("kind", kind, FORMATS)
    if text_column == label_column:
        raise ValueError(f"text_column and label_column must differ; both are {text_column!r}.")
    codec = checks.encoding(encoding)
    found = {part: files.existing_file(path) for part, path in paths.items() if path is not None}
    parse = _parse_jsonl if kind == "jsonl" else _parse_delimited
    return {part: _read_file(kind, path, codec, parse, text_column, label_column) for part, path in found.items()}


_Parse = Callable[[str, Path, str, str, str], _Table]


def _read_file(kind: str, path: Path, codec: str, parse: _Parse, text_column: str, label_column: str) -> _Table:
    try:
        with path.open("rb") as file:
            content = unpacked(file).read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is a truncated or damaged gzip file: {str(error).rstrip('.')}.") from error
    try:
        text = content.decode(codec)
    except UnicodeDecodeError as error:
        start = error.start + len(content) - len(error.object)  # a byte order mark was cut off before decoding
        line = content.count(b"\n", 0, start) + 1
        raise ValueError(
            f"{path} is not {codec.removesuffix('-sig')}: byte {content[start]:#04x} at offset {start}, "
            f'line {line} ({error.reason}). Say how it is encoded, such as encoding="latin-1" (--encoding latin-1).'
        ) from error
    if not text.strip():
        raise ValueError(f"{path} is empty.")
    table = parse(kind, path, text, text_column, label_column)
    if not table.numbers:
        raise ValueError(f"{path} has a row of column names and no examples.")
    for what, cells in (("text", table.texts), ("label", table.labels)):
        empty = [number for number, cell in zip(table.numbers, cells, strict=True) if not cell.strip()]
        if empty:
            raise ValueError(f"{path}: {_rows(empty)} with an empty {what}. Fill them in or take them out.")
    for wrong, is_wrong in (
        (f"longer than {_LONGEST_LABEL:,} characters", lambda label: len(label) > _LONGEST_LABEL),
        ("with half a surrogate pair in it, which no file can hold", lambda label: not checks.is_writable(label)),
    ):
        if bad := {label for label in set(table.labels) if is_wrong(label)}:
            rows = [number for number, label in zip(table.numbers, table.labels, strict=True) if label in bad]
            label = table.labels[table.numbers.index(rows[0])]
            raise ValueError(f"{path}: {_rows(rows)} with a label {wrong}, the first of them {label!a:.60}.")
    return table


def _parse_delimited(kind: str, path: Path, text: str, text_column: str, label_column: str) -> _Table:
    import pandas as pd

    # header=None makes the column names row 1. Pandas would otherwise take an extra cell in each row for an index, and
    # rename a column that occurs twice.
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep="\t" if kind == "tsv" else ",",
            quoting=csv.QUOTE_NONE if kind == "tsv" else csv.QUOTE_MINIMAL,
            header=None,
            dtype=str,
            na_filter=False,
            skip_blank_lines=False,
        )
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path}, row 1 is blank; it must hold the column names.") from error
    except pd.errors.ParserError as error:
        raise ValueError(f"{path}: {_parser_message(str(error), kind)}") from error
    header, *rows = frame.to_numpy().tolist()
    header = list(map(unmark_formula, header))
    for column in (text_column, label_column):
        if column not in header:
            raise checks.unknown_name(f"column for {path}:", column, header)
        if header.count(column) > 1:
            raise ValueError(f"{path} has {header.count(column)} columns named {column!r}.")
    text_at, label_at = header.index(text_column), header.index(label_column)
    # Blank rows, often many of them at the end of what a spreadsheet writes, count but are no examples.
    filled = [(number, row) for number, row in enumerate(rows, start=2) if any(cell.strip() for cell in row)]
    return _Table(
        path,
        [number for number, _ in filled],
        [unmark_formula(row[text_at]) for _, row in filled],
        [unmark_formula(row[label_at]).strip() for _, row in filled],
    )


def _parser_message(message: str, kind: str) -> str:
    """Say in our words, with rows counted from 1, what pandas found broken."""
    if match := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message):
        advice = " A cell with a comma in it needs quotation marks around it." if kind == "csv" else ""
        return f"row {match[2]} has {match[3]} cells where the rows before it have {match[1]}.{advice}"
    if match := re.search(r"EOF inside string starting at row (\d+)", message):
        return f"row {int(match[1]) + 1} opens a quotation mark that is never closed."
    return message


def _parse_jsonl(kind: str, path: Path, text: str, text_column: str, label_column: str) -> _Table:
    table = _Table(path, [], [], [])
    # Not splitlines(): JSON strings may hold other line separators of Unicode as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = parse_json_object(line, where, f"{text_column!r} and {label_column!r}")
        for column in (text_column, label_column):
            if column not in row:
                raise checks.unknown_name(f"column for {where}:", column, row)
        example, label = row[text_column], row[label_column]
        if not isinstance(example, str | None):
            raise ValueError(f"{where}: {text_column!r} must be a string; found {example!r:.80}.")
        if not isinstance(label, str | int | float | None):
            raise ValueError(f"{where}: {label_column!r} must be a string or a number; found {label!r:.80}.")
        table.numbers.append(number)
        table.texts.append(example or "")
        # json.loads accepts NaN, which is how a gap in a column of numbers is often written.
        table.labels.append("" if label is None or label != label else str(label).strip())
    return table


def parse_json_object(line: str, where: str, needs: str) -> dict[str, Any]:
    """Return the object that a line of JSON holds.

    Args:
        line: The line.
        where: How the error begins, such as "reviews.jsonl, line 3".
        needs: What the object must have, for the error.

    Raises:
        ValueError: Not JSON, not an object, nested too deep for Python, or a number with too many digits for it.
    """
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not valid JSON: {error.msg} at column {error.colno}.") from error
    except RecursionError:
        raise ValueError(f"{where} is JSON that nests too deep to be read; expected an object with {needs}.") from None
    except ValueError:  # Python's limit of digits
        most = f"{sys.get_int_max_str_digits():,}"
        raise ValueError(f"{where} holds a number of more than {most} digits; write it as a string.") from None
    if not isinstance(row, dict):
        raise ValueError(f"{where} must be a JSON object with {needs}; found {row!r:.80}.")
    return row


def _rows(numbers: list[int]) -> str:
    first = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    return f"{len(numbers)} row{'s' if len(numbers) > 1 else ''} (row {first})"


def _sorted_labels(labels: set[str]) -> tuple[str, ...]:
    if all(re.fullmatch(r"[+-]?[0-9]+", label) for label in labels):
        return tuple(sorted(labels, key=lambda label: (int(label), label)))  # far below Python's limit of digits
    return tuple(sorted(labels))
