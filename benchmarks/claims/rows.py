"""What claims are made of: rows of ``results/`` by their cells, differences, and numbers as people round them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.result_files import ROOT, read, rounded


@dataclass(frozen=True)
class Claim:
    """A sentence of a page, or a part of one, and whether the rows say so.

    Args:
        text: As it stands on the page, without line breaks.
        holds: What the rows say. A claim whose figures are made from the rows needs none.
    """

    text: str
    holds: bool = True


@dataclass(frozen=True)
class Quoted:
    """Figures of a page that no row holds.

    Args:
        text: As it stands on the page, without line breaks.
        source: Where they are from: a paper's table, a setting, a corpus.
    """

    text: str
    source: str


def rows(file: str, **wanted: str) -> list[dict[str, Any]]:
    """Return the rows of a file whose cells are these, as they are written."""
    path = ROOT / "results" / f"{file}.csv"
    return [row for row in _records(path, path.stat().st_mtime_ns) if wanted.items() <= row.items()]


@functools.cache
def _records(path: Path, changed: int) -> list[dict[str, Any]]:
    """Return the rows of a file as it was last changed; claims read the same few files hundreds of times."""
    return read(path).to_dict("records")


def row(file: str, **wanted: str) -> dict[str, Any]:
    """Return the one row of a file whose cells are these.

    Raises:
        ValueError: None has them, or several have.
    """
    found = rows(file, **wanted)
    if len(found) != 1:
        raise ValueError(f"results/{file}.csv has {len(found)} rows of {wanted}; a claim names one.")
    return found[0]


def number(file: str, column: str, **wanted: str) -> Decimal:
    """Return a number of the one row of a file whose cells are these."""
    return Decimal(row(file, **wanted)[column])


def interval(file: str, column: str, ours: dict[str, str], theirs: dict[str, str]) -> tuple[float, float, float]:
    """Return the mean difference of two rows' runs, seed by seed, and its 95 % interval."""
    first, second = ([float(score) for score in row(file, **wanted)[column].split()] for wanted in (ours, theirs))
    # Scores have two decimals: what binary fractions add to their mean would decide how its half is rounded.
    mean, low, high = (round(value, 6) for value in paired(first, second))
    return mean, low, high


def paired(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """Return the mean difference of paired scores and its 95 % interval (Student's t); nan with a single pair.

    Example:
        >>> [round(value, 2) for value in paired([88.0, 87.0, 89.0], [87.0, 87.0, 87.0])]
        [1.0, -1.48, 3.48]
    """
    from scipy import stats

    differences = pd.Series(ours) - pd.Series(theirs)
    mean, error = float(differences.mean()), float(differences.sem())
    half = float(stats.t.ppf(0.975, len(differences) - 1)) * error if len(differences) > 1 else float("nan")
    return mean, mean - half, mean + half


def level(difference: tuple[float, float, float]) -> bool:
    """Return whether the interval of a difference contains zero."""
    _, low, high = difference
    return low < 0 < high


def one(value: Any) -> str:
    """Return a number to one decimal, as people round.

    Example:
        >>> one("0.25"), one(-1.04)
        ('0.3', '-1.0')
    """
    return str(rounded(value, "0.1"))


def span(values: Iterable[Any]) -> str:
    """Return the least and the greatest of values, to one decimal.

    Example:
        >>> span([2.04, 1.75])
        '1.8 to 2.0'
    """
    ordered = sorted(Decimal(str(value)) for value in values)
    return f"{one(ordered[0])} to {one(ordered[-1])}"


ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
)


def best_epochs(epochs: str, patience: str) -> list[int]:
    """Return the best epochs of runs that ended ``patience`` epochs later.

    Example:
        >>> best_epochs("9 13 8", "5")
        [4, 8, 3]
    """
    return [int(epoch) - int(patience) for epoch in epochs.split()]
