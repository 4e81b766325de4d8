"""Schemes of tags that mark spans: which one a model's tags are in, and the spans that a sentence's tags stand for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

# A tagger's class for tags that are rare in training. It says nothing of spans, as "O" does.
_OUTSIDE = ("O", "RARE")
# The prefixes of each scheme. S and U are spans of one token, E and L the last token of longer ones, M is an I.
_PREFIXES = {"IO": "IO", "BIO or IOB1": "BIO", "IOBES": "BIOES", "BILOU": "BILOU", "BMES": "BMESO"}
_FIRST, _LAST = "BSU", "ELSU"
SCHEMES = "IO, IOB1, BIO, IOBES, BILOU and BMES"
# How a tag is written: B-LOC, or B alone where spans have no types; B_LOC; LOC-B; LOC_B.
_WRITINGS = tuple(
    re.compile(pattern)
    for pattern in (
        "(?P<prefix>[BIESLUM])(?:-(?P<label>.*))?",
        "(?P<prefix>[BIESLUM])_(?P<label>.+)",
        "(?P<label>.+)-(?P<prefix>[BIESLUM])",
        "(?P<label>.+)_(?P<prefix>[BIESLUM])",
    )
)
_TYPED = re.compile("[BIESLUM][-_].+|.+[-_][BIESLUM]")

Part = tuple[str, str]  # a tag's prefix and the label of its span, ("O", "") outside of spans
SpanRow = tuple[str, int, int]  # a span's label, its first token and the one after its last


class SchemeError(ValueError):
    """Tags whose spans cannot be told. ``is_doubtful`` is True where some of the tags look as if they marked spans."""

    def __init__(self, message: str, is_doubtful: bool) -> None:
        super().__init__(message)
        self.is_doubtful = is_doubtful


@dataclass(frozen=True)
class Scheme:
    """A scheme in which tags mark spans, read by the rules of conlleval (Tjong Kim Sang & Buchholz 2000).

    A span begins at B, S and U, and at any other tag after O, after the end of a span, or after another label. It ends
    after E, L, S and U, and before a tag that begins a span or O. IOB1 and BIO are both read rightly so.

    Attributes:
        name: Its name. The tags of BIO and IOB1 are the same.
        writing: The pattern of its tags.

    Example:
        >>> scheme = scheme_of(["B-LOC", "I-LOC", "O"])
        >>> scheme.name, list(scheme.spans(["B-LOC", "I-LOC", "B-LOC", "O", "I-LOC"]))
        ('BIO or IOB1', [('LOC', 0, 2), ('LOC', 2, 3), ('LOC', 4, 5)])
    """

    name: str
    writing: re.Pattern[str]

    def part(self, tag: str) -> Part:
        """Return a tag's prefix and label. A tag in another writing is outside of spans."""
        match = None if tag in _OUTSIDE else self.writing.fullmatch(tag)
        return ("O", "") if match is None else (match["prefix"], match["label"] or "")

    def spans(self, tags: Sequence[str]) -> Iterator[SpanRow]:
        """Yield the label, the first token and the token after the last of each span, in order."""
        start, previous = 0, ("O", "")
        for i, tag in enumerate([*tags, "O"]):
            part = self.part(tag)
            if ends_between(previous, part):
                yield previous[1], start, i
            if starts_between(previous, part):
                start = i
            previous = part


def ends_between(before: Part, after: Part) -> bool:
    """Return whether a span ends between two neighbouring tags.

    Example:
        >>> ends_between(("B", "LOC"), ("I", "LOC")), ends_between(("B", "LOC"), ("I", "PER"))
        (False, True)
    """
    return before[0] != "O" and (before[0] in _LAST or after[0] in f"{_FIRST}O" or before[1] != after[1])


def starts_between(before: Part, after: Part) -> bool:
    """Return whether a span starts at the second of two neighbouring tags."""
    return after[0] != "O" and (before[0] == "O" or ends_between(before, after))


def scheme_of(tags: Collection[str]) -> Scheme:
    """Return the scheme of a model's tags.

    Raises:
        SchemeError: Tags that do not mark spans, that are in no scheme together, or in several writings.

    Example:
        >>> scheme_of(["LOC_B", "LOC_L", "LOC_U", "O"]).name
        'BILOU'
        >>> scheme_of(["NOUN", "VERB"])
        Traceback (most recent call last):
        dense_lstm_zoo_runtime.schemes.SchemeError: The tags do not mark spans: 'NOUN' is not like B-LOC, I-LOC or O.
    """
    inside = sorted(set(tags).difference(_OUTSIDE))
    foreign, prefixes = inside[:1], set[str]()
    for writing in _WRITINGS:
        matches = [writing.fullmatch(tag) for tag in inside]
        if not inside or None in matches:
            continue
        foreign, prefixes = [], {match["prefix"] for match in matches if match}
        # With neither B nor I, only types and an O tell spans from other tags, such as those of a letter.
        is_typed = "O" in tags and all(match["label"] for match in matches if match)
        scheme = next((name for name, own in _PREFIXES.items() if prefixes.issubset(own)), None)
        if scheme and (is_typed or prefixes.intersection("BI")):
            return Scheme(scheme, writing)
    is_doubtful = "O" in tags and any(_TYPED.fullmatch(tag) for tag in inside)
    if prefixes and is_doubtful:
        raise SchemeError(
            f"The tags mix schemes: no scheme has {', '.join(sorted(prefixes))} together. Accepted: {SCHEMES}. Write "
            "all tags of the training in one of them.",
            is_doubtful,
        )
    if is_doubtful:
        ways = [next((tag for tag in inside if w.fullmatch(tag) and "O" in tags), "") for w in _WRITINGS]
        odd = next((tag for tag in inside if not _TYPED.fullmatch(tag)), None)
        reason = f"{odd!r:.80} is not like B-LOC, I-LOC or O" if odd else f"{' and '.join(filter(None, ways))} differ"
        raise SchemeError(f"The tags are not all written in one way: {reason}. Accepted: {SCHEMES}.", is_doubtful)
    odd = next(iter(foreign or inside), "O")
    raise SchemeError(f"The tags do not mark spans: {odd!r:.80} is not like B-LOC, I-LOC or O.", is_doubtful)
