"""The sides of the language model's comparison: a dense LSTM in our layers, in stock Keras layers and in PyTorch.

All compute the same function of the same weights (tests/test_peers.py), take the same steps (SGD, one clipping norm
over all gradients, a loss summed over a window's steps) and carry the state from window to window. Ours is what
``zoo.build`` returns, its perplexity included. The stock one has no metric, as its loss tells the perplexity.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from benchmarks.speed.networks import LanguageArchitecture
from benchmarks.speed.sides import SEED, KerasSide

LEARNING_RATE = 1.0
CLIP_NORM = 3.0
NUM_WINDOWS = 2


def random_windows(architecture: LanguageArchitecture, batch: int, time: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and targets [windows, B, T] of windows in a row: the same numbers in every process.

    No word is twice in a window: Keras clips by a norm in which the gradients of a repeated word do not add up, PyTorch
    by one in which they do.
    """
    rng = np.random.default_rng(SEED)
    ids = [rng.choice(architecture.vocab_size, (batch, time), replace=False) for _ in range(NUM_WINDOWS)]
    targets = rng.integers(architecture.vocab_size, size=(NUM_WINDOWS, batch, time))
    return np.stack(ids).astype(np.int32), targets.astype(np.int32)


class KerasLanguageModel(KerasSide):
    """A side that is a ``keras.Model`` with a state."""

    def __init__(self, architecture: LanguageArchitecture) -> None:
        super().__init__()
        import keras
        import tensorflow as tf

        self.architecture = architecture
        keras.utils.set_random_seed(SEED)
        self.model = self.make_model()
        self._call = tf.function(lambda inputs: self.model(inputs, training=False))

    @abstractmethod
    def make_model(self) -> Any:
        """Return the compiled model."""

    @abstractmethod
    def inputs(self, ids: np.ndarray, is_first: bool) -> Any:
        """Return the model's inputs for ``ids`` [..., B, T], in windows that start from zeros or go on."""

    def forget(self) -> None:
        """Start from zeros, where the inputs do not say so."""

    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of ``random_windows`` [windows, B, T, V], the first from zeros, the others going on."""
        ids, _ = random_windows(self.architecture, batch, time)
        self.forget()
        windows = [self._call(self.inputs(window, is_first=number == 0)).numpy() for number, window in enumerate(ids)]
        self.forget()
        return np.stack(windows)

    def make_dataset(self, batch: int, time: int) -> Any:
        """Return ``random_windows`` over and over: the state is carried on for ever."""
        import tensorflow as tf

        ids, targets = random_windows(self.architecture, batch, time)
        return tf.data.Dataset.from_tensor_slices((self.inputs(ids, is_first=False), targets)).repeat()


class OurLanguageModel(KerasLanguageModel):
    """The model of ``zoo.build``."""

    def make_model(self) -> Any:
        """Return the compiled model."""
        from dense_lstm_zoo.models import registry

        a = self.architecture
        options: dict[str, Any] = {"kernel": a.kernel} if a.kernel is not None else {}
        return registry.build(
            "dense_lstm_lm",
            num_layers=a.num_layers,
            units=a.units,
            embedding_dim=a.embedding_dim,
            vocab_size=a.vocab_size,
            dropout=a.dropout,
            sampled_softmax=a.sampled_softmax,
            init_range=3 / a.units**0.5,  # logits of order 1, so that a wrong copy of a weight shows
            learning_rate=LEARNING_RATE,
            clip_norm=CLIP_NORM,
            dtype=a.dtype,
            **options,
        )

    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights, as the other sides have them: the softmax's with a column per word."""
        return [
            self._turned(variable, value) for variable, value in zip(self.variables(), super().weights(), strict=True)
        ]

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""
        super().set_weights([self._turned(v, value) for v, value in zip(self.variables(), weights, strict=True)])

    def _turned(self, variable: Any, value: np.ndarray) -> np.ndarray:
        by_word = (
            self.architecture.sampled_softmax is not None and variable is self.model.core.get_layer("softmax").kernel
        )
        return value.T if by_word else value

    def inputs(self, ids: np.ndarray, is_first: bool) -> Any:
        """Return the model's inputs: each row says whether it starts from zeros."""
        return {"token_ids": ids, "is_first": np.full(ids.shape[:-1], is_first)}


class StockLanguageModel(KerasLanguageModel):
    """Nothing but ``keras.layers``. The state is that of stateful LSTMs."""

    def make_model(self) -> Any:
        """Return the compiled model."""
        import keras

        a = self.architecture
        ids = keras.Input(batch_shape=(a.batch, a.time), dtype="int32")  # stateful layers need to know the batch

        def drop(x: Any) -> Any:
            return keras.layers.Dropout(a.dropout, dtype=a.dtype)(x)

        below = drop(keras.layers.Embedding(a.vocab_size, a.embedding_dim, dtype=a.dtype)(ids))
        for _ in range(a.num_layers):
            states = keras.layers.LSTM(a.units, return_sequences=True, stateful=True, dtype=a.dtype)(below)
            below = keras.layers.Concatenate(dtype=a.dtype)([below, drop(states)])
        logits = keras.layers.Dense(a.vocab_size, dtype=a.dtype)(below)
        model = keras.Model(ids, keras.layers.Activation("linear", dtype="float32")(logits))
        model.compile(
            optimizer=keras.optimizers.SGD(LEARNING_RATE, global_clipnorm=CLIP_NORM),
            # A mean over steps and rows, times the steps: summed over steps and averaged over rows.
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            loss_weights=float(a.time),
            jit_compile=False,
        )
        return model

    def inputs(self, ids: np.ndarray, is_first: bool) -> Any:
        """Return the ids."""
        return ids

    def forget(self) -> None:
        """Start from zeros."""
        for layer in self.model.layers:
            if getattr(layer, "stateful", False):
                layer.reset_state()
