"""The sides of a comparison: one DC-Bi-LSTM classifier in our layers, in stock Keras layers and in PyTorch.

All compute the same function of the same weights (tests/test_peers.py). Prediction is the model as one traced
function for both Keras sides, and the module under ``inference_mode`` for PyTorch. Each turn begins with one untimed
step.

All rows are full, but the Keras sides are given lengths or a mask and honour them, as they must with real text.
PyTorch gets neither a mask nor packed sequences inside its LSTMs, where packing would only cost it time. Its pooling
alone honours the lengths.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any

import numpy as np

from benchmarks.speed.measure import seconds_a_step
from benchmarks.speed.networks import Architecture
from benchmarks.speed.sides import SEED, FeatureSide, Side

LEARNING_RATE = 1e-3


def random_batch(architecture: Architecture, batch: int, time: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features [B, T, e], lengths [B] (all T) and labels [B]: the same numbers in every process."""
    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(batch, time, architecture.features)).astype(np.float32)
    labels = rng.integers(architecture.num_classes, size=batch).astype(np.int32)
    return features, np.full(batch, time, np.int32), labels


class Classifier(Side):
    """One implementation of the classifier.

    The order of its weights: for each layer, bottom to top, kernel [in, 4u], recurrent kernel [u, 4u] and bias [4u] of
    the forward and then of the backward direction. The softmax's kernel and bias come last.
    """

    @abstractmethod
    def predict(self, batch: int, time: int, steps: int) -> float:
        """Predict ``random_batch`` over and over and return the seconds of one prediction."""


class KerasClassifier(FeatureSide, Classifier):
    """A side that is a ``keras.Model`` of features and lengths."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__(architecture, architecture.num_classes)

    def optimizer(self) -> Any:
        """Return Adam."""
        import keras

        return keras.optimizers.Adam(LEARNING_RATE)

    def examples(self, batch: int, time: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``random_batch``."""
        return random_batch(self.architecture, batch, time)

    def predict(self, batch: int, time: int, steps: int) -> float:
        """Call the traced model ``steps`` times and return the seconds of one call."""
        import tensorflow as tf

        features, lengths, _ = random_batch(self.architecture, batch, time)
        tensors = tf.constant(features), tf.constant(lengths)
        self._call(*tensors)
        return seconds_a_step(lambda: self._call(*tensors).numpy(), steps)


class OurSide(KerasClassifier):
    """``DenseBiLSTM`` and ``MaskedPooling``, trained with the optimiser of ``zoo.build``."""

    def optimizer(self) -> Any:
        """Return the project's Adam."""
        from dense_lstm_zoo.models.adam import FusedAdam

        return FusedAdam(LEARNING_RATE)

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return the pooled states."""
        from dense_lstm_zoo import layers

        a = self.architecture
        options: dict[str, Any] = {"dtype": a.dtype} | ({"kernel": a.kernel} if a.kernel is not None else {})
        encoder = layers.DenseBiLSTM(a.num_dense_layers, a.dense_units, a.top_units, remat=a.remat, **options)
        return layers.MaskedPooling("mean", dtype=a.dtype)(encoder(features, lengths=lengths), lengths=lengths)

    def prepare(self) -> None:
        """Make the optimiser's variables, as ``zoo.build`` does."""
        self.model.optimizer.build(self.model.trainable_variables)


class Float32Side(OurSide):
    """Ours in float32, as a peer of ours in another type."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__(dataclasses.replace(architecture, dtype="float32"))


class StockSide(KerasClassifier):
    """Nothing but ``keras.layers``."""

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return the pooled states."""
        import keras

        # A mask from lengths in stock layers: step t is real where t < length.
        steps = keras.ops.cumsum(keras.ops.ones_like(features[..., 0], dtype="int32"), axis=1)
        return stock_encoder(
            self.architecture.layer_units, features, steps <= lengths[:, None], self.architecture.dtype
        )


def stock_encoder(layer_units: list[int], words: Any, mask: Any, dtype: str = "float32") -> Any:
    """Return the mean-pooled states of a densely connected Bi-LSTM in stock Keras layers.

    Args:
        layer_units: Units of each layer, one direction. The last is the top layer.
        words: Word vectors (batch, time, features).
        mask: (batch, time), true at real steps.
        dtype: Keras dtype policy.
    """
    import keras

    inputs = states = words
    for units in layer_units:
        lstm = keras.layers.LSTM(units, return_sequences=True, dtype=dtype)
        states = keras.layers.Bidirectional(lstm, dtype=dtype)(inputs, mask=mask)
        inputs = keras.layers.Concatenate(dtype=dtype)([inputs, states])
    return keras.layers.GlobalAveragePooling1D(dtype=dtype)(states, mask=mask)
