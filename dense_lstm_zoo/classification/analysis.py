"""Error analysis of a classifier: confusion matrix, scores by class, calibration, the most confidently wrong texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo.classification.calibration import (
    calibration_error,
    log_likelihoods,
    log_softmax,
    softmax,
    tenths,
)

if TYPE_CHECKING:
    from dense_lstm_zoo.classification.split import Split
    from dense_lstm_zoo_runtime.decisions import Decisions

WRONG = 20  # this many of the most confident wrong decisions are shown
_WHOLE_MATRIX = 100  # up to this many classes, every cell is kept, zeros included


def assess(
    split: Split,
    labels: np.ndarray,
    logits: np.ndarray,
    decisions: Decisions,
    temperature: float | None,
    *,
    with_errors: bool = False,
) -> tuple[dict[str, float], dict[str, Any], np.ndarray]:
    """Return scores, analysis and the label given to texts with these logits. See ``ClassificationBundle.assess``."""
    predicted = decisions.best(logits, softmax(logits, temperature))  # in float32, as predict does
    shares, names = np.exp(log_softmax(logits, temperature)), decisions.labels
    analysis = analyse(split.texts, labels, shares, names, predicted)
    scores: dict[str, float] = {
        "accuracy": float((predicted == labels).mean()),
        "macro_f1": float(np.mean([row["f1"] for row in analysis["classes"] if row["f1"] is not None])),
        "loss": -float(log_likelihoods(logits, labels, temperature).mean()),
        "texts": len(labels),
    }
    if temperature is not None:
        plain = np.exp(log_softmax(logits))
        before = calibration_error(tenths(plain[np.arange(len(labels)), predicted], predicted == labels))
        scores["calibration_error"] = analysis["calibration_error"]
        scores["loss_uncalibrated"] = -float(log_likelihoods(logits, labels).mean())
        scores["calibration_error_uncalibrated"] = before
    if with_errors:
        analysis["errors"] = errors(split, labels, shares, names, predicted)
    return scores, analysis, predicted


def analyse(
    texts: Sequence[str],
    labels: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    predicted: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return an error analysis, as plain values that JSON can hold.

    Args:
        texts: The scored texts.
        labels: The right label of each text, an index into ``label_names``: (texts,).
        probabilities: (texts, classes).
        label_names: Names of the classes.
        predicted: The index of each text's predicted label, where that is not the likeliest.

    Returns:
        ``labels``. ``confusion``, counts with one row per right label and one column per predicted label, or, for more
        than 100 labels, ``confusion_cells``, the nonzero cells (index of the right label, index of the predicted label,
        texts). ``classes``, one row per label with precision, recall, F1 (None where undefined) and its number of
        texts. ``calibration``, one row per tenth of the predicted label's probability with its mean, the accuracy and
        the number of texts. ``calibration_error``, the expected calibration error of Guo et al. 2017: the mean distance
        between the two, weighted by texts. ``wrong``, the wrong predictions with the highest probability.

    Example:
        >>> analysis = analyse(["a", "b"], np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]), ["down", "up"])
        >>> analysis["confusion"], analysis["wrong"][0]["text"], round(analysis["calibration_error"], 2)
        ([[1, 0], [1, 0]], 'b', 0.45)
    """
    predicted = probabilities.argmax(axis=1) if predicted is None else predicted
    confidence = probabilities[np.arange(len(predicted)), predicted]
    labels = np.asarray(labels, np.int64)
    right = predicted == labels
    size = len(label_names)
    pairs, counts = np.unique(labels * size + predicted, return_counts=True)
    cells = [[int(pair // size), int(pair % size), int(count)] for pair, count in zip(pairs, counts, strict=True)]
    wrong = sorted(np.flatnonzero(~right).tolist(), key=lambda i: -confidence[i])[:WRONG]
    calibration = tenths(confidence, right)
    return {
        "labels": list(label_names),
        **({"confusion": _matrix(cells, size)} if size <= _WHOLE_MATRIX else {"confusion_cells": cells}),
        "classes": by_class(
            label_names,
            np.bincount(labels[right], minlength=size),
            np.bincount(predicted, minlength=size),
            np.bincount(labels, minlength=size),
        ),
        "calibration": calibration,
        "calibration_error": calibration_error(calibration),
        "wrong": [
            {
                "text": texts[i].encode("utf-8", "replace").decode(),  # a lone surrogate cannot be written
                "label": label_names[int(labels[i])],
                "predicted": label_names[int(predicted[i])],
                "probability": float(confidence[i]),
            }
            for i in wrong
        ],
    }


def errors(
    split: Split,
    labels: np.ndarray,
    probabilities: np.ndarray,
    label_names: Sequence[str],
    predicted: np.ndarray,
) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns and a row for each wrong prediction, in the order of the texts.

    A row begins with the line of the text in its file or, where that is not known, the number of the text, from 1.

    Args:
        split: The scored texts.
        labels: As for ``analyse``.
        probabilities: As for ``analyse``.
        label_names: As for ``analyse``.
        predicted: The index of each text's predicted label.

    Example:
        >>> from dense_lstm_zoo.classification.split import Split
        >>> split = Split(["fine", "dull"], [1, 0], lines=[2, 3])
        >>> errors(split, np.array([1, 0]), np.array([[0.3, 0.7], [0.4, 0.6]]), ["down", "up"], np.array([1, 1]))
        (['line', 'text', 'label', 'predicted', 'probability'], [[3, 'dull', 'down', 'up', 0.6]])
    """
    rows = [
        [
            split.lines[i] if split.lines else i + 1,
            split.texts[i],
            label_names[int(labels[i])],
            label_names[int(predicted[i])],
            round(float(probabilities[i, predicted[i]]), 6),
        ]
        for i in np.flatnonzero(predicted != labels).tolist()
    ]
    return [split.unit if split.lines else "number", "text", "label", "predicted", "probability"], rows


def macro_f1(labels: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean F1 over the classes that occur or are predicted.

    Example:
        >>> round(macro_f1(np.array([0, 0, 1]), np.array([0, 1, 1])), 4)
        0.6667
    """
    size = 1 + int(max(labels.max(), predicted.max()))
    hits = np.bincount(labels[labels == predicted], minlength=size)
    both = np.bincount(labels, minlength=size) + np.bincount(predicted, minlength=size)
    return float((2 * hits[both > 0] / both[both > 0]).mean())


def confusion_cells(evaluation: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """Return the nonzero cells of an evaluation's confusion matrix: right label, predicted label, texts.

    Example:
        >>> confusion_cells({"confusion": [[3, 0], [1, 2]]})
        [(0, 0, 3), (1, 0, 1), (1, 1, 2)]
    """
    if "confusion_cells" in evaluation:
        return [(i, j, count) for i, j, count in evaluation["confusion_cells"]]
    rows = enumerate(evaluation["confusion"])
    return [(i, j, count) for i, row in rows for j, count in enumerate(row) if count]


def _matrix(cells: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    counts = [[0] * size for _ in range(size)]
    for i, j, count in cells:
        counts[i][j] = count
    return counts


def by_class(names: Sequence[str], hits: np.ndarray, predicted: np.ndarray, actual: np.ndarray) -> list[dict[str, Any]]:
    """Return a row for each label: precision, recall and F1, None where undefined, and its number of texts.

    Args:
        names: The labels.
        hits: How many texts are given the label rightly: (labels,).
        predicted: How many are given it.
        actual: How many have it.
    """
    return [
        {
            "label": name,
            "precision": hit / of_predicted if of_predicted else None,
            "recall": hit / of_actual if of_actual else None,
            "f1": 2 * hit / (of_actual + of_predicted) if of_actual + of_predicted else None,
            "texts": of_actual,
        }
        for name, hit, of_predicted, of_actual in zip(
            names, hits.tolist(), predicted.tolist(), actual.tolist(), strict=True
        )
    ]
