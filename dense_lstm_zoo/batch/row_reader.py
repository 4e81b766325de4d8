"""The rows of a part of a file: each is a row to predict, or a bad row with the reason."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from dense_lstm_zoo import checks
from dense_lstm_zoo.batch.layout import Layout, Part
from dense_lstm_zoo.batch.streams import Lines, check_unchanged, open_file
from dense_lstm_zoo.batch.tables import BEGINNING, table_rows
from dense_lstm_zoo.data.cells import unmark_formula
from dense_lstm_zoo.data.delimited import repeats_names
from dense_lstm_zoo.data.tables import parse_json_object

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]
_ESCAPED = re.compile("[\udc80-\udcff]")  # what ``surrogateescape`` makes of bytes that are not in the encoding
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape of half a character, which may lack the other half
_BATCH = 1024  # rows of a Parquet file that are decoded at a time


def read_rows(part: Part, layout: Layout) -> Iterator[Row]:
    """Yield the rows of a part: with ``text`` and ``row`` (all its cells), or with ``reason`` and ``content``.

    ``file`` and ``number`` say where a row is: the place of its file in the layout, and its line or row from 1.

    Raises:
        BrokenInputError: A file that has been damaged or changed since it was split into parts.
    """
    path = layout.files[part.file]
    with open_file(path) as stream:
        if layout.form == "parquet":
            rows = _parquet(stream, part, layout)
        else:
            lines = Lines(stream, path, part.start, part.stop, returns=layout.is_table)
            reader = _table if layout.is_table else _lines
            rows = reader(lines, part, layout)
        for row in rows:
            text = row.get("text", "")
            size = len(text) if isinstance(text, str) else sum(map(len, text))
            if size > layout.max_chars:
                row = bad(row["number"], f"the text has {size:,} characters; at most {layout.max_chars:,}", text)
            yield {"file": part.file, **row}
    check_unchanged([path], [layout.stamps[part.file]])


def bad(number: int, reason: str, content: object, lines: int = 1) -> Row:
    """Return a bad row. ``lines`` is the number of lines that it takes in the file."""
    text = content if isinstance(content, str) else repr(content)
    row = {"number": number, "reason": reason, "content": text[:BEGINNING]}
    return row if lines == 1 else {**row, "lines": lines}


def _lines(lines: Lines, part: Part, layout: Layout) -> Iterator[Row]:
    """Yield the rows of a file of texts, one per line, or of JSON lines, whose blank lines are not rows."""
    codec = layout.codec
    for number, raw in enumerate(lines, start=part.first):
        if layout.form == "jsonl" and not raw.strip():
            continue
        try:
            line = raw.decode(codec if number == 1 else codec.removesuffix("-sig"))
        except UnicodeDecodeError as error:
            reason = f"not {codec.removesuffix('-sig')}: byte {raw[error.start]:#04x} ({error.reason})"
            yield bad(number, reason, raw.decode("ascii", "backslashreplace"))
            continue
        if "\0" in line:
            yield bad(number, "a null character, as in UTF-16 and in binary files", line)
        elif layout.form == "text":
            yield {"number": number, "text": line.rstrip("\r\n"), "row": None}
        else:
            yield _json(number, line, layout)


def _json(number: int, line: str, layout: Layout) -> Row:
    key = layout.text_column
    try:
        row = parse_json_object(line, "the line", repr(key))
    except ValueError as error:
        return bad(number, str(error).rstrip("."), line)
    if _SURROGATE.search(line) and not checks.is_writable(json.dumps(row, ensure_ascii=False)):
        return bad(number, "an escape of half a character (a lone surrogate)", line)
    if key not in row:
        return bad(number, f"no key {key!r}", line)
    text = row[key]
    is_tokens = layout.takes_tokens and isinstance(text, list) and all(isinstance(token, str) for token in text)
    if not (isinstance(text, str) or is_tokens):
        accepted = "a string or a list of strings" if layout.takes_tokens else "a string"
        return bad(number, f"{key!r} is not {accepted}: {text!r:.80}", line)
    same = {"tokens"} if layout.shares_tokens and is_tokens else set()
    if occupied := sorted(layout.reserved.intersection(row) - same):
        return bad(number, f"the key {occupied[0]!r} is already there; choose another --prefix for new ones", line)
    return {"number": number, "text": text, "row": row}


def _table(lines: Lines, part: Part, layout: Layout) -> Iterator[Row]:
    names, text_at = layout.names, layout.names.index(layout.text_column)
    dialect = dataclasses.replace(layout.dialects[part.file], quoted=part.quoted)
    rows = table_rows(lines, part.first, layout, dialect)
    if part.start == 0:  # a file that is one part
        collections.deque(itertools.islice(rows, dialect.skip + 1), maxlen=0)
    for number, cells, error, count in rows:
        if error or _ESCAPED.search("".join(cells)):
            reason = error or f"not {layout.codec.removesuffix('-sig')}"
            yield bad(number, reason, dialect.delimiter.join(cells).encode("utf-8", "backslashreplace").decode(), count)
            continue
        while len(cells) > len(names) and not cells[-1].strip():  # a delimiter at the end of each row
            cells.pop()
        if len(cells) > len(names) or len(cells) <= text_at:
            reason = f"{len(cells)} cells; there are {len(names)} columns"
            yield bad(number, reason, dialect.delimiter.join(cells), count)
        elif repeats_names(cells, names):
            yield bad(number, "it repeats the column names", dialect.delimiter.join(cells), count)
        elif "\0" in cells[text_at]:
            yield bad(number, "a null character, as in UTF-16 and in binary files", cells[text_at], count)
        else:
            # Spreadsheets omit empty cells at the end of a row.
            padded = [*map(unmark_formula, cells), *[""] * (len(names) - len(cells))]
            yield {"number": number, "text": padded[text_at], "row": dict(zip(names, padded, strict=True))}


def _parquet(stream: BinaryIO, part: Part, layout: Layout) -> Iterator[Row]:
    from pyarrow import parquet

    number, key = part.first, layout.text_column
    span = range(part.start, part.stop or 0)
    at = 0
    with parquet.ParquetFile(stream) as file:
        timed = [place for place, field in enumerate(file.schema_arrow) if "time64[ns]" in str(field.type)]
        for batch in file.iter_batches(batch_size=_BATCH, row_groups=[part.group]):
            begin, end = max(span.start, at) - at, min(span.stop, at + len(batch)) - at
            selected = batch.slice(begin, max(end - begin, 0)) if begin < len(batch) else batch.slice(0, 0)
            at += len(batch)
            for place in range(len(selected)):
                try:
                    single = selected.slice(place, 1)
                    _check_times(single, timed)
                    (row,) = single.to_pylist()
                except UnicodeDecodeError as error:
                    yield bad(number, f"a cell is not utf-8: {error.reason}", "")
                except (ValueError, OverflowError) as error:  # a date that Python has not, such as of the year 14,000
                    yield bad(number, f"a cell cannot be read: {error}", "")
                else:
                    text = row[key]
                    is_text = isinstance(text, str)
                    yield {"number": number, "text": text, "row": row} if is_text else bad(number, "no text", row)
                number += 1
            if at >= span.stop:
                return


def _check_times(batch: pyarrow.RecordBatch, columns: Sequence[int]) -> None:
    """Raise ``ValueError`` if a column of a row has a time of day with nanoseconds, which Python's times lose."""
    import pyarrow

    for place in columns:
        field = batch.schema.field(place)
        try:
            alone = batch.column(place).take(
                pyarrow.array([0])
            )  # a cast looks at the values in lists of other rows, too
            alone.cast(_in_microseconds(field.type))
        except pyarrow.ArrowInvalid:
            raise ValueError(
                f"{field.name!r} has a time with nanoseconds; microseconds are the finest that can be kept"
            ) from None


def _in_microseconds(kind: pyarrow.DataType) -> pyarrow.DataType:
    import pyarrow

    if pyarrow.types.is_list(kind):
        return pyarrow.list_(_in_microseconds(kind.value_type))
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([field.with_type(_in_microseconds(field.type)) for field in kind])
    return pyarrow.time64("us") if kind == pyarrow.time64("ns") else kind
