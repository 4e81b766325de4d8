"""The loss of a student: cross-entropy with its teacher's probabilities and, where there are any, with the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo.classification.corpus import NO_LABEL, Split
from dense_lstm_zoo.models.compiling import compile_model


class DistillationLoss(keras.losses.Loss):
    """The loss of Hinton et al. 2015, section 2, for targets that ``targets`` makes.

    With the teacher's probabilities q at the temperature T, the student's logits z, and a text's own label y:
    L = (1 - a) T^2 H(q, softmax(z / T)) + a H(y, softmax(z)), and a = 0 for a text without a label of its own.
    T^2 keeps the size of the gradient the same at every temperature.

    Integer labels instead of such targets, as dev batches have, give the plain cross-entropy.

    Args:
        temperature: T, above 0.
        hard_weight: a, from 0 to 1.

    Call arguments:
        y_true: (batch, 1 + classes), the index of the label, or -2, and the teacher's probabilities; or (batch,).
        y_pred: Logits (batch, classes).

    Example:
        >>> loss = DistillationLoss(temperature=1.0, hard_weight=0.0)
        >>> round(float(loss(np.array([[-2.0, 0.5, 0.5]]), np.array([[0.0, 0.0]]))), 4)  # log 2
        0.6931
    """

    def __init__(self, temperature: float, hard_weight: float) -> None:
        super().__init__(name="distillation_loss")
        self.temperature, self.hard_weight = temperature, hard_weight

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each text: (batch,)."""
        if not _is_soft(y_true):
            return keras.losses.sparse_categorical_crossentropy(ops.reshape(y_true, (-1,)), y_pred, from_logits=True)
        labels, shares = ops.cast(y_true[:, 0], "int32"), ops.cast(y_true[:, 1:], y_pred.dtype)
        soft = -ops.sum(shares * ops.log_softmax(y_pred / self.temperature), axis=-1) * self.temperature**2
        if not self.hard_weight:
            return soft
        own = ops.one_hot(labels, y_pred.shape[-1], dtype=y_pred.dtype)  # zeros without a label
        hard = -ops.sum(own * ops.log_softmax(y_pred), axis=-1)
        weight = self.hard_weight * ops.cast(labels >= 0, y_pred.dtype)
        return (1 - weight) * soft + weight * hard


class Agreement(keras.metrics.SparseCategoricalAccuracy):
    """The share of texts whose likeliest label is the teacher's, or for integer labels the accuracy."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Count a batch. The arguments are those of ``DistillationLoss``."""
        if _is_soft(y_true):
            y_true = ops.argmax(y_true[:, 1:], axis=-1)
        return super().update_state(y_true, y_pred, sample_weight)


def _is_soft(y_true: Any) -> bool:
    return len(y_true.shape) == 2 and y_true.shape[-1] != 1


def targets(split: Split, temperature: float = 1.0) -> np.ndarray:
    """Return what ``DistillationLoss`` reads of texts with soft labels: float32 (texts, 1 + classes).

    Args:
        split: The texts.
        temperature: The teacher's probabilities are those of its logits divided by it.

    Example:
        >>> split = Split(["fine", "dull"], [1, None], probabilities=[[0.2, 0.8], [0.9, 0.1]])
        >>> targets(split, temperature=2.0).round(3).tolist()  # square roots, with the sum 1
        [[1.0, 0.3330000042915344, 0.6669999957084656], [-2.0, 0.75, 0.25]]
    """
    shares = split.probabilities.astype(np.float64)
    shares = (shares / shares.max(axis=1, keepdims=True)) ** (1 / temperature)
    shares /= shares.sum(axis=1, keepdims=True)
    labels = np.where(split.is_labelled, np.asarray(split.labels), NO_LABEL)
    return np.column_stack([labels, shares]).astype(np.float32)


def mixture(split: Split, hard_weight: float) -> np.ndarray:
    """Return the probabilities whose cross-entropy is the loss at temperature 1: (texts, classes).

    Example:
        >>> split = Split(["fine", "dull"], [1, None], probabilities=[[0.5, 0.5], [0.75, 0.25]])
        >>> mixture(split, hard_weight=0.5).tolist()
        [[0.25, 0.75], [0.75, 0.25]]
    """
    own = np.eye(split.probabilities.shape[1])[np.asarray(split.labels)]
    weight = hard_weight * split.is_labelled[:, None]
    shares: np.ndarray = (1 - weight) * split.probabilities + weight * own
    return shares


def weights(split: Split, class_weight: Mapping[int, float] | None) -> np.ndarray | None:
    """Return the weight of each text in the loss: the mean of its labels' weights, or None without weights."""
    if class_weight is None:
        return None
    by_class = np.array([class_weight[label] for label in range(split.probabilities.shape[1])])
    text_weights: np.ndarray = split.probabilities @ by_class
    return text_weights


def compile_student(model: keras.Model, temperature: float, hard_weight: float) -> None:
    """Let a model learn from the targets that ``targets`` makes, with the optimiser that it has."""
    compile_model(model, model.optimizer, DistillationLoss(temperature, hard_weight), Agreement(name="accuracy"))


def compile_as_built(model: keras.Model) -> None:
    """Let a model learn from labels again, as the one that a factory returns."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    compile_model(model, model.optimizer, loss, keras.metrics.SparseCategoricalAccuracy(name="accuracy"))
