"""Rows of csv and tsv files, broken ones among them, and where each ends in the file."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from dense_lstm_zoo.batch.layout import BrokenInputError, Layout
from dense_lstm_zoo.batch.streams import Lines
from dense_lstm_zoo.data.delimited import Dialect

BEGINNING = 200  # characters of a bad row that are kept


def table_rows(lines: Lines, first: int, layout: Layout, dialect: Dialect) -> Iterator[tuple[int, list[str], str, int]]:
    """Yield the rows of a table: first line, cells, what is wrong if it is broken, and how many lines it takes.

    A broken row has one cell, the row's beginning as it is written. Blank rows are left out. ``lines.at`` is at a row's
    end when that row comes.

    Args:
        lines: The lines, from a row's beginning on.
        first: The number of the first of them.
        layout: What the files hold.
        dialect: How this file is written.

    Raises:
        BrokenInputError: A quotation mark that is never closed, so that the rest of the file is one cell.
    """
    beginning: list[str] = []
    size = 0  # of the beginning: a sum for each line would take long in a cell of many short ones

    def watched() -> Iterator[str]:
        nonlocal size
        for line in decoded(lines, first, layout):
            if size < BEGINNING:
                beginning.append(line)
                size += len(line)
            yield line

    reader = dialect.reader(watched())
    while True:
        beginning.clear()
        size = 0
        before = reader.line_num
        number, cells, error = first + before, [], ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as broken:
            if "end of data" in str(broken):
                raise BrokenInputError(
                    f"{lines.path}, line {number} opens a quotation mark that is never closed. Close it, or double it "
                    "if it belongs to the text."
                ) from None
            cells, error = ["".join(beginning).rstrip("\r\n")[:BEGINNING]], str(broken)
        if error or (cells and (len(cells) > 1 or cells[0].strip() or len(layout.names) == 1)):
            yield number, cells, error, reader.line_num - before


def decoded(lines: Lines, first: int, layout: Layout) -> Iterator[str]:
    """Yield lines as strings. The mark at a file's start goes first, as it would hide a quotation mark after it."""
    codec = layout.codec.removesuffix("-sig")
    for number, line in enumerate(lines, start=first):
        text = line.decode(codec, "surrogateescape")
        yield text.removeprefix("\ufeff") if number == 1 else text
