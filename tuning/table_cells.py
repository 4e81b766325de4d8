"""Parts of the tables of results/README.md: cells, and rows with the commands that made them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from dense_lstm_zoo.comparing.differences import paired_t
from dense_lstm_zoo.display import Markdown, code, escape, table
from dense_lstm_zoo.search.published import of_phrases
from tuning.result_files import sources


def folds_of(protocol: str) -> int | None:
    """Return the number of folds of the cross-validation that a row's protocol names, or None for runs by seeds.

    Example:
        >>> folds_of("10 folds, seed 1"), folds_of("folds 1 2 3 of 5, seed 1"), folds_of("seeds 1 2 3")
        (10, 5, None)
    """
    match = re.match(r"(?:folds ([\d ]+) of )?(\d+)(?: folds)?, seed", protocol)
    is_single = match is not None and (match[1] or "several folds").isdecimal()  # its runs differ by their seeds
    return int(match[2]) if match and not is_single else None


def mean_of(values: Sequence[float], digits: int) -> str:
    """Return the mean of several values with their standard deviation, one value alone, or nothing without any.

    Example:
        >>> mean_of([1.0, 2.0, 3.0], 1), mean_of([2.0], 2), mean_of([], 1)
        ('2.0 ± 1.0', '2.00', '')
    """
    if not values:
        return ""
    spread = f"{statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return with_spread(f"{statistics.fmean(values):.{digits}f}", spread)


def compared(ours: str, theirs: str, protocol: str = "") -> str:
    """Return the mean difference of two cells that hold the scores of their runs, with its 95 % interval.

    Args:
        ours: The scores of the runs.
        theirs: Those of the runs that they are compared with, with the same seeds or on the same folds.
        protocol: The protocol of both rows, of which folds widen the interval.

    Example:
        >>> compared("88.0 87.0 89.0", "87.0 87.0 87.0")
        '+1.00 (-1.48 to 3.48)'
    """
    first, second = ([float(score) for score in scores.split()] for scores in (ours, theirs))
    return paired_t(first, second, folds_of(protocol)).text(2)


def rows_table(
    rows: pd.DataFrame,
    order: list[str],
    columns: tuple[str, ...],
    cells: Callable[[Any], tuple[str, ...]],
    *,
    timed: bool = False,
) -> str:
    """Return rows as a table, and after it, folded, the commands that made them and their versions.

    Args:
        rows: Rows of a CSV file.
        order: The columns that they are sorted by.
        columns: The table's header.
        cells: What makes a line of a row.
        timed: Whether the rows are times, so that the machines are named too.
    """
    lines = table(columns, (cells(row) for row in rows.sort_values(order, kind="stable").itertuples()))
    return "\n".join([lines, "", sources(rows, timed=timed)])


def name_cell(name: str, settings: str) -> Markdown:
    """Return a cell with a name of ours, as code, and what was set."""
    return Markdown(f"{code(name)} {escape(settings, cell=True)}")


def paper(row: Any) -> str:
    """Return a paper's figure. Those of SST are of training on its phrases, which is said beside a run on sentences."""
    return f"{row.paper} (phrases)" if row.paper and of_phrases(row.dataset) else str(row.paper)


def with_spread(mean: str, std: str) -> str:
    """Return a cell with a mean and, where there is one, its standard deviation."""
    return f"{mean} ± {std}" if std else mean
