"""From probabilities to labels: the likeliest one, or those that reach their thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from dense_lstm_zoo_runtime import checks
from dense_lstm_zoo_runtime.answers import Prediction

SEVERAL = "several"  # labels of a text, in configs
FAINT = 1e-4  # what logits that say nothing about a text are multiplied by
_DEFAULT = 0.5

Threshold: TypeAlias = float | Mapping[str, float] | None
"""A threshold for all labels, or by label. None leaves those that a model has."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """The labels that a classifier gives.

    Args:
        labels: The names of the classes.
        is_several: Whether a text may have several labels, or none. Else it has exactly one.
        thresholds: The probability from which a label is given, by its name. Labels of several have 0.5 by default. Of
            two labels of which a text has one, one may have a threshold: below it, a text has the other. Without
            thresholds, a text has the likeliest label.

    Raises:
        ValueError: A threshold for a label that is not there, out of range, or for a model that has none.

    Example:
        >>> decisions = Decisions(["food", "staff"], is_several=True, thresholds={"staff": 0.2})
        >>> decisions.decide(np.array([[0.6, 0.3], [0.4, 0.1]])).tolist()
        [[True, True], [False, False]]
    """

    labels: Sequence[str]
    is_several: bool = False
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.thresholds:
            _check(self.thresholds, self.labels, self.is_several)

    def place_of(self, label: object) -> int:
        """Return the place of a label.

        Raises:
            ValueError: No such label, with near matches.
        """
        if label not in self.labels:
            raise checks.unknown_name("label of the model:", label, self.labels)
        return self.labels.index(label)

    def with_threshold(self, threshold: Threshold) -> Decisions:
        """Return the decisions with another threshold: for all labels, or by label, and others stay.

        Of two labels of which a text has one, a number is the threshold of the second.

        Raises:
            ValueError: As for the class.
        """
        if threshold is None:
            return self
        if not isinstance(threshold, Mapping):
            names = self.labels if self.is_several else self.labels[1:2]
            checked = checks.threshold("threshold", threshold)
            return replace(self, thresholds=_check(dict.fromkeys(names, checked), self.labels, self.is_several))
        own = _check(threshold, self.labels, self.is_several)
        return replace(self, thresholds={**self.thresholds, **own} if self.is_several else own)

    @property
    def values(self) -> np.ndarray:
        """The threshold of each label, where texts may have several: float64 (labels,)."""
        return np.array([self.thresholds.get(label, _DEFAULT) for label in self.labels])

    def decide(self, probabilities: np.ndarray) -> np.ndarray:
        """Return whether each text has each label, bool (texts, labels), from the probabilities of several labels."""
        has_label: np.ndarray = probabilities >= self.values.astype(probabilities.dtype)
        return has_label

    def best(self, logits: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """Return the index of each text's label, (texts,), where texts have one."""
        if not self.thresholds:
            best: np.ndarray = logits.argmax(axis=1)
            return best
        ((label, threshold),) = self.thresholds.items()
        place = list(self.labels).index(label)
        return np.where(probabilities[:, place] >= probabilities.dtype.type(threshold), place, 1 - place)

    def evened(self, probabilities: np.ndarray, word_counts: Sequence[int]) -> np.ndarray:
        """Return probabilities (texts, labels) in which the labels of a text without a known word are all as likely.

        What the network says of such a text is not about the text. The likeliest label stays so by a trace: they are
        those of logits times ``FAINT``. Those of several labels per text stay as they are.

        Example:
            >>> Decisions(["bad", "good"]).evened(np.array([[0.1, 0.9], [0.1, 0.9]]), [3, 0]).round(3).tolist()
            [[0.1, 0.9], [0.5, 0.5]]
        """
        if self.is_several or all(word_counts):
            return probabilities
        powers = np.maximum(probabilities, np.finfo(probabilities.dtype).tiny) ** probabilities.dtype.type(FAINT)
        is_known = np.array(word_counts, bool)[:, None]
        return np.where(is_known, probabilities, powers / powers.sum(axis=1, keepdims=True))

    def predictions(
        self, texts: Iterable[str], logits: np.ndarray, probabilities: np.ndarray, word_counts: Iterable[int]
    ) -> Iterator[Prediction]:
        """Yield the prediction for each text, from its logits and probabilities (texts, labels) and its known words."""
        if self.is_several:
            rows = zip(texts, probabilities, self.decide(probabilities), word_counts, strict=True)
            for text, shares, label_mask, count in rows:
                yield of_several(self.labels, text, shares, label_mask, count)
            return
        best = self.best(logits, probabilities).tolist()
        for text, row, place, count in zip(texts, probabilities.tolist(), best, word_counts, strict=True):
            yield Prediction(text, self.labels[place], row[place], dict(zip(self.labels, row, strict=True)), count)


def of_several(
    labels: Sequence[str], text: str, shares: np.ndarray, label_mask: np.ndarray, count: int | None
) -> Prediction:
    """Return the prediction for a text that may have several labels.

    Args:
        labels: The names of the classes.
        text: The text.
        shares: The probability of each label: (labels,).
        label_mask: Whether the text has each: (labels,).
        count: The number of its known words.
    """
    order = [place for place in np.argsort(-shares, kind="stable").tolist() if label_mask[place]]
    label, probability = "", float(np.prod(1 - shares.astype(np.float64)))
    if order:
        label, probability = labels[order[0]], float(shares[order[0]])
    by_label = dict(zip(labels, shares.tolist(), strict=True))
    return Prediction(text, label, probability, by_label, count, [labels[place] for place in order])


def _check(thresholds: Mapping[str, Any], labels: Sequence[str], is_several: bool) -> dict[str, float]:
    if not is_several and len(labels) != 2:
        raise ValueError(
            f"A threshold is for models of two labels, or of several labels per text; this one gives a text one of "
            f"{len(labels)} labels, the likeliest."
        )
    checked = {}
    for name, value in thresholds.items():
        if name not in labels:
            raise checks.unknown_name("label in threshold:", name, labels)
        checked[name] = checks.threshold(f"threshold[{name!r:.80}]", value)
    if not is_several and len(checked) != 1:
        raise ValueError(
            f"Of two labels, one has a threshold, below which a text has the other; received {len(checked)}."
        )
    return checked
