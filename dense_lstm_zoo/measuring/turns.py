"""Measurements in turns, and their medians, spreads and ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def take_turns(sides: Mapping[str, Callable[[], T]], repeats: int) -> dict[str, list[T]]:
    """Measure each side once, in order, then again: A B A B. Whatever slows the machine meets all of them.

    Returns:
        The values of each side. Those with one index are of one round, so they pair.
    """
    values: dict[str, list[T]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, measure in sides.items():
            values[name].append(measure())
    return values


def percentiles(values: Sequence[float], *shares: float) -> list[float]:
    """Return percentiles, interpolated between values.

    Example:
        >>> percentiles([1.0, 2.0, 3.0], 50, 100)
        [2.0, 3.0]
    """
    return [float(value) for value in np.percentile(values, shares)]


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return median and interquartile range.

    Example:
        >>> spread([1.0, 2.0, 3.0, 4.0, 100.0])
        (3.0, 2.0)
    """
    low, median, high = percentiles(values, 25, 50, 75)
    return median, high - low


def compare(ours: Sequence[float], peer: Sequence[float]) -> dict[str, float]:
    """Return the median and the quartiles of the ratio, peer / ours, over paired repeats.

    Noise that lasts longer than a repeat slows down both of its sides, and so does not touch their ratio.

    Example:
        >>> compare([1.0, 1.0, 2.0], [3.0, 3.0, 4.0])
        {'ratio': 3.0, 'ratio_low': 2.5, 'ratio_high': 3.0}
    """
    low, median, high = percentiles([theirs / mine for mine, theirs in zip(ours, peer, strict=True)], 25, 50, 75)
    return {"ratio": median, "ratio_low": low, "ratio_high": high}
