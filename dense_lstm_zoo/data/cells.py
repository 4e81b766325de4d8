"""Cells that are safe in spreadsheets and terminals: no formulas in csv files, no control characters on screen."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from dense_lstm_zoo_runtime.screen import escape_controls as escape_controls
from dense_lstm_zoo_runtime.screen import escape_json as escape_json

# What a spreadsheet may take for a formula (OWASP, "CSV Injection"), full-width forms included.
_FORMULA = r"(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])"
_TO_MARK, _MARKED = re.compile(f"'*{_FORMULA}"), re.compile(f"'+{_FORMULA}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-inf")


def first_names(names: Sequence[str]) -> str:
    r"""Return the first eight names, each of at most 40 characters, on one line of a screen.

    Example:
        >>> first_names(["good", "two\nlines", "x" * 60])[:50]
        'good, two\\nlines, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
    """
    cut = (escape_controls(f"{name[:40]}..." if len(name) > 40 else name) for name in names[:8])
    return ", ".join(cut) + (", ..." if len(names) > 8 else "")


def mark_formula(cell: str) -> str:
    """Return a cell with an apostrophe before anything a spreadsheet would take for a formula. Numbers stay numbers.

    Cells that already have an apostrophe there get another, so that ``unmark_formula`` restores every cell.

    Example:
        >>> mark_formula("=1+1"), mark_formula("'=1+1"), mark_formula("-1.5"), mark_formula("fine")
        ("'=1+1", "''=1+1", '-1.5', 'fine')
    """
    return f"'{cell}" if _TO_MARK.match(cell) and not _NUMBER.fullmatch(cell) else cell


def unmark_formula(cell: str) -> str:
    """Return a cell without the apostrophe that ``mark_formula`` put before it.

    Example:
        >>> unmark_formula("'=1+1"), unmark_formula("'fine'")
        ('=1+1', "'fine'")
    """
    return cell[1:] if _MARKED.match(cell) else cell


def csv_row(values: Iterable[object]) -> str:
    """Return values as a row of csv that is safe in spreadsheets. What cannot be written is replaced.

    Example:
        >>> csv_row([3, "=1+1", "\\ud800"])
        "3,'=1+1,?\\n"
    """
    return csv_line(mark_formula(str(value).encode("utf-8", "replace").decode()) for value in values)


def csv_line(cells: Iterable[str]) -> str:
    r"""Return cells as a row of csv, with its end. A cell that holds a line end of any kind is quoted.

    Python before 3.12.3 leaves a carriage return bare in rows that end with a line feed.

    Example:
        >>> csv_line(["a\rb", "c"])
        '"a\rb",c\n'
    """
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"
