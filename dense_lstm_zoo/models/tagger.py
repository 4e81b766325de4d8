"""What a tagger is trained and judged by: a loss by sentence, accuracy by token, and a CRF in place of the softmax."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo.layers.crf import CRF


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class SentenceLoss(keras.losses.Loss):
    """Cross-entropy on logits, averaged over the tokens of each sentence, then over sentences (W8).

    Tags of -1 are padding, and those of -2 tokens whose tag no model can know; neither counts. A sentence without any
    other counts as 0.
    """

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each sentence: (batch,); tags (batch, time), logits (batch, time, tags)."""
        tags = ops.cast(y_true, "int32")
        real = tags >= 0
        losses = ops.sparse_categorical_crossentropy(ops.where(real, tags, 0), y_pred, from_logits=True)
        total = ops.sum(ops.where(real, losses, 0.0), axis=1)
        return total / ops.cast(ops.maximum(ops.sum(ops.cast(real, "int32"), axis=1), 1), total.dtype)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TokenAccuracy(keras.metrics.Metric):
    """Share of real tokens with the right tag, over all batches since the last reset.

    Tags of -1 are padding and do not count; a tag of -2 is that of a token whose tag no model can know: always wrong.

    Example:
        >>> import numpy as np
        >>> metric = TokenAccuracy()
        >>> metric.update_state(np.array([[1, 0, -1]]), np.array([[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]]))
        >>> float(metric.result())
        0.5
    """

    def __init__(self, name: str = "accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.right = self.add_variable((), "zeros", name="right")
        self.count = self.add_variable((), "zeros", name="count")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch: tags (batch, time), and logits (batch, time, tags) or predicted tags (batch, time)."""
        tags = ops.cast(y_true, "int32")
        predicted = ops.argmax(y_pred, axis=-1) if len(y_pred.shape) == 3 else y_pred
        right = ops.logical_and(tags >= 0, ops.cast(predicted, "int32") == tags)
        self.right.assign_add(ops.sum(ops.cast(right, self.right.dtype)))
        self.count.assign_add(ops.sum(ops.cast(tags != -1, self.count.dtype)))

    def result(self) -> Any:
        """Return the accuracy; 0 before any token."""
        return self.right / ops.maximum(self.count, 1)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class CRFTagger(keras.Model):
    """A tagger's network whose logits are the potentials of a conditional random field.

    It is trained on -log p(tags) / tokens, averaged over sentences, and judged by the likeliest tag sequence.

    Args:
        core: The network: a dictionary of ids to potentials (batch, time, tags).
        crf: The field.
        **kwargs: Arguments of ``keras.Model``.

    Returns:
        The potentials; ``crf`` makes tags or probabilities of them.
    """

    def __init__(self, core: keras.Model, crf: CRF, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.core, self.crf = core, crf
        self.built = True  # both have their weights

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return the potentials."""
        return self.core(inputs, training=training)

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the mean loss of the batch."""
        lengths = _lengths(y)
        tokens = ops.cast(ops.maximum(lengths, 1), "float32")
        loss = ops.mean(-self.crf.log_likelihood(y_pred, ops.maximum(y, 0), lengths) / tokens)
        self._loss_tracker.update_state(loss, sample_weight=ops.shape(y)[0])
        return loss

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Judge the likeliest tags."""
        return super().compute_metrics(x, y, self.crf(y_pred, lengths=_lengths(y)), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the model."""
        return {part: keras.saving.serialize_keras_object(getattr(self, part)) for part in ("core", "crf")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> CRFTagger:
        """Rebuild a saved model."""
        return cls(*(keras.saving.deserialize_keras_object(config[part]) for part in ("core", "crf")))


def _lengths(tags: Any) -> Any:
    return ops.sum(ops.cast(ops.cast(tags, "int32") != -1, "int32"), axis=1)
