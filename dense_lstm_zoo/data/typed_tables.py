"""Tables that are not text: Parquet files and Excel workbooks, row by row with the rows' numbers."""

from __future__ import annotations

import contextlib
import io
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from dense_lstm_zoo.data.binary import is_binary, kind_of
from dense_lstm_zoo.data.delimited import check_columns
from dense_lstm_zoo.data.encodings import best_fit
from dense_lstm_zoo.data.frames import class_names_in, named_class
from dense_lstm_zoo.display.notes import say
from dense_lstm_zoo_runtime import install

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from pyarrow.parquet import ParquetFile

FORMATS = ("parquet", "xlsx")
_LIBRARIES = {"parquet": "pyarrow", "xlsx": "openpyxl"}
_EXTRAS = {"parquet": install.extra("parquet"), "xlsx": install.extra("excel")}
_BEGINNINGS = {"parquet": b"PAR1", "xlsx": b"PK\x03\x04"}
_KINDS = {"parquet": "a Parquet file", "xlsx": "an Excel workbook (xlsx)"}
_BATCH = 1024  # rows of Parquet that are decoded at a time
_LARGEST = 1 << 30  # bytes of a workbook that is unpacked
_LAST_ROW = 1 << 20  # of any sheet that a program writes


@dataclass(frozen=True)
class TypedTable:
    """A table whose column names have been read.

    Each of its rows comes with its number: in Parquet from 1, in a workbook as the program shows it.
    """

    names: list[str]
    rows: Iterator[tuple[int, list[Any]]]


def read_typed(
    stream: BinaryIO,
    name: str,
    form: str,
    columns: Sequence[str],
    advice: str,
    *,
    only: Callable[[str], bool] | None = None,
    instead: str = "",
) -> TypedTable:
    """Return the rows of a table, which are read lazily. The column names are read at once.

    Of a workbook, the first sheet with the columns is read. A line on standard error names it if there are others.

    Args:
        stream: The file.
        name: Its name, for errors.
        form: One of ``FORMATS``.
        columns: The columns that the table must have.
        advice: What to do if it does not have them.
        only: Returns whether a column of a Parquet file is read. None reads all.
        instead: As for ``delimited.check_columns``.

    Raises:
        ValueError: The library that reads such files is not installed, another kind of file, a damaged one, no such
            column, or one that is there twice. On iteration, with the row: a cell that cannot be read, or that is
            beyond the column names.
    """
    stream = stream if stream.seekable() else io.BytesIO(stream.read())
    beginning = stream.read(1 << 16)
    stream.seek(0)
    if not beginning.startswith(_BEGINNINGS[form]):
        is_unknown = is_binary(beginning) and best_fit(beginning) is None
        other = "no table or text that is known" if is_unknown else "text by its first bytes"
        kind = kind_of(beginning) or (other if beginning else "empty")
        raise ValueError(
            f"{name} is not {_KINDS[form]}, whatever its name says: it is {kind}. Give its format with --dataset, or "
            "with --input-format for texts to predict."
        )
    try:
        if form == "parquet":
            return _parquet(stream, name, columns, advice, only, instead)
        return _workbook(stream, name, columns, advice, instead)
    except ImportError:
        library = _LIBRARIES[form]
        raise ValueError(f"{name} is read with {library}, which is not installed: {_EXTRAS[form]}.") from None


def _parquet(
    stream: BinaryIO,
    name: str,
    columns: Sequence[str],
    advice: str,
    only: Callable[[str], bool] | None,
    instead: str,
) -> TypedTable:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(stream)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{name} is not a whole Parquet file: {str(error).rstrip('.')}.") from None
    names = list(file.schema_arrow.names)
    check_columns(name, names, columns, advice, instead)
    if only is not None:
        names = [column for column in names if only(column)]
    return TypedTable(names, _parquet_rows(file, name, names))


