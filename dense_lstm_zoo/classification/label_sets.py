"""Scores, errors and thresholds of a classifier whose texts may have several labels, or none.

Targets and choices are matrices (texts, labels): 1 or True where a text has a label, or where it is given.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo.classification.analysis import WRONG, by_class
from dense_lstm_zoo.classification.calibration import calibration_error, log_likelihoods, probabilities, tenths
from dense_lstm_zoo_runtime import answers
from dense_lstm_zoo_runtime.decisions import Decisions

if TYPE_CHECKING:
    from dense_lstm_zoo.classification.split import Split

_LOWEST, _HIGHEST = 1e-12, 1 - 2.0**-24  # of a threshold; float32 has no number between the latter and 1
_FEW = 5  # texts with a label on dev: below, its own threshold would follow chance


def joined(label_names: Sequence[str], row: np.ndarray) -> str:
    """Return the labels of a row of targets as one string, for people."""
    return answers.joined([label_names[place] for place in np.flatnonzero(row).tolist()])


def exact_matches(targets: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return for each text whether its labels are exactly the right ones: bool (texts,)."""
    matches: np.ndarray = ((targets > 0) == predictions).all(axis=1)
    return matches


def f1_of_labels(targets: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the F1 of each label, NaN where it neither occurs nor is given: (labels,)."""
    hits, both = ((targets > 0) & predictions).sum(axis=0), (targets > 0).sum(axis=0) + predictions.sum(axis=0)
    return np.divide(2 * hits, both, out=np.full(len(both), np.nan), where=both > 0)


def micro_f1(targets: np.ndarray, predictions: np.ndarray) -> float:
    """Return the F1 of all decisions together, 1 where no text has a label and none is given.

    Example:
        >>> micro_f1(np.array([[1, 1], [0, 1]]), np.array([[True, False], [False, True]]))
        0.8
    """
    both = int((targets > 0).sum() + predictions.sum())
    return 2 * int(((targets > 0) & predictions).sum()) / both if both else 1.0


def macro_f1(targets: np.ndarray, predictions: np.ndarray) -> float:
    """Return the mean F1 of the labels that occur or are given, 1 where there are none."""
    f1 = f1_of_labels(targets, predictions)
    return 1.0 if np.isnan(f1).all() else float(np.nanmean(f1))


def scores(
    targets: np.ndarray, predictions: np.ndarray, logits: np.ndarray, temperature: float | None
) -> dict[str, float]:
    """Return the scores of labelled texts.

    Returns:
        ``accuracy``, the share of texts with exactly the right labels. ``micro_f1``, of all decisions together, and
        ``macro_f1``, the mean over labels that occur or are given. ``hamming_loss``, the share of wrong decisions.
        ``ranking_average_precision`` (1 is best), ``coverage_error`` (how far down the ranked labels one must go for
        all right ones) and ``ranking_loss`` (the share of pairs of a right and a wrong label in the wrong order), as
        scikit-learn defines them, which no threshold changes. ``loss``, the mean over texts of the negative
        log-likelihood of all of a text's labels, and ``texts``.
    """
    from sklearn.metrics import coverage_error, label_ranking_average_precision_score, label_ranking_loss

    return {
        "accuracy": float(exact_matches(targets, predictions).mean()),
        "micro_f1": micro_f1(targets, predictions),
        "macro_f1": macro_f1(targets, predictions),
        "hamming_loss": float(((targets > 0) != predictions).mean()),
        "ranking_average_precision": float(label_ranking_average_precision_score(targets, logits)),
        "coverage_error": float(coverage_error(targets, logits)),
        "ranking_loss": float(label_ranking_loss(targets, logits)),
        "loss": float(-log_likelihoods(logits, targets, temperature).mean()),
        "texts": len(targets),
    }


def analyse(
    texts: Sequence[str], targets: np.ndarray, predictions: np.ndarray, shares: np.ndarray, label_names: Sequence[str]
) -> dict[str, Any]:
    """Return an error analysis as plain values, in the form of ``analysis.analyse``, without a confusion matrix.

    Args:
        texts: The scored texts.
        targets: The right labels: (texts, labels).
        predictions: The labels given: (texts, labels).
        shares: The probabilities: (texts, labels).
        label_names: The names of the labels.

    Returns:
        ``labels``, ``several`` (True), ``classes`` (precision, recall, F1 and number of texts by label), the scores of
        the texts, ``calibration`` and ``calibration_error`` of all decisions (how often a label is right where its
        probability is in a tenth), and ``wrong``, the texts with the most confident wrong decisions.
    """
    is_right = targets > 0
    hits, predicted, actual = (is_right & predictions).sum(axis=0), predictions.sum(axis=0), is_right.sum(axis=0)
    calibration = tenths(shares.ravel(), is_right.ravel())
    # How sure the model was of the decision that was most wrong.
    certainty = np.where(is_right != predictions, np.where(predictions, shares, 1 - shares), -1.0).max(axis=1)
    wrong = [int(i) for i in np.argsort(-certainty, kind="stable")[:WRONG] if certainty[i] >= 0]
    return {
        "labels": list(label_names),
        "several": True,
        "accuracy": float(exact_matches(targets, predictions).mean()),
        "micro_f1": micro_f1(targets, predictions),
        "macro_f1": macro_f1(targets, predictions),
        "texts": len(texts),
        "classes": by_class(label_names, hits, predicted, actual),
        "calibration": calibration,
        "calibration_error": calibration_error(calibration),
        "wrong": [
            {
                "text": texts[i].encode("utf-8", "replace").decode(),  # a lone surrogate cannot be written
                "label": joined(label_names, is_right[i]) or "(none)",
                "predicted": joined(label_names, predictions[i]) or "(none)",
                "probability": float(certainty[i]),
            }
            for i in wrong
        ],
    }


def errors(
    split: Split, targets: np.ndarray, predictions: np.ndarray, label_names: Sequence[str]
) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns and a row for each text with other labels than its own, in order.

    ``missing`` are labels that are not given, ``wrong`` those that are not right. See ``analysis.errors``.
    """
    is_right = targets > 0
    rows = [
        [
            split.lines[i] if split.lines else i + 1,
            split.texts[i],
            joined(label_names, is_right[i]),
            joined(label_names, predictions[i]),
            joined(label_names, is_right[i] & ~predictions[i]),
            joined(label_names, predictions[i] & ~is_right[i]),
        ]
        for i in np.flatnonzero(~exact_matches(targets, predictions)).tolist()
    ]
    return [split.unit if split.lines else "number", "text", "label", "predicted", "missing", "wrong"], rows


def best_thresholds(shares: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the threshold of each label with the highest F1 on labelled texts: (labels,).

    A label that fewer than five of the texts have takes the threshold that is best for all labels together, since its
    own would follow chance. Where texts say nothing, it is 0.5.

    Args:
        shares: The probabilities of the labels: (texts, labels).
        targets: The right ones: (texts, labels).

    Reference: Yang 2001, "A study on thresholding strategies for text categorization", section 2 (SCut).

    Example:
        >>> shares = np.array([[0.4], [0.3], [0.35], [0.5], [0.45], [0.1], [0.2]])
        >>> best_thresholds(shares, np.array([[1], [1], [1], [1], [1], [0], [0]]))
        array([0.25])
    """
    shares, is_right = shares.astype(np.float64), targets > 0
    common = functools.cache(lambda: _best_threshold(shares.ravel(), is_right.ravel()))
    return np.array(
        [
            _best_threshold(shares[:, i], is_right[:, i]) if is_right[:, i].sum() >= _FEW else common()
            for i in range(shares.shape[1])
        ]
    )


def _best_threshold(shares: np.ndarray, is_right: np.ndarray) -> float:
    """Return the threshold with the highest F1, in the middle between two probabilities."""
    if not is_right.any():
        return 0.5
    order = np.argsort(-shares, kind="stable")
    falling, hits = shares[order], np.cumsum(is_right[order])
    f1 = 2 * hits / (np.arange(1, len(hits) + 1) + is_right.sum())
    is_last = np.append(falling[1:] != falling[:-1], True)  # equal probabilities are given together
    best = int(np.where(is_last, f1, -1).argmax())
    lower = falling[best + 1] if best + 1 < len(falling) else 0.0
    return float(np.clip((falling[best] + lower) / 2, _LOWEST, _HIGHEST))


def best_of_two(shares: np.ndarray, labels: np.ndarray) -> float:
    """Return the threshold of the second of two labels with its highest F1, from probabilities (texts, 2)."""
    return _best_threshold(shares[:, 1].astype(np.float64), labels == 1)


def chosen_at(logits: np.ndarray) -> np.ndarray:
    """Return the labels given where each threshold is 0.5, from logits."""
    predictions: np.ndarray = logits >= 0
    return predictions


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of texts with the right label, or with exactly the right labels where they may have several."""
    if labels.ndim == 2:
        return float(exact_matches(labels, chosen_at(logits)).mean())
    return float((logits.argmax(axis=1) == labels).mean())


def weights_of_decisions(weights: Mapping[int, float] | None, targets: np.ndarray) -> np.ndarray | None:
    """Return how much each decision counts in the loss, float32 (texts, labels), where texts may have several labels.

    Args:
        weights: What ``class_weights`` returned: how much a text with the label counts.
        targets: 0 and 1: (texts, labels).
    """
    return None if weights is None else weights_of_shares(weights, (targets > 0).astype(np.float32))


def weights_of_shares(weights: Mapping[int, float], shares: np.ndarray) -> np.ndarray:
    """Return the mean weight of each decision, float32 (texts, labels), from probabilities of the labels.

    Example:
        >>> weights_of_shares({0: 3.0, 1: 1.0}, np.array([[0.5, 0.5]])).tolist()
        [[2.0, 1.0]]
    """
    of_label = np.array([weights[i] for i in range(shares.shape[1])], np.float32)
    return (shares * of_label + (1 - shares)).astype(np.float32)


def assess(
    split: Split,
    targets: np.ndarray,
    logits: np.ndarray,
    decisions: Decisions,
    temperature: float | None,
    *,
    with_errors: bool = False,
) -> tuple[dict[str, float], dict[str, Any], np.ndarray]:
    """Return scores, analysis and the labels given to texts with these logits. See ``ClassificationBundle.assess``."""
    shares = probabilities(logits, temperature, is_several=True)
    predictions = decisions.decide(shares)
    own = scores(targets, predictions, logits, temperature)
    analysis = analyse(split.texts, targets, predictions, shares, decisions.labels)
    if temperature is not None:
        plain = probabilities(logits, None, is_several=True)
        before = calibration_error(tenths(plain.ravel(), targets.ravel() > 0))
        own["calibration_error"] = analysis["calibration_error"]
        own["loss_uncalibrated"] = float(-log_likelihoods(logits, targets).mean())
        own["calibration_error_uncalibrated"] = before
    if with_errors:
        analysis["errors"] = errors(split, targets, predictions, decisions.labels)
    return own, analysis, predictions


def moved(thresholds: Mapping[str, float], before: float | None, after: float | None) -> dict[str, float]:
    """Return thresholds that mean the same decisions at another temperature."""
    ratio = (1.0 if before is None else before) / (1.0 if after is None else after)
    logits = {name: ratio * float(np.log(value / (1 - value))) for name, value in thresholds.items()}
    with np.errstate(over="ignore"):
        return {name: float(np.clip(1 / (1 + np.exp(-logit)), _LOWEST, _HIGHEST)) for name, logit in logits.items()}
