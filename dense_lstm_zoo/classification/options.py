"""Options of a classifier's training: weights of classes, and the dev score that chooses the epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo.classification.analysis import macro_f1
from dense_lstm_zoo.classification.calibration import calibrated_loss
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.training.class_weights import weights_of


def class_weights(option: str | Mapping[Any, float] | None, corpus: Corpus) -> dict[int, float] | None:
    """Return the weight of each label's index, or None if every text counts the same.

    "balanced" is texts / (labels * texts of the label), counted in the training texts before a dev set is held out, as
    in scikit-learn. A label without texts has weight 1.

    Raises:
        ValueError: A label that the corpus does not have, with near matches.
    """
    if option is None:
        return None
    names = corpus.label_names
    counts = np.bincount(corpus.train.labels, minlength=len(names)).tolist()
    return weights_of(option, names, counts, "label")


class DevLoss(keras.callbacks.Callback):
    """Take the penalty on the weights, which Keras adds, out of each epoch's ``val_loss``: the dev loss is left."""

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Subtract the penalty of the current weights."""
        if logs is not None and self.model.losses:
            logs["val_loss"] -= float(keras.ops.sum(keras.ops.stack(self.model.losses)))


class DevScore(keras.callbacks.Callback):
    """Add a score on dev to each epoch's row.

    Args:
        name: Its name in the row.
        score: Scores the current model on dev.
    """

    def __init__(self, name: str, score: Callable[[], float]) -> None:
        super().__init__()
        self._name, self._score = name, score

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Score dev."""
        if logs is not None:
            logs[self._name] = self._score()


# Scores of dev that epochs are chosen by, beside accuracy and loss: from logits (texts, classes) and labels (texts,).
SCORES: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "macro_f1": lambda logits, labels: macro_f1(labels, logits.argmax(axis=1)),
    "calibrated_loss": calibrated_loss,
}
