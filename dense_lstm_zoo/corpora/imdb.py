"""The IMDB reviews of Maas et al. 2011 as files: read line by line, and checked against the published counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dense_lstm_zoo.data.text_file import TextFile

FOLDER = "imdb"
LABELS = ("neg", "pos")
PER_LABEL = 12_500  # reviews, in train and in test
UNLABELLED = range(49_000, 50_001)  # 50,000 are published. A prepared file leaves out repeats and test reviews
_HEADER = "label\trating\ttext"
_ROW = re.compile(r"(neg|pos)\t(?:[1-9]|10)\t([^\t]*\S)")


def labelled_reviews(path: Path) -> Iterator[tuple[str, str]]:
    """Yield label and text of each review in ``train.tsv.gz`` or ``test.tsv.gz``.

    Raises:
        ValueError: A line that is not a review, or other numbers of reviews than the published ones. The latter after
            the last review. Damaged gzip, or bytes that are not UTF-8.
    """
    label_counts: Counter[str] = Counter()
    for number, line in enumerate(TextFile(path), start=1):
        match = _ROW.fullmatch(line)
        if match:
            label_counts[match[1]] += 1
            yield match[1], match[2]
        elif number > 1 or line != _HEADER:
            raise ValueError(
                f"{path}, line {number}: expected neg or pos, a rating from 1 to 10 and a review, with tabs between "
                f"them; found {line[:80]!r}."
            )
    if any(label_counts[label] != PER_LABEL for label in LABELS):
        counts = " and ".join(f"{label_counts[label]:,} {label}" for label in LABELS)
        raise ValueError(
            f"{path}: found {counts} reviews, expected {PER_LABEL:,} of each; it is not the published file."
        )


def unlabelled_reviews(path: Path) -> Iterator[str]:
    """Yield each review in ``unsup.txt.gz``, one per line.

    Raises:
        ValueError: Another number of reviews than published, after the last one. Damaged gzip, or bytes that are not
            UTF-8.
    """
    number = 0
    for number, line in enumerate(TextFile(path), start=1):  # noqa: B007
        yield line
    if number not in UNLABELLED:
        raise ValueError(
            f"{path}: found {number:,} reviews, expected {UNLABELLED[0]:,} to {UNLABELLED[-1]:,}; it is not the "
            "published file."
        )
