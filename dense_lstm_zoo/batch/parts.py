"""Files split into parts of some thousand rows, which workers read, predict and write on their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from dense_lstm_zoo.batch.layout import BrokenInputError, Layout, Part
from dense_lstm_zoo.batch.streams import Lines, is_packed, opened
from dense_lstm_zoo.batch.tables import table_rows

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
    with opened(layout.files[number]) as stream:
        if layout.form == "parquet":
            yield from _of_row_groups(stream, number, layout)
            return
        lines = Lines(stream, layout.files[number], returns=layout.is_table)
        found = list(_of_lines(lines, number, layout))
        if is_packed(stream) and found:
            found = [dataclasses.replace(found[0], first=1, start=0, stop=None)]
        yield from found


def _of_lines(lines: Lines, file: int, layout: Layout) -> Iterator[Part]:
    numbers: Iterator[int] = (number for number, _ in enumerate(lines, start=1))
    if layout.is_table:
        numbers = (number for number, *_ in table_rows(lines, 1, layout))
        next(numbers, None)  # the header
    first, start, count = 2 if layout.is_table else 1, lines.at, 0
    for number in numbers:
        count += 1
        if count == ROWS or lines.at - start >= _BYTES:
            yield Part(file, first, start, lines.at)
            first, start, count = number + 1, lines.at, 0
    if count:
        yield Part(file, first, start, lines.at)


def _of_row_groups(stream: Any, file: int, layout: Layout) -> Iterator[Part]:
    import pyarrow
    from pyarrow import parquet

    first = 1
    try:
        with parquet.ParquetFile(stream) as found:
            sizes = [found.metadata.row_group(group).num_rows for group in range(found.num_row_groups)]
    except pyarrow.ArrowInvalid as error:
        raise BrokenInputError(f"{layout.files[file]} is not a whole Parquet file: {error}.") from error
    for group, size in enumerate(sizes):
        for start in range(0, size, ROWS):
            stop = min(start + ROWS, size)
            yield Part(file, first, start, stop, group)
            first += stop - start
