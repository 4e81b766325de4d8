"""The loss of a student tagger, per sentence, for its teacher's probabilities at every token."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo.layers.recurrence.tensors import Tensor
from dense_lstm_zoo.models import distillation
from dense_lstm_zoo.models.compiling import compile_model
from dense_lstm_zoo.tagging.assembly import SentenceLoss, TokenAccuracy

PADDING = -1.0


class TaughtSentenceLoss(SentenceLoss):
    """The loss of ``models.distillation.losses`` at every token, averaged as in ``SentenceLoss``.

    Integer tags (batch, time) instead of a teacher's targets, as dev batches have, give the loss of ``SentenceLoss``.

    Args:
        temperature: T, above 0.
        hard_weight: The weight of the own tags, from 0 to 1.
        sum_gradients: As in ``SentenceLoss``.

    Call arguments:
        y_true: (batch, time, 1 + tags), the index of the tag, or -2 for none or -1 for padding, and the teacher's
            probabilities.
        y_pred: Logits (batch, time, tags), or the logarithms of a conditional random field's marginals.

    Example:
        >>> loss = TaughtSentenceLoss(temperature=1.0, hard_weight=0.0)
        >>> targets = np.array([[[-2.0, 0.5, 0.5], [-1.0, 0.0, 0.0]]])
        >>> round(float(loss(targets, np.zeros((1, 2, 2)))), 4)  # log 2: padding does not count
        0.6931
    """

    def __init__(self, temperature: float, hard_weight: float, *, sum_gradients: bool = False) -> None:
        super().__init__(sum_gradients=sum_gradients)
        self.temperature, self.hard_weight = temperature, hard_weight

    def call(self, y_true: Tensor | tuple[Tensor, Tensor], y_pred: Tensor) -> Tensor:
        """Return the loss of each sentence: (batch,)."""
        targets, weights = y_true if isinstance(y_true, tuple) else (y_true, None)
        if len(targets.shape) == 2:
            return super().call(y_true, y_pred)
        is_real = ops.not_equal(targets[:, :, 0], PADDING)
        losses = distillation.losses(targets[:, :, 0], targets[:, :, 1:], y_pred, self.temperature, self.hard_weight)
        losses = losses if weights is None else losses * ops.cast(weights, losses.dtype)
        return self._mean(ops.sum(ops.where(is_real, losses, 0.0), axis=1), is_real)


class Agreement(TokenAccuracy):
    """The share of tokens whose likeliest tag is the teacher's, or for integer tags the accuracy."""

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add a batch. The arguments are those of ``TaughtSentenceLoss``."""
        if len(y_true.shape) == 3:
            is_real = ops.not_equal(y_true[:, :, 0], PADDING)
            y_true = ops.where(is_real, ops.cast(ops.argmax(y_true[:, :, 1:], axis=-1), "int32"), -1)
        super().update_state(y_true, y_pred, sample_weight)


def targets(labels: np.ndarray, probabilities: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Return what ``TaughtSentenceLoss`` reads of a sentence: float32 (tokens, 1 + tags).

    Args:
        labels: The index of each token's own tag, or -2.
        probabilities: Those of the teacher (tokens, tags).
        temperature: The teacher's probabilities are those of its logits divided by it.
    """
    return np.column_stack([labels, distillation.softened(probabilities, temperature)]).astype(np.float32)


def compile_student(model: keras.Model, temperature: float, hard_weight: float) -> None:
    """Let a model learn from the targets that ``targets`` makes, with the optimiser that it has."""
    loss = TaughtSentenceLoss(temperature, hard_weight, sum_gradients=model.loss.sum_gradients)
    compile_model(model, model.optimizer, loss, Agreement())


def compile_as_built(model: keras.Model) -> None:
    """Let a model learn from tags again, as the one that a factory returns."""
    compile_model(model, model.optimizer, SentenceLoss(sum_gradients=model.loss.sum_gradients), TokenAccuracy())
