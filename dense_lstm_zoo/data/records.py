"""Texts to predict, read as a stream of records: from raw lines, tables, JSON lines and files in columns."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import delimited, encodings, typed_tables
from dense_lstm_zoo.data.binary import check_is_text
from dense_lstm_zoo.data.columns import is_conllu_name, sentence_lines
from dense_lstm_zoo.data.table_lines import check_unchanged, named_damage, stamp
from dense_lstm_zoo.data.tables import parse_json_object
from dense_lstm_zoo.data.text_file import check_line_ends, unpacked
from dense_lstm_zoo.display.notes import say

_BEGINNING = 1 << 16  # bytes that tell the kind or the encoding of a file
FORMATS = ("text", "csv", "tsv", "jsonl", *typed_tables.FORMATS)
TAGGER_FORMATS = (*FORMATS, "columns")
_NAME_COLUMN = "Give the texts' column with --text-column."


@dataclass(frozen=True)
class Record:
    """A text and the row it came in.

    Args:
        text: A string, or for a tagger also a list of tokens.
        location: Its position, such as "reviews.csv, row 3".
        names: The names of the row's cells.
        cells: The row's cells, the text among them.
        lines: For a file in columns, each line unchanged with its token, or None if it has none.
        line_end: The number of characters that end its line, for a file of one text per line.
        mark: The number of characters of a byte order mark before it, likewise.
    """

    text: str | list[str]
    location: str
    names: list[str] = field(default_factory=lambda: ["text"])
    cells: list[object] = field(default_factory=list)
    lines: list[tuple[str, str | None]] | None = None
    line_end: int = 1
    mark: int = 0


@dataclass(frozen=True)
class Source:
    """Records, with the names of their cells if these are known before the first record is read."""

    records: Iterator[Record]
    names: list[str]


@dataclass(frozen=True)
class Options:
    """Options for reading a stream.

    Args:
        form: One of ``FORMATS``, of which "text" has one text per line, or for taggers "columns".
        text_column: The column, or key, of the texts. None means "text", or for a tagger's JSON also "tokens".
        token_column: columns: the column of the tokens.
        separator: columns: their separator. None means spaces and tabs.
        encoding: The encoding. None means UTF-8, where lines of text, but not tables, may hold any bytes.
        tokens: Whether a text may be a list of tokens.
        delimiter: csv, tsv: the character between two cells. None finds it out.
        is_strict: Whether lines of text must be in the encoding, too. Else what is not becomes U+FFFD, and a line on
            standard error says so.
    """

    form: str
    text_column: str | None = None
    token_column: int | str = 0
    separator: str | None = None
    encoding: str | None = None
    tokens: bool = False
    delimiter: str | None = None
    is_strict: bool = False


def check_options(form: str, text_column: str | None, encoding: str | None, delimiter: str | None) -> None:
    """Raise ``ValueError`` for an option of the command line that the format of the input does not have."""
    if text_column is not None and form in ("text", "columns"):
        raise ValueError(f"--text-column is for csv, tsv, jsonl, parquet and xlsx; the input is {form}.")
    if encoding is not None and form in typed_tables.FORMATS:
        raise ValueError(f"--encoding is for files of text; the input is {form}.")
    check_delimiter(form, delimiter)


def check_delimiter(form: str, delimiter: str | None) -> str | None:
    """Return the delimiter that an option names, as ``delimited.check_delimiter`` does, if the format has one."""
    if delimiter is not None and form not in ("csv", "tsv"):
        raise ValueError(f"--delimiter is for csv and tsv; the input is {form}.")
    return delimited.check_delimiter(delimiter)


def from_texts(texts: Iterable[str]) -> Source:
    """Return texts unchanged, as records."""
    records = (Record(text, f"text {number}", cells=[text]) for number, text in enumerate(texts, start=1))
    return Source(records, ["text"])


def read_records(stream: BinaryIO, name: str, options: Options) -> Source:
    """Return the records of a stream, which are read lazily. A header is read at once.

    Blank lines of tables and of JSON lines are not records. An empty cell is an empty text.

    Args:
        stream: Bytes, plain or compressed with gzip (detected from their content).
        name: The name of the stream in errors.
        options: Its format.

    Raises:
        ValueError: At once or on iteration, with the line or row: bytes that are not in the encoding, lines that
            carriage returns alone end, no such column, more cells than columns, broken quotation marks, broken JSON, a
            text that is not a string. At the end: a file that has changed meanwhile.
    """
    before = stamp(stream)
    source = _unchecked(stream, name, options)
    return Source(_while_unchanged(source.records, stream, name, before), source.names)


def _unchecked(stream: BinaryIO, name: str, options: Options) -> Source:
    form = options.form
    if form in typed_tables.FORMATS:
        return _typed(unpacked(stream), name, options)
    errors = "strict" if options.is_strict or form != "text" else "replace"
    lines = _decoded(unpacked(stream), name, options.encoding, errors, has_mark=form == "text")
    lines = iter(encodings.watched(lines, checks.encoding(options.encoding or "utf-8"), name))
    if form == "text":
        return Source(_text_lines(lines, name), ["text"])
    if form in ("csv", "tsv"):
        return _table(lines, name, options)
    if form == "jsonl":
        return Source(_json_lines(lines, name, options), [options.text_column or "text"])
    return Source(_sentences(lines, name, options), ["text"])


def _text_lines(lines: Iterable[str], name: str) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if number == 1:
            check_line_ends(line, name)
        mark = int(number == 1 and line.startswith("\ufeff"))
        text = line[mark:].rstrip("\r\n")
        yield Record(text, f"text {number}", cells=[text], line_end=len(line) - mark - len(text), mark=mark)


def _while_unchanged(
    records: Iterator[Record], stream: BinaryIO, name: str, before: tuple[int, int] | None
) -> Iterator[Record]:
    """Yield records, and raise if the file that they come from was cut, has grown or was written again meanwhile."""
    yield from records
    check_unchanged(stream, name, before)


def _decoded(
    stream: BinaryIO, name: str, encoding: str | None, errors: str, *, has_mark: bool = False
) -> Iterator[str]:
    """Yield lines with their ends, and the first of UTF-8 with its mark or without. Only a line feed ends a line."""
    codec = checks.encoding("utf-8" if encoding is None else encoding)
    with named_damage(name):  # what has come: a program may wait for an answer before it writes more
        beginning = stream.peek(_BEGINNING)[:_BEGINNING]  # type: ignore[attr-defined]
    lines = _unbroken(stream, name)
    first = next(lines, b"")
    check_is_text(first + (stream.read(_BEGINNING) if first.startswith(b"PK\x03\x04") else b""), name)
    codec = encodings.by_mark(first, codec)
    encodings.check_has_mark(beginning, codec, name)
    if codec not in ("utf-8-sig", "utf-8") and "\n".encode(codec) != b"\n":  # such as UTF-16
        try:
            yield from io.TextIOWrapper(io.BufferedReader(_Rejoined(first, stream)), codec, errors, newline="\n")
        except UnicodeError as error:
            raise ValueError(f"{name} is not {codec}: {error}. Give its encoding with --encoding.") from None
        return
    is_told = False
    for number, line in enumerate(itertools.chain([first] if first else [], lines), start=1):
        own = codec if number == 1 and not has_mark else codec.removesuffix("-sig")
        try:
            yield line.decode(own)
        except UnicodeDecodeError as error:
            complaint = (
                f"{name}, line {number} is not {codec.removesuffix('-sig')}: byte {error.object[error.start]:#04x} "
                f"({error.reason})."
            )
            if errors == "strict":
                raise ValueError(f"{complaint} {encodings.advice(line + stream.read(_BEGINNING), codec)}") from None
            if not is_told:
                say(f"{complaint} What cannot be read becomes U+FFFD; --encoding names another encoding.")
                is_told = True
            yield line.decode(own, errors)


class _Rejoined(io.RawIOBase):
    """A stream from its beginning on, of which the first line has been read."""

    def __init__(self, first: bytes, stream: BinaryIO) -> None:
        self._first, self._stream = first, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._first[: len(buffer)] or self._stream.read(len(buffer))
        self._first = self._first[len(block) :]
        buffer[: len(block)] = block
        return len(block)


def _unbroken(stream: BinaryIO, name: str) -> Iterator[bytes]:
    with named_damage(name):
        yield from iter(stream.readline, b"")  # from the stream itself, it would be closed with the generator


def _table(lines: Iterator[str], name: str, options: Options) -> Source:
    column = options.text_column or "text"
    table = delimited.read_table(lines, name, options.form, [column], _NAME_COLUMN, options.delimiter)
    return Source(_table_records(table, name, table.names.index(column)), table.names)


def _typed(stream: BinaryIO, name: str, options: Options) -> Source:
    column = options.text_column or "text"
    table = typed_tables.read_typed(stream, name, options.form, [column], _NAME_COLUMN)
    return Source(_typed_records(table, name, options, column), table.names)


def _typed_records(table: typed_tables.TypedTable, name: str, options: Options, column: str) -> Iterator[Record]:
    text_at = table.names.index(column)
    for number, cells in table.rows:
        location, text = f"{name}, row {number}", "" if cells[text_at] is None else cells[text_at]
        _check_text(text, location, column, options)
        yield Record(text, location, table.names, cells)


def _check_text(text: object, location: str, column: str, options: Options) -> None:
    is_tokens = options.tokens and isinstance(text, list) and all(isinstance(token, str) for token in text)
    if not (isinstance(text, str) or is_tokens):
        form = "a string or a list of strings" if options.tokens else "a string"
        raise ValueError(f"{location}: {column!r} must be {form}; found {text!r:.80}.")


def _table_records(table: delimited.Delimited, name: str, text_at: int) -> Iterator[Record]:
    for line, row in table.rows:
        location = f"{name}, line {line}"
        # Spreadsheets omit empty cells at the end of a row.
        if len(row) <= text_at:
            has = f"{len(row)} cell{'' if len(row) == 1 else 's'}"
            raise ValueError(f"{location} has {has}; there are {len(table.names)} column names.")
        cells = [*row, *[""] * (len(table.names) - len(row))]
        yield Record(cells[text_at], location, table.names, list(cells))


def _json_lines(lines: Iterator[str], name: str, options: Options) -> Iterator[Record]:
    keys = [options.text_column] if options.text_column else ["tokens", "text"] if options.tokens else ["text"]
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        location = f"{name}, line {number}"
        row = parse_json_object(line, location, " or ".join(keys))
        key = next((key for key in keys if key in row), None)
        if key is None:
            advice = "Give the texts' key with --text-column."
            raise ValueError(f"{checks.unknown_name(f'key for {location}:', keys[-1], row)} {advice}")
        _check_text(row[key], location, key, options)
        yield Record(row[key], location, list(row), list(row.values()))


def _sentences(lines: Iterator[str], name: str, options: Options) -> Iterator[Record]:
    stripped = (line.rstrip("\r\n") for line in lines)
    columns = (options.token_column, options.separator)
    for sentence in sentence_lines(stripped, *columns, f"{name}, line", is_conllu=is_conllu_name(name)):
        tokens = [token for _, token in sentence if token is not None]
        yield Record(tokens, name, [], [], sentence)
