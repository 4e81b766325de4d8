"""Two taggers on the same sentences, for the command compare."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dense_lstm_zoo.comparing.outcomes import Outcomes, counts_of_classes, f1_of_classes
from dense_lstm_zoo.tagging.analysis import marks_spans, spans
from dense_lstm_zoo.tagging.corpus import RARE, is_right

if TYPE_CHECKING:
    from dense_lstm_zoo.comparing.sides import Side
    from dense_lstm_zoo.tagging.bundle import TaggingBundle
    from dense_lstm_zoo.tagging.corpus import TaggedSplit

SCORES = ("accuracy", "f1")


def check(first: Side, second: Side) -> None:
    """Raise ``ValueError`` for taggers without a tag in common but ``O``."""
    if not set(first.labels) & set(second.labels) - {"O", RARE}:
        own = [", ".join(side.labels[:5]) for side in (first, second)]
        raise ValueError(
            f"The taggers have no tag in common: {first.name} has {own[0]:.100}, {second.name} has {own[1]:.100}."
        )


def outcomes(
    first: TaggingBundle, second: TaggingBundle, data: TaggedSplit, label_names: Sequence[str] | None = None
) -> Outcomes:
    """Return what two taggers make of tagged sentences. A sentence is right if all of its tags are."""
    if not len(data):
        raise ValueError("compare needs at least one sentence; received none.")
    answers = [bundle.tags_of(data) for bundle in (first, second)]
    tags = sorted({tag for rows in (data.tags, *answers) for row in rows for tag in row})
    has_spans = all(marks_spans(bundle.labels) for bundle in (first, second))
    statistics = [_statistics(data.tags, rows, tags, has_spans) for rows in answers]

    def scores(sums: np.ndarray) -> dict[Hashable, np.ndarray]:
        tokens, right, spans_right, spans_both = sums[:, :4].T
        values: dict[Hashable, np.ndarray] = {"accuracy": right / tokens}
        if has_spans:
            values["f1"] = np.divide(2 * spans_right, spans_both, out=np.zeros(len(sums)), where=spans_both > 0)
        return values | f1_of_classes(sums[:, 4:], tags)

    return Outcomes(
        texts=[" ".join(tokens) for tokens in data.tokens],
        right=[" ".join(row) for row in data.tags],
        answers=([" ".join(row) for row in answers[0]], [" ".join(row) for row in answers[1]]),
        is_right=(statistics[0][:, 0] == statistics[0][:, 1], statistics[1][:, 0] == statistics[1][:, 1]),
        statistics=(statistics[0], statistics[1]),
        scores=scores,
        unit="sentences",
    )


def _statistics(
    gold: Sequence[Sequence[str]], answers: Sequence[Sequence[str]], tags: Sequence[str], has_spans: bool
) -> np.ndarray:
    """Return per sentence its tokens, those that are right, spans that are right, spans in all, and counts by tag."""
    place = {tag: i for i, tag in enumerate(tags)}
    rows = []
    for right, predicted in zip(gold, answers, strict=True):
        hits = sum(map(is_right, right, predicted))
        ours, theirs = (set(spans(predicted)), set(spans(right))) if has_spans else (set(), set())
        by_tag = counts_of_classes(
            np.array([place[tag] for tag in right]), np.array([place[tag] for tag in predicted]), len(tags)
        ).sum(axis=0)
        rows.append([len(right), hits, len(ours & theirs), len(ours) + len(theirs), *by_tag])
    return np.array(rows, np.float32)
