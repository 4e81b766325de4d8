"""Ranges of numbers to search."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

from dense_lstm_zoo import checks

_MOST_STEPS = 10_000  # each is a value in the sweep's state


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high`` inclusive: integers if both are integers, else real numbers.

    Args:
        low: The smallest value.
        high: The largest value.
        step: The distance between values, the first of which is ``low``. None means 1 for integers and no step for
            real numbers (a grid takes ten).
        log: Whether to sample on a logarithmic scale, as for sizes and rates. Then there is no step.

    Raises:
        ValueError: Not numbers, ``high`` below ``low``, a step of 0 or less, or of a fraction between integers, more
            than 10,000 steps between real numbers, or with ``log`` a step or values not above 0.

    Example:
        >>> Range(1, 4), Range(1e-4, 1e-2, log=True)
        (Range(low=1, high=4, step=None, log=False), Range(low=0.0001, high=0.01, step=None, log=True))
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, checks.plain(getattr(self, name)))  # NumPy's numbers
        bounds = [self.low, self.high, *([] if self.step is None else [self.step])]
        if any(isinstance(x, bool) or not isinstance(x, numbers.Real) for x in bounds):
            raise ValueError(f"A range is of numbers; received {self}.")
        if not all(map(math.isfinite, bounds)) or self.low > self.high:
            raise ValueError(f"A range needs low <= high; received {self}.")
        if self.step is not None and not self.step > 0:
            raise ValueError(f"A range's step must be above 0; received {self}.")
        if self.step is not None and self.is_integer and not isinstance(self.step, int):
            raise ValueError(f"A range of integers needs an integer as its step; received {self}.")
        if self.step is not None and not self.is_integer and (self.high - self.low) / self.step > _MOST_STEPS:
            raise ValueError(f"A range of real numbers has at most {_MOST_STEPS:,} steps; received {self}.")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError(f"A logarithmic range must lie above 0 and have no step; received {self}.")

    @property
    def steps(self) -> list[float]:
        """The values of a range of real numbers with a step, ``high`` among them where the step meets it.

        Example:
            >>> Range(0.2, 0.5, 0.1).steps
            [0.2, 0.3, 0.4, 0.5]
        """
        assert self.step is not None
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1  # 0.5 - 0.2 is a little less than 3 x 0.1
        return [round(float(self.low + i * self.step), 12) for i in range(count)]

    @property
    def is_integer(self) -> bool:
        """True for a range of integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)
