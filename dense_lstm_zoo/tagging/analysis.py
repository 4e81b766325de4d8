"""Scores of a tagger: accuracy by token, spans as in conlleval, and an error analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from dense_lstm_zoo.tagging.corpus import TaggedSplit, is_right
from dense_lstm_zoo_runtime.schemes import Scheme, SchemeError, scheme_of

_EXAMPLES = 3  # of each confusion
_AROUND = 6  # words before and after it


def analyse(
    split: TaggedSplit, predicted: Sequence[Sequence[str]], labels: Sequence[str]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the scores of predicted tags, and the scores by tag with the most frequent confusions.

    Args:
        split: The tokens and the right tags.
        predicted: A tag for each token.
        labels: The tags that the model knows. Spans are scored, also by label, if these and the right tags mark some in
            a scheme. Where they look so, but the scheme cannot be told, the analysis has the reason as ``no_spans``.

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
    spans: dict[str, Any] = {}
    try:
        span_values, spans["spans"] = span_scores(split.tags, predicted, schemes_of(labels, split.tags))
        scores |= span_values
    except SchemeError as error:
        spans = {"no_spans": str(error)} if error.is_doubtful else {}
    golds, finds = Counter(gold for gold, _ in pairs), Counter(tag_predicted for _, tag_predicted in pairs)
    hits = Counter(gold for gold, tag_predicted in pairs if is_right(gold, tag_predicted))
    confusions = Counter(pair for pair in pairs if not is_right(*pair)).most_common(20)
    examples = _examples(split, predicted, {pair for pair, _ in confusions})
    frequent = [
        {"right": gold, "predicted": tag_predicted, "tokens": n, "examples": examples[gold, tag_predicted]}
        for (gold, tag_predicted), n in confusions
    ]
    return scores, {**scores, **spans, "tags": by_label(golds, finds, hits), "confusions": frequent}


def by_label(golds: Counter[str], finds: Counter[str], hits: Counter[str]) -> list[dict[str, Any]]:
    """Return precision, recall and F1 of each label from how often it is right, predicted, and both."""
    return [
        {
            "label": label,
            "precision": hits[label] / finds[label] if finds[label] else None,
            "recall": hits[label] / golds[label] if golds[label] else None,
            "f1": 2 * hits[label] / (finds[label] + golds[label]) if finds[label] + golds[label] else None,
            "texts": golds[label],
        }
        for label in sorted({*golds, *finds})
    ]


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


def schemes_of(labels: Collection[str], gold: Sequence[Sequence[str]]) -> tuple[Scheme, Scheme]:
    """Return the scheme of the right tags, which may be another one, and that of a model's tags.

    Raises:
        SchemeError: Tags that do not mark spans, or of which it cannot be told.
    """
    own = scheme_of(labels)
    names = {tag for tags in gold for tag in tags}
    try:
        both = scheme_of({*labels, *names})
    except SchemeError:
        try:
            return scheme_of(names), own
        except SchemeError as error:
            raise SchemeError(f"The right tags cannot be read as spans. {error}", is_doubtful=True) from None
    return both, both


def span_scores(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], schemes: tuple[Scheme, Scheme]
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return precision, recall and F1 of spans, as conlleval counts them (Tjong Kim Sang & Buchholz 2000).

    A span is right if its label, start and end are right. I- after another label or O starts a span, like B-.

    Args:
        gold: The right tags.
        predicted: A tag for each token.
        schemes: The schemes of both, as ``schemes_of`` returns them.

    Returns:
        The scores of all spans, and a row for each label.

    Example:
        >>> bio = scheme_of(["B-NP", "I-NP", "B-VP", "O"])
        >>> span_scores([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "O", "O"]], (bio, bio))[0]
        {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666}
    """
    rights, predictions, hits = Counter[str](), Counter[str](), Counter[str]()
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        theirs, ours = (
            set(scheme.spans(tags)) for scheme, tags in zip(schemes, (gold_tags, predicted_tags), strict=True)
        )
        for counter, spans in ((rights, theirs), (predictions, ours), (hits, ours & theirs)):
            counter.update(label for label, _, _ in spans)
    rows = by_label(rights, predictions, hits)
    right = hits.total()
    precision, recall = right / max(predictions.total(), 1), right / max(rights.total(), 1)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}, rows
