"""The scores of words from features, with the weights of a word in one row."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers.initializers import InitializerLike, find_initializer
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class WordScores(keras.layers.Layer):
    """Score every word: s = W x, where W has one row per word.

    ``keras.layers.Dense`` computes the same from a matrix with one column per word. Where a training step needs only
    some words, as with a sampled softmax, rows are read and written far faster than columns.

    Args:
        words: Number of words V.
        kernel_initializer: Initialiser of W.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (..., features).

    Returns:
        Scores (..., words).

    Raises:
        ValueError: ``words`` is not a positive integer.

    Example:
        >>> import numpy as np
        >>> layer = WordScores(7)
        >>> layer(np.ones((1, 2, 3), "float32")).shape, tuple(layer.kernel.shape)
        (TensorShape([1, 2, 7]), (7, 3))
    """

    def __init__(self, words: int, kernel_initializer: InitializerLike = "glorot_uniform", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words = checks.integer("words", words)
        self.kernel_initializer = find_initializer(kernel_initializer)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weight for inputs of shape (..., features)."""
        shape = (self.words, inputs_shape[-1])
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=self.kernel_initializer)

    def call(self, inputs: Tensor) -> Tensor:
        """Score words."""
        return ops.matmul(inputs, ops.transpose(self.kernel))

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return (..., words)."""
        return (*inputs_shape[:-1], self.words)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "words", "kernel_initializer")
