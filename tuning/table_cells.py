"""Parts of the tables of results/README.md: cells, and rows with the commands that made them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pandas as pd

from dense_lstm_zoo.display import Markdown, code, escape, table
from dense_lstm_zoo.search.published import of_phrases
from tuning.result_files import folded, versions


def paired(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """Return the mean difference of paired scores and its 95 % interval (Student's t), which is nan with a single pair.

    Example:
        >>> [round(value, 2) for value in paired([88.0, 87.0, 89.0], [87.0, 87.0, 87.0])]
        [1.0, -1.48, 3.48]
    """
    from scipy import stats

    differences = [first - second for first, second in zip(ours, theirs, strict=True)]
    mean, count = statistics.fmean(differences), len(differences)
    error = statistics.stdev(differences) / count**0.5 if count > 1 else float("nan")
    half = float(stats.t.ppf(0.975, count - 1)) * error if count > 1 else float("nan")
    return mean, mean - half, mean + half


def paired_difference(ours: list[float], theirs: list[float]) -> str:
    """Return the mean difference of paired scores with its 95 % confidence interval (Student's t).

    Example:
        >>> paired_difference([88.0, 87.0, 89.0], [87.0, 87.0, 87.0])
        '+1.00 (-1.48 to 3.48)'
    """
    mean, low, high = paired(ours, theirs)
    return f"{mean:+.2f} ({low:.2f} to {high:.2f})" if low == low else f"{mean:+.2f}"


def compared(ours: str, theirs: str) -> str:
    """Return the paired difference of two cells that hold the scores of their seeds."""
    return paired_difference(*([float(score) for score in scores.split()] for scores in (ours, theirs)))


def rows_table(
    rows: pd.DataFrame, order: list[str], columns: tuple[str, ...], cells: Callable[[Any], tuple[str, ...]]
) -> str:
    """Return rows as a table, and after it, folded, the commands that made them, and their versions."""
    lines = table(columns, (cells(row) for row in rows.sort_values(order, kind="stable").itertuples()))
    commands = "\n".join(dict.fromkeys(rows["command"]))
    return "\n".join([lines, "", folded(commands), "", versions(rows)])


def name_cell(name: str, settings: str) -> Markdown:
    """Return a cell with a name of ours, as code, and what was set."""
    return Markdown(f"{code(name)} {escape(settings, cell=True)}")


def paper(row: Any) -> str:
    """Return a paper's figure. Those of SST are of training on its phrases, which is said beside a run on sentences."""
    return f"{row.paper} (phrases)" if row.paper and of_phrases(row.dataset) else str(row.paper)


def with_spread(mean: str, std: str) -> str:
    """Return a cell with a mean and, where there is one, its standard deviation."""
    return f"{mean} ± {std}" if std else mean
