"""The sides of the tagger's comparison: a gated-skip Bi-LSTM in our layer, and its cell in ``keras.layers.RNN``.

Both compute the same function of the same weights (tests/test_peers.py) and take the same steps: SGD on the mean
cross-entropy of the tokens, dropout on what the first and the last layer pass up. All rows are full, but both sides are
given lengths or a mask and honour them, as they must with real text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.speed.networks import TaggerArchitecture
from benchmarks.speed.sides import SEED, FeatureSide

LEARNING_RATE = 0.02


def random_sentences(
    architecture: TaggerArchitecture, batch: int, time: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features [B, T, e], lengths [B] (all T) and tags [B, T]: the same numbers in every process."""
    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(batch, time, architecture.features)).astype(np.float32)
    tags = rng.integers(architecture.num_tags, size=(batch, time)).astype(np.int32)
    return features, np.full(batch, time, np.int32), tags


class KerasTagger(FeatureSide):
    """A side that is a ``keras.Model`` of features and lengths."""

    def __init__(self, architecture: TaggerArchitecture) -> None:
        super().__init__(architecture, architecture.num_tags)

    def optimizer(self) -> Any:
        """Return plain SGD."""
        import keras

        return keras.optimizers.SGD(LEARNING_RATE)

    def examples(self, batch: int, time: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``random_sentences``."""
        return random_sentences(self.architecture, batch, time)


class OurTagger(KerasTagger):
    """``SkipBiLSTM``."""

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return the states of the top layer."""
        from dense_lstm_zoo import layers

        a = self.architecture
        options: dict[str, Any] = {"kernel": a.kernel} if a.kernel is not None else {}
        return layers.SkipBiLSTM(a.num_layers, a.units, dropout=a.dropout, **options)(features, lengths=lengths)


class StockTagger(KerasTagger):
    """The cell in two stacks of ``keras.layers.RNN``, of which one reads the sentence from its end."""

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return the states of the top layer."""
        import keras

        from dense_lstm_zoo import layers

        a = self.architecture
        steps = keras.ops.cumsum(keras.ops.ones_like(features[..., 0], dtype="int32"), axis=1)
        mask = steps <= lengths[:, None]
        # Turned around once, below and above the stack: padding comes first, and a masked step leaves zeros.
        masks = [mask, keras.ops.flip(mask, axis=1)]
        outputs = [[features, keras.ops.flip(features, axis=1)]]
        self._cells: list[Any] = []
        for layer in range(1, a.num_layers + 1):
            states = []
            for d in range(2):
                inputs = outputs[-1][d]
                if layer > 2:
                    inputs = keras.layers.Concatenate()([inputs, outputs[layer - 2][d]])
                cell = layers.GatedSkipLSTMCell(a.units, "gated_outputs" if layer > 2 else "none")
                self._cells.append(cell)
                rnn = keras.layers.RNN(cell, return_sequences=True, zero_output_for_mask=True)
                sequence = rnn(inputs, mask=masks[d])
                states.append(keras.layers.Dropout(a.dropout)(sequence) if layer in (1, a.num_layers) else sequence)
            outputs.append(states)
        forward, backward = outputs[-1]
        return keras.layers.Concatenate()([forward, keras.ops.flip(backward, axis=1)])

    def variables(self) -> list[Any]:
        """Return the cells' weights from the bottom up, forward before backward, then the softmax's."""
        cells = [weight for cell in self._cells for weight in cell.trainable_variables]
        return [*cells, *self.model.get_layer("logits").trainable_variables]
