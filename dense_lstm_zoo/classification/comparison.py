"""Two classifiers on the same texts, for the command compare and for the baseline of a training."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo.comparing.outcomes import Outcomes, counts_of_classes, f1_of_classes
from dense_lstm_zoo.data.labels import key

if TYPE_CHECKING:
    from dense_lstm_zoo.classification.bundle import ClassificationBundle
    from dense_lstm_zoo.comparing.sides import Side

SCORES = ("accuracy", "macro_f1")


def check(first: Side, second: Side) -> None:
    """Raise ``ValueError`` for models of different labels."""
    labels = [{key(label): label for label in side.labels} for side in (first, second)]
    names = [labels[0].keys() - labels[1].keys(), labels[1].keys() - labels[0].keys()]
    for side, keys, own in zip((first, second), names, labels, strict=True):
        if keys:
            only = ", ".join(sorted(own[name] for name in keys)[:5])
            raise ValueError(f"The models have different labels: only {side.name} has {only:.200}.")


def outcomes(
    first: ClassificationBundle, second: ClassificationBundle, data: Any, label_names: Sequence[str] | None
) -> Outcomes:
    """Return what two classifiers make of labelled texts, which ``evaluate`` takes too."""
    split, right = first.labelled(data, label_names)
    place = {key(label): i for i, label in enumerate(first.labels)}
    of_second = np.array([place[key(label)] for label in second.labels])
    predicted = of_second[second.predict_indices(split.texts)]
    return of_labels(split.texts, right, first.predict_indices(split.texts), predicted, first.labels)


def of_labels(
    texts: Sequence[str], right: np.ndarray, first: np.ndarray, second: np.ndarray, labels: Sequence[str]
) -> Outcomes:
    """Return the outcomes of two models whose labels are given as indices into ``labels``: (texts,) each.

    Example:
        >>> outcomes = of_labels(["a", "b"], np.array([0, 1]), np.array([0, 1]), np.array([0, 0]), ["no", "yes"])
        >>> outcomes.of_model(0)["accuracy"], outcomes.of_model(1)["accuracy"]
        (1.0, 0.5)
    """
    classes = len(labels)

    def scores(sums: np.ndarray) -> dict[Hashable, np.ndarray]:
        by_class = f1_of_classes(sums, labels)
        hits, total = sums[:, 2 * classes :].sum(axis=1), sums[:, :classes].sum(axis=1)
        return {"accuracy": hits / total, "macro_f1": np.nanmean([*by_class.values()], axis=0), **by_class}

    return Outcomes(
        texts=texts,
        right=[labels[i] for i in right],
        answers=([labels[i] for i in first], [labels[i] for i in second]),
        is_right=(first == right, second == right),
        statistics=(counts_of_classes(right, first, classes), counts_of_classes(right, second, classes)),
        scores=scores,
    )
