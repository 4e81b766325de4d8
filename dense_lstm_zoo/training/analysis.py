"""Where a classifier errs: confusion matrix, scores by class, calibration, the most confidently wrong texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_BINS = 10
_WRONG = 20


def analyse(
    texts: Sequence[str], labels: np.ndarray, probabilities: np.ndarray, label_names: Sequence[str]
) -> dict[str, Any]:
    """Return what a person looks at first, as plain numbers that go into JSON.

    Args:
        texts: The scored texts.
        labels: The right label of each, an index of ``label_names``: (texts,).
        probabilities: (texts, classes).
        label_names: Names of the classes.

    Returns:
        ``labels``; ``confusion``, counts with a row a right label and a column a predicted one; ``classes``, a row a
        label with precision, recall, F1 (None where undefined) and its number of texts; ``calibration``, a row a tenth
        of the predicted label's probability with its mean, the accuracy and the number of texts;
        ``calibration_error``, the mean distance of the two weighted by texts (expected calibration error, Guo et al.
        2017); ``wrong``, the wrong predictions with the highest probability.

    Example:
        >>> found = analyse(["a", "b"], np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]), ["down", "up"])
        >>> found["confusion"], found["wrong"][0]["text"], round(found["calibration_error"], 2)
        ([[1, 0], [1, 0]], 'b', 0.45)
    """
    predicted, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    right = predicted == labels
    confusion = np.zeros((len(label_names), len(label_names)), int)
    np.add.at(confusion, (labels, predicted), 1)
    wrong = sorted(np.flatnonzero(~right).tolist(), key=lambda i: -confidence[i])[:_WRONG]
    calibration = []
    # A probability of exactly 1 belongs to the last tenth.
    tenth = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    for i in np.unique(tenth):
        inside = tenth == i
        row = {"from": i / _BINS, "mean": confidence[inside].mean(), "accuracy": right[inside].mean()}
        calibration.append({name: float(value) for name, value in row.items()} | {"texts": int(inside.sum())})
    return {
        "labels": list(label_names),
        "confusion": confusion.tolist(),
        "classes": [_scores(name, confusion, i) for i, name in enumerate(label_names)],
        "calibration": calibration,
        "calibration_error": sum(abs(r["mean"] - r["accuracy"]) * r["texts"] for r in calibration) / len(labels),
        "wrong": [
            {
                "text": texts[i].encode("utf-8", "replace").decode(),  # half a surrogate pair cannot be written
                "label": label_names[int(labels[i])],
                "predicted": label_names[int(predicted[i])],
                "probability": float(confidence[i]),
            }
            for i in wrong
        ],
    }


def _scores(name: str, confusion: np.ndarray, i: int) -> dict[str, Any]:
    hits, actual, predicted = int(confusion[i, i]), int(confusion[i].sum()), int(confusion[:, i].sum())
    return {
        "label": name,
        "precision": hits / predicted if predicted else None,
        "recall": hits / actual if actual else None,
        "f1": 2 * hits / (actual + predicted) if actual + predicted else None,
        "texts": actual,
    }
