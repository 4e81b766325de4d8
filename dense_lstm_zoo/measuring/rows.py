"""The format of results: the columns of the CSV file, and the lines of an aligned table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dense_lstm_zoo.data.cells import escape_controls

SIZES = (1, 32, 200)  # texts per call

_TIMES = tuple(f"{name}_{size}" for size in SIZES for name in ("p50_ms", "p99_ms", "calls"))
COLUMNS = (
    *("run", "kind", "task", "model", "start_s", "import_s", "load_s", "first_ms", *_TIMES, "texts_per_s"),
    *("peak_mb", "added_mb", "disk_mb", "texts", "words_per_text", "source", "repeats"),
    *("date", "versions", "processor", "cores", "load_average", "error"),
)
_DIGITS = {
    "start_s": 2,
    "import_s": 2,
    "load_s": 2,
    "texts_per_s": 1,
    "peak_mb": 1,
    "added_mb": 1,
    "disk_mb": 2,
}  # others have 3

# Two lines of heading, column, decimals, width.
_SHOWN = (
    *(
        ("start", "s", "start_s", 2, 5),
        ("import", "s", "import_s", 1, 6),
        ("load", "s", "load_s", 2, 5),
        ("first", "ms", "first_ms", 0, 6),
    ),
    *(
        (top, name, f"{name}_ms_{size}", 1, width)
        for size in SIZES
        for name, top, width in (("p50", "", 7), ("p99", f"{size} text{'s' * (size > 1)}", 9))
    ),
    *(("", "texts/s", "texts_per_s", 0, 7), ("peak", "MB", "peak_mb", 0, 5)),
    *(("model", "MB", "added_mb", 0, 5), ("disk", "MB", "disk_mb", 1, 6)),
)
LEGEND = (
    "start: from the start of the process to its first answer; first: milliseconds of the first text.\n"
    "p50, p99: milliseconds of a call with 1, 32 and 200 texts, warm-up excluded.\n"
    "peak: the peak memory of the process; model: how much of it the model added."
)


def row(values: dict[str, Any]) -> dict[str, Any]:
    """Return a row with every column, with rounded numbers and empty unknown values."""
    cells = {name: "" if values.get(name) is None else values[name] for name in COLUMNS}
    return {name: round(x, _DIGITS.get(name, 3)) if isinstance(x, float) else x for name, x in cells.items()}


def header(names: Sequence[str]) -> str:
    """Return the two heading lines for runs with these names."""
    tops = ["".ljust(_width(names)), *(top.rjust(width) for top, *_, width in _SHOWN)]
    bottoms = ["run".ljust(_width(names)), *(bottom.rjust(width) for _, bottom, *_, width in _SHOWN)]
    return "  ".join(tops) + "\n" + "  ".join(bottoms)


def line(row: dict[str, Any], names: Sequence[str]) -> str:
    """Return a row as a line below ``header``.

    Example:
        >>> line({"run": "a", "load_s": 1.234, "peak_mb": 1016.4}, ["a"]).split()
        ['a', '-', '-', '1.23', '-', '-', '-', '-', '-', '-', '-', '-', '1,016', '-', '-']
    """
    cells = [
        (f"{row[column]:,.{digits}f}" if isinstance(row.get(column), int | float) else "-").rjust(width)
        for _, _, column, digits, width in _SHOWN
    ]
    return "  ".join([escape_controls(str(row["run"])).ljust(_width(names)), *cells])


def _width(names: Sequence[str]) -> int:
    return max(len(escape_controls(name)) for name in ("run", *names))
