"""The layout of the input files: found out once, before any work, and the same for all files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dense_lstm_zoo.data.delimited import Dialect

# What is read and written. A table separated by tabs is written as csv, as ``predict`` does.
READABLE = ("text", "csv", "tsv", "jsonl", "parquet")


Stamp: TypeAlias = tuple[float, ...]
"""The size of a file and when it last changed, and on this machine which file it is."""


class BrokenInputError(ValueError):
    """A file that cannot be read as a whole. The message, on one line, names it. Nothing is published then."""


@dataclass(frozen=True)
class Layout:
    """The layout of the rows in every input file.

    Attributes:
        form: One of ``READABLE``.
        files: The files, sorted. A part of the work names a file by its place in here.
        stamps: The size of each file and when it last changed, as they were when it was looked into.
        text_column: The column, or key, of the texts.
        names: The columns of a table, in order.
        dialects: How each file of a csv or tsv is written, as far as its first lines show, empty for others.
        codec: The codec of text, csv, tsv and jsonl.
        takes_tokens: Whether a text may be a list of tokens.
        shares_tokens: Whether the texts are lists of tokens under the key that the answers have for these too.
        max_chars: The longest text that is predicted. Longer ones are bad rows.
        reserved: Keys that the answers add. A JSON object that has one already is a bad row.
        schema: The Arrow schema of Parquet files, serialised.
    """

    form: str
    files: tuple[str, ...]
    text_column: str
    stamps: tuple[Stamp, ...] = ()
    names: tuple[str, ...] = ()
    dialects: tuple[Dialect, ...] = ()
    codec: str = "utf-8-sig"
    takes_tokens: bool = False
    shares_tokens: bool = False
    max_chars: int = 100_000
    reserved: frozenset[str] = frozenset()
    schema: bytes = b""

    @property
    def is_table(self) -> bool:
        """True if the columns are the same in every row."""
        return self.form in ("csv", "tsv", "parquet")


@dataclass(frozen=True)
class Part:
    """A part of a file, which a worker reads on its own.

    Attributes:
        file: The place of the file in the layout.
        first: The number of its first line, or in Parquet row, from 1.
        start: The byte, or the row of the row group, to begin at. 0 in a table is its header.
        stop: The byte or row to end before. None means the end of the file.
        group: The row group of a Parquet file.
        quoted: Whether quotation marks around the cells of a table are no part of them.
    """

    file: int
    first: int
    start: int
    stop: int | None
    group: int = 0
    quoted: bool = True
