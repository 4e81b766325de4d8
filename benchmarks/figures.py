"""Figures in the prose of pages, filled in from the rows of ``results/`` as the tables are.

A figure is followed, without a space, by a comment that GitHub, PyPI and the site do not show::

    DC-Bi-LSTM has 87.8<!-- classification:sst2:dc_bilstm:fixed_vectors:test --> % on SST-2.

The comment names a cell by its file, some cells of its row (as ``column=cell`` where the cell alone could be in several
columns) and its column, which can have a short name from ``COLUMNS``. More can be said:

- ``{ours - theirs}`` is a difference, and ``{ours / theirs}`` a ratio, of whole names or of a part of a name.
- ``cr;trec`` stands for each of them in turn.
- A word in front is one of ``MEASURES``, ``INTERVAL`` or ``RUNS``.
- ``source:`` and a few words name the origin of a figure that no row holds.
- ``check:`` with one of ``CHECKS`` stands behind words that compare, and nothing is filled in.

The page decides how many decimals are shown. A comment never begins a line, which Markdown would take for HTML.
In code and docstrings comments would be visible: write no figures of results there, and link to the page instead.
"""

from __future__ import annotations

import functools
import re
import statistics
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from dense_lstm_zoo.comparing.differences import paired_t
from tuning.result_files import ROOT, read_rows, rounded
from tuning.table_cells import folds_of

PAGES = [
    "README.md",
    "CHANGELOG.md",
    "deploy/runtime/README.md",
    *(
        f"docs/{name}.md"
        for name in ("batch", "choose", "language_models", "papers", "pretraining", "runtime", "your_data")
    ),
    "results/README.md",
    "results/SPEED.md",
]
COLUMNS = {
    "test": ("accuracy_mean", "score_mean", "test_accuracy", "test_perplexity_mean"),
    "dev": ("dev_accuracy_mean", "dev_mean", "dev_perplexity_mean"),
    "runs": ("accuracies", "scores"),
    "weights": ("encoder_parameters", "parameters"),
    "ms": ("p50_ms_1",),
}
_NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?"
_MARKED = re.compile(rf"({_NUMBER})<!-- (.+?) -->")
_CHECK = re.compile(r"<!-- check: (\w+) (.+?) -->")
# Decimals, percentages (but those of an interval), ratios and megabytes; other whole numbers are mostly settings.
_FIGURE = re.compile(r"\d[\d,]*\.\d+|(?!95 % interval)\b\d[\d,]*(?= %| MB\b| ms\b|x\b)")
_NOT_PROSE = re.compile(
    r"<!-- table: .*?<!-- end -->|!?\[[^\]]*\]\([^)]*\)|`[^`]*`|^#.*?$|Python \d[\d., or]*"
    r"|^\| (?:open )?in the paper \|.*?\n\n|\$[^$\n]+\$",  # settings of papers, formulas
    flags=re.DOTALL | re.MULTILINE,
)


MEASURES: dict[str, Callable[[list[float]], float]] = {
    "max": max,
    "min": min,
    "sum": sum,
    "mean": statistics.mean,
    "percent": lambda values: 100 * _only(values),
    "less": lambda values: 100 * (1 - _only(values)),  # of a ratio: by how many percent it is below 1
    "more": lambda values: 100 * (_only(values) - 1),
    "million": lambda values: _only(values) / 1e6,
    "half": lambda values: _only(values) / 2,
    "rest": lambda values: 100 - _only(values),
}
INTERVAL: dict[str, Callable[[float, float, float], float]] = {
    "low": lambda mean, low, high: low,
    "high": lambda mean, low, high: high,
    "either": lambda mean, low, high: (high - low) / 2,
}
RUNS: dict[str, Callable[[Iterable[float]], float]] = {"lowest": min, "highest": max}
CHECKS: dict[str, Callable[[tuple[float, float, float]], bool]] = {
    "level": lambda interval: interval[1] < 0 < interval[2],
    "apart": lambda interval: not interval[1] < 0 < interval[2],
    "above": lambda interval: interval[0] > 0,
}


def fill(page: str) -> str:
    """Return a page with every figure made anew from its row.

    Raises:
        ValueError: A comment names no row, or several where one is meant.
    """
    return _MARKED.sub(lambda match: f"{_figure_of(match)}<!-- {match[2]} -->", page)


def _figure_of(match: re.Match[str]) -> str:
    """Return the figure before a comment, made anew from its row."""
    try:
        return _rounded(match[2], match[1])
    except ValueError as error:
        raise ValueError(f"{match[0]}: {error}") from None


