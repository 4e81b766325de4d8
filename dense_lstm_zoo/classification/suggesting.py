"""Texts to label next: those that a classifier is unsure of, and that are unlike each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_CANDIDATES = 10  # unsure texts, for each one that is chosen


@dataclass(frozen=True)
class Suggestion:
    """A text to label next.

    Args:
        index: Its place among the texts, from 0.
        text: The text.
        label: The label that the model would give it.
        probability: That label's probability.
    """

    index: int
    text: str
    label: str
    probability: float


def choose(probabilities: np.ndarray, features: np.ndarray, number: int, seed: int = 1) -> np.ndarray:
    """Return the indices of the texts to label next, those that the model is least sure of first.

    Of the ten times as many texts with the smallest margin between the two likeliest labels, k-means of their features
    makes ``number`` groups, in which unsure texts weigh more. Each group gives the text nearest to its mean (Zhdanov
    2019, "Diverse mini-batch Active Learning", algorithm 1).

    Args:
        probabilities: Of each label for each text: (texts, labels).
        features: What the last layer reads of each text: (texts, width).
        number: How many to choose, at most all.
        seed: Of the groups.

    Example:
        >>> probabilities = np.array([[0.5, 0.5], [0.9, 0.1], [0.5, 0.5], [0.6, 0.4]])
        >>> choose(probabilities, np.array([[0.0], [1.0], [0.0], [5.0]]), number=2)
        array([0, 3])
    """
    margins = _margins(probabilities)
    unsure, rows = _candidates(margins, features.__getitem__, number)
    return unsure[_unlike(rows, 1 - margins[unsure], number, seed)]


def _margins(probabilities: np.ndarray) -> np.ndarray:
    best_two = np.sort(probabilities, axis=1)[:, -2:]
    margins: np.ndarray = best_two[:, 1] - best_two[:, 0]
    return margins


def _candidates(
    margins: np.ndarray, features_of: Callable[[np.ndarray], np.ndarray], number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the candidates for a choice, the least sure first, and the features of each.

    Where many texts have the same features, there are more candidates: as many as it takes for ``number`` that differ.

    Args:
        margins: How sure the model is of each text.
        features_of: Returns the features of texts with these indices.
        number: How many are chosen of them.
    """
    order, size = np.argsort(margins, kind="stable"), _CANDIDATES * number
    parts, distinct = list[np.ndarray](), set[bytes]()
    for start in range(0, len(order), size):
        parts.append(features_of(order[start : start + size]))
        distinct.update(row.tobytes() for row in parts[-1])
        if len(distinct) >= number:
            break
    features = np.concatenate(parts)
    return order[: len(features)], features


def _unlike(features: np.ndarray, uncertainty: np.ndarray, number: int, seed: int) -> np.ndarray:
    """Return which candidates to take, in their order: one of each group of like ones."""
    if number >= len(features):
        return np.arange(len(features))
    from sklearn.cluster import KMeans

    points = features.astype(np.float64)
    points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-6)
    points, rows = np.unique(points, axis=0, return_index=True)  # equal texts are one
    if number < len(rows):
        weights = np.maximum(uncertainty[rows], 1e-6)
        groups = KMeans(number, n_init=1, random_state=seed).fit(points, sample_weight=weights)
        distances = groups.transform(points)
        members = [np.flatnonzero(groups.labels_ == group) for group in range(number)]
        rows = rows[[own[distances[own, group].argmin()] for group, own in enumerate(members) if len(own)]]
    return np.sort(rows)


def suggest(bundle: Any, texts: Sequence[str], number: int, seed: int = 1) -> list[Suggestion]:
    """Return texts to label next. See ``ClassificationBundle.suggest``."""
    from dense_lstm_zoo.bundles.text_hashes import text_hash
    from dense_lstm_zoo.data.tokens import tokenize

    hashes = set() if bundle.train_texts is None else set(bundle.train_texts.tolist())
    indices = []
    for index, tokens in enumerate(tokenize(texts)):
        if tokens and (key := text_hash(tokens)) not in hashes:
            hashes.add(key)
            indices.append(index)
    if not indices:
        raise ValueError(
            f"There is no text to label: of {len(texts):,}, all are empty or were trained on. Give other texts."
        )
    candidates = [texts[index] for index in indices]
    probabilities, decisions = bundle.probabilities(candidates), bundle.decisions
    margins, best = _margins(probabilities), probabilities.argmax(axis=1)
    if bundle.is_several:  # each label is a decision of its own
        margins = np.abs(probabilities - decisions.values).min(axis=1)
    elif decisions.thresholds:  # of two labels: each as likely at the threshold
        ((label, threshold),) = decisions.thresholds.items()
        margins = np.abs(probabilities[:, bundle.labels.index(label)] - threshold)
        best = decisions.best(probabilities, probabilities)
    unsure, features = _candidates(margins, lambda rows: bundle.embed([candidates[row] for row in rows]), number)
    return [
        Suggestion(
            index=indices[row],
            text=candidates[row],
            label=bundle.labels[int(best[row])],
            probability=float(probabilities[row, best[row]]),
        )
        for row in unsure[_unlike(features, 1 - margins[unsure], number, seed)]
    ]
