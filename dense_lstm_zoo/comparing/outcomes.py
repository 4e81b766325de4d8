"""The answers of two models to the same texts, in the form that every task gives them to the comparison."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dense_lstm_zoo.comparing.differences import DRAWS, Interval, Scores, bootstrap
from dense_lstm_zoo_runtime import answers

if TYPE_CHECKING:
    import numpy as np


class OfClass(NamedTuple):
    """The name of a score of one class: its F1."""

    label: str


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The answers of two models to the same texts.

    Args:
        texts: The texts.
        right: The right answer to each, or None for a task without right answers.
        answers: Of each model, its answer to each text, as people read it.
        is_right: Of each model, whether it is right, bool (texts,). None for a task without right answers.
        statistics: Of each model, what each text adds to its scores (texts, statistics), or what texts of each kind do
            (kinds, statistics).
        scores: Returns scores by name from sums of the statistics. ``OfClass`` names the F1 of a class.
        unit: What a text is.
        texts_by_kind: How many texts are of each kind: (kinds,). None where each text has a row of its own.
    """

    texts: Sequence[str]
    right: Sequence[str] | None
    answers: tuple[Sequence[str], Sequence[str]]
    is_right: tuple[np.ndarray, np.ndarray] | None
    statistics: tuple[np.ndarray, np.ndarray]
    scores: Scores
    unit: str = "texts"
    texts_by_kind: np.ndarray | None = None

    def intervals(self, draws: int = DRAWS, seed: int = 1) -> dict[Hashable, Interval]:
        """Return by how much the first model is ahead in each score. See ``differences.bootstrap``."""
        return bootstrap(*self.statistics, self.scores, texts_by_row=self.texts_by_kind, draws=draws, seed=seed)

    def of_model(self, number: int) -> Mapping[Hashable, float]:
        """Return the scores of one of the models, 0 or 1, on all texts."""
        rows, counts = self.statistics[number], self.texts_by_kind
        sums = (rows.sum(axis=0) if counts is None else counts @ rows)[None]
        return {name: float(value[0]) for name, value in self.scores(sums).items()}


def counts_of_classes(right: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Return the statistics of labels: for each class right, predicted, and both: bool (texts, 3 x classes)."""
    import numpy as np

    every = np.arange(classes)
    is_right, is_predicted = right[:, None] == every, predicted[:, None] == every
    return np.concatenate([is_right, is_predicted, is_right & is_predicted], axis=1)


def f1_of_classes(sums: np.ndarray, labels: Sequence[str]) -> dict[Hashable, np.ndarray]:
    """Return the F1 of each class from the sums of ``counts_of_classes``, NaN where it neither occurs nor is predicted.

    Args:
        sums: (draws, 3 x classes).
        labels: The names of the classes.
    """
    import numpy as np

    right, predicted, hits = np.split(sums, 3, axis=1)
    both = right + predicted
    f1 = np.divide(2 * hits, both, out=np.full(both.shape, np.nan), where=both > 0)
    return {OfClass(label): f1[:, i] for i, label in enumerate(labels)}


def of_label_sets(
    texts: Sequence[str], right: np.ndarray, first: np.ndarray, second: np.ndarray, labels: Sequence[str]
) -> Outcomes:
    """Return the outcomes of two models of texts with several labels: True where a text has one (texts, labels).

    The scores are ``micro_f1``, ``accuracy`` (exactly the right labels) and ``macro_f1``.

    Example:
        >>> import numpy as np
        >>> right = np.array([[True, False], [True, True]])
        >>> outcomes = of_label_sets(["a", "b"], right, right, right[[0, 0]], ["no", "yes"])
        >>> round(float(outcomes.of_model(1)["micro_f1"]), 2), float(outcomes.of_model(1)["accuracy"])
        (0.8, 0.5)
    """
    import numpy as np

    classes = len(labels)

    def statistics(predictions: np.ndarray) -> np.ndarray:
        exact = (right == predictions).all(axis=1)[:, None]
        counts = [right, predictions, right & predictions, exact, np.ones_like(exact)]
        return np.concatenate(counts, axis=1)  # booleans: numbers of many texts and labels would fill the memory

    def scores(sums: np.ndarray) -> dict[Hashable, np.ndarray]:
        by_class = f1_of_classes(sums[:, : 3 * classes], labels)
        both, hits = sums[:, : 2 * classes].sum(axis=1), sums[:, 2 * classes : 3 * classes].sum(axis=1)
        micro = np.divide(2 * hits, both, out=np.ones(len(both)), where=both > 0)
        values = np.array([*by_class.values()])
        defined = np.isfinite(values).sum(axis=0)
        macro = np.divide(np.nansum(values, axis=0), defined, out=np.ones(len(both)), where=defined > 0)
        return {"micro_f1": micro, "accuracy": sums[:, -2] / sums[:, -1], "macro_f1": macro, **by_class}

    def named(rows: np.ndarray) -> list[str]:
        return [answers.joined([labels[place] for place in np.flatnonzero(row).tolist()]) for row in rows]

    return Outcomes(
        texts=texts,
        right=named(right),
        answers=(named(first), named(second)),
        is_right=((first == right).all(axis=1), (second == right).all(axis=1)),
        statistics=(statistics(first), statistics(second)),
        scores=scores,
    )


def of_labels(
    texts: Sequence[str], right: np.ndarray, first: np.ndarray, second: np.ndarray, labels: Sequence[str]
) -> Outcomes:
    """Return the outcomes of two models whose labels are given as indices into ``labels``: (texts,) each.

    Example:
        >>> import numpy as np
        >>> outcomes = of_labels(["a", "b"], np.array([0, 1]), np.array([0, 1]), np.array([0, 0]), ["no", "yes"])
        >>> outcomes.of_model(0)["accuracy"], outcomes.of_model(1)["accuracy"]
        (1.0, 0.5)
    """
    import numpy as np

    classes = len(labels)
    # Far fewer than texts: a row of each of many texts and classes would fill the memory.
    kinds, texts_by_kind = np.unique(np.stack([right, first, second]), axis=1, return_counts=True)

    def scores(sums: np.ndarray) -> dict[Hashable, np.ndarray]:
        by_class = f1_of_classes(sums, labels)
        hits, total = sums[:, 2 * classes :].sum(axis=1), sums[:, :classes].sum(axis=1)
        return {"accuracy": hits / total, "macro_f1": np.nanmean([*by_class.values()], axis=0), **by_class}

    return Outcomes(
        texts=texts,
        right=[labels[i] for i in right],
        answers=([labels[i] for i in first], [labels[i] for i in second]),
        is_right=(first == right, second == right),
        statistics=(
            counts_of_classes(kinds[0], kinds[1], classes),
            counts_of_classes(kinds[0], kinds[2], classes),
        ),
        scores=scores,
        texts_by_kind=texts_by_kind,
    )
