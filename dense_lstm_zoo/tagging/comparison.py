"""Two taggers on the same sentences, for the command compare."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dense_lstm_zoo.comparing.outcomes import Outcomes, f1_of_classes
from dense_lstm_zoo.tagging.analysis import schemes_of
from dense_lstm_zoo.tagging.corpus import RARE, is_right
from dense_lstm_zoo_runtime.schemes import Scheme, SchemeError, SpanRow

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
    """Return what two taggers make of tagged sentences. A sentence is right if all of its tags are.

    Where the tags of both mark spans, there is the F1 of spans, and that of each label in place of that of each tag. A
    warning says if it cannot be told how they mark them.
    """
    if not len(data):
        raise ValueError("compare needs at least one sentence; received none.")
    answers = [bundle.tags_of(data) for bundle in (first, second)]
    schemes = [pair for bundle in (first, second) if (pair := _schemes(bundle, data))]
    has_spans = len(schemes) == 2
    items = [
        [(_items(gold, theirs), _items(own, ours)) for theirs, ours in zip(data.tags, rows, strict=True)]
        for (gold, own), rows in zip(schemes if has_spans else [(None, None)] * 2, answers, strict=True)
    ]
    labels = sorted({label for pairs in items for pair in pairs for part in pair for label, _, _ in part})
    statistics = [_statistics(data.tags, rows, pairs, labels) for rows, pairs in zip(answers, items, strict=True)]

    def scores(sums: np.ndarray) -> dict[Hashable, np.ndarray]:
        values: dict[Hashable, np.ndarray] = {"accuracy": sums[:, 1] / sums[:, 0]}
        if has_spans:
            theirs, ours, both = (part.sum(axis=1) for part in np.split(sums[:, 2:], 3, axis=1))
            spans = theirs + ours
            values["f1"] = np.divide(2 * both, spans, out=np.zeros(len(sums)), where=spans > 0)
        return values | f1_of_classes(sums[:, 2:], labels)

    return Outcomes(
        texts=[" ".join(tokens) for tokens in data.tokens],
        right=[" ".join(row) for row in data.tags],
        answers=([" ".join(row) for row in answers[0]], [" ".join(row) for row in answers[1]]),
        is_right=(statistics[0][:, 0] == statistics[0][:, 1], statistics[1][:, 0] == statistics[1][:, 1]),
        statistics=(statistics[0], statistics[1]),
        scores=scores,
        unit="sentences",
    )


def _schemes(bundle: TaggingBundle, data: TaggedSplit) -> tuple[Scheme, Scheme] | None:
    """Return the schemes of the right tags and of a bundle's, or None for tags that mark no spans."""
    try:
        return schemes_of(bundle.labels, data.tags)
    except SchemeError as error:
        if error.is_doubtful:
            warnings.warn(f"Spans are not compared. {error}", stacklevel=2)
        return None


def _items(scheme: Scheme | None, tags: Sequence[str]) -> set[SpanRow]:
    """Return the spans of a sentence. Without a scheme, each token is one, with its tag as the label."""
    return set(scheme.spans(tags)) if scheme else {(tag, i, i + 1) for i, tag in enumerate(tags)}


def _statistics(
    gold: Sequence[Sequence[str]],
    answers: Sequence[Sequence[str]],
    items: Sequence[tuple[set[SpanRow], set[SpanRow]]],
    labels: Sequence[str],
) -> np.ndarray:
    """Return per sentence its tokens, those that are right, and per label the items of it that are right and predicted.

    Behind both stands the number of those that are in both, as in ``counts_of_classes``.
    """
    rows = []
    for right, predicted, (theirs, ours) in zip(gold, answers, items, strict=True):
        row = [len(right), sum(map(is_right, right, predicted))]
        for part in (theirs, ours, theirs & ours):
            counts = Counter(label for label, _, _ in part)
            row += [counts[label] for label in labels]
        rows.append(row)
    return np.array(rows, np.float32)
