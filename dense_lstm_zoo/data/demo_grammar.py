"""The engine of the demo corpora: grammars of weighted productions, derived with a seed, and English spelling."""

from __future__ import annotations

import bisect
import itertools
import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

_PIECE = re.compile(r"\[(\w+)([^\w=]*)(?:=(\w))?\]")
_VOWEL = re.compile("[aeio]|un")


class Symbol(NamedTuple):
    """A part of a template that is derived further."""

    name: str
    marks: str
    feature: str | None  # of its own, instead of that of the phrase it stands in


Mark = Callable[[random.Random, str], str]  # the feature of a marked symbol, from that of the phrase it stands in
Alternatives = tuple[Sequence[float], list[list[str | Symbol]]]  # cumulative weights and templates


def draw(rng: random.Random, cumulative: Sequence[float]) -> int:
    """Draw an index by its cumulative frequencies."""
    return bisect.bisect(cumulative, rng.random() * cumulative[-1], 0, len(cumulative) - 1)


def long_tail(num_words: int) -> list[float]:
    """Return the cumulative frequencies of ``num_words`` words, most frequent first, by Zipf's law."""
    return list(itertools.accumulate(1 / rank for rank in range(1, num_words + 1)))


class Grammar:
    """Weighted alternatives of each symbol and feature, such as a number, a gender or a polarity.

    Alternatives are written ``3 the [noun] [verb] | [name] [verb]``, each after its weight, which is 1 by default. In
    them, ``[noun]`` has the feature of the phrase it stands in, ``[noun=p]`` always has the feature ``p``, and
    ``[noun+]`` has the feature that the mark ``+`` gives it.

    Args:
        marks: The meaning of each mark.
        alternatives: Those of another grammar, to start with.
    """

    def __init__(self, marks: Mapping[str, Mark], alternatives: Mapping[tuple[str, str], Alternatives] = {}) -> None:
        self.marks, self.alternatives = marks, dict(alternatives)

    def add_rule(self, symbol: str, features: Iterable[str], rule: str, literal: Callable[[str], str] = str) -> None:
        """Add the alternatives of a symbol for each of ``features``. ``literal`` completes a word in them."""
        weights, templates = [], []
        for alternative in rule.split("|"):
            pieces = alternative.split()
            weights.append(int(pieces.pop(0)) if pieces and pieces[0].isdigit() else 1)
            matches = [_PIECE.fullmatch(piece) or literal(piece) for piece in pieces]
            templates.append([part if isinstance(part, str) else Symbol(*part.groups()) for part in matches])
        cumulative = list(itertools.accumulate(weights))
        self.alternatives |= {(symbol, feature): (cumulative, templates) for feature in features}

    def add_words(
        self,
        symbol: str,
        features: Iterable[str],
        words: Sequence[str],
        frequencies: Callable[[int], Sequence[float]] = long_tail,
    ) -> None:
        """Add the words of a symbol, most frequent first, with the cumulative frequencies of that number of words."""
        templates: list[list[str | Symbol]] = [[word] for word in words]
        self.alternatives |= {(symbol, feature): (frequencies(len(words)), templates) for feature in features}

    def derive(self, rng: random.Random, feature: str, distinct: Collection[str] = ()) -> list[tuple[str, str]]:
        """Derive a sentence.

        Args:
            rng: Only its ``random()`` is called: Python promises that this stream never changes.
            feature: The feature of the symbol ``sentence``.
            distinct: Symbols whose words are drawn again until the sentence has no other like it.

        Returns:
            Its words, each after the symbol that it comes from. "a" is "an" before a vowel.
        """
        words: list[tuple[str, str]] = []
        earlier_words: set[str | Symbol] = set()

        def expand(symbol: str, feature: str) -> None:
            cumulative, templates = self.alternatives[symbol, feature]
            template = templates[draw(rng, cumulative)]
            if symbol in distinct:
                while template[0] in earlier_words:
                    template = templates[draw(rng, cumulative)]
                earlier_words.add(template[0])
            for part in template:
                if isinstance(part, str):
                    if words and words[-1][1].partition("/")[0] == "a" and _VOWEL.match(part):
                        words[-1] = (words[-1][0], f"an{words[-1][1][1:]}")
                    words.append((symbol, part))
                else:
                    own = part.feature or feature
                    for mark in part.marks:
                        own = self.marks[mark](rng, own)
                    expand(part.name, own)

        expand("sentence", feature)
        return words


def drawn_from(features: str, cumulative: Sequence[float]) -> Mark:
    """Return the mark of symbols that draw a feature of their own."""
    return lambda rng, _: features[draw(rng, cumulative)]


def with_s(word: str) -> str:
    """Make a noun plural, or put a verb into the third person singular."""
    if word.endswith("man"):
        return word[:-3] + "men"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch")) else "s")
