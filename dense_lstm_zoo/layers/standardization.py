"""Features with mean 0 and variance 1, by statistics that are set and not trained."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class Standardization(keras.layers.Layer):
    """Subtract a mean from each feature and multiply it by a scale: y = (x - mean) * scale.

    Before ``set_statistics`` the features stay as they are. Training changes neither number, unlike those of
    ``keras.layers.BatchNormalization``. It computes in float32 under half-precision policies.

    Args:
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (..., features).

    Returns:
        The same shape.

    Raises:
        ValueError: Inputs whose last axis has no size.

    Example:
        >>> layer = Standardization()
        >>> layer.build((None, 2))
        >>> layer.set_statistics(np.array([3.0, 7.0]), np.array([0.5, 1.0]))
        >>> layer(np.array([[5.0, 7.0]])).numpy().tolist()
        [[1.0, 0.0]]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create mean and scale."""
        features = inputs_shape[-1]
        if features is None:
            raise ValueError(f"Standardization needs the number of features; received shape {tuple(inputs_shape)}.")
        statistic = {"shape": (features,), "trainable": False, "autocast": False}
        self.mean = self.add_weight(name="mean", initializer="zeros", **statistic)
        self.scale = self.add_weight(name="scale", initializer="ones", **statistic)

    def set_statistics(self, mean: np.ndarray, scale: np.ndarray) -> None:
        """Set what is subtracted, and by what the difference is multiplied: (features,) each."""
        self.mean.assign(mean)
        self.scale.assign(scale)

    def call(self, inputs: Tensor) -> Tensor:
        """Standardise."""
        inputs = recurrence.floats(inputs, self.compute_dtype)
        return ops.cast((recurrence.wide(inputs) - self.mean) * self.scale, inputs.dtype)

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return the shape of the inputs."""
        return inputs_shape
