"""Tagged sentences in the forms of other programs: JSON of spaCy, standoff of brat."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dense_lstm_zoo_runtime.answers import TaggedSentence

UNTYPED = "SPAN"  # the label of spans whose tags have none: both forms need one
_LINE_END = re.compile(r"[\r\n]+")


def spacy(sentence: TaggedSentence) -> dict[str, Any]:
    """Return a sentence as JSON of spaCy. See ``TaggedSentence.to_spacy``."""
    ents = [{"start": span.start, "end": span.end, "label": span.label or UNTYPED} for span in sentence.spans]
    text = sentence.text
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, end in [*sentence.places, (len(text), len(text))]:
        if start < at:  # a character that became several tokens
            if ranges and end > at:
                ranges[-1], at = (ranges[-1][0], end), end
            continue
        first = at + 1 if ranges and text[at : at + 1] == " " else at  # the space that follows a token belongs to it
        if first < start:
            # The last of several spaces follows the white space as it follows any token.
            ranges.append((first, start - 1 if start - first > 1 and text[start - 1] == " " else start))
        if start < end:
            ranges.append((start, end))
        at = end
    return {
        "text": text,
        "ents": ents,
        "tokens": [{"id": number, "start": start, "end": end} for number, (start, end) in enumerate(ranges)],
    }


def brat(sentence: TaggedSentence, number: int, offset: int) -> str:
    """Return a sentence's spans as lines of brat. See ``TaggedSentence.to_brat``."""
    lines = []
    for i, span in enumerate(sentence.spans, start=number):
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
