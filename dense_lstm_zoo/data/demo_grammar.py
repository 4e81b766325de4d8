"""Shared by the generators of demo corpora: realistic word frequencies, and English spelling."""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Sequence


def with_s(word: str) -> str:
    """Make a noun plural, or put a verb into the third person singular."""
    if word.endswith("man"):
        return word[:-3] + "men"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch")) else "s")


def long_tail(num_words: int) -> list[float]:
    """Return the cumulative frequencies of ``num_words`` words, most frequent first, by Zipf's law."""
    return list(itertools.accumulate(1 / rank for rank in range(1, num_words + 1)))


# Uses only random(): Python promises that its stream never changes, but not that of choices().
def draw(rng: random.Random, cumulative: Sequence[float]) -> int:
    """Draw an index by its cumulative frequencies."""
    return bisect.bisect(cumulative, rng.random() * cumulative[-1], 0, len(cumulative) - 1)
