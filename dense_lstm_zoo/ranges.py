"""Ranges of numbers to search."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included: integers if both are, else real numbers.

    Args:
        low: The smallest.
        high: The largest.
        step: Their distance; None is 1 for integers, and none for real numbers (a grid takes ten of them).
        log: Whether each doubling is as likely as the next, for sizes and rates; then there is no step.

    Raises:
        ValueError: ``high`` below ``low``, a step that is not above 0, a logarithm of nothing, a step beside ``log``.

    Example:
        >>> Range(1, 4), Range(1e-4, 1e-2, log=True)
        (Range(low=1, high=4, step=None, log=False), Range(low=0.0001, high=0.01, step=None, log=True))
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        if any(isinstance(x, bool) or not math.isfinite(x) for x in (self.low, self.high)) or self.low > self.high:
            raise ValueError(f"A range goes from a number up to one that is not below it; received {self}.")
        if self.step is not None and not self.step > 0:
            raise ValueError(f"A range's step must be above 0; received {self}.")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError(f"A logarithmic range lies above 0 and has no step; received {self}.")

    @property
    def is_integer(self) -> bool:
        """Whether the values are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)
