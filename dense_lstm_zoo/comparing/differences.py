"""Differences of scores with 95 % intervals: a paired bootstrap over texts, Student's t over runs, McNemar's test."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

DRAWS = 5_000
_CELLS = 2_000_000  # of the matrices that are held at a time

# From sums of the statistics (draws, statistics) to scores by name, each (draws,).
Scores = Callable[["np.ndarray"], Mapping[Hashable, "np.ndarray"]]


@dataclass(frozen=True)
class Interval:
    """A difference with its 95 % interval. The bounds are NaN where nothing is known of chance, as of a single run."""

    value: float
    low: float
    high: float

    @property
    def is_apart(self) -> bool:
        """True if the interval leaves zero out."""
        return self.low > 0 or self.high < 0

    def text(self, digits: int) -> str:
        """Return it for people.

        Example:
            >>> Interval(0.5, -0.1, 1.1).text(1), Interval(2.0, math.nan, math.nan).text(1)
            ('+0.5 (-0.1 to 1.1)', '+2.0')
        """
        if math.isnan(self.value):
            return "-"
        bounds = "" if math.isnan(self.low) else f" ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return f"{self.value:+.{digits}f}{bounds}"


def bootstrap(
    first: np.ndarray,
    second: np.ndarray,
    scores: Scores,
    *,
    texts_by_row: np.ndarray | None = None,
    draws: int = DRAWS,
    seed: int = 1,
) -> dict[Hashable, Interval]:
    """Return how much higher the first model scores than the second, with intervals of a paired bootstrap.

    Every draw takes as many texts as there are, with replacement, and scores both models on them. The bounds are the
    2.5th and the 97.5th percentile of the differences.

    Args:
        first: What each text adds to the first model's scores, such as 1 where it is right: (texts, statistics). Many
            statistics take the least memory and time as booleans.
        second: The same for the second model, of the same texts in the same order.
        texts_by_row: How many texts each row of both stands for. None means one.
        scores: Returns the scores by name, each (draws,), from the sums of the statistics (draws, statistics).
        draws: The number of draws.
        seed: The same seed draws the same texts.

    Example:
        >>> import numpy as np
        >>> right = np.array([[1], [1], [1], [0]] * 50), np.array([[1], [0], [1], [0]] * 50)
        >>> print(bootstrap(*right, lambda sums: {"accuracy": sums[:, 0] / 200})["accuracy"].text(2))
        +0.25 (0.19 to 0.31)
    """
    import numpy as np

    width = first.shape[1]
    # Texts with the same statistics are drawn together: of a classifier, all with the same three labels.
    both, place = _kinds(np.concatenate([first, second], axis=1))
    counts = np.bincount(place, texts_by_row).astype(np.int64)
    total = int(counts.sum())
    generator = np.random.Generator(np.random.PCG64(seed))
    size = max(1, _CELLS // max(both.shape))

    def difference(sums: np.ndarray) -> dict[Hashable, np.ndarray]:
        ours, theirs = scores(sums[:, :width]), scores(sums[:, width:])
        return {name: ours[name] - theirs[name] for name in ours}

    values = difference(_product(counts[None], both))
    drawn: dict[Hashable, list[np.ndarray]] = {name: [] for name in values}
    for start in range(0, draws, size):
        weights = generator.multinomial(total, counts / total, min(size, draws - start))
        for name, differences in difference(_product(weights, both)).items():
            drawn[name].append(differences)
    return {name: _interval(float(value[0]), np.concatenate(drawn[name])) for name, value in values.items()}


def _kinds(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different rows, in order, and the place of each row among them."""
    import numpy as np

    if rows.dtype != bool:
        kinds, places = np.unique(rows, axis=0, return_inverse=True)
        return kinds, places.ravel()
    packed = np.packbits(rows, axis=1)  # in the same order; as one string each, they are sorted far faster
    _, first, places = np.unique(packed.view(f"S{packed.shape[1]}"), return_index=True, return_inverse=True)
    return rows[first], places.ravel()


def _product(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the sums of rows by weights: float64 (draws, statistics). Booleans become numbers a part at a time."""
    import numpy as np

    if rows.dtype != bool:
        return np.asarray(weights @ rows)
    numbers, step = weights.astype(np.float64), max(1, _CELLS // len(rows))
    parts = [numbers @ rows[:, i : i + step].astype(np.float64) for i in range(0, rows.shape[1], step)]
    return np.concatenate(parts, axis=1)


def _interval(value: float, drawn: np.ndarray) -> Interval:
    """Return the interval of the draws in which the score is defined: a rare class may be absent from some."""
    import numpy as np

    defined = drawn[np.isfinite(drawn)]
    low, high = np.quantile(defined, [0.025, 0.975]) if len(defined) else (math.nan, math.nan)
    return Interval(value, float(low), float(high))


def paired_t(ours: Sequence[float], theirs: Sequence[float], folds: int | None = None) -> Interval:
    """Return the mean difference of the scores of runs with Student's 95 % interval.

    It is NaN for a single pair, and for pairs that all have the same difference, as scores of few texts may: such runs
    say nothing of chance. It is also NaN where a score is not finite.

    The folds of a cross-validation share most of their training texts, and so their scores vary together. Their
    variance is corrected for that: ``1 / n`` becomes ``1 / n + (test texts) / (training texts)``. The texts that each
    run holds out to choose its epoch count as training texts.

    Args:
        ours: The scores of the runs.
        theirs: The scores of the runs that each is compared with: with the same seed, on the same fold.
        folds: The number of folds of the cross-validation, also where only some were run. None for runs by seeds.

    Reference: Nadeau and Bengio 2003, section 3.

    Example:
        >>> paired_t([88.0, 87.0, 89.0], [87.0, 87.0, 87.0]).text(2)
        '+1.00 (-1.48 to 3.48)'
        >>> paired_t([88.0, 87.0, 89.0], [87.0, 87.0, 87.0], folds=3).text(2)
        '+1.00 (-2.93 to 4.93)'
    """
    differences = [first - second for first, second in zip(ours, theirs, strict=True)]
    count = len(differences)
    if not all(map(math.isfinite, differences)):
        return Interval(sum(differences) / count, math.nan, math.nan)
    mean = statistics.fmean(differences)
    if count < 2 or (mean and statistics.stdev(differences) <= 1e-12 * max(1.0, abs(mean))):
        return Interval(mean, math.nan, math.nan)
    from scipy import stats

    share = 1 / count + (0 if folds is None else 1 / (folds - 1))
    half = float(stats.t.ppf(0.975, count - 1)) * statistics.stdev(differences) * share**0.5
    return Interval(mean, mean - half, mean + half)


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the p-value of McNemar's exact test that two models are equally often right.

    Args:
        only_first: The number of texts that only the first model gets right.
        only_second: The number of texts that only the second model gets right.

    Reference: McNemar 1947; the exact form is a two-sided sign test.

    Example:
        >>> round(mcnemar(9, 1), 4), mcnemar(0, 0)
        (0.0215, 1.0)
    """
    if not only_first + only_second:
        return 1.0
    from scipy import stats

    return float(stats.binomtest(only_first, only_first + only_second).pvalue)
