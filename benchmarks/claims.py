"""The claims of the papers beside our rows: a table for each paper in docs/papers.md, with a verdict by one rule.

A claim is a gain of one model over another. Ours is the mean difference of paired runs with its 95 % interval:

- *holds*: the interval is on the claim's side of zero.
- *does not hold here*: it is not, and it leaves out a gain as large as the paper's.
- *open*: it contains both zero and the paper's gain, or there is one run, or none.

Where the paper has no figure, as our question is another, the verdict says whether the interval contains zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks import figures
from dense_lstm_zoo.display import Markdown, table

HOLDS, FAILS, OPEN = "*holds*", "*does not hold here*", "*open*"
REAL, CHANCE = "*beyond chance*", "*within chance*"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, the rows that it is measured by, and what would decide it.

    Args:
        text: What the paper says.
        gains: The paper's gain in points by case, such as a corpus, or None where it has no figure.
        rows: Our difference by case, as ``figures`` names it. A case without rows is open.
        decides: What would decide an open case, or what else is known.
        paper: The paper's gain where it is not in points.
        ours: Our figures where they are not differences of paired runs.
        verdict: The verdict on such figures.
    """

    text: str
    gains: Mapping[str, float | None] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    decides: str = ""
    paper: str = ""
    ours: str = ""
    verdict: str = ""

    def cells(self) -> tuple[Markdown, ...]:
        """Return its row of the table. The cases stand below each other, on the same lines of each cell.

        Example:
            >>> Claim("wide is better", {"SST-2": 1.5, "MR": 1.0}).cells()[1:4:2]
            ('SST-2&nbsp;+1.5<br>MR&nbsp;+1.0', '*open*<br>*open*')
        """
        intervals = [figures.interval(self.rows[case]) if case in self.rows else None for case in self.gains]
        gains = [f"{case} -" if gain is None else f"{case} {gain:+.1f}" for case, gain in self.gains.items()]
        verdicts = [_verdict(gain, each) for gain, each in zip(self.gains.values(), intervals, strict=True)]
        decides = f"<br>To decide: {self.decides}" if self.decides else ""
        return (
            Markdown(self.text + decides),
            Markdown(self.paper or _lines(gains)),
            Markdown(figures.fill(self.ours) or _lines(map(_text, intervals)) or "not run"),
            Markdown(self.verdict or _lines(verdicts) or OPEN),
        )


def claims_table(claims: Iterable[Claim]) -> str:
    """Return the table of a paper's claims."""
    return table(("claim", "paper", "ours (95 % interval)", "verdict"), [claim.cells() for claim in claims])


def _lines(cases: Iterable[str]) -> str:
    """Return one line for each case, none of which a narrow page breaks."""
    return "<br>".join(case.replace(" ", "&nbsp;") for case in cases)


def _text(interval: tuple[float, float, float] | None) -> str:
    if interval is None:
        return "not run"
    mean, low, high = interval
    return f"{mean:+.1f}, one run" if math.isnan(low) else f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"


def _verdict(gain: float | None, interval: tuple[float, float, float] | None) -> str:
    """Return the verdict by the rule of this file.

    Example:
        >>> [_verdict(2.0, interval) for interval in ((1.0, 0.5, 1.5), (0.0, -1.0, 1.0), (0.0, -3.0, 3.0), None)]
        ['*holds*', '*does not hold here*', '*open*', '*open*']
    """
    if interval is None:
        return OPEN
    mean, low, high = interval
    if gain is None:
        return OPEN if math.isnan(low) else REAL if low > 0 or high < 0 else CHANCE
    if gain < 0:
        return _verdict(-gain, (-mean, -high, -low))
    if low > 0:
        return HOLDS
    return FAILS if high < gain else OPEN