def _parquet_rows(file: ParquetFile, name: str, names: list[str]) -> Iterator[tuple[int, list[Any]]]:
    import pyarrow

    classes, number = class_names_in(file.schema_arrow.metadata), 0
    # pyarrow would put columns of one name together; all columns come in the order of the file, which is that of names.
    selection = names if len(set(names)) == len(names) else None
    try:
        for batch in file.iter_batches(_BATCH, columns=selection):
            columns = zip(batch.schema.names, batch.columns, strict=True)
            cells = [values.to_pylist() for column, values in columns if column in names]
            for row in zip(*cells, strict=True):
                number += 1
                location = f"{name}, row {number}"
                pairs = zip(names, row, strict=True)
                yield number, [_plain(named_class(location, column, x, classes.get(column))) for column, x in pairs]
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(f"{name}, after row {number}: a cell cannot be read: {error}.") from None


def _workbook(stream: BinaryIO, name: str, columns: Sequence[str], advice: str, instead: str) -> TypedTable:
    import openpyxl

    size = 0
    with contextlib.suppress(zipfile.BadZipFile, OSError, ValueError), zipfile.ZipFile(stream) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > _LARGEST:
        raise ValueError(f"{name} unpacks to {size / 2**30:,.1f} GB; accepted: up to 1 GB. Save larger tables as csv.")
    stream.seek(0)
    try:
        with warnings.catch_warnings(action="ignore"):  # of formats and pictures, which are not read
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        sheets = {sheet.title: _sheet_rows(sheet, name) for sheet in book.worksheets}
        headers = {title: next(rows, (1, []))[1] for title, rows in sheets.items()}
    except ImportError:
        raise
    except Exception as error:  # openpyxl fails in many ways
        raise ValueError(f"{name} is not a whole Excel workbook: {str(error).rstrip('.')}.") from None
    names = {
        title: ["" if cell is None else str(_plain(cell)).strip() for cell in row] for title, row in headers.items()
    }
    if not any(any(row) for row in names.values()):
        raise ValueError(f"{name} is empty; a table begins with a row of column names.")
    fitting = [title for title, row in names.items() if set(columns) <= set(row)]
    title = (fitting or [title for title, row in names.items() if any(row)])[0]
    check_columns(name, names[title], columns, advice, instead)
    if others := [other for other in names if other != title and any(names[other])]:
        say(f"{name}: the sheet {title!r} is read, and not {', '.join(map(repr, others)):.200}.")
    return TypedTable(names[title], _below(sheets[title], names[title], name))


def _sheet_rows(sheet: ReadOnlyWorksheet, name: str) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows of a sheet that are not blank, with their numbers and without empty cells at their ends."""
    sheet.reset_dimensions()  # some programs write wrong ones
    number = 0
    try:
        for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
            cells = list(values)
            while cells and (cells[-1] is None or (isinstance(cells[-1], str) and not cells[-1].strip())):
                cells.pop()
            if cells:
                yield number, cells
            if number > _LAST_ROW:  # the rows up to a number that the file makes up would never end
                raise ValueError(f"it has rows beyond row {_LAST_ROW:,}, the last of a sheet")
    except Exception as error:  # openpyxl fails in many ways
        raise ValueError(f"{name}, after row {number}: the workbook is damaged: {error}.") from None


def _below(rows: Iterator[tuple[int, list[Any]]], names: list[str], name: str) -> Iterator[tuple[int, list[Any]]]:
    for number, cells in rows:
        if len(cells) > len(names):
            raise ValueError(
                f"{name}, row {number} has {len(cells)} cells; there are {len(names)} column names. Name every column."
            )
        yield number, [*map(_text, cells), *[""] * (len(names) - len(cells))]


def _text(cell: object) -> str:
    """Return a cell of a workbook as csv would hold it."""
    return "" if cell is None else str(cell)


def _plain(value: object) -> object:
    """Return a cell as JSON can hold it: dates and other objects as strings."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
