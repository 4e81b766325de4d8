"""Scores of a tagger: accuracy by token, spans as in conlleval, and an error analysis."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from dense_lstm_zoo.tagging.corpus import RARE, TaggedSplit, is_right

_PREFIX = re.compile("[BIESLU](?:-|$)")  # S and U are spans of one token, E and L ends of longer ones


def analyse(
    split: TaggedSplit, predicted: Sequence[Sequence[str]], labels: Sequence[str]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the scores of predicted tags, and the scores by tag with the most frequent confusions.

    Args:
        split: The tokens and the right tags.
        predicted: A tag for each token.
        labels: The tags that the model knows. Spans are scored if all of them, but for ``RARE``, are BIO, IOBES or
            BILOU tags, with types or without.

    Example:
        >>> split = TaggedSplit([["He", "runs"]], [["PRON", "VERB"]])
        >>> analyse(split, [["PRON", "NOUN"]], ["NOUN", "PRON", "VERB"])[0]
        {'accuracy': 0.5, 'texts': 1, 'tokens': 2}
    """
    pairs = [
        pair
        for gold, tag_predicted in zip(split.tags, predicted, strict=True)
        for pair in zip(gold, tag_predicted, strict=True)
    ]
    right = sum(is_right(*pair) for pair in pairs)
    scores: dict[str, float] = {"accuracy": right / len(pairs), "texts": len(split), "tokens": len(pairs)}
    if marks_spans(labels):
        scores |= span_scores(split.tags, predicted)
    golds, finds = Counter(gold for gold, _ in pairs), Counter(tag_predicted for _, tag_predicted in pairs)
    hits = Counter(gold for gold, tag_predicted in pairs if is_right(gold, tag_predicted))
    tags = [
        {
            "label": tag,
            "precision": hits[tag] / finds[tag] if finds[tag] else None,
            "recall": hits[tag] / golds[tag] if golds[tag] else None,
            "f1": 2 * hits[tag] / (finds[tag] + golds[tag]) if finds[tag] + golds[tag] else None,
            "texts": golds[tag],
        }
        for tag in sorted({*golds, *finds})
    ]
    confusions = Counter(pair for pair in pairs if not is_right(*pair)).most_common(20)
    frequent = [{"right": gold, "predicted": tag_predicted, "tokens": n} for (gold, tag_predicted), n in confusions]
    return scores, {**scores, "tags": tags, "confusions": frequent}


def marks_spans(labels: Sequence[str]) -> bool:
    """Return whether all tags, but for ``RARE``, are BIO, IOBES or BILOU tags, with types or without."""
    return all(label in ("O", RARE) or _PREFIX.match(label) for label in labels)


def span_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return precision, recall and F1 of spans, as conlleval counts them (Tjong Kim Sang & Buchholz 2000).

    A span is right if its type, start and end are right. I- after another type or O starts a span, like B-.

    Example:
        >>> span_scores([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "O", "O"]])
        {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666}
    """
    right = num_predicted = num_gold = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        ours, theirs = set(spans(predicted_tags)), set(spans(gold_tags))
        right, num_predicted, num_gold = right + len(ours & theirs), num_predicted + len(ours), num_gold + len(theirs)
    precision, recall = right / max(num_predicted, 1), right / max(num_gold, 1)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def spans(tags: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the type, the start and the end (exclusive) of each span of BIO, IOBES or BILOU tags.

    Example:
        >>> list(spans(["B-NP", "I-NP", "B-NP", "O", "I-VP"]))
        [('NP', 0, 2), ('NP', 2, 3), ('VP', 4, 5)]
        >>> list(spans(["B-NP", "E-NP", "S-NP", "O", "B", "L"]))
        [('NP', 0, 2), ('NP', 2, 3), ('', 4, 6)]
    """
    start, kind, ended = 0, None, False  # the type of the span that is open, and whether its last token has come
    for i, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-") if _PREFIX.match(tag) else ("O", "", "")
        if kind is not None and (ended or prefix in "BSUO" or name != kind):
            yield kind, start, i
            kind = None
        if kind is None and prefix != "O":
            start, kind = i, name
        ended = prefix in "ELSU"
