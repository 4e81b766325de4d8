"""The loss and the accuracy of models whose texts may have several labels, or none: a sigmoid for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras

if TYPE_CHECKING:
    from dense_lstm_zoo.layers.recurrence.tensors import Tensor


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class LabelSetCrossentropy(keras.losses.Loss):
    """The negative log-likelihood of a text's labels, from logits z and targets y of 0 and 1.

    loss = sum over labels c of log(1 + exp(z_c)) - y_c z_c

    It is the sum of the binary cross-entropies, as each label is a decision of its own, so that it has the size of a
    softmax's loss beside an L2 penalty. A sample weight may be (batch,), or (batch, labels).

    Example:
        >>> import numpy as np
        >>> loss = LabelSetCrossentropy()(np.array([[1.0, 0.0]]), np.zeros((1, 2)))
        >>> round(float(loss), 4)  # log 2 for each of two labels
        1.3863
    """

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str = "label_set_crossentropy", dtype: str | None = None
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the mean loss. Weights of texts are those of each of their labels."""
        if sample_weight is not None and len(sample_weight.shape) == 1:
            sample_weight = keras.ops.expand_dims(sample_weight, 1)
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Return the loss of each label (batch, labels), times their number, as Keras takes the mean of all."""
        return (keras.ops.softplus(y_pred) - y_true * y_pred) * y_pred.shape[-1]


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class ExactMatch(keras.metrics.MeanMetricWrapper):
    """The share of texts with exactly the right labels, where a label is given from a probability of 0.5 on."""

    def __init__(self, name: str = "accuracy", dtype: str | None = None) -> None:
        super().__init__(_exact, name=name, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {"name": self.name, "dtype": self.dtype}


def _exact(y_true: Tensor, y_pred: Tensor) -> Tensor:
    right = keras.ops.equal(keras.ops.cast(y_true, "float32") >= 0.5, y_pred >= 0.0)
    return keras.ops.cast(keras.ops.all(right, axis=-1), "float32")
