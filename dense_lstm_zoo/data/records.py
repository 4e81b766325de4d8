"""Texts to predict, read as a stream of records: from raw lines, tables, JSON lines and files in columns."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.cells import unmark_formula
from dense_lstm_zoo.data.columns import sentence_lines
from dense_lstm_zoo.data.tables import delimited_rows, parse_json_object
from dense_lstm_zoo.data.text_file import UTF_16, unpacked

FORMATS = ("text", "csv", "tsv", "jsonl")
TAGGER_FORMATS = (*FORMATS, "columns")


@dataclass(frozen=True)
class Record:
    """A text and the row it came in.

    Args:
        text: A string, or for a tagger also a list of tokens.
        where: Its position, such as "reviews.csv, row 3".
        names: The names of the row's cells.
        cells: The row's cells, the text among them.
        lines: For a file in columns, each line unchanged with its token, or None if it has none.
    """

    text: str | list[str]
    where: str
    names: list[str] = field(default_factory=lambda: ["text"])
    cells: list[object] = field(default_factory=list)
    lines: list[tuple[str, str | None]] | None = None


@dataclass(frozen=True)
class Source:
    """Records, with the names of their cells if these are known before the first record is read."""

    records: Iterator[Record]
    names: list[str]


@dataclass(frozen=True)
class Options:
    """How to read a stream.

    Args:
        form: "text" (one text per line), "csv", "tsv", "jsonl" or, for taggers, "columns".
        text_column: The column, or key, of the texts; None means "text", or for a tagger's JSON also "tokens".
        token_column: columns: the column of the tokens.
        separator: columns: their separator; None means spaces and tabs.
        encoding: The encoding; None means UTF-8, where lines of text, but not tables, may hold any bytes.
        tokens: Whether a text may be a list of tokens.
    """

    form: str
    text_column: str | None = None
    token_column: int = 0
    separator: str | None = None
    encoding: str | None = None
    tokens: bool = False


def from_texts(texts: Iterable[str]) -> Source:
    """Return texts unchanged, as records."""
    records = (Record(text, f"text {number}", cells=[text]) for number, text in enumerate(texts, start=1))
    return Source(records, ["text"])


def read(stream: BinaryIO, name: str, options: Options) -> Source:
    """Return the records of a stream, which are read lazily; a header is read at once.

    Blank lines of tables and of JSON lines are not records; an empty cell is an empty text.

    Args:
        stream: Bytes, plain or compressed with gzip (detected from their content).
        name: The name of the stream in errors.
        options: Its format.

    Raises:
        ValueError: At once or on iteration, with the line or row: bytes that are not in the encoding, no such column,
            more cells than columns, broken quotation marks, broken JSON, a text that is not a string.
    """
    form = options.form
    lines = _decoded(unpacked(stream), name, options.encoding, "replace" if form == "text" else "strict")
    if form == "text":
        return from_texts(line.rstrip("\r\n") for line in lines)
    if form in ("csv", "tsv"):
        return _table(lines, name, form, options.text_column or "text")
    if form == "jsonl":
        return Source(_json_lines(lines, name, options), [options.text_column or "text"])
    return Source(_sentences(lines, name, options), ["text"])


def _decoded(stream: BinaryIO, name: str, encoding: str | None, errors: str) -> Iterator[str]:
    """Yield lines with their ends; only a line feed ends a line."""
    codec = checks.encoding("utf-8" if encoding is None else encoding)
    if codec not in ("utf-8-sig", "utf-8") and "\n".encode(codec) != b"\n":  # such as UTF-16
        try:
            yield from io.TextIOWrapper(stream, codec, errors, newline="\n")
        except UnicodeError as error:
            raise ValueError(f"{name} is not {encoding}: {error}. Give its encoding with --encoding.") from None
        return
    for number, line in enumerate(_unbroken(stream, name), start=1):
        if number == 1 and encoding is None and line.startswith(UTF_16):
            raise ValueError(f"{name} begins with the byte order mark of UTF-16; use --encoding utf-16.")
        try:
            yield line.decode(codec if number == 1 else codec.removesuffix("-sig"), errors)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}, line {number} is not {codec.removesuffix('-sig')}: byte {error.object[error.start]:#04x} "
                f"({error.reason}). Give its encoding, such as --encoding latin-1."
            ) from None


def _unbroken(stream: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        yield from stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name} is a truncated or damaged gzip file: {str(error).rstrip('.')}.") from error


def _table(lines: Iterator[str], name: str, form: str, text_column: str) -> Source:
    rows = delimited_rows(lines, name, form)
    _, header = next(rows, (1, None))
    if header is None:
        raise ValueError(f"{name} is empty; a table begins with a row of column names.")
    if not any(cell.strip() for cell in header):
        raise ValueError(f"{name}, row 1 is blank; it must hold the column names.")
    names = list(map(unmark_formula, header))
    if text_column not in names:
        advice = "Give the texts' column with --text-column."
        raise ValueError(f"{checks.unknown_name(f'column for {name}:', text_column, names)} {advice}")
    if names.count(text_column) > 1:
        raise ValueError(f"{name} has {names.count(text_column)} columns named {text_column!r}.")
    return Source(_table_records(rows, name, names, names.index(text_column), form), names)


def _table_records(
    rows: Iterator[tuple[int, list[str]]], name: str, names: list[str], text_at: int, form: str
) -> Iterator[Record]:
    for number, row in rows:
        if not row or (len(row) == 1 and not row[0].strip() and len(names) > 1):
            continue
        where = f"{name}, row {number}"
        # Spreadsheets omit empty cells at the end of a row.
        if len(row) > len(names) or len(row) <= text_at:
            advice = " A cell that contains a comma needs quotation marks." if form == "csv" else ""
            has = f"{len(row)} cell{'' if len(row) == 1 else 's'}"
            raise ValueError(f"{where} has {has}; there are {len(names)} column names.{advice}")
        cells = [*map(unmark_formula, row), *[""] * (len(names) - len(row))]
        yield Record(cells[text_at], where, names, list(cells))


def _json_lines(lines: Iterator[str], name: str, options: Options) -> Iterator[Record]:
    wanted = [options.text_column] if options.text_column else ["tokens", "text"] if options.tokens else ["text"]
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        row = parse_json_object(line, where, " or ".join(wanted))
        key = next((key for key in wanted if key in row), None)
        if key is None:
            advice = "Give the texts' key with --text-column."
            raise ValueError(f"{checks.unknown_name(f'key for {where}:', wanted[-1], row)} {advice}")
        text = row[key]
        is_tokens = options.tokens and isinstance(text, list) and all(isinstance(token, str) for token in text)
        if not (isinstance(text, str) or is_tokens):
            what = "a string or a list of strings" if options.tokens else "a string"
            raise ValueError(f"{where}: {key!r} must be {what}; found {text!r:.80}.")
        yield Record(text, where, list(row), list(row.values()))


def _sentences(lines: Iterator[str], name: str, options: Options) -> Iterator[Record]:
    stripped = (line.rstrip("\r\n") for line in lines)
    for sentence in sentence_lines(stripped, options.token_column, options.separator, f"{name}, line"):
        tokens = [token for _, token in sentence if token is not None]
        yield Record(tokens, name, [], [], sentence)
