"""Temperature scaling: probabilities that mean what they say, with the same labels (Guo et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_BINS = 10
_HIGHEST = 20.0  # a temperature beyond this, or below its inverse, comes from a dev set that says too little


def softmax(logits: np.ndarray, temperature: float | None = None) -> np.ndarray:
    """Return the probabilities (texts, classes) of logits, divided by the temperature if there is one."""
    if temperature is not None:
        logits = logits / logits.dtype.type(temperature)
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: np.ndarray = exp / exp.sum(axis=1, keepdims=True)
    return shares


def sigmoid(logits: np.ndarray, temperature: float | None = None) -> np.ndarray:
    """Return the probability of each label by itself (texts, labels), of logits divided by the temperature."""
    if temperature is not None:
        logits = logits / logits.dtype.type(temperature)
    exp = np.exp(-np.abs(logits))  # at most 1
    shares: np.ndarray = np.where(logits >= 0, 1, exp) / (1 + exp)
    return shares


def probabilities(logits: np.ndarray, temperature: float | None, *, is_several: bool) -> np.ndarray:
    """Return the probabilities (texts, labels) of logits: of one label per text, or of each label by itself."""
    return (sigmoid if is_several else softmax)(logits, temperature)


def log_softmax(logits: np.ndarray, temperature: float | None = None) -> np.ndarray:
    """Return the logarithms of these probabilities, in float64."""
    logits = logits.astype(np.float64) / (1.0 if temperature is None else temperature)
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities: np.ndarray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return log_probabilities


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """Return the temperature with the smallest mean negative log likelihood, between 1/20 and 20.

    The likelihood is convex in b = 1/T, and its slope is the mean of sum_j p_j z_j - z_label, so bisection finds it.
    If every text is right, smaller is always better and says nothing: the temperature is then 1. Where texts may have
    several labels, each label is a decision, and the slope is the mean over texts of sum_c (p_c - y_c) z_c.

    Args:
        logits: (texts, classes).
        labels: The index of the right class of each text, or 0 and 1 (texts, classes).
    Reference: Guo et al. 2017, section 4.2.

    Example:
        >>> logits = np.array([[2.0, 0.0]] * 4)  # three of four are right: a share that logits of log 3 and 0 give
        >>> round(2 / fit_temperature(logits, np.array([0, 0, 0, 1])), 4)
        1.0986
    """
    logits = logits.astype(np.float64)
    is_several = labels.ndim == 2
    of_labels = (logits * labels).sum(axis=1) if is_several else logits[np.arange(len(labels)), labels]
    is_right = (logits > 0) == (labels > 0) if is_several else of_labels == logits.max(axis=1)
    if is_right.all():
        return 1.0

    def slope(temperature: float) -> float:
        shares = sigmoid(logits, temperature) if is_several else np.exp(log_softmax(logits, temperature))
        return float(((shares * logits).sum(axis=1) - of_labels).mean())

    low, high = -math.log(_HIGHEST), math.log(_HIGHEST)  # of log T. The slope falls as T rises
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) > 0 else (low, middle)
    return math.exp((low + high) / 2)


def log_likelihoods(logits: np.ndarray, labels: np.ndarray, temperature: float | None = None) -> np.ndarray:
    """Return the logarithm of the right label's probability, for each text, or of all of its labels together.

    Args:
        logits: (texts, classes).
        labels: The index of each text's label, or where texts may have several 0 and 1 (texts, classes).
        temperature: Divides the logits.

    Example:
        >>> np.exp(log_likelihoods(np.zeros((1, 2)), np.array([[1, 0]])))
        array([0.25])
    """
    if labels.ndim == 2:
        logits = logits.astype(np.float64) / (1.0 if temperature is None else temperature)
        sums: np.ndarray = (labels * logits - np.logaddexp(0, logits)).sum(axis=1)
        return sums
    likelihoods: np.ndarray = log_softmax(logits, temperature)[np.arange(len(labels)), labels]
    return likelihoods


def calibrated_loss(logits: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean cross-entropy at the temperature that is best for these texts.

    It says how well logits tell the labels apart, whatever their size: a long training makes logits large, and the loss
    as it is then rises while the accuracy still does.

    Args:
        logits: (texts, classes).
        labels: As for ``log_likelihoods``.

    Example:
        >>> logits, labels = np.array([[2.0, 0.0]] * 4), np.array([0, 0, 0, 1])
        >>> abs(calibrated_loss(logits, labels) - calibrated_loss(10 * logits, labels)) < 1e-6
        True
    """
    return -float(log_likelihoods(logits, labels, fit_temperature(logits, labels)).mean())


def tenths(shares: np.ndarray, is_right: np.ndarray) -> list[dict[str, Any]]:
    """Return a row for each tenth in which probabilities lie: their mean, how often they are right, how many they are.

    A probability of exactly 1 belongs to the last tenth.

    Example:
        >>> tenths(np.array([0.25, 1.0]), np.array([False, True]))[1]
        {'from': 0.9, 'mean': 1.0, 'accuracy': 1.0, 'texts': 1}
    """
    tenth = np.minimum((shares * _BINS).astype(int), _BINS - 1)
    rows = []
    for i in np.unique(tenth):
        inside = tenth == i
        row = {"from": i / _BINS, "mean": shares[inside].mean(), "accuracy": is_right[inside].mean()}
        rows.append({name: float(value) for name, value in row.items()} | {"texts": int(inside.sum())})
    return rows


def calibration_error(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the expected calibration error of ``tenths``: the mean distance of probability and accuracy.

    Reference: Guo et al. 2017, equation 5.
    """
    error: float = sum(abs(r["mean"] - r["accuracy"]) * r["texts"] for r in rows) / sum(r["texts"] for r in rows)
    return error
