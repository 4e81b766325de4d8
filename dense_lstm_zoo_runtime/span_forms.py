"""Spans of a text, and their forms in other programs: JSON of spaCy, standoff of brat."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

UNTYPED = "SPAN"  # the label of spans whose tags have none: both forms need one
_LINE_END = re.compile(r"[\r\n]+")
_GAP = re.compile(r"\s+|\S+")  # of Unicode: what str.isspace says


@dataclass(frozen=True)
class Span:
    """A part of a text that a tagger marks, such as a name or a chunk.

    Attributes:
        label: Its label. Empty where the tags have none (B, I, O).
        text: Its characters in the raw text.
        start: Its first character in the raw text, counted from 0.
        end: The character after its last one.
        confidence: The probability of the span. A conditional random field gives that of just this span: its label, its
            first and its last token, whatever the other tags are. For a softmax it is the product of the probabilities
            of the span's tags.
        first_token: Its first token, counted from 0.
        end_token: The token after its last one.
    """

    label: str
    text: str
    start: int
    end: int
    confidence: float
    first_token: int
    end_token: int


def spacy(text: str, spans: Sequence[Span], places: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return a text as JSON of spaCy. See ``TaggedSentence.to_spacy``."""
    ranges = _spacy_tokens(text, places)
    starts, ends = ([place[edge] for place in ranges] for edge in (0, 1))
    ents: list[dict[str, Any]] = []
    for span in spans:
        if span.start == span.end:  # no character is left for it
            continue
        # A span may begin or end within a character that became several tokens: spaCy has whole tokens, once each.
        first = starts[bisect_right(starts, span.start) - 1]
        # Behind the last token, a space that no token has may be before an empty one, with which the span ends.
        stop = ends[min(bisect_left(ends, span.end), len(ends) - 1)]
        if not ents or ents[-1]["end"] <= first:
            ents.append({"start": first, "end": stop, "label": span.label or UNTYPED})
    tokens = [{"id": number, "start": start, "end": end} for number, (start, end) in enumerate(ranges)]
    return {"text": text, "ents": ents, "tokens": tokens}


def _spacy_tokens(text: str, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where spaCy's tokens are.

    They cover the text but for a single space after each that is not white space. White space beside is one token.
    """
    words: list[tuple[int, int]] = []
    for start, end in places:
        if words and start < words[-1][1]:
            words[-1] = words[-1][0], max(end, words[-1][1])
        elif start < end:
            words.append((start, end))
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, end in [*words, (len(text), len(text))]:
        # Characters that the tokeniser takes for spaces, but spaCy does not, such as one without a width, are words.
        gaps = ((at + gap.start(), at + gap.end()) for gap in _GAP.finditer(text[at:start]))
        for first, stop in gaps:
            if text[first] == " " and ranges and not text[ranges[-1][0]].isspace():
                first += 1
            if first < stop:
                ranges.append((first, stop))
        if start < end:
            ranges.append((start, end))
        at = end
    return ranges


def brat(spans: Sequence[Span], number: int, offset: int) -> str:
    """Return spans as lines of brat. See ``TaggedSentence.to_brat``."""
    lines = []
    for i, span in enumerate(spans, start=number):
        label = span.label or UNTYPED
        if label.split() != [label]:
            raise ValueError(f"brat's format cannot hold the label {label!r:.80}, which has white space.")
        # A span over the end of a line is several pieces, and its text has a space between them.
        pieces, at = [], span.start
        for gap in _LINE_END.finditer(span.text):
            pieces.append((at, span.start + gap.start()))
            at = span.start + gap.end()
        pieces.append((at, span.end))
        ranges = ";".join(f"{start + offset} {end + offset}" for start, end in pieces if start < end)
        lines.append(f"T{i}\t{label} {ranges}\t{_LINE_END.sub(' ', span.text)}\n")
    return "".join(lines)
