"""The loss of a student: cross-entropy with its teacher's probabilities and, where there are any, with the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo.classification.assembly import loss_and_metric
from dense_lstm_zoo.classification.label_sets import weights_of_shares
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.data.soft_labels import NO_LABEL
from dense_lstm_zoo.models import distillation
from dense_lstm_zoo.models.compiling import compile_model
from dense_lstm_zoo.models.label_sets import ExactMatch, LabelSetCrossentropy

if TYPE_CHECKING:
    from dense_lstm_zoo.layers.recurrence.tensors import Tensor


class DistillationLoss(keras.losses.Loss):
    """The loss of ``models.distillation.losses`` for targets that ``targets`` makes.

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

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Return the loss of each text: (batch,)."""
        if not _is_soft(y_true):
            return keras.losses.sparse_categorical_crossentropy(ops.reshape(y_true, (-1,)), y_pred, from_logits=True)
        return distillation.losses(y_true[:, 0], y_true[:, 1:], y_pred, self.temperature, self.hard_weight)


class Agreement(keras.metrics.SparseCategoricalAccuracy):
    """The share of texts whose likeliest label is the teacher's, or for integer labels the accuracy."""

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Count a batch. The arguments are those of ``DistillationLoss``."""
        if _is_soft(y_true):
            y_true = ops.argmax(y_true[:, 1:], axis=-1)
        super().update_state(y_true, y_pred, sample_weight)


def _is_soft(y_true: Tensor) -> bool:
    return len(y_true.shape) == 2 and y_true.shape[-1] != 1


class LabelSetDistillationLoss(LabelSetCrossentropy):
    """The loss of ``DistillationLoss`` where texts may have several labels: of each label by itself, and their sum.

    With the teacher's probability q_c of a label at the temperature T, the student's logit z_c, and y_c of 0 or 1:
    L = sum over c of (1 - a) T^2 H(q_c, sigmoid(z_c / T)) + a H(y_c, sigmoid(z_c)), with the binary cross-entropy H,
    and a = 0 for a text without labels of its own.

    Targets of 0 and 1 instead, as dev batches have, give the plain cross-entropy.

    Args:
        temperature: T, above 0.
        hard_weight: a, from 0 to 1.

    Call arguments:
        y_true: (batch, 2 * classes), the teacher's probabilities, then the text's own labels, or -2; or (batch,
            classes).
        y_pred: Logits (batch, classes).

    Example:
        >>> loss = LabelSetDistillationLoss(temperature=1.0, hard_weight=0.0)
        >>> round(float(loss(np.array([[0.5, 0.5, -2, -2]]), np.array([[0.0, 0.0]]))), 4)  # log 2 for each label
        1.3863
    """

    def __init__(self, temperature: float, hard_weight: float) -> None:
        super().__init__(name="distillation_loss")
        self.temperature, self.hard_weight = temperature, hard_weight

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Return the loss of each label (batch, labels), as ``LabelSetCrossentropy`` does."""
        count = y_pred.shape[-1]
        if y_true.shape[-1] == count:
            return super().call(y_true, y_pred)
        y_true = ops.cast(y_true, y_pred.dtype)
        shares, own = y_true[:, :count], y_true[:, count:]
        soft = super().call(shares, y_pred / self.temperature) * self.temperature**2
        if not self.hard_weight:
            return soft
        is_labelled = ops.cast(own >= 0, y_pred.dtype)
        weight = self.hard_weight * is_labelled
        return (1 - weight) * soft + weight * super().call(own * is_labelled, y_pred)


class LabelSetAgreement(ExactMatch):
    """The share of texts with the labels that are the teacher's from a half on, or of targets of 0 and 1 the right."""

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Count a batch. The arguments are those of ``LabelSetDistillationLoss``."""
        super().update_state(y_true[:, : y_pred.shape[-1]], y_pred, sample_weight)


def targets(split: Split, temperature: float = 1.0) -> np.ndarray:
    """Return what the loss reads of texts with soft labels: float32 (texts, 1 + classes), or (texts, 2 * classes).

    Args:
        split: The texts.
        temperature: The teacher's probabilities are those of its logits divided by it.

    Example:
        >>> split = Split(["fine", "dull"], [1, None], probabilities=[[0.2, 0.8], [0.9, 0.1]])
        >>> targets(split, temperature=2.0).round(3).tolist()  # square roots, with the sum 1
        [[1.0, 0.3330000042915344, 0.6669999957084656], [-2.0, 0.75, 0.25]]
    """
    if split.is_several:
        shares = split.probabilities.astype(np.float64)
        with np.errstate(divide="ignore", over="ignore"):  # certainty is an infinite logit
            logits = np.log(shares) - np.log1p(-shares)
            softened = 1 / (1 + np.exp(-logits / temperature))
        sets = np.where(split.is_labelled[:, None], split.targets(shares.shape[1]), NO_LABEL)
        return np.column_stack([softened, sets]).astype(np.float32)
    shares = distillation.softened(split.probabilities, temperature)
    labels = np.where(split.is_labelled, np.asarray(split.labels), NO_LABEL)
    return np.column_stack([labels, shares]).astype(np.float32)


def mixture(split: Split, hard_weight: float) -> np.ndarray:
    """Return the probabilities whose cross-entropy is the loss at temperature 1: (texts, classes).

    Example:
        >>> split = Split(["fine", "dull"], [1, None], probabilities=[[0.5, 0.5], [0.75, 0.25]])
        >>> mixture(split, hard_weight=0.5).tolist()
        [[0.25, 0.75], [0.75, 0.25]]
    """
    count = split.probabilities.shape[1]
    own = split.targets(count) if split.is_several else np.eye(count)[np.asarray(split.labels)]
    weight = hard_weight * split.is_labelled[:, None]
    shares: np.ndarray = (1 - weight) * split.probabilities + weight * own
    return shares


def weights(split: Split, class_weight: Mapping[int, float] | None) -> np.ndarray | None:
    """Return the weight of each text in the loss: the mean of its labels' weights, or None without weights.

    Where texts may have several labels, it is the weight of each label of each text.
    """
    if class_weight is None:
        return None
    if split.is_several:
        return weights_of_shares(class_weight, split.probabilities)
    return distillation.mean_weights(split.probabilities, class_weight)


def compile_student(model: keras.Model, temperature: float, hard_weight: float, *, is_several: bool) -> None:
    """Let a model learn from the targets that ``targets`` makes, with the optimiser that it has."""
    if is_several:
        loss, metric = LabelSetDistillationLoss(temperature, hard_weight), LabelSetAgreement()
        compile_model(model, model.optimizer, loss, metric)
        return
    compile_model(model, model.optimizer, DistillationLoss(temperature, hard_weight), Agreement(name="accuracy"))


def compile_as_built(model: keras.Model, *, is_several: bool) -> None:
    """Let a model learn from labels again, as the one that a factory returns."""
    loss, metric = loss_and_metric("several" if is_several else "one")
    compile_model(model, model.optimizer, loss, metric)
