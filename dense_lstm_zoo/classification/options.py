"""Options of a classifier's training: weights of classes, and the dev score that chooses the epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo.classification import label_sets
from dense_lstm_zoo.classification.analysis import macro_f1
from dense_lstm_zoo.classification.calibration import calibrated_loss
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import counts
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.training.class_weights import weights_of


def class_weights(option: str | Mapping[Any, float] | None, corpus: Corpus) -> dict[int, float] | None:
    """Return the weight of each label's index, or None if every text of a corpus counts the same.

    See ``weights_of_targets``.
    """
    names = corpus.label_names
    return None if option is None else weights_of_targets(option, names, corpus.train.targets(len(names)))


def weights_of_targets(
    option: str | Mapping[Any, float], names: Sequence[str], targets: np.ndarray
) -> dict[int, float]:
    """Return the weight of each label's index.

    "balanced" is texts / (labels * texts of the label), counted in the training texts before a dev set is held out, as
    in scikit-learn. A label without texts has weight 1. Where texts may have several labels, the weight is that of a
    label's texts against all others, "balanced" the number of others by that of its own.

    Args:
        option: "balanced", or weights by name.
        names: The labels, in the order of their indices.
        targets: What ``Split.targets`` returns of the training texts.

    Raises:
        ValueError: A name that is not a label, with near matches.
    """
    texts = counts(targets, len(names))
    if targets.ndim == 2 and option == "balanced":
        others = len(targets) - texts
        return {i: float(others[i] / texts[i]) if texts[i] and others[i] else 1.0 for i in range(len(names))}
    return weights_of(option, names, texts.tolist(), "label")


def options_for(corpus: Corpus, options: Options) -> Options:
    """Return the options of a run on a corpus, with those that follow from the number of labels per text.

    Where texts may have several, the loss chooses the epoch, since an F1 would depend on thresholds that are tuned only
    in the end.

    Raises:
        ValueError: Options that do not suit the number of labels.
    """
    if corpus.is_several:
        settings = {"monitor": options.monitor or "calibrated_loss", "thresholds": options.thresholds or "tuned"}
        return Options(**{**vars(options), **settings})
    if options.monitor == "micro_f1":
        raise ValueError("monitor='micro_f1' is for texts with several labels; with one label each it is the accuracy.")
    if options.thresholds is not None and len(corpus.label_names) != 2:
        raise ValueError(
            f"thresholds={options.thresholds!r} is for two labels, or for texts with several labels; {corpus.name} has "
            f"{len(corpus.label_names)} labels, of which a text has the likeliest."
        )
    return options


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


def _macro_f1(logits: np.ndarray, labels: np.ndarray) -> float:
    if labels.ndim == 2:
        return label_sets.macro_f1(labels, label_sets.chosen_at(logits))
    return macro_f1(labels, logits.argmax(axis=1))


# Scores of dev that epochs are chosen by, beside accuracy and loss: from logits (texts, classes) and labels, (texts,)
# or (texts, classes).
SCORES: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "macro_f1": _macro_f1,
    "micro_f1": lambda logits, labels: label_sets.micro_f1(labels, label_sets.chosen_at(logits)),
    "calibrated_loss": calibrated_loss,
}