def problems(page: str) -> Iterator[str]:
    """Yield what is wrong with the figures of a page, one line for each.

    Example:
        >>> list(problems("It gains 1.5 points, and takes 20<!-- source: a paper --> % more."))
        ["no row is named for a figure of 'It gains 1.5 points, and takes # % more.'"]
    """
    for match in _MARKED.finditer(page):
        try:
            figure = _figure_of(match)
        except ValueError as error:
            yield str(error)
            continue
        if figure != match[1]:
            yield f"the page says {match[1]}, and {match[2]} is {figure}: make tables"
    for name, text in _CHECK.findall(page):
        if not all(CHECKS[name](interval(each)) for each in _alternatives(text)):
            yield f"its rows are not {name}: {text}"
    for line in re.findall(r"^<!-- (?:check|source): .*|^<!-- \w+:\w+:.*", page, flags=re.MULTILINE):
        yield f"a comment that names rows begins a line: {line}"
    prose = " ".join(_NOT_PROSE.sub("", _CHECK.sub("", _MARKED.sub("#", page))).replace("**", "").split())
    for figure in _FIGURE.finditer(prose):
        yield f"no row is named for a figure of {prose[max(0, figure.start() - 40) : figure.end() + 30]!r}"


def value(text: str) -> float:
    """Return the number that a comment names.

    Example:
        >>> value("speed_cpu:train:200:keras:kernel=:ratio")
        2.78
    """
    first, _, name = text.partition(" ")
    if first in INTERVAL:
        return INTERVAL[first](*interval(name))
    if first in RUNS:
        return RUNS[first](number for cell in _cells(name) for number in cell)
    if first in MEASURES:
        return MEASURES[first]([number for each in _alternatives(name) for number in _numbers(each)])
    return _only(_numbers(text))


def _rounded(text: str, before: str) -> str:
    """Return the number that a comment names, written as ``before`` was: as many decimals, and a plus if it had one."""
    if text.startswith("source: "):
        return before
    decimals = len(before.partition(".")[2])
    return f"{rounded(value(text), str(Decimal(1).scaleb(-decimals))):{'+' * before.startswith('+')},}"


def _alternatives(text: str) -> list[str]:
    """Return a name once for each of the words that stand with semicolons between them.

    Example:
        >>> _alternatives("tagging:a;b:test")
        ['tagging:a:test', 'tagging:b:test']
    """
    match = re.search(r"[^:{}\s;]+(?:;[^:{}\s;]+)+", text)
    if match is None:
        return [text]
    return [each for word in match[0].split(";") for each in _alternatives(text.replace(match[0], word))]


def _sides(text: str) -> tuple[str, str, str]:
    """Return the two names of ``{ours - theirs}``, and the operator between them. A cell alone is named twice."""
    match = re.search(r"\{(.*?) ([-/]) (.*?)\}", text)
    return (
        (text, "", text)
        if match is None
        else (text.replace(match[0], match[1]), match[2], text.replace(match[0], match[3]))
    )


def _numbers(text: str) -> list[float]:
    ours, operator, theirs = _sides(text)
    if not operator:
        return [statistics.fmean(cell) for cell in _cells(ours)]
    first, second = _only(_cells(ours)), _only(_cells(theirs))
    if operator == "/":
        return [statistics.fmean(first) / statistics.fmean(second)]
    return [round(statistics.fmean(first) - statistics.fmean(second[: len(first)]), 6)]


def interval(text: str) -> tuple[float, float, float]:
    """Return the mean of paired differences that a comment names, and its 95 % interval: NaN of a single run."""
    ours, _, theirs = _sides(text)
    first, second = _only(_cells(ours)), _only(_cells(theirs))
    rows, _ = _rows_of(ours)
    difference = paired_t(first, second[: len(first)], folds_of(rows[0].get("protocol", "")))
    # Scores have two decimals: what binary fractions add to their mean would decide how its half is rounded.
    mean, low, high = (round(bound, 6) for bound in (difference.value, difference.low, difference.high))
    return mean, low, high


def _cells(name: str) -> list[list[float]]:
    """Return the numbers of the named cell of every row that the name fits."""
    rows, column = _rows_of(name)
    return [[float(number) for number in row[column].split()] for row in rows]


def _rows_of(name: str) -> tuple[list[dict[str, str]], str]:
    """Return every row that a name fits, and the column of its cell."""
    file, *words, column = name.split(":")
    path = ROOT / "results" / f"{file}.csv"
    rows = _rows(path, path.stat().st_mtime_ns)
    (column,) = [each for each in COLUMNS.get(column, (column,)) if each in rows[0]]
    rows = [row for row in rows if row[column] and all(_fits(row, word) for word in words)]
    if not rows:
        raise ValueError(f"results/{file}.csv has no row for {name}.")
    return rows, column


@functools.cache
def _rows(path: Path, changed: int) -> list[dict[str, str]]:
    """Return the rows of a file as it was last changed. Pages name the same few files hundreds of times."""
    return read_rows(path).to_dict("records")


def _fits(row: dict[str, str], word: str) -> bool:
    column, equals, cell = word.partition("=")
    return row[column] == cell if equals and column in row else word in row.values()


def _only(values: list[Any]) -> Any:
    if len(values) != 1:
        raise ValueError(f"{len(values)} rows have what a page names; it must be one.")
    return values[0]
