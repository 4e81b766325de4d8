"""Scores of a tagger: accuracy by token, spans as in conlleval, and an error analysis."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from dense_lstm_zoo.tagging.corpus import RARE, TaggedSplit, is_right

_EXAMPLES = 3  # of each confusion
_AROUND = 6  # words before and after it
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
    examples = _examples(split, predicted, {pair for pair, _ in confusions})
    frequent = [
        {"right": gold, "predicted": tag_predicted, "tokens": n, "examples": examples[gold, tag_predicted]}
        for (gold, tag_predicted), n in confusions
    ]
    return scores, {**scores, "tags": tags, "confusions": frequent}


def _examples(
    split: TaggedSplit, predicted: Sequence[Sequence[str]], confusions: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the first tokens of each confusion, between the words around them."""
    examples: dict[tuple[str, str], list[dict[str, Any]]] = {pair: [] for pair in confusions}
    for tokens, *tags in zip(split.tokens, split.tags, predicted, strict=True):
        for i, pair in enumerate(zip(*tags, strict=True)):
            if pair in examples and len(examples[pair]) < _EXAMPLES:
                start = max(i - _AROUND, 0)
                words = [word.encode("utf-8", "replace").decode() for word in tokens[start : i + _AROUND + 1]]
                is_cut = [start > 0, i + _AROUND + 1 < len(tokens)]
                examples[pair].append({"words": words, "position": i - start, "is_cut": is_cut})
    return examples


def errors(split: TaggedSplit, predicted: Sequence[Sequence[str]]) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns and a row for each token with a wrong tag, in the order of the tokens.

    A row begins with the line of the token in its file or, where that is not known, the number of its sentence, from 1.

    Example:
        >>> split = TaggedSplit([["He", "runs"]], [["PRON", "VERB"]], [[4, 5]])
        >>> errors(split, [["PRON", "NOUN"]])[1]
        [[5, 'He runs', 2, 'runs', 'VERB', 'NOUN']]
    """
    rows: list[list[Any]] = []
    for number, (tokens, *tags) in enumerate(zip(split.tokens, split.tags, predicted, strict=True)):
        for i, (gold, tag_predicted) in enumerate(zip(*tags, strict=True)):
            if not is_right(gold, tag_predicted):
                line = split.lines[number][i] if split.lines else number + 1
                rows.append([line, " ".join(tokens), i + 1, tokens[i], gold, tag_predicted])
    names = ["line" if split.lines else "sentence_number", "sentence", "position", "word", "tag", "predicted"]
    return names, rows


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
