"""The sides of the pooling's comparison: all layers computed together, and Algorithm 1 as a loop over them.

Both compute the same function of the same weights (tests/test_peers.py): dynamic interaction between the states of
the layers of DC-Bi-LSTM, 14 x 13 and 100, with a softmax on top.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.speed.networks import PoolingArchitecture
from benchmarks.speed.sides import SEED, FeatureSide


def random_states(architecture: PoolingArchitecture, batch: int, time: int) -> tuple[np.ndarray, ...]:
    """Return states of all layers side by side [B, T, e], lengths [B] and labels [B]: the same in every process."""
    rng = np.random.default_rng(SEED)
    states = rng.uniform(-1, 1, size=(batch, time, architecture.features)).astype(np.float32)
    lengths = rng.integers(1, time + 1, size=batch).astype(np.int32)
    return states, lengths, rng.integers(architecture.num_classes, size=batch).astype(np.int32)


class KerasPooling(FeatureSide):
    """A side that is a ``keras.Model`` of states and lengths."""

    def __init__(self, architecture: PoolingArchitecture) -> None:
        super().__init__(architecture, architecture.num_classes)

    def optimizer(self) -> Any:
        """Return Adam."""
        import keras

        return keras.optimizers.Adam(0.001)

    def examples(self, batch: int, time: int) -> Any:
        """Return ``random_states``."""
        return random_states(self.architecture, batch, time)

    def split(self, features: Any) -> list[Any]:
        """Return the states of each layer."""
        import keras

        a = self.architecture
        return keras.ops.split(features, [a.lower_width * j for j in range(1, a.num_lower + 1)], axis=-1)


class OurPooling(KerasPooling):
    """``DynamicInteractionPooling``."""

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return what the softmax reads."""
        from dense_lstm_zoo import layers

        return layers.DynamicInteractionPooling(self.architecture.iterations)(self.split(features), lengths=lengths)


class PlainPooling(KerasPooling):
    """Algorithm 1 as it is written: a loop over the layers, a loop over the iterations."""

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return what the softmax reads."""
        import keras
        from keras import ops

        a = self.architecture
        *lower, top = self.split(features)
        self._projections = [keras.layers.Dense(a.top_width // 2, name=f"w_{j}") for j in range(1, a.num_lower + 1)]
        steps = ops.cumsum(ops.ones_like(features[..., 0], dtype="int32"), axis=1)
        real = steps <= lengths[:, None]
        zeros, lowest = ops.zeros_like(features[..., 0]), float(np.finfo(np.float32).min)
        n = ops.cast(lengths, "float32")[:, None]
        pooled = []
        for u, project in zip(lower, self._projections, strict=True):
            x = ops.leaky_relu(project(top), 0.2)
            b = zeros
            for _ in range(a.iterations):
                c = ops.softmax(ops.where(real, b, lowest), axis=-1)
                v = ops.sigmoid(c * ops.mean(u, axis=-1))
                b = b + v * ops.sum(x, axis=-1)
            weights = ops.where(real, v, zeros)
            pooled.append(ops.sum(weights[..., None] * x, axis=1) / n)
        return ops.concatenate(pooled, axis=-1)

    def weights(self) -> list[np.ndarray]:
        """Return the projections' weights side by side, then the softmax's."""
        *own, kernel, bias = super().weights()
        return [np.concatenate(own[0::2], axis=1), np.concatenate(own[1::2]), kernel, bias]

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""
        kernels, biases, kernel, bias = weights
        layers = self.architecture.num_lower
        split = zip(np.split(kernels, layers, axis=1), np.split(biases, layers), strict=True)
        super().set_weights([*(weight for pair in split for weight in pair), kernel, bias])

    def variables(self) -> list[Any]:
        """Return each projection's kernel and bias, then the softmax's."""
        own = [weight for layer in self._projections for weight in layer.trainable_variables]
        return [*own, *self.model.get_layer("logits").trainable_variables]
