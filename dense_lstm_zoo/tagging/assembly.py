"""A tagger's loss per sentence, its accuracy per token, and a tagger with a CRF instead of the softmax."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo.backend import tf
from dense_lstm_zoo.layers.crf import CRF
from dense_lstm_zoo.layers.recurrence.tensors import Tensor
from dense_lstm_zoo.models.ids_only import IdsOnly


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class SentenceLoss(keras.losses.Loss):
    """Cross-entropy on logits, averaged over the tokens of each sentence, then over sentences.

    Tags of -1 are padding. Tags of -2 are unknown to the model. Neither counts. A sentence with no other tags counts
    as 0. ``sample_weight`` may hold a weight for each token, (batch, time), by which its loss is multiplied. The number
    of tokens that a sentence's loss is divided by stays the same, as with the class weights of Keras.

    Args:
        sum_gradients: Whether the gradient is the sum over the batch's sentences instead of the mean. An SGD step is
            then as long as the steps for its sentences one at a time. The loss stays a mean.
        **kwargs: Arguments of ``keras.losses.Loss``.

    Reference: Wu et al. 2016, section 6.1.2.

    Example:
        >>> import numpy as np
        >>> loss = SentenceLoss()(np.array([[1, -1], [0, 1]]), np.zeros((2, 2, 4), "float32"))
        >>> round(float(loss), 4)  # log 4
        1.3863
    """

    def __init__(self, *, sum_gradients: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sum_gradients = sum_gradients

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the mean loss. Weights of tokens go to ``call``: Keras itself weighs whole sentences only."""
        if sample_weight is not None and len(sample_weight.shape) == 2:
            return super().__call__((y_true, sample_weight), y_pred)
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true: Tensor | tuple[Tensor, Tensor], y_pred: Tensor) -> Tensor:
        """Return the loss of each sentence: (batch,).

        Args:
            y_true: Tags (batch, time), or these and a weight for each token.
            y_pred: Logits (batch, time, tags), or, for a CRF, log p of each sentence's tags, (batch,).
        """
        y_true, weights = y_true if isinstance(y_true, tuple) else (y_true, None)
        tags = ops.cast(y_true, "int32")
        is_known = tags >= 0
        if len(y_pred.shape) == 1:
            total = -y_pred
        else:
            losses = ops.sparse_categorical_crossentropy(ops.where(is_known, tags, 0), y_pred, from_logits=True)
            losses = losses if weights is None else losses * ops.cast(weights, losses.dtype)
            total = ops.sum(ops.where(is_known, losses, 0.0), axis=1)
        return self._mean(total, is_known)

    def _mean(self, total: Tensor, counts: Tensor) -> Tensor:
        """Return the loss of each sentence from the sum over its tokens, and which of them count: (batch, time)."""
        losses = total / ops.cast(ops.maximum(ops.sum(ops.cast(counts, "int32"), axis=1), 1), total.dtype)
        if not self.sum_gradients:
            return losses
        # Under a strategy each replica has part of the batch, and their gradients are averaged.
        batch = tf.shape(losses)[0] * tf.distribute.get_strategy().num_replicas_in_sync
        summed = losses * ops.cast(batch, losses.dtype)
        return ops.stop_gradient(losses) + (summed - ops.stop_gradient(summed))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the loss."""
        return {**super().get_config(), "sum_gradients": self.sum_gradients}


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TokenAccuracy(keras.metrics.Metric):
    """Share of real tokens with the right tag, over all batches since the last reset.

    Tags of -1 are padding and do not count. Tags of -2 are unknown to the model and always count as wrong.

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

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add a batch: tags (batch, time), and logits (batch, time, tags) or predicted tags (batch, time)."""
        tags = ops.cast(y_true, "int32")
        predicted = ops.argmax(y_pred, axis=-1) if len(y_pred.shape) == 3 else y_pred
        right = ops.logical_and(tags >= 0, ops.cast(predicted, "int32") == tags)
        self.right.assign_add(ops.sum(ops.cast(right, self.right.dtype)))
        self.count.assign_add(ops.sum(ops.cast(tags != -1, self.count.dtype)))

    def result(self) -> Tensor:
        """Return the accuracy, or 0 before any token."""
        return self.right / ops.maximum(self.count, 1)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TaggerNetwork(IdsOnly, keras.Model):
    """A functional model from a dictionary of ids to logits. It refuses raw text, which ``TokenClassifier`` takes."""

    text_class = "TokenClassifier"


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class CRFTagger(IdsOnly, keras.Model):
    """A tagger's network whose logits are the potentials of a conditional random field.

    It is trained on -log p(tags) / tokens, averaged over sentences, and scored on the likeliest tag sequence. A token
    with an unknown tag (-2) may have any tag: log p sums over them, and the token is not counted. A teacher's
    probabilities are compared with the marginals (Kakade et al. 2002, "An alternate objective function for Markovian
    fields", where the probabilities are 0 and 1).

    Args:
        core: The network: a dictionary of ids to potentials (batch, time, tags).
        crf: The field, or None, with which the potentials are logits, as of any other tagger.
        **kwargs: Arguments of ``keras.Model``.

    Returns:
        The potentials. ``crf`` turns them into tags or probabilities.
    """

    text_class = "TokenClassifier"

    def __init__(self, core: keras.Model, crf: CRF | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.core, self.crf = core, crf
        self.built = True  # both have their weights

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Return the potentials."""
        return self.core(inputs, training=training)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Tensor | None = None,
        sample_weight: Tensor | None = None,
        training: bool | None = True,
    ) -> Tensor:
        """Return the mean loss of the batch, plus the losses that layers add."""
        if self.crf is None:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        if len(y.shape) == 3:  # a teacher's probabilities: the logarithms of probabilities are logits of them
            marginals = self.crf.log_marginals(y_pred, lengths_of(x))
            return super().compute_loss(x, y, marginals, sample_weight, training)
        likelihoods = self.crf.log_likelihood(y_pred, y, lengths_of(x))
        return super().compute_loss(x, y, likelihoods, sample_weight, training)

    def compute_metrics(
        self, x: dict[str, Tensor], y: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> dict[str, Any]:
        """Score the likeliest tags."""
        if self.crf is not None:
            y_pred = self.crf(y_pred, lengths=lengths_of(x))
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the model."""
        return {part: keras.saving.serialize_keras_object(getattr(self, part)) for part in ("core", "crf")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> CRFTagger:
        """Rebuild a saved model."""
        return cls(*(keras.saving.deserialize_keras_object(config[part]) for part in ("core", "crf")))


def lengths_of(inputs: dict[str, Tensor]) -> Tensor:
    """Return the number of tokens of each sentence, int32 (batch,), from its padded ids."""
    return ops.sum(ops.cast(ops.not_equal(inputs["token_ids"], 0), "int32"), axis=1)
