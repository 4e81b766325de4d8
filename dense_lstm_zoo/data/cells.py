"""Cells that are safe in spreadsheets and terminals: no formulas in csv files, no control characters on screen."""

from __future__ import annotations

import re

# What a spreadsheet may take for a formula (OWASP, "CSV Injection"), full-width forms included.
_FORMULA = r"(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])"
_TO_MARK, _MARKED = re.compile(f"'*{_FORMULA}"), re.compile(f"'+{_FORMULA}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-inf")

_SURROGATES = "\ud800-\udfff"
# Control characters, line separators, marks that change the text direction, lone surrogates.
_UNSAFE = "\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069" + _SURROGATES
_CONTROL = re.compile(f"[{_UNSAFE}]")


def mark_formula(cell: str) -> str:
    """Return a cell with an apostrophe before anything a spreadsheet would take for a formula; numbers stay numbers.

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


def escape_controls(text: str, keep: str = "") -> str:
    r"""Return text with control characters, except those in ``keep``, escaped as in Python strings.

    Example:
        >>> print(escape_controls("two\nlines \x1b[31mred"))
        two\nlines \x1b[31mred
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


def escape_json(line: str) -> str:
    """Return a line of JSON with control characters and lone surrogates as JSON escapes, which keep its meaning.

    Example:
        >>> print(escape_json('"\x9b31m"'))
        "\\u009b31m"
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
