"""Files split into parts of some thousand rows, which workers read, predict and write on their own."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import BinaryIO

from dense_lstm_zoo.batch.layout import BrokenInputError, Layout, Part
from dense_lstm_zoo.batch.streams import Lines, is_packed, open_file
from dense_lstm_zoo.batch.tables import decoded, table_rows
from dense_lstm_zoo.data.delimited import Dialect, is_quoted

ROWS = 5_000  # of a part: some seconds of work
_BYTES = 1 << 24


def split(number: int, layout: Layout) -> Iterator[Part]:
    """Yield the parts of a file, which is read to its end, so that a broken one is found before any prediction.

    A file that is compressed is one part, since no position in it can be returned to.

    Args:
        number: The place of the file in the layout.
        layout: What the files hold.

    Raises:
        BrokenInputError: A truncated or damaged file, or a quotation mark that is never closed.
    """
    with open_file(layout.files[number]) as stream:
        if layout.form == "parquet":
            yield from _of_row_groups(stream, number, layout)
            return
        lines = Lines(stream, layout.files[number], returns=layout.is_table)
        dialect = _dialect(number, layout) if layout.is_table else None
        parts = list(_of_lines(lines, number, layout, dialect))
        if is_packed(stream) and parts:
            parts = [dataclasses.replace(parts[0], first=1, start=0, stop=None)]
        yield from parts


def _dialect(number: int, layout: Layout) -> Dialect:
    """Return how a table is written. Quoting may show only after many lines."""
    path, dialect = layout.files[number], layout.dialects[number]
    with open_file(path) as stream:
        lines = itertools.islice(decoded(Lines(stream, path, returns=True), 1, layout), dialect.skip, None)
        return dataclasses.replace(dialect, quoted=is_quoted(lines, dialect.delimiter, len(layout.names)))


def _of_lines(lines: Lines, file: int, layout: Layout, dialect: Dialect | None) -> Iterator[Part]:
    following: Iterator[int] = (number + 1 for number, _ in enumerate(lines, start=1))  # the line after each row
    first, quoted = 1, dialect is None or dialect.quoted
    if dialect is not None:
        following = (number + num_lines for number, _, _, num_lines in table_rows(lines, 1, layout, dialect))
        for _ in range(dialect.skip + 1):  # up to the column names
            first = next(following, 1)
    start, count = lines.at, 0
    for after in following:
        count += 1
        if count == ROWS or lines.at - start >= _BYTES:
            yield Part(file, first, start, lines.at, quoted=quoted)
            first, start, count = after, lines.at, 0
    if count:
        yield Part(file, first, start, lines.at, quoted=quoted)


def _of_row_groups(stream: BinaryIO, file: int, layout: Layout) -> Iterator[Part]:
    import pyarrow
    from pyarrow import parquet

    first = 1
    try:
        with parquet.ParquetFile(stream) as parquet_file:
            sizes = [parquet_file.metadata.row_group(group).num_rows for group in range(parquet_file.num_row_groups)]
    except pyarrow.ArrowInvalid as error:
        raise BrokenInputError(f"{layout.files[file]} is not a whole Parquet file: {error}.") from error
    for group, size in enumerate(sizes):
        for start in range(0, size, ROWS):
            stop = min(start + ROWS, size)
            yield Part(file, first, start, stop, group)
            first += stop - start
