"""Two classifiers on the same texts, for the command compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo.comparing.outcomes import Outcomes, of_label_sets, of_labels
from dense_lstm_zoo.data.labels import key

if TYPE_CHECKING:
    from dense_lstm_zoo.classification.bundle import ClassificationBundle
    from dense_lstm_zoo.comparing.sides import Side

SCORES = ("accuracy", "macro_f1")


def check(first: Side, second: Side) -> None:
    """Raise ``ValueError`` for models of different labels, or of one label per text and of several."""
    kinds = [side.config["arguments"].get("labels", "one") for side in (first, second)]
    if kinds[0] != kinds[1]:
        several, one = (first, second) if kinds[0] == "several" else (second, first)
        raise ValueError(f"{several.name} gives several labels per text, and {one.name} one: they cannot be compared.")
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
    if first.is_several:
        columns = [[key(label) for label in second.labels].index(key(label)) for label in first.labels]
        second_labels = second.predict_indices(split.texts)[:, columns]
        return of_label_sets(split.texts, right > 0, first.predict_indices(split.texts), second_labels, first.labels)
    place = {key(label): i for i, label in enumerate(first.labels)}
    of_second = np.array([place[key(label)] for label in second.labels])
    predicted = of_second[second.predict_indices(split.texts)]
    return of_labels(split.texts, right, first.predict_indices(split.texts), predicted, first.labels)
