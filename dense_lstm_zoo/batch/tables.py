"""Rows of csv and tsv files, broken ones among them, and where each ends in the file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from dense_lstm_zoo.batch.layout import BrokenInputError, Layout
from dense_lstm_zoo.batch.streams import Lines


def table_rows(lines: Lines, first: int, layout: Layout) -> Iterator[tuple[int, list[str], str, int]]:
    """Yield the rows of a table: number, cells, what is wrong with it if it is broken, and the lines it takes.

    Blank rows are left out, but counted. ``lines.at`` is at a row's end when that row comes.

    Raises:
        BrokenInputError: A quotation mark that is never closed, so that the rest of the file is one cell.
    """
    csv.field_size_limit(1 << 30)
    dialect: dict[str, Any] = {"strict": True}
    if layout.form == "tsv":
        dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    reader, number, before = csv.reader(_decoded(lines, first, layout), **dialect), first, 0
    while True:
        cells, error = [], ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as broken:
            if "end of data" in str(broken):
                raise BrokenInputError(
                    f"{lines.path}, row {number} opens a quotation mark that is never closed. Close it, or double it "
                    "if it belongs to the text."
                ) from None
            error = str(broken)
        if error or (cells and (len(cells) > 1 or cells[0].strip() or len(layout.names) == 1)):
            yield number, cells, error, reader.line_num - before
        number, before = number + 1, reader.line_num


def _decoded(lines: Lines, first: int, layout: Layout) -> Iterator[str]:
    """Yield lines as strings; the mark at a file's start goes first, as it would hide a quotation mark after it."""
    codec = layout.codec.removesuffix("-sig")
    for number, line in enumerate(lines, start=first):
        text = line.decode(codec, "surrogateescape")
        yield text.removeprefix("\ufeff") if number == 1 else text
